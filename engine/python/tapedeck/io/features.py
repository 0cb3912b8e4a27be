"""Tensors of the features that serialized examples hold: tf.io.parse_example and its kin."""
import math
import typing

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.host_ops import host_op, Known, shape_of
from tapedeck._core.public import public
from tapedeck.io.examples import Example, SequenceExample
from tapedeck.io.files import bytes_of

_KINDS = {"string": "bytes_list", "float32": "float_list", "int64": "int64_list"}


@public("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature(typing.NamedTuple):
    """A feature of one shape. dtype: string, float32 or int64. default_value: for examples without it; None: it must be there."""

    shape: typing.Any
    dtype: typing.Any
    default_value: typing.Any = None


@public("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(typing.NamedTuple):
    """A feature of any number of values of one shape, which become a first axis."""

    shape: typing.Any
    dtype: typing.Any
    allow_missing: bool = False
    default_value: typing.Any = None


@public("VarLenFeature", "io.VarLenFeature")
class VarLenFeature(typing.NamedTuple):
    """A feature of any number of values, a SparseTensor in TensorFlow: refused, as there are none here."""

    dtype: typing.Any


def _values(feature, name, dtype, function):
    """The list of values; None where there are none."""
    kind = feature.WhichOneof("kind") if feature is not None else None
    if kind is None:
        return None
    wanted = _KINDS.get(dtype.name)
    if wanted is None:
        raise _engine.InvalidArgumentError(f"{function}: feature {name!r} shall be {dtype.name}; needs string, float32 or int64")
    if kind != wanted:
        raise _engine.InvalidArgumentError(f"{function}: feature {name!r} is a {kind}; {dtype.name} is expected")
    return getattr(feature, kind).value


def _array(values, dtype, shape):
    if dtype == dtypes.string:
        array = np.empty(len(values), object)
        array[:] = values
    else:
        array = np.array(values, dtype.as_numpy_dtype)
    return array.reshape(shape)


def _fixed(values, spec, name, dtype, function):
    shape = [int(extent) for extent in spec.shape]
    if values is None:
        if spec.default_value is None:
            raise _engine.InvalidArgumentError(f"{function}: feature {name!r} is missing, and has no default_value")
        default = np.array(spec.default_value, object if dtype == dtypes.string else dtype.as_numpy_dtype)
        return np.broadcast_to(default, shape) if default.size == 1 else default.reshape(shape)
    if len(values) != math.prod(shape):
        raise _engine.InvalidArgumentError(f"{function}: feature {name!r} has {len(values)} values; shape {tuple(shape)} needs "
                                           f"{math.prod(shape)}")
    return _array(values, dtype, shape)


def _sequence(values, spec, name, dtype, function):
    shape = [int(extent) for extent in spec.shape]
    if values is None:
        if not spec.allow_missing:
            raise _engine.InvalidArgumentError(f"{function}: feature {name!r} is missing, and allow_missing is False")
        values = []
    row = math.prod(shape)
    if row == 0 or len(values) % row:
        raise _engine.InvalidArgumentError(
            f"{function}: feature {name!r} has {len(values)} values; shape {tuple(shape)} needs a multiple "
            f"of {row}")
    return _array(values, dtype, [len(values) // row, *shape])


def _one(feature, spec, name, function):
    """A feature's array, as its spec says."""
    if isinstance(spec, VarLenFeature):
        raise _engine.UnimplementedError(f"{function}: feature {name!r} is a VarLenFeature, which gives a SparseTensor; "
                                         "FixedLenSequenceFeature(shape, dtype, allow_missing=True) gives a tensor")
    if not isinstance(spec, (FixedLenFeature, FixedLenSequenceFeature)):
        raise TypeError(f"{function}: feature {name!r} is {spec!r}; needs a FixedLenFeature or a FixedLenSequenceFeature")
    dtype = dtypes.as_dtype(spec.dtype)
    values = _values(feature, name, dtype, function)
    return (_fixed if isinstance(spec, FixedLenFeature) else _sequence)(values, spec, name, dtype, function), dtype


def _tensor(array, dtype):
    if dtype == dtypes.string:
        return _engine.convert_to_tensor(array.tolist() if array.ndim else array.item(), dtype)
    return _engine.convert_to_tensor(np.array(array), dtype)


def _checked(features, function):
    if not isinstance(features, dict) or not features:
        raise _engine.InvalidArgumentError(f"{function}: features is {features!r}; needs a dict of them by name")
    return features


def _known_feature(spec, before=()):
    shape = [] if not hasattr(spec, "shape") else [int(extent) for extent in spec.shape]
    return Known(spec.dtype, [*before, *([None] if isinstance(spec, FixedLenSequenceFeature) else []), *shape])


def _known_features(serialized, features, **_):
    shape = shape_of(serialized)
    if shape is None:
        return {key: Known(spec.dtype, None) for key, spec in features.items()}
    batch = () if not shape.rank else (shape.num_elements(),)
    return {key: _known_feature(spec, batch) for key, spec in features.items()}


def _known_lists(context_features, sequence_features, **_):
    return ({key: _known_feature(spec) for key, spec in (context_features or {}).items()},
            {key: Known(spec.dtype, [None, *map(int, spec.shape)]) for key, spec in (sequence_features or {}).items()})


@public("parse_single_example", "io.parse_single_example")
@host_op(_known_features)
def parse_single_example(serialized, features, example_names=None, name=None):
    """The features of a serialized tf.train.Example: a dict of tensors, by name.

    serialized: bytes, or a scalar string tensor; features: a dict of FixedLenFeature and FixedLenSequenceFeature by name. Errors:
    InvalidArgumentError for bytes that are not an example, and for features that are missing or have another kind or number of values.
    """
    found = Example.FromString(bytes_of(serialized, "parse_single_example")).features.feature
    return {key: _tensor(*_one(found.get(key), spec, key, "parse_single_example"))
            for key, spec in sorted(_checked(features, "parse_single_example").items())}


def _padded(arrays, spec, dtype):
    longest = max((len(array) for array in arrays), default=0)
    fill = spec.default_value if spec.default_value is not None else b"" if dtype == dtypes.string else 0
    out = np.full([len(arrays), longest, *map(int, spec.shape)], fill, object if dtype == dtypes.string else dtype.as_numpy_dtype)
    for row, array in zip(out, arrays):
        row[:len(array)] = array
    return out


@public("parse_example", "io.parse_example")
@host_op(_known_features)
def parse_example(serialized, features, example_names=None, name=None):
    """The features of serialized tf.train.Examples, stacked along a first axis: a dict of tensors. A FixedLenSequenceFeature is
    filled up to the longest with its default_value. The arguments and errors are those of parse_single_example, which serialized
    may be one of, too."""
    if isinstance(serialized, _engine.Tensor):
        serialized = serialized.numpy()
    if isinstance(serialized, (bytes, str)):
        return parse_single_example(serialized, features)
    examples = [Example.FromString(bytes_of(each, "parse_example")).features.feature
                for each in np.ravel(np.array(serialized, object))]
    result = {}
    for key, spec in sorted(_checked(features, "parse_example").items()):
        dtype = dtypes.as_dtype(spec.dtype)
        arrays = [_one(found.get(key), spec, key, f"parse_example: example {number}")[0] for number, found in enumerate(examples)]
        if isinstance(spec, FixedLenSequenceFeature):
            result[key] = _tensor(_padded(arrays, spec, dtype), dtype)
        else:
            empty = np.empty([0, *map(int, spec.shape)], object if dtype == dtypes.string else dtype.as_numpy_dtype)
            result[key] = _tensor(np.stack(arrays) if arrays else empty, dtype)
    return result


@public("parse_single_sequence_example", "io.parse_single_sequence_example")
@host_op(_known_lists)
def parse_single_sequence_example(serialized, context_features=None, sequence_features=None, example_name=None, name=None):
    """The features of a serialized tf.train.SequenceExample: a dict of the context's tensors, and one of the lists', whose first
    axis is the place in the list. Arguments and errors as parse_single_example's."""
    function = "parse_single_sequence_example"
    found = SequenceExample.FromString(bytes_of(serialized, function))
    context = {key: _tensor(*_one(found.context.feature.get(key), spec, key, function))
               for key, spec in sorted((context_features or {}).items())}
    lists = {}
    for key, spec in sorted((sequence_features or {}).items()):
        each = found.feature_lists.feature_list.get(key)
        if each is None and not getattr(spec, "allow_missing", False):
            raise _engine.InvalidArgumentError(f"{function}: the list {key!r} is missing, and allow_missing is False")
        dtype, shape = dtypes.as_dtype(spec.dtype), [int(extent) for extent in spec.shape]
        rows = [_one(feature, FixedLenFeature(shape, dtype), key, function)[0] for feature in (each.feature if each else ())]
        empty = np.empty([0, *shape], object if dtype == dtypes.string else dtype.as_numpy_dtype)
        lists[key] = _tensor(np.stack(rows) if rows else empty, dtype)
    return context, lists
