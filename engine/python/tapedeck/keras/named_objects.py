"""Objects that configs name: layers, initializers, regularizers … by class name and config, those that users register too."""
import contextlib
import inspect

from tapedeck._core.arguments import having
from tapedeck._core.public import public

_registered, _names = {}, {}  # by name; the name by class or function
_scopes = []  # dicts of the custom_object_scopes that are open, the innermost last


@public("keras.utils.register_keras_serializable")
def register_keras_serializable(package="Custom", name=None):
    """Decorates a class with get_config, or a function, so that configs may name it: "package>name". ValueError for a class without
    get_config."""
    def register(thing):
        if inspect.isclass(thing) and not hasattr(thing, "get_config"):
            raise ValueError(f"Cannot register a class that does not have a get_config() method: {thing.__name__}")
        full = f"{package}>{name or thing.__name__}"
        _registered[full], _names[thing] = thing, full
        return thing

    return register


@public("keras.utils.get_registered_name")
def get_registered_name(thing):
    """The name under which a class or a function was registered, else its own."""
    return _names.get(thing, having(thing, "get_registered_name: thing", "__name__", "class or function").__name__)


@public("keras.utils.get_registered_object")
def get_registered_object(name, custom_objects=None, module_objects=None):
    """The class or function of that name, or None: of the open custom_object_scopes, of custom_objects, registered, of
    module_objects."""
    for argument, value in (("custom_objects", custom_objects), ("module_objects", module_objects)):
        having({} if value is None else value, f"get_registered_object: {argument}", "keys", "dict")
    for known in (*reversed(_scopes), custom_objects or {}, _registered, module_objects or {}):
        if name in known:
            return known[name]
    return None


@public("keras.utils.get_custom_objects")
def get_custom_objects():
    """What was registered, by name: a dict that may be changed."""
    return _registered


@public("keras.utils.custom_object_scope", "keras.utils.CustomObjectScope")
@contextlib.contextmanager
def custom_object_scope(custom_objects):
    """Inside, configs may name these objects: a dict of names."""
    _scopes.append(dict(custom_objects))
    try:
        yield
    finally:
        _scopes.pop()


CustomObjectScope = custom_object_scope


def serialize(thing):
    """What found() makes the same object of: {"class_name", "config"} of an object with get_config, a name of a function."""
    if thing is None or isinstance(thing, (str, dict)):
        return thing
    if hasattr(thing, "get_config") and not inspect.isclass(thing):
        return {"class_name": get_registered_name(type(thing)), "config": thing.get_config()}
    if hasattr(thing, "__name__"):
        return get_registered_name(thing)
    raise ValueError(f"Cannot serialize {thing!r}: it has neither get_config() nor a name")


def found(identifier, named, what, custom_objects=None):
    """The object of a name or of what serialize() returned. named: those that the package has, by name; what: what they are, for
    the error: ValueError for a name that none has. A class that is named alone is made without arguments."""
    config = None
    if isinstance(identifier, dict):
        if "class_name" not in identifier:
            raise ValueError(f"Could not interpret {what} identifier: {identifier}; a dict needs class_name")
        identifier, config = identifier["class_name"], identifier.get("config", {})
        if identifier == "function" and isinstance(config, str):
            identifier, config = config, None
    if not isinstance(identifier, str):
        return identifier
    thing = get_registered_object(identifier, custom_objects, named)
    if thing is None:
        raise ValueError(f"Unknown {what}: '{identifier}'. Please ensure you are using a `keras.utils.custom_object_scope` and "
                         f"that this object is included in the scope; known are {', '.join(sorted(named))}")
    if not inspect.isclass(thing):
        return thing
    if config is None:
        return thing()
    return thing.from_config(config) if hasattr(thing, "from_config") else thing(**config)


def get(identifier, named, what):
    """What a program means by a name, what serialize() returned, a class, or the object itself; None for None. named, what and
    errors: as found()'s; ValueError for any other value, too."""
    if identifier is None:
        return None
    if isinstance(identifier, (str, dict)):
        return found(identifier, named, what)
    if isinstance(identifier, type):
        return identifier()
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret {what} identifier: {identifier}")
