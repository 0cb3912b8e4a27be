"""What is said where a public namespace has no such name: "tf.foo is not in Tapedeck; nearest: tf.floor, …"."""
import sys
import types

_SHORT = {"tapedeck": "tf", "tapedeck.tfe": "tfe"}


class MissingName(AttributeError):
    """An AttributeError whose text is made when somebody reads it: hasattr() asks often and reads nothing."""

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


def _names(module, public):
    """Public names of a namespace; files of the package that are none, and what a file imports for itself, are left out."""
    for name in getattr(module, "__all__", None) or vars(module):
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, types.ModuleType) and value.__name__ not in public:
            continue
        if hasattr(module, "__all__") or not isinstance(value, types.FunctionType) or value.__module__ == module.__name__:
            yield name


def _nearest(module_name, name):
    """At most three: that name in other namespaces, then names of this one that are written nearly alike."""
    import difflib
    public = {module.__name__: module for module in sys.modules["tapedeck"].namespaces.public_modules()}
    here = public.get(module_name, sys.modules[module_name])
    same = sorted((_path(other) for other, module in public.items()
                   if not other.startswith("tapedeck.compat") and name in _names(module, public)),
                  key=lambda path: (path.startswith(("tf.contrib", "tf.keras")), path.count("."), path))
    found = [f"{path}.{name}" for path in same]
    lower = {each.lower(): each for each in _names(here, public)}
    found += [f"{_path(module_name)}.{lower[each]}" for each in difflib.get_close_matches(name.lower(), lower, 3, 0.6)]
    return list(dict.fromkeys(found))[:3]


def _watch(module):
    def missing(name):
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise MissingName(module, name)
    return missing


def install(modules):
    """Lets each of the modules speak so."""
    for module in modules:
        if "__getattr__" not in vars(module):
            module.__getattr__ = _watch(module.__name__)
