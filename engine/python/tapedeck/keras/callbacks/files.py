"""Callbacks that write files: checkpoints, CSV, TensorBoard's event files."""
import csv
import os

import numpy as np

from tapedeck import summary
from tapedeck._checkpoint.files import TensorFile
from tapedeck._core.public import public
from tapedeck.keras.callbacks.base import Callback
from tapedeck.keras.callbacks.watching import Monitor
from tapedeck.keras.models.saving import restore_model, write_model


@public("keras.callbacks.ModelCheckpoint")
class ModelCheckpoint(Callback):
    """Saves the model, or its variables, during training.

    filepath: a name with placeholders for {epoch} and metrics: "weights.{epoch:02d}-{val_loss:.2f}"; monitor, mode, save_best_only: only
    where the metric is the best so far; save_weights_only: Model.save_weights in place of Model.save; save_freq: 'epoch', or after
    how many batches; initial_value_threshold: what the first must beat. Errors: ValueError for another mode or save_freq.
    """

    def __init__(self, filepath, monitor="val_loss", verbose=0, save_best_only=False, save_weights_only=False, mode="auto",
                 save_freq="epoch", initial_value_threshold=None, options=None):
        super().__init__()
        if save_freq != "epoch" and not isinstance(save_freq, int):
            raise ValueError(f"Unrecognized save_freq: {save_freq}. Expected save_freq are 'epoch' or integer values")
        self._monitor = Monitor("ModelCheckpoint", monitor, mode)
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


@public("keras.callbacks.CSVLogger")
class CSVLogger(Callback):
    """Writes each epoch's metrics as a line of a CSV file. append: after what is there, else in its place."""

    def __init__(self, filename, separator=",", append=False):
        super().__init__()
        self.filename, self.separator, self.append = os.fspath(filename), separator, append
        self._file, self._writer, self._keys = None, None, None

    def on_train_begin(self, logs=None):
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


@public("keras.callbacks.BackupAndRestore")
class BackupAndRestore(Callback):
    """Saves the model after each epoch, so that an interrupted fit() resumes from there; the backup is removed at the end.

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
        tensors = self._path()
        if os.path.exists(tensors):
            file = TensorFile(tensors)
            restore_model(self.model, tensors)
            vars(self.model)["_resumed_epoch"] = int(file.metadata["tapedeck.epoch"]) + 1

    def on_epoch_end(self, epoch, logs=None):
        os.makedirs(self.backup_dir, exist_ok=True)
        write_model(self.model, self._path(), {"tapedeck.epoch": str(epoch)})

    def on_train_end(self, logs=None):
        if self.delete_checkpoint and os.path.exists(self._path()):
            os.remove(self._path())
            if not os.listdir(self.backup_dir):
                os.rmdir(self.backup_dir)


@public("keras.callbacks.TensorBoard")
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
            self._writers[name] = summary.create_file_writer(os.path.join(self.log_dir, name))
        return self._writers[name]

    def _write(self, folder, prefix, values, step):
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
            with self._writer("train").as_default():
                for variable in self.model.weights:
                    summary.histogram(variable.name.replace(":", "_"), variable, step=epoch)

    def on_train_end(self, logs=None):
        for writer in self._writers.values():
            writer.close()
