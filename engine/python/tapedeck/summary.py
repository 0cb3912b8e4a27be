"""Points of live curves."""
from tapedeck import _engine


def scalar(name, value, step):
    """Adds the point (step, value) to the curve `name` of the notebook's plots. Without a session it does nothing."""
    _engine.debug.add_scalar(str(name), int(step), float(value))
