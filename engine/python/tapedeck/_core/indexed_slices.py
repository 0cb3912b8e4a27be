"""tf.IndexedSlices: some rows of a tensor, by number."""
import copy
import numbers

from tapedeck import _engine
from tapedeck._core import nest, shapes
from tapedeck._core.public import public
from tapedeck._core.refusals import shown


@public("IndexedSlices")
class IndexedSlices:
    """Some rows of a tensor: values[i] belongs to row indices[i].

    values: any dtype, at least one axis; indices: integers, one for each row of values; dense_shape: of the whole tensor,
    or None. tf.convert_to_tensor makes the whole tensor where dense_shape is known: zeros elsewhere, rows of one number added.
    """

    def __init__(self, values, indices, dense_shape=None):
        self._values, self._indices = _engine.convert_to_tensor(values), _engine.convert_to_tensor(indices)
        # Numbers without a dtype take that of the variable which they are assigned to; lists of them may change until then.
        plain = not hasattr(values, "dtype") and all(isinstance(leaf, numbers.Number) for leaf in nest.flatten(values))
        self._given_values = copy.deepcopy(values) if plain else self._values
        if not self._indices.dtype.is_integer:
            raise _engine.TypeMismatchError(f"IndexedSlices: indices is {self._indices.dtype.name}; needs integers")
        self._dense_shape = None if dense_shape is None else _engine.convert_to_tensor(dense_shape)

    @property
    def values(self):
        """The rows."""
        return self._values

    @property
    def indices(self):
        """Their numbers."""
        return self._indices

    @property
    def dense_shape(self):
        """The whole tensor's shape as a tensor; None where it is not known."""
        return self._dense_shape

    @property
    def shape(self):
        """The whole tensor's TensorShape; None where it is not known."""
        return None if self._dense_shape is None else shapes.TensorShape(self._dense_shape.numpy().tolist())

    @property
    def dtype(self):
        """The dtype of the rows."""
        return self._values.dtype

    @property
    def device(self):
        """Where the rows are."""
        return self._values.device

    # ---- in graphs (_autograph/state.py)

    def _is_formed(self):
        return True

    def _carried(self):
        return [self._values, self._indices, *([] if self._dense_shape is None else [self._dense_shape])]

    def _carried_shapes(self):
        return [shapes.TensorShape([None, *self._values.shape[1:]]), shapes.TensorShape([None]), None][:len(self._carried())]

    @staticmethod
    def _maker():
        return lambda tensors: IndexedSlices(*tensors)

    def _with(self, tensors):
        return self if tensors is None else IndexedSlices(*tensors)

    def _shown_in_errors(self):
        """What errors show of it."""
        return f"IndexedSlices(values: {shown(self._values)}, indices: {shown(self._indices)})"

    def _whole_tensor(self):
        """What ops take in its place."""
        return whole(self, None)

    def __neg__(self):
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def __repr__(self):
        whole = "" if self._dense_shape is None else f", dense_shape={self._dense_shape.numpy().tolist()}"
        return f"IndexedSlices(indices={self._indices!r}, values={self._values!r}{whole})"


def whole(slices, dtype):
    """The whole tensor."""
    if slices.dense_shape is None:
        raise _engine.InvalidArgumentError("convert_to_tensor: value is an IndexedSlices whose dense_shape is not known")
    values = slices.values
    if dtype is not None and values.dtype != dtype:
        raise _engine.TypeMismatchError(f"convert_to_tensor: value is an IndexedSlices of {values.dtype.name}; dtype is {dtype}")
    places = _engine.op_function("expand_dims")(slices.indices, -1)
    return _engine.op_function("scatter_nd")(places, values, slices.dense_shape)
