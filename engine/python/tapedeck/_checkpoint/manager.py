"""tf.train.CheckpointManager: the last few checkpoints of a folder."""
import os
import time

from tapedeck._checkpoint import state
from tapedeck._checkpoint.files import path_text
from tapedeck._core.public import public


@public("train.CheckpointManager")
class CheckpointManager:
    """Manages the checkpoints of a folder: numbers new ones and deletes old ones.

    checkpoint: a tf.train.Checkpoint; directory: the folder, made when needed; max_to_keep: how many stay, None for all;
    keep_checkpoint_every_n_hours: of those that would be deleted, one stays for so many hours; checkpoint_name: what files' names
    begin with; step_counter: a variable that counts steps, and checkpoint_interval: how many steps lie between two checkpoints;
    init_fn: what restore_or_initialize calls where there is none; last_checkpoint_step: the step of the last one.
    What there is in the folder, another manager's too, is found by its file "checkpoint".
    Errors: ValueError for max_to_keep below 1, and checkpoint_interval without step_counter.
    """

    def __init__(self, checkpoint, directory, max_to_keep, keep_checkpoint_every_n_hours=None, checkpoint_name="ckpt",
                 step_counter=None, checkpoint_interval=None, init_fn=None, last_checkpoint_step=None):
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not None.")
        self._checkpoint = checkpoint
        self._directory = path_text(directory)
        self._max_to_keep = max_to_keep
        self._hours = keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self._directory, checkpoint_name)
        self._step_counter, self._interval, self._last_step = step_counter, checkpoint_interval, last_checkpoint_step
        self._init_fn = init_fn
        self._kept = {}  # path: when it was written; the oldest first
        self._latest = None
        now = time.time()
        self._last_preserved = now - 1.
        found = state.get_checkpoint_state(self._directory)
        if found is not None:
            self._adopt(found, now)

    def _adopt(self, found, now):
        self._latest = found.model_checkpoint_path
        self._last_preserved = min(found.last_preserved_timestamp, now)
        times = found.all_model_checkpoint_timestamps or [self._last_preserved] * len(found.all_model_checkpoint_paths)
        for path, written in zip(found.all_model_checkpoint_paths, times):
            if min(written, now) > self._last_preserved:
                self._kept[path] = min(written, now)

    @property
    def directory(self):
        """The folder."""
        return self._directory

    @property
    def checkpoint(self):
        """The tf.train.Checkpoint."""
        return self._checkpoint

    @property
    def checkpoint_interval(self):
        """How many steps lie between two checkpoints, or None."""
        return self._interval

    @property
    def latest_checkpoint(self):
        """The path of the newest one, what restore takes; None where there is none."""
        return self._latest

    @property
    def checkpoints(self):
        """The paths of those that may be deleted later, the oldest first."""
        return list(self._kept)

    def save(self, checkpoint_number=None, check_interval=True, options=None):
        """Writes a checkpoint, and deletes those that are too many.

        checkpoint_number: None for the number of saves. check_interval False: also before checkpoint_interval is over, but never
        twice for one step.
        Returns: its path; None where it is not time for one. Errors: those of Checkpoint.save.
        """
        if self._interval is not None:
            step = int(self._step_counter)
            if self._last_step is not None:
                if step == self._last_step or check_interval and step < self._last_step + self._interval:
                    return None

        def path_of(saves):
            return f"{self._prefix}-{saves if checkpoint_number is None else int(checkpoint_number)}"

        path = self._checkpoint._save_numbered(path_of, options)
        if self._interval is not None:
            self._last_step = step
        self._kept.pop(path, None)
        self._kept[path] = time.time()
        self._latest = path
        self._record()  # the new one is known before an old one goes
        if self._sweep():
            self._record()
        return path

    def _sweep(self):
        """Whether one was deleted."""
        swept = False
        while self._max_to_keep and len(self._kept) > self._max_to_keep:
            path, written = next(iter(self._kept.items()))
            del self._kept[path]
            swept = True
            if self._hours and written - self._hours * 3600. >= self._last_preserved:
                self._last_preserved = written
            else:
                state.remove_checkpoint(path)
        return swept

    def _record(self):
        state.update_checkpoint_state(self._directory, self._latest, list(self._kept),
                                      all_model_checkpoint_timestamps=list(self._kept.values()),
                                      last_preserved_timestamp=self._last_preserved, relative=True)

    def restore_or_initialize(self):
        """Restores the newest checkpoint; where there is none, calls init_fn. Returns: its path, or None."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest)
            if self._interval is not None:
                self._last_step = int(self._step_counter)
            return self._latest
        if self._init_fn is not None:
            self._init_fn()
        return None

    def sync(self):
        """Does nothing: save() returns after the checkpoint has been written to disk."""
