"""Points of live curves: what Plots draws of scalars."""
from tapedeck import _engine

_written = set()
_first_writers = {}  # of each curve: the writer that wrote it first, by id


def curve_name(tag, writer):
    """The name of a tag's curve. Where a second writer has the same tag, as one for training and one for validation have, its
    curves are told apart by the name of its folder: "loss (validation)"."""
    if writer is None:
        return tag
    if _first_writers.setdefault(tag, id(writer)) == id(writer):
        return tag
    return f"{tag} ({writer.run_name})"


def add_point(name, step, value):
    """Adds the point (step, value) to the curve `name` of the notebook's plots. Without a session it does nothing."""
    _written.add(name)
    _engine.debug.add_scalar(name, int(step), float(value))


def take_written():
    """Names of the curves that got points since the last call. The session starts them anew when their cell runs again."""
    names = set(_written)
    _written.clear()
    return names
