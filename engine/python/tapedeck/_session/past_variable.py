"""A variable as it was at a moment of the past: read as any variable is, but not assigned to."""
from tapedeck import _engine
from tapedeck._core.context import device

_CHANGES = ("assign", "assign_add", "assign_sub", "batch_scatter_update", "count_up_to", "load") + tuple(
    name for name in dir(_engine.Variable) if name.startswith("scatter_"))


class PastVariable(_engine.Variable):
    """Another variable than the program's, with its name, and with the very value that it had then."""

    __slots__ = ("_text", "_moment", "_version")

    @property
    def constraint(self):
        raise AttributeError(f"which constraint {self._text} had at op {self._moment:,} is not recorded")

    def is_changed(self):
        """What was evaluated has put another value into it, by another way than its methods."""
        return self._id != self._version


def _refusing(method):
    def refuse(self, *arguments, **keywords):
        raise TypeError(f"{self._text}.{method}: {self._text} is shown as it was at op {self._moment:,}, and the past is not "
                        "assigned to: Alt+End goes to the newest op")
    refuse.__name__ = refuse.__qualname__ = method
    return refuse


for _method in _CHANGES:
    setattr(PastVariable, _method, _refusing(_method))
PastVariable.__name__ = PastVariable.__qualname__ = "Variable"  # what tables call its type


def past_variable(tensor, entry, text, moment):
    """`tensor`: the value; `entry`: the note of the variable (moments.Entry); `text`: as the user writes it."""
    hook = _engine._set_creation_hook(None)  # it is none that a checkpoint has a value for
    try:
        with device(tensor._place):
            made = PastVariable(tensor, trainable=entry.trainable, name=entry.name, import_scope="", shape=entry.declared)
    finally:
        _engine._set_creation_hook(hook)
    _engine._put_back(made, tensor)
    made._text, made._moment, made._version = text, moment, tensor._id
    return made
