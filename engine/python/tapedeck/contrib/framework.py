"""TensorFlow 1's tf.contrib.framework: defaults of functions' arguments, structures, the global step, variables by scope."""
import contextlib
import functools
import re

from tapedeck._core.public import public
from tapedeck._graph.collections import add_to_collection, get_collection, GraphKeys
from tapedeck._variables.scopes import get_variable

_scopes = [{}]  # of each open arg_scope: {function: {argument: value}}


def _key(function):
    return getattr(function, "_arg_scope_key", None)


@public("contrib.framework.has_arg_scope")
def has_arg_scope(func):
    """Whether arg_scope takes the function: add_arg_scope decorates it."""
    return _key(func) is not None


@public("contrib.framework.add_arg_scope")
def add_arg_scope(func):
    """Decorates a function, so that arg_scope gives its arguments other defaults."""
    @functools.wraps(func)
    def scoped(*args, **kwargs):
        defaults = _scopes[-1].get(func)
        return func(*args, **{**defaults, **kwargs}) if defaults else func(*args, **kwargs)

    scoped._arg_scope_key = func
    return scoped


@public("contrib.framework.arg_scope", "contrib.layers.arg_scope")
@contextlib.contextmanager
def arg_scope(list_ops_or_scope, **kwargs):
    """A context in which functions have other defaults: with arg_scope([layers.conv2d], padding="VALID").

    list_ops_or_scope: functions that add_arg_scope decorates, or what another arg_scope gave, which is opened again.
    Yields: {function: {argument: value}}. Errors: ValueError for another function, and arguments beside an opened scope; TypeError
    for any other value.
    """
    if isinstance(list_ops_or_scope, dict):
        if kwargs:
            raise ValueError("When attempting to re-use a scope by suppling a dictionary, kwargs must be empty.")
        scope = dict(list_ops_or_scope)
    elif isinstance(list_ops_or_scope, (list, tuple)):
        scope = dict(_scopes[-1])
        for function in list_ops_or_scope:
            if not has_arg_scope(function):
                raise ValueError(f"{getattr(function, '__name__', function)} is not decorated with @add_arg_scope")
            scope[_key(function)] = {**scope.get(_key(function), {}), **kwargs}
    else:
        raise TypeError(f"list_ops_or_scope must either be a list/tuple or reused scope (i.e. dict); it is {list_ops_or_scope!r}")
    _scopes.append(scope)
    try:
        yield scope
    finally:
        _scopes.pop()


@public("contrib.framework.current_arg_scope")
def current_arg_scope():
    """What the open arg_scope says."""
    return _scopes[-1]


@public("contrib.framework.arg_scoped_arguments")
def arg_scoped_arguments(func):
    """The arguments of the function whose defaults the open arg_scope gives."""
    return tuple(_scopes[-1].get(_key(func), ()))


@public("contrib.framework.variable")
def variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
             caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """tf.get_variable, whose variable is also put into `collections`."""
    made = get_variable(name, shape, dtype, initializer, regularizer, trainable, custom_getter=custom_getter)
    for key in collections or ():
        add_to_collection(key, made)
    return made


@public("contrib.framework.model_variable")
def model_variable(name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=True, collections=None,
                   caching_device=None, device=None, partitioner=None, custom_getter=None, use_resource=None):
    """tf.contrib.framework.variable in the collection of model variables too."""
    collections = [*(collections or ()), GraphKeys.MODEL_VARIABLES]
    return variable(name, shape, dtype, initializer, regularizer, trainable, collections, custom_getter=custom_getter)


@public("contrib.framework.get_variables")
def get_variables(scope=None, suffix=None, collection=GraphKeys.GLOBAL_VARIABLES):
    """The variables of a collection whose names begin with the scope and end with the suffix."""
    name = getattr(scope, "name", scope)
    found = get_collection(collection, name)
    return [each for each in found if suffix is None or re.search(f"{suffix}(:0)?$", getattr(each, "name", ""))]


@public("contrib.framework.get_model_variables")
def get_model_variables(scope=None, suffix=None):
    """get_variables of the collection of model variables."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)
