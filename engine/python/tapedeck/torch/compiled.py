"""torch.compile while ops are recorded: what it is given runs as it is written, because a fused kernel shows none of its ops."""
import functools
import gc
import sys

import torch

from tapedeck import _engine

NOTICE = "tapedeck: torch.compile: compiled functions run as written while ops are recorded, so that each op can be seen"
NOTICE_BEFORE = ("tapedeck: torch.compile: functions that were compiled before ops are recorded run as this release of PyTorch compiled "
                 "them; ops inside may have no records")

_state = {"said": False, "forced": False, "stance": None}


def watch(attached):
    """Wraps torch.compile; does nothing a second time. attached(): whether ops are recorded. Functions that were compiled before run
    as written from now on, where this release of PyTorch can do that."""
    if "torch._dynamo" in sys.modules:
        forced = _force()
        if _has_compiled():
            _say(NOTICE if forced else NOTICE_BEFORE)
    original = torch.compile
    if hasattr(original, "_tapedeck_watches"):
        return

    @_engine.torch.without_frames
    @functools.wraps(original)
    def compile(*arguments, **named):
        if not attached():
            return original(*arguments, **named)
        _say(NOTICE)
        if not _force():
            named["disable"] = True
        return original(*arguments, **named)

    compile._tapedeck_watches = True
    torch.compile = compile


def _has_compiled():
    """Whether the program may have compiled functions so far. Optimisers also import torch._dynamo, where nothing is compiled."""
    frames = _frames()
    known = getattr(frames, "cached_backends", None)  # None for its own functions, which run as written
    if known is not None:
        return any(backend is not None for backend in known.values())
    context = getattr(frames, "OptimizeContext", None)  # one for each compiled function
    return context is None or any(isinstance(one, context) for one in gc.get_objects())


def _say(notice):
    if not _state["said"]:
        _state["said"] = True
        print(notice, file=sys.stderr)


def unwatch():
    """Functions are compiled again."""
    if _state["forced"]:
        _state["forced"] = False
        set_stance, before = getattr(_frames(), "_set_stance", None), _state["stance"]
        if set_stance is not None and before is not None:
            set_stance(before)
        else:
            torch.compiler.set_stance("default")


def _force():
    """Whether this release can run functions as written that it compiles again later."""
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is None:
        return False
    if not _state["forced"]:
        _state["stance"] = getattr(_frames(), "_stance", None)  # the program may have set one
        set_stance("force_eager")
        _state["forced"] = True
    return True


def _frames():
    """Torch's own module of stances, where it has been imported."""
    return sys.modules.get("torch._dynamo.eval_frame")
