"""Backward passes: a playback around each, and hooks before and after each node of its graph."""
import collections
import functools
import inspect
import sys

import torch

from tapedeck import _engine
from tapedeck.torch import nodes, saved

_MARK = "tapedeck"  # in a node's metadata: it has the hooks; the walk that came to it
_LEAVES = "tapedeck.leaves"  # in that of one at which a walk ended: the leaves below it, by their ids
_MOST_WALKS = 4  # that end at marks, each by itself
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
    with torch._C.DisableTorchFunction():  # what is read here is no call of the program's
        leaves = _hook_nodes(outputs, wants_leaves=not inputs)
    depth = _engine.torch.begin_backward(outputs, inputs or leaves, keeps_graph)
    try:
        with _OnThisThread():
            results = pass_on()
    except BaseException as error:
        _engine.torch.end_backward(depth, (), f"{type(error).__name__}: {error}", keeps_graph)
        raise
    _engine.torch.end_backward(depth, tuple(results or ()), "", keeps_graph)
    return results


class _OnThisThread:
    """Nodes on another device run on a thread of its own otherwise, which knows nothing of the playback."""

    def __enter__(self):
        with torch._C.DisableTorchFunction():  # it is no call of the program's
            self._was_enabled = torch.autograd.is_multithreading_enabled()
            torch._C._set_multithreading_enabled(False)

    def __exit__(self, *unused):
        with torch._C.DisableTorchFunction():
            torch._C._set_multithreading_enabled(self._was_enabled)


class _Walk:
    """Through the nodes below some. It ends at those that `ends_at` is true of; they are in `ends` then."""

    def __init__(self, starts, ends_at):
        self.ends, self.is_done = [], False
        self._waiting, self._ends_at = [node for node in starts if node is not None], ends_at

    def __iter__(self):
        """Each node, with its edges."""
        seen = set()
        while self._waiting:
            node = self._waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if self._ends_at(node.metadata):
                self.ends.append(node)
                continue
            edges = [edge for edge, _ in node.next_functions]
            self._waiting.extend(edge for edge in edges if edge is not None)
            yield node, edges
        self.is_done = True


def _has_hooks_below(metadata):
    walk = metadata.get(_MARK)
    return walk is not None and walk.is_done  # else an exception ended it, or it is another thread's


def _hook_nodes(outputs, wants_leaves):
    """Each node below the outputs gets its hooks once, as long as it lives. Returns the leaves that gradients can come to, if wanted.

    Of a graph that is kept no pass walks again through what an earlier one has walked through.
    """
    leaves, problems = {}, collections.Counter()
    walk = _Walk([output.grad_fn if isinstance(output, torch.Tensor) else output.node for output in outputs], _has_hooks_below)
    for node, edges in walk:
        variable = getattr(node, "variable", None) if not edges else None
        if variable is not None:
            leaves[id(variable)] = variable
        if node.metadata.setdefault(_MARK, walk) is not walk:
            continue
        number = node._sequence_nr()
        if number < _NO_NUMBER:
            made, was_known = nodes.made(node, number)
            if made is not None:
                problems["edges"] += not _hook(node, made, edges)
            else:
                problems["ops"] += was_known
        elif variable is not None:  # AccumulateGrad, the end of a path
            node.register_prehook(functools.partial(_engine.torch.arrive, variable))
            node.metadata[_LEAVES] = {id(variable): variable}
    ends, walk.ends = walk.ends, ()  # the walk stays in the nodes, which must not hold others
    if wants_leaves:
        leaves.update(_leaves_below(ends))
    _say(problems)
    return tuple(leaves.values())


def _leaves_below(ends):
    """Where few nodes are asked for, as usual, they keep their leaves for the next pass."""
    found, asked = {}, []
    for node in ends:
        known = node.metadata.get(_LEAVES)
        if known is None:
            asked.append(node)
        else:
            found.update(known)
    together = len(asked) > _MOST_WALKS
    for starts in [asked] if together else [[node] for node in asked]:
        below = {}
        walk = _Walk(starts, lambda metadata: _LEAVES in metadata)
        for node, edges in walk:
            variable = getattr(node, "variable", None) if not edges else None
            if variable is not None:
                below[id(variable)] = variable
        for node in walk.ends:
            below.update(node.metadata[_LEAVES])
        if not together:
            starts[0].metadata[_LEAVES] = below
        found.update(below)
    return found


def _say(problems):
    why = dict(ops="which op made {}: that was long ago, or several threads made nodes of the same number and kind",
               edges="which inputs of the op the gradients of {} are of")
    for kind, count in problems.items():
        if count:
            nodes_are, each = ("1 node of a backward pass is shown without its VJP", "it") if count == 1 else \
                (f"{count} nodes of a backward pass are shown without VJPs", "each")
            print(f"tapedeck: {nodes_are}, because it is not known {why[kind].format(each)}", file=sys.stderr)


def _hook(node, made, edges):
    """False where the node gets no record, because it is not known of which inputs its gradients are."""
    own = _own_backward(node)
    places = _engine.torch.places_of_edges(made, [edge is not None for edge in edges], own == _COPIES)
    if places is None:
        return False
    kept = saved.described(node)  # before it is freed; the hooks may not hold the node
    began = []  # a node may run inside of itself: a backward pass of a checkpoint

    def before(cotangents):
        began.append(_engine.torch.begin_node(made, cotangents, places, kept, *own))

    def after(gradients, _):
        if began and began.pop():
            _engine.torch.end_node(gradients)

    node.register_prehook(before)
    node.register_hook(after)
    return True


_COPIES = ("CopySlices",)


def _own_backward(node):
    """(name, code of its backward, offset of its first statement) for a Function of the program; (name,) where the node is no VJP of
    the op that made it; () otherwise."""
    kind = type(node).__name__
    if kind.endswith("CopySlices"):  # a write into a view: its gradients are those of the base
        return _COPIES
    function = getattr(type(node), "_forward_cls", None)
    if function is None:
        return ()
    backward = function.backward if function.backward is not torch.autograd.Function.backward else function.vjp
    code = getattr(inspect.unwrap(backward), "__code__", None)  # once_differentiable wraps it
    lines = code.co_lines() if code is not None else ()  # those of decorators come first
    return function.__name__, code, next((start for start, _, line in lines if line is not None and line > code.co_firstlineno), 0)
