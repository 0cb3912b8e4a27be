"""Runs a program as `python3 FILE.py` would, where it is wanted with the recorder on."""
import os
import runpy
import sys

from tapedeck import _engine
from tapedeck._debugging import assertions as debugging
from tapedeck._session import attachable, torch_programs


def run(path, arguments):
    """Runs the program in the file with these arguments, as the module __main__."""
    if not os.path.isfile(path):
        sys.exit(f"There is no file {path}.")
    sys.argv = [path, *arguments]
    attachable.tell_program(path, sys.argv)
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    runpy.run_path(path, run_name="__main__")


def run_traced(trace, program):
    """Calls program() with the recorder on, and writes the trace file when it ends, however it does: what it raised goes on.

    Returns: the exit status where nothing ran.
    """
    trace = os.path.abspath(trace)
    folder = os.path.dirname(trace)
    if os.path.isdir(trace) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        why = ("that is a folder" if os.path.isdir(trace) else f"there is no folder {folder}" if not os.path.isdir(folder)
               else f"nothing can be written in {folder}")
        print(f"The trace cannot be saved as {trace}: {why}. The program was not run.", file=sys.stderr)
        return 2
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
