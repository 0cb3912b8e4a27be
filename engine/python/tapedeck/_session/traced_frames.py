"""The frames of traced functions that run at a stop, or ran at a moment."""
from tapedeck import _engine

TRACED = " (traced)"

_debug = _engine.debug


def traced_frames(stop, moment=0):
    """Rows of debug._traced_frames: at a stop those of functions that run; at a moment those that ran."""
    if moment:
        return _debug._traced_frames(moment)
    return _debug._traced_frames(stop, True) if stop else []


def traced_count(stop, moment=0):
    return len(traced_frames(stop, moment))


def frame_rows(stop, moment=0):
    """As frames.frames gives them."""
    return [(function + TRACED, cell, "" if cell else file, line, True) for function, cell, file, line, _ in traced_frames(stop, moment)]
