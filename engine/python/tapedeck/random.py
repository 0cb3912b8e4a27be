"""Random numbers. The functions come from the registry; this adds the seed."""
from tapedeck import _engine


def set_seed(seed):
    """Makes the random ops that follow give the same numbers on every run."""
    _engine.set_random_seed(int(seed))
