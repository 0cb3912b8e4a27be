"""Backward passes: a playback around each, and hooks before and after each node of its graph."""
import contextlib
import functools
import inspect
import sys

import torch
import torch.library

from tapedeck import _engine
from tapedeck.torch import nodes, saved

_MARK = "tapedeck"  # in a node's metadata: it has the hooks
_NO_NUMBER = (1 << 63) - 1  # of an AccumulateGrad, and what is larger


def watch():
    """Wraps the function that all backward passes from Python go through; does nothing a second time."""
    graph = torch.autograd.graph
    original = getattr(graph, "_engine_run_backward", None)
    if original is None:  # up to 2.2: a method of the engine, which is of a built-in type
        variable = torch.autograd.Variable
        if not isinstance(variable._execution_engine, _Engine):
            variable._execution_engine = _Engine(variable._execution_engine)
        return
    if hasattr(original, "_tapedeck_watches"):
        return
    run_backward = _recorded(original)
    graph._engine_run_backward = run_backward
    if getattr(torch.autograd, "_engine_run_backward", None) is original:
        torch.autograd._engine_run_backward = run_backward


class _Engine:
    """PyTorch's, with run_backward() recorded."""

    def __init__(self, original):
        self._original = original
        self.run_backward = _recorded(original.run_backward)

    def __getattr__(self, name):
        return getattr(self._original, name)


def _recorded(original):
    @_engine.torch.without_frames
    @functools.wraps(original)
    def run_backward(outputs, gradients, keeps_graph, creates_graph, inputs, *arguments, **named):
        pass_on = functools.partial(original, outputs, gradients, keeps_graph, creates_graph, inputs, *arguments, **named)
        if not _engine.debug.recording():
            return pass_on()
        return _run(pass_on, tuple(outputs), tuple(inputs or ()), bool(keeps_graph))

    run_backward._tapedeck_watches = True
    return run_backward


def _run(pass_on, outputs, inputs, keeps_graph):
    leaves = _hook_nodes(outputs)
    depth = _engine.torch.begin_backward(outputs, inputs or tuple(leaves), keeps_graph)
    try:
        with _on_this_thread():
            results = pass_on()
    except BaseException as error:
        _engine.torch.end_backward(depth, (), f"{type(error).__name__}: {error}", keeps_graph)
        raise
    _engine.torch.end_backward(depth, tuple(results or ()), "", keeps_graph)
    return results


def _on_this_thread():
    """Nodes on a GPU run on a thread of its own otherwise, which knows nothing of the playback."""
    return torch.autograd.set_multithreading_enabled(False) if torch.cuda.is_initialized() else contextlib.nullcontext()


def _hook_nodes(outputs):
    """Each node below the outputs gets its hooks once, as long as it lives. Returns the leaves that gradients can come to."""
    leaves, seen = [], set()
    waiting = [output.grad_fn if isinstance(output, torch.Tensor) else output.node for output in outputs]  # or a GradientEdge
    waiting = [node for node in waiting if node is not None]
    unknown = 0
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        edges = [edge for edge, _ in node.next_functions]
        waiting.extend(edge for edge in edges if edge is not None)
        variable = getattr(node, "variable", None) if not edges else None
        if variable is not None:
            leaves.append(variable)
        metadata = node.metadata
        if _MARK in metadata:
            continue
        metadata[_MARK] = True
        number = node._sequence_nr()
        if number < _NO_NUMBER:
            made, was_known = nodes.made(node, number)
            unknown += was_known and made is None
            if made is not None:
                _hook(node, made, [edge is not None for edge in edges])
        elif variable is not None:
            _hook_accumulation(node, variable)
    if unknown:
        print(f"tapedeck: {unknown} nodes of a backward pass are shown without VJPs, because it is not known which ops made them: "
              "that was long ago, or several threads made nodes of the same numbers and kinds", file=sys.stderr)
    return leaves


def _hook(node, made, wanted):
    own = _own_backward(node)
    kept = saved.described(node)  # before it is freed; the hooks may not hold the node
    began = []  # a node may run inside of itself: a backward pass of a checkpoint

    def before(cotangents):
        began.append(_engine.torch.begin_node(made, cotangents, wanted, kept, *own))

    def after(gradients, _):
        if began and began.pop():
            _engine.torch.end_node(gradients)

    node.register_prehook(before)
    node.register_hook(after)


def _own_backward(node):
    """(name, code of its backward, offset of its first statement) for a Function of the program; (name,) where the node is no VJP of
    the op that made it; () otherwise."""
    kind = type(node).__name__
    if kind.endswith("CopySlices"):  # a write into a view: its gradients are those of the base
        return ("CopySlices",)
    function = getattr(type(node), "_forward_cls", None)
    if function is None:
        return ()
    backward = function.backward if function.backward is not torch.autograd.Function.backward else function.vjp
    code = getattr(inspect.unwrap(backward), "__code__", None)  # once_differentiable wraps it
    lines = code.co_lines() if code is not None else ()  # those of decorators come first
    return function.__name__, code, next((start for start, _, line in lines if line is not None and line > code.co_firstlineno), 0)


def _hook_accumulation(node, variable):
    """AccumulateGrad, the end of a path, adds to `variable.grad` or becomes it: no forward op has it as its VJP."""
    accumulates = _accumulation()

    def before(gradients):
        if gradients[0] is not None:
            with torch.no_grad():
                accumulates(variable, gradients[0])

    node.register_prehook(before)


@functools.cache
def _accumulation():
    """An op that does nothing but to be recorded where a gradient arrives: with the variable as it is, and what comes to its `grad`."""
    library = torch.library.Library("autograd", "FRAGMENT")
    library.define("AccumulateGrad(Tensor variable, Tensor gradient) -> ()")
    library.impl("AccumulateGrad", lambda variable, gradient: None, "CompositeExplicitAutograd")
    _accumulation.library = library  # with it the op would go
    return torch.ops.autograd.AccumulateGrad.default
