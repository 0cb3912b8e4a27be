"""What Plots draws of summaries: points of live curves, histograms and images."""
import binascii
import warnings

import numpy as np

from tapedeck import _engine
from tapedeck.summary import values

MOST_POINTS = 20_000  # of a curve that is a list; longer ones are thinned out evenly

_written = set()
_first_writers = {}  # of each curve: the writer that wrote it first, by id


def curve_name(tag, writer):
    """The name of a tag's curve. Where a second writer has the same tag, as one for training and one for validation have, its
    curves are distinguished by the name of its folder: "loss (validation)"."""
    if writer is None:
        return tag
    if _first_writers.setdefault(tag, id(writer)) == id(writer):
        return tag
    return f"{tag} ({writer.run_name})"


def add_point(name, step, value, x="step"):
    """Adds the point (step, value) to the curve `name` of the notebook's plots. x: what the step is, the name of the axis. Without
    a session it does nothing."""
    _written.add(name)
    if x == "step":
        _engine.debug.add_scalar(name, int(step), float(value))
    else:
        _engine.debug.add_scalar(name, float(step), float(value), x)


def add_curve(name, xs, values, x):
    """Draws the numbers over xs as the curve `name`, in place of what it was. x: the name of its axis."""
    _written.add(name)
    _engine.debug.restart_series(name)
    for index in thinned(len(values)):
        _engine.debug.add_scalar(name, float(xs[index]), float(values[index]), x)


def thinned(count):
    """Indices of `count` points, or of MOST_POINTS of them at even distances."""
    return range(0, count, max(1, -(-count // MOST_POINTS)))


def drawing():
    """Whether a recorder is attached: without a session histograms and images need not be made."""
    return _engine.debug.attached()


def add_histogram(name, step, data, buckets):
    """Adds a histogram of all finite values of the array data to the notebook's plots, and how many others there are: with those
    past 1e300, whose differences are not finite. Returns what values.buckets gives of data where none are, else None."""
    data = np.asarray(data, np.float64).reshape(-1)
    finite = data[np.abs(data) <= 1e300]
    counted = values.buckets(finite, buckets) if finite.size else finite.reshape(0, 3)
    if not data.size or not buckets:
        return None
    limits = [*counted[:, 0].tolist(), *counted[-1:, 1].tolist()]
    _written.add(name)
    if not _engine.debug.add_histogram(name, int(step), limits, counted[:, 2].tolist(), data.size - finite.size):
        _left_out("histogram", name, step)
    return counted if finite.size == data.size else None


def add_images(name, step, width, height, pngs):
    """Adds images of one size, each the bytes of a PNG, to the notebook's plots."""
    if not pngs or not width or not height:
        return
    _written.add(name)
    texts = [binascii.b2a_base64(png, newline=False).decode() for png in pngs]
    if not _engine.debug.add_images(name, int(step), int(width), int(height), texts):
        _left_out("image", name, step)


def _left_out(function, name, step):
    warnings.warn(f"{function}: what {name!r} has at step {step} is too large for Plots, which keeps at most 4 MiB of one step; "
                  f"files get it", stacklevel=4)


def take_written():
    """Names of the curves, histograms and images that got something since the last call. The session starts them anew when their
    cell runs again."""
    names = set(_written)
    _written.clear()
    return names
