"""Callbacks are called in order and change what they say they change; progress bars are lines that fit."""
import io
import math
import os
import pathlib
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from unittest import mock

import numpy as np
import tapedeck as tf
from tapedeck.keras import progress_bar

callbacks = tf.keras.callbacks
RNG = np.random.default_rng(8)
X = RNG.normal(size=(32, 4)).astype(np.float32)
Y = X[:, :1] * 2


def model_of(rate=.01):
    tf.random.set_seed(2)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(tf.keras.optimizers.SGD(rate), "mse")
    return model


class Scripted(tf.keras.Model):
    """Its val_loss is what a list says."""

    def __init__(self, losses, rate=.1):
        super().__init__()
        self.losses_to_come = tuple(losses)
        vars(self)["shown"] = 0
        self.weight = tf.Variable(0.)
        self.compile(tf.keras.optimizers.SGD(rate))

    def call(self, x):
        return x

    def train_step(self, data):
        self.weight.assign_add(1.)
        return {"loss": 0.}

    def test_step(self, data):
        vars(self)["shown"] += 1
        return {"loss": self.losses_to_come[self.shown - 1]}

    def train(self, *listeners, epochs=None):
        return self.fit(X, Y, batch_size=32, epochs=epochs or len(self.losses_to_come), validation_data=(X[:1], Y[:1]), verbose=0,
                        callbacks=list(listeners))


class Order(unittest.TestCase):
    def test_all_hooks_are_told_in_their_order(self):
        told = []

        class Noting(callbacks.Callback):
            pass

        for name in ("on_train_begin", "on_epoch_begin", "on_train_batch_begin", "on_train_batch_end", "on_test_begin",
                     "on_test_batch_begin",
                     "on_test_batch_end", "on_test_end", "on_epoch_end", "on_train_end", "on_predict_begin",
                     "on_predict_batch_begin", "on_predict_batch_end", "on_predict_end"):
            setattr(Noting, name, lambda self, *args, name=name: told.append(name.removeprefix("on_")))
        model, noting = model_of(), Noting()
        model.fit(X, Y, batch_size=16, validation_data=(X[:4], Y[:4]), verbose=0, callbacks=[noting])
        batch = ["train_batch_begin", "train_batch_end"]
        self.assertEqual(told, ["train_begin", "epoch_begin", *batch, *batch, "test_begin", "test_batch_begin", "test_batch_end",
                                "test_end", "epoch_end", "train_end"])
        self.assertIs(noting.model, model)
        self.assertEqual(noting.params, {"verbose": 0, "epochs": 1, "steps": 2})
        told.clear()
        model.predict(X, verbose=0, callbacks=[noting])
        self.assertEqual(told, ["predict_begin", "predict_batch_begin", "predict_batch_end", "predict_end"])

    def test_the_first_names_of_batches_are_told_too(self):
        told = []

        class Noting(callbacks.Callback):
            def on_batch_end(self, batch, logs=None):
                told.append((batch, type(logs["loss"])))

        model_of().fit(X, Y, batch_size=16, verbose=0, callbacks=[Noting()])
        self.assertEqual(told, [(0, float), (1, float)])

    def test_functions_are_callbacks(self):
        told = []
        model_of().fit(X, Y, epochs=2, verbose=0, callbacks=callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: told.append((epoch, "loss" in logs)), on_train_end=lambda logs: told.append("end")))
        self.assertEqual(told, [(0, True), (1, True), "end"])
        with self.assertRaisesRegex(TypeError, "on_nothing"):
            callbacks.LambdaCallback(on_nothing=print)


class Watching(unittest.TestCase):
    def test_early_stopping_waits_and_gives_the_best_back(self):
        model = Scripted([5., 3., 4., 4., 1.])
        stopping = callbacks.EarlyStopping(patience=2, restore_best_weights=True)
        history = model.train(stopping)
        self.assertEqual(history.history["val_loss"], [5., 3., 4., 4.])
        self.assertEqual((stopping.stopped_epoch, stopping.best, float(model.weight)), (3, 3., 2.))

    def test_early_stopping_knows_which_way_is_better(self):
        self.assertEqual(len(Scripted([1., 2., 3., 2.]).train(callbacks.EarlyStopping(mode="max")).epoch), 4)
        self.assertEqual(len(Scripted([3., 2.95, 2.9]).train(callbacks.EarlyStopping(min_delta=.1, patience=1)).epoch), 2)
        self.assertEqual(len(Scripted([3., 3., 3.]).train(callbacks.EarlyStopping(baseline=.5, patience=1)).epoch), 2)
        self.assertEqual(len(Scripted([3., 4., 5., 6.]).train(callbacks.EarlyStopping(patience=1, start_from_epoch=2)).epoch), 4)
        with self.assertWarnsRegex(UserWarning, "mode is 'more'"):
            stopping = callbacks.EarlyStopping(mode="more")
        self.assertEqual(len(Scripted([3., 4., 2.]).train(stopping).epoch), 2)  # as 'auto' has it: a loss is to fall
        with self.assertWarnsRegex(UserWarning, "'nothing' is not available. Available metrics are: loss,val_loss"):
            Scripted([1.]).train(callbacks.EarlyStopping("nothing"))

    def test_plateaus_lower_the_learning_rate(self):
        model = Scripted([3., 3., 3., 3., 3., 3.], rate=1.)
        history = model.train(callbacks.ReduceLROnPlateau(factor=.5, patience=2, cooldown=1, min_lr=.3)).history
        np.testing.assert_allclose(history["learning_rate"], [1., 1., 1., .5, .5, .3][:len(history["learning_rate"])], rtol=1e-6)
        out = io.StringIO()
        with redirect_stdout(out):
            Scripted([3., 3.], rate=.3).train(callbacks.ReduceLROnPlateau(factor=.1, patience=1, min_lr=.1, verbose=1))
        self.assertIn("Epoch 2: ReduceLROnPlateau reducing learning rate to 0.1.\n", out.getvalue())
        with self.assertRaisesRegex(ValueError, "factor >= 1.0. Got factor=2"):
            callbacks.ReduceLROnPlateau(factor=2)

    def test_a_schedule_sets_the_learning_rate(self):
        for schedule in (lambda epoch: .1 / (epoch + 1), lambda epoch, rate: .1 / (epoch + 1)):
            model = model_of()
            history = model.fit(X, Y, epochs=3, verbose=0, callbacks=[callbacks.LearningRateScheduler(schedule)]).history
            np.testing.assert_allclose(history["learning_rate"], [.1, .05, .1 / 3], rtol=1e-6)
        with self.assertRaisesRegex(ValueError, "should be a float. Got: 'a'"):
            model.fit(X, Y, verbose=0, callbacks=[callbacks.LearningRateScheduler(lambda epoch: "a")])

    def test_a_loss_that_is_no_number_ends_it(self):
        model = model_of(1e30)
        with redirect_stdout(io.StringIO()) as out:
            history = model.fit(X, Y, epochs=50, batch_size=8, verbose=0, callbacks=[callbacks.TerminateOnNaN()])
        self.assertLess(len(history.epoch), 50)
        self.assertRegex(out.getvalue(), r"Batch \d: Invalid loss, terminating training")


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def test_checkpoints_are_written_where_it_got_better(self):
        Scripted([5., 6., 4., 7.]).train(callbacks.ModelCheckpoint(self.path("w{epoch:02d}-{val_loss:.1f}"), save_best_only=True,
                                                                   save_weights_only=True))
        self.assertEqual(sorted(os.listdir(self.folder)), ["checkpoint", "w01-5.0.safetensors", "w03-4.0.safetensors"])

    def test_checkpoints_come_by_batches_too_and_are_whole_models(self):
        model = model_of()
        model.fit(X, Y, batch_size=8, verbose=0, callbacks=[callbacks.ModelCheckpoint(self.path("{batch}.keras"), save_freq=2)])
        self.assertEqual(sorted(os.listdir(self.folder)), ["2.keras.safetensors", "4.keras.safetensors"])
        np.testing.assert_array_equal(tf.keras.models.load_model(self.path("4.keras"))(X), model(X))
        with self.assertRaisesRegex(ValueError, "Unrecognized save_freq: often"):
            callbacks.ModelCheckpoint("a", save_freq="often")
        with self.assertRaisesRegex(KeyError, "nobody"):
            model.fit(X, Y, verbose=0, callbacks=[callbacks.ModelCheckpoint(self.path("{nobody}"))])

    def test_csv_has_a_line_for_each_epoch(self):
        for append in (False, True):
            model_of().fit(X, Y, epochs=2, verbose=0, callbacks=[callbacks.CSVLogger(self.path("log.csv"), append=append)])
        with open(self.path("log.csv")) as file:
            lines = [line.split(",") for line in file.read().splitlines()]
        self.assertEqual([line[0] for line in lines], ["epoch", "0", "1", "0", "1"])
        self.assertEqual(lines[0], ["epoch", "loss"])
        self.assertEqual(lines[1], lines[3])

    def test_a_run_that_was_interrupted_goes_on_where_it_was(self):
        class Interrupt(callbacks.Callback):
            def on_epoch_begin(self, epoch, logs=None):
                if epoch == 2:
                    raise KeyboardInterrupt

        whole = model_of()
        whole.fit(X, Y, epochs=4, shuffle=False, verbose=0)
        backup = callbacks.BackupAndRestore(self.path("backup"))
        with self.assertRaises(KeyboardInterrupt):
            model_of().fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[backup, Interrupt()])
        again = model_of()
        history = again.fit(X, Y, epochs=4, shuffle=False, verbose=0, callbacks=[callbacks.BackupAndRestore(self.path("backup"))])
        self.assertEqual(history.epoch, [2, 3])
        for one, two in zip(whole.get_weights(), again.get_weights()):
            np.testing.assert_array_equal(one, two)
        self.assertFalse(os.path.exists(self.path("backup")))


class Summaries(unittest.TestCase):
    def test_tensorboard_gets_curves_of_training_and_validation(self):
        with tempfile.TemporaryDirectory() as folder:
            model_of().fit(X, Y, epochs=2, validation_data=(X[:4], Y[:4]), verbose=0,
                           callbacks=[callbacks.TensorBoard(folder, histogram_freq=1, update_freq="batch")])
            written = {each.name: b"".join(file.read_bytes() for file in each.iterdir()) for each in pathlib.Path(folder).iterdir()}
        self.assertEqual(set(written), {"train", "validation"})
        for name, tags in (("train", (b"epoch_loss", b"batch_loss", b"kernel")), ("validation", (b"epoch_loss",))):
            for tag in tags:
                self.assertIn(tag, written[name])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Bars(unittest.TestCase):
    def test_it_is_in_utils(self):
        self.assertIs(tf.keras.utils.Progbar, progress_bar.Progbar)

    def drawn(self, columns, call):
        size = os.terminal_size((columns, 24))
        with mock.patch("shutil.get_terminal_size", return_value=size), redirect_stdout(Terminal()) as out:
            call()
        return out.getvalue()

    def test_a_line_is_rewritten_and_ends_once(self):
        def run():
            bar = progress_bar.Progbar(3, interval=0)
            for step in range(1, 4):
                bar.update(step, [("loss", 1. / step)])

        text = self.drawn(100, run)
        self.assertEqual((text.count("\n"), text.count("\r")), (1, 3))
        lines = text.rstrip("\n").split("\r")[1:]
        self.assertTrue(lines[0].startswith("1/3 ━━━━━━──────────────"))
        self.assertRegex(lines[2], r"^3/3 ━{20} 0s \d+[mu]s/step - loss: 0\.6111 *$")  # the mean of three
        self.assertGreaterEqual(len(lines[2]), len(lines[1].rstrip()))  # nothing of a longer line stays

    def test_it_fits_the_terminal(self):
        for columns in (30, 60, 100):
            text = self.drawn(columns, lambda: [progress_bar.Progbar(1000, interval=0).update(
                500, [(name, .123) for name in ("loss", "accuracy", "val_loss")])])
            self.assertLess(max(map(len, text.split("\r"))), columns)

    def test_it_is_drawn_at_most_ten_times_a_second(self):
        def run():
            bar = progress_bar.Progbar(2000)
            with mock.patch.object(time, "monotonic", side_effect=(bar._started + step / 1000 for step in range(10**6))):
                for step in range(1, 2001):
                    bar.update(step)

        self.assertLessEqual(self.drawn(100, run).count("\r"), 45)  # of at most 4 s: the clock is read twice a step

    def test_an_interrupt_ends_the_line(self):
        def run():
            bar = progress_bar.Progbar(3, interval=0)
            bar.update(1)
            bar.close()

        self.assertTrue(self.drawn(80, run).endswith("\n"))

    def test_durations_and_numbers_are_short(self):
        self.assertEqual([progress_bar.duration(each) for each in (3.2, 75, 3675)], ["3s", "1:15", "1:01:15"])
        self.assertEqual([progress_bar.per_step(each) for each in (2.4, .0123, .00004)], ["2s/step", "12ms/step", "40us/step"])
        self.assertEqual([progress_bar.metric_text("a", each) for each in (.5, 2e-5, 0, math.nan)],
                         ["a: 0.5000", "a: 2.0000e-05", "a: 0.0000", "a: nan"])

    def test_fit_draws_in_a_terminal(self):
        text = self.drawn(100, lambda: model_of().fit(X, Y, epochs=2, batch_size=8, validation_split=.25))
        lines = [line.split("\r")[-1] for line in text.split("\n")]
        self.assertEqual(lines[0], "Epoch 1/2")
        self.assertRegex(lines[1], r"^3/3 ━{20} \d+s \d+[mu]?s/step - loss: \d+\.\d{4} - val_loss: \d+\.\d{4} *$")


if __name__ == "__main__":
    unittest.main()
