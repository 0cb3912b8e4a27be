"""What event files hold, for tests that read what they wrote: tf.contrib.summary.summary_test_util."""
import os
import struct

from tapedeck._core.public import NAMES, public


class Message:
    """Fields of a protocol buffer by name; those that are not there are what an empty message has."""

    def __init__(self, **fields):
        vars(self).update(fields)

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


class Event(Message):
    """An event: wall_time, step, file_version, and summary."""


class Summary(Message):
    """What an event says: its value, a list."""


class Value(Message):
    """A value of a summary: its tag, and simple_value where it is a number."""


def _number(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def _fields(data):
    """(number, value) of each field: bytes where it has a length, else a number or the bytes of one."""
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _number(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if size is None:
                size, at = _number(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def _value(data):
    found = Value(tag="", simple_value=None)
    for number, value in _fields(data):
        if number == 1:
            found.tag = value.decode()
        elif number == 2:
            found.simple_value = struct.unpack("<f", value)[0]
    return found


def values_in(summary):
    """The values of the bytes of a summary; simple_value is None of one that is no number."""
    return [_value(part) for field, part in _fields(summary) if field == 1]


def _event(data):
    found = Event(wall_time=0.0, step=0, file_version="", summary=Summary(value=[]))
    for number, value in _fields(data):
        if number == 1:
            found.wall_time = struct.unpack("<d", value)[0]
        elif number == 2:
            found.step = value
        elif number == 3:
            found.file_version = value.decode()
        elif number == 5:
            found.summary = Summary(value=values_in(value))
    return found


@public("contrib.summary.summary_test_util.events_from_file", "contrib.summary.summary_test_util.events_from_logdir")
def events_from_file(logdir):
    """The events of a file, or of the only one in a folder, as a list. Errors: ValueError for a folder of no file, or of several."""
    if os.path.isdir(logdir):
        files = sorted(os.listdir(logdir))
        if len(files) != 1:
            raise ValueError(f"events_from_file: {logdir} has {len(files)} files; needs one")
        logdir = os.path.join(logdir, files[0])
    return [_event(bytes(record)) for record in NAMES["io.tf_record_iterator"](logdir)]
