"""What is said where a public namespace has no such name: "tf.foo is not in Tapedeck; nearest: tf.floor, …"."""
import importlib
import sys

from tapedeck._core.public import LATER, NAMESPACES


_SHORT = {"tapedeck": "tf", "tapedeck.tfe": "tfe"}


class MissingName(AttributeError):
    """An AttributeError whose text is made when it is first read: hasattr() raises many and reads none."""

    def __init__(self, module, name):
        super().__init__(name)
        self.name, self.obj = name, None  # Python has no suggestion of its own then
        self._module = module

    def __str__(self):
        path = _path(self._module)
        nearest = _nearest(self._module, self.args[0])
        return f"{path}.{self.args[0]} is not in Tapedeck" + (f"; nearest: {', '.join(nearest)}" if nearest else "")


# Tracebacks name it as what programs catch.
MissingName.__module__, MissingName.__name__, MissingName.__qualname__ = "builtins", "AttributeError", "AttributeError"


def _path(module_name):
    return _SHORT.get(module_name, "tf" + module_name.removeprefix("tapedeck"))


def _nearest(module_name, name):
    """At most three: that name in other namespaces, then names of this one that are written nearly alike."""
    import difflib  # 5 ms, which only an error needs
    same = sorted((_path(module.__name__) for module in NAMESPACES.values()
                   if module.__name__ != "tapedeck.compat" and name in module.__all__),
                  key=lambda path: (path.startswith(("tf.contrib", "tf.keras")), path.count("."), path))
    found = [f"{path}.{name}" for path in same]
    lower = {each.lower(): each for each in sys.modules[module_name].__all__}
    found += [f"{_path(module_name)}.{lower[each]}" for each in difflib.get_close_matches(name.lower(), lower, 3, 0.6)]
    return list(dict.fromkeys(found))[:3]


def watch(module):
    """Lets a public namespace say what it has not got, and import what comes at first use."""
    def missing(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
        file = LATER.get(f"{module.__name__}.{name}".removeprefix("tapedeck."))
        if file is None:
            raise MissingName(module.__name__, name)
        importlib.import_module(file)
        return vars(module)[name]

    if "__getattr__" not in vars(module):
        module.__getattr__ = missing
