"""tf.gradients: in a function that is traced, gradients of what no tape recorded."""
import contextlib

from tapedeck import _engine
from tapedeck._core import nest, program_graph
from tapedeck._core.composites import op as _op
from tapedeck._core.context import name_scope
from tapedeck._core.public import public
from tapedeck._gradients.tape import unconnected_as_zero, UnconnectedGradients


def _tensors(name, values):
    flat = nest.flatten(values)
    return [_engine.convert_to_tensor(value) for value in flat] if name == "ys" else [
        value if isinstance(value, (_engine.Tensor, _engine.Variable)) else _engine.convert_to_tensor(value) for value in flat]


def _added(parts):
    """The sum of gradients, of which there may be none."""
    parts = [part for part in parts if part is not None]
    if len(parts) < 2:
        return parts[0] if parts else None
    return _op("add_n")([_engine.convert_to_tensor(part) for part in parts])


@public("gradients")
def gradients(ys, xs, grad_ys=None, name="gradients", colocate_gradients_with_ops=False, gate_gradients=False,
              aggregation_method=None, stop_gradients=None, unconnected_gradients=UnconnectedGradients.NONE):
    """The gradients of the sum of ys with respect to each of xs, in a function that is being traced: a list.

        @tf.function
        def slope(x):
            return tf.gradients(x ** 3, x)[0]

    ys: a tensor or a list; xs: tensors and variables, likewise. No tape is needed: what leads from xs to ys is computed once more
    under one, and the graph's passes merge what is there twice. grad_ys: a weight for each of ys, or None. stop_gradients: tensors, one
    or a list, that count as constants. An x that no y depends on gets None, or zeros with unconnected_gradients="zero". The other
    arguments change nothing.
    Errors: RuntimeError where ops run at once, as in TensorFlow; ValueError for grad_ys of another number than ys; UnimplementedError
    where a loop or branch between them assigns, prints or draws, which would happen twice: tf.GradientTape records it; and inside of a
    loop's body or a branch, where what was computed outside of it leads from xs to ys.
    """
    if not _engine.is_tracing():
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    with contextlib.nullcontext() if program_graph.current() is None else name_scope(name):
        return _gradients(ys, xs, grad_ys, stop_gradients, unconnected_as_zero(unconnected_gradients))


def _gradients(ys, xs, grad_ys, stop_gradients, zero):
    targets, sources = _tensors("ys", ys), _tensors("xs", xs)
    held = [] if stop_gradients is None else _tensors("stop_gradients", stop_gradients)
    weights = None if grad_ys is None else nest.flatten(grad_ys)
    if weights is not None and len(weights) != len(targets):
        raise ValueError(f"gradients: {len(weights)} grad_ys for {len(targets)} ys")
    again = _engine.graph_repeat(targets, sources, held)
    free, rest = again.arguments[:again.free_sources], again.arguments[again.free_sources:]
    variables = [source for source in sources if isinstance(source, _engine.Variable)]
    tape = _engine.Tape()
    free = [_op("identity")(tensor) for tensor in free]
    tape._start()
    try:
        for source in [*free, *variables]:
            if source.dtype.is_floating or source.dtype.is_complex:
                tape.watch(source)
        results = again([*free, *rest])
    finally:
        tape._stop()
    places = [[results[place] for place in at] for at in again.places]
    parts = [[*at, source] if isinstance(source, _engine.Variable) else at for at, source in zip(places, sources)]
    found = iter(tape._gradients(results[:len(targets)], [part for each in parts for part in each], weights, False, True))
    summed = [_added([next(found) for _ in each]) for each in parts]
    return [_op("zeros_like")(_engine.convert_to_tensor(source)) if gradient is None and zero else gradient
            for gradient, source in zip(summed, sources)]
