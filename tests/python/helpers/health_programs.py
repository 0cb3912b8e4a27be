"""Programs for the tests of Health's rules, and what Health says of what ran."""
import os
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine


class Program:
    """A small classifier of two layers; each fault is a change of one of its lines."""

    def __init__(self, seed=0):
        random = np.random.RandomState(seed)
        self.x = random.randn(64, 8).astype(np.float32)
        self.labels = (self.x[:, 0] + self.x[:, 1] > 0).astype(np.int32)
        self.w1 = tf.Variable((0.4 * random.randn(8, 16)).astype(np.float32), name="w1")
        self.w2 = tf.Variable((0.4 * random.randn(16, 2)).astype(np.float32), name="w2")
        self.random = random

    def logits(self):
        return tf.matmul(tf.nn.relu(tf.matmul(tf.constant(self.x), self.w1)), self.w2)

    def loss(self):
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.labels, logits=self.logits()))

    def train(self, steps=60, rate=lambda step: 0.1, loss=None, variables=None):
        variables = variables or [self.w1, self.w2]
        for step in range(steps):
            with tf.GradientTape() as tape:
                value = (loss or self.loss)()
            for variable, gradient in zip(variables, tape.gradient(value, variables)):
                if gradient is not None:
                    variable.assign_sub(rate(step) * gradient)
        return float(value)


def descend(loss, variables, steps=40, rate=0.1, optimizer=None):
    """loss: a function of the step. Returns the last one."""
    optimizer = optimizer or tf.keras.optimizers.SGD(rate)
    for step in range(steps):
        with tf.GradientTape() as tape:
            value = loss(step)
        optimizer.apply_gradients(zip(tape.gradient(value, variables), variables))
    return float(value)


class HealthOfPrograms(unittest.TestCase):
    def setUp(self):
        tf.random.set_seed(1)
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)

    def findings(self, steps=60):
        found = _engine.debug.health_findings(steps)
        if os.environ.get("TAPEDECK_SHOW"):
            print("----", self.id().rsplit(".", 1)[1])
            for each in found:
                print("   ", each["severity"], each["rule"], "|", each["sentence"], "->", each["cure"])
        return found

    def rules(self, steps=60):
        return [each["rule"] for each in self.findings(steps)]

    def the(self, rule):
        """The one finding of that rule; its op, its line and its cure are there."""
        found = [each for each in self.findings() if each["rule"] == rule]
        self.assertEqual(len(found), 1, found)
        self.assertGreater(found[0]["record"], 0)
        self.assertGreater(found[0]["line"], 0)
        self.assertTrue(found[0]["op"] and found[0]["cure"])
        return found[0]
