"""The sessions of a thread: the default ones, and those that run."""
import threading

from tapedeck._core.public import public


class _Here(threading.local):
    """Of a thread: the innermost session is the last."""

    def __init__(self):
        self.sessions, self.running = [], []


here = _Here()


def running():
    """The session whose run calls a host function."""
    return here.running[-1]


@public("get_default_session")
def get_default_session():
    """The innermost session of this thread whose `with` block, or as_default(), is open; None where there is none."""
    return here.sessions[-1] if here.sessions else None
