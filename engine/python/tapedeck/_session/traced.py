"""What the names of a traced function had at a record of one of its runs.

The Python code of such a function ran once, while it was traced. Its tensors have the values of the run; numbers, texts and objects
of Python are as they were then, and say so.
"""
import ast

from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session.moments import Found, noted_row, Past
from tapedeck._session.traced_frames import traced_frames
from tapedeck._session.values import clean, describe

WHILE_TRACING = "while tracing"

_debug = _engine.debug
_MAKE = {"list": list, "tuple": tuple}


class Missing:
    """In a list, in place of a value that is not known."""

    def __init__(self, why):
        self._why = why

    def __repr__(self):
        return f"<{self._why}>"


class TracedValue:
    """What a name or item had. `entry` for tables: moments.Entry has the same attributes."""

    def __init__(self, fields):
        self.name, self.kind, self.tensor, self.type, self.text, items, self.held = fields
        self.items = [TracedValue(each) for each in items]
        self.shape = self.dtype = self.device = self.bytes = None

    def problem(self):
        """Why there is no value; "": there is one."""
        if self.kind == "unassigned":
            return "no value yet"
        if self.kind == "tensor" and not self.tensor:
            return "not computed: nothing in the graph reads it"
        if self.kind == "host" and not self._is_literal():
            return "Python's own: the graph has no value of it" + (f" ({self.text})" if self.text else "")
        return ""

    def _is_literal(self):
        return self.type in ("int", "float", "complex", "bool", "str", "bytes", "NoneType") and self.text != ""

    def value(self, past):
        problem = self.problem()
        if problem:
            raise LookupError(f"{self.name}: {problem}")
        if self.kind == "tensor":
            return self.held if self.held is not None else _debug._value_of(self.tensor)
        if self.kind == "variable":
            return _debug._value_of(past.version(self.tensor, self.name))
        if self.kind == "items":
            return self._container(past)
        return literal(self.text)

    def _container(self, past):
        inside = [Missing(each.problem()) if each.problem() else each.value(past) for each in self.items]
        if self.type in _MAKE:
            return _MAKE[self.type](inside)
        return {_key(each.name): value for each, value in zip(self.items, inside)}


def literal(text):
    """The number or text that Python writes so."""
    if text in ("nan", "inf", "-inf"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except ValueError:
        return complex(text)  # (nan+1j)


def _key(name):
    try:
        return literal(name[1:-1])
    except (SyntaxError, ValueError):
        return name[1:-1]


class TracedFound(Found):
    """A name of a traced function. A list is made when it is asked for."""

    __slots__ = ("past", "of")

    def __init__(self, of, past):
        tensor = 0
        if of.kind == "tensor" and of.held is None:
            tensor = of.tensor
        elif of.kind == "variable":
            tensor = past.version(of.tensor, of.name)
        super().__init__("tracing" if of.kind == "host" else "moment", tensor=tensor)
        self.past, self.of = past, of

    def get(self):
        return self.of.value(self.past)


class TracedPast(Past):
    """The names of a traced function before a record, and the globals."""

    def __init__(self, stop, thread, moment, live, row):
        record = moment or stop
        self.live = live
        self.moment = record
        if live:
            session_frames.session.at(stop)
            self.note, self.globals, self.live_globals = None, {}, session_frames.session_globals()
        else:
            super().__init__(stop, thread, 0, record)
        self.function = row[0]
        self.live_locals = None
        self.locals = {value.name: value for value in map(TracedValue, row[4])}

    def unknown_locals(self):
        return "", ()

    def why_unknown(self, name):
        value = self.locals.get(name)
        return f"{name}: {value.problem()}" if value is not None and value.problem() else ""

    def knows(self, name):
        if name in self.locals:
            return not self.locals[name].problem()
        return super().knows(name)

    def find(self, name, kind=None):
        if kind == "globals" or kind is None and name not in self.locals:
            return super().find(name, "globals")
        if name not in self.locals:
            raise LookupError(f"there is no variable {name}")
        value = self.locals[name]
        if value.problem():
            raise LookupError(value.problem())
        return TracedFound(value, self)

    def now(self, value, name):
        found = super().now(value, name)
        if self.live and found.source == "now":
            found.source = "moment"  # the program waits there
        return found

    def row(self, name, find, position, until):
        value = self.locals.get(name)
        row = super().row(name, find, position, until)
        if "problem" in row and row.get("type") == "" and value is not None:
            row["type"] = clean(value.type)
        return row

    def _tensor_row(self, name, found, position, until):
        if not isinstance(found, TracedFound):
            return super()._tensor_row(name, found, position, until)
        try:
            row = describe(name, found.get(), position)
            row["type"], row["tensor"] = clean(found.of.type), found.tensor
        except LookupError as error:
            row = {**noted_row(name, found.of, position), "tensor": found.tensor, "problem": str(error)}
        return row

    def describe_found(self, name, found, position):
        row = describe(name, found.get(), position)
        if found.source == "tracing":
            row["as_of"] = WHILE_TRACING
        return row


def past_in_graph(stop, thread, frame, moment):
    """The names where the frame is one of a traced function; None for one of Python's."""
    rows = traced_frames(stop, moment)
    return TracedPast(stop, thread, moment, not moment, rows[frame]) if frame < len(rows) else None
