"""Where the user's program is: its frames while it waits at the gate, the notebook's variables, and what is at a place."""
import os
import re
import sys
import sysconfig
import threading

from tapedeck import _engine
from tapedeck._session.traced_frames import traced_count
from tapedeck._session.values import describe, Items

MOST_ROWS = 500

_debug = _engine.debug
_OURS = re.compile(r"_+|_i+|_i?\d+|_[doi]h|_exit_code|__\w+__|In|Out|exit|quit|get_ipython")
_LIBRARIES = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
                   | {os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")})


class Session:
    """What outlives a request: the notebook's namespace, and the results of evaluations until the program goes on."""

    def __init__(self):
        self.namespace = None
        self.files_are_cells = False
        self.hidden = {}  # names that IPython put into the namespace, with what it put there
        self._stop = None
        self._results = {}
        self._last_result = 0
        self._extra = {}  # names that the console made inside of functions, by frame

    def attach(self, namespace, hidden):
        self.namespace = namespace
        self.hidden = hidden

    def at(self, stop):
        """Releases the results of evaluations at other stops."""
        if stop != self._stop:
            self.forget()
            self._stop = stop

    def forget(self):
        self._stop = None
        self._results.clear()
        self._extra.clear()

    def keep(self, value):
        """A number by which the result can be looked into."""
        self._last_result += 1
        self._results[self._last_result] = value
        if len(self._results) > 64:
            del self._results[next(iter(self._results))]
        return self._last_result

    def result(self, number):
        try:
            return self._results[number]
        except KeyError:
            raise LookupError("the program went on since this was evaluated") from None

    def extra(self, frame):
        return self._extra.setdefault(frame, {})


session = Session()


class Scope:
    """The names that code sees at a place. `frame`: None between two cells."""

    def __init__(self, frame, index):
        self.frame = frame
        self.index = index
        self.globals = session_globals() if frame is None else frame.f_globals
        self.locals = locals_of(frame) if frame is not None and has_locals(frame) else None
        self.extra = session.extra(index) if self.locals is not None else None

    def names(self):
        """All of them in one dict: what inner scopes of the code (a comprehension's) see, too."""
        if self.locals is None:
            return self.globals
        return {**self.globals, **self.extra, **self.locals}

    def store(self, name, value):
        """Gives a name a value. Returns "" or a sentence why the program does not see it."""
        if self.locals is None:
            self.globals[name] = value
            return ""
        if not is_optimized(self.frame):  # a class that is being made
            self.frame.f_locals[name] = self.locals[name] = value
            return ""
        if name in self.frame.f_code.co_varnames + self.frame.f_code.co_cellvars + self.frame.f_code.co_freevars:
            _debug._set_frame_local(self.frame, name, value)
            self.locals[name] = value
            return ""
        if name in self.globals:
            self.globals[name] = value
            return ""
        self.extra[name] = value
        return f"{self.frame.f_code.co_name} has no variable {name}: only the console sees it, until the program goes on."


def is_ours(name):
    return _OURS.fullmatch(name) is not None


def is_hidden(scope, name):
    """IPython put it there, and not the user."""
    if is_ours(name):
        return True
    return scope is session.namespace and name in session.hidden and session.hidden[name] is scope.get(name)


def locals_of(frame):
    """A frame's own variables, as a dict of its own."""
    if is_optimized(frame):
        return _debug._frame_locals(frame)
    return {name: value for name, value in frame.f_locals.items() if not str(name).startswith("__")}


def session_globals():
    return session.namespace if session.namespace is not None else sys.modules["__main__"].__dict__


def is_optimized(frame):
    return bool(frame.f_code.co_flags & 1)  # CO_OPTIMIZED: a function's; those of a module or class are a dict


def has_locals(frame):
    return is_optimized(frame) or frame.f_locals is not frame.f_globals


def cell_of(filename):
    """The cell that the window shows a file's lines in: in a program without cells, the user's file itself."""
    cell = _debug._cell_of(filename)
    if cell or not session.files_are_cells or is_library(filename) or not os.path.isabs(filename):
        return cell
    return filename


def is_library(filename):
    if _debug._cell_of(filename):
        return False
    return filename.startswith("<frozen ") or filename.startswith(_LIBRARIES) or "/dist-packages/" in filename \
        or "/site-packages/" in filename


def frames_of(thread):
    """The frames of a thread that are the user's, the innermost first; all of them where none is."""
    frame = sys._current_frames().get(thread)
    every = []
    while frame is not None:
        every.append(frame)
        frame = frame.f_back
    cells = [place for place, frame in enumerate(every) if _debug._cell_of(frame.f_code.co_filename)]
    if cells:  # what called the cell is the notebook's business
        every = every[:cells[-1] + 1]
    own = [frame for frame in every if not is_library(frame.f_code.co_filename)]
    return own or every


def frame_at(thread, index):
    frames = frames_of(thread)
    if index >= len(frames):
        raise LookupError("the program has gone on")
    return frames[index]


def frames(thread, first, count):
    """(the thread's name, how many frames, [(function, cell, file, line, has its own locals)])."""
    name = next((one.name for one in threading.enumerate() if one.ident == thread), "")
    found = frames_of(thread)
    rows = []
    for frame in found[first:first + min(count, MOST_ROWS)]:
        code = frame.f_code
        cell = cell_of(code.co_filename)
        rows.append((code.co_name, cell, "" if cell else code.co_filename, frame.f_lineno or 0, has_locals(frame)))
    return name, len(found), rows


def scope_at(stop, thread, index):
    """Python's frame. Of one of a traced function, which no Python runs, the globals alone."""
    return python_scope_at(stop, thread, index - traced_count(stop) if thread else -1)


def python_scope_at(stop, thread, index):
    """`index` among Python's frames alone; negative: no frame."""
    session.at(stop)
    return Scope(frame_at(thread, index) if thread and index >= 0 else None, max(index, -1) if thread else -1)


def is_traced(stop, thread, index):
    """Whether the frame is one of a traced function whose graph runs."""
    return bool(thread) and index < traced_count(stop)


class Place:
    """A variable or item, or a whole scope. `kind`: "globals", "locals" or "result"; `path`: positions of items."""

    def __init__(self, stop, thread, frame, kind, name, path):
        self.scope = scope_at(stop, thread, frame)
        self.thread = thread
        self.kind = kind
        self.name = name
        self.path = path

    def _variables(self):
        """(name, value) of the scope's own, without what IPython put there."""
        if self.kind == "globals":
            return [(name, value) for name, value in list(self.scope.globals.items())
                    if not is_hidden(self.scope.globals, name)]
        return [(name, value) for name, value in {**self.scope.extra, **self.scope.locals}.items() if name.isidentifier()] \
            if self.scope.locals is not None else []

    def _root(self):
        if self.kind == "result":
            return session.result(int(self.name))
        names = self.scope.globals if self.kind == "globals" else {**(self.scope.extra or {}), **(self.scope.locals or {})}
        try:
            return names[self.name]
        except KeyError:
            raise LookupError(f"there is no variable {self.name} any longer") from None

    def value(self, levels=None):
        value = self._root()
        for position in self.path[:levels]:
            value = Items(value).at(position)[1]
        return value

    def text(self):
        """As Python writes the place: "layer.weights[0]"."""
        text = "result" if self.kind == "result" else self.name
        value = self._root()
        for position in self.path:
            name, value = Items(value).at(position)
            text += name
        return text

    def page(self, first, count):
        """(how many there are, the rows of some)."""
        count = min(count, MOST_ROWS)
        if self.name:
            items = Items(self.value())
            return items.total, [describe(name, item, position)
                                 for position, (name, item) in enumerate(items.page(first, count), first)]
        every = self._variables()
        return len(every), [describe(name, value) for name, value in every[first:first + count]]

    def put(self, value):
        """Replaces the variable or item. Returns "" or a sentence why the program does not see it."""
        if self.path:
            Items(self.value(len(self.path) - 1)).put(self.path[-1], value)
            return ""
        if self.kind == "result":
            raise TypeError("a result has no name that could be given another value")
        if self.kind == "globals":
            self.scope.globals[self.name] = value
            return ""
        return self.scope.store(self.name, value)
