"""Tracebacks of errors while functions are traced: the user's frames, without those of this package in between."""
import os
import types

from tapedeck._core.public import public

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
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


def users_frames(traceback):
    """The traceback without this package's frames; the whole one where it has no others, or nothing is filtered."""
    if not _filters:
        return traceback
    frames, each = [], traceback
    while each is not None:
        if not each.tb_frame.f_code.co_filename.startswith(_PACKAGE):
            frames.append(each)
        each = each.tb_next
    made = None
    for each in reversed(frames):
        made = types.TracebackType(made, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return made or traceback
