"""What the program's names had at a moment of the past: before a record ran.

Values of tensors and variables are computed again from the records. Of everything else a note is taken at each stop,
and where a cell begins: numbers, texts and short lists themselves, of the rest types and shapes. A note keeps none of
the program's own values alive. What no note has is only known as it is now, and says so.
"""
import time
import types

import numpy as np

from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session.function_then import function_of
from tapedeck._session.traced_frames import frame_rows
from tapedeck._session.values import clean, describe, guarded, is_a, type_name

MOST_NAMES = 400  # of a frame
MOST_FRAMES = 16
MOST_ENTRIES = 100_000  # of all notes
MOST_TEXT = 2000  # characters
MOST_ITEMS = 16  # of a list that is noted itself
PAGE_SECONDS = 2.0  # in which the values of a page of rows are computed again
FIRST_LINE_STOP = 1 << 32  # stops before lines have numbers from here on, above all records' (engine/record/breakpoints/gate.h)

_debug = _engine.debug
_NUMBERS = (bool, int, float, complex, type(None))
_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)


class Entry:
    """What a note has of a value. `kind`: "plain", "tensor", "variable", "array", "code" or "other"."""

    __slots__ = ("kind", "type", "value", "shape", "dtype", "device", "bytes", "name", "trainable", "declared")

    def __init__(self, value):
        self.kind, self.type = "other", type_name(value)
        self.value = self.shape = self.dtype = self.device = self.bytes = self.name = self.trainable = self.declared = None
        if is_a(value, (_engine.Tensor, _engine.Variable)):
            self.kind = "variable" if is_a(value, _engine.Variable) else "tensor"
            self.value = value._id
            self.shape = [int(extent) for extent in tuple(value.shape)]
            self.dtype, self.device = value.dtype.name, value._place
            self.bytes = int(np.prod(self.shape, dtype=np.int64)) * value.dtype.size
            if self.kind == "variable":
                self.name = _of_variable("name", value).removesuffix(":0")
                self.trainable, self.declared = _of_variable("trainable", value), _of_variable("shape", value)
        elif is_a(value, np.ndarray):
            self.kind = "array"
            self.shape = list(np.ndarray.shape.__get__(value))
            self.dtype = clean(str(np.ndarray.dtype.__get__(value)))
            self.bytes = int(np.ndarray.nbytes.__get__(value))
        elif is_a(value, _CODE):
            self.kind = "code"
        elif is_plain(value):
            self.kind = "plain"
            self.value = type(value)(value) if type(value) in (list, tuple, dict, set) else value


def _of_variable(attribute, value):
    """Of the engine's own, not of a subclass."""
    return getattr(_engine.Variable, attribute).__get__(value)


def is_plain(value):
    """Of Python's own types, short, and unchangeable but for the outermost list."""
    kind = type(value)
    if kind is int:
        return value.bit_length() <= 4000
    if kind in _NUMBERS or issubclass(kind, np.generic):
        return True
    if kind in (str, bytes):
        return len(value) <= MOST_TEXT
    if kind in (list, tuple, set):
        return len(value) <= MOST_ITEMS and all(map(_is_simple, value))
    if kind is dict:
        return len(value) <= MOST_ITEMS and all(_is_simple(key) and _is_simple(item) for key, item in value.items())
    return False


def _is_simple(value):
    return type(value) not in (list, tuple, set, dict) and is_plain(value)


class Note:
    """What names had at one time. `before`: the first record that is later."""

    __slots__ = ("before", "stop", "after", "cell", "thread", "rows", "scopes", "globals", "size")

    def __init__(self, before, stop, after, cell):
        self.before, self.stop, self.after, self.cell = before, stop, after, cell
        self.thread, self.rows, self.scopes, self.size = "", [], [], 0
        self.globals = {}

    def entries(self, variables):
        entries = {}
        for name, value in variables:
            if len(entries) >= MOST_NAMES:
                break
            if type(name) is str and name.isidentifier() and not session_frames.is_ours(name):
                entry, _ = guarded(Entry, value)  # a subclass may be anything
                if entry is not None:
                    entries[name] = entry
        self.size += len(entries)
        return entries

    def text(self):
        if self.cell is not None:
            return "the beginning of the cell"
        if self.stop >= FIRST_LINE_STOP:
            return f"the stop at line {self.rows[0][3]}" if self.rows else "the stop at a line"
        return f"the stop {'after' if self.after else 'before'} op {self.stop:,}"


class Notes:
    """The newest, in the order of time."""

    def __init__(self):
        self._notes = []
        self._size = 0

    def clear(self):
        self._notes.clear()
        self._size = 0

    def add(self, note):
        while self._notes and self._notes[-1].before >= note.before:  # the same place once more
            self._size -= self._notes.pop().size
        self._notes.append(note)
        self._size += note.size
        while self._size > MOST_ENTRIES and len(self._notes) > 1:
            self._size -= self._notes.pop(0).size

    def nearest(self, moment):
        """The last one that is not later than the moment before that record; None: there is none."""
        low, high = 0, len(self._notes)
        while low < high:
            middle = (low + high) // 2
            if self._notes[middle].before <= moment:
                low = middle + 1
            else:
                high = middle
        return self._notes[low - 1] if low else None


notes = Notes()


def note_stop(stop, after, thread):
    """`after`: the record has run, and is what stopped the program."""
    before = _debug.record_count() + 1 if stop >= FIRST_LINE_STOP else stop + 1 if after else stop
    note = Note(before, stop, after, None)
    note.thread, _, note.rows = session_frames.frames(thread, 0, MOST_FRAMES)
    globals_of = {}
    for frame in session_frames.frames_of(thread)[:MOST_FRAMES]:
        own = note.entries(session_frames.locals_of(frame).items()) if session_frames.has_locals(frame) else None
        known = globals_of.get(id(frame.f_globals))
        if known is None:
            known = globals_of[id(frame.f_globals)] = note.entries(list(frame.f_globals.items()))
        note.scopes.append((own, known))
    note.globals = note.scopes[0][1] if note.scopes else {}
    notes.add(note)


def note_cell(cell):
    """A cell begins."""
    if not _debug.attached():
        return
    first = _debug.record_count() + 1
    note = Note(first, first, False, cell)
    note.globals = note.entries(list(session_frames.session_globals().items()))
    notes.add(note)


def frames(stop, after, thread, first, count, moment):
    """(the thread's name, how many frames, their rows, the record of the stop that they are of or 0, whether that stop was
    after it, the cell that began then or "", the function that the moment's record ran in and no stop was made in or "")."""
    traced = frame_rows(stop if thread else 0, moment)
    if not moment:
        if thread and first == 0:
            note_stop(stop, after, thread)
        return (*_behind(traced, session_frames.frames, thread, first, count), 0, False, "", "")
    note = notes.nearest(moment)
    if note is None:
        live = _behind(traced, session_frames.frames if thread else lambda *_: ("", 0, []), thread, first, count)
        return (*live, 0, False, "", "")
    count = min(count, session_frames.MOST_ROWS)
    function = function_of(moment)[0] if note.cell is not None and not traced else ""
    rows = [*traced, *note.rows]
    return (note.thread, len(rows), rows[first:first + count], note.stop, note.after,
            note.cell or ("" if note.cell is None else " "), function)


def _behind(traced, frames_of, thread, first, count):
    """Python's frames come behind those of traced functions, which no Python runs."""
    shown = traced[first:first + min(count, session_frames.MOST_ROWS)]
    name, total, rows = frames_of(thread, max(0, first - len(traced)), count - len(shown))
    return name, len(traced) + total, [*shown, *rows]


class Found:
    """A name at a moment. `source`: "moment", "note" or "now"; the value itself, or the id of a tensor."""

    __slots__ = ("source", "value", "tensor", "entry")

    def __init__(self, source, value=None, tensor=0, entry=None):
        self.source, self.value, self.tensor, self.entry = source, value, tensor, entry

    def get(self):
        return _debug._value_of(self.tensor) if self.tensor else self.value


class Past:
    """The names of a scope at a moment."""

    def __init__(self, stop, thread, frame, moment):
        self.moment = moment
        self.note = notes.nearest(moment)
        if self.note is None:
            scope = session_frames.python_scope_at(stop, thread, frame)
            self.live_locals, self.live_globals = scope.locals, scope.globals
            self.locals, self.globals = None, {}
            return
        session_frames.session.at(stop)
        self.live_locals, self.live_globals = None, session_frames.session_globals()
        self.locals, self.globals = None, self.note.globals
        if self.note.scopes:
            if frame >= len(self.note.scopes):
                raise LookupError("the program has gone on")
            self.locals, self.globals = self.note.scopes[frame]

    def names(self, kind):
        """Those of "locals" or "globals"."""
        noted, live = (self.locals, self.live_locals) if kind == "locals" else (self.globals, self.live_globals)
        found = dict.fromkeys(noted or ())
        for name in list(live or ()):
            if type(name) is str and name.isidentifier() and not session_frames.is_hidden(live, name):
                found.setdefault(name)
        return list(found)

    def _scopes(self, kind):
        """(what is noted, what there is now), the innermost first."""
        scopes = [] if kind == "globals" else [(self.locals, self.live_locals)]
        return scopes if kind == "locals" else [*scopes, (self.globals, self.live_globals)]

    def knows(self, name):
        return any(name in (names or ()) for scope in self._scopes(None) for names in scope)

    def unknown_locals(self):
        """(the function that the op ran in, the names of its locals) where no stop was in the cell's run by then; else ("", ())."""
        return function_of(self.moment) if self.note is not None and self.note.cell is not None else ("", ())

    def why_unknown(self, name):
        """Why nothing is known of a name; "": it is none that the program had where the op ran."""
        function, variables = function_of(self.moment)
        if name not in variables:
            return ""
        stops = "no stop had been made there by then" if self.note is None or self.note.cell is not None \
            else f"{self.note.text()}, the last one by then, had no {name}"
        return (f"{name} is a local of {function}, and what it had at op {self.moment:,} is not known: locals are noted where "
                f"the program stops, and {stops}")

    def find(self, name, kind=None):
        """LookupError where there is no such name, or nothing is known of what it had."""
        for noted, live in self._scopes(kind):
            if noted and name in noted:
                return self._noted(name, noted[name], live)
            if live and name in live:
                return self.now(live[name], name)
        raise LookupError(f"there is no variable {name}")

    def _noted(self, name, entry, live):
        if entry.kind == "plain":
            return Found("note", entry.value, entry=entry)
        if entry.kind == "tensor":
            value = live.get(name) if live else None
            if is_a(value, _engine.Tensor) and value._id == entry.value:  # no op may have taken it, so that no record knows it
                return Found("note", value, entry=entry)
            return Found("note", tensor=entry.value, entry=entry)
        if entry.kind == "variable":
            return Found("moment", tensor=self.version(entry.value, name), entry=entry)
        if live and name in live:
            return self.now(live[name], name)
        return Found("gone", entry=entry)

    def now(self, value, name):
        if is_a(value, _engine.Variable):
            return Found("moment", tensor=self.version(value._id, name), entry=Entry(value))
        return Found("now", value)

    def version(self, tensor, name):
        """Id of the value that a variable had, which has that value at another time."""
        version = _debug._version_before(tensor, self.moment)
        if version is None:
            raise LookupError(f"which value {name} had is not known any longer")
        if version == 0:
            raise LookupError(f"{name} was made later")
        return version

    def row(self, name, find, position, until):
        """As a table shows it."""
        try:
            found = find()
        except LookupError as error:
            return {"name": clean(name), "item": position, "type": "", "problem": str(error)}
        if found.source == "now":
            row = describe(name, found.value, position)
            if row.get("kind") != "code":
                row["as_of"] = "now"
        elif found.tensor:
            row = self._tensor_row(name, found, position, until)
        elif found.source == "gone":
            row = noted_row(name, found.entry, position)
            row["problem"] = "only its type and shape are known" if found.entry.shape is not None \
                else "only its type is known"
        else:
            row = self.describe_found(name, found, position)
        row.pop("edit", None)
        return row

    def describe_found(self, name, found, position):
        """The row of a value that is there."""
        return describe(name, found.get(), position)

    def _tensor_row(self, name, found, position, until):
        row = noted_row(name, found.entry, position)
        row["tensor"] = found.tensor
        if time.monotonic() > until:
            row["problem"] = "a click computes it"
            return row
        try:
            row["text"] = describe(name, found.get())["text"]
        except LookupError as error:
            row["problem"] = str(error)
        return row


def noted_row(name, entry, position):
    row = {"name": clean(name), "item": position, "type": clean(entry.type)}
    if entry.kind == "code":
        row["kind"] = "code"
    for field in ("shape", "dtype", "device", "bytes"):
        value = getattr(entry, field)
        if value is not None:
            row[field] = value
    return row
