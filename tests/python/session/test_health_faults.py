"""Programs with a fault each, trained, and what Health says of them: what is there, and nothing that is not."""
import unittest

import numpy as np

from health_programs import HealthOfPrograms, Program
import tapedeck as tf


class HealthOfFaultsTest(HealthOfPrograms):
    def test_a_healthy_program_has_no_findings(self):
        program = Program()
        program.train(80)
        self.assertEqual(self.rules(), [])

    def test_labels_shuffled(self):
        program = Program()

        def loss():
            labels = program.random.permutation(program.labels)
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=program.logits()))
        program.train(loss=loss)
        self.assertLessEqual(set(self.rules()), {"loss", "loss at chance"})

    def test_nan_behind_where(self):
        program = Program()
        x = tf.constant(np.concatenate([[0.], np.linspace(-1, 1, 63)]).astype(np.float32))
        scale = tf.Variable(1., name="scale")

        def loss():
            inner = x * scale
            return tf.reduce_mean(tf.where(inner > 0., tf.sqrt(inner), tf.zeros_like(inner)))
        program.train(20, loss=loss, variables=[scale])
        (found,) = self.findings()
        self.assertEqual(found["rule"], "not finite")
        self.assertIn("at step 1", found["sentence"])

    def test_a_growing_learning_rate(self):
        program = Program()
        program.train(60, rate=lambda step: 0.05 * 1.25 ** step)
        found = self.findings()
        rules = [each["rule"] for each in found]
        self.assertEqual(rules[:2], ["learning rate", "exploding gradient"])
        self.assertLess(rules.index("large updates"), rules.index("not finite"))
        self.assertIn("loss", rules)
        # Behind the NaN relu's gradient is 0: no layer died of that.
        self.assertNotIn("no learning", rules)

    def test_a_value_that_numpy_took(self):
        program = Program()
        scale = tf.Variable(1., name="scale")

        def loss():
            return program.loss() * scale.numpy()
        program.train(30, loss=loss, variables=[program.w1, program.w2, scale])
        (found,) = self.findings()
        self.assertEqual(found["rule"], "no gradient")
        self.assertIn("Python or NumPy read scale", found["sentence"])

    def recurrent(self, update):
        random = np.random.RandomState(0)
        w = tf.Variable(random.randn(16, 16).astype(np.float32), name="recurrent")
        u = tf.Variable((0.3 * random.randn(4, 16)).astype(np.float32), name="input")
        x, y = random.randn(20, 8, 4).astype(np.float32), random.randn(8, 16).astype(np.float32)
        for _ in range(12):
            with tf.GradientTape() as tape:
                h = tf.zeros([8, 16])
                for t in range(20):
                    h = tf.matmul(h, w) + tf.matmul(x[t], u)
                loss = tf.reduce_mean(tf.square(h - y))
            update(zip(tape.gradient(loss, [w, u]), [w, u]))

    def test_an_exploding_recurrence(self):
        self.recurrent(tf.train.GradientDescentOptimizer(1e-3).apply_gradients)
        found = self.findings()
        self.assertEqual(found[0]["rule"], "exploding gradient")
        self.assertRegex(found[0]["sentence"], r"^recurrent: its gradient's norm is .* at step 1; its square is beyond float32")
        self.assertIn("not finite", [each["rule"] for each in found])

    def test_an_exploding_recurrence_with_adam(self):
        self.recurrent(tf.train.AdamOptimizer(1e-3).apply_gradients)
        found = self.findings()
        self.assertEqual((found[0]["rule"], found[0]["severity"]), ("exploding gradient", "error"))
        for each in found:
            self.assertNotRegex(each["sentence"] + each["cure"], "exactly 0|learning rate of 0|fallen to 0")

    def test_l_bfgs_with_a_wrong_sign(self):
        w = tf.Variable(tf.constant([3., -2., 1.], tf.float64), name="w")
        scale = tf.constant([1., 10., 4.], tf.float64)

        def evaluate():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(w * w * scale)
            return tape.gradient(loss, w)
        gradient, pairs = evaluate(), []
        for _ in range(6):
            q = tf.identity(gradient)
            for s, y, rho in reversed(pairs):
                q = q - rho * tf.tensordot(s, q, 1) * y
            direction = -q
            tf.debugging.health("mine/d·g", tf.tensordot(direction, gradient, 1))
            step = 0.02 * direction
            w.assign_add(step)
            new = evaluate()
            change = new - gradient
            product = tf.tensordot(step, change, 1)
            rho = -1. / product  # the fault
            tf.debugging.health("mine/s·y", product)
            tf.debugging.health("mine/rho", rho)
            pairs.append((step, change, rho))
            gradient = new
        found = self.findings()
        self.assertEqual(found[0]["rule"], "rho not 1 / s·y")
        self.assertIn("rho has the wrong sign", found[0]["sentence"])
        self.assertFalse([each for each in found if "curves down" in each["sentence"]])


if __name__ == "__main__":
    unittest.main()
