"""A backend of tf.autograph for tests: every tensor counts as symbolic. Both branches are run, and that one counts that the predicate
chooses; loops run as often as their condition holds. What a graph demands of results is checked."""
import contextlib

import tapedeck as tf
from tapedeck._autograph import backend


def dtypes(tensors):
    return [each.dtype.name for each in tensors]


class EagerGraph(backend.Backend):
    """calls: what was asked of it, in order: "branch", "loop", "discarded"."""

    def __init__(self):
        self.calls = []

    def is_symbolic(self, value):
        return isinstance(value, tf.Tensor)

    def branch(self, predicate, true_fn, false_fn):
        self.calls.append("branch")
        assert predicate.dtype == tf.bool and predicate.shape == (), predicate
        results = true_fn(), false_fn()
        assert dtypes(results[0]) == dtypes(results[1]), results  # of shapes a graph knows what both have in common
        return list(results[not bool(predicate.numpy())])

    def loop(self, variables, condition, body, shapes=()):
        self.calls.append("loop")
        variables = list(variables)
        while bool(condition(*variables).numpy()):
            following = list(body(*variables))
            for before, after, shape in zip(variables, following, shapes or [None] * len(variables), strict=True):
                assert before.dtype == after.dtype, (following, variables)
                assert (before.shape if shape is None else shape).is_compatible_with(after.shape), (following, variables, shape)
            variables = following
        return variables

    def discarded(self, function, variables):
        self.calls.append("discarded")
        function(*variables)


@contextlib.contextmanager
def plugged_in():
    """Everything in the block runs with an EagerGraph, which is given."""
    graph = EagerGraph()
    before = backend.plug_in(graph)
    try:
        yield graph
    finally:
        backend.plug_in(before)
