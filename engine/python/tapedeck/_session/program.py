"""Runs a program as `python3 FILE.py` would, where it is wanted with the recorder on."""
import os
import runpy
import sys

from tapedeck import _engine
from tapedeck._debugging import assertions as debugging
from tapedeck._session import attachable, torch_programs


def run(path, arguments):
    """Runs the program in the file with these arguments, as the module __main__."""
    check(path)
    sys.argv = [path, *arguments]
    attachable.tell_program(path, sys.argv)
    path = os.path.abspath(path)  # as Python's own `__file__`: a program may change its folder, and a window has another one
    sys.path.insert(0, os.path.dirname(path))
    sys.excepthook = _Excepthook(path)
    runpy.run_path(path, run_name="__main__")


class _Excepthook:
    """Shows what the program raised as Python does, without the calls that led to it."""

    def __init__(self, path):
        self._path = path

    def __call__(self, kind, error, traceback):
        first = traceback
        while first is not None and first.tb_frame.f_code.co_filename != self._path:
            first = first.tb_next
        if first is not None or isinstance(error, SyntaxError):  # which has no frame of the program
            traceback = error.__traceback__ = first
        sys.__excepthook__(kind, error, traceback)


def check(path):
    """Ends the process with a sentence where there is no such file."""
    if not os.path.isfile(path):
        sys.exit(f"There is no file {path}.")


def run_traced(trace, path, program):
    """Calls program(), which runs the file `path`, with the recorder on, and writes the trace file when it ends, however it does: what it
    raised goes on.

    Returns: the exit status where nothing ran.
    """
    check(path)
    if why := _refusal(os.path.abspath(trace)):
        print(f"{why} The program was not run.", file=sys.stderr)
        return 2
    trace = os.path.abspath(trace)
    if _engine.debug.attached():
        _engine.debug.keep_recording()  # even if a window attaches and detaches meanwhile
    else:
        _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
    process = os.getpid()
    try:
        program()
    finally:
        if os.getpid() == process:  # a child that was forked has no recorder
            _save(trace)
    return 0


def _refusal(trace):
    """Why no trace can be written there; "" where it can."""
    folder = os.path.dirname(trace)
    try:
        _engine.debug.check_trace_place(trace)
    except OSError as error:
        return str(error)
    if os.path.isdir(folder) and os.access(folder, os.W_OK):
        return ""
    why = f"nothing can be written in {folder}" if os.path.isdir(folder) else f"there is no folder {folder}"
    return f"The trace cannot be saved as {trace}: {why}."


def _save(trace):
    if not _engine.debug.attached():
        print(f"The trace cannot be saved as {trace}: the program has ended the recording.", file=sys.stderr)
        return
    try:
        saved = debugging.save_trace(trace)
    except OSError as error:
        print(error, file=sys.stderr)
    else:
        print(f"Trace file {saved['path']}: {saved['records']:,} records, {saved['bytes'] / 1e6:,.1f} MB.", file=sys.stderr)
