"""Attention layers, on the op of scaled dot-product attention."""
import math
import string

import numpy as np

from tapedeck import _engine
from tapedeck import _initializers as initializers
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extent, extents, product
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._nn import functions as nn
from tapedeck.keras import constraints, regularizers
from tapedeck.keras.layers import calls
from tapedeck.keras.layers.base import as_shape, Layer
from tapedeck.keras.layers.core import EinsumDense
from tapedeck.keras.layers.recurrent_cells import build_layer

_reshape, _transpose, _matmul, _expand = _op("reshape"), _op("transpose"), _op("matmul"), _op("expand_dims")
_MASKED = -1e9  # added to the logit of what may not be attended to


def _before(queries, keys):
    """True where a key is not behind the query."""
    if isinstance(queries, int) and isinstance(keys, int):
        return _engine.constant(np.tri(queries, keys, dtype=bool), None, None)
    return _op("greater_equal")(_expand(_op("range")(queries), 1), _op("range")(keys))


def dot_product_attention(query, key, value, mask=None, scale=None, causal=False, dropout=0.0, seed=None):
    """softmax(scale · query · keyᵀ, masked) · value, and the softmax.

    query: (…, queries, depth), key: (…, keys, depth), value: (…, keys, width); mask: bool, or added to the logits, of a shape that
    broadcasts to (…, queries, keys); dropout: the share of the weights that are set to zero. Returns: (out, weights).
    """
    if not dropout:
        return _engine.op_function("attention")(query, key, value, [] if mask is None else [mask], scale=scale, causal=causal)
    logits = _matmul(query, key, transpose_b=True) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if causal:
        may = _before(extent(query, -2), extent(key, -2))
        mask = may if mask is None else _op("logical_and")(mask, may) if mask.dtype.is_bool else mask + _added(may, mask.dtype)
    if mask is not None:
        logits = logits + (_added(mask, logits.dtype) if mask.dtype.is_bool else mask)
    weights = _op("softmax")(logits)
    return _matmul(nn.dropout(weights, rate=dropout, seed=seed), value), weights


def _added(may, dtype):
    """What a bool mask adds to logits."""
    return _op("cast")(_op("logical_not")(may), dtype) * _MASKED


def _both(one, other):
    """The conjunction of two masks, either of which may be None."""
    return other if one is None else one if other is None else _op("logical_and")(one, other)


def _bool(mask):
    return None if mask is None else _engine.convert_to_tensor(mask, "bool") if not isinstance(mask, _engine.Tensor) else (
        mask if mask.dtype.is_bool else _op("cast")(mask, "bool"))


def _share(owner, dropout):
    """A rate of dropout. ValueError outside of [0, 1]."""
    if not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
        raise ValueError(f"{owner}: dropout is {dropout!r}; needs a number from 0 to 1")
    return dropout


@public("keras.layers.Attention")
class Attention(Layer):
    """Dot-product attention (Luong et al. 2015, arXiv:1508.04025): softmax(scores) · value.

    Called with a list [query, value] or [query, value, key], (batch, queries, dim), (batch, keys, dim): key is value where it is not
    given. use_scale: a variable multiplies the scores; score_mode: "dot" for query · keyᵀ, "concat" for Σ tanh(query + key), times a
    variable; dropout: the share of weights that are set to zero in training; seed.
    mask: a list [query_mask, value_mask], (batch, queries) and (batch, keys), bool: outputs are zeros where the first is False, and
    keys count where the second is True; use_causal_mask: query i attends to keys 0 to i; return_attention_scores: the weights, too.
    Errors: ValueError for other inputs, masks and score modes.
    """

    def __init__(self, use_scale=False, score_mode="dot", dropout=0.0, seed=None, **kwargs):
        if score_mode not in ("dot", "concat"):
            raise ValueError("Invalid value for argument score_mode. Expected one of {'dot', 'concat'}. Received: "
                             f"score_mode={score_mode}")
        super().__init__(**kwargs)
        self.use_scale, self.score_mode, self.seed = use_scale, score_mode, seed
        self.dropout = _share(type(self).__name__, dropout)
        self.scale = self.concat_score_weight = None
        self.supports_masking = True

    def build(self, input_shape):
        if self.use_scale:
            self.scale = self._make_scale(input_shape)
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(name="concat_score_weight", shape=(), initializer="ones")
        self.built = True

    def _make_scale(self, input_shape):
        return self.add_weight(name="scale", shape=(), initializer="ones")

    def _check(self, inputs, mask):
        name = type(self).__name__
        if not isinstance(inputs, list):
            raise ValueError(f"{name} layer must be called on a list of inputs, namely [query, value] or [query, value, key]. Received: "
                             f"inputs={inputs}.")
        if len(inputs) not in (2, 3):
            raise ValueError(f"{name} layer accepts inputs list of length 2 or 3, namely [query, value] or [query, value, key]. Received "
                             f"length: {len(inputs)}.")
        if mask is not None and not isinstance(mask, list):
            raise ValueError(f"{name} layer mask must be a list, namely [query_mask, value_mask]. Received: mask={mask}.")
        if mask is not None and len(mask) not in (2, 3):
            raise ValueError(f"{name} layer accepts mask list of length 2 or 3. Received: inputs={inputs}, mask={mask}.")

    def __call__(self, inputs, *args, **kwargs):
        self._check(inputs, kwargs.get("mask"))
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs, mask=None, training=False, return_attention_scores=False, use_causal_mask=False):
        query, value = inputs[:2]
        key = inputs[2] if len(inputs) > 2 else value
        query_mask, value_mask = (_bool(each) for each in mask[:2]) if mask else (None, None)
        may = None if value_mask is None else _expand(value_mask, -2)
        dropout = self.dropout if training else 0.0
        out, weights = self._attend(query, key, value, may, use_causal_mask, dropout)
        if query_mask is not None:
            out = _op("where")(_expand(query_mask, -1), out, _op("zeros_like")(out))
        return (out, weights) if return_attention_scores else out

    def _attend(self, query, key, value, may, causal, dropout):
        if self.score_mode == "dot":
            query = query if self.scale is None else query * self.scale
            return dot_product_attention(query, key, value, may, 1.0, causal, dropout, self.seed)
        logits = self._sums(query, key)
        if causal:
            may = _both(may, _before(extent(logits, -2), extent(logits, -1)))
        if may is not None:
            logits = logits + _added(may, logits.dtype)
        weights = _op("softmax")(logits)
        kept = nn.dropout(weights, rate=dropout, seed=self.seed) if dropout else weights
        return _matmul(kept, value), weights

    def _sums(self, query, key):
        together = _expand(query, -2) + _expand(key, -3)
        if self.scale is not None:
            together = self.scale * together
        return self.concat_score_weight * _op("reduce_sum")(_op("tanh")(together), -1)

    def compute_mask(self, inputs, mask=None):
        return mask[0] if mask else None

    def compute_output_shape(self, input_shape):
        shapes = as_shape(input_shape)
        return TensorShape((*shapes[0][:-1], shapes[1][-1]))

    def get_config(self):
        return {**super().get_config(), "use_scale": self.use_scale, "score_mode": self.score_mode, "dropout": self.dropout,
                "seed": self.seed}


@public("keras.layers.AdditiveAttention")
class AdditiveAttention(Attention):
    """Additive attention (Bahdanau et al. 2015, arXiv:1409.0473): scores are Σ scale · tanh(query + key).

    use_scale: scale is a variable, (dim,), else 1. The other arguments, inputs and errors are those of Attention.
    """

    def __init__(self, use_scale=True, dropout=0.0, **kwargs):
        super().__init__(use_scale=use_scale, dropout=dropout, **kwargs)
        self.score_mode = "sum"

    def _make_scale(self, input_shape):
        return self.add_weight(name="scale", shape=(input_shape[0][-1],), initializer="glorot_uniform")

    def _sums(self, query, key):
        sums = _op("tanh")(_expand(query, -2) + _expand(key, -3))
        return _op("reduce_sum")(sums if self.scale is None else self.scale * sums, -1)

    def get_config(self):
        config = super().get_config()
        del config["score_mode"]
        return config


class _Projection(EinsumDense):
    """A product over the last axes of the inputs, as one of two matrices; variables as EinsumDense has them."""

    def __init__(self, rank, contracted, made, use_bias, **kwargs):
        free, over = string.ascii_lowercase[:rank - contracted], string.ascii_lowercase[rank - contracted:rank]
        letters = string.ascii_lowercase[rank:rank + len(made)]
        super().__init__(f"{free}{over},{over}{letters}->{free}{letters}", (*[None] * (len(free) - 1), *made),
                         bias_axes=letters if use_bias else None, **kwargs)
        self._free, self._made = len(free), tuple(made)

    def call(self, inputs):
        shape = extents(inputs)
        depth = product(shape[self._free:])
        outputs = _matmul(_reshape(inputs, [product(shape[:self._free]), depth]), _reshape(self.kernel, [depth, -1]))
        if self.bias is not None:
            outputs = outputs + _reshape(self.bias, [-1])
        return _reshape(outputs, [*shape[:self._free], *self._made])


_OF_KIND = {"initializer": initializers, "regularizer": regularizers, "constraint": constraints}


class _Heads(Layer):
    """Projections to heads and back."""

    def _keep(self, dropout, use_bias, seed, kinds):
        self.supports_masking = True
        vars(self)["_kinds"] = {name: _OF_KIND[name.rpartition("_")[2]].get(value) for name, value in kinds.items()}
        self._dropout, self._use_bias, self.seed = _share(type(self).__name__, dropout), use_bias, seed

    def _projection(self, name, rank, contracted, made):
        return _Projection(rank, contracted, made, self._use_bias, name=name, dtype=self._dtype, **self._kinds)

    @property
    def query_dense(self):
        """The layer that projects queries."""
        return self._query_dense

    @property
    def key_dense(self):
        """The layer that projects keys."""
        return self._key_dense

    @property
    def value_dense(self):
        """The layer that projects values."""
        return self._value_dense

    @property
    def output_dense(self):
        """The layer that projects the heads' outputs back."""
        return self._output_dense

    def build(self, query_shape, value_shape=None, key_shape=None):
        """Makes the projections; all variables where value_shape is given, else each projection's at its first call."""
        self._make_projections(as_shape(query_shape))
        if value_shape is not None:
            shapes = query_shape, value_shape if key_shape is None else key_shape, value_shape
            for layer, shape in zip((self._query_dense, self._key_dense, self._value_dense), shapes):
                build_layer(layer, as_shape(shape))
        self.built = True

    def _masks_of(self, query, value, key, query_mask, value_mask, key_mask):
        found = [calls.mask_of(each) if mask is None else mask
                 for each, mask in ((query, query_mask), (value, value_mask), (key, key_mask))]
        return [_bool(each) for each in found[:2]] + [None if key is value and key_mask is None else _bool(found[2])]

    def _may(self, masks, attention_mask):
        """Which keys each query may attend to, (batch, queries or 1, keys or 1), or None."""
        query_mask, value_mask, key_mask = masks
        may = None if query_mask is None else _expand(query_mask, -1)
        for mask in (value_mask, key_mask):
            may = _both(may, None if mask is None else _expand(mask, -2))
        return _both(may, _bool(attention_mask))

    def _own_config(self):
        config = {}
        for name, value in self._kinds.items():
            module = _OF_KIND[name.rpartition("_")[2]]
            config[name] = None if value is None else module.serialize(value)
        return {"dropout": self._dropout, "use_bias": self._use_bias, "seed": self.seed, **config}


@public("keras.layers.MultiHeadAttention")
class MultiHeadAttention(_Heads):
    """Multi-head attention (Vaswani et al. 2017, arXiv:1706.03762).

    num_heads; key_dim: how wide queries and keys of a head are; value_dim: the values, None for key_dim; dropout: the share of
    weights that are set to zero in training; output_shape: the extents of the outputs after the queries' axes, None for the queries'
    own; attention_axes: over which of the queries' axes, None for all but the batch and the last; kernel_initializer, … of all
    projections.
    query: (batch, queries, dim), value: (batch, keys, dim), key: None for value; query_mask, value_mask, key_mask: (batch, queries)
    and (batch, keys), bool, which else are those of the tensors; attention_mask: (batch, queries, keys), bool;
    return_attention_scores: the weights, (batch, heads, queries, keys), too; use_causal_mask: query i attends to keys 0 to i.
    Variables: query, key and value have kernels (dim, heads, width) and biases (heads, width), attention_output (heads, width, dim).
    Errors: ValueError for numbers of heads or extents that are none above 0.
    """

    def __init__(self, num_heads, key_dim, value_dim=None, dropout=0.0, use_bias=True, output_shape=None, attention_axes=None,
                 flash_attention=None, kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None,
                 bias_regularizer=None, activity_regularizer=None, kernel_constraint=None, bias_constraint=None, seed=None, **kwargs):
        for name, each in (("num_heads", num_heads), ("key_dim", key_dim), ("value_dim", value_dim)):
            if not (isinstance(each, int) and each > 0 or name == "value_dim" and each is None):
                kind = "a positive integer or `None`" if name == "value_dim" else "a positive integer"
                raise ValueError(f"Received an invalid value for argument `{name}`, expected {kind}. Received: {name}={each}")
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._keep(dropout, use_bias, seed, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self._num_heads, self._key_dim, self._value_dim = num_heads, key_dim, value_dim or key_dim
        self._output_shape = (output_shape,) if isinstance(output_shape, int) else output_shape and tuple(output_shape)
        self._attention_axes = (attention_axes,) if isinstance(attention_axes, int) else attention_axes and tuple(attention_axes)
        self._query_dense = self._key_dense = self._value_dense = self._output_dense = None

    num_heads = property(lambda self: self._num_heads, doc="How many heads.")
    key_dim = property(lambda self: self._key_dim, doc="How wide queries and keys of a head are.")
    value_dim = property(lambda self: self._value_dim, doc="How wide values of a head are.")
    attention_axes = property(lambda self: self._attention_axes, doc="Over which of the queries' axes.")

    def _make_projections(self, query_shape):
        rank = len(query_shape)
        self._query_dense = self._projection("query", rank, 1, (self._num_heads, self._key_dim))
        self._key_dense = self._projection("key", rank, 1, (self._num_heads, self._key_dim))
        self._value_dense = self._projection("value", rank, 1, (self._num_heads, self._value_dim))

    def build(self, query_shape, value_shape=None, key_shape=None):
        super().build(query_shape, value_shape, key_shape)
        shape = as_shape(query_shape)
        self._output_dense = self._projection("attention_output", len(shape) + 1, 2, self._output_shape or (shape[-1],))
        if value_shape is not None:
            build_layer(self._output_dense, TensorShape((*shape[:-1], self._num_heads, self._value_dim)))

    def call(self, query, value, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
             return_attention_scores=False, training=None, use_causal_mask=False):
        key = value if key is None else key
        masks = self._masks_of(query, value, key, query_mask, value_mask, key_mask)
        may = self._may(masks, attention_mask)
        heads = [self._query_dense(query), self._key_dense(key), self._value_dense(value)]
        out, weights = self._attend(*heads, may, use_causal_mask, self._dropout if training else 0.0)
        out = self._output_dense(out)
        if masks[0] is not None:
            calls.set_mask(out, masks[0])
        return (out, weights) if return_attention_scores else out

    def _attend(self, query, key, value, may, causal, dropout):
        """(heads' outputs as the queries lie, weights): the attended axes become one, the others are further batches."""
        rank = query.ndim
        axes = [axis % (rank - 1) for axis in self._attention_axes] if self._attention_axes else list(range(1, rank - 2))
        batch = [axis for axis in range(rank - 2) if axis not in axes]
        order = [*batch, rank - 2, *axes, rank - 1]
        lengths = [[extents(each)[axis] for axis in axes] for each in (query, key)]

        def as_matrices(tensor):
            moved = _transpose(tensor, order)
            return moved if len(axes) == 1 else _reshape(moved, [*extents(moved)[:len(batch) + 1], -1, moved.shape[-1]])

        if may is not None:  # (batch, attended…, attended…): an axis for the heads and for each further batch
            batches = may.ndim - 2 * len(axes)
            if len(axes) > 1:
                own = extents(may)
                may = _reshape(may, [*own[:batches], product(own[batches:batches + len(axes)]), -1])
            while may.ndim < len(batch) + 3:
                may = _expand(may, max(batches, 0))
        out, weights = dot_product_attention(as_matrices(query), as_matrices(key), as_matrices(value), may,
                                             1 / math.sqrt(self._key_dim), causal, dropout, self.seed)
        if len(axes) > 1:
            out = _reshape(out, [*extents(out)[:len(batch) + 1], *lengths[0], out.shape[-1]])
            weights = _reshape(weights, [*extents(weights)[:len(batch) + 1], *lengths[0], *lengths[1]])
        return _transpose(out, [order.index(axis) for axis in range(rank)]), weights

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        shape = as_shape(query_shape)
        return TensorShape((*shape[:-1], *(self._output_shape or (shape[-1],))))

    def get_config(self):
        return {**super().get_config(), "num_heads": self._num_heads, "key_dim": self._key_dim, "value_dim": self._value_dim,
                "output_shape": self._output_shape, "attention_axes": self._attention_axes, **self._own_config()}


@public("keras.layers.GroupQueryAttention")
class GroupQueryAttention(_Heads):
    """Grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245): several query heads share a head of keys and values.

    head_dim: how wide a head is; num_query_heads: a multiple of num_key_value_heads. The other arguments, and those of a call, are
    MultiHeadAttention's.
    Errors: ValueError for a number of query heads that is not a multiple.
    """

    def __init__(self, head_dim, num_query_heads, num_key_value_heads, dropout=0.0, use_bias=True, flash_attention=None,
                 kernel_initializer="glorot_uniform", bias_initializer="zeros", kernel_regularizer=None, bias_regularizer=None,
                 activity_regularizer=None, kernel_constraint=None, bias_constraint=None, seed=None, **kwargs):
        if num_query_heads % num_key_value_heads:
            raise ValueError("`num_query_heads` must be divisible by `num_key_value_heads`. Received: "
                             f"num_query_heads={num_query_heads}, num_key_value_heads={num_key_value_heads}")
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self._keep(dropout, use_bias, seed, dict(
            kernel_initializer=kernel_initializer, bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer, kernel_constraint=kernel_constraint, bias_constraint=bias_constraint))
        self.head_dim, self.num_query_heads, self.num_key_value_heads = head_dim, num_query_heads, num_key_value_heads
        self._query_dense = self._key_dense = self._value_dense = self._output_dense = None

    def _make_projections(self, query_shape):
        rank, width = len(query_shape), self.head_dim
        self._query_dense = self._projection("query", rank, 1, (self.num_query_heads, width))
        self._key_dense = self._projection("key", rank, 1, (self.num_key_value_heads, width))
        self._value_dense = self._projection("value", rank, 1, (self.num_key_value_heads, width))
        self._output_dense = self._projection("attention_output", rank + 1, 2, (query_shape[-1],))

    def call(self, query, value, key=None, query_mask=None, value_mask=None, key_mask=None, attention_mask=None,
             return_attention_scores=False, training=None, use_causal_mask=False):
        key = value if key is None else key
        masks = self._masks_of(query, value, key, query_mask, value_mask, key_mask)
        may = self._may(masks, attention_mask)
        may = None if may is None else _expand(_expand(may, 1), 1)
        shared, group = self.num_key_value_heads, self.num_query_heads // self.num_key_value_heads
        heads = self._query_dense(query)
        batch, length = extents(heads)[:2]
        heads = _transpose(_reshape(heads, [batch, length, shared, group, self.head_dim]), [0, 2, 3, 1, 4])

        def for_groups(dense, tensor):
            found = _expand(_transpose(dense(tensor), [0, 2, 1, 3]), 2)
            return _op("broadcast_to")(found, [batch, shared, group, *extents(found)[3:]])

        out, weights = dot_product_attention(heads, for_groups(self._key_dense, key), for_groups(self._value_dense, value), may, None,
                                             use_causal_mask, self._dropout if training else 0.0, self.seed)
        out = _reshape(_transpose(out, [0, 3, 1, 2, 4]), [batch, length, self.num_query_heads, self.head_dim])
        out = self._output_dense(out)
        if masks[0] is not None:
            calls.set_mask(out, masks[0])
        weights = _reshape(weights, [batch, self.num_query_heads, *extents(weights)[3:]])
        return (out, weights) if return_attention_scores else out

    def compute_output_shape(self, query_shape, value_shape=None, key_shape=None):
        return as_shape(query_shape)

    def get_config(self):
        return {**super().get_config(), "head_dim": self.head_dim, "num_query_heads": self.num_query_heads,
                "num_key_value_heads": self.num_key_value_heads, **self._own_config()}
