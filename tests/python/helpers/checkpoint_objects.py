"""Small trackable classes, as layers, optimisers and iterators are, for the tests of checkpoints."""
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf
from tapedeck._core.trackable import Trackable


class Dense(tf.Module):
    """Its variables are made at the first call, from a restoration where one waits."""

    def __init__(self, units):
        super().__init__()
        self.units = units
        self.kernel = None
        self.initialized = 0

    def add(self, name, shape):
        value = self._restored_value(name, shape, tf.float32)
        if value is None:
            self.initialized += 1
            value = tf.random.normal(shape)
        return tf.Variable(value, name=name)

    def __call__(self, x):
        if self.kernel is None:
            self.kernel = self.add("kernel", (x.shape[-1], self.units))
            self.bias = self.add("bias", (self.units,))
        return x @ self.kernel + self.bias


class Network(tf.Module):
    def __init__(self, *units):
        super().__init__()
        self.layers = [Dense(each) for each in units]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Momentum(Trackable):
    """An optimiser with a counter and one slot for each variable, made at its first update."""

    def __init__(self):
        self.iterations = tf.Variable(0, dtype=tf.int64, trainable=False, name="iterations")
        self.momenta = {}  # is no child: keyed by variables' references
        vars(self)["momenta"] = {}

    def _slots(self):
        return [(reference.deref(), "momentum", slot) for reference, slot in self.momenta.items()]

    def apply(self, gradients, variables):
        self.iterations.assign_add(1)
        for gradient, variable in zip(gradients, variables):
            if variable.ref() not in self.momenta:
                value = self._restored_slot(variable, "momentum")
                self.momenta[variable.ref()] = tf.Variable(tf.zeros_like(variable) if value is None else value)
            slot = self.momenta[variable.ref()]
            slot.assign(.9 * slot + gradient)
            variable.assign_sub(.1 * slot)

    def minimize(self, loss, variables):
        with tf.GradientTape() as tape:
            value = loss()
        self.apply(tape.gradient(value, variables), variables)


class Counter(Trackable):
    """An iterator: its state is its own."""

    def __init__(self):
        self.place, self.buffer, self.refuses = 0, np.zeros(2, np.float32), False

    def __next__(self):
        self.place += 1
        self.buffer = self.buffer + self.place
        return self.place

    def _own_state(self):
        return {"place": self.place, "note": ["text", {"nested": None}], "buffer": tf.constant(self.buffer)}

    def _set_own_state(self, state):
        place, buffer = state.get("place"), state.get("buffer")
        known = type(place) is int and getattr(buffer, "shape", None) == (2,) and state.get("note") == ["text", {"nested": None}]
        if self.refuses or not known:
            raise ValueError("this iterator does not take that")
        self.place, self.buffer = place, buffer.numpy()


def values(thing):
    return [variable.numpy() for variable in thing.variables]


X = tf.constant(np.random.RandomState(0).randn(5, 4).astype(np.float32))


class InFolder(unittest.TestCase):
    def setUp(self):
        tf.random.set_seed(7)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "ckpt")

    def same(self, one, other):
        one, other = values(one), values(other)
        self.assertEqual(len(one), len(other))
        for a, b in zip(one, other):
            np.testing.assert_array_equal(a, b)
