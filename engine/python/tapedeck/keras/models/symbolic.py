"""The functional way of building models: tensors that are not there yet, and the calls of layers and ops on them.

A KerasTensor has a shape and a dtype and remembers the call that it comes from. What a layer gives for one is found out by calling
it on zeros, twice, with two extents wherever one is unknown: an extent in which the results differ is unknown too. These calls are
not recorded, draw no random numbers that others would have got, and leave the layer's variables as they are.
"""
import contextlib
import itertools

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.composites import op
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._functions.function import untraced
from tapedeck._random.streams import place_of_seed
from tapedeck.keras import backend
from tapedeck.keras.layers import input_spec
from tapedeck.keras.layers.base import Layer

_Tensor = _engine.Tensor

# The extents used for unknown ones: of the first axis, and of others, in the first run and the second; the next row where a
# layer refuses these, as a reshape to an even number of rows does, or a convolution that needs more.
_EXTENTS = (((1, 64), (2, 128)), ((2, 64), (4, 128)), ((12, 240), (24, 480)))


@public("keras.KerasTensor", "keras.models.KerasTensor")
class KerasTensor:
    """A tensor of a functional model: what tf.keras.Input returns, and what layers return for it.

    Operators and the functions of `tf` take it as they take tensors; it has no values.
    """

    _is_symbolic = True
    __array_priority__ = 2000

    def __init__(self, shape, dtype="float32", name=None):
        self._shape, self._dtype = TensorShape(shape), dtypes.as_dtype(dtype)
        self._name, self._node, self._place = name or backend.unique_name("keras_tensor"), None, 0

    shape = property(lambda self: self._shape, doc="The shape; None in it for what is not known.")
    dtype = property(lambda self: self._dtype, doc="The dtype.")
    name = property(lambda self: self._name, doc="The name.")
    ndim = property(lambda self: len(self._shape), doc="The number of axes.")
    node = property(lambda self: self._node, doc="The call that it comes from.")

    def get_shape(self):
        """The shape."""
        return self._shape

    def __len__(self):
        raise TypeError(f"len() of the KerasTensor {self._name}: it has no values yet")

    def __bool__(self):
        raise TypeError(f"The KerasTensor {self._name} cannot be used as a bool: it has no values until the model is called. Where "
                        "a branch depends on values, write a layer that has it in its call()")

    def __iter__(self):
        if not self._shape or self._shape[0] is None:
            raise TypeError(f"cannot iterate over the KerasTensor {self._name} of shape {self._shape}: the extent is not known")
        return iter([self[index] for index in range(self._shape[0])])

    def __float__(self):
        raise TypeError(f"The KerasTensor {self._name} has no value until the model is called")

    __int__ = __index__ = __float__

    def numpy(self):
        """Refused: there are no values. Errors: TypeError."""
        raise TypeError(f"The KerasTensor {self._name} has no values until the model is called")

    def __array__(self, dtype=None):
        raise TypeError(f"The KerasTensor {self._name} cannot become a NumPy array: it has no values until the model is called. "
                        "Use functions of tf, or a Lambda layer")

    def __getitem__(self, key):
        return call_op(_getitem, (self, key), {})

    __hash__ = object.__hash__

    def __repr__(self):
        return f"<KerasTensor shape={self._shape}, dtype={self._dtype.name}, name={self._name}>"


def _getitem(value, key):
    """value[key]"""
    return value[key]


def _operator(name, reflected):
    def method(self, other):
        return call_op(op(name), (other, self) if reflected else (self, other), {})

    return method


for _symbol, _name in {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floordiv",
                       "mod": "mod", "pow": "pow", "matmul": "matmul"}.items():
    setattr(KerasTensor, f"__{_symbol}__", _operator(_name, False))
    setattr(KerasTensor, f"__r{_symbol}__", _operator(_name, True))
for _symbol, _name in {"and": "logical_and", "or": "logical_or", "xor": "logical_xor", "lt": "less", "le": "less_equal",
                       "gt": "greater", "ge": "greater_equal"}.items():
    setattr(KerasTensor, f"__{_symbol}__", _operator(_name, False))
for _symbol, _name in {"neg": "negative", "abs": "abs", "invert": "logical_not"}.items():
    setattr(KerasTensor, f"__{_symbol}__", (lambda name: lambda self: call_op(op(name), (self,), {}))(_name))


class Described:
    """A property that an attribute of an object replaces: users give layers and models attributes of any name."""

    def __init__(self, function):
        self._function, self.__doc__ = function, function.__doc__

    def __get__(self, instance, owner=None):
        return self if instance is None else self._function(instance)


class Node:
    """A call of a layer: its arguments, which contain KerasTensors, and its results."""

    def __init__(self, layer, args, kwargs, outputs):
        self.layer, self.args, self.kwargs, self.outputs = layer, args, kwargs, outputs
        self.inputs = symbols_in((args, kwargs))
        for place, output in enumerate(symbols_in(outputs)):
            output._node, output._place = self, place

    @property
    def output_shapes(self):
        """The shapes of the outputs: one, or a structure."""
        return map_symbols(lambda each: each.shape, self.outputs)


def symbols_in(structure):
    """The KerasTensors of a structure, in its order."""
    if isinstance(structure, KerasTensor):
        return [structure]
    if isinstance(structure, dict):
        structure = list(structure.values())
    elif isinstance(structure, slice):
        structure = [structure.start, structure.stop, structure.step]
    elif not isinstance(structure, (list, tuple)) or isinstance(structure, TensorShape):
        return []
    return [each for part in structure for each in symbols_in(part)]


def map_symbols(function, structure):
    """The structure with function(each) for each KerasTensor; what is none stays."""
    if isinstance(structure, KerasTensor):
        return function(structure)
    if isinstance(structure, dict):
        return {name: map_symbols(function, each) for name, each in structure.items()}
    if isinstance(structure, slice):
        return slice(*(map_symbols(function, each) for each in (structure.start, structure.stop, structure.step)))
    if isinstance(structure, (list, tuple)) and not isinstance(structure, TensorShape) and symbols_in(structure):
        parts = [map_symbols(function, each) for each in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts) if isinstance(structure, tuple) else parts
    return structure


# ---- results of a call ----

@contextlib.contextmanager
def trial():
    """Ops inside are neither recorded nor taped, and draw random numbers of their own; no function is traced."""
    with _engine.QuietScope(), place_of_seed(0), untraced():
        yield


@contextlib.contextmanager
def variables_kept(layer):
    """What a call changes in the layer's variables is taken back."""
    before = [(variable, variable.read_value()) for variable in layer.weights]
    try:
        yield
    finally:
        for variable, value in before:
            variable.assign(value)


def zeros_for(symbol, first, other):
    """Zeros of the KerasTensor's shape, with these extents where its first and its other extents are not known."""
    extents = [extent if extent is not None else first if axis == 0 else other for axis, extent in enumerate(symbol.shape)]
    return op("zeros")(extents, symbol.dtype)


def _run_on_zeros(layer, args, kwargs, extents):
    made = {}

    def zeros(symbol):
        return made.setdefault(id(symbol), zeros_for(symbol, *extents))

    return layer(*map_symbols(zeros, args), **map_symbols(zeros, kwargs))


def _merged(one, two):
    """A KerasTensor of what two tensors have in common; what is not a tensor stays."""
    if not isinstance(one, (_Tensor, _engine.Variable)):
        return one
    extents = [own if own == other else None for own, other in itertools.zip_longest(one.shape, two.shape)]
    return KerasTensor(extents, one.dtype)


def outputs_of(layer, args, kwargs):
    """What the layer gives for KerasTensors, as KerasTensors, in the outputs' structure."""
    unknown = any(None in symbol.shape for symbol in symbols_in((args, kwargs)))
    refusal = None
    with trial(), variables_kept(layer):
        for first, second in _EXTENTS:
            try:
                one = _run_on_zeros(layer, args, kwargs, first)
                two = _run_on_zeros(layer, args, kwargs, second) if unknown else one
                break
            except (ValueError, ArithmeticError, _engine.OpError) as error:
                refusal = refusal or error
                if not unknown:
                    raise
        else:
            raise refusal
    return nest.map_structure(_merged, one, two) if nest.is_nested(one) else _merged(one, two)


def call_layer(layer, args, kwargs):
    """Layer.__call__ where KerasTensors are among the arguments."""
    if "_name" not in vars(layer):
        raise RuntimeError(f"In layer '{type(layer).__name__}', you forgot to call `super().__init__()` as the first statement in "
                           "the `__init__()` method. Go add it!")
    inputs = args[0] if args else next(iter(kwargs.values()))
    if layer.input_spec is not None and symbols_in(inputs):
        input_spec.check_inputs(layer.input_spec, inputs, layer.name)
    if not layer.built and symbols_in(inputs):
        layer._build_for(inputs)
    outputs = outputs_of(layer, args, kwargs)
    node = Node(layer, args, kwargs, outputs)
    number = len(nodes_of(layer))
    for output in symbols_in(outputs):
        output._name = f"{layer.name}/{number}" if number else layer.name
    nodes_of(layer).append(node)
    return outputs


def nodes_of(layer):
    """The calls of the layer on KerasTensors, in their order."""
    return vars(layer).setdefault("_inbound_nodes", [])


def _only_node(layer, what):
    nodes = nodes_of(layer)
    shapes = {str(node.outputs if what == "output" else node.args) for node in nodes}
    if not nodes:
        raise AttributeError(f"The layer {layer.name} has never been called on what tf.keras.Input returns and thus has no defined "
                             f"{what}.")
    if len(shapes) > 1:
        raise AttributeError(f"The layer {layer.name} has multiple inbound nodes, hence the notion of \"layer {what}\" is "
                             "ill-defined.")
    return nodes[0]


def output_of(layer):
    """The KerasTensors that the layer's call on KerasTensors returned. AttributeError where there was none, or several."""
    return _only_node(layer, "output").outputs


def input_of(layer):
    """The KerasTensors that the layer was called on. AttributeError where it was not, or several times."""
    return _only_node(layer, "input").args[0]


# ---- inputs ----

@public("keras.layers.InputLayer", "keras.models.InputLayer")
class InputLayer(Layer):
    """Where a functional model begins: it returns what it is called with.

    input_shape: without the batch's extent; batch_input_shape: with it; dtype: None for floatx().
    """

    def __init__(self, input_shape=None, batch_size=None, dtype=None, name=None, batch_input_shape=None, input_tensor=None,
                 shape=None, batch_shape=None, **kwargs):
        batch_input_shape = batch_shape if batch_input_shape is None else batch_input_shape
        input_shape = shape if input_shape is None else input_shape
        if batch_input_shape is None:
            if input_shape is None:
                raise ValueError("You must pass a `shape` argument.")
            extents = (input_shape,) if isinstance(input_shape, int) else tuple(input_shape)
            batch_input_shape = (batch_size, *extents)
        super().__init__(name=name or backend.unique_name("input_layer"), dtype=dtype or backend.floatx(), autocast=False,
                         trainable=False)
        vars(self)["_batch_input_shape"] = tuple(TensorShape(batch_input_shape))
        vars(self)["_built"] = True
        symbol = KerasTensor(batch_input_shape, self.dtype, self.name)
        nodes_of(self).append(Node(self, (), {}, symbol))

    def call(self, inputs):
        return inputs

    @property
    def output(self):
        """The KerasTensor."""
        return nodes_of(self)[0].outputs

    def get_config(self):
        return {"batch_input_shape": self._batch_input_shape, "dtype": self.dtype, "name": self.name}


@public("keras.Input", "keras.layers.Input", "keras.models.Input")
def Input(shape=None, batch_size=None, name=None, dtype=None, sparse=None, tensor=None, ragged=None, batch_shape=None, **kwargs):
    """A KerasTensor with which a functional model begins.

        inputs = tf.keras.Input((784,))
        outputs = tf.keras.layers.Dense(10)(inputs)
        model = tf.keras.Model(inputs, outputs)

    shape: without the batch's extent, None in it for what is not known; batch_shape (batch_input_shape): with it; batch_size: None
    for any; dtype: None for floatx(). Errors: ValueError where there is neither shape nor batch_shape, or both; NotImplementedError
    for sparse and ragged tensors, which the engine does not have.
    """
    if sparse or ragged or tensor is not None:
        raise NotImplementedError("Input: sparse, ragged and tensor are not supported; there are dense tensors only")
    batch_shape = kwargs.pop("batch_input_shape", batch_shape)
    if kwargs:
        raise TypeError(f"Input() got an unexpected keyword argument {next(iter(kwargs))!r}")
    if shape is not None and batch_shape is not None:
        raise ValueError(f"You cannot pass both `shape` and `batch_shape` at the same time; they are {shape!r} and {batch_shape!r}")
    if shape is None and batch_shape is None:
        raise ValueError("You must pass a `shape` argument.")
    return InputLayer(shape, batch_size, dtype, name, batch_input_shape=batch_shape).output


# ---- ops ----

class OpLayer(Layer):
    """An op that was called on KerasTensors, as a layer of the model: the function of `tf` that it is."""

    _dtype_of_first_input = True

    def __init__(self, function, name=None):
        short = getattr(function, "__name__", "op").strip("_")
        super().__init__(name=name or backend.unique_name(short), autocast=False)
        vars(self)["function"] = function
        vars(self)["_built"] = True

    def __call__(self, *args, **kwargs):
        if symbols_in((args, kwargs)):
            return call_layer(self, args, kwargs)
        with self.name_scope:
            return self.function(*args, **kwargs)

    def call(self, *args, **kwargs):
        return self.function(*args, **kwargs)

    def get_config(self):
        function = "getitem" if self.function is _getitem else getattr(getattr(self.function, "__self__", None), "op_name", None)
        if function is None:
            raise NotImplementedError(f"OpLayer {self.name}: {self.function!r} is not an op of the registry, so it cannot be saved")
        return {"name": self.name, "function": function}

    @classmethod
    def from_config(cls, config):
        function = _getitem if config["function"] == "getitem" else op(config["function"])
        return cls(function, config["name"])


def call_op(function, args, kwargs):
    """An op on KerasTensors: a layer of its own calls it."""
    kwargs = {name: value for name, value in kwargs.items() if name != "name"}
    return OpLayer(function)(*args, **kwargs)


_engine._set_symbolic(KerasTensor, call_op)

# A layer knows what it was called on from here: who makes no functional models needs none of it.
Layer.input, Layer.output = Described(input_of), Described(output_of)
