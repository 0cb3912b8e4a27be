"""Reading a value waits for a GPU, nothing else does: training steps, losses and functions of all kinds, and fit(). tst_waits has the ops
and their gradients."""
import contextlib
import inspect
import io
import unittest

import numpy as np

from device_names import CPU, GPU
import tapedeck as tf
from gpus import OnGpus, setUpModule, waits  # noqa: F401
from tapedeck import tfe
from tapedeck.train.optimizer import Optimizer as FirstOptimizer

random = np.random.RandomState(5)


def floats(*shape):
    return random.rand(*shape).astype(np.float32) + np.float32(.1)


def number(dtype, size):
    return np.dtype(dtype).type(size)


class Waits(OnGpus):
    def assert_no_wait(self, function, calls=2):
        """Of a call after the first, which may make what the others use."""
        function()
        before = waits()
        for _ in range(calls):
            function()
        self.assertEqual(waits(), before)


class Reads(Waits):
    def test_reads_count_and_ops_do_not(self):
        x = tf.constant([1., 2.])
        before = waits()
        y = tf.reduce_sum(tf.exp(x) * x)
        self.assertEqual(waits(), before)
        float(y)
        self.assertGreater(waits(), before)

    def test_norms_and_clips(self):
        tensors = [tf.constant(floats(4, 3)), tf.constant(floats(5))]
        for function in (lambda: tf.linalg.global_norm(tensors), lambda: tf.clip_by_global_norm(tensors, .5),
                         lambda: tf.clip_by_global_norm(tensors, .5, tf.linalg.global_norm(tensors)),
                         lambda: tf.clip_by_norm(tensors[0], .5), lambda: tf.clip_by_average_norm(tensors[0], .5),
                         lambda: tf.math.l2_normalize(tensors[0], 1), lambda: tf.linalg.normalize(tensors[0], axis=1),
                         *(lambda order=order, axis=axis: tf.norm(tensors[0], order, axis)
                           for order in ("euclidean", 1, 1.5, 2, 3, .5, np.inf) for axis in (None, 0, 1)),
                         *(lambda order=order: tf.norm(tensors[0], order, [0, 1]) for order in ("fro", 1, np.inf))):
            with self.subTest(inspect.getsource(function).strip()):
                self.assert_no_wait(function)

                def gradients():
                    with tf.GradientTape() as tape:
                        tape.watch(tensors)
                        values = tf.nest.flatten(function())
                    tape.gradient(values, tensors)

                self.assert_no_wait(gradients)

    def test_norms_are_those_of_the_cpu_where_squares_are_no_numbers(self):
        for dtype, sizes in (("float32", (1., 1e30, 1e-30, 1e-43)), ("float64", (1., 1e300, 1e-200))):
            for size in sizes:
                values = [np.array([3., 0.], dtype) * number(dtype, size), np.array([[4.]], dtype) * number(dtype, size),
                          np.zeros([0], dtype)]
                with self.subTest(f"{dtype} {size}"):
                    there = [tf.constant(value) for value in values]
                    with tf.GradientTape() as tape:
                        tape.watch(there)
                        norm = tf.linalg.global_norm(there)
                    self.assertEqual(norm.device, GPU)
                    rtol = 1e-6 if size > 1e-40 else 1e-2
                    np.testing.assert_allclose(norm.numpy(), 5. * size, rtol=rtol)
                    gradients = tape.gradient(norm, there)
                    np.testing.assert_allclose(gradients[0].numpy(), [.6, 0.], rtol=rtol)
                    np.testing.assert_allclose(gradients[1].numpy(), [[.8]], rtol=rtol)
                    with tf.device("/cpu:0"):
                        here = tf.linalg.global_norm(values)
                    np.testing.assert_array_equal(norm.numpy(), here.numpy())
                    for order in (3, 1.5):
                        with tf.device("/cpu:0"):
                            expected = tf.norm(values[0] + values[1][0], order)
                        np.testing.assert_allclose(tf.norm(tf.constant(values[0] + values[1][0]), order).numpy(), expected.numpy(),
                                                   rtol=rtol)
        for special in (np.inf, np.nan):
            np.testing.assert_array_equal(tf.linalg.global_norm([tf.constant([special, 1.]), tf.constant([2.])]).numpy(), special)

    def test_shuffles_draw_there(self):
        rows = tf.constant(floats(50, 2))
        self.assert_no_wait(lambda: tf.random.shuffle(rows))
        tf.random.set_seed(3)
        there = tf.random.shuffle(rows, seed=4)
        tf.random.set_seed(3)
        with tf.device("/cpu:0"):
            here = tf.random.shuffle(rows.cpu(), seed=4)
        self.assertEqual((there.device, here.device), (GPU, CPU))
        np.testing.assert_array_equal(there.numpy(), here.numpy())
        self.assertFalse(np.array_equal(here.numpy(), rows.numpy()))


class Losses(Waits):
    def gradients_of(self, loss, predictions):
        with tf.GradientTape() as tape:
            tape.watch(predictions)
            value = loss(predictions)
        return tape.gradient(value, predictions)

    def test_tf_losses(self):
        labels, predictions = tf.constant(np.eye(4, 5, dtype=np.float32)), tf.constant(floats(4, 5))
        numbers = tf.constant([0, 1, 2, 3])
        calls = {"sparse_softmax_cross_entropy": lambda p: tf.losses.sparse_softmax_cross_entropy(numbers, p),
                 "cosine_distance": lambda p: tf.losses.cosine_distance(labels, p, 1)}
        named = ("absolute_difference", "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error", "mean_squared_error",
                 "sigmoid_cross_entropy", "softmax_cross_entropy")
        calls.update({name: lambda p, f=getattr(tf.losses, name): f(labels, p) for name in named})
        for name, loss in calls.items():
            with self.subTest(name):
                self.assert_no_wait(lambda: self.gradients_of(loss, predictions))

    def test_classes_of_keras(self):
        kinds = {name: kind for name, kind in vars(tf.keras.losses).items()
                 if inspect.isclass(kind) and issubclass(kind, tf.keras.losses.Loss) and kind is not tf.keras.losses.Loss}
        self.assertGreater(len(kinds), 15)
        one_hot, numbers = tf.constant(np.eye(4, 5, dtype=np.float32)), tf.constant([0, 1, 2, 3])
        weights = tf.constant(floats(4))
        for name, kind in kinds.items():
            if name == "CTC":  # its lengths are read: they say how long the loop is
                continue
            labels = numbers if "Sparse" in name or name in ("Circle", "CategoricalGeneralizedCrossEntropy") else one_hot
            with self.subTest(name):
                predictions, loss = tf.constant(floats(4, 5) / 6), kind()
                self.assert_no_wait(lambda: self.gradients_of(lambda p: loss(labels, p), predictions))
                if name not in ("Dice", "Tversky"):
                    self.assert_no_wait(lambda: self.gradients_of(lambda p: loss(labels, p, sample_weight=weights), predictions))


def steps_of(optimizer, **arguments):
    """A function that makes a training step on two variables."""
    w, b = tf.Variable(floats(3, 4)), tf.Variable(floats(4))
    x, y = tf.constant(floats(6, 3)), tf.constant(floats(6, 4))

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.matmul(x, w) + b - y) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, [w, b]), [w, b]), **arguments)

    return step


class Optimizers(Waits):
    def test_those_of_tf_train(self):
        step = tf.train.get_or_create_global_step()
        made = {"AdagradDAOptimizer": lambda kind: kind(.1, step), "MomentumOptimizer": lambda kind: kind(.1, .9),
                "AdamWOptimizer": lambda kind: kind(.1), "MomentumWOptimizer": lambda kind: kind(.1, .1, .9),
                "MovingAverageOptimizer": lambda kind: kind(tf.train.AdamOptimizer(.1))}
        plain = {"AdamOptimizer", "AdadeltaOptimizer", "NadamOptimizer", "LazyAdamOptimizer"}
        seen = 0
        for place in (tf.train, tf.contrib.opt):
            for name, kind in vars(place).items():
                if not inspect.isclass(kind) or not issubclass(kind, FirstOptimizer) or kind is FirstOptimizer or name == "KFACOptimizer":
                    continue
                seen += 1
                with self.subTest(name):
                    optimizer = made[name](kind) if name in made else kind() if name in plain else kind(.1)
                    self.assert_no_wait(steps_of(optimizer, global_step=step))
        self.assertGreater(seen, 12)

    def test_rates_on_a_gpu_are_read_once_for_each_value(self):
        for kind in (tf.train.GradientDescentOptimizer, tf.keras.optimizers.SGD):
            for rate in (tf.Variable(.5), tf.constant(.5), lambda: variable):
                variable = tf.Variable(.5)
                weight, gradient = tf.Variable([1., 2.]), tf.constant([1., 1.])
                optimizer = kind(rate)
                self.assert_no_wait(lambda: optimizer.apply_gradients([(gradient, weight)]))
                self.assertEqual(weight.numpy().tolist(), [-.5, .5])
        for optimizer in (tf.train.GradientDescentOptimizer(variable), tf.keras.optimizers.SGD(variable)):
            weight = tf.Variable([1., 2.])
            for value in (.25, .125, .25):
                variable.assign(value)
                optimizer.apply_gradients([(gradient, weight)])
            self.assertEqual(weight.numpy().tolist(), [.375, 1.375])

    def test_decays(self):
        step = tf.train.get_or_create_global_step()
        for rate in (tf.train.exponential_decay(.1, step, 5, .9), tf.train.noisy_linear_cosine_decay(.1, step, 100),
                     tf.train.polynomial_decay(.1, step, 100), lambda: .1):
            self.assert_no_wait(steps_of(tf.train.GradientDescentOptimizer(rate), global_step=step))

    def test_those_of_keras(self):
        kinds = [kind for kind in vars(tf.keras.optimizers).values()
                 if inspect.isclass(kind) and issubclass(kind, tf.keras.optimizers.Optimizer)
                 and kind.__name__ not in ("Optimizer", "KFAC")]
        self.assertGreater(len(kinds), 10)
        for kind in kinds:
            for options in ({}, {"clipnorm": .1}, {"clipvalue": .1}, {"global_clipnorm": .1}, {"weight_decay": .01}, {"use_ema": True},
                            {"gradient_accumulation_steps": 2}, {"loss_scale_factor": 4.},
                            {"learning_rate": tf.keras.optimizers.schedules.ExponentialDecay(.1, 3, .9)}):
                with self.subTest(f"{kind.__name__} {options}"):
                    self.assert_no_wait(steps_of(kind(**options)))

    def test_own_ones_of_several_ops(self):
        class Own(tf.keras.optimizers.Optimizer):
            def update_step(self, gradient, variable, learning_rate):
                variable.assign_sub(gradient * learning_rate)

        self.assert_no_wait(steps_of(Own(.5)))

    def test_a_loss_scale_reads_once(self):
        step = steps_of(tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(.1)))
        step()
        value, before = tf.constant(1.), waits()
        float(value)
        of_a_read, before = waits() - before, waits()
        step()
        self.assertEqual(waits() - before, of_a_read)

    def test_constraints_and_averages(self):
        variable = tf.Variable(floats(3, 4), constraint=tf.keras.constraints.MaxNorm(1.))
        gradient = tf.constant(floats(3, 4))
        optimizer = tf.keras.optimizers.SGD(.1)
        self.assert_no_wait(lambda: optimizer.apply_gradients([(gradient, variable)]))
        for options in ({}, {"zero_debias": True}):
            average = tf.train.ExponentialMovingAverage(.9, **options)
            self.assert_no_wait(lambda: average.apply([variable]))

    def test_natural_gradients(self):
        x, y = tf.constant(floats(8, 3)), tf.constant(floats(8, 2))
        for limit in (None, 1e-3):
            model = tf.keras.Sequential([tf.keras.layers.Dense(4, "tanh"), tf.keras.layers.Dense(2)])
            model(x)
            loss = lambda: tf.reduce_mean((model(x) - y) ** 2)  # noqa: E731
            first = tf.train.KFACOptimizer(model, norm_constraint=limit, inverse_update_interval=1)
            self.assert_no_wait(lambda: first.minimize(loss))
            second = tf.keras.optimizers.KFAC(.1, norm_constraint=limit, inverse_update_interval=1, model=model)
            self.assert_no_wait(lambda: second.minimize(loss, model.trainable_variables))

    def test_rows_of_embeddings(self):
        table, places = tf.Variable(floats(10, 3)), tf.constant([1, 4, 4])
        for optimizer in (tf.train.AdamOptimizer(.1), tf.contrib.opt.LazyAdamOptimizer(.1), tf.train.AdagradOptimizer(.1),
                          tf.keras.optimizers.Adam(.1), tf.keras.optimizers.SGD(.1, .9)):
            def step():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.gather(table, places) ** 2.)
                optimizer.apply_gradients([(tape.gradient(loss, table), table)])

            self.assert_no_wait(step)


class Fit(Waits):
    def model(self, metrics=()):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dropout(.2), tf.keras.layers.BatchNormalization(),
                                     tf.keras.layers.Dense(3, "softmax")])
        model.compile("adam", "sparse_categorical_crossentropy", metrics=list(metrics))
        return model

    def waits_of(self, model, batches, **arguments):
        x, y = floats(8 * batches, 4), random.randint(0, 3, 8 * batches)
        before = waits()
        with contextlib.redirect_stdout(io.StringIO()):
            history = model.fit(x, y, batch_size=8, shuffle=True, **arguments)
        self.assertTrue(all(np.isfinite(history.history["loss"])))
        return waits() - before

    def test_an_epoch_reads_as_often_whatever_its_batches(self):
        class Seen(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                kept.append(logs)

        kept = []
        model = self.model(["accuracy"])
        self.waits_of(model, 2)
        for arguments in ({"verbose": 0}, {"verbose": 1}, {"verbose": 2}, {"verbose": 0, "callbacks": [Seen()]}):
            with self.subTest(arguments):
                few, many = (self.waits_of(model, batches, **arguments) for batches in (3, 9))
                self.assertEqual(few, many)
                self.assertGreater(few, 0)
        self.assertEqual(len(kept), 12)
        losses = [logs["loss"] for logs in kept]  # each is what it was after its batch
        self.assertEqual(len(set(losses)), 12)
        self.assertTrue(all(isinstance(loss, float) for loss in losses))
        self.assertEqual(self.waits_of(model, 3, validation_split=.5, verbose=0), self.waits_of(model, 9, validation_split=.5, verbose=0))

    def test_the_loss_is_the_mean_that_the_cpu_has(self):
        x, y = floats(20, 4), floats(20, 1)
        losses = []
        for device in ("/cpu:0", "/gpu:0"):
            with tf.device(device):
                model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
                model.compile("sgd", "mse", metrics=["mse"])
                history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0)
                losses.append(history.history["loss"] + [model.evaluate(x, y, batch_size=8, verbose=0)[0]])
                for loss, metric in zip(history.history["loss"], history.history["mse"]):
                    self.assertAlmostEqual(loss, metric, places=5)
        np.testing.assert_allclose(losses[1], losses[0], rtol=1e-5)
        self.assertTrue(all(isinstance(loss, float) for loss in losses[1]))


class Asynchronous(Waits):
    def test_waiting_ends_what_this_thread_began(self):
        x = tf.constant(floats(4))
        before = waits()
        tfe.async_wait()
        tf.exp(x)
        self.assertGreater(waits(), before)

    def test_late_errors_are_raised_or_forgotten(self):
        x = tf.constant([1., 2.])
        for place in ("/gpu:0", "/gpu:1"):
            with self.subTest(place), tf.device(place):
                tf.gather(x, tf.constant([5]))
                with self.assertRaisesRegex(IndexError, r"gather: indices\[0\] is 5"):
                    tfe.async_wait()
                tfe.async_wait()
                tf.gather(x, tf.constant([5]))
                tfe.async_clear_error()
                self.assertEqual(tf.exp(x * 0.).numpy().tolist(), [1., 1.])


if __name__ == "__main__":
    unittest.main()
