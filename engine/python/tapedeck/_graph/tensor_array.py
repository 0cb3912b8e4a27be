"""tf.TensorArray: a list of tensors that loops write, with TensorFlow's methods."""
from copy import copy
from operator import index

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, OutOfRangeError, ResourceExhaustedError
from tapedeck._autograph.backend import is_symbolic
from tapedeck._core import dtypes
from tapedeck._core.composites import op, tensor
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._functions import control
from tapedeck._graph.slices import Slices

_MOST = 2**24  # tensors; a list of places for more than that is a mistake, and would take the machine's memory


@public("TensorArray")
class TensorArray:
    """Tensors of one dtype by number: ta = ta.write(0, x); ta.stack(). Writing changes the array itself, which is returned so that
    loops can be written as in TensorFlow. Gradients pass through: it holds the tensors that were written.

    dtype: of the tensors; size: how many there are at first, 0 where it is not given; dynamic_size: whether writing makes it
    longer; clear_after_read: whether read() forgets what it returns, True where it is None; infer_shape: whether the first
    tensor's shape is that of all; element_shape: that shape, None in it for any extent. The others change nothing.
    Errors: InvalidArgumentError for a size below 0; ResourceExhaustedError for one beyond 2²⁴; TypeError for a size that is no
    integer.
    """

    def __init__(self, dtype, size=None, dynamic_size=None, clear_after_read=None, tensor_array_name=None, handle=None, flow=None,
                 infer_shape=True, element_shape=None, colocate_with_first_write_call=True, name=None):
        self._dtype = dtypes.as_dtype(dtype)
        self._count = op("cast")(size, "int32") if control.is_unknown(size) else None  # where only a run knows it
        count = 0 if size is None or self._count is not None else self._whole("size", size)
        if count > _MOST:
            raise ResourceExhaustedError(f"TensorArray: size is {count}; at most {_MOST} tensors")
        self._elements = [None] * count
        self._dynamic = bool(dynamic_size)
        self._clears = clear_after_read is None or bool(clear_after_read)
        self._infers = infer_shape
        self._shape = None if element_shape is None else TensorShape(element_shape)
        self._cleared = set()
        self._trace = _engine.trace_number()  # of the graph whose tensors it may hold
        self._slices = None  # in a graph: what it has in place of _elements, since it writes at indices that only a run knows

    @staticmethod
    def _whole(argument, value):
        try:
            number = index(value)
        except TypeError:
            raise _engine.TypeMismatchError(f"TensorArray: {argument} is {value!r}; needs an integer") from None
        if number < 0:
            raise (InvalidArgumentError if argument == "size" else OutOfRangeError)(
                f"TensorArray: {argument} is {number}; must not be negative")
        return number

    @property
    def dtype(self):
        """The dtype of the tensors."""
        return self._dtype

    @property
    def element_shape(self):
        """The TensorShape of every tensor; None where it is not known yet."""
        return self._shape

    @property
    def dynamic_size(self):
        """Whether writing makes the array longer."""
        return self._dynamic

    @property
    def flow(self):
        """None: TensorFlow's graphs need one."""
        return None

    handle = flow

    def size(self, name=None):
        """How many tensors there are, with those that are not written: a scalar int32."""
        if self._slices is not None:
            return tensor(self._slices.count, "int32")
        return tensor(len(self._elements) if self._count is None else self._count, "int32")

    def identity(self):
        """The array itself."""
        return self

    def close(self, name=None):
        """Forgets all tensors."""
        self._elements.clear()
        self._cleared.clear()
        self._slices = self._count = None

    # ---- in graphs

    def _form(self):
        """What is known of the tensors' shape, a TensorShape of known rank; None where nothing is."""
        if self._shape is not None and self._shape.rank is not None:
            return self._shape
        return next((each.shape for each in self._elements if each is not None and each.shape.rank is not None), None)

    def _is_formed(self):
        """Whether a graph can carry it."""
        return self._slices is not None or self._form() is not None

    def _formed(self):
        """The Slices that a graph carries."""
        if self._slices is not None:
            return self._slices
        made = self._formed_for(self._form())
        if self._trace == _engine.trace_number():
            self._slices = made
        return made

    def _formed_for(self, shape):
        """The Slices, for tensors of a shape that is known as far as this one is."""
        if self._slices is not None:
            return self._slices
        known = self._form()
        shape = shape if known is None else known
        if shape is None or shape.rank is None:
            raise InvalidArgumentError("TensorArray: its index is known only when the graph runs, and the element_shape is not known "
                                       "before something is written; pass element_shape")
        count = len(self._elements) if self._count is None else self._count
        if not any(each is not None for each in self._elements):
            made = Slices.zeros(count, shape, self._dtype)
        else:
            made = Slices(op("stack")(self._all(), 0), count, False)
        return made.counted() if self._dynamic else made

    def _own(self):
        """The array, which a write changes; another one in a branch or a loop of a graph that the array is from outside of: other parts of
        the graph know nothing of what is written there."""
        return self if self._trace == _engine.trace_number() else self._with(None)

    def _carried(self):
        """The tensors that a graph carries of it."""
        return self._formed().parts

    def _carried_shapes(self):
        """Of each of them the shape that it has in all iterations of a loop; None for the one that it has."""
        return self._formed().shapes(self._form())

    def _maker(self):
        """A function of what a graph carries that makes another array of the same kind; it keeps no tensor alive."""
        slices, empty = self._formed(), copy(self)
        empty._elements, empty._cleared, empty._count = [], set(), None
        empty._slices = Slices(None, None if isinstance(slices.count, _engine.Tensor) else slices.count, slices.late)
        return empty._with

    def _with(self, parts):
        """Another array of the same kind, with these in place of what a graph carries; None: with the same."""
        other = copy(self)
        other._elements, other._cleared, other._trace = list(self._elements), set(self._cleared), _engine.trace_number()
        if parts is not None:
            other._slices = self._formed().with_parts(parts)
        return other

    def _formed_as(self, other):
        """Another array of the same kind, whose tensors have the shape of those of `other`."""
        made = self._with(None)
        made._shape = other._form()
        return made

    def _in_graph(self, *values):
        return self._slices is not None or self._count is not None or any(map(is_symbolic, values))

    def _hold(self, slices, shape):
        """Has these from now on."""
        made = self._own()
        made._elements, made._slices = [], slices
        made._shape = shape if made._shape is None else made._shape
        return made

    def _at(self, number):
        """The tensor of that number; zeros where nothing was written."""
        if number >= len(self._elements):
            raise OutOfRangeError(f"TensorArray: index is {number}; the size is {len(self._elements)}")
        if self._elements[number] is None:
            if number in self._cleared:
                raise InvalidArgumentError(f"TensorArray: index {number} was read and is cleared; pass clear_after_read=False")
            if self._shape is None or not self._shape.is_fully_defined():
                raise InvalidArgumentError(f"TensorArray: index {number} was not written, and the element_shape is not known")
            zeros = op("zeros")(self._shape, self._dtype)
            if self._trace != _engine.trace_number():
                return zeros
            self._elements[number] = zeros
        return self._elements[number]

    def read(self, index, name=None):
        """The tensor of that number; zeros where nothing was written.

        Errors: OutOfRangeError outside the array; InvalidArgumentError for what was read before and cleared, and for what was not
        written where the element_shape is not known.
        """
        if self._in_graph(index):
            return self._formed().read(index)
        number = self._whole("index", index)
        written = number < len(self._elements) and self._elements[number] is not None
        value = self._at(number)
        if self._clears:
            self._elements[number] = None
            if written:
                self._cleared.add(number)
        return value

    def write(self, index, value, name=None):
        """Puts a tensor to that number. Returns the array.

        Errors: OutOfRangeError below 0, and beyond the end of an array that does not grow; TypeError for another dtype;
        InvalidArgumentError for another shape than element_shape.
        """
        if self._in_graph(index):
            value = self._fitting(value)
            return self._hold(self._formed_for(value.shape).written(index, value, self._dynamic), value.shape)
        number, made = self._whole("index", index), self._own()
        value = made._fitting(value)
        if number >= len(made._elements):
            if number >= _MOST:
                raise ResourceExhaustedError(f"TensorArray: index is {number}; at most {_MOST} tensors")
            if not self._dynamic:
                raise OutOfRangeError(f"TensorArray: index is {number}; {self._fixed()}")
            made._elements.extend([None] * (number + 1 - len(made._elements)))
        made._elements[number] = value
        made._cleared.discard(number)
        return made

    @staticmethod
    def _tensor(argument, value, dtype_hint=None):
        try:
            return _engine.convert_to_tensor(value, None, dtype_hint)
        except _engine.OpError as error:
            raise type(error)(f"TensorArray: {argument}: {str(error).removeprefix('convert_to_tensor: value: ')}") from error

    def _numbers(self, argument, value):
        value = self._tensor(argument, value)
        if value.dtype.name == "string":
            raise _engine.TypeMismatchError(f"TensorArray: {argument} is string; needs integers")
        return [self._whole(argument, each) for each in value.numpy().reshape(-1)]

    def _rows(self, value):
        value = self._tensor("value", value, self._dtype)
        if value.shape.rank == 0:
            raise InvalidArgumentError("TensorArray: value is a scalar; needs a first axis")
        return value

    def _fixed(self):
        return f"the size is {len(self._elements)}, and dynamic_size is False"

    def _fitting(self, value):
        value = self._tensor("value", value, self._dtype)
        if value.dtype != self._dtype:
            raise _engine.TypeMismatchError(f"TensorArray: dtype is {self._dtype.name}, the value is {value.dtype.name}; cast it")
        if self._shape is not None and not self._shape.is_compatible_with(value.shape):
            raise InvalidArgumentError(f"TensorArray: element_shape is {self._shape}, the value has shape {value.shape}")
        if self._infers:
            self._shape = value.shape if self._shape is None else self._shape.merge_with(value.shape)
        return value

    def _all(self, numbers=None):
        return [self._at(number) for number in (range(len(self._elements)) if numbers is None else numbers)]

    def _joined(self, joining, values):
        if values:
            return op(joining)(values, 0)
        if self._shape is None or not self._shape.is_fully_defined():
            raise InvalidArgumentError("TensorArray: it is empty, and the element_shape is not known")
        return op("zeros")([0, *(self._shape if joining == "stack" else self._shape[1:])], self._dtype)

    def stack(self, name=None):
        """All tensors, one after the other along a new first axis; what was not written is zeros.

        Errors: InvalidArgumentError for different shapes, and for what read() cleared.
        """
        return self._formed().stacked() if self._in_graph() else self._joined("stack", self._all())

    def concat(self, name=None):
        """All tensors, joined along their first axis. The errors are those of stack."""
        if self._in_graph():
            return self._formed().concatenated()
        return self._joined("concat", self._all())

    def gather(self, indices, name=None):
        """The tensors of some numbers, stacked. The errors are those of stack, and OutOfRangeError outside the array."""
        if self._in_graph(indices):
            return self._formed().read(indices)
        return self._joined("stack", self._all(self._numbers("indices", indices)))

    def unstack(self, value, name=None):
        """Takes the slices of the first axis as the array's tensors. Returns the array.

        Errors: InvalidArgumentError where they are more than an array has that does not grow; those of write.
        """
        value = self._rows(value)
        count = value.shape[0]
        if count is not None and self._slices is None and self._count is None and count > len(self._elements) and not self._dynamic:
            raise InvalidArgumentError(f"TensorArray: {count} slices; {self._fixed()}")
        if self._in_graph(value) and count != 0:
            self._fitting(op("gather")(value, 0))
            slices = Slices.of(value)
            return self._hold(slices.counted() if self._dynamic or count is None else slices, value.shape[1:])
        parts, made = op("unstack")(value, axis=0), self._own()
        made._elements[:] = [made._fitting(part) for part in parts]
        made._cleared.clear()
        return made

    def scatter(self, indices, value, name=None):
        """Puts the slices of the first axis to those numbers. Returns the array. The errors are those of write, and
        InvalidArgumentError for another number of slices than of indices."""
        if self._in_graph(indices):
            value = self._rows(value)
            indices = self._tensor("indices", indices)
            return self._hold(self._formed_for(value.shape[1:]).scattered(indices, value, self._dynamic), value.shape[1:])
        numbers = self._numbers("indices", indices)
        parts = op("unstack")(self._rows(value), axis=0)
        if len(parts) != len(numbers):
            raise InvalidArgumentError(f"TensorArray: {len(numbers)} indices and {len(parts)} slices")
        if numbers and max(numbers) >= len(self._elements) and not self._dynamic:
            raise OutOfRangeError(f"TensorArray: indices has {max(numbers)}; {self._fixed()}")
        if numbers and max(numbers) >= _MOST:
            raise ResourceExhaustedError(f"TensorArray: indices has {max(numbers)}; at most {_MOST} tensors")
        made = self
        for number, part in zip(numbers, parts):
            made = made.write(number, part)
        return made

    def split(self, value, lengths, name=None):
        """Takes parts of the first axis, of those lengths, as the array's tensors. Returns the array.

        Errors: InvalidArgumentError for lengths that do not add up to the axis, and for another number of them than an array has
        that does not grow; those of write.
        """
        if self._slices is not None:
            raise _engine.UnimplementedError("TensorArray: split in a graph, of an array that was written at an index which only a run "
                                             "knows: it holds tensors of one shape")
        lengths = self._numbers("lengths", lengths)
        if len(lengths) != len(self._elements) and not self._dynamic:
            raise InvalidArgumentError(f"TensorArray: {len(lengths)} lengths; {self._fixed()}")
        parts, made = op("split")(self._rows(value), lengths, 0), self._own()
        inferred, made._infers = made._infers, False  # the parts differ in length
        try:
            made._elements[:] = [made._fitting(part) for part in parts]
        finally:
            made._infers = inferred
        made._cleared.clear()
        return made

    def __repr__(self):
        counts = self._slices.count if self._slices is not None else self._count
        size = len(self._elements) if counts is None else counts if isinstance(counts, int) else "?"
        return f"<tf.TensorArray: dtype={self._dtype.name}, size={size}, element_shape={self._shape}>"
