"""The structures of elements: tuples, named tuples and dicts, nested; lists are tensors, as in TensorFlow."""
from tapedeck import _engine
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.shapes import TensorShape
from tapedeck.data.graph_stages import is_stage
from tapedeck.data.specs import DatasetSpec, TensorSpec

_tensor = _engine.Tensor


def is_nested(value):
    """Whether the value has parts. A shape is one value."""
    return isinstance(value, (tuple, dict)) and not isinstance(value, TensorShape)


def _parts(structure):
    return [structure[key] for key in sorted(structure)] if isinstance(structure, dict) else structure


def flatten(structure):
    """The leaves as a list; dicts in the order of their sorted keys."""
    if not is_nested(structure):
        return [structure]
    return [leaf for part in _parts(structure) for leaf in flatten(part)]


def _rebuilt(structure, parts):
    if isinstance(structure, dict):
        by_key = dict(zip(sorted(structure), parts))
        return type(structure)((key, by_key[key]) for key in structure)
    return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)


def map_structure(function, structure):
    """The structure with function(leaf) in place of each leaf."""
    if not is_nested(structure):
        return function(structure)
    return _rebuilt(structure, [map_structure(function, part) for part in _parts(structure)])


def pack(structure, leaves):
    """The leaves, an iterator of them, in the form of the structure."""
    return map_structure(lambda _: next(leaves), structure)


def packer(structure):
    """A function of a list of leaves that packs them."""
    if not is_nested(structure):
        return lambda leaves: leaves[0]
    if type(structure) is tuple and not any(map(is_nested, structure)):
        return tuple
    return lambda leaves: pack(structure, iter(leaves))


def same_form(one, other):
    """Whether both have the same parts in the same containers."""
    if is_nested(one) != is_nested(other):
        return False
    if not is_nested(one):
        return True
    if isinstance(one, dict):
        return isinstance(other, dict) and set(one) == set(other) and all(same_form(one[key], other[key]) for key in one)
    return type(one) is type(other) and len(one) == len(other) and all(map(same_form, one, other))


def as_leaf(value):
    """A leaf as the engine takes it: a tensor, or a data set's stage."""
    if type(value) is _tensor:
        return value
    stage = getattr(value, "_stage", None)
    if stage is not None:
        return stage
    if value is None:
        raise TypeError("a data set's elements are tensors; None is none")
    if isinstance(value, IndexedSlices):
        raise TypeError("a data set's elements are tensors; an IndexedSlices is none")
    return _engine.host_tensor(value)


def is_dataset(value):
    """Whether the value is a data set: it has a stage of the engine."""
    return is_stage(getattr(value, "_stage", None))


def require_dataset(value, function):
    """TypeError naming the function where the value is not a data set."""
    if not is_dataset(value):
        raise TypeError(f"{function}: {value!r} is not a Dataset")


def spec_of(value):
    """The spec of a leaf: a tensor, or a data set."""
    return DatasetSpec(value.element_spec) if hasattr(value, "_stage") else TensorSpec.from_tensor(value)


def as_element(value):
    """A value whose leaves are tensors or data sets."""
    return map_structure(lambda leaf: leaf if hasattr(leaf, "_stage") else as_leaf(leaf), value)


def unpacked(function, element):
    """function of the element: a tuple's parts are several arguments."""
    return function(*element) if type(element) is tuple else function(element)


def matching(structure, values, what):
    """values, a structure like `structure` or one value for all leaves, as a list of one for each leaf. ValueError naming `what`.
    Lists are values: shapes."""
    leaves = flatten(structure)
    if not is_nested(structure) or not isinstance(values, (tuple, dict)) or isinstance(values, TensorShape):
        if len(leaves) == 1 or values is None or not isinstance(values, (tuple, dict, list)):
            return [values] * len(leaves)
    found = _flatten_up_to(structure, values)
    if found is None:
        raise ValueError(
            f"{what} is {values!r}; needs the structure of the elements, {map_structure(lambda leaf: '.', structure)!r}")
    return found


def _flatten_up_to(structure, values):
    if not is_nested(structure):
        return [values]
    if isinstance(structure, dict):
        if not isinstance(values, dict) or set(values) != set(structure):
            return None
        pairs = [(structure[key], values[key]) for key in sorted(structure)]
    else:
        if not isinstance(values, (tuple, list)) or len(values) != len(structure):
            return None
        pairs = list(zip(structure, values))
    parts = [_flatten_up_to(part, value) for part, value in pairs]
    return None if None in parts else [leaf for part in parts for leaf in part]
