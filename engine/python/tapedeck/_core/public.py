"""The one way into `tf.`: a public name is given where the function or class is defined.

    @public("linalg.einsum", "einsum")
    def einsum(equation, *inputs, name=None):

namespaces.py installs these names; they take precedence over an op's function of the same name.
"""
import inspect
import types

from tapedeck import _engine
from tapedeck._core.refusals import naming

NAMES = {}  # the names under `tf.`, and what each names
LATER = {}  # names of what comes at first use, and the module that defines it
NAMESPACES = {}  # every public namespace's module, by its path under `tf.`; namespaces.py fills it
_listeners = []


class Namespace(str):
    """In the table of names: another name of a namespace."""


def public(*names, in_errors=False, row=None):
    """Decorates a function or a class with its names under `tf.`; public("newaxis")(None) is for what cannot be decorated.

    The first name that ends with its own tells where pickle and profilers find it. in_errors: what the engine refuses inside of the
    function tells its name and its arguments; not so for one that calls the user's functions, whose errors are theirs. row: of a
    function that replaces an op's, that op, which checks what it is given; its documentation follows the function's own,
    which says only what the op does not.
    """
    def named(thing):
        if row:
            thing.row = row
            thing.__doc__ = f"{inspect.cleandoc(thing.__doc__)}\n\nThe op {row}: {_engine.op_function(row).__doc__}"
        if in_errors:
            thing = naming(thing)
        if isinstance(thing, (type, types.FunctionType)) and thing.__module__.startswith("tapedeck.") and "._" in thing.__module__:
            place = next((name for name in names if f".{name}".endswith(f".{thing.__qualname__}")), None)
            if place:
                thing.__module__ = f"tapedeck.{place}".rpartition(".")[0]
        for name in names:
            if NAMES.setdefault(name, thing) is not thing:
                raise AssertionError(f"tf.{name} names two things")
            for listener in _listeners:
                listener(name, thing)
        return thing

    return named


def same(namespace, *names):
    """Gives a namespace other names: same("tfe", "contrib.eager"). "" is `tf` itself."""
    public(*names)(Namespace(namespace))


def later(module, *names):
    """What `module` defines under these names is imported when one of them is first used."""
    LATER.update(dict.fromkeys(names, module))


def below(namespace):
    """What the table has in a namespace, by name."""
    begin = len(namespace) + 1
    return {name[begin:]: thing for name, thing in NAMES.items() if name.startswith(namespace + ".") and "." not in name[begin:]}


def listen(listener):
    """Calls listener(name, thing) for what is named from now on."""
    _listeners.append(listener)
