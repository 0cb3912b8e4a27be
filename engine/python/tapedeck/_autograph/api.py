"""The public names of tf.autograph."""
import ast
import enum
import functools
import types

from tapedeck import _engine
from tapedeck._autograph import conversion, loops, operators
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public

public("autograph.experimental.set_loop_options")(loops.set_loop_options)


def _function_of(name, entity):
    """A function, of a method too; TypeError for what is neither."""
    entity = getattr(entity, "python_function", entity)
    function = entity.__func__ if isinstance(entity, types.MethodType) else entity
    if not isinstance(function, types.FunctionType):
        raise _engine.TypeMismatchError(f"{name}: entity is {entity!r}; needs a function or a method of Python")
    return function


class _Alone:
    """The operators for a function whose calls stay as they are."""

    def __getattr__(self, name):
        return getattr(operators, name)

    @staticmethod
    def callee(function):
        return function


@public("autograph.to_graph")
def to_graph(entity, recursive=True, experimental_optional_features=None):
    """The function with its control flow as operators that make branches and loops of a graph where a tensor of it decides.

    entity: a function or a method; recursive: whether functions that it calls are converted as they are called;
    experimental_optional_features changes nothing. Called outside of a graph, the result does what the function does.
    Errors: TypeError for what is no function of Python; ValueError where it cannot be converted, with the reason.
    """
    function = _function_of("to_graph", entity)
    if conversion.is_converted(function.__code__):
        return entity
    try:
        made = conversion.convert(function, None if recursive else _Alone())
    except conversion.Unconvertible as error:
        raise _engine.InvalidArgumentError(f"to_graph: {function.__qualname__} cannot be converted: {error}") from None
    return types.MethodType(made, entity.__self__) if isinstance(entity, types.MethodType) else made


@public("autograph.to_code")
def to_code(entity, recursive=True, experimental_optional_features=None):
    """What to_graph makes of the function, as Python code. The arguments and errors are those of to_graph."""
    function = _function_of("to_code", entity)
    try:
        node, _ = conversion.tree(function)
        node.decorator_list = []
        return ast.unparse(ast.fix_missing_locations(node)) + "\n"
    except conversion.Unconvertible as error:
        raise _engine.InvalidArgumentError(f"to_code: {function.__qualname__} cannot be converted: {error}") from None


@public("autograph.experimental.do_not_convert")
def do_not_convert(func=None):
    """The function, to be called as it is by converted functions: its Python code runs while they are traced. A decorator, too.

    Errors: TypeError for what cannot be called.
    """
    if func is None:
        return do_not_convert
    require_callable("do_not_convert", "func", func)

    @functools.wraps(func)
    def called(*args, **kwargs):  # a function of this package, and so never converted
        return func(*args, **kwargs)

    return called


@public("autograph.set_verbosity")
def set_verbosity(level, alsologtostdout=False):
    """How much is said of conversions: from 1 on also which functions are generators, and so run as they are.

    level: a number; alsologtostdout changes nothing: messages go where those of tf.logging go.
    Errors: TypeError for another level.
    """
    if not isinstance(level, int):
        raise _engine.TypeMismatchError(f"set_verbosity: level is {level!r}; needs a whole number")
    conversion.settings["verbosity"] = level


@public("autograph.trace")
def trace(*args):
    """Prints the arguments, at once: in a function that is traced, while it is traced."""
    print(*args)


@public("autograph.experimental.Feature")
class Feature(enum.Enum):
    """What TensorFlow lets programs choose of its conversion; here each part is always on."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"
