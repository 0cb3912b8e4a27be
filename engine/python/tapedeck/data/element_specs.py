"""What stages make of the specs of elements."""
from tapedeck._core.shapes import TensorShape
from tapedeck.data import structure as _structure
from tapedeck.data.specs import common_shape, TensorSpec


def batched(spec, size):
    """The spec of batches of that many rows."""
    def stacked(each):
        if not isinstance(each, TensorSpec):
            raise TypeError("batch: the elements hold data sets, which a batch cannot hold")
        return TensorSpec(None if each.shape is None else TensorShape((size,)).concatenate(each.shape), each.dtype)
    return _structure.map_structure(stacked, spec)


def rows(each):
    """The spec of a tensor's rows."""
    return TensorSpec(None if each.shape is None else TensorShape(each.shape[1:]), each.dtype)


def either(one, other):
    """The spec of elements that come from both."""
    if not _structure.same_form(one, other):
        raise TypeError(f"the data sets' elements differ in structure: {one!r} and {other!r}")
    leaves = iter(_structure.flatten(other))

    def common(mine):
        theirs = next(leaves)
        if isinstance(mine, TensorSpec) and mine.dtype != theirs.dtype:
            raise TypeError(f"the data sets' elements differ in dtype: {mine.dtype.name} and {theirs.dtype.name}")
        return TensorSpec(common_shape(mine.shape, theirs.shape), mine.dtype) if isinstance(mine, TensorSpec) else mine
    return _structure.pack(one, iter([common(leaf) for leaf in _structure.flatten(one)]))


def nest_specs(structure, spec_of):
    """A structure of data sets as the spec of what zip makes of them."""
    return _replaced(structure, iter([spec_of(each) for each in _structure.flatten(structure)]))


def _replaced(structure, specs):
    if not _structure.is_nested(structure):
        return next(specs)
    parts = [_replaced(part, specs) for part in _structure._parts(structure)]
    return _structure._rebuilt(structure, parts)
