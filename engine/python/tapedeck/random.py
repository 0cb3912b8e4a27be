"""Random numbers. The functions come from the registry; this adds the seed."""
from tapedeck import _engine


def set_seed(seed):
    """Makes the random ops that follow give the same numbers on every run; None ends that."""
    _engine.set_random_seed(None if seed is None else int(seed))
