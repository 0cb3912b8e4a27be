"""Protocol buffers' wire format, as far as records of examples need it.

Source: Protocol Buffers' documentation, "Encoding". A message is a sequence of (field number, wire type, value).
"""
import struct

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class WireError(ValueError):
    """Bytes that are not a message."""


def varint(number):
    """An integer, a negative one as its two's complement of 64 bits."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """A field of bytes or of a message."""
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def number_field(number, value):
    """A field of an integer."""
    return varint(number << 3 | VARINT) + varint(value)


def read_varint(data, at):
    """(number, the position after it)."""
    number = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError(f"a number ends too early or is too long at byte {at}")
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & (1 << 64) - 1, at
        shift += 7


def signed(number):
    """The signed number of 64 bits."""
    return number - (1 << 64) if number >> 63 else number


def fields(data):
    """(field number, wire type, value) of each field: numbers, or bytes. WireError for a value that is not a message."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        kind, number = key & 7, key >> 3
        if number == 0:
            raise WireError(f"field number 0 before byte {at}")
        if kind == VARINT:
            value, at = read_varint(data, at)
        else:
            if kind == BYTES:
                length, at = read_varint(data, at)
            elif kind in (FIXED32, FIXED64):
                length = 4 if kind == FIXED32 else 8
            else:
                raise WireError(f"wire type {kind} before byte {at}")
            if length > len(data) - at:
                raise WireError(f"a field of {length} bytes at byte {at} goes beyond the message's {len(data)}")
            value, at = data[at:at + length], at + length
        yield number, kind, value


def packed_varints(data):
    """The numbers of a packed field."""
    numbers, at = [], 0
    while at < len(data):
        number, at = read_varint(data, at)
        numbers.append(number)
    return numbers


def packed_floats(data, code="f"):
    """The numbers of a packed field of floats ("f") or doubles ("d")."""
    size = struct.calcsize(code)
    if len(data) % size:
        raise WireError(f"{len(data)} bytes are not a whole number of floats")
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def require(kind, wanted):
    """WireError for a field of another wire type."""
    if kind != wanted:
        raise WireError(f"a field has wire type {kind}; {wanted} is expected")
