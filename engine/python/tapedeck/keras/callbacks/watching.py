"""Callbacks that watch a metric, and the learning rate."""
import math
import warnings

import numpy as np

from tapedeck._core.public import public
from tapedeck.keras.callbacks.base import Callback

# Parts of names of metrics that are better when larger.
_GROW = ("acc", "auc", "f1", "precision", "recall", "fmeasure", "top_k", "iou")


class Monitor:
    """Monitors a metric and decides which of two values is better."""

    def __init__(self, name, monitor, mode, min_delta=0.):
        if mode not in ("auto", "min", "max"):
            warnings.warn(f"{name}: mode is {mode!r}; must be 'auto', 'min' or 'max'. 'auto' is taken", stacklevel=3)
            mode = "auto"
        if not isinstance(monitor, str):
            raise TypeError(f"{name}: monitor is {monitor!r}; needs the name of a metric")
        self.name, self.monitor = name, monitor
        self.grows = mode == "max" or mode == "auto" and any(part in monitor.lower() for part in _GROW)
        self.delta = abs(min_delta)
        self.worst = -math.inf if self.grows else math.inf

    def better(self, value, best):
        """Whether the value is better than the best, by more than the delta."""
        return value - self.delta > best if self.grows else value + self.delta < best

    def value(self, logs):
        """The metric's value, or None, of which a warning tells."""
        if self.monitor in logs:
            return float(logs[self.monitor])
        warnings.warn(f"{self.name}: the metric '{self.monitor}' is not available. Available metrics are: {','.join(logs)}",
                      stacklevel=5)
        return None


@public("keras.callbacks.EarlyStopping")
class EarlyStopping(Callback):
    """Stops training when a metric has stopped improving.

    monitor: the metric; min_delta: what counts as better; patience: after how many epochs without; verbose 1 says so; mode: 'min',
    'max' or 'auto', by the name; baseline: what must be beaten at least; restore_best_weights: the model gets the variables of its
    best epoch back; start_from_epoch: when watching begins.
    """

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False, start_from_epoch=0):
        super().__init__()
        self._monitor = Monitor("EarlyStopping", monitor, mode, min_delta)
        self.monitor, self.patience, self.verbose, self.baseline = monitor, patience, verbose, baseline
        self.restore_best_weights, self.start_from_epoch = restore_best_weights, start_from_epoch
        self.wait, self.stopped_epoch, self.best, self.best_weights, self.best_epoch = 0, 0, self._monitor.worst, None, 0

    def on_train_begin(self, logs=None):
        self.wait, self.stopped_epoch, self.best_weights, self.best_epoch = 0, 0, None, 0
        self.best = self._monitor.worst

    def on_epoch_end(self, epoch, logs=None):
        if epoch < self.start_from_epoch:
            return
        value = self._monitor.value(logs or {})
        if value is None:
            return
        if self.restore_best_weights and self.best_weights is None:
            self.best_weights, self.best_epoch = self.model.get_weights(), epoch
        self.wait += 1
        if self._monitor.better(value, self.best):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self.best_weights = self.model.get_weights()
            if self.baseline is None or self._monitor.better(value, self.baseline):
                self.wait = 0
            return
        if self.wait >= self.patience and epoch > 0:
            self.stopped_epoch = epoch
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        if self.stopped_epoch and self.verbose:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self.restore_best_weights and self.best_weights is not None:
            if self.verbose:
                print(f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self.best_weights)


def _learning_rate(optimizer):
    return float(optimizer.learning_rate)


@public("keras.callbacks.LearningRateScheduler")
class LearningRateScheduler(Callback):
    """Sets the optimiser's learning rate before each epoch to schedule(epoch, rate), or schedule(epoch). verbose 1 says so."""

    def __init__(self, schedule, verbose=0):
        super().__init__()
        self.schedule, self.verbose = schedule, verbose

    def on_epoch_begin(self, epoch, logs=None):
        try:
            rate = self.schedule(epoch, _learning_rate(self.model.optimizer))
        except TypeError:
            rate = self.schedule(epoch)
        if not isinstance(rate, (float, int, np.floating)) and not hasattr(rate, "numpy"):
            raise ValueError(f"The output of the `schedule` function should be a float. Got: {rate!r}")
        self.model.optimizer.learning_rate = float(rate)
        if self.verbose:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {float(rate)}.")

    def on_epoch_end(self, epoch, logs=None):
        if logs is not None:
            logs["learning_rate"] = _learning_rate(self.model.optimizer)


@public("keras.callbacks.ReduceLROnPlateau")
class ReduceLROnPlateau(Callback):
    """Multiplies the optimiser's learning rate by `factor` when a metric has not improved for `patience` epochs.

    min_delta: what counts as better; cooldown: epochs after a reduction in which nothing counts; min_lr: not below that. Errors:
    ValueError for a factor of 1 and more.
    """

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0, min_lr=0.0,
                 **kwargs):
        super().__init__()
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Got factor={factor}")
        self._monitor = Monitor("ReduceLROnPlateau", monitor, mode, min_delta)
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.on_train_begin()

    def on_train_begin(self, logs=None):
        self.best, self.wait, self.cooldown_counter = self._monitor.worst, 0, 0

    def _least(self, optimizer):
        """min_lr as the variable of the learning rate holds it: rounded to its dtype."""
        return float(np.asarray(self.min_lr, np.asarray(optimizer.learning_rate).dtype))

    def on_epoch_end(self, epoch, logs=None):
        optimizer = self.model.optimizer
        value = self._monitor.value(logs if logs is not None else {})
        if logs is not None:
            logs["learning_rate"] = _learning_rate(optimizer)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self._monitor.better(value, self.best):
            self.best, self.wait = value, 0
            return
        if self.cooldown_counter > 0:
            return
        self.wait += 1
        rate = _learning_rate(optimizer)
        if self.wait >= self.patience and rate > self._least(optimizer):
            reduced = max(rate * self.factor, self.min_lr)
            optimizer.learning_rate = reduced
            self.cooldown_counter, self.wait = self.cooldown, 0
            if self.verbose:
                print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {reduced}.")


@public("keras.callbacks.TerminateOnNaN")
class TerminateOnNaN(Callback):
    """Stops the training when the loss is not a finite number."""

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True
