"""A reader of TensorBoard's event files that shares nothing with the engine's writer: record frames, checksums, Protocol Buffers."""
import glob
import os
import struct

import numpy as np


def _table():
    rows = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
        rows.append(value)
    return rows


_TABLE = _table()


def crc32c(data):
    """Castagnoli's CRC of bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked(data):
    """As TFRecord keeps it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(data):
    """The records of a file's bytes. ValueError where a checksum or the length does not fit."""
    place = 0
    while place < len(data):
        if len(data) - place < 12:
            raise ValueError(f"{len(data) - place} bytes are left of a header")
        length, = struct.unpack_from("<Q", data, place)
        if struct.unpack_from("<I", data, place + 8)[0] != masked(data[place:place + 8]):
            raise ValueError("a length is damaged")
        record = data[place + 12:place + 12 + length]
        if len(data) < place + 16 + length or struct.unpack_from("<I", data, place + 12 + length)[0] != masked(record):
            raise ValueError("a record is damaged")
        yield record
        place += 16 + length


def varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return value, place


def fields(data):
    """(number, value) of a message's fields: whole numbers, floats of their width, or bytes."""
    place = 0
    found = []
    while place < len(data):
        key, place = varint(data, place)
        if key & 7 == 0:
            value, place = varint(data, place)
            value -= (value >= 2**63) << 64
        elif key & 7 == 1:
            value, place = struct.unpack_from("<d", data, place)[0], place + 8
        elif key & 7 == 5:
            value, place = struct.unpack_from("<f", data, place)[0], place + 4
        elif key & 7 == 2:
            length, place = varint(data, place)
            value, place = data[place:place + length], place + length
            if len(value) != length:
                raise ValueError("a message ends too early")
        else:
            raise ValueError(f"wire type {key & 7}")
        found.append((key >> 3, value))
    return found


_DTYPES = {1: "f4", 2: "f8", 3: "i4", 4: "u1", 5: "i2", 6: "i1", 9: "i8", 10: "?", 17: "u2", 19: "f2", 22: "u4"}


def tensor(data):
    """The array of a TensorProto; of texts, one of bytes objects."""
    parts = fields(data)
    message = dict(parts)
    shape = [dict(fields(extent))[1] for number, extent in fields(message[2]) if number == 2]
    if message[1] == 7:
        made = np.empty(shape, object)
        made.reshape(-1)[...] = [value for number, value in parts if number == 8] if made.ndim else None
        if not made.ndim:
            made[()] = message[8]
        return made
    return np.frombuffer(message[4], _DTYPES[message[1]]).reshape(shape)


class Value:
    """One value of a summary."""

    def __init__(self, data):
        message = dict(fields(data))
        self.tag = message[1].decode()
        self.simple = message.get(2)
        self.image = dict(fields(message[4])) if 4 in message else None
        self.histogram = dict(fields(message[5])) if 5 in message else None
        self.audio = dict(fields(message[6])) if 6 in message else None
        self.tensor = tensor(message[8]) if 8 in message else None
        metadata = dict(fields(message[9])) if message.get(9) else {}
        plugin = dict(fields(metadata[1])) if 1 in metadata else {}
        self.plugin, self.content = plugin.get(1, b"").decode(), plugin.get(2, b"")
        self.description = metadata.get(3, b"").decode()


class Event:
    """One event."""

    def __init__(self, data):
        message = dict(fields(data))
        self.wall_time, self.step = message[1], message.get(2, 0)
        self.version = message.get(3)
        self.graph = message.get(4)
        self.values = [Value(value) for number, value in fields(message.get(5, b"")) if number == 1]


def events_of_file(path):
    with open(path, "rb") as file:
        return [Event(record) for record in records(file.read())]


def events(folder):
    """The events of a folder's files, without those of versions."""
    found = []
    for path in sorted(glob.glob(os.path.join(folder, "events.out.tfevents.*"))):
        first, *others = events_of_file(path)
        assert first.version == b"brain.Event:2", path
        found += others
    return found
