"""tf.explain_no_gradient: why a gradient is None."""
import linecache
import os

from tapedeck import _engine

cell_files = {}  # name of a cell's compiled code, by cell id; filled in notebook sessions

_REASONS = {
    "stopped": "stop_gradient lets no gradient through",
    "no_gradient": "this op has no gradient",
    "integer": "its result is no floating-point tensor, so it has no gradient",
    "not_taped": "no tape recorded it: it ran outside of the tape's `with` block or inside stop_recording, or none of its "
                 "inputs was watched (tape.watch)",
}


def explain_no_gradient(y, x):
    """Why the gradient of y with respect to x is None, as text: the op at which the path from x to y ends, its line,
    and what to do about it.

    y: a tensor. x: a tensor or a variable (its present value). It looks at the recorded ops, so it works in a Tapedeck
    session, or after tf.experimental.record_ops(). FailedPreconditionError where nothing is recorded.
    """
    debug = _engine.debug
    if not debug.attached():
        raise _engine.FailedPreconditionError(
            "explain_no_gradient looks at the recorded ops, but nothing is recorded here: call tf.experimental.record_ops() "
            "before the computation, or run it in a Tapedeck session")
    y = _engine.convert_to_tensor(y)
    name = getattr(x, "name", None) if isinstance(x, _engine.Variable) else None
    source = x.read_value() if isinstance(x, _engine.Variable) else x
    if not isinstance(source, _engine.Tensor):
        raise TypeError(f"explain_no_gradient: x is a tensor or a variable, not {type(x).__name__}")
    what = name or "x"
    if not source.dtype.is_floating:
        return f"{what} is of dtype {source.dtype.name}: only floating-point tensors have gradients."
    found = debug.explain_no_gradient(y._id, source._id)
    if not found["depends"]:
        return _independent(what, found["leaves"])
    lines = []
    if found["connected"]:
        lines.append(f"y depends on {what} by recorded ops that all pass gradients on: a tape that watched {what} and recorded "
                     "them has a gradient.")
    for step in found["broken"]:
        lines.append(f"The path from {what} to y ends at {step['op']} (op {step['record']}{_place(step)}): "
                     f"{_REASONS[step['reason']]}.")
    return "\n".join(lines)


def _independent(what, leaves):
    made_of = "; it was made of " + ", ".join(leaves) if leaves else ""
    return (f"y does not depend on {what} by any recorded op{made_of}. A value that goes through Python or NumPy (float(), "
            ".numpy()) comes back as a constant, and a variable's value before an assignment is another tensor than the one after.")


def _place(step):
    if not step["line"]:
        return ""
    file = cell_files.get(step["cell"], step["file"])
    where = f", line {step['line']}" + (" of its cell" if step["cell"] else f" of {os.path.basename(file)}" if file else "")
    text = linecache.getline(file, step["line"]).strip() if file else ""
    return where + (f": `{text}`" if text else "")
