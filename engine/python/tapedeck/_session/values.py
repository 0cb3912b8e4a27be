"""Python values as rows of a table: bounded in size and time, whatever the user's own classes do."""
import itertools
import re
import sys
import types
from collections import deque

import numpy as np

from tapedeck import _engine

MOST_TEXT = 200  # characters of a row's text
MOST_EDITED = 64  # elements that can be edited as a text
MOST_EDIT_TEXT = 2000
MOST_COPIED = 16 << 20  # bytes of a tensor of PyTorch whose numbers are shown
SHOWN_ITEMS = 8  # of a list inside of a text
VALUE_SECONDS = 0.3  # that a class may take for its repr; engine/python/inspector.cpp watches it

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type,
         types.MethodWrapperType, types.WrapperDescriptorType, type(np.add))
_PLAIN = (int, float, complex, bool, str, bytes, type(None))


class Stopped(BaseException):
    """Ends the user's code from outside; not an Exception, so that `except Exception` lets it through."""


class Cancelled(Stopped):
    """The request was cancelled."""


class TimeUp(Stopped):
    """The evaluation took longer than its limit."""


class ValueTimeUp(Stopped):
    """One value took longer than VALUE_SECONDS."""


def clean(text, most=MOST_TEXT):
    """On one line, in letters that UTF-8 has, cut with "…" where it is longer than `most`."""
    text = str.__str__(text)
    if len(text) > most:
        text = text[:most - 1] + "…"
    if not text.isprintable():
        text = " ".join(text.split())
        text = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
    return text.encode("utf-8", "replace").decode("utf-8")


def type_name(value):
    return type.__getattribute__(type(value), "__name__")


def is_a(value, classes):
    """isinstance by the real type: `__class__` may be code of the user's."""
    return issubclass(type(value), classes)


def guarded(function, *arguments):
    """(what the function returns, ""), or (None, a sentence) where it raises or takes longer than VALUE_SECONDS."""
    try:
        _engine.debug._value_begins()
        try:
            return function(*arguments), ""
        finally:
            _engine.debug._value_ended()
    except ValueTimeUp:
        return None, f"took longer than {VALUE_SECONDS} s"
    except Stopped:
        raise
    except BaseException as error:  # SystemExit, too: it is a value that is looked at
        return None, f"raised {type_name(error)}: {_message(error)}".rstrip(": ")


def _message(error):
    try:
        return clean(str(error), 100)
    except Stopped:
        raise
    except BaseException:
        return ""


def describe(name, value, item=0):
    """The row of a value, as a dict with the fields of the protocol's ValueInfo; those that are left out have defaults."""
    row = {"name": clean(name), "item": item, "type": clean(type_name(value))}
    try:
        _describe(row, value)
    except Exception as error:  # a subclass of an array that is none: one row of many
        row["problem"] = f"it cannot be looked at: {type_name(error)}"
    return row


def _describe(row, value):
    if is_a(value, _CODE):
        row["kind"] = "code"
    if is_a(value, (_engine.Tensor, _engine.Variable)):
        _describe_tensor(row, value)
    elif is_torch_tensor(value):
        _describe_torch_tensor(row, value)
    elif is_a(value, np.ndarray):
        _describe_array(row, value)
    else:
        _describe_other(row, value)


def _describe_tensor(row, value):
    row["shape"] = [int(extent) for extent in tuple(value.shape)]
    row["dtype"] = value.dtype.name
    row["device"] = value._place
    row["tensor"] = value._id
    count = 1
    for extent in row["shape"]:
        count *= extent
    row["bytes"] = count * value.dtype.size
    _show_numbers(row, np.asarray(value))


def is_torch_tensor(value):
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", None)
    return isinstance(kind, type) and is_a(value, kind)


def _describe_torch_tensor(row, value):
    """Asks for what it stores alone: no op of PyTorch runs, which would become a record."""
    row["shape"] = [int(extent) for extent in value.shape]
    row["dtype"] = str(value.dtype).removeprefix("torch.")
    row["device"] = str(value.device)
    row["tensor"] = _engine.torch.known_id(value)
    row["bytes"] = value.nbytes if str(value.layout) == "torch.strided" else 0
    if row["bytes"] > MOST_COPIED:
        row["text"] = f"{value.numel():,} elements"
        return
    copy, problem = _engine.torch.value_of(value)
    if problem:
        row["problem"] = f"its values cannot be shown: {problem}"
    else:
        _show_numbers(row, np.asarray(copy))
        row.pop("edit", None)  # PyTorch's tensors are not replaced from here


def _describe_array(row, value):
    shape = np.ndarray.shape.__get__(value)
    row["shape"] = list(shape)
    dtype = np.ndarray.dtype.__get__(value)
    row["dtype"] = clean(str(dtype))
    row["bytes"] = int(np.ndarray.nbytes.__get__(value))
    if dtype.kind == "O":
        row["items"] = value.size
        row["text"] = f"array of {value.size} objects"
    elif dtype.kind in "biufc" and dtype.names is None:
        _show_numbers(row, value.view(np.ndarray))
    else:
        row["text"], row["problem"] = _text_of(np.ndarray.__repr__, value) if value.size < 1000 else ("", "")


def _show_numbers(row, array):
    style = dict(max_line_width=10**9, separator=", ", threshold=10**9, suppress_small=False)
    if array.size <= SHOWN_ITEMS:
        text = np.array2string(array, precision=6, floatmode="maxprec", **style)
    else:
        few = array.reshape(-1)[:SHOWN_ITEMS - 2] if array.flags.c_contiguous else np.array(
            list(itertools.islice(array.flat, SHOWN_ITEMS - 2)))
        text = np.array2string(few, precision=4, floatmode="maxprec", **style)[:-1] + ", …]"
    row["text"] = clean(" ".join(text.split()))
    if 0 < array.size <= MOST_EDITED and array.dtype.kind in "biuf":
        text = " ".join(np.array2string(array, floatmode="unique", **style).split())
        if len(text) <= MOST_EDIT_TEXT:
            row["edit"] = text


def _describe_other(row, value):
    row["text"], row["problem"] = _text_of(bounded_repr, value)
    if type(value) in (list, tuple, set, frozenset, dict, str, bytes, bytearray, int, float, deque):
        row["bytes"] = sys.getsizeof(value)
    if row.get("kind") != "code":
        row["items"] = guarded(lambda: Items(value).total)[0] or 0
    if _elements(value, MOST_EDITED) >= 0:
        text = guarded(repr, value)[0]
        if text is not None and len(text) <= MOST_EDIT_TEXT and text == clean(text, MOST_EDIT_TEXT):
            row["edit"] = text


def _text_of(function, value):
    text, problem = guarded(lambda: clean(function(value)))
    return text or "", "its repr " + problem if problem else ""


def _elements(value, most):
    """How many plain values it holds, in lists and dicts of Python's own; -1: more than `most`, or something else."""
    kind = type(value)
    if kind in _PLAIN:
        return 1 if kind is not int or value.bit_length() < 1000 else -1
    if kind is dict:
        inner = itertools.chain.from_iterable(dict.items(value))
    elif kind in (list, tuple, set):
        inner = value
    else:
        return -1
    if len(value) > most:
        return -1
    count = 1
    for item in list(inner):
        more = _elements(item, most - count)
        if more < 0:
            return -1
        count += more
        if count > most:
            return -1
    return count


def bounded_repr(value, level=3):
    """repr(), in which Python's own containers are cut off after some items and levels."""
    kind = type(value)
    if kind is int and value.bit_length() > 4000:
        return f"an int of {value.bit_length()} bits"
    if kind in (str, bytes, bytearray):
        return repr(value[:MOST_TEXT]) + ("…" if len(value) > MOST_TEXT else "")
    if kind in _PLAIN:
        return repr(value)
    if kind in _BRACKETS:
        return _repr_of_items(value, level)
    if is_torch_tensor(value):
        shape = "×".join(str(extent) for extent in value.shape)
        return f"<{type_name(value)} {shape or 'scalar'} {str(value.dtype).removeprefix('torch.')}>"
    if is_a(value, (_engine.Tensor, _engine.Variable, np.ndarray)):
        shape = "×".join(str(extent) for extent in tuple(value.shape))
        return f"<{type_name(value)} {shape or 'scalar'} {value.dtype.name}>"
    if kind is types.ModuleType:
        return f"<module {value.__name__}>"
    text = repr(value)
    return _ADDRESS.sub(">", text) if text.startswith("<") else text


_ADDRESS = re.compile(r" (?:object )?at 0x[0-9a-f]+>$")  # it says nothing
_BRACKETS = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})"), deque: ("deque([", "])")}


def _repr_of_items(value, level):
    opening, closing = _BRACKETS[type(value)]
    if not value:
        return "set()" if type(value) is set else opening + closing
    if level == 0:
        return opening + "…" + closing
    if type(value) is dict:
        parts = [f"{bounded_repr(key, level - 1)}: {bounded_repr(item, level - 1)}"
                 for key, item in itertools.islice(value.items(), SHOWN_ITEMS)]
    else:
        parts = [bounded_repr(item, level - 1) for item in itertools.islice(value, SHOWN_ITEMS)]
    if len(value) > SHOWN_ITEMS:
        parts.append("…")
    elif type(value) is tuple and len(value) == 1:
        closing = ",)"
    return opening + ", ".join(parts) + closing


class Items:
    """What a value has inside, by position: items of lists and dicts, attributes of objects.

    Reads what is stored, and calls no method, property or `__getattr__` of the user's.
    """

    def __init__(self, value):
        self._value = value
        self._attributes = None
        if is_a(value, (list, tuple, dict, set, frozenset, deque)):
            for kind in (list, tuple, dict, set, frozenset, deque):
                if is_a(value, kind):
                    self._kind = kind
                    self.total = kind.__len__(value)
        elif is_a(value, np.ndarray) and value.dtype.kind == "O":
            self._kind = np.ndarray
            self.total = value.size
        elif is_a(value, (_engine.Tensor, np.ndarray) + _PLAIN) or is_torch_tensor(value):
            self._kind = None
            self.total = 0
        else:
            self._kind = object
            self._attributes = _attributes(value)
            self.total = len(self._attributes)

    def page(self, first, count):
        """(name, item) from position `first` on, at most `count`."""
        value, last = self._value, min(first + count, self.total)
        if self._kind is object:
            return [(f".{name}", item) for name, item in self._attributes[first:last]]
        if self._kind is dict:
            return [(_key_name(key), item) for key, item in itertools.islice(dict.items(value), first, last)]
        if self._kind in (set, frozenset, deque):
            inside = itertools.islice(self._kind.__iter__(value), first, last)
        elif self._kind is np.ndarray:
            inside = itertools.islice(value.flat, first, last)
        elif self._kind is None:
            return []
        else:
            inside = [self._kind.__getitem__(value, position) for position in range(first, last)]
        fields = getattr(type(value), "_fields", None) if self._kind is tuple else None
        names = [f".{field}" for field in fields] if type(fields) is tuple and len(fields) == self.total else None
        return [(names[position] if names else f"[{position}]", item) for position, item in enumerate(inside, first)]

    def at(self, position):
        found = self.page(position, 1)
        if not found:
            raise IndexError(f"a {type_name(self._value)} of {self.total} items has none at {position}")
        return found[0]

    def put(self, position, item):
        """Replaces an item; TypeError where the container has items that can't be replaced."""
        name = self.at(position)[0]
        value = self._value
        if self._kind is object:
            setattr(value, name[1:], item)
        elif self._kind is dict:
            key = next(itertools.islice(dict.keys(value), position, None))
            value[key] = item
        elif self._kind in (list, deque):
            value[position] = item
        elif self._kind is np.ndarray:
            value.flat[position] = item
        else:
            raise TypeError(f"the items of a {type_name(value)} cannot be replaced")


def _key_name(key):
    text, _ = guarded(bounded_repr, key, 1)
    return f"[{text or '<' + type_name(key) + '>'}]"


def _attributes(value):
    found = {}
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = None
    if type(own) is dict:
        found.update((name, item) for name, item in own.items() if type(name) is str)
    for kind in type.__getattribute__(type(value), "__mro__"):
        for name, member in type.__getattribute__(kind, "__dict__").items():
            if type(member) is not types.MemberDescriptorType or name in found:
                continue
            try:
                found[name] = member.__get__(value)
            except AttributeError:  # a slot that nothing was put into
                continue
    return sorted(((name, item) for name, item in found.items() if not name.startswith("__")),
                  key=lambda pair: (pair[0].startswith("_"), pair[0]))
