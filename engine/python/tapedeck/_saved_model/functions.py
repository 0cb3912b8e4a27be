"""Functions of a saved model that was loaded: traces without the Python code that they come from."""
import collections.abc
import inspect

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._functions.concrete import ConcreteFunction
from tapedeck._functions.structures import leaf_of, Shown
from tapedeck.data.specs import TensorSpec

_TENSORS = (_engine.Tensor, _engine.Variable)


class _UnfitError(Exception):
    """The arguments are not those of the trace."""


def _fitted(expected, value, convert):
    """The tensors of an argument. convert: Python's numbers, texts and lists may become tensors."""
    if isinstance(expected, TensorSpec):
        if isinstance(value, TensorSpec):
            if not expected.is_compatible_with(value):
                raise _UnfitError
            return [value]
        if not isinstance(value, _TENSORS):
            if value is None or not convert and not isinstance(value, (np.ndarray, np.generic)):
                raise _UnfitError
            try:
                value = _engine.convert_to_tensor(value, expected.dtype if convert else None)
            except (TypeError, ValueError, _engine.OpError):
                raise _UnfitError from None
        if not expected.is_compatible_with(value):
            raise _UnfitError
        return [value]
    if nest.is_nested(expected):
        parts = leaf_of(value).tensors if not nest.is_nested(value) and not isinstance(value, _TENSORS) else None
        if isinstance(expected, tuple) and parts:  # of a sparse tensor
            value = tuple(parts)
        is_dict = isinstance(expected, dict)
        if not nest.is_nested(value) or nest._type(expected).__name__ != nest._type(value).__name__ or len(expected) != len(value) or \
                is_dict and set(expected) != set(value):
            raise _UnfitError
        keys = nest._sorted_keys(expected) if is_dict else range(len(expected))
        return [tensor for key in keys for tensor in _fitted(expected[key], value[key], convert)]
    if isinstance(expected, Shown) or type(value) is not type(expected) or not (value == expected or repr(value) == repr(expected)):
        raise _UnfitError
    return []


def _lines(args, kwargs):
    positional = "".join(f"\n    * {value!r}" for value in args)
    return f"  Positional arguments ({len(args)} total):{positional}\n  Keyword arguments: {kwargs!r}"


def _shown(concrete):
    """The signature as text: "f(x: float32 (None, 2), k=2)"."""
    def text(value):
        if isinstance(value, TensorSpec):
            return f"{value.dtype.name} {'of any rank' if value.shape is None else tuple(value.shape)}"
        return repr(nest.map_structure(text, value)) if nest.is_nested(value) else repr(value)

    args, kwargs = concrete._structure
    pairs = [*zip(concrete._parameter_names(len(args)), args), *sorted(kwargs.items())]
    parts = [f"{name}: {text(value)}" if isinstance(value, TensorSpec) else f"{name}={text(value)}" for name, value in pairs]
    return f"{concrete.name}({', '.join(parts)})"


class LoadedFunction:
    """A tf.function of a saved model. A call runs the trace that its arguments fit; there is no code to trace others from."""

    def __init__(self, name, signature, concrete_functions, input_signature=None):
        self.__name__ = self.name = name
        self.signature, self.concrete_functions, self.input_signature = signature, concrete_functions, input_signature
        self._listed = _engine.debug.TracedFunction(name, "", 0)  # by the debugger, too
        for concrete in concrete_functions:
            self._listed.add(concrete.trace, _shown(concrete), [("first", "", "loaded from a saved model")])

    def _bound(self, args, kwargs):
        if self.signature is None:
            return list(args), kwargs
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self.name}() {error}") from None
        bound.apply_defaults()
        return list(bound.args), bound.kwargs

    def _found(self, args, kwargs):
        """(the ConcreteFunction, its tensors). ValueError where none fits."""
        if not self.concrete_functions:
            raise ValueError(f"Found zero restored functions for caller function: {self.name} was saved before it was called, and it has "
                             "no input_signature, so there is no trace of it")
        args, kwargs = self._bound(args, kwargs)
        for convert in (False, True):
            for concrete in self.concrete_functions:
                wanted = concrete._structure
                if len(wanted[0]) != len(args) or set(wanted[1]) != set(kwargs):
                    continue
                try:
                    return concrete, _fitted(wanted[0], args, convert) + _fitted(wanted[1], kwargs, convert)
                except _UnfitError:
                    continue
        options = "\n\n".join(f"Option {number}:\n{_lines(*concrete.structured_input_signature)}"
                              for number, concrete in enumerate(self.concrete_functions, 1))
        raise ValueError(f"Could not find matching concrete function to call loaded from the SavedModel. Got:\n{_lines(args, kwargs)}\n\n "
                         f"Expected these arguments to match one of the following {len(self.concrete_functions)} option(s):\n\n{options}")

    def __call__(self, *args, **kwargs):
        concrete, tensors = self._found(args, kwargs)
        return concrete.run(tensors)

    def get_concrete_function(self, *args, **kwargs):
        """The ConcreteFunction for these arguments, tensors or TensorSpecs; without arguments the one that input_signature or the only
        trace is for. ValueError where none fits."""
        if not args and not kwargs and len(self.concrete_functions) == 1:
            return self.concrete_functions[0]
        return self._found(args, kwargs)[0]

    def experimental_get_tracing_count(self):
        """0: it is never traced."""
        return 0

    def pretty_printed_concrete_signatures(self, verbose=True):
        """The signatures for which there are traces, as text."""
        return "\n\n".join(each.pretty_printed_signature(verbose) for each in self.concrete_functions)

    @property
    def function_spec(self):
        raise AttributeError(f"{self.name}: a loaded function has no Python function")

    def __repr__(self):
        return f"<tapedeck.saved_model function {self.name}{self.signature or '(…)'}>"


def signature_parts(signature):
    """An inspect.Signature as [[name, kind, has a default, default]]; None for None."""
    return None if signature is None else [[each.name, each.kind.name, each.default is not each.empty, each.default]
                                           for each in signature.parameters.values()]


def signature_of(parts):
    """The inspect.Signature of such parts."""
    return None if parts is None else inspect.Signature([
        inspect.Parameter(name, getattr(inspect._ParameterKind, kind), **({"default": default} if has_default else {}))
        for name, kind, has_default, default in parts])


class LoadedSignature(ConcreteFunction):
    """A signature of a saved model: it takes tensors by their names, and returns a dict of them."""

    @classmethod
    def made(cls, key, graph, inputs, outputs):
        """key: the signature's; graph: the engine's."""
        specs = {name: TensorSpec(shape, dtype, name) for name, (dtype, shape) in zip(inputs, graph.inputs)}
        made = cls.restored("signature_wrapper", [], [[], specs], graph, None)
        made.key, made._names, made._specs, made._outputs = key, list(inputs), [specs[name] for name in inputs], list(outputs)
        return made

    output_shapes = property(lambda self: dict(zip(self._outputs, [spec.shape for spec in self.outputs])), doc="The results' shapes.")
    output_dtypes = property(lambda self: dict(zip(self._outputs, [spec.dtype for spec in self.outputs])), doc="The results' dtypes.")

    structured_outputs = property(lambda self: {name: TensorSpec(spec.shape, spec.dtype, name)
                                                for name, spec in zip(self._outputs, self.outputs)},
                                  doc="The TensorSpecs of its results, by their names.")

    def __call__(self, *args, **kwargs):
        return self.run(self._values(args, kwargs))

    def run(self, tensors):
        return dict(zip(self._outputs, self._graph(tensors)))

    def _values(self, args, kwargs):
        what = f"signature_wrapper({', '.join(['*', *self._names] if self._names else [])})"
        if args:
            raise TypeError(f"{what} takes 0 positional arguments, got {len(args)}.")
        missing = sorted(set(self._names) - set(kwargs))
        if missing:
            raise TypeError(f"{what} missing required arguments: {', '.join(missing)}.")
        unexpected = sorted(set(kwargs) - set(self._names))
        if unexpected:
            raise TypeError(f"{what} got unexpected keyword arguments: {', '.join(unexpected)}.")
        for place, name in enumerate(self._names):
            if not isinstance(kwargs[name], _TENSORS):
                value = kwargs[name]
                raise TypeError(f"{what}: expected argument #{place}(zero-based) to be a Tensor; got {type(value).__name__} ({value}).")
        return [kwargs[name] for name in self._names]


class SignatureMap(collections.abc.Mapping):
    """The signatures of a saved model by name; it does not change."""

    def __init__(self, signatures):
        self._signatures = dict(signatures)

    def __getitem__(self, key):
        return self._signatures[key]

    def __iter__(self):
        return iter(self._signatures)

    def __len__(self):
        return len(self._signatures)

    def __repr__(self):
        return f"_SignatureMap({self._signatures})"
