"""Programs whose updates, shares or masks are wrong, and what Health says; beside each a healthy one like it."""
import unittest

import numpy as np
from health_programs import HealthOfPrograms, Program, descend

import tapedeck as tf


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


class Line:
    """A linear regression; `update` takes the step, the variable and its gradient."""

    def __init__(self):
        self.x = numbers(64, 8)
        self.y = self.x @ numbers(8, 1, seed=1)
        self.w = tf.Variable(.3 * numbers(8, 1, seed=2), name="w")

    def train(self, update, steps=30):
        for step in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(self.x, self.w) - self.y))
            update(step, self.w, tape.gradient(loss, self.w))


class HealthOfUpdateFaultsTest(HealthOfPrograms):
    def nothing(self):
        self.assertEqual([(each["rule"], each["sentence"]) for each in self.findings(24)], [])

    # ---- gradients of earlier steps

    def test_a_sum_of_gradients_that_never_begins_anew(self):
        total = [tf.zeros([8, 1])]

        def update(step, w, gradient):
            total[0] = total[0] + gradient
            w.assign_sub(.02 * total[0])
        Line().train(update)
        found = self.the("gradients added up")
        self.assertEqual(found["op"], "add")
        self.assertIn("adds the gradient of w to those of the steps before", found["sentence"])
        self.assertRegex(found["sentence"], r"At step 30 it has the gradients of 30 steps, and is [0-9.]+ times as large")

    def test_a_sum_in_a_variable(self):
        total = tf.Variable(tf.zeros([8, 1]), name="total")

        def update(step, w, gradient):
            total.assign_add(gradient)
            w.assign_sub(.02 * total)
        Line().train(update)
        self.assertIn("the gradients of 30 steps", self.the("gradients added up")["sentence"])

    def test_a_sum_that_an_optimiser_takes(self):
        total, optimizer = [tf.zeros([8, 1])], tf.keras.optimizers.SGD(.02)

        def update(step, w, gradient):
            total[0] = total[0] + gradient
            optimizer.apply_gradients([(total[0], w)])
        Line().train(update)
        self.the("gradients added up")

    def test_sums_of_several_batches_begin_anew(self):
        line = Line()
        for _ in range(24):
            total = tf.zeros([8, 1])
            for begin in range(0, 64, 16):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(tf.matmul(line.x[begin:begin + 16], line.w) - line.y[begin:begin + 16]))
                total = total + tape.gradient(loss, line.w)
            line.w.assign_sub(.02 * total)
        self.assertNotIn("gradients added up", self.rules(24))

    def test_momentum_forgets(self):
        speed = [tf.zeros([8, 1])]

        def update(step, w, gradient):
            speed[0] = .9 * speed[0] + gradient
            w.assign_sub(.01 * speed[0])
        Line().train(update)
        self.nothing()

    def test_a_variable_and_its_own_gradient_are_no_sum(self):
        Line().train(lambda step, w, gradient: w.assign(w + -.05 * gradient))
        self.nothing()

    def test_a_sum_that_is_only_watched(self):
        total = [tf.zeros([8, 1])]

        def update(step, w, gradient):
            total[0] = total[0] + gradient
            w.assign_sub(.05 * gradient)
        Line().train(update)
        self.nothing()

    # ---- which way a step goes

    def test_steps_that_go_up_the_gradient(self):
        Line().train(lambda step, w, gradient: w.assign_add(.01 * gradient))
        (found,) = [each for each in self.findings() if each["rule"] == "loss"]
        self.assertIn("The loss rises", found["sentence"])
        self.assertIn("The updates of w", found["sentence"])
        self.assertIn("go up the gradient: the change and the gradient have a cosine of 1 ", found["sentence"])
        self.assertEqual(found["op"], "add")
        self.assertIn("assign_sub", found["cure"])

    def test_a_loss_that_rises_for_another_reason_goes_down_the_gradient(self):
        Line().train(lambda step, w, gradient: w.assign_sub(1.5 * gradient))
        for each in self.findings():
            self.assertNotIn("go up the gradient", each["sentence"])

    # ---- updates of zero

    def test_a_clip_of_zero(self):
        clip = 5 // 10

        def update(step, w, gradient):
            (clipped,), _ = tf.clip_by_global_norm([gradient], clip)
            w.assign_sub(.1 * clipped)
        Line().train(update)
        found = self.the("no learning")
        self.assertRegex(found["sentence"], r"At step 1 its update is 0, for the operand \w+ of \w+ \(op [\d,]+, line \d+\) is 0, "
                                            "a constant from Python")

    def test_a_learning_rate_of_zero(self):
        optimizer = tf.keras.optimizers.SGD(0.)
        Line().train(lambda step, w, gradient: optimizer.apply_gradients([(gradient, w)]))
        self.assertIn("its update is 0, for the operand learning_rate of gradient_descent", self.the("no learning")["sentence"])

    # ---- one variable several times

    def test_a_list_of_one_variable(self):
        x, y = numbers(64, 8), np.tanh(numbers(64, 1, seed=1))
        hidden, out = [tf.Variable(.4 * numbers(8, 8, seed=2), name="hidden")] * 3, tf.Variable(.4 * numbers(8, 1, seed=3), name="out")
        for _ in range(30):
            with tf.GradientTape() as tape:
                h = tf.constant(x)
                for w in hidden:
                    h = tf.nn.tanh(tf.matmul(h, w))
                loss = tf.reduce_mean(tf.square(tf.matmul(h, out) - y))
            variables = [*hidden, out]
            for variable, gradient in zip(variables, tape.gradient(loss, variables)):
                variable.assign_sub(.05 * gradient)
        found = self.the("same variable listed twice")
        self.assertIn("is asked for hidden (8, 8) 3 times", found["sentence"])
        self.assertIn("a step updates it 3 times with the same gradient", found["sentence"])

    def test_layers_that_share_a_variable(self):
        x, y = numbers(64, 8), np.tanh(numbers(64, 1, seed=1))
        hidden, out = tf.Variable(.4 * numbers(8, 8, seed=2), name="hidden"), tf.Variable(.4 * numbers(8, 1, seed=3), name="out")

        def loss(step):
            h = tf.constant(x)
            for _ in range(3):
                h = tf.nn.tanh(tf.matmul(h, hidden))
            return tf.reduce_mean(tf.square(tf.matmul(h, out) - y))
        descend(loss, [hidden, out], 30, .05)
        self.nothing()

    # ---- shares and masks

    def classify(self, axis):
        x = numbers(60, 6)
        targets = tf.constant(np.eye(3, dtype=np.float32)[np.argmax(x[:, :3], 1)])
        w = tf.Variable(.3 * numbers(6, 3, seed=1), name="w")

        def loss(step):
            shares = tf.nn.softmax(tf.matmul(tf.constant(x), w), axis=axis)
            return -tf.reduce_mean(tf.reduce_sum(targets * tf.math.log(shares), -1))
        descend(loss, [w], 30, .5)

    def test_a_softmax_over_the_examples(self):
        self.classify(0)
        found = self.the("softmax over examples")
        self.assertEqual((found["severity"], found["op"]), ("error", "softmax"))
        self.assertIn("softmax (line", found["sentence"])
        self.assertIn("of (60, 3) is along axis 0, the 60 examples, where the labels name one of 3 classes on axis 1",
                      found["sentence"])
        self.assertRegex(found["sentence"], r"3 probabilities add up to 0\.0\d+ to [0-9.]+ \(step 1\), not to 1")

    def test_a_softmax_over_the_classes(self):
        self.classify(-1)
        self.nothing()

    def attend(self, hidden):
        x = numbers(16, 6, 4)
        y = np.cumsum(x, 1) / np.arange(1, 7)[None, :, None].astype(np.float32)
        q, k, v = (tf.Variable(.5 * numbers(4, 4, seed=seed), name=name) for seed, name in enumerate("qkv"))

        def loss(step):
            scores = tf.matmul(tf.matmul(x, q), tf.matmul(x, k), transpose_b=True) / 2.
            return tf.reduce_mean(tf.square(tf.matmul(tf.nn.softmax(scores - 1e9 * hidden), tf.matmul(x, v)) - y))
        descend(loss, [q, k, v], 30, .2)

    def test_a_mask_the_wrong_way_round(self):
        self.attend(np.tril(np.ones([6, 6], np.float32)))
        found = self.the("inverted mask")
        self.assertEqual(found["op"], "softmax")
        self.assertIn("each position attends to later positions only", found["sentence"])
        self.assertIn("Position 0 sees 1 to 5; position 5 sees none", found["sentence"])

    def test_a_mask_of_what_comes_later(self):
        self.attend(np.triu(np.ones([6, 6], np.float32), 1))
        self.nothing()

    # ---- labels

    def predict(self, shift):
        text = np.random.RandomState(0).randint(0, 12, [32, 9])
        text[:, 1::2] = (text[:, 0::2][:, :4] + 1) % 12
        table, out = tf.Variable(.4 * numbers(12, 8), name="table"), tf.Variable(.4 * numbers(8, 12, seed=1), name="out")

        def loss(step):
            logits = tf.matmul(tf.gather(table, text[:, :-1]), out)
            return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=text[:, shift:8 + shift], logits=logits))
        descend(loss, [table, out], 30, .5)

    def test_targets_that_were_not_shifted(self):
        self.predict(0)
        found = self.the("labels are the inputs")
        self.assertEqual((found["severity"], found["op"]), ("note", "gather"))
        self.assertRegex(found["sentence"], r"looks up, 256 labels each at the same place in all 8 steps .*: "
                                            "the network is asked to return its input")

    def test_targets_that_are_the_next(self):
        self.predict(1)
        self.nothing()

    # ---- codes near the ends

    def saturated(self, rate):
        x, codes = numbers(64, 4), 12. * numbers(4, 32, seed=2)
        y = 1. / (1. + np.exp(-np.clip(x @ codes, -30., 30.))) @ (.3 * numbers(32, 1, seed=4))
        w, out = tf.Variable(codes, name="w"), tf.Variable(.1 * numbers(32, 1, seed=3), name="out")
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(tf.sigmoid(tf.matmul(x, w)), out) - y)), [w, out], 60, rate)
        return self.the("saturated units")

    def test_saturated_units_of_a_run_that_learns_are_a_note(self):
        self.assertEqual(self.saturated(.06)["severity"], "note")

    def test_saturated_units_of_a_run_that_does_not_are_a_warning(self):
        self.assertEqual(self.saturated(1e-5)["severity"], "warning")

    def test_a_program_without_a_fault(self):
        Program().train(40)
        self.nothing()


if __name__ == "__main__":
    unittest.main()
