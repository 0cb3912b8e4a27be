"""Lists of numbers that NumPy pickled: an interpreter of the instructions that such a pickle needs, and of no other. It imports
nothing and calls nothing that a file names.

Sources: the instructions' meanings in the documentation of Python's module pickletools; what NumPy writes of an array in
ndarray.__reduce__ and dtype.__reduce__.
"""
import pickle
import re

_CLASSES = {"numpy.core.multiarray._reconstruct": "reconstruct", "numpy._core.multiarray._reconstruct": "reconstruct",
            "numpy.ndarray": "ndarray", "numpy.dtype": "dtype", "_codecs.encode": "encode"}
# BININT1, BININT2, BININT and BINFLOAT: nearly all of a file. The repetition is bounded because `re` keeps state for each.
_NUMBERS = re.compile(rb"(?:K.|M..|J.{4}|G.{8}){1,2000}", re.DOTALL)
_NAMED = re.compile(rb"([^\n]{1,200})\n([^\n]{1,200})\n")
_DEFAULT_STATE = [3, "|", None, None, None, -1, -1, 63]  # version, byte order, no parts, no names, no fields, size, alignment, flags
_OBJECT = ("O", "O4", "O8", "|O", "|O4", "|O8")
_LONGEST_TEXT = 200  # bytes: names of classes, of dtypes, of codecs
_DEEPEST = 8  # marks within marks; NumPy's own go to 3
_MOST_ROWS = 1 << 20
_SPARE = 64  # lists, tuples and kept values beside those of the rows


class _Name:
    """Represents a class or function that a file names."""

    def __init__(self, kind):
        self.kind = kind


class _DType:
    """Represents the dtype of objects."""


class _Array:
    """Represents the array; rows: its elements, None until its state is read."""

    rows = shape = None


def _whole(value):
    return type(value) is int


class _Machine:
    def __init__(self, data, rows):
        self._data, self._at = data, 0
        self._stack, self._below, self._memo = [], [], {}
        self._containers = self._most_kept = rows + _SPARE

    def run(self):
        while True:
            numbers = _NUMBERS.match(self._data, self._at)
            if numbers:
                self._at = numbers.end()
                self._stack += pickle.loads(b"(" + numbers[0] + b"l.")  # a list of them: nothing else can come of these instructions
                continue
            code = self._take(1)
            if code == b".":
                return self._end()
            step = _STEPS.get(code)
            if step is None:
                raise ValueError(f"byte {self._at - 1} is an instruction of pickle ({code!r}) that lists of numbers do not need")
            step(self)

    def _end(self):
        if self._at != len(self._data):
            raise ValueError(f"{len(self._data) - self._at} extra bytes follow its end")
        if self._below or len(self._stack) != 1:
            raise ValueError("it ends too early")
        return self._pop()

    def _take(self, count):
        end = self._at + count
        if end > len(self._data):
            raise ValueError(f"it ends within an instruction, after {len(self._data)} bytes")
        taken, self._at = self._data[self._at:end], end
        return taken

    def _number(self, count):
        return int.from_bytes(self._take(count), "little")

    def _pop(self):
        if not self._stack:
            raise ValueError(f"an instruction before byte {self._at} has no operand")
        return self._stack.pop()

    def _top(self):
        if not self._stack:
            raise ValueError(f"an instruction before byte {self._at} has no operand")
        return self._stack[-1]

    def _push_container(self, made):
        if self._containers == 0:
            raise ValueError("it holds more lists than its shape says")
        self._containers -= 1
        self._stack.append(made)

    def _mark(self):
        if len(self._below) == _DEEPEST:
            raise ValueError(f"it is nested more than {_DEEPEST} deep")
        self._below.append(self._stack)
        self._stack = []

    def _since_mark(self):
        if not self._below:
            raise ValueError(f"an instruction before byte {self._at} has no mark")
        items, self._stack = self._stack, self._below.pop()
        return items

    def _text(self, size_bytes, decode):
        length = self._number(size_bytes)
        if length > _LONGEST_TEXT:
            raise ValueError(f"it holds a text of {length} bytes, and may hold lists and numbers only")
        raw = self._take(length)
        self._stack.append(decode(raw) if decode else raw)

    def _put(self, index):
        if len(self._memo) == self._most_kept:
            raise ValueError("it keeps more values than its shape says")
        self._memo[index] = self._top()

    def _get(self, index):
        if index not in self._memo:
            raise ValueError(f"byte {self._at} recalls value {index}, which was not kept")
        self._stack.append(self._memo[index])

    def _find(self, module, name):
        if type(module) is not str or type(name) is not str:
            raise ValueError("the name of a class is not a string")
        kind = _CLASSES.get(f"{module}.{name}")
        if kind is None:
            raise ValueError(f"it holds {module}.{name}, and may hold lists and numbers only")
        self._stack.append(_Name(kind))

    def _global(self):
        found = _NAMED.match(self._data, self._at)
        if not found:
            raise ValueError(f"byte {self._at} begins no class's name")
        self._at = found.end()
        self._find(_decoded(found[1]), _decoded(found[2]))

    def _stack_global(self):
        name = self._pop()
        self._find(self._pop(), name)

    def _tuple(self, count):
        items = [self._pop() for _ in range(count)]
        self._push_container(tuple(reversed(items)))

    def _list(self):
        found = self._top()
        if type(found) is not list:
            raise ValueError(f"byte {self._at} adds to a {_kind(found)}, which is not a list")
        return found

    def _append(self):
        value = self._pop()
        self._list().append(value)

    def _appends(self):
        values = self._since_mark()
        self._list().extend(values)

    def _reduce(self):
        arguments, function = self._pop(), self._pop()
        if type(function) is not _Name or type(arguments) is not tuple:
            raise ValueError(f"byte {self._at} calls a {_kind(function)}")
        self._stack.append(_CALLS[function.kind](*arguments) if len(arguments) == _ARGUMENTS.get(function.kind) else
                           _refuse(f"{function.kind} with {len(arguments)} arguments"))

    def _build(self):
        state, made = self._pop(), self._top()
        if type(made) is _DType:
            if type(state) is not tuple or list(map(_plain, state)) != _DEFAULT_STATE:
                raise ValueError("its dtype has another state than that of objects")
        elif type(made) is _Array and made.rows is None:
            _set_array(made, state)
        else:
            raise ValueError(f"byte {self._at} changes a {_kind(made)}")


def _refuse(what):
    raise ValueError(f"it holds {what}, and may hold lists and numbers only")


def _kind(value):
    return type(value).__name__.removeprefix("_").lower()


def _plain(value):
    """The value where it is a number, a text or nothing; else its kind, which equals no part of a state."""
    return value if value is None or type(value) in (int, str) else type(value)


def _decoded(raw):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise ValueError(f"a string is not UTF-8: {raw[:20]!r}") from None


def _reconstruct(kind, shape, code):
    if type(kind) is not _Name or kind.kind != "ndarray" or type(shape) is not tuple or not all(map(_whole, shape)) or \
            code not in (b"b", "b"):
        _refuse("an array of another class")
    return _Array()


def _dtype(name, align, copy):
    if name not in _OBJECT or type(name) is not str:
        _refuse(f"the dtype {name!r:.40}" if type(name) in (str, bytes) else "another dtype")
    return _DType()


def _encode(text, codec):
    if type(text) is not str or codec not in ("latin1", "latin-1") or type(codec) is not str:
        _refuse("another codec")
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        raise ValueError(f"a string is not Latin-1: {text[:20]!r}") from None


def _set_array(made, state):
    if type(state) is not tuple or len(state) != 5:
        raise ValueError("its array's state has not 5 parts")
    _, shape, dtype, _, rows = state
    if type(dtype) is not _DType:
        raise ValueError("its array's dtype is none")
    if type(shape) is not tuple or not all(map(_whole, shape)) or type(rows) is not list:
        raise ValueError("its array has no shape and list of elements")
    made.shape, made.rows = shape, rows


_CALLS = {"reconstruct": _reconstruct, "dtype": _dtype, "encode": _encode}
_ARGUMENTS = {"reconstruct": 3, "dtype": 3, "encode": 2}


def _protocol(machine):
    version = machine._number(1)
    if version > 5:
        raise ValueError(f"it is a pickle of version {version}")


def _long(machine):
    size = machine._number(1)
    if size > 9:
        raise ValueError(f"it holds a number of {size} bytes")
    machine._stack.append(int.from_bytes(machine._take(size), "little", signed=True))


def _constant(value):
    return lambda machine: machine._stack.append(value)


_STEPS = {
    b"\x80": _protocol, b"\x95": lambda machine: machine._take(8), b"\x8a": _long,
    b"N": _constant(None), b"\x88": _constant(True), b"\x89": _constant(False),
    b"X": lambda machine: machine._text(4, _decoded), b"\x8c": lambda machine: machine._text(1, _decoded),
    b"U": lambda machine: machine._text(1, _decoded),  # Python 2's bytes
    b"B": lambda machine: machine._text(4, None), b"C": lambda machine: machine._text(1, None),
    b"q": lambda machine: machine._put(machine._number(1)), b"r": lambda machine: machine._put(machine._number(4)),
    b"\x94": lambda machine: machine._put(len(machine._memo)),
    b"h": lambda machine: machine._get(machine._number(1)), b"j": lambda machine: machine._get(machine._number(4)),
    b"c": _Machine._global, b"\x93": _Machine._stack_global,
    b"]": lambda machine: machine._push_container([]), b")": lambda machine: machine._push_container(()),
    b"(": _Machine._mark, b"t": lambda machine: machine._push_container(tuple(machine._since_mark())),
    b"l": lambda machine: machine._push_container(machine._since_mark()),
    b"\x85": lambda machine: machine._tuple(1), b"\x86": lambda machine: machine._tuple(2), b"\x87": lambda machine: machine._tuple(3),
    b"a": _Machine._append, b"e": _Machine._appends, b"R": _Machine._reduce, b"b": _Machine._build,
}


def rows_of(data, count):
    """The lists of numbers in the pickle of an array of `count` lists. ValueError saying what else it holds.

    Memory: at most about 13 times the pickle's bytes and 300 bytes a list, of which there are at most 2²⁰. Lists may be the same
    object; together they have no more numbers than the pickle has bytes.
    """
    if count > _MOST_ROWS:
        raise ValueError(f"it would have {count} lists; at most {_MOST_ROWS} are read")
    made = _Machine(data, count).run()
    if type(made) is not _Array or made.rows is None:
        raise ValueError(f"it is a {_kind(made)}, not an array")
    if made.shape != (count,) or len(made.rows) != count:
        raise ValueError(f"its header says {count} lists; it holds {len(made.rows)} of shape {made.shape[:8]}")
    total, seen = 0, set()
    for row in made.rows:
        if type(row) is not list:
            raise ValueError(f"an element is a {_kind(row)}, not a list")
        total += len(row)
        if total > len(data):
            raise ValueError("its lists repeat each other, and are longer than the file")
        if id(row) not in seen:
            seen.add(id(row))
            wrong = set(map(type, row)) - {int, float, bool}
            if wrong:
                raise ValueError(f"a list holds a {min(kind.__name__ for kind in wrong)}, and may hold numbers only")
    return made.rows
