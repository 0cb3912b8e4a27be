"""Tensors as bytes: decode_raw, and messages of tensors."""
import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.host_ops import host_op, Known, shape_of
from tapedeck._core.public import public
from tapedeck.io import wire
from tapedeck.io.files import bytes_of

# The numbers of TensorFlow's types.proto.
_NUMBERS = {"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "complex64": 8, "int64": 9,
            "bool": 10,
            "uint16": 17, "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23}
_NAMES = {number: name for name, number in _NUMBERS.items()}
_MOST_ELEMENTS = 1 << 31


def _known_numbers(input_bytes, bytes, out_type, fixed_length, **_):
    shape = shape_of(input_bytes if input_bytes is not None else bytes)
    size = np.dtype(dtypes.as_dtype(out_type).as_numpy_dtype).itemsize
    return Known(out_type, None if shape is None else [*shape, None if fixed_length is None else fixed_length // size])


@public("decode_raw", "io.decode_raw")
@host_op(_known_numbers)
def decode_raw(input_bytes=None, out_type=None, little_endian=True, fixed_length=None, name=None, bytes=None):
    """Bytes as numbers: the values of out_type that they hold, along a new last axis.

    input_bytes (`bytes` in TensorFlow 1): bytes, or a string tensor whose elements have the same length; little_endian: the bytes'
    order. fixed_length: the bytes are cut, or filled up with zeros, to that many. Errors: InvalidArgumentError where the length is
    no multiple of out_type's.
    """
    value = input_bytes if input_bytes is not None else bytes
    if isinstance(value, _engine.Tensor):
        value = value.numpy()
    items = np.asarray(value, object)
    dtype = dtypes.as_dtype(out_type)
    order = np.dtype(dtype.as_numpy_dtype).newbyteorder("<" if little_endian else ">")
    rows = [bytes_of(each, "decode_raw") for each in items.reshape(-1)]
    if fixed_length is not None:
        rows = [row[:fixed_length].ljust(fixed_length, b"\0") for row in rows]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1 or any(length % order.itemsize for length in lengths):
        raise _engine.InvalidArgumentError(
            f"decode_raw: elements of {sorted(lengths)} bytes; needs the same number of bytes in all, a "
            f"multiple of {order.itemsize} for {dtype.name}")
    array = np.frombuffer(b"".join(rows), order).reshape([*items.shape, -1] if rows and lengths != {0} else [*items.shape, 0])
    return _engine.convert_to_tensor(array.astype(order.newbyteorder("=")), dtype)


@public("serialize_tensor", "io.serialize_tensor")
@host_op(lambda **_: Known("string", ()))
def serialize_tensor(tensor, name=None):
    """A tensor as the bytes of TensorFlow's message TensorProto, a scalar string tensor. UnimplementedError for bfloat16."""
    tensor = _engine.convert_to_tensor(tensor)
    number = _NUMBERS.get(tensor.dtype.name)
    if number is None:
        raise _engine.UnimplementedError(f"serialize_tensor: tensor is {tensor.dtype.name}, which it does not write")
    shape = b"".join(wire.field(2, wire.number_field(1, extent) if extent else b"") for extent in tensor.shape)
    values = tensor.numpy()
    if tensor.dtype.name == "string":
        flat = [values] if isinstance(values, bytes) else values.reshape(-1).tolist()
        content = b"".join(wire.field(8, each) for each in flat)
    else:
        content = wire.field(4, np.ascontiguousarray(values).tobytes())
    return _engine.convert_to_tensor(wire.number_field(1, number) + wire.field(2, shape) + content)


def _shape_of(data):
    shape = []
    for number, kind, value in wire.fields(data):
        if number == 2:
            wire.require(kind, wire.BYTES)
            sizes = [wire.signed(size) for part, _, size in wire.fields(value) if part == 1 and isinstance(size, int)]
            shape.append(sizes[-1] if sizes else 0)
    if any(extent < 0 for extent in shape):
        raise wire.WireError(f"the shape is {shape}")
    return shape


def _listed(number, kind, value):
    """The values of one of the fields that list them."""
    if number in (5, 6):
        return wire.packed_floats(value, "f" if number == 5 else "d")
    return [wire.signed(each) for each in ([value] if kind == wire.VARINT else wire.packed_varints(value))]


def _message(data):
    """(dtype's name, shape, the content's bytes, listed values)."""
    name, shape, content, listed = "", [], b"", []
    for number, kind, value in wire.fields(data):
        if number == 1:
            wire.require(kind, wire.VARINT)
            name = _NAMES.get(value, "")
        elif number == 2:
            wire.require(kind, wire.BYTES)
            shape = _shape_of(value)
        elif number == 4:
            wire.require(kind, wire.BYTES)
            content = value
        elif number == 8:
            wire.require(kind, wire.BYTES)
            listed.append(value)
        elif number in (5, 6, 7, 10, 11, 13, 16, 17):
            listed += _listed(number, kind, value)
    return name, shape, content, listed


def _array(name, shape, content, listed):
    count = 1
    for extent in shape:
        count *= extent
    if count > _MOST_ELEMENTS:
        raise wire.WireError(f"the shape {shape} has {count} elements")
    if name == "string":
        if len(listed) != count:
            raise wire.WireError(f"{len(listed)} values for the shape {shape}")
        array = np.empty(count, object)
        array[:] = listed
        return array.reshape(shape)
    dtype = np.dtype(name)
    if content:
        if len(content) != count * dtype.itemsize:
            raise wire.WireError(f"{len(content)} bytes for the shape {shape} of {name}")
        return np.frombuffer(content, dtype.newbyteorder("<")).reshape(shape)
    if not listed and count:
        return np.zeros(shape, dtype)
    if len(listed) > count or len(listed) * 64 < count and len(listed) != 1:
        raise wire.WireError(f"{len(listed)} values for the shape {shape}")
    if name == "float16":
        listed = np.array(listed, np.uint16).view(np.float16)
    return np.array([*listed, *[listed[-1]] * (count - len(listed))] if count else [], dtype).reshape(shape)


@public("parse_tensor", "io.parse_tensor")
@host_op(lambda out_type, **_: Known(out_type, None))
def parse_tensor(serialized, out_type, name=None):
    """The tensor that serialize_tensor, or TensorFlow, made bytes of. InvalidArgumentError for other bytes, and for another dtype
    than out_type."""
    data = bytes_of(serialized, "parse_tensor")
    wanted = dtypes.as_dtype(out_type)
    try:
        found, shape, content, listed = _message(data)
        if found != wanted.name:
            raise wire.WireError(f"it holds {found or 'no dtype that is known'}; out_type is {wanted.name}")
        array = _array(found, shape, content, listed)
    except (wire.WireError, OverflowError, TypeError) as error:
        raise _engine.InvalidArgumentError(f"parse_tensor: {len(data)} bytes: {error}") from None
    if wanted == dtypes.string:
        return _engine.convert_to_tensor(array.tolist() if array.ndim else array.item(), wanted)
    return _engine.convert_to_tensor(np.array(array), wanted)
