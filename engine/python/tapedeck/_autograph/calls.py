"""Calls: functions of the user's are converted when they are called, others are called as they are."""
import builtins
import functools
import linecache
import math
import os
import site
import sysconfig
import types
import weakref

from tapedeck import _engine
from tapedeck._autograph import branches, conversion, items, lists
from tapedeck._autograph.backend import is_symbolic
from tapedeck._autograph.state import run, scalar_bool
from tapedeck._core.composites import op
from tapedeck._core.public import NAMES

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@functools.lru_cache(None)
def _library_folders():
    paths = sysconfig.get_paths()
    folders = {paths[each] for each in ("stdlib", "platstdlib", "purelib", "platlib")} | set(site.getsitepackages())
    return tuple(os.path.join(os.path.realpath(each), "") for each in (*folders, site.getusersitepackages(), _PACKAGE))


def _is_library(function):
    """Whether a function belongs to Python, to an installed package or to this one; what they compile themselves belongs to them."""
    file = function.__code__.co_filename
    if file.startswith("<") and not linecache.getlines(file, function.__globals__):
        file = function.__globals__.get("__file__") or file
    return is_library(file)


@functools.lru_cache(4096)
def is_library(filename):
    """Whether a file belongs to Python, to an installed package or to this one."""
    if filename.startswith("<frozen "):
        return True
    real = os.path.realpath(filename)
    return real.startswith(_library_folders()) or filename.startswith(os.path.join(_PACKAGE, "")) or any(
        f"/{folder}/" in real for folder in ("site-packages", "dist-packages"))


def callee(function):
    """What is called in place of the function: its conversion where it is the user's, else itself."""
    taking = lists.taking(function)
    if taking is not None:
        return taking
    kind = type(function)
    if kind is types.FunctionType:
        return converted(function)
    if kind is types.MethodType:
        if type(function.__func__) is not types.FunctionType:
            return function
        made = converted(function.__func__)
        return function if made is function.__func__ else types.MethodType(made, function.__self__)
    if kind is types.BuiltinFunctionType or kind is type:
        return _SUBSTITUTES.get(function, function)
    if kind is functools.partial:
        return functools.partial(callee(function.func), *function.args, **function.keywords)
    if not isinstance(function, type):
        method = next((vars(each)["__call__"] for each in kind.__mro__ if "__call__" in vars(each)), None)
        if type(method) is types.FunctionType and not _is_library(method):
            return types.MethodType(converted(method), function)
    return function


def converted_call(function, args, kwargs=None):
    """function(*args, **kwargs), converted where it is the user's."""
    return callee(function)(*args, **(kwargs or {}))


def converted(function):
    """A function of the user's, converted; another one, and one that cannot be converted, as it is."""
    code = function.__code__
    known = _as_they_are.get(id(code))
    if known is not None and known() is code or conversion.is_converted(code):
        return function
    if _is_library(function):
        return _as_it_is(function)
    try:
        return conversion.convert(function)
    except conversion.Unconvertible as error:
        conversion.warn(function, error)
        return _as_it_is(function)


_as_they_are = {}  # weak references to code, by its address: code of two files may be equal


def _as_it_is(function):
    code = function.__code__
    address = id(code)
    _as_they_are[address] = weakref.ref(code, lambda _: _as_they_are.pop(address, None))
    return function


def print_(*values, **options):
    """print(…); of tensors of a graph when it runs."""
    if any(map(is_symbolic, values)) and options.keys() <= {"sep", "end"}:
        NAMES["print"](*values, **options)
    else:
        print(*values, **options)


def assert_stmt(test, message, line):
    """What Python's assert looks at: the test itself, or True where the graph checks it when it runs."""
    if not is_symbolic(test):
        return test
    said = [] if message is None else [str(run(message))]
    NAMES["debugging.Assert"](scalar_bool(test, "the condition of assert", line), [f"line {line}: assert", *said])
    return True


def list_append(target):
    """A function that appends to the target and returns it."""
    append = target.append

    def appending(value):
        append(value)
        return target

    return appending


def _len(thing):
    """len(…), of lists that loops of a graph make longer, too."""
    return thing.count() if isinstance(thing, lists.GrowingList) else len(thing)


def _int(*arguments, **options):
    return _cast(int, "int32", arguments, options)


def _float(*arguments, **options):
    return _cast(float, "float32", arguments, options)


def _cast(kind, dtype, arguments, options):
    if len(arguments) == 1 and not options and is_symbolic(arguments[0]):
        return op("cast")(arguments[0], dtype)
    return kind(*arguments, **options)


def _reducing(name, row):
    plain = getattr(builtins, name)

    def reduced(*arguments, **options):
        if len(arguments) == 1 and not options and is_symbolic(arguments[0]):
            return op(row)(arguments[0], 0)
        return plain(*arguments, **options)

    return reduced


def _extreme(name):
    """Python's max or min: the first of equal values. A NaN is neither more nor less than what came before, nor is anything behind it."""
    plain = getattr(builtins, name)

    def of_elements(values):
        if values.shape.rank != 1:
            return op(f"reduce_{name}")(values, 0)
        candidates, first = values, values[0]
        if values.dtype.is_floating:
            least = _engine.constant(-math.inf if name == "max" else math.inf, values.dtype, None)
            candidates = op("where")(op("is_nan")(values), least, values)
        found = op("gather")(values, op(f"arg{name}")(candidates, 0))
        return op("where")(op("is_nan")(first), first, found) if values.dtype.is_floating else found

    def extreme(*arguments, **options):
        if options or not any(map(is_symbolic, arguments)):
            return plain(*arguments, **options)
        if len(arguments) == 1:
            return of_elements(arguments[0])
        return branches.extreme(name, *arguments)

    return extreme


_SUBSTITUTES = {print: print_, range: items.range_, enumerate: items.enumerate_, zip: items.zip_, iter: items.iter_, len: _len,
                int: _int, float: _float,
                any: _reducing("any", "reduce_any"), all: _reducing("all", "reduce_all"), max: _extreme("max"),
                min: _extreme("min"), sum: _reducing("sum", "reduce_sum")}
