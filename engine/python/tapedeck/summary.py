"""Points of live curves."""
from tapedeck import _engine

_written = set()


def scalar(name, value, step):
    """Adds the point (step, value) to the curve `name` of the notebook's plots. Without a session it does nothing."""
    _written.add(str(name))
    _engine.debug.add_scalar(str(name), int(step), float(value))


def take_written():
    """Names of the curves that got points since the last call. The session starts them anew when their cell runs again."""
    names = set(_written)
    _written.clear()
    return names
