"""tf.function and tfe.defun. Functions are traced, but after tf.config.run_functions_eagerly(True)."""
import contextlib
import functools
import inspect
import operator
import threading
import types
import weakref

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public
from tapedeck._functions import control, recursion, tracebacks
from tapedeck._functions.concrete import ConcreteFunction
from tapedeck._functions.function_spec import FunctionSpec
from tapedeck._functions.reasons import TraceList
from tapedeck._functions.structures import Arguments
from tapedeck._variables.stores import scope_counts
from tapedeck.data.specs import TensorSpec

_VALUES = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)
_runs_eagerly = _engine.functions_run_eagerly  # the debugger can switch it, too


@public("config.run_functions_eagerly")
def run_functions_eagerly(run_eagerly):
    """Whether tf.functions are called as they are, every time. With False, as it is at the start, a function is traced once for each
    signature, and then runs the graph of its ops. For the whole process."""
    _engine.set_functions_run_eagerly(bool(run_eagerly))


@public("config.functions_run_eagerly")
def functions_run_eagerly():
    """Whether tf.functions are called as they are: False at the start."""
    return _runs_eagerly()


class _Here(threading.local):
    """Of a thread: how many untraced() are open."""

    untraced = 0


_here = _Here()


@contextlib.contextmanager
def untraced():
    """Functions that have no trace yet are called as they are inside: what runs there is a trial, and not what a trace should keep."""
    _here.untraced += 1
    try:
        yield
    finally:
        _here.untraced -= 1


class Method:
    """A Function that is an instance's, as Python's bound methods are: it alone keeps the instance alive."""

    __slots__ = ("_function", "__self__", "__weakref__")

    def __init__(self, function, instance):
        self._function, self.__self__ = function, instance

    def __call__(self, *args, **kwargs):
        return self._function(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self._function, name)

    def __eq__(self, other):
        return isinstance(other, Method) and self._function is other._function

    def __hash__(self):
        return hash(self._function)

    def __reduce__(self):
        return getattr, (self.__self__, self._function.__name__)

    def __repr__(self):
        return f"<tapedeck.function {self._function.__qualname__} of {self.__self__!r}>"


class _Functions:
    """The Functions of an instance's methods, which it keeps itself: what their graphs call may refer to the instance, and goes with it
    then. A copy of the instance gets others."""

    __slots__ = ("by_method",)
    _name = "_tapedeck_functions"  # in the instance's __dict__

    def __init__(self):
        self.by_method = {}

    @classmethod
    def of(cls, instance):
        """Those of an instance; None where it has no __dict__ to keep them in."""
        own = getattr(instance, "__dict__", None)
        if type(own) is not dict:
            return None
        found = own.get(cls._name)
        if found is None or any(made._instance() is not instance for made in found.by_method.values()):
            found = own[cls._name] = cls()
        return found

    def __reduce__(self):
        return _Functions, ()


class Function:
    """What tf.function makes of a Python function. Of a method each instance has one of its own, which keeps no instance alive."""

    def __init__(self, func, input_signature=None, autograph=True, instance=None, reduce_retracing=False, jit_compile=None,
                 makes_variables=False):
        """instance: a weak reference to a method's; makes_variables: whether each trace may make variables of its own."""
        functools.update_wrapper(self, func)
        self.__name__ = getattr(func, "__name__", type(func).__name__)  # of an object that can be called
        self.__qualname__ = getattr(func, "__qualname__", self.__name__)
        self._func, self._instance, self._autograph, self._jit_compile = func, instance, autograph, jit_compile
        self._input_signature = None if input_signature is None else _as_signature(input_signature)
        self._lock, self._concrete, self._traces, self._may_create = threading.RLock(), {}, 0, True
        self._makes_variables = makes_variables
        self._of_tensors = {}  # for calls with nothing but tensors: the concrete function, by their dtypes and shapes
        self._beyond_graphs = set()  # signatures of calls that run eagerly, as what they call cannot be traced
        self._bound = {}  # by the instance's address: its Function, a weak reference to the instance where that keeps it
        self._converted = None
        self._relaxed = {} if reduce_retracing else None  # by the form of a call: TensorSpecs that fit all shapes that it had
        self._listed = None  # for the debugger, from the first trace on
        self._another_instance = None  # the class's name, where other instances had the method before

    input_signature = property(lambda self: self._input_signature, doc="TensorSpecs of the positional arguments, or None.")
    name = property(lambda self: self.__name__, doc="The Python function's name.")

    @property
    def function_spec(self):
        """The names of the Python function's parameters, and what was said of them."""
        return FunctionSpec(self.__name__, self._func, self._signature, self._input_signature, self._instance is not None,
                            self._jit_compile)

    @property
    def python_function(self):
        """The function itself."""
        return self._func if self._instance is None else types.MethodType(self._func, self._self())

    def _self(self):
        instance = self._instance()
        if instance is None:
            raise ReferenceError(f"{self.__qualname__}: the object whose method it is has gone; keep a reference to it")
        return instance

    # ---- a method of a class

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        own = _Functions.of(instance)
        known = (self._bound if own is None else own.by_method).get(id(instance) if own is None else self)
        if known is not None and known._instance() is instance:
            return Method(known, instance)
        address = id(instance)
        try:
            reference = weakref.ref(instance, lambda _: self._forget(address))
        except TypeError:  # nothing can refer to it weakly: it is an argument like any other
            return types.MethodType(self, instance)
        made = Function(self._func, self._input_signature, self._autograph, reference, self._relaxed is not None, self._jit_compile,
                        self._makes_variables)
        made._another_instance = type(instance).__name__ if self._bound else None
        self._bound[address] = made if own is None else reference
        if own is not None:
            own.by_method[self] = made
        return Method(made, instance)

    def _forget(self, address):
        self._bound.pop(address, None)

    # A function is copied and pickled as its name.
    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return self.__qualname__

    # ---- calls

    def __call__(self, *args, **kwargs):
        if _runs_eagerly():
            return self._call_eagerly(args, kwargs)
        key = None if kwargs else _engine.key_of_tensors(args)
        found = self._of_tensors.get(key)
        if found is not None:
            return found.run(args)
        arguments = self._arguments(args, kwargs)
        if arguments.key in self._beyond_graphs or arguments.has_models_tensors or _here.untraced and arguments.key not in self._concrete:
            return self._call_eagerly(args, kwargs)
        try:
            concrete = self._concrete_of(arguments)
        except Exception as error:
            if not tracebacks.is_beyond_graphs(error, arguments.specs):
                raise error.with_traceback(tracebacks.users_frames(error.__traceback__))  # noqa: B904 - the same error
            tracebacks.warn_of_eager(self.__name__, error)
            self._beyond_graphs.add(arguments.key)
            return self._call_eagerly(args, kwargs)
        if key is not None and len(args) == len(arguments.tensors) and all(map(operator.is_, args, arguments.tensors)):
            self._of_tensors[key] = concrete
        return concrete.run(arguments.tensors)

    def _call_eagerly(self, args, kwargs):
        if self._input_signature is not None:
            args = _as_specified(self.__name__, args, self._input_signature, self._may_have_self, self._parameters)
        args, kwargs = nest.map_structure(_array_as_tensor, [list(args), kwargs])
        return nest.map_structure(result_as_tensor, self._python(self._func, args, kwargs))

    def _python(self, func, args, kwargs):
        return func(*args, **kwargs) if self._instance is None else func(self._self(), *args, **kwargs)

    @functools.cached_property
    def _signature(self):
        """None of a builtin that has none."""
        try:
            signature = inspect.signature(self._func)
        except (TypeError, ValueError):
            return None
        parameters = list(signature.parameters.values())
        return signature.replace(parameters=parameters[1:]) if self._instance is not None and parameters else signature

    @functools.cached_property
    def _parameters(self):
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [each.name for each in self._signature.parameters.values() if each.kind in kinds] if self._signature else []

    @property
    def _may_have_self(self):
        """Whether an object may stand before what input_signature names: nothing can refer to it weakly."""
        return self._instance is None and self._parameters[:1] in (["self"], ["cls"])

    def _arguments(self, args, kwargs):
        given = len(args)
        if self._signature is not None:
            try:
                bound = self._signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{self.__name__}() {error}") from None
            given = len(bound.args)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        if self._input_signature is not None:
            args = _as_specified(self.__name__, args, self._input_signature, self._may_have_self, self._parameters, given)
            return _of_signature(Arguments(args, kwargs), self._input_signature)
        return Arguments(args, kwargs)

    def _concrete_of(self, arguments):
        """The ConcreteFunction for these arguments, traced where there is none yet."""
        found = self._concrete.get(arguments.key)
        if found is not None:
            return found
        while not self._lock.acquire(timeout=0.1):  # another thread traces; an evaluation that waits can be ended between two tries
            pass
        try:
            if self._relaxed is not None:
                self._relax(arguments)
            found = self._concrete.get(arguments.key)
            if found is None:
                names = dict(scope_counts().opened)
                found = self._trace(arguments, self._may_create)
                made_variables = found.variables_made
                # As TensorFlow does: the second trace must find them made, under the same names.
                if made_variables and not self._makes_variables:
                    scope_counts().opened = names
                    found = self._trace(arguments, False)
                self._list(found, arguments, made_variables)
                self._may_create = self._makes_variables
                self._concrete[arguments.key] = found
        finally:
            self._lock.release()
        return found

    def _relax(self, arguments):
        """Has the arguments a signature that fits the shapes that such calls had before, too."""
        form = arguments.form()
        before = self._relaxed.get(form)
        if before is not None:
            arguments.relaxed([one.most_specific_compatible_type(other) for one, other in zip(before, arguments.specs)])
        self._relaxed[form] = arguments.specs

    def _trace(self, arguments, may_create):
        self._traces += 1
        if self._autograph and self._converted is None:
            self._converted = control.converted(self._func)
        func = self._converted if self._autograph else self._func
        this, name = weakref.ref(self), self.__qualname__

        def for_others(args, kwargs):
            function = this()
            if function is None:
                raise ReferenceError(f"{name}: the function has gone; for other variables than it was traced with, keep a reference to it")
            return function.get_concrete_function(*args, **kwargs)

        with recursion.watched(self, arguments.key):
            return ConcreteFunction(self.__name__, arguments, self._parameters,
                                    lambda args, kwargs: self._python(func, args, kwargs), may_create, for_others)

    def _list(self, concrete, arguments, made_variables):
        """The debugger lists the trace."""
        if self._listed is None:
            self._listed = TraceList(self.__qualname__, self._func, self._another_instance)
        self._listed.add(concrete.trace, arguments, self._parameters, made_variables)

    # ---- what TensorFlow's have

    def get_concrete_function(self, *args, **kwargs):
        """The ConcreteFunction for these arguments, tensors or TensorSpecs; without arguments that of input_signature. It takes any
        extents where a spec has None.

        Errors: TypeError for arguments that do not fit.
        """
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        arguments = self._arguments(args, kwargs)
        return self._concrete_of(arguments).named_as(arguments)

    def experimental_get_tracing_count(self):
        """How often the function was traced."""
        return self._traces

    def pretty_printed_concrete_signatures(self, verbose=True):
        """The signatures for which there are traces, as text."""
        return "\n\n".join(each.pretty_printed_signature(verbose) for each in self._concrete.values())

    def __repr__(self):
        return f"<tapedeck.function {self.__qualname__} at 0x{id(self):x}>"


@public("function")
def function(func=None, input_signature=None, autograph=True, jit_compile=None, reduce_retracing=False, **kwargs):
    """func as TensorFlow calls it: it is traced once for each signature, and its graph runs. A decorator, with arguments too.
    After tf.config.run_functions_eagerly(True) func is called as it is, every time.

    Arrays come to func as tensors, and numbers, texts and arrays that it returns, in lists, tuples and dicts too, are
    tensors; a variable that it returns is read when it returns. A signature is made of the tensors' dtypes and shapes, of the values of
    Python's numbers and texts, and of other objects themselves. input_signature: TensorSpecs of the positional arguments, which
    become tensors of these dtypes; None in a shape: any extent, in the same trace. reduce_retracing: calls that differ from those before
    in shapes alone get a trace for all extents that differed. autograph: whether if, while and for of tensors become part of the graph.
    jit_compile and other arguments of TensorFlow's (experimental_…) change nothing.
    Returns: a function with `python_function`, `get_concrete_function`, `experimental_get_tracing_count` and others of TensorFlow's.
    Errors: TypeError for an argument that is not callable, for unknown arguments, and for calls that do not fit input_signature;
    ValueError where a trace but the first makes variables.
    """
    unknown = [name for name in kwargs if not name.startswith("experimental_")]
    if unknown:
        raise TypeError(f"function() got an unexpected keyword argument {unknown[0]!r}")
    if func is None:
        return lambda given: function(given, input_signature, autograph, jit_compile, reduce_retracing, **kwargs)
    if isinstance(func, (staticmethod, classmethod)):  # the decorators in the other order
        return type(func)(function(func.__func__, input_signature, autograph, jit_compile, reduce_retracing, **kwargs))
    require_callable("function", "func", func)
    relaxes = reduce_retracing or bool(kwargs.get("experimental_relax_shapes"))
    return Function(func, input_signature, autograph, reduce_retracing=relaxes, jit_compile=jit_compile)


@public("tfe.defun")
def defun(func=None, input_signature=None, autograph=True, **kwargs):
    """tf.function in TensorFlow 1. Also a decorator with arguments; those that are not tf.function's change nothing. The
    variables that func makes are the trace's: each trace has its own, made once, and they keep their values from call to call.

    Returns: as tf.function. Errors: TypeError for an argument that is not callable.
    """
    if func is None:
        return lambda given: defun(given, input_signature, autograph)
    require_callable("defun", "func", func)
    return Function(func, input_signature or None, autograph, makes_variables=True)


def _as_signature(given):
    if not isinstance(given, (list, tuple)):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(given).__name__}: {given!r}")
    for leaf in nest.flatten(given):
        if not hasattr(leaf, "is_compatible_with"):
            raise TypeError(f"Invalid input_signature {given!r}; input_signature must be a possibly nested TensorSpec sequence, got "
                            f"{leaf!r}")
    return tuple(given)


def _array_as_tensor(value):
    return _engine.convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


def result_as_tensor(value):
    """What a function of a graph would return for the value: of a variable what it holds now, of numbers, texts and arrays a
    tensor; other objects as they are."""
    if isinstance(value, _engine.Variable):
        return value.read_value()
    return _engine.convert_to_tensor(value) if isinstance(value, _VALUES) else value


def _of_signature(arguments, signature):
    """The arguments with the signature's TensorSpecs in place of their tensors' own."""
    specs = [spec for spec in nest.flatten(list(signature)) if isinstance(spec, TensorSpec)]
    count = sum(bool(leaf.specs) for leaf in arguments.leaves)
    if len(specs) == count == len(arguments.specs):
        arguments.relaxed(specs)
    return arguments


def _as_specified(name, args, signature, may_have_self, parameters, given=None):
    """The arguments, without a method's self, as tensors of the specs. parameters: their names; given: how many the call has, where
    defaults are behind them. TypeError where one does not fit."""
    given = len(args) if given is None else given
    first = int(may_have_self and given == len(signature) + 1)
    if given > first + len(signature) or len(args) < first + len(signature):
        beyond = parameters[first + len(signature):given]
        which = f"; it has none for {', '.join(map(repr, beyond))}" if beyond else ""
        raise TypeError(f"{name}: input_signature has {len(signature)} entries, the call has {given} positional arguments{which}")

    names = iter(parameters[first:])

    def fitted(spec, value, parameter):
        if isinstance(value, TensorSpec):
            return value
        value = _engine.convert_to_tensor(value, spec.dtype) if not isinstance(value, (_engine.Tensor, _engine.Variable)) else value
        if not spec.is_compatible_with(value):
            raise TypeError(f"{name}: input_signature wants {spec} for {parameter}; the call has shape {value.shape}, dtype "
                            f"{value.dtype.name}")
        return value

    def of_parameter(spec, value):
        parameter = next(names, "an argument")
        if not nest.is_nested(spec):
            return fitted(spec, value, parameter)
        return nest.map_structure(lambda spec, value: fitted(spec, value, parameter), spec, value)

    return [*args[:first], *map(of_parameter, signature, args[first:]), *args[first + len(signature):]]
