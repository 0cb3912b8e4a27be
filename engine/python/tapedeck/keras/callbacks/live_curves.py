"""Curves of fit()'s metrics in the notebook's plots."""
import time

from tapedeck.keras.callbacks.base import Callback
from tapedeck.summary import curves

_SECONDS = .1  # between points: a metric is read from its tensor for each


class LiveCurves(Callback):
    """Draws the metrics over the batches that the model learned from, in this fit() and those before it: "model's name/loss",
    "model's name/val_loss" and so on."""

    def __init__(self):
        super().__init__()
        self._due = 0.

    def _draw(self, logs):
        step = vars(self.model)["_drawn_steps"]
        for name, value in logs.items():
            if not getattr(value, "ndim", 0):
                curves.add_point(f"{self.model.name}/{name}", step, float(value))

    def on_train_batch_end(self, batch, logs=None):
        vars(self.model)["_drawn_steps"] = vars(self.model).get("_drawn_steps", 0) + 1
        now = time.monotonic()
        if now >= self._due:
            self._due = now + _SECONDS
            self._draw(logs or {})

    def on_epoch_end(self, epoch, logs=None):
        self._due = time.monotonic() + _SECONDS
        self._draw(logs or {})
