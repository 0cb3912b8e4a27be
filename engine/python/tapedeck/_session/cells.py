"""Tells the debug server which cell runs, and makes a curve of the numbers that a cell ends with."""

import ast
import sys

from tapedeck._gradients.explain import cell_files
from tapedeck._session import frames as session_frames
from tapedeck._session import moments
from tapedeck._session import variable_names
from tapedeck.summary.curves import thinned


class CellWatch:
    """Handles IPython's events of cells."""

    def __init__(self, shell, debug, take_written):
        """`take_written`: returns the names of the curves that got points since the last call."""
        self._shell = shell
        self._debug = debug
        self._take_written = take_written
        self._cell = ""
        self._curves = {}  # names of the curves that a cell's last run made, by cell id
        self._reopened = set()  # those of the cell that runs

    def attach(self):
        session_frames.session.attach(self._shell.user_ns, self._shell.user_ns_hidden)
        self._shell.events.register("pre_run_cell", self.before)
        self._shell.events.register("post_run_cell", self.after)

    def before(self, info):
        session_frames.session.forget()
        parent = self._shell.kernel.get_parent("shell")
        self._cell = (parent.get("metadata") or {}).get("cellId") or ""
        count = self._shell.kernel.take_count()
        if count is None:  # a cell whose number the notebook does not show
            count = self._shell.execution_count
        # The name that the compiled code will have: how the recorder knows a cell's lines.
        filename = self._shell.compile.get_code_name(info.raw_cell, info.raw_cell, count)
        self._debug.begin_cell(self._cell, filename, count)
        cell_files[self._cell] = filename
        if self._debug.attached():
            variable_names.name_variables()
        moments.note_cell(self._cell)
        self._take_written()
        self._reopened = self._curves.pop(self._cell, set())
        for name in sorted(self._reopened):
            self._debug.reopen_series(name)

    def after(self, result):
        self._debug.end_cell(result is None or not result.success)
        names = self._take_written()
        values = points_of(result.result) if result is not None and result.success else None
        if values is not None:
            name = series_name(result.info.raw_cell, result.execution_count)
            names.add(name)
            self._add_curve(name, values)
        self._close(self._reopened - names, result is not None and result.success)
        if result is None or not result.success:
            names |= self._reopened
        if names:
            self._curves[self._cell] = names

    def _close(self, unwritten, whole_run):
        """What the cell drew before and not this time goes, unless the run was cut short."""
        for name in sorted(unwritten):
            if whole_run:
                self._debug.restart_series(name)
            else:
                self._debug.reopen_series(name, False)

    def _add_curve(self, name, values):
        self._debug.restart_series(name)
        for index in thinned(len(values)):
            self._debug.add_scalar(name, index, values[index], "index")


def points_of(value):
    """The numbers of a list, tuple or one-axis array, or of a list of scalar tensors; None for whatever is not a curve.

    A tuple of integers is none: it is most often a shape.
    """
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        if value.ndim != 1 or value.dtype.kind not in "fiu" or value.size < 2:
            return None
        return value.astype(float).tolist()
    if not isinstance(value, (list, tuple)) or len(value) < 2:
        return None
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        return None
    if not all(_is_number(item) for item in value):
        return None
    try:
        return [float(item) for item in value]
    except (TypeError, ValueError, OverflowError):
        return None


def _is_number(item):
    if isinstance(item, bool):
        return False
    if isinstance(item, (int, float)):
        return True
    # NumPy's scalars and scalar tensors alike: no axes, and a value that float() takes.
    shape = getattr(item, "shape", None)
    try:
        return shape is not None and len(shape) == 0 and hasattr(item, "__float__")
    except (TypeError, ValueError):
        return False


def series_name(code, count):
    """The variable's name where the cell ends with one; else what IPython calls the value."""
    try:
        last = ast.parse(code).body[-1]
    except (SyntaxError, ValueError, IndexError):  # magics are not Python
        return f"Out[{count}]"
    if isinstance(last, ast.Expr) and isinstance(last.value, ast.Name):
        return last.value.id
    return f"Out[{count}]"
