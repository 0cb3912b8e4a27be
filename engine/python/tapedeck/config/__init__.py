"""Settings of the engine."""
from tapedeck import _engine
from tapedeck.config import threading  # noqa: F401


def set_num_threads(count):
    """How many threads kernels may use, the calling one included. ValueError for less than 1."""
    _engine.set_thread_count(count)


def get_num_threads():
    """How many threads kernels may use."""
    return _engine.thread_count()
