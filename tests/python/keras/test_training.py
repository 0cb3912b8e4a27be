"""compile, fit, evaluate and predict: the numbers are those of loops by hand, whatever the data come as."""
import io
import signal
import tempfile
import threading
import unittest
from contextlib import redirect_stdout
from unittest import mock

import numpy as np
import tapedeck as tf
from tapedeck import _engine
from training_problem import classifier, compiled, layers, problem, RNG

X, Y = problem()


class Fit(unittest.TestCase):
    def test_it_is_the_loop_by_hand_to_the_last_bit(self):
        model, by_hand = compiled(classifier()), classifier()
        model.fit(X, Y, batch_size=16, epochs=3, shuffle=False, verbose=0)
        loss, optimizer = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), tf.keras.optimizers.Adam()
        for _ in range(3):
            for first in range(0, len(X), 16):
                with tf.GradientTape() as tape:
                    value = loss(Y[first:first + 16], by_hand(X[first:first + 16], training=True))
                variables = by_hand.trainable_variables
                optimizer.apply_gradients(zip(tape.gradient(value, variables), variables))
        for one, two in zip(model.get_weights(), by_hand.get_weights()):
            np.testing.assert_array_equal(one, two)

    def test_training_makes_the_loss_small_and_history_says_how(self):
        model = compiled(classifier(), metrics=["accuracy"])
        model.optimizer.learning_rate = .02
        history = model.fit(X, Y, epochs=40, verbose=0, validation_data=(X[:20], Y[:20])).history
        self.assertEqual(list(history), ["loss", "accuracy", "val_loss", "val_accuracy"])
        self.assertTrue(all(len(values) == 40 and isinstance(values[0], float) for values in history.values()))
        self.assertLess(history["loss"][-1], .1)
        self.assertGreater(history["accuracy"][-1], .97)

    def test_the_same_seed_gives_the_same_run_for_one_and_two_threads(self):
        before, results = tf.config.get_num_threads(), []
        try:
            for threads in (1, 2, 2):
                tf.config.set_num_threads(threads)
                tf.keras.backend.set_floatx("float64")
                model = compiled(classifier("float64"))
                model.fit(X.astype(np.float64), Y, epochs=3, verbose=0)
                results.append(model.get_weights())
        finally:
            tf.config.set_num_threads(before)
            tf.keras.backend.set_floatx("float32")
        for other in results[1:]:
            for one, two in zip(results[0], other):
                np.testing.assert_array_equal(one, two)
        self.assertEqual(results[0][0].dtype, np.float64)

    def test_the_loss_of_an_epoch_weighs_batches_by_their_examples(self):
        model = tf.keras.Sequential([layers.Dense(1, input_shape=(1,), kernel_initializer="ones", use_bias=False)])
        model.compile("sgd", "mse")
        model.optimizer.learning_rate = 0.
        x = np.arange(5, dtype=np.float32)[:, None]
        history = model.fit(x, np.zeros(5), batch_size=2, epochs=1, verbose=0, shuffle=False)
        self.assertAlmostEqual(history.history["loss"][0], np.mean(x ** 2), places=6)
        self.assertAlmostEqual(model.evaluate(x, np.zeros(5), batch_size=3, verbose=0), np.mean(x ** 2), places=6)

    def test_shuffling_shows_each_example_once_in_an_order_that_the_seed_says(self):
        seen = []

        class Looking(tf.keras.Model):
            def train_step(self, data):
                seen.extend(np.asarray(data[0]).ravel().tolist())
                return {"loss": 0.}

        def order():
            seen.clear()
            tf.random.set_seed(3)
            Looking().fit(np.arange(50.), np.arange(50.), epochs=2, batch_size=8, verbose=0)
            return list(seen)

        first = order()
        self.assertEqual(sorted(first[:50]), list(range(50)))
        self.assertNotEqual(first[:50], list(range(50)))
        self.assertNotEqual(first[:50], first[50:])
        self.assertEqual(order(), first)

    def test_data_come_as_arrays_tensors_datasets_generators_and_sequences(self):
        class Batches(tf.keras.utils.Sequence):
            ended = 0

            def __len__(self):
                return 6

            def __getitem__(self, index):
                return X[index * 16:(index + 1) * 16], Y[index * 16:(index + 1) * 16]

            def on_epoch_end(self):
                self.ended += 1

        def generator():
            while True:
                for first in range(0, 96, 16):
                    yield X[first:first + 16], Y[first:first + 16]

        batches = Batches()
        results = []
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
        for data, arguments in (((X, Y), {"batch_size": 16}), ((tf.constant(X), tf.constant(Y)), {"batch_size": 16}),
                                ((dataset,), {}), ((dataset.repeat(),), {"steps_per_epoch": 6}),
                                ((generator(),), {"steps_per_epoch": 6}), ((batches,), {})):
            model = compiled(classifier())
            model.fit(*data, epochs=2, shuffle=False, verbose=0, **arguments)
            results.append(model.get_weights())
        for other in results[1:]:
            for one, two in zip(results[0], other):
                np.testing.assert_array_equal(one, two)
        self.assertEqual(batches.ended, 2)

    def test_datasets_are_evaluated_and_validate(self):
        dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16)
        model = compiled(classifier(), metrics=["accuracy"])
        history = model.fit(dataset, validation_data=dataset, epochs=2, verbose=0).history
        self.assertEqual(len(history["val_accuracy"]), 2)
        np.testing.assert_allclose(model.evaluate(dataset, verbose=0), model.evaluate(X, Y, verbose=0), rtol=1e-5)
        np.testing.assert_allclose(model.predict(dataset, verbose=0), model.predict(X, verbose=0), rtol=1e-5)
        with self.assertRaisesRegex(ValueError, "infinitely repeating"):
            model.fit(dataset.repeat(), verbose=0)

    def test_images_of_whole_numbers_and_lists_are_data_too(self):
        images = RNG.integers(0, 256, (20, 4, 4), np.uint8)
        model = tf.keras.Sequential([layers.Flatten(), layers.Dense(3, activation="softmax")])
        model.compile("sgd", "sparse_categorical_crossentropy")
        model.fit(images, Y[:20], verbose=0)
        np.testing.assert_allclose(model.predict(images, verbose=0), model.predict(images.astype(np.float32), verbose=0), rtol=1e-6)
        model = tf.keras.Sequential([layers.Dense(1, kernel_initializer="ones")])
        model.compile("sgd", "mse")
        self.assertAlmostEqual(model.evaluate([[1.], [3.]], [1., 2.], verbose=0), .5)

    def test_a_generator_that_ends_says_so(self):
        model = compiled(classifier())
        with self.assertWarnsRegex(UserWarning, "ran out of data"):
            model.fit(iter([(X[:8], Y[:8])] * 3), steps_per_epoch=5, epochs=1, verbose=0)
        with self.assertRaisesRegex(ValueError, "has no batches"):
            model.fit(iter([]), epochs=1, verbose=0)

    def test_validation_split_takes_the_last_examples_before_shuffling(self):
        seen = []

        class Looking(tf.keras.Model):
            def train_step(self, data):
                return {"loss": 0.}

            def test_step(self, data):
                seen.extend(np.asarray(data[0]).ravel().tolist())
                return {"loss": 1.}

        history = Looking().fit(np.arange(10.), np.arange(10.), validation_split=.3, verbose=0)
        self.assertEqual((seen, history.history), ([7., 8., 9.], {"loss": [0.], "val_loss": [1.]}))
        with self.assertRaisesRegex(ValueError, "not sufficient to split"):
            Looking().fit(np.arange(1.), np.arange(1.), validation_split=.5, verbose=0)

    def test_validation_may_be_seldom(self):
        model = compiled(classifier())
        history = model.fit(X, Y, epochs=5, validation_data=(X, Y), validation_freq=2, verbose=0).history
        self.assertEqual((len(history["loss"]), len(history["val_loss"])), (5, 2))
        self.assertEqual(len(model.fit(X, Y, epochs=4, initial_epoch=2, verbose=0).history["loss"]), 2)

    def test_class_and_sample_weights_count_examples_otherwise(self):
        def trained(**arguments):
            model = compiled(classifier())
            model.fit(X, Y, batch_size=96, shuffle=False, verbose=0, **arguments)
            return model.get_weights()

        weights = np.where(Y == 1, 3., 1.)
        for one, two in zip(trained(class_weight={1: 3.}), trained(sample_weight=weights)):
            np.testing.assert_array_equal(one, two)
        self.assertFalse(np.array_equal(trained()[0], trained(class_weight={1: 3.})[0]))

    def test_a_step_of_ones_own_replaces_the_loop(self):
        class Regressor(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.dense = layers.Dense(1)
                self.seen = tf.keras.metrics.Mean(name="seen")

            def call(self, x):
                return self.dense(x)

            def train_step(self, data):
                x, y = data
                with tf.GradientTape() as tape:
                    loss = self.compiled_loss(y, self(x, training=True), regularization_losses=self.losses)
                variables = self.trainable_variables
                self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
                self.seen.update_state(loss)
                return {metric.name: metric.result() for metric in self.metrics}

        model = Regressor()
        model.compile("adam", "mse")
        history = model.fit(X, X[:, :1], epochs=2, verbose=0).history
        self.assertEqual(set(history), {"loss", "seen"})

    def test_a_train_step_of_ones_own_finds_the_metrics_of_compile_in_metrics(self):
        class Model(tf.keras.Model):
            def train_step(self, data):
                x, y, weights = data
                with tf.GradientTape() as tape:
                    y_pred = self(x, training=True)
                    loss = self.compute_loss(y=y, y_pred=y_pred, sample_weight=weights)
                self.optimizer.apply_gradients(zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables))
                for metric in self.metrics:
                    if metric.name == "loss":
                        metric.update_state(loss)
                    elif not metric.name.endswith("_loss"):
                        metric.update_state(y, y_pred, sample_weight=weights)
                return {metric.name: metric.result() for metric in self.metrics}

        def histories(cls, outputs, y, **arguments):
            tf.random.set_seed(5)
            inputs = tf.keras.Input((6,))
            model = cls(inputs, [layers.Dense(1, name=name)(inputs) for name in outputs])
            model.compile("sgd", "mse", **arguments)
            seen = []
            log = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(set(logs)))
            history = model.fit(X, y, sample_weight=np.linspace(0, 1, 96), epochs=2, verbose=0, shuffle=False,
                                callbacks=[log]).history
            self.assertEqual(len({frozenset(each) for each in seen}), 1, seen)  # from the first batch on
            return history, model

        own, model = histories(Model, ["a"], X[:, 0], metrics=["mae"], weighted_metrics=["mse"])
        self.assertEqual(own, histories(tf.keras.Model, ["a"], X[:, 0], metrics=["mae"], weighted_metrics=["mse"])[0])
        self.assertEqual((list(own), model.metrics_names), (["loss", "mae", "mse"], ["loss", "mae", "mse"]))
        both = histories(Model, ["a", "b"], [X[:, 0], X[:, 1]], metrics={"a": "mae", "b": "mse"})[0]
        usual = histories(tf.keras.Model, ["a", "b"], [X[:, 0], X[:, 1]], metrics={"a": "mae", "b": "mse"})[0]
        self.assertEqual({name: both[name] for name in ("loss", "a_mae", "b_mse")},
                         {name: usual[name] for name in ("loss", "a_mae", "b_mse")})

    def test_metrics_of_one_name_are_all_shown(self):
        x, y = np.array([[1., 0.], [0., 1.], [1., 0.], [0., 1.]]), np.array([0, 1, 1, 0])
        weights = np.array([1., 1., 3., 1.])

        def model(outputs=1):
            inputs = tf.keras.Input((2,))
            made = tf.keras.Model(inputs, [tf.keras.layers.Activation("linear", name=name)(inputs) for name in "ab"[:outputs]])
            return made

        def evaluated(made, targets=y, given=weights, **metrics):
            made.compile("sgd", "sparse_categorical_crossentropy", **metrics)
            found = made.evaluate(x, targets, sample_weight=given, verbose=0, return_dict=True)
            self.assertEqual(list(found), made.metrics_names)
            return {name: round(float(value), 3) for name, value in found.items() if "loss" not in name}

        self.assertEqual(evaluated(model(), metrics=["accuracy"], weighted_metrics=["accuracy"]),
                         {"accuracy": .5, "weighted_accuracy": .333})
        self.assertEqual(evaluated(model(), metrics=["accuracy", "accuracy"], weighted_metrics=["accuracy", "accuracy"]),
                         {"accuracy": .5, "accuracy_1": .5, "weighted_accuracy": .333, "weighted_accuracy_1": .333})
        self.assertEqual(evaluated(model(), weighted_metrics=["accuracy"]), {"accuracy": .333})
        self.assertEqual(evaluated(model(2), [y, y], [weights, weights], metrics=[["accuracy"], ["accuracy"]],
                                   weighted_metrics=[["accuracy"], ["accuracy"]]),
                         {"a_accuracy": .5, "a_weighted_accuracy": .333, "b_accuracy": .5, "b_weighted_accuracy": .333})
        shared = tf.keras.metrics.SparseCategoricalAccuracy(name="own")
        self.assertEqual(evaluated(model(), metrics=[shared], weighted_metrics=[shared]), {"own": .5, "weighted_own": .333})
        self.assertEqual((shared.name, round(float(shared.result()), 3)), ("own", .5))

        class Unlike(tf.keras.metrics.Mean):
            def __init__(self, extra):
                super().__init__(name="unlike")

        unlike = Unlike(3)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"compile: the metric unlike \(Unlike\) is given more than once"):
            evaluated(model(), metrics=[unlike], weighted_metrics=[unlike])
        history = model()
        history.compile("sgd", "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["accuracy"])
        shown = history.fit(x, y, sample_weight=weights, verbose=0, validation_data=(x, y, weights)).history
        self.assertEqual([name for name in shown if "loss" not in name],
                         ["accuracy", "weighted_accuracy", "val_accuracy", "val_weighted_accuracy"])

    def test_a_loss_that_train_step_shows_to_metrics_counts_once(self):
        class Model(tf.keras.Model):
            def train_step(self, data):
                x, y = data
                loss = self.compute_loss(y=y, y_pred=self(x, training=True))
                self.metrics[0].update_state(loss)
                return {"loss": self.metrics[0].result()}

        inputs = tf.keras.Input((1,))
        model = Model(inputs, layers.Dense(1, kernel_initializer="ones")(inputs))
        model.compile("sgd", "mse")
        x = np.array([[1.], [1.], [1.], [3.]])  # batches of 3 and 1, whose losses are 1 and 9
        self.assertEqual(model.fit(x, 0. * x, batch_size=3, shuffle=False, verbose=0).history, {"loss": [5.]})

    def test_each_evaluation_begins_at_the_datasets_first_batch(self):
        model = tf.keras.Sequential([layers.Dense(1, kernel_initializer="ones", input_shape=(1,))])
        model.compile(tf.keras.optimizers.SGD(0.), "mse")
        data = tf.data.Dataset.from_tensor_slices((np.arange(1., 4.)[:, None], np.zeros((3, 1)))).repeat().batch(1)
        history = model.fit(data, steps_per_epoch=2, epochs=3, validation_data=data, validation_steps=1, verbose=0).history
        self.assertEqual(history["val_loss"], [1., 1., 1.])
        self.assertEqual(history["loss"], [2.5, 5., 6.5])  # training goes on where it was: 1 4, 9 1, 4 9

    def test_averages_of_the_variables_are_theirs_after_training(self):
        model = tf.keras.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="zeros", input_shape=(1,))])
        model.compile(tf.keras.optimizers.SGD(.25, use_ema=True, ema_momentum=.5), "mse")
        ends = []
        watch = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: ends.append(float(model.get_weights()[0])),
                                                  on_train_end=lambda logs: ends.append(float(model.get_weights()[0])))
        model.fit(np.ones((1, 1)), np.ones((1, 1)), epochs=2, verbose=0, callbacks=[watch])
        self.assertEqual(ends, [.5, .75, .625])  # .5·.5 + .5·.75

    def test_weights_of_losses_are_one_for_each_output(self):
        model = tf.keras.Sequential([layers.Dense(1)])
        model.compile("sgd", "mse", loss_weights=[1., 2.])
        with self.assertRaisesRegex(ValueError, r"loss_weights is \[1.0, 2.0\]; needs one number"):
            model.fit(X, X[:, :1], verbose=0)

    def test_verbose_2_is_a_line_of_parts_between_dashes(self):
        model = compiled(classifier())
        out = io.StringIO()
        with redirect_stdout(out):
            model.fit(X, Y, epochs=2, verbose=2)
        self.assertRegex(out.getvalue(), r"^Epoch 1/2\n3/3 - \d+s - \d+[mu]?s/step - loss: \d\.\d{4}\nEpoch 2/2\n3/3 - ")

    def test_several_outputs_have_losses_weights_and_metrics_of_their_own(self):
        inputs = tf.keras.Input((6,))
        model = tf.keras.Model(inputs, {"a": layers.Dense(3, name="a")(inputs), "b": layers.Dense(1, name="b")(inputs)})
        model.compile("sgd", {"a": tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), "b": "mse"},
                      loss_weights={"b": .5}, metrics={"a": ["accuracy"], "b": "mae"})
        history = model.fit(X, {"a": Y, "b": X[:, 0]}, verbose=0).history
        self.assertEqual(list(history), ["loss", "a_loss", "b_loss", "a_accuracy", "b_mae"])
        found = model.evaluate(X, {"a": Y, "b": X[:, 0]}, verbose=0, return_dict=True)
        self.assertAlmostEqual(found["loss"], found["a_loss"] + .5 * found["b_loss"], places=5)
        outputs = model.predict(X, verbose=0)
        self.assertAlmostEqual(found["b_mae"], np.abs(outputs["b"][:, 0] - X[:, 0]).mean(), places=5)
        listed = tf.keras.Model(inputs, [layers.Dense(1, name="c")(inputs), layers.Dense(1, name="d")(inputs)])
        listed.compile("sgd", ["mse", "mae"], metrics=[["mse"], ["mae", "mse"]])
        history = listed.fit(X, [X[:, :1], X[:, 1:2]], verbose=0).history
        self.assertEqual(list(history), ["loss", "c_loss", "d_loss", "c_mse", "d_mae", "d_mse"])

    def test_losses_of_layers_count(self):
        model = tf.keras.Sequential([layers.Dense(1, input_shape=(1,), kernel_initializer="ones", use_bias=False,
                                                  kernel_regularizer=tf.keras.regularizers.L2(2.))])
        model.compile("sgd", "mse")
        self.assertAlmostEqual(model.evaluate(np.ones((4, 1)), np.ones((4, 1)), verbose=0), 2., places=6)

    def test_accuracy_is_that_of_the_shapes(self):
        for units, y, name in ((1, (X[:, 0] > 0).astype(np.float32), "BinaryAccuracy"), (3, Y, "SparseCategoricalAccuracy"),
                               (3, np.eye(3)[Y], "CategoricalAccuracy")):
            model = tf.keras.Sequential([layers.Dense(units, activation="sigmoid")])
            model.compile("sgd",
                          "mse" if units == 1 else "categorical_crossentropy" if y.ndim == 2 else "sparse_categorical_crossentropy",
                          metrics=["accuracy"])
            found = model.evaluate(X, y, verbose=0, return_dict=True)["accuracy"]
            outputs = model.predict(X, verbose=0)
            wanted = np.mean((outputs[:, 0] > .5) == y) if units == 1 else np.mean(outputs.argmax(1) == Y)
            self.assertAlmostEqual(found, wanted, places=5, msg=name)

    def test_a_session_draws_the_metrics_over_all_batches_of_the_model(self):
        found = []
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)], name="line")
        model.compile("sgd", "mse", metrics=["mae"])
        x = np.ones([40, 2], np.float32)
        with mock.patch.object(_engine.debug, "recording", lambda: True), \
                mock.patch.object(_engine.debug, "add_scalar", lambda *point: found.append(point)):
            first = model.fit(x, x[:, :1], batch_size=10, epochs=2, verbose=0, validation_data=(x, x[:, :1])).history
            second = model.fit(x, x[:, :1], batch_size=10, verbose=0).history
        ends = {name: [(step, value) for series, step, value in found if series == name and step % 4 == 0]
                for name in ("line/loss", "line/mae", "line/val_loss", "line/val_mae")}
        for name in "loss", "mae":
            self.assertEqual([step for step, _ in ends["line/" + name]], [4, 8, 12])
            self.assertEqual([value for _, value in ends["line/" + name]], first[name] + second[name])
            self.assertEqual([value for _, value in ends["line/val_" + name]], first["val_" + name])
        self.assertIn(1, [step for _, step, _ in found])  # the first batch is drawn at once

    def test_tensorboards_callback_draws_instead(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(_engine.debug, "recording", lambda: True), \
                mock.patch.object(_engine.debug, "add_scalar") as drawn:
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile("sgd", "mse")
            x = np.ones([4, 2], np.float32)
            model.fit(x, x[:, :1], verbose=0, callbacks=[tf.keras.callbacks.TensorBoard(folder)])
        self.assertEqual({call.args[0].split(" ")[0] for call in drawn.call_args_list}, {"epoch_loss"})  # "epoch_loss (train)"

    def test_stop_training_ends_it(self):
        class Stop(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                self.model.stop_training = batch == 1

        model = compiled(classifier())
        history = model.fit(X, Y, batch_size=8, epochs=5, verbose=0, callbacks=[Stop()])
        self.assertEqual(history.epoch, [0])
        self.assertEqual(int(model.optimizer.iterations), 2)

    def test_an_interrupt_leaves_a_model_that_can_be_used(self):
        class Interrupt(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 3:
                    signal.raise_signal(signal.SIGINT)

        if threading.current_thread() is not threading.main_thread():
            self.skipTest("needs the main thread: signals reach no other")
        model = compiled(classifier())
        with self.assertRaises(KeyboardInterrupt):
            model.fit(X, Y, batch_size=8, epochs=5, verbose=0, callbacks=[Interrupt()])
        model.fit(X, Y, epochs=1, verbose=0)
        self.assertTrue(np.isfinite(model.predict(X, verbose=0)).all())

    def test_refusals_say_what_is_wrong(self):
        with self.assertRaisesRegex(ValueError, r"must call `compile\(\)`"):
            classifier().fit(X, Y)
        model = compiled(classifier())
        for error, text, call in (
                (ValueError, "Data cardinality is ambiguous. .* x: 96, y: 95", lambda: model.fit(X, Y[:95])),
                (ValueError, "x is None", lambda: model.fit()),
                (ValueError, "`y` argument is not supported", lambda: model.fit(iter([]), Y)),
                (ValueError, "not outputs of the model", lambda: model.fit(X, {"nobody": Y}, verbose=0)),
                (TypeError, "unexpected keyword argument 'lose'", lambda: model.compile("sgd", lose="mse")),
                (ValueError, "nobody", lambda: model.compile("nobody")),
                (TypeError, "needs arrays, tensors", lambda: model.fit(3))):
            with self.assertRaisesRegex(error, text):
                call()
        model.compile("sgd")
        with self.assertRaisesRegex(ValueError, "No loss to compute"):
            model.fit(X, Y, verbose=0)


if __name__ == "__main__":
    unittest.main()
