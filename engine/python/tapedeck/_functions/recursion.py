"""Functions that call themselves while they are traced: a trace cannot end on what tensors hold."""
import contextlib
import sys
import threading

_DEEPEST = 32  # traces of one function with one signature inside of each other: Python's state may end them, but not so late
_DEEPEST_OF_ALL = 256  # of any: the stack of the process ends, where a program has raised Python's own limit


class _Open(threading.local):
    """The traces that a thread is in: (function, key) each."""

    def __init__(self):
        self.traces = []


_open = _Open()


def _place(frames):
    """The first line of a program among the frames: ", file, line 3"; "" where there is none."""
    from tapedeck._autograph.calls import is_library  # it imports this package's ops, which need this folder
    for file, line in frames:
        if not is_library(file):
            return f" ({file}, line {line})"
    return ""


def _callers():
    frame = sys._getframe(1)
    while frame is not None:
        yield frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back


def _raised_in(traceback):
    """From the innermost frame outwards."""
    frames = []
    while traceback is not None:
        frames.append((traceback.tb_frame.f_code.co_filename, traceback.tb_lineno))
        traceback = traceback.tb_next
    return reversed(frames)


def _endless(name, deep, frames):
    return RecursionError(f"{name}: calls itself without end while it is traced, {deep} calls deep{_place(frames)}. Tensors have no values "
                          "then that could end it; use a loop, or let a Python number count")


@contextlib.contextmanager
def watched(function, key):
    """Around a trace. RecursionError, with the line of the program, where the function is traced for the same signature again and again,
    and where Python's stack ends."""
    traces, mark = _open.traces, (function, key)
    deep = traces.count(mark)
    if deep == _DEEPEST or len(traces) == _DEEPEST_OF_ALL:
        raise _endless(function.__name__, len(traces), _callers())
    traces.append(mark)
    try:
        yield
    except RecursionError as error:
        if len(traces) > 1 or type(error) is not RecursionError or "without end while it is traced" in str(error):
            raise
        raise _endless(function.__name__, "too many", _raised_in(error.__traceback__)) from None
    finally:
        traces.pop()
