"""Nested structures of lists, tuples, named tuples, dicts, classes of attrs and others that have TensorFlow's __tf_flatten__, as
functions take and return them. expand_composites, TensorFlow's argument for tensors that are made of several, changes nothing."""
import collections

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape

# The usual ones: to look for an attribute that a class does not have takes long.
_LEAVES = frozenset([_engine.Tensor, _engine.Variable, bool, int, float, complex, str, bytes, type(None), TensorShape])


@public("nest.is_nested")
def is_nested(structure):
    """True for what flatten() goes into. A shape is one value."""
    kind = type(structure)
    if kind in _LEAVES:
        return False
    if isinstance(structure, (list, tuple, dict)):
        return not isinstance(structure, TensorShape)
    return hasattr(kind, "__attrs_attrs__") or hasattr(kind, "__tf_flatten__")


def _children(structure):
    if isinstance(structure, dict):
        return [structure[key] for key in _sorted_keys(structure)]
    if isinstance(structure, (list, tuple)):
        return structure
    if hasattr(type(structure), "__tf_flatten__"):
        return structure.__tf_flatten__()[1]
    return [getattr(structure, each.name) for each in type(structure).__attrs_attrs__]


def _sorted_keys(structure):
    try:
        return sorted(structure)
    except TypeError:
        raise TypeError(f"nest: the keys {list(structure)} of a dict cannot be sorted; a structure has an order") from None


@public("nest.flatten")
def flatten(structure, expand_composites=False):
    """The leaves of a nested structure as a flat list; dicts in the order of their sorted keys. TypeError where keys have none."""
    if not is_nested(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child)]


@public("nest.flatten_like")
def flatten_like(structure, values):
    """values, one per leaf of structure, as a flat list; None for None. A list of numbers for one leaf is its value."""
    if values is None:
        return None
    return flatten(values) if is_nested(structure) else [values]


def _type(structure):
    """A container's type; for one of an object's attributes that tracks what it holds, the type that it was given as."""
    return getattr(type(structure), "_plain", type(structure))


def _rebuild(structure, children):
    if isinstance(structure, dict):
        by_key = dict(zip(_sorted_keys(structure), children))
        pairs = [(key, by_key[key]) for key in structure]
        if isinstance(structure, collections.defaultdict):
            return type(structure)(structure.default_factory, pairs)
        return _type(structure)(pairs)
    if hasattr(structure, "_fields"):
        return _type(structure)(*children)
    if isinstance(structure, (list, tuple)):
        return _type(structure)(children)
    kind = type(structure)
    if hasattr(kind, "__tf_flatten__"):
        return kind.__tf_unflatten__(structure.__tf_flatten__()[0], tuple(children))
    return kind(**{getattr(each, "alias", None) or each.name.lstrip("_"): child for each, child in zip(kind.__attrs_attrs__, children)})


def _pack(part, remaining):
    if not is_nested(part):
        return next(remaining)
    return _rebuild(part, [_pack(child, remaining) for child in _children(part)])


@public("nest.pack_sequence_as")
def pack_sequence_as(structure, flat_sequence, expand_composites=False):
    """flat_sequence's leaves in the form of structure. ValueError where their numbers differ, TypeError for a value that is not a
    sequence."""
    if not hasattr(flat_sequence, "__iter__"):
        raise TypeError(f"pack_sequence_as: flat_sequence is {flat_sequence!r}; needs a list")
    leaves = list(flat_sequence)
    wanted = len(flatten(structure))
    if wanted != len(leaves):
        raise ValueError(f"the structure has {wanted} leaves, but {len(leaves)} values were given")
    return _pack(structure, iter(leaves))


def _shape_of(structure):
    """What assert_same_structure compares: the types of the containers, and the keys of dicts."""
    if not is_nested(structure):
        return "."
    kind = dict if isinstance(structure, dict) else _type(structure)
    keys = tuple(_sorted_keys(structure)) if isinstance(structure, dict) else ()
    if not isinstance(structure, (list, tuple, dict)) and hasattr(kind, "__tf_flatten__"):
        keys = repr(structure.__tf_flatten__()[0])
    return kind, keys, tuple(_shape_of(child) for child in _children(structure))


def _sizes_of(structure):
    return tuple(_sizes_of(child) for child in _children(structure)) if is_nested(structure) else "."


@public("nest.assert_same_structure")
def assert_same_structure(nest1, nest2, check_types=True, expand_composites=False):
    """Both have the same leaves in the same containers. ValueError for other leaves, TypeError for other containers; with
    check_types False a list equals a tuple."""
    if _sizes_of(nest1) != _sizes_of(nest2):
        raise ValueError(f"the structures differ: {nest1!r} has {len(flatten(nest1))} leaves, {nest2!r} has {len(flatten(nest2))}"
                         ", or they are nested otherwise")
    if check_types and _shape_of(nest1) != _shape_of(nest2):
        raise TypeError(f"the structures' containers or keys differ: {nest1!r} and {nest2!r}")


@public("nest.map_structure")
def map_structure(func, *structure, check_types=True, expand_composites=False):
    """Applies func to every leaf of a structure, or to corresponding leaves of several; the result has the structure of the first.

    TypeError where func is not a function or no structure is given; ValueError and TypeError where the structures differ, as
    assert_same_structure has it.
    """
    if not callable(func):
        raise TypeError(f"map_structure: func is {func!r}; needs a function")
    if not structure:
        raise TypeError("map_structure: needs at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*map(flatten, structure))])
