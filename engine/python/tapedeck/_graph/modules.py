"""tf.Module: objects that know the variables in their attributes."""
import functools
import re

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.context import name_scope
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable


def _leaves(value, around=()):
    """The values in lists, tuples and dicts; of a dict in the order of its keys, or of insertion where keys cannot be sorted. around:
    ids of the enclosing containers; a list that contains itself is skipped."""
    if id(value) in around:
        return []
    around = (*around, id(value))
    if isinstance(value, dict):
        try:
            value = [value[key] for key in sorted(value)]
        except TypeError:
            value = list(value.values())
    if not nest.is_nested(value):
        return [value]
    return [leaf for each in value for leaf in _leaves(each, around)]


def _flatten_module(module, seen, wanted, recursive):
    """The attributes' leaves that are wanted, in the order of the attributes' names; those of modules inside follow."""
    inside = []
    for name, value in sorted(vars(module).items()):
        if name == "_trackable_state":
            continue
        for leaf in _leaves(value):
            if id(leaf) in seen:
                continue
            seen.add(id(leaf))
            if wanted(leaf):
                yield leaf
            if isinstance(leaf, Module):
                inside.append(leaf)
    for each in inside if recursive else ():
        yield from _flatten_module(each, seen, wanted, recursive)


class _Scope:
    """A name_scope that can be entered again, and tells its name."""

    def __init__(self, name):
        self._name, self._entered = name, []

    name = property(lambda self: self._name + "/")

    def __enter__(self):
        self._entered.append(name_scope(self._name))
        return self._entered[-1].__enter__()

    def __exit__(self, *error):
        return self._entered.pop().__exit__(*error)


@public("Module")
class Module(Trackable):
    """A base of models: it finds the variables and the modules in its attributes, in lists, tuples and dicts too.

    name: a Python name; None for the class's, in snake_case.
    Errors: InvalidArgumentError for another name.
    """

    def __init__(self, name=None):
        if name is None:
            name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        if not isinstance(name, str) or not name.isidentifier():
            raise _engine.InvalidArgumentError(f"Module: name is {name!r}; needs a name as Python has them")
        self._name = name

    @property
    def name(self):
        """The name that it was given."""
        return self._name

    @property
    def name_scope(self):
        """A context in which ops have the module's name in front of theirs; its `name` is that with a "/"."""
        return _Scope(self._name)

    @property
    def variables(self):
        """All variables, as a tuple: those of its own attributes, by name, and then those of the modules inside."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, _engine.Variable)))

    @property
    def trainable_variables(self):
        """The variables that are trainable, in the order of `variables`."""
        return tuple(each for each in self.variables if each.trainable)

    @property
    def non_trainable_variables(self):
        """The variables that are not trainable, in the order of `variables`."""
        return tuple(each for each in self.variables if not each.trainable)

    @property
    def submodules(self):
        """The modules inside, and those inside them, as a tuple."""
        return tuple(self._flatten(predicate=lambda leaf: isinstance(leaf, Module) and leaf is not self))

    def _flatten(self, recursive=True, predicate=None):
        """The values of the attributes that satisfy predicate: a generator. Each object comes once."""
        return _flatten_module(self, set(), predicate or (lambda leaf: True), recursive)

    @classmethod
    def with_name_scope(cls, method):
        """Decorates a method, so that it runs in the module's name_scope."""

        @functools.wraps(method)
        def scoped(self, *args, **kwargs):
            with self.name_scope:
                return method(self, *args, **kwargs)

        return scoped
