"""Attaches to PyTorch, and to writers of TensorBoard's files, when the program imports them; nothing of them is imported before."""
import importlib.util
import sys

from tapedeck.summary import tensorboard_writers


class _Finder:
    """Finds such a module as Python would, with a loader that attaches after it has run."""

    def __init__(self):
        self._searching = False

    def find_spec(self, name, path=None, target=None):
        if name not in _ATTACH or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader:
    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _ATTACH[module.__name__](module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


def install():
    """From now on the program's import of torch attaches; at once where it was imported already."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    if hasattr(sys.modules.get("torch"), "Tensor"):
        _attach(sys.modules["torch"], is_new=False)
    for name in tensorboard_writers.MODULES:
        if name in sys.modules:
            tensorboard_writers.watch(sys.modules[name])


def _attach(_, is_new=True):
    """The program runs on where it fails: it does not know of this."""
    try:
        from tapedeck import torch as ours  # needs PyTorch, which the program has just imported
        ours.attach(is_new)
    except Exception as error:
        print(f"tapedeck: PyTorch's ops are not recorded: {type(error).__name__}: {error}", file=sys.stderr)


_ATTACH = {"torch": _attach, **dict.fromkeys(tensorboard_writers.MODULES, tensorboard_writers.watch)}
