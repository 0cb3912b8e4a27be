"""A line search for steps that satisfy the strong Wolfe conditions.

Source: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, algorithms 3.5 (line search) and 3.6 (zoom), interpolation
by equation 3.59.
"""
import collections
import math

# Of a step length: the length, the loss there, its slope along the direction, and the gradient as a vector.
Point = collections.namedtuple("Point", ["length", "value", "slope", "gradient"])


def strong_wolfe(evaluate, start, first_length, c1=1e-4, c2=0.9, longest=1e10, evaluations=25):
    """The Point of a step length α for which

        f(α) ≤ f(0) + c1·α·f'(0)    and    |f'(α)| ≤ c2·|f'(0)|.

    evaluate(length): a Point; start: the Point of length 0, whose slope is below 0; first_length: the first length tried. Where as
    many evaluations find none, the lowest Point that decreases enough comes back, and `start` where none does.
    Errors: ValueError for a slope that is not below 0.
    """
    if not start.slope < 0:
        raise ValueError(f"strong_wolfe: the slope is {start.slope} at the start; needs a direction of descent")
    search = _Search(evaluate, start, c1, c2, evaluations)
    before, length = start, first_length
    for turn in range(evaluations):
        here = search.at(length)
        if not search.decreases(here) or (turn > 0 and here.value >= before.value):
            return search.zoom(before, here)
        if search.is_flat(here):
            return here
        if here.slope >= 0:
            return search.zoom(here, before)
        if length >= longest or search.left == 0:
            return here
        before, length = here, min(longest, 2.0 * length)
    return search.best


class _Search:
    """One line search: what it has seen, and how often it may look."""

    def __init__(self, evaluate, start, c1, c2, evaluations):
        self.evaluate, self.start, self.c1, self.c2, self.left = evaluate, start, c1, c2, evaluations
        self.best = start

    def at(self, length):
        self.left -= 1
        point = self.evaluate(length)
        if self.decreases(point) and point.value < self.best.value:
            self.best = point
        return point

    def decreases(self, point):
        """Sufficient decrease, equation 3.7a; not of NaN."""
        return point.value <= self.start.value + self.c1 * point.length * self.start.slope

    def is_flat(self, point):
        """The curvature condition, equation 3.7b."""
        return abs(point.slope) <= -self.c2 * self.start.slope

    def zoom(self, low, high):
        """Algorithm 3.6. low decreases enough, and has the lowest value so far; its slope points to high."""
        while self.left > 0:
            width = abs(high.length - low.length)
            if width <= 1e-16 * max(1.0, abs(low.length)):
                break
            here = self.at(_between(low, high))
            if not self.decreases(here) or here.value >= low.value:
                high = here
                continue
            if self.is_flat(here):
                return here
            if here.slope * (high.length - low.length) >= 0:
                high = low
            low = here
        return self.best


def _between(low, high):
    """The minimum of the cubic through both points (equation 3.59), or their middle where that is near an end or no number."""
    middle, width = 0.5 * (low.length + high.length), high.length - low.length
    if not (math.isfinite(high.value) and math.isfinite(high.slope)):
        return low.length + 0.1 * width
    first = low.slope + high.slope - 3.0 * (low.value - high.value) / (low.length - high.length)
    square = first * first - low.slope * high.slope
    if square < 0:
        return middle
    second = math.copysign(math.sqrt(square), width)
    denominator = high.slope - low.slope + 2.0 * second
    if denominator == 0:
        return middle
    length = high.length - width * (high.slope + second - first) / denominator
    inside = abs(length - low.length) >= 0.05 * abs(width) and abs(length - high.length) >= 0.05 * abs(width)
    return length if inside and min(low.length, high.length) < length < max(low.length, high.length) else middle
