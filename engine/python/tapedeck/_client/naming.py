"""What a program says of operations by calling functions of tf: their names, and operations that have no value.

The functions know nothing of graphs: they call ops. So, when a process enters a graph for the first time, those of its namespaces that
have a parameter `name` are replaced by ones that look at what was added to the graph, and else do the same.
"""
import functools
import types

from tapedeck import _engine
from tapedeck._client.values import value_behind
from tapedeck._core import program_graph, public
from tapedeck._core.composites import op

# Namespaces whose functions are TensorFlow's operations; those of layers open scopes of their own.
_NAMESPACES = ("", "math", "nn", "linalg", "random", "image", "strings", "signal", "spectral", "bitwise", "debugging", "sparse", "sets",
               "losses", "dtypes", "quantization")
# They make operations and tensors of a graph themselves, or none.
_OWN = {"placeholder", "placeholder_with_default", "sparse_placeholder", "group", "no_op", "name_scope", "variable_scope", "get_variable",
        "get_local_variable", "global_variables_initializer", "local_variables_initializer", "variables_initializer", "gradients",
        "function", "tables_initializer", "make_template", "report_uninitialized_variables", "cond", "case", "while_loop"}
# What they give is a value in eager code, which a graph has as a tensor that may be fed.
_CONSTANTS = {"constant", "convert_to_tensor"}


def _position(function):
    """Where `name` is among the function's parameters: a number, None where it comes by name alone; False where it has none."""
    if isinstance(function, types.FunctionType):
        code = function.__code__
        while hasattr(function, "__wrapped__") and "name" not in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]:
            function = function.__wrapped__
            code = getattr(function, "__code__", code)
            if not isinstance(function, types.FunctionType):
                return False
        positional = code.co_varnames[:code.co_argcount]
        if "name" in positional:
            return positional.index("name")
        return None if "name" in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] else False
    if isinstance(function, types.BuiltinFunctionType) and type(getattr(function, "__self__", None)).__name__ == "Op":
        names = [parameter[0] for parameter in function.__self__.parameters]
        return names.index("name") if "name" in names else len(names)
    return False


def _aware(function, position, is_constant):
    """The function, which tells the current graph what it is called for."""
    @functools.wraps(function)
    def call(*args, **kwargs):
        graph = program_graph.current()
        if graph is None:
            return function(*args, **kwargs)
        if graph.finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")
        name = kwargs.get("name")
        if name is None and position is not None and len(args) > position:
            name = args[position]
        first = graph._engine.size
        result = function(*args, **kwargs)
        if is_constant and isinstance(result, _engine.Tensor) and not _engine.is_symbolic(result):
            result = op("identity")(result)
            name = name or "Const"
        return _seen(graph, first, result, name, args)

    return call


def _seen(graph, first, result, name, args):
    effects = graph._effects_since(first)
    if result is None and effects:
        return graph._new_operation("NoOp", effects, name or "group_deps")
    if isinstance(result, _engine.Variable) and args and result is args[0] and effects:  # it assigned to the variable
        result = value_behind(result, effects)
    elif effects and isinstance(result, _engine.Tensor):
        place = graph._place_of(result)
        if place and place[0] >= first:
            graph._controls.depend(place[0], [node for node in effects if node < place[0]])
    graph._name_results(first, result, name if isinstance(name, str) else None, True)
    return result


_installed = []


def install():
    """Replaces the functions, once in a process."""
    if _installed:
        return
    _installed.append(True)
    made = {}
    for path in _NAMESPACES:
        module = public.NAMESPACES.get(path)
        for name in list(module.__all__) if module else ():
            function = vars(module).get(name)
            if name in _OWN or function is None:
                continue
            if id(function) not in made:
                position = _position(function)
                made[id(function)] = function, None if position is False else _aware(function, position, name in _CONSTANTS)
            if made[id(function)][1] is not None:
                setattr(module, name, made[id(function)][1])


