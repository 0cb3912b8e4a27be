"""The mean of losses over batches, which logs show as 'loss'."""
from tapedeck import _engine
from tapedeck._core.composites import op
from tapedeck._core.context import init_scope


def _unless_on_gpu(value):
    """The value as a number where that waits for nothing."""
    return value if getattr(value, "_place", "/cpu:0") != "/cpu:0" else float(value)


class LossTracker:
    """The mean of losses over batches, each as often as it has examples: what 'loss' is in logs. It records no ops, and runs some only for
    losses on a GPU, which it does not wait for. From its first use in a function that is traced on its numbers are in a variable, which the
    runs of the function change."""

    def __init__(self, name="loss"):
        self.name, self._total, self._count, self._noted = name, 0., 0, None
        self._state = None  # total, count, the provisional loss and its examples, float64, of functions
        self.variables = self.weights = ()

    def note(self, value, examples):
        """Takes a batch's loss into account provisionally: an update_state before the next batch replaces it, as in a train_step that
        updates all `metrics` after compute_loss."""
        if _engine.is_tracing():
            self._write(*self._settled(self._read()), value, examples)
            return
        self._load()
        self._settle()
        self._noted = _unless_on_gpu(value), examples
        self._save()

    def update_state(self, value, sample_weight=1):
        """Takes a batch's loss into account; sample_weight: its examples."""
        if _engine.is_tracing():
            total, count, _, _ = self._read()
            self._write(*self._settled((total, count, _float64(value), _float64(sample_weight))), 0., 0.)
            return
        self._load()
        self._noted = _unless_on_gpu(value), sample_weight
        self._settle()
        self._save()

    def _settle(self):
        self._total, self._count = self._with_noted()
        self._noted = None

    def _with_noted(self):
        if self._noted is None:
            return self._total, self._count
        value, examples = self._noted
        if isinstance(value, float):
            return self._total + value * examples, self._count + examples
        with _engine.QuietScope():
            return op("cast")(value, "float64") * examples + self._total, self._count + examples

    def result(self):
        """The mean, a number; of losses on a GPU a float64 scalar, and in a function that is traced a float32 one, as a function makes of a
        number that it returns; 0 before the first."""
        if _engine.is_tracing():
            total, count = self._settled(self._read())
            return op("cast")(total / op("maximum")(count, _float64(1.)), "float32")
        self._load()
        total, count = self._with_noted()
        if not count or isinstance(total, float):
            return total / count if count else 0.
        with _engine.QuietScope():
            return total / count

    def reset_state(self):
        """Forgets all."""
        if _engine.is_tracing():
            self._read()
            self._write(0., 0., 0., 0.)
            return
        self._total, self._count, self._noted = 0., 0, None
        self._save()

    reset_states = reset_state

    # ---- functions

    def _read(self):
        """Symbolic: total, count, the provisional loss and its examples."""
        if self._state is None:
            with init_scope():
                value, examples = self._noted or (0., 0)
                self._state = _engine.Variable([float(self._total), float(self._count), float(value), float(examples)], trainable=False,
                                               dtype="float64", name=f"{self.name}_state")
        return op("unstack")(self._state.read_value())

    @staticmethod
    def _settled(state):
        total, count, value, examples = state
        return total + value * examples, count + examples

    def _write(self, *state):
        self._state.assign(op("stack")([_float64(each) for each in state]))

    def _load(self):
        if self._state is not None:
            self._total, self._count, value, examples = self._state.numpy().tolist()
            self._noted = (value, examples) if examples else None

    def _save(self):
        if self._state is not None:
            value, examples = self._noted or (0., 0)
            with _engine.QuietScope():
                self._state.assign([float(self._total), float(self._count), float(value), float(examples)])


def _float64(value):
    is_tensor = isinstance(value, (_engine.Tensor, _engine.Variable))
    return op("cast")(value, "float64") if is_tensor else _engine.constant(value, "float64", None)
