"""The dispatch mode that makes records, and where it is entered: on the thread that attaches, and on those started from then on.

What runs for every op is in C++ (engine/python/torch).
"""
import functools
import os
import threading

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tapedeck import _engine
from tapedeck.torch import backward, compiled, data_parallel, devices, exports, nodes, scopes

OLDEST = (2, 1)  # what is used of PyTorch is there from that release on


class Recording(_engine.torch.Dispatch, TorchDispatchMode):
    """Makes a record of each op that runs on this thread while a recorder is attached; `__torch_dispatch__` is the base class's."""

    supports_higher_order_operators = True

    def __enter__(self):
        entered = super().__enter__()
        nodes.enter()
        return entered

    def __exit__(self, *raised):
        nodes.leave()
        return super().__exit__(*raised)

    @classmethod
    def ignore_compile_internals(cls):
        return True


_entered = None  # the mode of the thread that attached


def attached():
    """Whether ops of PyTorch are recorded on the thread that called attach()."""
    return _entered is not None


def attach(is_new=False):
    """Records PyTorch's ops on this thread and on threads started from now on; does nothing where it does already. is_new: PyTorch has just
    been imported, and no program has used it.

    RuntimeError for a PyTorch that is too old.
    """
    global _entered
    if _entered is not None:
        return
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if release < OLDEST:
        raise RuntimeError(f"PyTorch {torch.__version__} is too old for its ops to be recorded; "
                           f"{'.'.join(map(str, OLDEST))} is the oldest that can")
    _engine.torch.load(torch, os.path.dirname(os.path.abspath(torch.__file__)), is_new)
    exports.watch()
    devices.watch()
    _watch_threads()
    backward.watch()
    nodes.watch_functions()
    scopes.watch()
    data_parallel.watch(attached)
    compiled.watch(attached)
    mode = Recording()
    mode.__enter__()
    _entered = mode


def detach():
    """Leaves the mode, on the thread that attached."""
    global _entered
    mode, _entered = _entered, None
    if mode is not None:
        scopes.unwatch()
        compiled.unwatch()
        mode.__exit__(None, None, None)


class recording:
    """A context manager: attach(), and detach() at the end unless it was attached before."""

    def __enter__(self):
        self._was_attached = attached()
        attach()
        return self

    def __exit__(self, *raised):
        if not self._was_attached:
            detach()


def _watch_threads():
    original = threading.Thread.start
    if hasattr(original, "_tapedeck_watches"):
        return

    @functools.wraps(original)
    def start(thread):
        run = thread.run

        @_engine.torch.without_frames
        def recorded():
            if not attached():
                return run()
            with Recording():
                return run()

        thread.run = recorded
        return original(thread)

    start._tapedeck_watches = True
    threading.Thread.start = start
