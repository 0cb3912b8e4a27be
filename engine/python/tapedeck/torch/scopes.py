"""Scopes: ops that run inside of a module have its path from the outermost one, "layer1/conv", those of an optimiser's step "SGD.step"."""
import functools
import os
import sys
import threading
import weakref

import torch
from torch.autograd.profiler import record_function

from tapedeck import _engine


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (the module, its paths below the outermost one, whether it opened a scope)
        self.regions = []  # (the optimiser's region, what `open` was, the newest record then; -1: nothing was recorded)


_thread = _Thread()


def watch():
    """Opens and closes the scopes from now on; does nothing a second time."""
    if watch.on:
        return
    watch.on = True
    _watch_regions()
    _engine.torch.set_scopes(_enter, _leave)
    if not hasattr(torch.nn.Module._call_impl, "_tapedeck_watches"):
        watch.original = torch.nn.Module._call_impl
        calls = _engine.torch.module_calls(watch.original)
        calls._tapedeck_watches = True
        torch.nn.Module._call_impl = calls


watch.on, watch.original = False, None


def unwatch():
    watch.on = False
    _modules.clear()
    _engine.torch.set_scopes(None, None)
    if hasattr(torch.nn.Module._call_impl, "_tapedeck_watches"):  # not where something else wraps it since
        torch.nn.Module._call_impl = watch.original


def _watch_regions():
    """Optimisers name their steps for PyTorch's profiler, in a region that also ends where the step raises."""
    if hasattr(record_function.__enter__, "_tapedeck_watches"):
        return
    enter, leave = record_function.__enter__, record_function.__exit__

    @functools.wraps(enter)
    def entered(self):
        result = enter(self)
        name = str(self.name)
        if watch.on and name.startswith("Optimizer.step#"):
            _engine.push_scope(name.removeprefix("Optimizer.step#") + "/")
            _thread.regions.append((self, _thread.open, _newest_record()))
            _thread.open = []  # a closure's modules are outermost ones
        return result

    @functools.wraps(leave)
    def left(self, *raised):
        if any(region is self for region, *_ in _thread.regions):
            _leave_region(self, None if any(raised) else sys._getframe(1).f_locals.get("self"))
        return leave(self, *raised)

    entered._tapedeck_watches = True
    record_function.__enter__, record_function.__exit__ = entered, left


def _newest_record():
    return _engine.debug.record_count() if _engine.debug.recording() else -1


def _note_idle_step(optimizer):
    """A step that ran no op: none of its parameters had a gradient."""
    with torch._C.DisableTorchFunction():  # what is read here is no call of the program's
        groups = optimizer.param_groups if isinstance(optimizer, torch.optim.Optimizer) else ()
        parameters = [one for group in groups for one in group["params"] if isinstance(one, torch.Tensor) and one.requires_grad]
        if parameters:
            _engine.torch.step_without_gradients(parameters)


def _leave_region(left, optimizer):
    while True:
        for _, _, has_scope in reversed(_thread.open):  # of modules that an exception left
            if has_scope:
                _engine.pop_scope()
        region, _thread.open, newest = _thread.regions.pop()
        if region is left and optimizer is not None and newest >= 0 and newest == _newest_record():
            _note_idle_step(optimizer)
        _engine.pop_scope()
        if region is left:
            return


def _enter(module):
    if _thread.open:
        paths, root = _thread.open[0][1]
        path = paths.get(id(module), type(module).__name__)
        if root:
            path = root + "." + path
    else:
        root = _outermost(module).root
        paths, path = _paths_below(module), root
    if path:
        _engine.push_scope(path.replace(".", "/") + "/")  # the whole path: modules call each other in any order
    _thread.open.append((module, (paths, root), bool(path)))


def _leave(module):
    """Of this module, and of those inside of it that were left by an exception."""
    if not any(one[0] is module for one in _thread.open):
        return
    while _thread.open:
        entered, _, has_scope = _thread.open.pop()
        if has_scope:
            _engine.pop_scope()
        if entered is module:
            return


class _Outermost:
    """A module that the program called itself."""

    def __init__(self, module):
        self.reference = weakref.ref(module, self.forget)
        self.key = id(module)
        # The first model's modules and parameters have the names that it gives them. Those of others, as in a GAN, have the model's name
        # before theirs.
        has_state = any(True for _ in _parameters(module)) or bool(module._modules)
        self.is_first = has_state and not any(other.is_first for other in _modules.values())
        self.root = "" if self.is_first else _name_of(module)

    def forget(self, _):
        if _modules.get(self.key) is self:
            del _modules[self.key]


_modules = {}  # _Outermost, by the module's id: modules need not be hashable


def _outermost(module):
    known = _modules.get(id(module))
    if known is None or known.reference() is not module:
        known = _modules[id(module)] = _Outermost(module)
        _name_leaves(module, known)
    return known


def _parameters(module):
    """Whatever the program's class has made of these methods."""
    return torch.nn.Module.named_parameters(module)


def _name_leaves(module, known):
    """Its parameters and buffers have their names from here on. One that comes to it later is called what the program calls it."""
    before = known.root + "." if known.root else ""
    for name, parameter in _parameters(module):
        if not _engine.torch.has_name(parameter):
            _engine.torch.name_leaf(parameter, before + name)
    for name, buffer in torch.nn.Module.named_buffers(module):
        if buffer.layout is torch.strided and not _engine.torch.has_name(buffer):
            _engine.torch.name_buffer(buffer, before + name)


_NOT_THE_USERS = os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep


def _name_of(module):
    """What the program calls it, else its class's name."""
    frame = sys._getframe(2)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_NOT_THE_USERS):
            names = {**frame.f_globals, **frame.f_locals}
            for name, value in names.items():
                if value is module and not name.startswith("_"):
                    return name
            for name, value in getattr(names.get("self"), "__dict__", {}).items():  # of a program's own class
                if value is module:
                    return name
        frame = frame.f_back
    return type(module).__name__


def _paths_below(module):
    """{id of a module: its path}. Made anew at each call of an outermost module, because the ones inside may have changed."""
    return {id(one): name for name, one in torch.nn.Module.named_modules(module)}
