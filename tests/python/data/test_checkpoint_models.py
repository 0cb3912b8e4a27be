"""Layers, optimisers, metrics and iterators of data sets go on from a checkpoint as if they had never stopped."""
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import tfe

X = np.random.RandomState(0).randn(40, 4).astype(np.float32)
Y = np.random.RandomState(1).randn(40, 2).astype(np.float32)


def keras_model():
    layers = tf.keras.layers
    return tf.keras.Sequential([layers.Dense(5, activation="relu"), layers.BatchNormalization(), layers.Dense(2)])


class Own(tf.keras.Model):
    """By subclassing, with layers in a list and a dict, and a shared one."""

    def __init__(self):
        super().__init__()
        self.parts = [tf.keras.layers.Dense(5, activation="tanh")]
        self.by_name = {"out": tf.keras.layers.Dense(2), "again": self.parts[0]}
        self.scale = tf.Variable(1.5)

    def call(self, x):
        return self.by_name["out"](self.by_name["again"](x)) * self.scale


class Training:
    """All that a training run consists of."""

    def __init__(self, make_model, make_optimizer):
        self.model, self.optimizer = make_model(), make_optimizer()
        self.mean = tf.keras.metrics.Mean()
        self.step = tf.Variable(0, dtype=tf.int64)
        data = tf.data.Dataset.from_tensor_slices((X, Y)).shuffle(16, seed=3).repeat().batch(8)
        self.iterator = iter(data)
        self.saver = tf.train.Checkpoint(model=self.model, optimizer=self.optimizer, mean=self.mean, step=self.step,
                                         iterator=self.iterator)

    def run(self, steps):
        losses = []
        for _ in range(steps):
            x, y = next(self.iterator)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.model(x, training=True) - y) ** 2)
            variables = self.model.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            self.mean.update_state(loss)
            self.step.assign_add(1)
            losses.append(float(loss))
        return losses, float(self.mean.result()), int(self.step)


OPTIMIZERS = {
    "keras Adam": lambda: tf.keras.optimizers.Adam(.05),
    "keras RMSprop": lambda: tf.keras.optimizers.RMSprop(.01, momentum=.9, centered=True),
    "tf.train Adam": lambda: tf.train.AdamOptimizer(.05),
    "tf.train Momentum": lambda: tf.train.MomentumOptimizer(.05, .9, use_nesterov=True),
    "tf.train Adadelta": lambda: tf.train.AdadeltaOptimizer(.5),
}


class GoesOn(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "ckpt")

    def test_training_goes_on_to_the_same_bits_in_the_middle_of_an_epoch(self):
        for name, optimizer in OPTIMIZERS.items():
            for model in (keras_model, Own):
                for warm in (0, 2):  # steps that the other run made before it was restored
                    with self.subTest(optimizer=name, model=model.__name__, warm=warm):
                        tf.random.set_seed(5)
                        first = Training(model, optimizer)
                        first.run(7)
                        path = first.saver.save(self.path)
                        wanted = first.run(6)
                        other = Training(model, optimizer)
                        other.run(warm)
                        status = other.saver.restore(path)
                        self.assertEqual(other.run(6), wanted)
                        status.assert_consumed()

    def test_a_model_that_is_given_before_it_is_built_runs_no_initializer(self):
        first = keras_model()
        first(X)
        path = tf.train.Checkpoint(model=first).save(self.path)

        def refuse(shape, dtype=None):
            raise AssertionError("the initializer ran")
        other = tf.keras.Sequential([tf.keras.layers.Dense(5, activation="relu", kernel_initializer=refuse),
                                     tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2, kernel_initializer=refuse)])
        status = tf.train.Checkpoint(model=other).restore(path)
        np.testing.assert_array_equal(other(X), first(X))
        status.assert_consumed()

    def test_another_number_of_units_is_refused_when_the_layer_is_built_and_after(self):
        first = keras_model()
        first(X)
        path = tf.train.Checkpoint(model=first).save(self.path)
        other = tf.keras.Sequential([tf.keras.layers.Dense(6)])
        tf.train.Checkpoint(model=other).restore(path).expect_partial()
        with self.assertRaisesRegex(ValueError, r"kernel has shape \(4, 5\) .* shape \(4, 6\)"):
            other(X)
        built = tf.keras.Sequential([tf.keras.layers.Dense(6)])
        before = built(X).numpy()
        with self.assertRaisesRegex(ValueError, r"shape \(4, 5\)"):
            tf.train.Checkpoint(model=built).restore(path)
        np.testing.assert_array_equal(built(X), before)

    def test_a_generator_and_a_discriminator_in_part(self):
        def gan():
            return {"generator": tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(4)]),
                    "discriminator": tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dense(1)])}
        first = gan()
        for each in first.values():
            each(X)
        whole = tfe.Checkpoint(**first).save(self.path)
        self.assertIn("generator/", [name for name, _ in tf.train.list_variables(whole)][4])
        other = gan()["generator"]
        tfe.Checkpoint(generator=other).restore(whole).expect_partial()
        np.testing.assert_array_equal(other(X), first["generator"](X))

    def test_layers_of_tensorflow_1_and_names(self):
        dense = tf.layers.Dense(3)
        dense(tf.constant(X))
        saver = tfe.Saver(dense.variables)
        path = saver.save(self.path)
        before = [each.numpy() for each in dense.variables]
        for each in dense.variables:
            each.assign(tf.zeros_like(each))
        saver.restore(path)
        for each, value in zip(dense.variables, before):
            np.testing.assert_array_equal(each, value)

    def test_a_generator_of_random_numbers_goes_on(self):
        generator = tf.random.Generator.from_seed(3)
        generator.normal([5])
        path = tf.train.Checkpoint(random=generator).save(self.path)
        wanted = generator.normal([4]).numpy()
        other = tf.random.Generator.from_seed(8)
        tf.train.Checkpoint(random=other).restore(path).assert_consumed()
        np.testing.assert_array_equal(other.normal([4]), wanted)

    def test_a_manager_in_a_loop_that_starts_again(self):
        def session(steps):
            tf.random.set_seed(9)
            run = Training(keras_model, OPTIMIZERS["keras Adam"])
            manager = tf.train.CheckpointManager(run.saver, self.folder, max_to_keep=2, step_counter=run.step, checkpoint_interval=3)
            manager.restore_or_initialize()
            for _ in range(steps):
                losses, _, step = run.run(1)
                manager.save()
            return losses[-1], step
        straight = Training(keras_model, OPTIMIZERS["keras Adam"])
        tf.random.set_seed(9)
        straight = Training(keras_model, OPTIMIZERS["keras Adam"])
        wanted = straight.run(12)[0][-1]
        self.assertEqual(session(4)[1], 4)
        # The checkpoints are those of steps 1 and 4.
        loss, step = session(8)
        self.assertEqual((loss, step), (wanted, 12))


if __name__ == "__main__":
    unittest.main()
