"""Loads what formats tracebacks before the first exception: its imports, and the sources that it reads, take longer than all the rest.

In pieces of a few dozen milliseconds, on the event loop of the thread that runs cells: between two cells, so that no fork of the program's
finds a module half imported.
"""
import asyncio
import functools
import importlib
import importlib.machinery
import os
import sys

AFTER = 0.2  # seconds without anything to do
_MODULES = ("executing", "asttokens", "pure_eval", "stack_data", "pygments.lexers.python", "pygments.formatters.terminal256")
_TORCH = ("_tensor.py", "autograd/__init__.py", "autograd/function.py", "autograd/graph.py")  # what backward() goes through


class FirstTraceback:
    def __init__(self, shell):
        self._pieces = [functools.partial(_import, name) for name in _MODULES]
        self._pieces += [_color, _format]
        shell.events.register("post_run_cell", self._prepare)
        self._knows_torch = False

    def _prepare(self, _):
        torch = sys.modules.get("torch")
        if not self._knows_torch and getattr(torch, "__file__", None) and "torch.autograd" in sys.modules:
            self._knows_torch = True
            folder = os.path.dirname(torch.__file__)
            self._pieces += [functools.partial(_read, os.path.join(folder, name)) for name in _TORCH]
        if not self._pieces:
            return
        try:
            asyncio.get_running_loop().call_later(AFTER, self._next)
        except RuntimeError:  # a kernel without one: the first traceback takes its time
            self._pieces.clear()

    def _next(self):
        if not self._pieces:
            return
        piece = self._pieces.pop(0)
        try:
            piece()
            asyncio.get_running_loop().call_later(0, self._next)
        except Exception:  # it is for speed alone: another version of these packages, or none
            self._pieces.clear()


def _import(name):
    # Never a file of that name beside the notebook (sys.path's ""), where a package is not installed.
    if importlib.machinery.PathFinder.find_spec(name.partition(".")[0], [folder for folder in sys.path if folder]) is None:
        raise ImportError(f"{name} is not installed")
    importlib.import_module(name)


def _color():
    import pygments  # loads while the session is idle
    from pygments.formatters import Terminal256Formatter  # so does this
    from pygments.lexers import get_lexer_by_name  # and this
    pygments.highlight("def f(x):\n    return x + 1\n", get_lexer_by_name("python3"), Terminal256Formatter())


def _format():
    from IPython.core.ultratb import VerboseTB  # loads while the session is idle
    try:
        raise ValueError("made up")
    except ValueError:
        VerboseTB().structured_traceback(*sys.exc_info())


def _read(path):
    import stack_data  # loads while the session is idle
    if os.path.exists(path):
        stack_data.Source.for_filename(path)
