"""Code that the user runs where the program is stopped, or between two cells: watches, console, edits."""
import ast
import builtins
import io
import keyword
import re
import sys
import threading
import traceback

import numpy as np

from tapedeck import _engine
from tapedeck._session import moments, past_code, past_variable, places
from tapedeck._session.frames import frames_of, has_locals, is_traced, Place, scope_at, session
from tapedeck._session.past_code import PastCode
from tapedeck._session.past_variable import PastVariable
from tapedeck._session.reads import readers
from tapedeck._session.values import bounded_repr, Cancelled, clean, describe, guarded, is_a, Stopped, TimeUp

MOST_PRINTED = 100_000  # characters
MOST_TRACEBACK = 20_000
MOST_MATCHES = 200
FILENAME = "<console>"
# Between the user's code and the reason that it is given.
OURS = (past_code.__file__, past_variable.__file__, moments.__file__, places.__file__)

SEEN = "What comes after sees the new value."
WENT_ON = "It was assigned while the program went on: what it read meanwhile may be what was there before."
SEEN_OF_ITEM = "What the lines that wait have read of it already stays; what comes after sees the new value."


class Kept:
    """The first characters of what is printed, and whether there were more."""

    def __init__(self):
        self._parts, self._room, self._cut = [], MOST_PRINTED, False

    def add(self, text):
        self._cut = self._cut or len(text) > self._room
        if self._room:
            part = text[:self._room]
            self._parts.append(part)
            self._room -= len(part)

    def text(self):
        cut = f"\n… cut after {MOST_PRINTED:,} characters" if self._cut else ""
        return ("".join(self._parts) + cut).encode("utf-8", "replace").decode("utf-8")


class Printed(io.TextIOBase):
    """Replaces sys.stdout or sys.stderr: captures what this thread writes and passes on what others write."""

    def __init__(self, original, kept):
        self._original = original
        self._kept = kept
        self._thread = threading.get_ident()

    def write(self, text):
        if threading.get_ident() != self._thread:
            return self._original.write(text)
        self._kept.add(str(text))
        return len(text)

    def flush(self):
        if threading.get_ident() != self._thread:
            self._original.flush()

    def __getattr__(self, name):  # what ipykernel's stream has beside a file's methods
        return getattr(self._original, name)


def evaluate(stop, thread, frame, code, statements, moment=0):
    """Runs the code; returns a dict with the fields of the protocol's Evaluation. `moment`: with the values before that
    record; 0: of now."""
    kept = Kept()
    out, error = sys.stdout, sys.stderr
    ours = Printed(out, kept), Printed(error, kept)
    sys.stdout, sys.stderr = ours
    try:
        of_records = moment or is_traced(stop, thread, frame)
        answer = evaluate_past(places.past_at(stop, thread, frame, moment), code, statements) if of_records \
            else _evaluate(stop, thread, frame, code, statements)
        if of_records and not moment:  # the program waits there
            answer.pop("moment", None)
            if "note" in answer:
                answer["note"] = "The graph of a traced function goes on with its own values: what was assigned here is not kept."
    finally:
        if sys.stdout is ours[0]:
            sys.stdout = out
        if sys.stderr is ours[1]:
            sys.stderr = error
    answer["printed"] = kept.text()
    return answer


def _evaluate(stop, thread, frame, code, statements):
    try:
        scope = scope_at(stop, thread, frame)
        value, notes = run_statements(scope, code) if statements else (run_expression(scope, code), [])
        if statements and value is None:
            return {"note": " ".join(notes)}
        text = displayed(value) if statements else ""
        return {**result_of(code, value), "text": text, "note": " ".join(notes)}
    except BaseException as error:
        return failure(error)


def evaluate_past(past, code, statements):
    """What the code assigns goes into no namespace of the program's."""
    try:
        tree = ast.parse(code.strip(), FILENAME, "exec" if statements else "eval")
        stores = statements and any(isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load) for node in ast.walk(tree))
        then = PastCode(tree, past)
    except BaseException as error:
        return failure(error)
    try:
        value = _run_past(then.tree, then.names, statements)
        answer = {"moment": then.text()}
        if stores or then.changed():
            answer["note"] = "The past is only looked at: what was assigned here is not kept."
        if statements and value is None:
            return answer
        text = displayed(value) if statements else ""
        return {**answer, **result_of(code, value), "text": text}
    except BaseException as error:
        why = past.why_unknown(error.name) if is_a(error, NameError) and error.name else ""
        return {**failure(LookupError(why) if why else error), "moment": then.text()}
    finally:
        then.forget()


def _run_past(tree, names, statements):
    """The value of the expression, or of the last statement where that is one."""
    _with_builtins(names)
    last = tree if not statements else None
    if statements and tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    if statements:
        exec(compile(tree, FILENAME, "exec"), names)
    return eval(compile(last, FILENAME, "eval"), names) if last is not None else None


def result_of(name, value):
    row = describe(name, value)
    if is_a(value, PastVariable):
        value = value.read_value()  # the variable itself goes with the evaluation
    kept = session.keep(value) if row.get("items") or row.get("shape") is not None else 0
    return {"value": row, "result": kept}


def displayed(value):
    """As a cell shows it."""
    try:
        from IPython.lib.pretty import pretty  # IPython may be missing: programs run without it
    except ImportError:
        pretty = repr
    text = pretty(value) if type(value) is not str or len(value) < MOST_PRINTED else bounded_repr(value)
    if len(text) > MOST_PRINTED:
        text = text[:MOST_PRINTED] + "…"
    return text.encode("utf-8", "replace").decode("utf-8")


def failure(error):
    """What an exception looks like to the user: without the frames of this file."""
    if is_a(error, Cancelled):
        raise error
    if is_a(error, TimeUp):
        text = "It took longer than it may, and was ended."
        return {"error": text, "traceback": text}
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != FILENAME:
        trace = trace.tb_next
    lines, problem = guarded(_traceback_lines, error, trace)
    text = "".join(lines) if lines else f"{type(error).__name__}, whose text {problem}\n"
    if len(text) > MOST_TRACEBACK:
        text = text[:MOST_TRACEBACK // 2] + "\n…\n" + text[-MOST_TRACEBACK // 2:]
    text = text.rstrip("\n").encode("utf-8", "replace").decode("utf-8")
    last, _ = guarded(lambda: traceback.format_exception_only(type(error), error)[-1].strip())
    return {"error": clean(last or type(error).__name__, 500), "traceback": text}


def _traceback_lines(error, trace):
    shown = traceback.TracebackException(type(error), error, trace)
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if frame.filename not in OURS])
    return list(shown.format())


def run_expression(scope, code):
    names = dict(scope.names())  # what := names is not the program's
    return eval(compile(code.strip(), FILENAME, "eval"), _with_builtins(names))


def _with_builtins(names):
    names.setdefault("__builtins__", builtins)
    return names


def run_statements(scope, code):
    """(value of the last statement where that is an expression, else None; notes on assignments)."""
    tree = ast.parse(code, FILENAME)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    names = _with_builtins(scope.names())
    before = dict(names) if names is not scope.globals else None
    value = None
    try:
        exec(compile(tree, FILENAME, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), FILENAME, "eval"), names)
    finally:
        notes = [] if before is None else _store_changes(scope, before, names)
    return value, notes


def _store_changes(scope, before, names):
    notes = []
    for name, value in names.items():
        if name not in before or before[name] is not value:
            notes.append(scope.store(name, value))
    for name in before:
        if name not in names:
            notes.append(f"{name} stays: a variable of a waiting function cannot be deleted.")
    return [note for note in notes if note]


def assign(place, code):
    """A dict with the fields of Evaluation, or one with "variable" and "tensor": what the caller has yet to assign."""
    try:
        if place[3] == "locals" and is_traced(*place[:3]):
            raise TypeError(f"{place[4]} belongs to a traced function: its graph goes on with its own values. What if? (F4) changes them")
        there = Place(*place)
        old = there.value()
        names = dict(there.scope.names())
        for constant in ("nan", "inf"):  # as arrays write them
            names.setdefault(constant, float(constant))
        new = eval(compile(code.strip(), FILENAME, "eval"), _with_builtins(names))
        if is_a(old, _engine.Variable) and not is_a(new, _engine.Variable):
            return {"variable": old, "tensor": _engine.convert_to_tensor(new, dtype=old.dtype)}
        note = there.put(_like(old, new))
    except BaseException as error:
        return failure(error)
    return assigned(place, note)


def assigned(place, note=""):
    """The answer, once the value is there: whatever is the matter now, the place does not keep what it had."""
    try:
        there = Place(*place)
        notes = [note, seen_by(there) if there.scope.frame is not None and not note else ""]
        return {"value": describe(there.text(), there.value()), "note": " ".join(filter(None, notes))}
    except LookupError:
        return {"note": WENT_ON}


def seen_by(place):
    """Who goes on with the new value of a place at a stop, and who does not."""
    if place.path:
        return SEEN_OF_ITEM
    waiting = readers(frames_of(place.thread), place.scope.index, place.name, place.kind == "globals")
    if not waiting:
        return SEEN
    lines = [f"line {frame.f_lineno}" + (f" of {frame.f_code.co_name}" if has_locals(frame) else "") for frame in waiting]
    return (f"{' and '.join(lines).capitalize()} {'has' if len(lines) == 1 else 'have'} read {place.name} already, and "
            f"{'goes' if len(lines) == 1 else 'go'} on with what it was; what comes after sees the new value.")


def _like(old, new):
    """A list that is typed in place of a tensor or array becomes one of the same dtype."""
    plain = is_a(new, (list, tuple, int, float, bool))
    if is_a(old, _engine.Tensor) and plain:
        return _engine.constant(new, old.dtype, None)
    if is_a(old, np.ndarray) and plain:
        return np.array(new, dtype=old.dtype)
    if is_a(old, np.generic) and plain and not is_a(new, (list, tuple)):
        return type(old)(new)
    return new


_DOTTED = re.compile(r"(?:([^\W\d]\w*(?:\.[^\W\d]\w*)*)\.)?([^\W\d]\w*)?$")


def complete(stop, thread, frame, code, position):
    """(where the replaced text starts, the completions)."""
    head = code[:position]
    found = _DOTTED.search(head)
    owner, prefix = found.group(1), found.group(2) or ""
    if owner is None and (not prefix or head[:found.start()].endswith(".")):
        return position, []
    names = scope_at(stop, thread, frame).names()
    if is_traced(stop, thread, frame):
        names = {**names, **_known_locals(places.past_at(stop, thread, frame, 0), owner)}
    if owner is None:
        candidates = set(names) | set(dir(builtins)) | set(keyword.kwlist)
    else:
        candidates, _ = guarded(_attribute_names, names, owner)
    fitting = sorted((name for name in candidates or () if type(name) is str and name.startswith(prefix)),
                     key=lambda name: (name.startswith("_"), name))
    if not prefix.startswith("_"):
        fitting = [name for name in fitting if not name.startswith("_")]
    return position - len(prefix), [clean(name) for name in fitting[:MOST_MATCHES]]


def _known_locals(past, owner):
    """The names of a traced function; the value of that one alone with whose name `owner` begins."""
    first = owner.partition(".")[0] if owner else None
    return {name: past.find(name).get() if name == first else None for name in past.locals if past.knows(name)}


def _attribute_names(names, owner):
    first, *rest = owner.split(".")
    value = names[first] if first in names else getattr(builtins, first)
    for name in rest:
        value = getattr(value, name)
    return dir(value)


__all__ = ["Stopped", "assign", "assigned", "complete", "evaluate"]
