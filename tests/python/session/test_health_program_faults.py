"""Programs with a fault in their ops, data or layers, one for each rule that reads the ops of sampled steps."""
import unittest

import numpy as np
from health_programs import HealthOfPrograms, Program, descend

import tapedeck as tf

layers = tf.keras.layers


class HealthOfProgramFaultsTest(HealthOfPrograms):
    def test_softmax_before_a_loss_that_applies_it(self):
        program = Program()
        program.train(loss=lambda: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=program.labels, logits=tf.nn.softmax(program.logits()))))
        found = self.the("applied twice")
        self.assertIn("gets the results of softmax", found["sentence"])
        self.assertIn("can give no class of 2 more than 73 %", found["sentence"])
        self.assertRegex(found["sentence"], r"in all 8 steps whose ops were read \(of 60\)")
        self.assertEqual(found["op"], "sparse_softmax_cross_entropy_with_logits")

    def test_sigmoid_before_a_loss_that_applies_it(self):
        program = Program()
        model = tf.keras.Sequential([layers.Dense(8, "tanh"), layers.Dense(1, "sigmoid")])
        model.compile(tf.keras.optimizers.Adam(.02), tf.keras.losses.BinaryCrossentropy(from_logits=True))
        model.fit(program.x, program.labels[:, None].astype(np.float32), batch_size=32, epochs=12, verbose=0)
        found = self.the("applied twice")
        self.assertIn("sigmoid_cross_entropy_with_logits", found["sentence"])
        self.assertIn("50 to 73 %", found["sentence"])
        self.assertIn("from_logits=False", found["cure"])

    def test_softmax_of_a_softmax_in_a_loss_by_hand(self):
        program = Program()
        one_hot = np.eye(2, dtype=np.float32)[program.labels]
        program.train(20, loss=lambda: -tf.reduce_mean(tf.reduce_sum(
            one_hot * tf.math.log(tf.nn.softmax(tf.nn.softmax(program.logits()))), -1)))
        self.assertIn("it is applied twice", self.the("applied twice")["sentence"])

    def test_a_broadcast_from_both_sides(self):
        program = Program()
        target = tf.constant(program.x[:, 0])  # (64,) beside (64, 1)
        program.train(loss=lambda: tf.reduce_mean(tf.square(program.logits()[:, :1] - target)))
        found = self.the("broadcast from both sides")
        self.assertEqual((found["severity"], found["op"]), ("error", "subtract"))
        self.assertIn("(64, 1) and (64,) make (64, 64)", found["sentence"])
        self.assertIn("4,096 pairs instead of 64", found["sentence"].replace("4096", "4,096"))

    def test_a_row_beside_a_column(self):
        program = Program()
        target = tf.constant(program.x[:, :1].T)
        program.train(20, loss=lambda: tf.reduce_mean(tf.square(program.logits()[:, :1] - target)))
        self.assertIn("(64, 1) and (1, 64) make (64, 64)", self.the("broadcast from both sides")["sentence"])

    def test_a_variable_made_anew_in_each_step(self):
        x = np.random.RandomState(0).randn(32, 4).astype(np.float32)
        kept = []

        def loss(step):
            kept.append(tf.Variable(.5 * np.ones([4, 1], np.float32), name="w"))
            return tf.reduce_mean(tf.square(tf.matmul(x, kept[-1]) - x[:, :1]))
        for step in range(30):
            with tf.GradientTape() as tape:
                value = loss(step)
            kept[-1].assign_sub(.1 * tape.gradient(value, kept[-1]))
        found = self.the("variable re-created each step")
        self.assertIn("w (4, 1) is a new variable in each step", found["sentence"])

    def test_a_variable_that_is_never_updated(self):
        program = Program()
        bias = tf.Variable(np.full([2], .5, np.float32), name="bias")
        for _ in range(30):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(program.logits() + bias - np.eye(2, dtype=np.float32)[program.labels]))
            gradients = tape.gradient(loss, [program.w1, program.w2, bias])
            program.w1.assign_sub(.05 * gradients[0])
            program.w2.assign_sub(.05 * gradients[1])
        found = self.the("never updated")
        self.assertIn("bias is never updated", found["sentence"])
        self.assertIn("although its gradient's norm is about", found["sentence"])

    def test_a_custom_gradient_that_was_not_checked(self):
        @tf.custom_gradient
        def double(x):
            return x * 1., lambda upstream: upstream * 2.
        program = Program()
        program.train(loss=lambda: tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=program.labels, logits=double(program.logits()))))
        found = self.the("unchecked custom gradient")
        self.assertEqual(found["severity"], "note")
        self.assertTrue(found["check"])
        self.assertIn("the gradient of double, line", found["sentence"])

    def constant_inputs(self, classes, shares):
        """A classifier that gets nothing of its inputs."""
        random = np.random.RandomState(0)
        b = tf.Variable(np.log(np.asarray(shares, np.float32)), name="b")
        w = tf.Variable(np.zeros([3, classes], np.float32), name="w")
        optimizer = tf.keras.optimizers.SGD(.01)
        for _ in range(40):
            labels = random.permutation(np.repeat(np.arange(classes), [int(100 * share) for share in shares]))
            with tf.GradientTape() as tape:
                logits = tf.matmul(1e-2 * random.randn(len(labels), 3).astype(np.float32), w) + b
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]))

    def test_a_loss_at_the_logarithm_of_the_number_of_classes(self):
        self.constant_inputs(4, [.25] * 4)
        found = self.the("loss at chance")
        self.assertIn("stays at ln(4) = 1.39", found["sentence"])
        self.assertNotIn("loss", self.rules())

    def test_a_loss_at_the_entropy_of_the_labels(self):
        self.constant_inputs(2, [.9, .1])
        found = self.the("loss at chance")
        self.assertIn("stays at the labels' entropy, 0.325 of 800 labels in 8 steps", found["sentence"])

    def test_pixels_as_they_are(self):
        random = np.random.RandomState(0)
        pixels = random.randint(0, 256, (32, 16)).astype(np.float32)
        w = tf.Variable((.01 * random.randn(16, 1)).astype(np.float32), name="w")
        y = random.randn(32, 1).astype(np.float32)
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(pixels, w) - y)), [w], rate=1e-6)
        found = self.the("unnormalised data")
        self.assertRegex(found["sentence"], r"first layer's matmul \(line \d+\) gets inputs \(32×16\) from 0 to 255")
        self.assertIn("root mean square of 14", found["sentence"])

    def test_one_column_of_another_size(self):
        random = np.random.RandomState(0)
        x = random.randn(32, 16).astype(np.float32)
        x[:, 3] = 40 + 4 * x[:, 3]
        w = tf.Variable((.01 * random.randn(16, 1)).astype(np.float32), name="w")
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(x, w) - x[:, :1])), [w], rate=1e-4)
        self.assertIn("column 3 goes from", self.the("unnormalised data")["sentence"])

    def model_with_dropout(self):
        return tf.keras.Sequential([layers.Dense(16, "relu"), layers.BatchNormalization(), layers.Dropout(.5), layers.Dense(2)])

    def train_model(self, model, training, evaluation):
        program = Program()
        optimizer = tf.keras.optimizers.Adam(.01)
        for _ in range(24):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=program.labels, logits=model(program.x, training=training)))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return np.mean(np.argmax(model(program.x, training=evaluation), 1) == program.labels)

    def test_training_mode_in_evaluation(self):
        self.train_model(self.model_with_dropout(), True, True)
        found = [each for each in self.findings() if each["rule"] == "training mode in evaluation"]
        self.assertEqual({each["op"] for each in found}, {"dropout", "batch_norm"})
        for each in found:
            self.assertIn("after the last step", each["sentence"])

    def test_evaluation_mode_in_training(self):
        self.train_model(self.model_with_dropout(), False, False)
        found = self.the("evaluation mode in training")
        self.assertIn("a variance of 1 in all 8 steps", found["sentence"])
        self.assertNotIn("training mode in evaluation", self.rules())

    def test_the_modes_exchanged(self):
        self.train_model(self.model_with_dropout(), False, True)
        found = [each for each in self.findings() if each["rule"] == "training mode in evaluation"]
        self.assertEqual(len(found), 2)
        self.assertIn("the two may be swapped", found[0]["sentence"])

    def rate_that_jumps(self, optimizer, times):
        x = np.random.RandomState(0).randn(64, 8).astype(np.float32)
        w = tf.Variable(np.full([8, 1], .5, np.float32), name="w")
        y = x @ np.ones([8, 1], np.float32)
        for step in range(60):
            if step == 29:
                optimizer.learning_rate = times * float(optimizer.learning_rate)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - y)) + .01
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])

    def test_a_learning_rate_that_jumps(self):
        self.rate_that_jumps(tf.keras.optimizers.SGD(.02), 60)
        found = self.the("learning rate")
        self.assertEqual(found["since"], 30)
        self.assertIn("became too large at about step 30", found["sentence"])
        self.assertIn("(×60)", found["sentence"])
        self.assertIn("Keep it well below the rate of step", found["cure"])
        self.assertEqual(self.rules()[0], "learning rate")

    def test_a_rate_of_adam_that_jumps(self):
        self.rate_that_jumps(tf.keras.optimizers.Adam(.02), 600)
        self.assertIn(self.the("learning rate")["since"], range(30, 33))

    def test_a_rate_that_is_too_large_from_the_start_did_not_become_so(self):
        x = np.random.RandomState(0).randn(64, 8).astype(np.float32)
        w = tf.Variable(np.full([8, 1], .5, np.float32), name="w")
        descend(lambda step: tf.reduce_mean(tf.square(tf.matmul(x, w) - x[:, :1])), [w], rate=1.5)
        self.assertNotIn("learning rate", self.rules())


if __name__ == "__main__":
    unittest.main()
