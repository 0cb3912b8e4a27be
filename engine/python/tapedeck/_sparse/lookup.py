"""Sums and means of rows of an embedding, by numbers that a SparseTensor holds."""
from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import one_of
from tapedeck._core.composites import op
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public
from tapedeck._nn.functions import embedding_lookup
from tapedeck._sparse.arithmetic import _same_places
from tapedeck._sparse.places import places_of, shape_of
from tapedeck._sparse.tensors import checked


@public("nn.embedding_lookup_sparse", in_errors=True)
@needs_extents
def embedding_lookup_sparse(params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, allow_fast_lookup=False, *,
                            partition_strategy="mod"):
    """For each row of sp_ids the rows of params with these numbers, as one: their weighed sum or mean.

    params, max_norm, partition_strategy: as in tf.nn.embedding_lookup; sp_ids: a SparseTensor of integers, (rows, any);
    sp_weights: a SparseTensor of numbers at the same places, None for 1; combiner: 'sum', 'mean' (None), divided by the sum of
    the weights, or 'sqrtn', by the root of the sum of their squares. allow_fast_lookup changes nothing.
    Returns: the dtype of params, (rows, *params.shape[1:]); 0 for a row without numbers. Gradients reach params and the weights.
    Errors: those of tf.nn.embedding_lookup; InvalidArgumentError for another combiner and weights at other places; TypeError for what
    is not sparse, and numbers that are not whole.
    """
    if combiner in ("mod", "div"):  # which comes there in TensorFlow 1
        combiner, partition_strategy = None, combiner
    combiner = one_of("mean" if combiner is None else combiner, "combiner", ("mean", "sqrtn", "sum"))
    ids = checked("embedding_lookup_sparse", sp_ids, "sp_ids")
    weights = None if sp_weights is None else checked("embedding_lookup_sparse", sp_weights, "sp_weights")
    if not len(ids.shape):
        raise InvalidArgumentError("embedding_lookup_sparse: sp_ids has no axes; needs rows")
    if not ids.dtype.is_integer:
        raise _engine.TypeMismatchError(f"embedding_lookup_sparse: sp_ids is {ids.dtype.name}; needs integers")
    if weights is not None:
        _same_places("embedding_lookup_sparse", ids, weights)
    found = embedding_lookup(params, ids.values, max_norm, partition_strategy=partition_strategy)
    shares = op("ones")([len(ids.values)], found.dtype) if weights is None else op("cast")(weights.values, found.dtype)
    wide = [len(ids.values), *[1] * (found.ndim - 1)]
    places, rows = places_of(ids)[:, 0], shape_of(ids)[0]
    total = op("unsorted_segment_sum")(found if weights is None else found * op("reshape")(shares, wide), places, rows)
    if combiner == "sum":
        return total
    by = op("unsorted_segment_sum")(shares if combiner == "mean" else shares * shares, places, rows)
    return op("divide_no_nan")(total, op("reshape")(by if combiner == "mean" else op("sqrt")(by), [rows, *wide[1:]]))
