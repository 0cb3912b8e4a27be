"""Losses and metrics by what names them: a name, or a dict of class_name and config."""
import types

from tapedeck._core.public import below

_NEVER_NAMED = {"Loss", "Metric", "Reduction", "deserialize", "get", "serialize"}


def named_in(namespace):
    """The losses or metrics of tf.keras.<namespace>, by name: those of the files that are loaded."""
    return {name: value for name, value in below(f"keras.{namespace}").items() if name not in _NEVER_NAMED}


def serialized(namespace, value, named):
    """A dict of an object's class and configuration, or a function's name. named: what the namespace has, by name.

    Errors: ValueError for any other value.
    """
    if isinstance(value, types.FunctionType):
        return value.__name__
    if not hasattr(value, "get_config"):
        raise ValueError(f"serialize: {value!r} has no configuration; needs an object of tf.keras.{namespace} or a function")
    kind = type(value)
    own = named.get(kind.__name__) is kind
    return {"module": f"keras.{namespace}" if own else kind.__module__, "class_name": kind.__name__, "config": value.get_config(),
            "registered_name": None if own else kind.__name__}


def find(namespace, identifier, named, custom_objects=None):
    """The function or class of a name, or the object of a dict of class_name and config.

    Errors: ValueError for a name that none has, and a dict without one.
    """
    known = {**named, **(custom_objects or {})}
    if isinstance(identifier, str):
        if identifier not in known:
            raise ValueError(f"tf.keras.{namespace} has no {identifier!r}{_nearest(identifier, known)}")
        return known[identifier]
    if not isinstance(identifier, dict) or "class_name" not in identifier:
        raise ValueError(f"tf.keras.{namespace}: {identifier!r} is neither a name nor a dict with class_name and config")
    name, config = identifier["class_name"], identifier.get("config", {})
    if name == "function":  # as Keras 3 writes one
        return find(namespace, config, known)
    found = find(namespace, name, known)
    return found.from_config(config) if isinstance(found, type) else found


def get(namespace, identifier, known, refusal):
    """What a program means by a name, a dict of class_name and config, a class, or the object itself; None for None. known: by name.

    Errors: find's; ValueError for any other value, which begins with `refusal`, the identifier in place of {!r}.
    """
    found = find(namespace, identifier, known) if isinstance(identifier, (str, dict)) else identifier
    if found is None:
        return None
    if isinstance(found, type):
        return found()
    if not callable(found):
        raise ValueError(f"get: {refusal.format(identifier)}, a dict of class_name and config, or a function")
    return found


def _nearest(name, known):
    import difflib  # 5 ms, which only an error needs
    near = difflib.get_close_matches(name, known, n=1)
    return f"; nearest: {near[0]!r}" if near else ""
