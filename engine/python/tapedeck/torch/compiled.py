"""torch.compile while ops are recorded: what it is given runs as it is written, because a fused kernel shows none of its ops."""
import functools
import sys

import torch

from tapedeck import _engine

NOTICE = "tapedeck: torch.compile: compiled functions run as written while ops are recorded, so that each op can be seen"

_state = {"said": False, "forced": False}


def watch(attached):
    """Wraps torch.compile; does nothing a second time. attached(): whether ops are recorded. Functions that were compiled before run
    as written from now on, where this release of PyTorch can do that."""
    if "torch._dynamo" in sys.modules:
        _force()
    original = torch.compile
    if hasattr(original, "_tapedeck_watches"):
        return

    @_engine.torch.without_frames
    @functools.wraps(original)
    def compile(*arguments, **named):
        if not attached():
            return original(*arguments, **named)
        if not _state["said"]:
            _state["said"] = True
            print(NOTICE, file=sys.stderr)
        if not _force():
            named["disable"] = True
        return original(*arguments, **named)

    compile._tapedeck_watches = True
    torch.compile = compile


def unwatch():
    """Functions are compiled again."""
    if _state["forced"]:
        _state["forced"] = False
        torch.compiler.set_stance("default")


def _force():
    """Whether this release can run functions as written that it compiles again later."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is None:
        return False
    if not _state["forced"]:
        set_stance("force_eager")
        _state["forced"] = True
    return True
