"""A client of the debug protocol in Python, for tests and benchmarks: what the window does, without one."""
import hashlib
import hmac
import struct
import time

import zmq


def encode(value):
    """CBOR of what the protocol's requests are made of; None is what is absent."""
    if value is None:
        return b"\xf6"
    if value is True or value is False:
        return b"\xf5" if value else b"\xf4"
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, float):
        return b"\xfb" + struct.pack(">d", value)
    if isinstance(value, bytes):  # numbers of a list: doubles, little-endian
        return _head(2, len(value)) + value
    if isinstance(value, str):
        data = value.encode()
        return _head(3, len(data)) + data
    if isinstance(value, (list, tuple)):
        return _head(4, len(value)) + b"".join(encode(item) for item in value)
    if isinstance(value, dict):
        return _head(5, len(value)) + b"".join(encode(key) + encode(item) for key, item in sorted(value.items()))
    raise TypeError(f"no CBOR for {type(value).__name__}")


def _head(kind, number):
    for code, size, form in ((24, 1, ">B"), (25, 2, ">H"), (26, 4, ">I"), (27, 8, ">Q")):
        if number < 24:
            return bytes([kind << 5 | number])
        if number < 1 << (8 * size):
            return bytes([kind << 5 | code]) + struct.pack(form, number)
    raise OverflowError(number)


def decode(data):
    value, end = _decode(data, 0)
    assert end == len(data), f"{len(data) - end} bytes too many"
    return value


def _decode(data, at):
    kind, low = data[at] >> 5, data[at] & 31
    at += 1
    if kind == 7:
        if low in (20, 21, 22):
            return {20: False, 21: True, 22: None}[low], at
        form, size = {25: (">e", 2), 26: (">f", 4), 27: (">d", 8)}[low]
        return struct.unpack_from(form, data, at)[0], at + size
    number = low
    if low >= 24:
        size = 1 << (low - 24)
        number = int.from_bytes(data[at:at + size], "big")
        at += size
    if kind == 0:
        return number, at
    if kind == 1:
        return -1 - number, at
    if kind in (2, 3):
        raw = data[at:at + number]
        return (raw.decode() if kind == 3 else raw), at + number
    if kind == 4:
        items = []
        for _ in range(number):
            item, at = _decode(data, at)
            items.append(item)
        return items, at
    assert kind == 5, kind
    result = {}
    for _ in range(number):
        key, at = _decode(data, at)
        result[key], at = _decode(data, at)
    return result, at


class Client:
    """Connected and welcomed when it is made; use it as a context manager."""

    def __init__(self, entry, patience=120):
        """`entry`: what program.json says."""
        self._key = entry["key"].encode()
        self._patience = patience
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(entry["endpoint"])
        self._number = 0
        self.unasked = []
        self.status = None
        self.welcome = self.ask("hello", protocol_version=entry["protocol_version"], program="test")

    def close(self):
        self._socket.close()
        self._context.term()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def send(self, kind, **body):
        self._number += 1
        data = encode({"type": kind, "request": self._number, "body": body})
        self._socket.send_multipart([hmac.new(self._key, data, hashlib.sha256).digest(), data])
        return self._number

    def receive_bytes(self, until):
        """The next message before that time, as it comes; None: there is none."""
        if not self._socket.poll(max(0, int((until - time.monotonic()) * 1000)) + 1):
            return None
        _, data = self._socket.recv_multipart()
        return data

    def receive(self, until):
        """The next message before that time, as (type, request, body); None: there is none."""
        data = self.receive_bytes(until)
        if data is None:
            return None
        message = decode(data)
        if message["type"] == "status":
            self.status = message["body"]
        return message["type"], message["request"], message["body"]

    def ask(self, kind, **body):
        """The answer's body; AssertionError where it is a failure, or does not come."""
        number = self.send(kind, **body)
        until = time.monotonic() + self._patience
        while True:
            message = self.receive(until)
            assert message is not None, f"no answer to {kind}"
            if message[1] == 0:
                self.unasked.append(message)
                assert message[0] != "failure", message  # the request could not be read
            if message[1] == number and message[0] != "progress":
                assert message[0] not in ("failure", "refused"), message
                return message[2]

    def wait_for(self, condition):
        """Until condition(status), of what the server tells unasked."""
        until = time.monotonic() + self._patience
        while self.status is None or not condition(self.status):
            message = self.receive(until)
            assert message is not None, f"it did not come; the last status: {self.status}"
            if message[1] == 0:
                self.unasked.append(message)
        return self.status
