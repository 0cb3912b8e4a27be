"""L-BFGS: a quasi-Newton method that knows the curvature of its last steps.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, Algorithm 7.4 (two-loop recursion) and
Algorithm 7.5 (L-BFGS), with a fixed step length or a line search.
"""
import collections

from tapedeck import _engine
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._debugging import assertions as debugging
from tapedeck._gradients.tape import GradientTape
from tapedeck.train.line_search import Point, strong_wolfe
from tapedeck.train.updates import dense


@public("tfe.LBFGS", "train.LBFGS")
class LBFGS:
    """Minimises a loss over variables with full-batch L-BFGS.

        optimizer = tf.train.LBFGS(history_size=100)
        losses = optimizer.minimize(lambda: loss(model), [w], iterations=50)

    history_size: pairs (s, y) of step and change of gradient that are kept; s·y estimates the curvature.
    learning_rate: length of a step along the direction; the first step is shortened to at most 1 in the 1-norm.
    line_search: None for steps of that length; "strong_wolfe" for steps that satisfy the strong Wolfe conditions of c1 and c2, of
    which learning_rate is the first length tried (train/line_search.py): each takes more evaluations and none goes up.
    The panel Health shows the pairs: s·y, rho = 1 / s·y, the curvature s·y / s·s, and the step lengths.
    gradient_tolerance: stop where no gradient element is larger. change_tolerance: stop where neither the loss nor any
    element changes by more. What an iteration does depends on values: it reads a few numbers, and so waits for a GPU.
    Errors: ValueError for no history, another line_search, and c1 and c2 that are not 0 < c1 < c2 < 1.
    """

    def __init__(self, history_size=100, learning_rate=1.0, gradient_tolerance=1e-7, change_tolerance=1e-9, line_search=None,
                 c1=1e-4, c2=0.9):
        if history_size < 1:
            raise ValueError(f"LBFGS: history_size is {history_size}; at least 1 pair is needed")
        if line_search not in (None, "strong_wolfe"):
            raise ValueError(f"LBFGS: line_search is {line_search!r}; must be None or 'strong_wolfe'")
        if not 0 < c1 < c2 < 1:
            raise ValueError(f"LBFGS: c1 is {c1} and c2 is {c2}; needs 0 < c1 < c2 < 1")
        self.line_search, self.c1, self.c2 = line_search, c1, c2
        self.learning_rate = learning_rate
        self.gradient_tolerance = gradient_tolerance
        self.change_tolerance = change_tolerance
        self._pairs = collections.deque(maxlen=history_size)  # (s, y, 1 / s·y), oldest first
        self._scale = 1.0  # of the first guess of the inverse Hessian, y·s / y·y (equation 7.20)

    def minimize(self, loss, variables, iterations=50, callback=None):
        """Runs up to `iterations` iterations; returns the losses as floats, one per evaluation, the first before any step; with a
        line search one per iteration.

        loss: a function of no arguments that returns a scalar tensor. callback(iteration, loss) is called after every
        evaluation, with a line search after every iteration; where it returns False, the iterations end.
        """
        variables = list(variables)
        if self.line_search is not None:
            return self._minimize_by_search(loss, variables, iterations, callback)
        value, gradient = _evaluate(loss, variables)
        losses = [value]
        if callback and callback(0, value) is False:
            return losses
        previous = step = None
        for iteration in range(1, iterations + 1):
            if _largest(gradient) <= self.gradient_tolerance:
                break
            if previous is not None:
                self._remember(step, gradient - previous)
            direction = self._direction(gradient)
            if float(_dot(gradient, direction)) > -self.change_tolerance:
                break  # no longer downhill
            length = self._length(gradient, first=previous is None)
            debugging.health("L-BFGS/step length", length)
            step = direction * length
            previous = gradient
            _move(variables, step)
            if iteration == iterations:
                break
            value, gradient = _evaluate(loss, variables)
            losses.append(value)
            if callback and callback(iteration, value) is False:
                break
            if _largest(step) <= self.change_tolerance or abs(value - losses[-2]) < self.change_tolerance:
                break
        return losses

    def _minimize_by_search(self, loss, variables, iterations, callback):
        value, gradient = _evaluate(loss, variables)
        losses = [value]
        if callback and callback(0, value) is False:
            return losses
        for iteration in range(1, iterations + 1):
            if _largest(gradient) <= self.gradient_tolerance:
                break
            direction = self._direction(gradient)
            slope = float(_dot(gradient, direction))
            if slope > -self.change_tolerance:
                break  # no longer downhill
            start = Point(0.0, value, slope, gradient)
            line = _Line(loss, variables, direction)
            found = strong_wolfe(line, start, self._length(gradient, first=not self._pairs), self.c1, self.c2)
            line.keep(found.length)
            debugging.health("L-BFGS/step length", found.length)
            debugging.health("L-BFGS/evaluations", line.evaluations)
            if found is start:
                break  # no step of any length goes down
            step = direction * found.length
            self._remember(step, found.gradient - gradient)
            value, gradient = found.value, found.gradient
            losses.append(value)
            if callback and callback(iteration, value) is False:
                break
            if _largest(step) <= self.change_tolerance or abs(value - losses[-2]) < self.change_tolerance:
                break
        return losses

    def _length(self, gradient, first):
        if not first:
            return self.learning_rate
        return min(1.0, 1.0 / float(_op("reduce_sum")(abs(gradient)))) * self.learning_rate

    def _remember(self, step, change):
        curvature = float(_dot(change, step))
        self._tell(curvature, step)
        if curvature > 1e-10:  # else the pair would make the inverse Hessian indefinite
            self._pairs.append((step, change, 1.0 / curvature))
            self._scale = curvature / float(_dot(change, change))

    def _tell(self, curvature, step):
        """The newest pair, for the panel Health."""
        if not _engine.debug.attached():
            return
        square = float(_dot(step, step))
        debugging.health("L-BFGS/s·y", curvature)
        debugging.health("L-BFGS/rho", 1.0 / curvature if curvature else float("inf"))
        debugging.health("L-BFGS/curvature", curvature / square if square else float("nan"))
        debugging.health("L-BFGS/pairs", len(self._pairs))

    def _direction(self, gradient):
        """Algorithm 7.4: minus the inverse Hessian's estimate times the gradient."""
        q = -gradient
        weights = []
        for s, y, rho in reversed(self._pairs):
            weight = _dot(s, q) * rho
            weights.append(weight)
            q = _add_scaled(q, -weight, y)
        r = q * self._scale
        for (s, y, rho), weight in zip(self._pairs, reversed(weights)):
            r = _add_scaled(r, weight - _dot(y, r) * rho, s)
        return r


def _dot(a, b):
    return _op("dot")(a, b)


def _add_scaled(x, scale, y):
    return _op("axpby")(1.0, x, scale, y)


def _largest(vector):
    return float(_op("reduce_max")(abs(vector)))


def _evaluate(loss, variables):
    """The loss as a float, and its gradient with respect to all variables as one vector."""
    with GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, variables, unconnected_gradients="zero")
    flat = [_op("reshape")(dense(gradient, variable), [-1]) for gradient, variable in zip(gradients, variables)]
    return float(value), flat[0] if len(flat) == 1 else _op("concat")(flat, 0)


class _Line:
    """The loss along a direction from where the variables are. The variables stay at the point that was looked at last, or at
    another one's after keep()."""

    def __init__(self, loss, variables, direction):
        self._loss, self._variables, self._direction = loss, variables, direction
        self.evaluations = 0
        self._origin = [variable.read_value() for variable in variables]

    def __call__(self, length):
        self.keep(length)
        self.evaluations += 1
        value, gradient = _evaluate(self._loss, self._variables)
        return Point(length, value, float(_dot(gradient, self._direction)), gradient)

    def keep(self, length):
        for variable, value in zip(self._variables, self._origin):
            variable.assign(value)
        if length:
            _move(self._variables, self._direction * length)


def _move(variables, step):
    """Adds each variable's part of the step to it."""
    start = 0
    for variable in variables:
        count = variable.shape.num_elements()
        part = step if count == step.shape[0] else step[start:start + count]
        variable.assign_add(_op("reshape")(part, variable.shape))
        start += count
