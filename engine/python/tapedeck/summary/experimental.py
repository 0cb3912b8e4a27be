"""TensorFlow's tf.summary.experimental: the default step, the name of a summary, and summaries that come as bytes."""
import contextlib as _contextlib
import re as _re

from tapedeck import _engine
from tapedeck._core.context import name_scope as _name_scope
from tapedeck._core.public import public
from tapedeck.summary import writers as _writers


@public("summary.experimental.get_step")
def get_step():
    """This thread's default step: what set_step or as_default gave, or None."""
    return _writers.state.step


@public("summary.experimental.set_step")
def set_step(step):
    """Makes step, an integer or a variable that holds one, this thread's default step; None for none."""
    _writers.state.step = step


def step_of(function, step):
    """The step, or else the default one, as a Python number. ValueError where there is none."""
    step = _writers.state.step if step is None else step
    if step is None:
        raise ValueError(f"{function}: No step set. Give the argument step, or call tf.summary.experimental.set_step()")
    return int(step)


def tag_of(name, default_name):
    """The name after the name scopes around it: "outer/loss"."""
    scope = _engine.current_scope()
    name = str(name) if name else default_name
    return f"{scope}/{name}" if scope else name


@public("summary.experimental.summary_scope")
@_contextlib.contextmanager
def summary_scope(name, default_name="summary", values=None):
    """A context that yields (tag, scope): the name after the name scopes around it, and the scope that it opens.

    name: None for default_name.
    """
    tag = tag_of(name, default_name)
    with _name_scope(_re.sub(r"[^-_/.A-Za-z0-9]", "", str(name or "")) or default_name) as scope:
        yield tag, scope


@public("summary.experimental.write_raw_pb")
def write_raw_pb(tensor, step=None, name=None):
    """Summaries that come as the bytes of a Summary. Returns a bool tensor, True where the writer got them.

    Errors: TypeError for anything but bytes; ValueError where there is a writer and no step.
    """
    writer = _writers.state.writer
    if writer is None or not _writers.holds(True):
        return _engine.constant(False, "bool")
    plain = tensor.numpy() if hasattr(tensor, "numpy") else tensor
    if not isinstance(plain, bytes):
        raise TypeError(f"write_raw_pb: tensor is a {type(tensor).__name__}; needs the bytes of a Summary")
    writer.add_message(step_of("write_raw_pb", step), 5, plain)
    return _engine.constant(True, "bool")
