"""tf.keras.callbacks: what is told how training goes, and may change it."""
import math
import os

import numpy as np

from tapedeck.keras.models.compiled import number
from tapedeck.keras.progress_bar import Progbar

_HOOKS = ("on_epoch_begin", "on_epoch_end", "on_train_begin", "on_train_end", "on_test_begin", "on_test_end", "on_predict_begin",
          "on_predict_end", "on_train_batch_begin", "on_train_batch_end", "on_test_batch_begin", "on_test_batch_end",
          "on_predict_batch_begin", "on_predict_batch_end")


class Callback:
    """A base of callbacks: a subclass overrides the methods of what it wants to be told. logs: a dict of the metrics' values.

    self.model is the model; self.params a dict of verbose, epochs and steps.
    """

    def __init__(self):
        self.params, self._model = None, None

    @property
    def model(self):
        """The model that is trained."""
        return vars(self).get("_model")

    def set_params(self, params):
        """Called with verbose, epochs and steps before anything else."""
        self.params = params

    def set_model(self, model):
        """Called with the model before anything else."""
        self._model = model

    def on_batch_begin(self, batch, logs=None):
        """Another name of on_train_batch_begin."""

    def on_batch_end(self, batch, logs=None):
        """Another name of on_train_batch_end."""

    def on_train_batch_begin(self, batch, logs=None):
        """Before each batch of fit()."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """After each batch of fit()."""
        self.on_batch_end(batch, logs)


def _nothing_said(name):
    def method(self, *args, **kwargs):
        """Told of what the name says; does nothing unless it is overridden."""

    method.__name__ = name
    method.__qualname__ = f"Callback.{name}"
    return method


for _name in _HOOKS:
    if not hasattr(Callback, _name):
        setattr(Callback, _name, _nothing_said(_name))


def _listens(callback, name):
    """Whether its class says what to do there."""
    own = getattr(type(callback), name, None)
    if name in ("on_train_batch_begin", "on_train_batch_end"):
        short = name.replace("train_", "")
        if getattr(type(callback), short, None) is not getattr(Callback, short) or short in vars(callback):
            return True
    return own is not None and own is not getattr(Callback, name) or name in vars(callback)


class _Numbers(dict):
    """Logs whose values become numbers of Python's when somebody reads them."""

    def __getitem__(self, name):
        return number(dict.__getitem__(self, name))

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return [(name, self[name]) for name in self]

    def values(self):
        return [self[name] for name in self]


class CallbackList(Callback):
    """Callbacks that are told together. Each hook calls those that listen to it alone."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        if isinstance(callbacks, CallbackList):
            callbacks = callbacks.callbacks
        self.callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        self.params, self._model = params, model
        if add_progbar and not any(isinstance(each, ProgbarLogger) for each in self.callbacks):
            self.callbacks.append(ProgbarLogger())
        if add_history:
            known = [each for each in self.callbacks if isinstance(each, History)]
            history = known[0] if known else History()
            if not known:
                self.callbacks.append(history)
            vars(model)["history"] = history
        for callback in self.callbacks:
            callback.set_model(model)
            callback.set_params(params)
        for name in _HOOKS:
            vars(self)[name] = self._telling(name)

    def append(self, callback):
        """Adds one."""
        self.callbacks.append(callback)
        callback.set_model(self._model)
        callback.set_params(self.params)
        for name in _HOOKS:
            vars(self)[name] = self._telling(name)

    def _telling(self, name):
        listening = [getattr(callback, name) for callback in self.callbacks if _listens(callback, name)]
        takes_number = "batch" in name or "epoch" in name
        batch = "batch" in name
        if not listening:
            return lambda *args: None
        only_bar = all(isinstance(each.__self__, ProgbarLogger) for each in listening if hasattr(each, "__self__"))

        def tell(*args):
            logs = args[1] if takes_number and len(args) > 1 else args[0] if not takes_number and args else None
            logs = {} if logs is None else _Numbers(logs) if batch and isinstance(logs, dict) and not only_bar else logs
            for each in listening:
                each(args[0], logs) if takes_number else each(logs)

        return tell

    def close(self):
        """Ends what is drawn, also where an interrupt stopped it."""
        for callback in self.callbacks:
            if isinstance(callback, ProgbarLogger):
                callback.close()


class History(Callback):
    """What fit() returns. history: {metric: a list of its values after each epoch}; epoch: the epochs' numbers."""

    def __init__(self):
        super().__init__()
        self.history, self.epoch = {}, []

    def on_train_begin(self, logs=None):
        self.epoch = []
        self.history = {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class _Everything:
    """Metrics have averaged themselves."""

    def __contains__(self, name):
        return True


class ProgbarLogger(Callback):
    """Shows each epoch's progress, as fit()'s verbose says."""

    def __init__(self, count_mode=None, stateful_metrics=None):
        super().__init__()
        self._bar, self._testing_alone, self._steps, self._evaluating = None, False, 0, False

    def _begin(self, target):
        self._bar, self._steps = Progbar(target, verbose=self.params["verbose"], stateful_metrics=_Everything()), 0

    def _target(self):
        return self.params.get("steps")

    def on_train_begin(self, logs=None):
        self._training = True

    def on_epoch_begin(self, epoch, logs=None):
        if self.params["epochs"] > 1 and self.params["verbose"]:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}", flush=True)
        self._begin(self._known if vars(self).get("_known") else self._target())

    def on_train_batch_end(self, batch, logs=None):
        self._step(batch + 1, logs)

    def on_epoch_end(self, epoch, logs=None):
        self._known = self._steps
        self._end(logs)

    def on_test_begin(self, logs=None):
        if not vars(self).get("_training"):
            self._begin(self._target())

    def on_test_batch_end(self, batch, logs=None):
        if not vars(self).get("_training"):
            self._step(batch + 1, logs)

    def on_test_end(self, logs=None):
        if not vars(self).get("_training"):
            self._end(logs)

    def on_predict_begin(self, logs=None):
        self._begin(self._target())

    def on_predict_batch_end(self, batch, logs=None):
        self._step(batch + 1, None)

    def on_predict_end(self, logs=None):
        self._end(None)

    def _step(self, steps, logs):
        self._steps = steps
        if self._bar.due():
            self._bar.update(steps, list(logs.items()) if logs else (), finalize=False)

    def _end(self, logs):
        if self._bar is not None:
            self._bar.target = self._steps
            self._bar.update(self._steps, list((logs or {}).items()), finalize=True)

    def close(self):
        """Ends the line where it stands."""
        if self._bar is not None:
            self._bar.close()


# ---- what is better ----

_GROW = ("acc", "auc", "f1", "precision", "recall", "fmeasure", "top_k", "iou")  # parts of names of metrics that are better when larger


class _Monitor:
    """Watches a metric: which of two values is better."""

    def __init__(self, name, monitor, mode, min_delta=0.):
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"{name}: mode is {mode!r}; must be 'auto', 'min' or 'max'")
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
        import warnings
        warnings.warn(f"{self.name}: the metric '{self.monitor}' is not available. Available metrics are: {','.join(logs)}",
                      stacklevel=5)
        return None


class EarlyStopping(Callback):
    """Stops the training when a metric gets no better.

    monitor: the metric; min_delta: what counts as better; patience: after how many epochs without; verbose 1 says so; mode: 'min',
    'max' or 'auto', by the name; baseline: what must be beaten at least; restore_best_weights: the model gets the variables of its
    best epoch back; start_from_epoch: when watching begins.
    """

    def __init__(self, monitor="val_loss", min_delta=0, patience=0, verbose=0, mode="auto", baseline=None,
                 restore_best_weights=False, start_from_epoch=0):
        super().__init__()
        self._monitor = _Monitor("EarlyStopping", monitor, mode, min_delta)
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


class ModelCheckpoint(Callback):
    """Saves the model, or its variables, while it is trained.

    filepath: a name in which {epoch} and metrics stand: "weights.{epoch:02d}-{val_loss:.2f}"; monitor, mode, save_best_only: only
    where the metric is the best so far; save_weights_only: Model.save_weights in place of Model.save; save_freq: 'epoch', or after
    how many batches; initial_value_threshold: what the first must beat. Errors: ValueError for another mode or save_freq.
    """

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", initial_value_threshold=None, options=None):
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values")
        self._monitor = _Monitor("ModelCheckpoint", monitor, mode)
        self.filepath, self.monitor, self.verbose = os.fspath(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self.best = self._monitor.worst if initial_value_threshold is None else initial_value_threshold
        self._batches, self._epoch = 0, 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch

    def on_train_batch_end(self, batch, logs=None):
        self._batches += 1
        if self.save_freq != "epoch" and self._batches % self.save_freq == 0:
            self._save(self._epoch, {"batch": batch + 1, **dict((logs or {}).items())})

    def on_epoch_end(self, epoch, logs=None):
        if self.save_freq == "epoch":
            self._save(epoch, logs or {})

    def _save(self, epoch, logs):
        try:
            path = self.filepath.format(epoch=epoch + 1, **logs)
        except KeyError as error:
            raise KeyError(f"Failed to format this callback filepath: \"{self.filepath}\". Reason: {error}; the metrics are "
                           f"{', '.join(logs)}") from error
        if self.save_best_only:
            value = self._monitor.value(logs)
            if value is None:
                return
            if not self._monitor.better(value, self.best):
                if self.verbose:
                    print(f"\nEpoch {epoch + 1}: {self.monitor} did not improve from {self.best:.5f}")
                return
            if self.verbose:
                print(f"\nEpoch {epoch + 1}: {self.monitor} improved from {self.best:.5f} to {value:.5f}, saving model to {path}")
            self.best = value
        elif self.verbose:
            print(f"\nEpoch {epoch + 1}: saving model to {path}")
        (self.model.save_weights if self.save_weights_only else self.model.save)(path, overwrite=True)


def _learning_rate(optimizer):
    return float(getattr(optimizer, "learning_rate"))


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


class ReduceLROnPlateau(Callback):
    """Multiplies the optimiser's learning rate by `factor` when a metric got no better for `patience` epochs.

    min_delta: what counts as better; cooldown: epochs after a reduction in which nothing counts; min_lr: not below that. Errors:
    ValueError for a factor of 1 and more.
    """

    def __init__(self, monitor="val_loss", factor=0.1, patience=10, verbose=0, mode="auto", min_delta=1e-4, cooldown=0, min_lr=0.0,
                 **kwargs):
        super().__init__()
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau does not support a factor >= 1.0. Got factor={factor}")
        self._monitor = _Monitor("ReduceLROnPlateau", monitor, mode, min_delta)
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.cooldown, self.min_lr = cooldown, min_lr
        self.on_train_begin()

    def on_train_begin(self, logs=None):
        self.best, self.wait, self.cooldown_counter = self._monitor.worst, 0, 0

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
        if self.wait >= self.patience and rate > np.float32(self.min_lr):
            optimizer.learning_rate = max(rate * self.factor, self.min_lr)
            self.cooldown_counter, self.wait = self.cooldown, 0
            if self.verbose:
                print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {_learning_rate(optimizer)}.")


class TerminateOnNaN(Callback):
    """Stops the training when the loss is no finite number."""

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not np.isfinite(loss):
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


class CSVLogger(Callback):
    """Writes each epoch's metrics as a line of a CSV file. append: after what is there, else in its place."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.separator, self.append = os.fspath(filename), separator, append
        self._file, self._writer, self._keys = None, None, None

    def on_train_begin(self, logs=None):
        import csv
        has_lines = self.append and os.path.exists(self.filename) and os.path.getsize(self.filename) > 0
        self._file = open(self.filename, "a" if self.append else "w", newline="")
        self._writer, self._keys, self._headed = csv.writer(self._file, delimiter=self.separator), None, has_lines

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        if self._keys is None:
            self._keys = sorted(logs)
            if not self._headed:
                self._writer.writerow(["epoch", *self._keys])
        self._writer.writerow([epoch, *(_cell(logs.get(key, "NA")) for key in self._keys)])
        self._file.flush()

    def on_train_end(self, logs=None):
        self._file.close()
        self._writer = None


def _cell(value):
    return f'"[{", ".join(map(str, np.ravel(value)))}]"' if getattr(value, "ndim", 0) else value


class LambdaCallback(Callback):
    """A callback of functions: LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch))."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None, on_train_batch_begin=None,
                 on_train_batch_end=None, on_batch_begin=None, on_batch_end=None, **kwargs):
        super().__init__()
        given = dict(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end, on_train_begin=on_train_begin,
                     on_train_end=on_train_end,
                     on_train_batch_begin=on_train_batch_begin or on_batch_begin,
                     on_train_batch_end=on_train_batch_end or on_batch_end, **kwargs)
        for name, function in given.items():
            if function is not None:
                if name not in _HOOKS:
                    raise TypeError(f"LambdaCallback() got an unexpected keyword argument {name!r}")
                setattr(self, name, function)


class BackupAndRestore(Callback):
    """Saves the model after each epoch, and goes on from there where a fit() was interrupted; removed when it ends.

    backup_dir: a folder; save_freq: 'epoch'; delete_checkpoint: whether what was saved is removed at the end.
    """

    def __init__(self, backup_dir, save_freq="epoch", delete_checkpoint=True, save_before_preemption=False):
        super().__init__()
        if not backup_dir:
            raise ValueError("Empty `backup_dir` argument passed")
        if save_freq != "epoch":
            raise ValueError(f"BackupAndRestore: save_freq is {save_freq!r}; must be 'epoch'")
        self.backup_dir, self.delete_checkpoint = os.fspath(backup_dir), delete_checkpoint

    def _path(self):
        return os.path.join(self.backup_dir, "backup.safetensors")

    def on_train_begin(self, logs=None):
        from tapedeck.checkpoint.files import TensorFile
        from tapedeck.keras.models.saving import restore_model
        tensors = self._path()
        if os.path.exists(tensors):
            file = TensorFile(tensors)
            restore_model(self.model, tensors)
            vars(self.model)["_resumed_epoch"] = int(file.metadata["tapedeck.epoch"]) + 1

    def on_epoch_end(self, epoch, logs=None):
        from tapedeck.keras.models.saving import write_model
        os.makedirs(self.backup_dir, exist_ok=True)
        write_model(self.model, self._path(), {"tapedeck.epoch": str(epoch)})

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.exists(self._path()):
            os.remove(self._path())


class TensorBoard(Callback):
    """Writes the metrics of epochs, and of batches, to TensorBoard's event files, and shows them as curves in the notebook's plots.

    log_dir: a folder, in which "train" and "validation" are made; histogram_freq: after how many epochs histograms of the variables
    are written, 0 for never; update_freq: 'epoch', 'batch', or after how many batches metrics are written too. write_graph,
    write_images, write_steps_per_second, profile_batch and embeddings change nothing.
    """

    def __init__(self, log_dir="logs", histogram_freq=0, write_graph=True, write_images=False, write_steps_per_second=False,
                 update_freq="epoch", profile_batch=0, embeddings_freq=0, embeddings_metadata=None):
        super().__init__()
        self.log_dir, self.histogram_freq = os.fspath(log_dir), histogram_freq
        self.update_freq = 1 if update_freq == "batch" else update_freq
        self._writers, self._step = {}, 0

    def _writer(self, name):
        if name not in self._writers:
            from tapedeck import summary
            self._writers[name] = summary.create_file_writer(os.path.join(self.log_dir, name))
        return self._writers[name]

    def _write(self, folder, prefix, values, step):
        from tapedeck import summary
        with self._writer(folder).as_default():
            for name, value in values.items():
                if not getattr(value, "ndim", 0):
                    summary.scalar(prefix + name, float(value), step=step)

    def on_train_begin(self, logs=None):
        self._step, self._writers = 0, {}

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        if self.update_freq != "epoch" and self._step % self.update_freq == 0:
            self._write("train", "batch_", dict((logs or {}).items()), self._step)

    def on_epoch_end(self, epoch, logs=None):
        logs = logs or {}
        trained = {name: value for name, value in logs.items() if not name.startswith("val_")}
        self._write("train", "epoch_", trained, epoch)
        validated = {name.removeprefix("val_"): value for name, value in logs.items() if name.startswith("val_")}
        if validated:
            self._write("validation", "epoch_", validated, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            from tapedeck import summary
            with self._writer("train").as_default():
                for variable in self.model.weights:
                    summary.histogram(variable.name.replace(":", "_"), variable, step=epoch)

    def on_train_end(self, logs=None):
        for writer in self._writers.values():
            writer.close()


__all__ = ["BackupAndRestore", "CSVLogger", "Callback", "CallbackList", "EarlyStopping", "History", "LambdaCallback",
           "LearningRateScheduler", "ModelCheckpoint", "ProgbarLogger", "ReduceLROnPlateau", "TensorBoard", "TerminateOnNaN"]
