"""Arguments of data sets' methods."""
import os

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.data.graph_stages import Late

AUTOTUNE = public("data.AUTOTUNE", "data.experimental.AUTOTUNE")(-1)


def number(value, function, argument, least=None):
    """An integer from what may be a tensor. TypeError for another value, InvalidArgumentError below least."""
    try:
        if isinstance(value, (bool, float)):
            raise TypeError
        whole = value.__index__() if hasattr(value, "__index__") else int(value)
    except (TypeError, ValueError):
        raise TypeError(f"{function}: {argument} is {value!r}; needs an integer") from None
    if least is not None and whole < least:
        raise _engine.InvalidArgumentError(f"{function}: {argument} is {whole}; must be at least {least}")
    return whole


def late_number(value, function, argument, least=None):
    """number(); of a tensor of a graph, whose value a run knows, what then is one."""
    if isinstance(value, _engine.Tensor) and _engine.is_symbolic(value) and _engine.known_value(value) is None:
        return Late(value, lambda known: number(known, function, argument, least))
    return number(value, function, argument, least)


def threads_of(count, function):
    """How many a stage gets, of num_parallel_calls; 0 for none of its own."""
    if count is None:
        return 0
    count = number(count, function, "num_parallel_calls", -1)
    if count == 0:
        raise _engine.InvalidArgumentError(f"{function}: num_parallel_calls is 0; needs AUTOTUNE or at least 1")
    return max(2, min(len(os.sched_getaffinity(0)), 16)) if count == AUTOTUNE else min(count, 256)
