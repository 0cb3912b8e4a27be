"""Tracebacks of errors while functions are traced: the user's frames, without those of this package in between."""
import os
import traceback
import types

from tapedeck import _engine
from tapedeck._core.public import public

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_AUTOGRAPH = os.path.join(_PACKAGE, "_autograph") + os.sep
_filters = True


@public("debugging.enable_traceback_filtering")
def enable_traceback_filtering():
    """Errors while a function is traced show the user's frames alone, as they do at the start."""
    global _filters
    _filters = True


@public("debugging.disable_traceback_filtering")
def disable_traceback_filtering():
    """Errors while a function is traced show this package's frames, too."""
    global _filters
    _filters = False


@public("debugging.is_traceback_filtering_enabled")
def is_traceback_filtering_enabled():
    """Whether errors while a function is traced show the user's frames alone: True at the start."""
    return _filters


def users_frames(first):
    """The traceback without this package's frames; the whole one where it has no others, or nothing is filtered."""
    if not _filters:
        return first
    frames, each = [], first
    while each is not None:
        if not each.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(each)
        each = each.tb_next
    made = None
    for each in reversed(frames):
        made = types.TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made or first


def is_beyond_graphs(error, specs):
    """Whether a function of the user's failed to be traced because a function of this package, which it calls, does not run in graphs:
    it reads values, or (specs: those of the arguments) takes no unknown extents. Eagerly it runs."""
    shapes = [spec.shape for spec in specs if hasattr(spec, "shape")]
    is_open = any(shape is None or None in tuple(shape) for shape in shapes)
    kinds = (_engine.OperatorNotAllowedInGraphError, *((TypeError, ValueError) if is_open else ()))
    if not isinstance(error, kinds) or isinstance(error, _engine.UnimplementedError) or _engine.is_tracing():
        return False
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [file.startswith(_PACKAGE) for file in files if not file.startswith(_AUTOGRAPH)]  # that one calls for the user's code
    return not all(ours) and ours[-1]


def warn_of_eager(name, error):
    """Says that a function runs eagerly, and what kept it from being traced."""
    from tapedeck.logging import get_logger  # what tf.logging needs is loaded when something is said
    reason = str(error).split(", which the tensor", 1)[0]  # what follows is advice for code of the user's own
    get_logger().warning("%s runs eagerly, op by op: it calls what graphs do not have yet (%s)", name, reason)
