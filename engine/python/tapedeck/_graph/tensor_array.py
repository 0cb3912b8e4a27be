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
from tapedeck.data.specs import TensorSpec

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
        self._infers = bool(infer_shape)
        self._shape = None if element_shape is None else TensorShape(element_shape)
        self._cleared = set()
        self._trace = _engine.trace_number()  # of the graph whose tensors it may hold
        # In a graph that uses it at indices which only a run knows:
        self._carrier = None  # what a run has in place of _elements
        self._length = None  # how many it has where that is known, and stays
        self._seen = None  # what the trace saw of the tensors' shape, where _shape says nothing
        self._ready = not self._infers  # whether a loop need not look for their shape in its body

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
        if self._carrier is not None:
            return _engine.array_size(self._carrier) if self._length is None else tensor(self._length, "int32")
        return tensor(len(self._elements) if self._count is None else self._count, "int32")

    def identity(self):
        """The array itself."""
        return self

    def close(self, name=None):
        """Forgets all tensors."""
        self._elements.clear()
        self._cleared.clear()
        self._carrier = self._count = self._length = None

    # ---- in graphs

    def _static(self):
        """What is known of the tensors' shape while a graph is traced: a TensorShape, or None."""
        return self._seen if self._shape is None or self._shape.rank is None else self._shape

    def _is_formed(self):
        """Whether the tensors' shape is known as far as a graph needs it; else a loop looks in its body for what is written."""
        return self._ready or self._static() is not None

    def _known_length(self):
        if self._carrier is not None or self._dynamic or self._count is not None:
            return self._length
        return len(self._elements)

    def _formed(self):
        """The tensor by which a graph carries it."""
        if self._carrier is not None:
            return self._carrier
        count = len(self._elements) if self._count is None else self._count
        there = [(number, each) for number, each in enumerate(self._elements) if each is not None]
        made = _engine.array_of(self._dtype, self._shape, self._infers, self._dynamic, tensor(count, "int32"),
                                [number for number, _ in there], [each for _, each in there], sorted(self._cleared))
        if _engine.is_tracing() and self._trace == _engine.trace_number():
            self._hold(made, self._known_length())
        return made

    def _hold(self, carrier, length):
        """A graph carries it by this tensor from now on."""
        self._carrier, self._length, self._elements, self._count = carrier, length, [], None
        return self

    def _own(self):
        """The array, which a write changes; another one in a branch or a loop of a graph that the array is from outside of: other parts of
        the graph know nothing of what is written there."""
        return self if self._trace == _engine.trace_number() else self._with(None)

    def _carried(self):
        """The tensors that a graph carries of it."""
        return [self._formed()]

    def _carried_shapes(self):
        """Of each of them the shape that it has in all iterations of a loop; None for the one that it has."""
        return [None]

    def _zeros(self):
        """In their place where there is no array: one without tensors."""
        return [_engine.array_of(self._dtype, self._shape, self._infers, self._dynamic, tensor(0), [], [], [])]

    def _maker(self):
        """A function of what a graph carries that makes another array of the same kind; it keeps no tensor alive."""
        length, empty = self._known_length(), copy(self)
        empty._hold(None, None)
        empty._cleared = set()

        def made(parts):
            other = empty._with(parts)
            if other._carrier is not None:
                other._length = length
            return other

        return made

    def _graph_parts(self):
        """What functions that take and return it need to know of it (structures.py)."""
        (carrier,) = self._carried()
        shape = None if self._shape is None or self._shape.rank is None else tuple(self._shape)
        key = "TensorArray", self._dtype.name, shape, self._known_length(), self._dynamic, self._clears, self._infers
        return key, (carrier,), (TensorSpec(carrier.shape, carrier.dtype),), self._maker()

    def _with(self, parts):
        """Another array of the same kind, with these in place of what a graph carries; None: with the same."""
        other = copy(self)
        other._elements, other._cleared, other._trace = list(self._elements), set(self._cleared), _engine.trace_number()
        if parts is not None and is_symbolic(parts[0]):
            other._hold(parts[0], self._known_length())
        elif parts is not None:
            other._hold(None, None)
            other._elements, cleared, other._shape = _engine.array_parts(parts[0])
            other._cleared = set(cleared)
            if other._shape.rank is None:
                other._shape = None
        return other

    def _formed_as(self, other):
        """Another array of the same kind, whose tensors have the shape of those of `other`."""
        made = self._with(None)
        made._seen, made._ready = other._static() if isinstance(other, TensorArray) else None, True
        return made

    def _appended(self, value):
        """The array with one tensor more."""
        carrier, made = self._formed(), self._own()
        return made._hold(_engine.array_append(carrier, made._fitting(value)), None)

    def _saw(self, shape):
        """A tensor of that shape is among them, too: in a list, whose items may differ."""
        self._seen = shape if self._seen is None else _common(self._seen, shape)

    def _agreeing(self, other):
        """The array, which knows of its tensors what both do: a branch has one or the other."""
        made, one, another = copy(self), self._static(), other._static()
        if self._known_length() != other._known_length():
            made._length, made._count = None, False  # a run knows it
        if one is None or another is None:
            made._seen = (another if one is None else one) if self._infers else None
        elif one != another:
            made._shape, made._seen, made._ready = None, _common(one, another), True
        return made

    def _conflict(self, after):
        """Whether it may not become `after` in a loop: that has tensors of shapes that it does not know."""
        one, another = self._static(), after._static()
        if self._known_length() not in (None, after._known_length()):
            return True
        return one is not None and another is not None and _common(one, another) != one

    def _in_graph(self, *values):
        return self._carrier is not None or self._count is not None or any(map(is_symbolic, values))

    def _index(self, argument, value):
        """An index of a run, a scalar, or several."""
        if not isinstance(value, _engine.Tensor):
            value = tensor(self._whole(argument, value)) if argument == "index" else self._tensor(argument, value)
        if not value.dtype.is_integer:
            raise _engine.TypeMismatchError(f"TensorArray: {argument} is {value.dtype.name}; needs an integer")
        return value

    def _joined_shape(self, length, axis=0):
        shape = self._static()
        if shape is None or shape.rank is None or not -shape.rank <= axis + (axis < 0) <= shape.rank:
            return None
        axis = axis if axis >= 0 else shape.rank + 1 + axis
        return TensorShape([*shape[:axis], length, *shape[axis:]])

    def _stacked(self, axis):
        return _engine.array_stack(self._formed(), axis, self._dtype, self._joined_shape(self._known_length(), axis))

    def _concatenated(self, axis):
        shape, length, known = self._static(), self._known_length(), None
        if shape is not None and shape.rank and -shape.rank <= axis < shape.rank:
            known = list(shape)
            known[axis] = None if length is None or shape[axis] is None else length * shape[axis]
        return _engine.array_concat(self._formed(), axis, self._dtype, known)

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
            return _engine.array_read(self._formed(), self._index("index", index), self._dtype, self._static())
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
            index, carrier, made = self._index("index", index), self._formed(), self._own()
            return made._hold(_engine.array_write(carrier, index, made._fitting(value)), made._known_length())
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
        return f"the size is {self._known_length()}, and dynamic_size is False"

    def _fitting(self, value):
        value = self._tensor("value", value, self._dtype)
        if value.dtype != self._dtype:
            raise _engine.TypeMismatchError(f"TensorArray: dtype is {self._dtype.name}, the value is {value.dtype.name}; cast it")
        self._fit(value.shape)
        return value

    def _fit(self, shape):
        """Refuses another shape than the tensors have."""
        if self._shape is not None and not self._shape.is_compatible_with(shape):
            raise InvalidArgumentError(f"TensorArray: element_shape is {self._shape}, the value has shape {shape}")
        if self._infers and shape.rank is not None:
            self._shape = shape if self._shape is None else self._shape.merge_with(shape)

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
        return self._stacked(0) if self._in_graph() else self._joined("stack", self._all())

    def concat(self, name=None):
        """All tensors, joined along their first axis. The errors are those of stack."""
        return self._concatenated(0) if self._in_graph() else self._joined("concat", self._all())

    def gather(self, indices, name=None):
        """The tensors of some numbers, stacked. The errors are those of stack, and OutOfRangeError outside the array."""
        if self._in_graph(indices):
            indices = self._index("indices", indices)
            count = None if indices.shape.rank is None else indices.shape.num_elements()
            return _engine.array_gather(self._formed(), indices, self._dtype, self._joined_shape(count))
        return self._joined("stack", self._all(self._numbers("indices", indices)))

    def unstack(self, value, name=None):
        """Takes the slices of the first axis as the array's tensors. Returns the array.

        Errors: InvalidArgumentError where they are more than an array has that does not grow; those of write.
        """
        value = self._rows(value)
        count, length = None if value.shape.rank is None else value.shape[0], self._known_length()
        if None not in (count, length) and count > length and not self._dynamic:
            raise InvalidArgumentError(f"TensorArray: {count} slices; {self._fixed()}")
        if self._in_graph(value):
            carrier, made = self._formed(), self._own()
            made._fit(_of_slices(value))
            return made._hold(_engine.array_unstack(carrier, value), None if self._dynamic else count)
        parts, made = op("unstack")(value, axis=0), self._own()
        made._elements[:] = [made._fitting(part) for part in parts]
        made._cleared.clear()
        return made

    def scatter(self, indices, value, name=None):
        """Puts the slices of the first axis to those numbers. Returns the array. The errors are those of write, and
        InvalidArgumentError for another number of slices than of indices."""
        if self._in_graph(indices):
            value, indices = self._rows(value), self._index("indices", indices)
            carrier, made = self._formed(), self._own()
            made._fit(_of_slices(value))
            return made._hold(_engine.array_scatter(carrier, indices, value), made._known_length())
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
        if self._in_graph(lengths):
            value, lengths = self._rows(value), self._index("lengths", lengths)
            carrier, made = self._formed(), self._own()
            made._ready, made._seen = True, None  # the parts differ in length
            return made._hold(_engine.array_split(carrier, value, lengths), made._known_length())
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
        size = len(self._elements) if self._carrier is None and self._count is None else self._length
        return f"<tf.TensorArray: dtype={self._dtype.name}, size={'?' if size is None else size}, element_shape={self._shape}>"


def _common(one, other):
    """What both shapes say."""
    if one.rank is None or one.rank != other.rank:
        return TensorShape(None)
    return TensorShape([mine if mine == theirs else None for mine, theirs in zip(one, other)])


def _of_slices(value):
    return value.shape if value.shape.rank is None else value.shape[1:]
