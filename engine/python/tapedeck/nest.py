"""Nested structures of lists, tuples, named tuples and dicts, as functions take and return them."""
import collections


def is_nested(structure):
    """True for what flatten() goes into."""
    return isinstance(structure, (list, tuple, dict))


def _children(structure):
    if isinstance(structure, dict):
        return [structure[key] for key in sorted(structure)]
    return structure


def flatten(structure):
    """The leaves of a nested structure as a flat list; dicts in the order of their sorted keys."""
    if not is_nested(structure):
        return [structure]
    return [leaf for child in _children(structure) for leaf in flatten(child)]


def flatten_like(structure, values):
    """values, one per leaf of structure, as a flat list; None for None. A list of numbers for one leaf is its value."""
    if values is None:
        return None
    return flatten(values) if is_nested(structure) else [values]


def _rebuild(structure, children):
    if isinstance(structure, dict):
        by_key = dict(zip(sorted(structure), children))
        pairs = [(key, by_key[key]) for key in structure]
        if isinstance(structure, collections.defaultdict):
            return type(structure)(structure.default_factory, pairs)
        return type(structure)(pairs)
    if hasattr(structure, "_fields"):
        return type(structure)(*children)
    return type(structure)(children)


def _pack(part, remaining):
    if not is_nested(part):
        return next(remaining)
    return _rebuild(part, [_pack(child, remaining) for child in _children(part)])


def pack_sequence_as(structure, flat_sequence):
    """flat_sequence's leaves in the form of structure. ValueError where their numbers differ."""
    leaves = list(flat_sequence)
    wanted = len(flatten(structure))
    if wanted != len(leaves):
        raise ValueError(f"the structure has {wanted} leaves, but {len(leaves)} values were given")
    return _pack(structure, iter(leaves))


def map_structure(function, structure):
    """function applied to every leaf, in the form of structure."""
    return pack_sequence_as(structure, [function(leaf) for leaf in flatten(structure)])
