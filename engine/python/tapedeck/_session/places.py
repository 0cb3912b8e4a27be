"""What the window asks for by its place: names of frames of Python's and of traced functions, at a stop or at a moment of the past."""
import time

from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session.frames import is_traced, Place
from tapedeck._session.moments import Found, PAGE_SECONDS, Past
from tapedeck._session.past_variable import PastVariable
from tapedeck._session.traced import past_in_graph
from tapedeck._session.traced_frames import traced_count
from tapedeck._session.values import is_a, Items


def past_at(stop, thread, frame, moment):
    """The names of a frame: of Python's or of a traced function's. `moment` 0: now, in one of the latter."""
    found = past_in_graph(stop, thread, frame, moment)
    return found if found is not None else Past(stop, thread, frame - traced_count(stop, moment), moment)


class PastPlace:
    """As frames.Place, at a moment."""

    def __init__(self, stop, thread, frame, kind, name, path, moment):
        self.past = past_at(stop, thread, frame, moment)
        self.kind, self.name, self.path = kind, name, path

    def _found(self):
        if self.kind == "result":
            found = Found("moment", session_frames.session.result(int(self.name)))
        else:
            found = self.past.find(self.name, self.kind)
        for position in self.path:
            name, item = Items(found.get()).at(position)
            found = self._item(found, item, name)
        return found

    def _text(self):
        text = "result" if self.kind == "result" else self.name
        if not self.path:
            return text
        found = Found("moment", session_frames.session.result(int(self.name))) if self.kind == "result" \
            else self.past.find(self.name, self.kind)
        value = found.get()
        for position in self.path:
            name, value = Items(value).at(position)
            text += name
        return text

    def _item(self, found, item, name):
        """What is inside of what was found."""
        if found.source == "now" or is_a(item, _engine.Variable) and not is_a(item, PastVariable):
            return self.past.now(item, name)
        return Found(found.source, item)

    def value(self):
        """(the value, its text)."""
        found = self._found()
        if found.source == "gone":
            raise LookupError(f"of {self.name} only its type and shape are known")
        return found.get(), self._text()

    def held(self):
        """(id of the record's tensor or 0, its text, whether a variable has it)."""
        found = self._found()
        return found.tensor, self._text(), found.entry is not None and found.entry.kind == "variable"

    def page(self, first, count):
        """(how many there are, the rows of some)."""
        count = min(count, session_frames.MOST_ROWS)
        until = time.monotonic() + PAGE_SECONDS
        past = self.past
        if not self.name:
            names = past.names(self.kind)
            return len(names), [past.row(name, lambda name=name: past.find(name, self.kind), 0, until)
                                for name in names[first:first + count]]
        found = self._found()
        items = Items(found.get())
        rows = [past.row(name, lambda item=item, name=name: self._item(found, item, name), position, until)
                for position, (name, item) in enumerate(items.page(first, count), first)]
        if found.source == "now":  # beside what is of now, what is not says so
            for row in rows:
                if "tensor" in row and "as_of" not in row:
                    row["as_of"] = f"at op {past.moment:,}"
        return items.total, rows


def _traced_place(place):
    """PastPlace where the place is in a traced function; else None."""
    stop, thread, index, kind = place[:4]
    if kind == "result" or not is_traced(stop, thread, index):
        return None
    return PastPlace(*place, 0)


def page(place, first, count):
    return (_traced_place(place) or Place(*place)).page(first, count)


def value_at(place):
    """(the value, its text)."""
    traced = _traced_place(place)
    if traced is not None:
        return traced.value()
    there = Place(*place)
    return there.value(), there.text()
