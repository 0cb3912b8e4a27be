"""TensorFlow 1.5's execution callbacks: functions that are called after each op."""
import contextlib
import functools
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._core.arguments import having, sequence
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public

_ACTIONS = ("print", "raise", "warn")
_callbacks = []


@public("tfe.InfOrNanError")
class InfOrNanError(Exception):
    """An op wrote infinities or NaNs: op_type (its name here), op_name, output_index, num_outputs, value (an array)."""

    def __init__(self, op_type, op_name, output_index, num_outputs, value):
        self.op_type, self.op_name, self.output_index, self.num_outputs, self.value = op_type, op_name, output_index, num_outputs, value
        infinities, nans = int(np.isinf(value).sum()), int(np.isnan(value).sum())
        counts = [f"{count} {what}(s)" for count, what in ((infinities, "inf"), (nans, "nan")) if count]
        super().__init__(f"Output {output_index + 1} of {num_outputs} of op {op_type} (name: {op_name}) contains {' and '.join(counts)} "
                         f"out of a total of {np.size(value)} element(s). Tensor value: {value}")

    def __reduce__(self):
        return type(self), (self.op_type, self.op_name, self.output_index, self.num_outputs, self.value)


@public("tfe.inf_nan_callback")
def inf_nan_callback(op_type, op_name, attrs, inputs, outputs, check_inf=True, check_nan=True, action="raise"):
    """An execution callback that looks for infinities and NaNs in what each op writes: tfe.add_execution_callback(tfe.inf_nan_callback).

    check_inf, check_nan: what to look for; action: "raise" an InfOrNanError, "warn" by tf.logging, or "print".
    Errors: ValueError for another action; InfOrNanError.
    """
    if action not in _ACTIONS:
        raise ValueError(f"inf_nan_callback: action is {action!r}; must be one of {_ACTIONS}")
    for place, output in enumerate(sequence(outputs, "inf_nan_callback: outputs")):
        having(output, f"inf_nan_callback: outputs[{place}]", "numpy", "tensor")
        if not (output.dtype.is_floating or output.dtype.is_complex):
            continue
        value = output.numpy()
        if not (check_inf and np.isinf(value).any() or check_nan and np.isnan(value).any()):
            continue
        error = InfOrNanError(op_type, op_name, place, len(outputs), value)
        if action == "raise":
            raise error
        if action == "warn":
            from tapedeck import logging  # Python's logging takes 5 ms, which few programs need
            logging.warn("%s", error)
        else:
            print(f"Warning: {error}", file=sys.stdout)


@public("tfe.inf_callback")
def inf_callback(op_type, op_name, attrs, inputs, outputs, action="raise"):
    """inf_nan_callback for infinities alone."""
    inf_nan_callback(op_type, op_name, attrs, inputs, outputs, check_nan=False, action=action)


@public("tfe.nan_callback")
def nan_callback(op_type, op_name, attrs, inputs, outputs, action="raise"):
    """inf_nan_callback for NaNs alone."""
    inf_nan_callback(op_type, op_name, attrs, inputs, outputs, check_inf=False, action=action)


def _call(op_type, attrs, inputs, outputs):
    for callback in tuple(_callbacks):
        callback(op_type, None, attrs, inputs, outputs)


def _set(callbacks):
    _callbacks[:] = callbacks
    _engine._set_execution_callback(_call if _callbacks else None)


@public("tfe.add_execution_callback")
def add_execution_callback(callback):
    """Calls a function after each op: callback(op_type, op_name, attrs, inputs, outputs).

    op_type: the op's name here ("matmul"); op_name: None, as eager ops have no names of their own; attrs: a tuple of names and values
    in turn; inputs, outputs: lists of tensors. It is called on the op's thread, in the order in which callbacks were added, for ops
    inside of gradients and optimisers too; ops that the callback itself runs are not reported. An exception of the callback propagates from
    the op's call.
    Errors: TypeError for an argument that is not callable.
    """
    require_callable("add_execution_callback", "callback", callback)
    _set([*_callbacks, callback])


@public("tfe.clear_execution_callbacks")
def clear_execution_callbacks():
    """Removes all execution callbacks."""
    _set([])


def _action_of(callback):
    """What seterr() set it to; None for a callback that is another function."""
    if callback is inf_nan_callback:
        return "raise"
    if isinstance(callback, functools.partial) and callback.func is inf_nan_callback:
        return callback.keywords.get("action", "raise")
    return None


@public("tfe.seterr")
def seterr(inf_or_nan=None):
    """What happens where an op writes infinities or NaNs: "ignore" (the start), "print", "raise" an InfOrNanError, or "warn".

    None changes nothing. Returns: a dict of what it was, {"inf_or_nan": …}. Errors: ValueError for another text.
    """
    if inf_or_nan not in (None, "ignore", *_ACTIONS):
        raise ValueError(f"seterr: inf_or_nan is {inf_or_nan!r}; must be 'ignore', 'print', 'raise' or 'warn'")
    before = {"inf_or_nan": next((action for action in map(_action_of, reversed(_callbacks)) if action), "ignore")}
    if inf_or_nan is not None:
        others = [callback for callback in _callbacks if _action_of(callback) is None]
        _set(others if inf_or_nan == "ignore" else [*others, functools.partial(inf_nan_callback, action=inf_or_nan)])
    return before


@public("tfe.errstate")
@contextlib.contextmanager
def errstate(inf_or_nan=None):
    """seterr() for what is inside: with tfe.errstate(inf_or_nan="raise"): …"""
    before = seterr(inf_or_nan)
    try:
        yield
    finally:
        seterr(**before)
