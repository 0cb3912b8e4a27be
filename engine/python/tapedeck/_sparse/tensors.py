"""tf.SparseTensor: the elements of a tensor that are not zero, by their places; and what makes and reads it."""
import collections

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.composites import op, tensor
from tapedeck._core.host_ops import host_op, Known, needs_values
from tapedeck._core.public import public
from tapedeck._core.refusals import shown
from tapedeck._core.shapes import TensorShape
from tapedeck.data.specs import TensorSpec

SparseTensorValue = collections.namedtuple("SparseTensorValue", ["indices", "values", "dense_shape"])
SparseTensorValue.__doc__ = "The same as NumPy's arrays."
public("SparseTensorValue")(SparseTensorValue)


@public("SparseTensor", "sparse.SparseTensor")
class SparseTensor:
    """Values at places of a tensor whose other elements are zeros, or empty.

    indices: (count, axes), integers, a row for each value, in row-major order; values: (count,); dense_shape: (axes,), the
    tensor's shape.
    Errors: InvalidArgumentError for shapes that do not belong together, and places outside; TypeError for other dtypes.
    """

    def __init__(self, indices, values, dense_shape):
        if any(isinstance(part, _engine.Tensor) and _engine.is_symbolic(part) for part in (indices, values, dense_shape)):
            self._set(tensor(indices), tensor(values), tensor(dense_shape))  # what a run finds there the ops check
            return
        places, shape = np.asarray(indices), np.asarray(dense_shape)
        if places.dtype.kind not in "iu" and places.size or shape.dtype.kind not in "iu" and shape.size:
            raise _engine.TypeMismatchError(f"SparseTensor: indices are {places.dtype} and dense_shape is {shape.dtype}; both need "
                                            "integers")
        self.values = tensor(values)
        if shape.ndim != 1 or places.size and places.ndim != 2 or self.values.ndim != 1:
            raise InvalidArgumentError(f"SparseTensor: indices {places.shape}, values {tuple(self.values.shape)} and dense_shape "
                                       f"{shape.shape} need two axes, one and one")
        places = places.reshape(-1, len(shape)) if len(shape) else places.reshape(len(self.values), 0)
        if len(places) != len(self.values):
            raise InvalidArgumentError(f"SparseTensor: there are {len(places)} indices and {len(self.values)} values")
        outside = np.flatnonzero(((places < 0) | (places >= shape)).any(1))
        if outside.size:
            raise InvalidArgumentError(f"SparseTensor: indices[{outside[0]}] is {places[outside[0]].tolist()}; dense_shape is "
                                       f"{shape.tolist()}")
        self.indices, self.dense_shape = tensor(places.astype(np.int64)), tensor(shape.astype(np.int64))

    def _set(self, indices, values, dense_shape):
        self.values = values
        self.indices, self.dense_shape = (part if part.dtype.name == "int64" else op("cast")(part, "int64")
                                          for part in (indices, dense_shape))

    # ---- in graphs: as arguments and results of functions that are traced (_functions/structures.py), in their loops and branches
    # (_autograph/state.py)

    @staticmethod
    def _of(tensors):
        made = SparseTensor.__new__(SparseTensor)
        made._set(*tensors)
        return made

    def _graph_parts(self):
        """A trace is for the dtype and the dense_shape, not for the number of values; it knows the dense_shape."""
        rank, dtype = self.dense_shape.shape[0], self.dtype
        known = None if _engine.is_symbolic(self.dense_shape) else tuple(self.dense_shape.numpy().tolist())
        specs = TensorSpec([None, rank], "int64"), TensorSpec([None], dtype)
        if known is None:
            return ("sparse", dtype.name, rank), tuple(self._carried()), (*specs, TensorSpec([rank], "int64")), SparseTensor._of
        return (("sparse", dtype.name, known), (self.indices, self.values), specs,
                lambda given: SparseTensor._of([*given, _engine.constant(known, "int64", [rank])]))

    def _is_formed(self):
        return True

    def _carried(self):
        return [self.indices, self.values, self.dense_shape]

    def _carried_shapes(self):
        return [TensorShape([None, *self.indices.shape[1:]]), TensorShape([None]), None]

    def _with(self, tensors):
        return self if tensors is None else SparseTensor._of(tensors)

    @property
    def dtype(self):
        """The dtype of the values."""
        return self.values.dtype

    @property
    def shape(self):
        """dense_shape as a TensorShape."""
        known = _engine.known_value(self.dense_shape)
        if known is None:
            rank = self.dense_shape.shape[0]
            return TensorShape(None if rank is None else [None] * rank)
        return TensorShape(known.numpy().tolist())

    def get_shape(self):
        """dense_shape as a TensorShape."""
        return self.shape

    def with_values(self, new_values):
        """Other values at the same places. InvalidArgumentError for another number of them."""
        return SparseTensor(self.indices, new_values, self.dense_shape)

    def _times(self, other, name):
        try:
            whole = op("broadcast_to")(tensor(other, None if isinstance(other, _engine.Tensor) else self.dtype), list(self.shape))
        except InvalidArgumentError:
            raise InvalidArgumentError(f"SparseTensor: {shown(other)} does not broadcast to dense_shape {list(self.shape)}") from None
        return self.with_values(op(name)(self.values, op("gather_nd")(whole, self.indices)))

    def __mul__(self, other):
        """The values times the elements of a dense tensor, which broadcasts to dense_shape, at their places: a SparseTensor."""
        return self._times(other, "multiply") if _is_dense(other) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other):
        """The values divided by the elements of a dense tensor at their places: a SparseTensor."""
        return self._times(other, "divide") if _is_dense(other) else NotImplemented

    def __repr__(self):
        return f"SparseTensor(indices={self.indices!r}, values={self.values!r}, dense_shape={self.dense_shape!r})"


def _is_dense(value):
    return isinstance(value, (_engine.Tensor, _engine.Variable, np.ndarray, np.generic, int, float, complex, list, tuple))


class KnownSparse:
    """What is known of a SparseTensor before a graph runs (_core/host_ops.py)."""

    def __init__(self, dtype, rank):
        self.parts = [Known("int64", [None, rank]), Known(dtype, [None]), Known("int64", [rank])]
        self.made = SparseTensor._of


def like(sp_input, **_):
    """Of a function that returns a SparseTensor like its argument."""
    return KnownSparse(sp_input.dtype, sp_input.dense_shape.shape[0])


def is_sparse(value):
    """Whether the value is a SparseTensor, or NumPy's arrays of one."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def checked(function, value, argument="sp_input"):
    """The value as a SparseTensor. TypeMismatchError for any other value."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor(*value)
    if not isinstance(value, SparseTensor):
        raise _engine.TypeMismatchError(f"{function}: {argument} is a {type(value).__name__}; needs a tf.SparseTensor")
    return value


@public("sparse.to_dense", "sparse_tensor_to_dense", in_errors=True)
@host_op(lambda sp_input, **_: Known(sp_input.dtype, sp_input.shape if sp_input.shape.rank is not None else None))
def to_dense(sp_input, default_value=None, validate_indices=True, name=None):
    """The whole tensor, with default_value where nothing is: None for 0, "" or False. Gradients reach the values.

    sp_input: a SparseTensor; validate_indices changes nothing.
    Returns: the dtype of its values, its dense_shape.
    Errors: InvalidArgumentError for an index that occurs twice; TypeError for a value that is not a SparseTensor.
    """
    sparse = checked("to_dense", sp_input)
    places = sparse.indices.numpy()
    if len(np.unique(places, axis=0)) != len(places):
        raise InvalidArgumentError("to_dense: an index occurs twice in indices")
    first = {"string": "", "bool": False}.get(sparse.dtype.name, 0) if default_value is None else default_value
    whole = op("fill")(list(sparse.shape), tensor(first, sparse.dtype))
    return op("tensor_scatter_nd_update")(whole, sparse.indices, sparse.values) if len(places) else whole


@public("sparse.from_dense", in_errors=True)
@host_op(lambda tensor, **_: KnownSparse(_engine.convert_to_tensor(tensor).dtype, _engine.convert_to_tensor(tensor).shape.rank))
def from_dense(tensor, name=None):
    """The elements of a tensor that are not 0, "" or False, as a SparseTensor. Gradients reach the tensor.

    Returns: a SparseTensor of its dtype and shape.
    Errors: TypeError for a value that cannot be converted to a tensor.
    """
    whole = _engine.convert_to_tensor(tensor)
    array = np.asarray(whole.numpy())
    places = np.argwhere(array != (b"" if whole.dtype.name == "string" else 0)).astype(np.int64)
    return SparseTensor(places, op("gather_nd")(whole, places), np.array(array.shape, np.int64))


@public("string_split", in_errors=True)
@needs_values("source", known=lambda **_: KnownSparse("string", 2))
def string_split(source, delimiter=" ", skip_empty=True, name=None):
    """TensorFlow 1's tf.string_split: the parts of each text.

    source: (count,), strings; delimiter: each of its letters parts; "" parts all letters; skip_empty: leaves empty parts out.
    Returns: a SparseTensor, (count, most parts).
    Errors: InvalidArgumentError for another number of axes; TypeError for other dtypes.
    """
    texts = _engine.convert_to_tensor(source)
    if texts.dtype.name != "string":
        raise _engine.TypeMismatchError(f"string_split: source is {texts.dtype.name}; needs strings")
    if texts.ndim != 1:
        raise InvalidArgumentError(f"string_split: source has shape {tuple(texts.shape)}; needs one axis")
    marks = delimiter.encode() if isinstance(delimiter, str) else bytes(np.asarray(delimiter)[()])
    rows = [_parts(text, marks, skip_empty) for text in texts.numpy()]
    places = [(row, column) for row, parts in enumerate(rows) for column in range(len(parts))]
    values = _engine.constant([part for parts in rows for part in parts], "string", None)
    return SparseTensor(np.array(places, np.int64).reshape(-1, 2), values, [len(rows), max(map(len, rows), default=0)])


def _parts(text, marks, skip_empty):
    if not marks:
        return [text[place:place + 1] for place in range(len(text))]
    parts = [b""]
    for letter in text:
        if letter in marks:
            parts.append(b"")
        else:
            parts[-1] += bytes([letter])
    return [part for part in parts if part or not skip_empty]
