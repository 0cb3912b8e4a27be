"""Ops whose results are named tuples: the largest values, and the distinct ones."""
import collections

from tapedeck.composites import op, public

TopKV2 = collections.namedtuple("TopKV2", ["values", "indices"])
Unique = collections.namedtuple("Unique", ["y", "idx"])
UniqueWithCounts = collections.namedtuple("UniqueWithCounts", ["y", "idx", "count"])


@public("nn.top_k", "math.top_k")
def top_k(input, k=1, sorted=True, index_type="int32", name=None):
    """The k largest values along the last axis, and their positions.

    input: any numeric dtype, at least one axis; k: how many; sorted: largest first, as they come here in
    any case; index_type: int32 or int64.
    Returns: (values, indices): the dtype of input and index_type, the shape of input with k for its last extent. Of equal
    values the first comes first; NaN counts as larger than every number.
    Errors: InvalidArgumentError for a scalar, or a k below 0 or above the last extent; TypeError for bool.
    """
    values, indices = op("top_k")(input, k, sorted)
    return TopKV2(values, indices if index_type == "int32" else op("cast")(indices, index_type))


@public("unique")
def unique(x, out_idx="int32", name=None):
    """The values of x, each once, in the order of their first appearance.

    x: any dtype, one axis; out_idx: int32 or int64. NaN equals nothing, so each one counts for itself.
    Returns: (y, idx): the values, and for each element of x its value's place, so that x = y[idx].
    Errors: InvalidArgumentError for another number of axes or another out_idx.
    """
    return Unique(*op("unique_with_counts")(x, out_idx)[:2])


@public("unique_with_counts")
def unique_with_counts(x, out_idx="int32", name=None):
    """The values of x, each once, in the order of their first appearance, and how often each appears.

    x: any dtype, one axis; out_idx: int32 or int64. NaN equals nothing, so each one counts for itself.
    Returns: (y, idx, count): the values; for each element of x its value's place, so that x = y[idx]; how often each
    value appears. idx and count have dtype out_idx.
    Errors: InvalidArgumentError for another number of axes or another out_idx.
    """
    return UniqueWithCounts(*op("unique_with_counts")(x, out_idx))
