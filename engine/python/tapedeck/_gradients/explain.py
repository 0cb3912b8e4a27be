"""tf.explain_no_gradient: why a gradient is None."""
import linecache
import os

from tapedeck import _engine
from tapedeck._core.arguments import having
from tapedeck._core.public import public

cell_files = {}  # name of a cell's compiled code, by cell id; filled in notebook sessions

_REASONS = {
    "stopped": "stop_gradient blocks the gradient",
    "no_gradient": "this op has no gradient",
    "integer": "its result is not a floating-point tensor, so it has no gradient",
    "not_taped": "no tape recorded it: it ran outside of the tape's `with` block or inside stop_recording, or none of its "
                 "inputs was watched (tape.watch)",
    "none_given": "its gradient function returned None for this argument",
    "captured": "the function uses it without taking it as an argument, and a custom gradient reaches arguments and trainable "
                "variables alone",
}


@public("explain_no_gradient")
def explain_no_gradient(y, x):
    """Why the gradient of y with respect to x is None, as text: the op, or the step outside of the tape, at which the path
    from x to y ends, its line, and what to do about it.

    y: a tensor. x: a tensor or a variable. It looks at the recorded ops, so it works in a Tapedeck session, or after
    tf.experimental.record_ops(). FailedPreconditionError where nothing is recorded.
    """
    debug = _engine.debug
    if not debug.attached():
        raise _engine.FailedPreconditionError(
            "explain_no_gradient looks at the recorded ops, but nothing is recorded here: call tf.experimental.record_ops() "
            "before the computation, or run it in a Tapedeck session")
    y = having(_engine.convert_to_tensor(y), "explain_no_gradient: y", "_id", "tensor")
    if not isinstance(x, (_engine.Tensor, _engine.Variable)):
        raise TypeError(f"explain_no_gradient: x is a tensor or a variable, not {type(x).__name__}")
    what = x.name if isinstance(x, _engine.Variable) else "x"
    if not x.dtype.is_floating:
        return f"{what} is of dtype {x.dtype.name}: only floating-point tensors have gradients."
    found = debug.explain_no_gradient(y._id, x)
    if not found["depends"]:
        return _independent(what, found)
    lines = []
    if found["connected"]:
        lines.append(f"y depends on {what} by recorded ops that all pass gradients on: a tape that watched {what} and recorded "
                     "them has a gradient.")
    lines.extend(_end_of_path(what, step) for step in found["broken"])
    if isinstance(x, _engine.Variable) and not x.trainable and any(step["reason"] == "not_taped" for step in found["broken"]):
        lines.append(f"{what} is not trainable, so a tape watches it after tape.watch({what.split(':')[0]}) alone.")
    return "\n".join(lines)


def _end_of_path(what, step):
    if step["reason"] == "assigned":
        return (f"The path from {what} to y ends at the assignment to {step['op']}{_place(step)}: a variable keeps the value, "
                "not where it came from.")
    return f"The path from {what} to y ends at {_op(step)}: {_REASONS[step['reason']]}."


def _independent(what, found):
    lines = []
    for step in found["left"]:
        of = f"the result of {step['op']} (op {step['record']:,}), which was made of {what}" if step["record"] else what
        lines.append(f"The path from {what} to y ends where Python or NumPy read {of}{_place(step)}: what comes back is a constant.")
    made_of = "; ".join(leaf["text"] + (f", which enters at {_op(leaf)}" if leaf["record"] else "") for leaf in found["leaves"])
    lines.append(f"y does not depend on {what} by any recorded op" + (f"; it was made of {made_of}." if made_of else "."))
    if not found["left"]:
        lines.append("A value that goes through Python or NumPy (float(), .numpy()) comes back as a constant.")
    return "\n".join(lines)


def _op(step):
    return f"{step['op']} (op {step['record']:,}{_place(step)})"


def _place(step):
    if not step["line"]:
        return ""
    file = cell_files.get(step["cell"], step["file"])
    where = f", line {step['line']}" + (" of its cell" if step["cell"] else f" of {os.path.basename(file)}" if file else "")
    text = linecache.getline(file, step["line"]).strip() if file else ""
    return where + (f": `{text}`" if text else "")
