"""What functions take and return as JSON: nested structures of TensorSpecs, and of Python's values."""
import collections

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.dtypes import as_dtype, DType
from tapedeck._core.shapes import TensorShape
from tapedeck._functions.structures import Leaf, Results, Shown
from tapedeck._sparse.tensors import SparseTensor
from tapedeck.data.specs import TensorSpec

_PLAIN = (bool, int, str)


class NotSavedError(Exception):
    """A value that saved models lack; its text says which."""


class SparseSpec:
    """Of a SparseTensor among results: what its tensors are."""

    def __init__(self, specs, dense_shape):
        self.specs, self.dense_shape = specs, dense_shape


def _extents(shape):
    return None if shape is None else list(shape)


def _of_namedtuple(value):
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def encoded(value):
    """The value as JSON holds it. NotSavedError for one that saved models lack."""
    if type(value) is int and not -1 << 63 <= value < 1 << 63:  # what JSON's readers make other numbers of
        return {"int": hex(value)}
    if value is None or type(value) in _PLAIN:
        return value
    if type(value) is float:
        return {"float": repr(value)}
    if type(value) is complex:
        return {"complex": [repr(value.real), repr(value.imag)]}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    if isinstance(value, TensorSpec):
        return {"spec": [value.dtype.name, _extents(value.shape), value.name]}
    if isinstance(value, SparseSpec):
        return {"sparse": [[encoded(spec) for spec in value.specs], _extents(value.dense_shape)]}
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, TensorShape):
        return {"extents": None if value.rank is None else list(value)}
    if isinstance(value, Shown):
        return {"shown": repr(value)}
    if isinstance(value, dict):
        kind = "ordered" if isinstance(value, collections.OrderedDict) else "dict"
        return {kind: [[encoded(key), encoded(each)] for key, each in value.items()]}
    if _of_namedtuple(value):
        return {"named": [type(value).__name__, list(value._fields), [encoded(each) for each in value]]}
    if isinstance(value, (list, tuple)):
        return {"list" if isinstance(value, list) else "tuple": [encoded(each) for each in value]}
    raise NotSavedError(f"{value!r} of type {type(value).__name__}")


def _shape(extents):
    return None if extents is None else TensorShape(extents)


_named = {}


def _namedtuple(name, fields):
    key = (name, *fields)
    if key not in _named:
        _named[key] = collections.namedtuple(name, fields)
    return _named[key]


_DECODERS = {
    "int": lambda text: int(text, 16),
    "float": float,
    "complex": lambda parts: complex(*map(float, parts)),
    "bytes": bytes.fromhex,
    "spec": lambda parts: TensorSpec(_shape(parts[1]), as_dtype(parts[0]), parts[2]),
    "sparse": lambda parts: SparseSpec(list(map(decoded, parts[0])), parts[1]),
    "dtype": as_dtype,
    "extents": TensorShape,
    "shown": Shown,
    "dict": lambda pairs: {decoded(key): decoded(each) for key, each in pairs},
    "ordered": lambda pairs: collections.OrderedDict((decoded(key), decoded(each)) for key, each in pairs),
    "named": lambda parts: _namedtuple(parts[0], tuple(parts[1]))(*map(decoded, parts[2])),
    "list": lambda parts: [decoded(each) for each in parts],
    "tuple": lambda parts: tuple(decoded(each) for each in parts),
}


def decoded(found):
    """The value again. ValueError, TypeError, KeyError or IndexError for JSON that encoded() did not make."""
    if found is None or type(found) in _PLAIN:
        return found
    if type(found) is not dict or len(found) != 1:
        raise ValueError(f"{str(found):.60} is not a value")
    (kind, what), = found.items()
    return _DECODERS[kind](what)


def _leaf_encoded(leaf, specs):
    if leaf is None:
        return None
    if leaf.key[0] == "tensor":
        return specs[0]
    if leaf.key[0] == "sparse":
        return SparseSpec(specs, leaf.key[2] if len(specs) == 2 else None)
    raise NotSavedError(f"a {leaf.key[0]}")


def results_encoded(concrete):
    """What a ConcreteFunction returns, as JSON. NotSavedError for objects that saved models lack."""
    results = concrete._results
    remaining = iter(concrete.outputs)
    leaves = [_leaf_encoded(leaf, [next(remaining) for _ in leaf.specs] if leaf else ()) for leaf in results._leaves]
    structure = results._structure
    return encoded(nest.pack_sequence_as(structure, leaves) if nest.is_nested(structure) else leaves[0])


def _leaf_of(spec):
    if spec is None:
        return None
    if isinstance(spec, SparseSpec):
        known = spec.dense_shape
        if known is None:
            return Leaf(("sparse", None, len(spec.specs)), (), tuple(spec.specs), SparseTensor._of)
        return Leaf(("sparse", spec.specs[1].dtype.name, tuple(known)), (), tuple(spec.specs),
                    lambda tensors: SparseTensor._of([*tensors, _engine.constant(known, "int64", [len(known)])]))
    return Leaf(("tensor", spec.dtype.name, spec.shape), (), (spec,), lambda tensors: tensors[0])


def results_decoded(found, count):
    """The Results of a function of so many results. ValueError where that is not what it says."""
    structure = decoded(found)
    leaves = [_leaf_of(spec) for spec in nest.flatten(structure)]
    if sum(len(leaf.specs) for leaf in leaves if leaf) != count:
        raise ValueError(f"the results are {str(found):.60}; the graph has {count}")
    return Results.restored(nest.map_structure(lambda _: None, structure), leaves)
