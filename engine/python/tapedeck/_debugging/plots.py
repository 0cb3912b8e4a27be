"""tf.debugging.plot: curves over whatever the program puts on their x axis."""
import numpy as np

from tapedeck import _engine
from tapedeck._core.arguments import array, number
from tapedeck._core.public import public
from tapedeck.summary import curves


@public("debugging.plot", in_errors=True)
def plot(name, y, x=None, x_name=None):
    """Draws a curve of the notebook's plots over x values of your own.

        ts = np.linspace(-2., 2., 41)
        tf.debugging.plot("loss along the line", [loss_at(t) for t in ts], ts, x_name="t")
        tf.debugging.plot("loss", loss, learning_rate, x_name="learning rate")   # one more point

    name: the curve's; each cell that uses it has its own. y: numbers, (n,), which replace the cell's curve; or one number, which
    is added to it. x: as many numbers, finite; without it a list is drawn over its indices, 0 to n - 1. x_name: what x is, the
    title of the axis: "x" unless you say otherwise, "index" where there is no x.
    Without a session it does nothing.
    Errors: InvalidArgumentError (a ValueError) where x and y are not as many, an x is not finite, one number has no x, or a
    name is not a string.
    """
    for argument, value in (("name", name), ("x_name", "x" if x_name is None else x_name)):
        if not isinstance(value, str) or not value:
            raise _engine.InvalidArgumentError(f"plot: {argument} is {value!r}; must be a non-empty string")
    if not _engine.debug.attached():
        return
    values = _numbers(y, "y")
    if x is None and not values.shape:
        raise _engine.InvalidArgumentError("plot: y is one number and there is no x to draw it at; "
                                           "tf.summary.scalar(name, y, step) adds points over steps")
    xs = np.arange(float(values.size)) if x is None else _numbers(x, "x")
    if xs.shape != values.shape:
        raise _engine.InvalidArgumentError(f"plot: x has shape {xs.shape} and y {values.shape}; must have as many numbers")
    if not np.isfinite(xs).all():
        place = int(np.flatnonzero(~np.isfinite(xs.reshape(-1)))[0])
        raise _engine.InvalidArgumentError(f"plot: x[{place}] is {xs.reshape(-1)[place]}; must be finite")
    axis = x_name or ("index" if x is None else "x")
    if values.shape:
        curves.add_curve(name, xs, values, axis)
    else:
        curves.add_point(name, float(xs), float(values), axis)


def _numbers(value, argument):
    """One number or a row of numbers, float64."""
    if isinstance(value, (list, tuple)):
        value = [number(item, argument) for item in value]  # also tensors of one element
    numbers = array(value, argument, np.float64)
    if numbers.ndim > 1:
        raise _engine.InvalidArgumentError(f"plot: {argument} has shape {numbers.shape}; must be numbers in a row, or one number")
    return numbers
