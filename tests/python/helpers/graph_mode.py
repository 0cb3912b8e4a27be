"""Tests of tf.function whose functions are traced."""
import contextlib
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine


@contextlib.contextmanager
def graphs():
    """Inside, tf.functions are traced."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(False)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


@contextlib.contextmanager
def fusing(elements):
    """Inside, chains of elementwise ops run as one loop from so many elements on."""
    before = _engine.least_fused()
    _engine.set_least_fused(elements)
    try:
        yield
    finally:
        _engine.set_least_fused(before)


class GraphCase(unittest.TestCase):
    """Each test runs with functions that are traced."""

    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def assertSame(self, one, other):
        """Both have the same form, dtypes, shapes and bits."""
        tf.nest.assert_same_structure(one, other)
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            if a is None or b is None:
                self.assertIs(a, b)
                continue
            self.assertEqual((a.dtype, tuple(a.shape)), (b.dtype, tuple(b.shape)))
            left, right = np.asarray(a), np.asarray(b)
            if left.dtype == object:
                self.assertEqual(left.tolist(), right.tolist())
            else:
                self.assertEqual(left.tobytes(), right.tobytes(), f"{left} and {right}")

    def assertAsEager(self, function, *args, **options):
        """The graph of function(*args) gives twice what the function gives. Returns: the tf.function."""
        made = tf.function(function, **options)
        for _ in range(2):
            self.assertSame(function(*args), made(*args))
        self.assertEqual(made.experimental_get_tracing_count(), 1)
        return made
