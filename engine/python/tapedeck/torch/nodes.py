"""Which record made a node of autograd's graph: noted in the node (its metadata), as soon as it is known."""
import functools

import torch

from tapedeck import _engine

_push = getattr(torch._C._autograd, "_push_node_creation_hook", None)  # None before 2.15
_pop = getattr(torch._C._autograd, "_pop_node_creation_hook", None)
if _push is not None:
    _engine.torch.nodes_are_reported()


def enter():
    """This thread's nodes are noted from now on."""
    if _push is not None:
        _push(_engine.torch.node_made)


def leave():
    if _push is not None:
        _pop()


def made(node, number):
    """(which record made the node: an object for begin_node(), or None; whether it was known once)."""
    metadata = node.metadata
    found = metadata.get(_engine.torch.FORWARD)
    if found is not None or _push is not None:
        return found, False
    found, was_known = _engine.torch.forward_of(number, type(node).__name__)
    if found is not None:
        metadata[_engine.torch.FORWARD] = found
    return found, was_known


def watch_functions():
    """Wraps Function.apply: forward() of a Function of the program becomes a record, with its ops inside; does nothing a second time."""
    original = torch.autograd.Function.__dict__["apply"]
    if hasattr(getattr(original, "__func__", None), "_tapedeck_watches"):
        return

    def apply(cls, *arguments, **named):
        pass_on = original.__get__(None, cls)
        if not _engine.debug.recording() or torch._C._are_functorch_transforms_active():
            return pass_on(*arguments, **named)
        return _apply(cls, pass_on, arguments, named)

    functools.update_wrapper(apply, torch.autograd.Function.apply)
    apply._tapedeck_watches = True
    torch.autograd.Function.apply = classmethod(_engine.torch.without_frames(apply))


def _apply(cls, pass_on, arguments, named):
    inputs = _tensors_in(arguments)
    with torch._C.DisableTorchFunction():  # what is read here is no call of the program's
        taped = torch.is_grad_enabled() and any(one.requires_grad for one in inputs)
    depth = _engine.torch.begin_function(cls.__name__, inputs, taped)
    try:
        results = pass_on(*arguments, **named)
    except BaseException as error:
        _engine.torch.end_function(depth, (), f"{type(error).__name__}: {error}")
        raise
    outputs = _tensors_in(results if isinstance(results, (tuple, list)) else (results,))
    record = _engine.torch.end_function(depth, outputs, "")
    with torch._C.DisableTorchFunction():
        made = [output.grad_fn for output in outputs]
    for node in made:
        if getattr(type(node), "_forward_cls", None) is cls:
            node.metadata[_engine.torch.FORWARD] = record
            break
    return results


def _tensors_in(values):
    return tuple(value for value in values if isinstance(value, torch.Tensor))
