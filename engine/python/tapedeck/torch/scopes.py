"""Module scopes: ops that run inside of a module have its path from the outermost one, "layer1/conv", as their scope."""
import threading

from torch.nn.modules import module as modules

from tapedeck import _engine


class _Thread(threading.local):
    def __init__(self):
        self.open = []  # (the module, its paths below the outermost one, whether it opened a scope)


_thread = _Thread()


def watch():
    """Opens and closes the scopes from now on; does nothing a second time."""
    if watch.handles:
        return
    watch.handles = [modules.register_module_forward_pre_hook(_enter),
                     modules.register_module_forward_hook(_leave, always_call=True)]


watch.handles = []


def unwatch():
    for handle in watch.handles:
        handle.remove()
    watch.handles = []


def _enter(module, _):
    if _thread.open:
        paths = _thread.open[0][1]
        path = paths.get(id(module), type(module).__name__)
    else:
        paths, path = _paths_below(module), ""
    if path:
        _engine.push_scope(path.replace(".", "/") + "/")  # the whole path: modules call each other in any order
    _thread.open.append((module, paths, bool(path)))


def _leave(module, *_):
    """Of this module, and of those inside of it that were left by an exception."""
    if not any(one[0] is module for one in _thread.open):
        return
    while _thread.open:
        entered, _, has_scope = _thread.open.pop()
        if has_scope:
            _engine.pop_scope()
        if entered is module:
            return


def _paths_below(module):
    """{id of a module: its path}. Made anew at each call of an outermost module, because the ones inside may have changed."""
    return {id(one): name for name, one in module.named_modules()}
