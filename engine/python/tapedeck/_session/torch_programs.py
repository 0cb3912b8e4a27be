"""Attaches to PyTorch when the program imports it; nothing of PyTorch is imported before."""
import importlib.util
import sys


class _Finder:
    """Finds the module `torch` as Python would, with a loader that attaches after it has run."""

    def __init__(self):
        self._searching = False

    def find_spec(self, name, path=None, target=None):
        if name != "torch" or self._searching:
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
        _attach()

    def __getattr__(self, name):
        return getattr(self._loader, name)


def install():
    """From now on the program's import of torch attaches; at once where it was imported already."""
    if hasattr(sys.modules.get("torch"), "Tensor"):
        _attach()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _attach():
    """The program runs on where it fails: it does not know of this."""
    try:
        from tapedeck import torch as ours
        ours.attach()
    except Exception as error:
        print(f"tapedeck: PyTorch's ops are not recorded: {type(error).__name__}: {error}", file=sys.stderr)
