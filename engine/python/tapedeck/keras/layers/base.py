"""The base of layers and models."""
import inspect

from tapedeck import _engine
from tapedeck._core import context, dtypes, nest, program_graph
from tapedeck._core.composites import either, op as _op
from tapedeck._core.extents import as_dtype_of, extent
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck._core.trackable import Trackable
from tapedeck.keras import backend, regularizers
from tapedeck.keras.layers import arguments, calls, input_spec as _input_spec, weights as _weights
from tapedeck.keras.layers.weights import snake_case
from tapedeck.keras.metrics.means import Mean

_Tensor = _engine.Tensor
_current = calls.current
# Arguments that all layers take beside their own, of TensorFlow's older versions.
_OLDER = {"input_shape", "batch_input_shape", "input_dim", "batch_size", "input_dtype", "weights", "autocast", "input_length",
          "implementation"}


def call_form(cls):
    """How the class' call takes its arguments; found out once for a class."""
    form = cls.__dict__.get("_call_form_found")
    if form is None:
        form = cls._call_form_found = calls.CallForm(inspect.signature(cls.call).parameters.values())
        form.makes_masks = cls.compute_mask is not Layer.compute_mask
    return form


def shapes_of(inputs):
    """The shapes of a structure of tensors, in its form; one TensorShape for one tensor."""
    if isinstance(inputs, (_Tensor, _engine.Variable)):
        return TensorShape(inputs.shape)
    return nest.map_structure(lambda each: TensorShape(each.shape) if hasattr(each, "shape") else None, inputs)


def as_shape(shape):
    """A shape, or a structure of shapes, as TensorShapes: (None, 3), [(None, 3), (None, 4)]."""
    if shape is None or isinstance(shape, TensorShape):
        return shape
    if isinstance(shape, dict):
        return {name: as_shape(each) for name, each in shape.items()}
    if isinstance(shape, (list, tuple)) and any(isinstance(each, (list, tuple, dict)) for each in shape):
        return [as_shape(each) for each in shape]
    return TensorShape(shape)


@public("keras.Layer", "keras.layers.Layer")
class Layer(_weights.Weights, Trackable):
    """A function of tensors with variables, which are created at the first call.

    A subclass makes its variables in build(input_shape) with add_weight, and computes in call(inputs). What it is given as
    attributes, in lists and dicts too, is part of it: variables, other layers.

    trainable: whether training changes its variables; name: None for the class' name, with a number from the second on; dtype: what
    it computes in, None for tf.keras.backend.floatx(); floating inputs are cast to it. activity_regularizer: a function of the
    outputs that gives a loss. input_shape, batch_input_shape, input_dim: what tf.keras.Sequential takes from its first layer.
    Errors: ValueError for other arguments.
    """

    _dtype_of_first_input = False
    _casts_integers = False  # whether integers become the layer's dtype, too
    _chooses = False  # whether call() takes a tensor of a tf.Graph as `training`

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        vars(self)["_made_with"] = args, kwargs
        return self

    def __init__(self, trainable=True, name=None, dtype=None, activity_regularizer=None, **kwargs):
        unknown = {argument: value for argument, value in kwargs.items() if argument not in _OLDER}
        if unknown:
            raise ValueError(f"Unrecognized keyword arguments passed to {type(self).__name__}: {unknown}")
        self._set_name(name)
        self._set_dtype(dtype)
        own = vars(self)
        own.setdefault("_built", False)
        own["_trainable"] = bool(trainable)
        own["_regularized"], own["_losses_now"], own["_losses_always"] = [], [], []
        own["_losses_number"] = own["_outermost_number"] = 0
        own["_metrics_by_name"] = {}
        own["_input_spec"] = None
        own["_autocast"] = kwargs.get("autocast", True) is not False
        own["_supports_masking"] = own.get("_supports_masking", False)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        own["_first_weights"] = kwargs.get("weights")
        shape = kwargs.get("batch_input_shape")
        if shape is None and "input_shape" in kwargs:
            shape = (kwargs.get("batch_size"), *kwargs["input_shape"])
        if shape is None and kwargs.get("input_dim") is not None:
            shape = (kwargs.get("batch_size"), kwargs["input_dim"])
        if shape is not None:
            own["_batch_input_shape"] = tuple(shape)

    # ---- name and dtype ----

    def _set_name(self, name):
        if name is not None and not isinstance(name, str):
            raise ValueError(f"{type(self).__name__}: name is {name!r}; needs a string")
        vars(self)["_name"] = vars(self)["_scope_text"] = name or backend.unique_name(snake_case(type(self).__name__))

    def _set_dtype(self, dtype):
        if isinstance(dtype, dict):
            try:
                dtype = dtype["config"]["name"]
            except (KeyError, TypeError):
                raise ValueError(f"{type(self).__name__}: dtype is {dtype!r}; needs a dtype, or what describes a policy of them") from None
        if dtype is None and not self._dtype_of_first_input:
            dtype = backend.floatx()
        vars(self)["_dtype"] = None if dtype is None else dtypes.as_dtype(getattr(dtype, "compute_dtype", dtype))

    @property
    def name(self):
        """The name that it was given, or got."""
        return self._name

    @property
    def name_scope(self):
        """A context in which ops have the layer's name in front of theirs."""
        return context.name_scope(self._scope_text)

    @property
    def dtype(self):
        """The dtype of its variables, as a text: "float32"."""
        return self._dtype and self._dtype.name

    compute_dtype = variable_dtype = dtype

    @property
    def built(self):
        """Whether its variables have been made."""
        return self._built

    @built.setter
    def built(self, value):
        vars(self)["_built"] = bool(value)

    @property
    def input_spec(self):
        """What it expects of its inputs: an InputSpec, a structure of them, or None."""
        return self._input_spec

    @input_spec.setter
    def input_spec(self, value):
        vars(self)["_input_spec"] = value

    @property
    def supports_masking(self):
        """Whether its outputs keep the mask of its inputs."""
        return self._supports_masking

    @supports_masking.setter
    def supports_masking(self, value):
        vars(self)["_supports_masking"] = bool(value)

    # ---- what subclasses say ----

    def build(self, input_shape):
        """Creates the variables. input_shape: a TensorShape, or a structure of them."""
        self.built = True

    def call(self, inputs, *args, **kwargs):
        """What the layer computes."""
        raise NotImplementedError(f"Layer {type(self).__name__} does not have a `call()` method implemented.")

    def compute_mask(self, inputs, mask=None):
        """The mask of the outputs: that of the inputs."""
        return mask

    def compute_output_shape(self, input_shape):
        """The outputs' shape for inputs of this shape, None for extents that are not known. Found by calling it."""
        return arguments.output_shape_by_calling(self, as_shape(input_shape))

    # ---- the call ----

    def __call__(self, *args, **kwargs):
        """Calls the layer; the first call creates its variables.

        Errors: ValueError for inputs that are not what input_spec says; RuntimeError where a subclass' __init__ did not call the
        base's; what call() raises.
        """
        form = type(self).__dict__.get("_call_form_found") or call_form(type(self))
        if kwargs or len(args) != 1 or type(args[0]) is not _Tensor:
            args, kwargs, symbolic = arguments.arguments(self, form, args, kwargs)
            if symbolic is not None:
                return symbolic(self, args, kwargs)
            training = arguments.late_training(form, args, kwargs)
            if training is not None and not (self._chooses and program_graph.current() is not None):
                return arguments.call_by_training(self, form, args, kwargs, training)
        try:
            dtype = self._dtype
        except AttributeError:
            raise RuntimeError(f"In layer '{type(self).__name__}', you forgot to call `super().__init__()` as the first statement "
                               f"in the `__init__()` method. Go add it!") from None
        inputs = args[0] if args else kwargs.get(form.names[0]) if form.names else None
        if type(inputs) is _Tensor and inputs.dtype is not dtype and self._is_cast(inputs.dtype):
            mask = calls.mask_of(inputs)
            inputs = _op("cast")(inputs, dtype)
            calls.set_mask(inputs, mask)
            args = (inputs, *args[1:])
        mask = None
        if calls.any_masks():
            mask = arguments.mask_for(form, inputs, args, kwargs)
            if mask is not None and form.mask and "mask" not in kwargs and not 0 <= form.mask_place < len(args):
                kwargs = {**kwargs, "mask": mask}
        if self._input_spec is not None:
            _input_spec.check_inputs(self._input_spec, inputs, self._name)
        outer, training = _current.layer, _current.training
        if outer is None:
            vars(self)["_outermost_number"] = _current.number = next(calls.numbers)
        if form.training or kwargs:
            kwargs = self._say_training(form, args, kwargs, training)
        _current.layer = self
        _engine.push_scope(self._scope_text)
        try:
            if not self._built:
                self._build_for(inputs)
                if self._input_spec is not None:
                    _input_spec.check_inputs(self._input_spec, inputs, self._name)
            outputs = self.call(*args, **kwargs)
            if self.activity_regularizer is not None:
                self._add_activity_losses(outputs)
            if mask is not None or form.makes_masks:
                arguments.pass_masks(self, inputs, outputs, mask if mask is not None else kwargs.get("mask"))
            return outputs
        except Exception as error:
            arguments.note_layer(error, self, inputs)
            raise
        finally:
            _engine.pop_scope()
            _current.layer, _current.training = outer, training

    def _is_cast(self, dtype):
        """Whether inputs of this dtype become the layer's."""
        own = self._dtype
        return own is not None and self._autocast and own.is_floating and (dtype.is_floating or self._casts_integers)

    def _say_training(self, form, args, kwargs, outer):
        """The keyword arguments with `training`: what was given, else what the outer call was given, else call's own default."""
        place = form.training_place
        if place is not None and len(args) > place:
            _current.training = args[place]
            return kwargs
        given = kwargs.get("training")
        if given is None:
            given = outer if outer is not None else form.training_default
        _current.training = given
        if not form.takes_training:
            if "training" in kwargs:
                kwargs = {name: value for name, value in kwargs.items() if name != "training"}
        elif form.training and given is not None:
            kwargs = {**kwargs, "training": given}
        return kwargs

    def _build_for(self, inputs):
        """Builds the layer for what it is called with."""
        if self._dtype is None:
            vars(self)["_dtype"] = self._dtype_for(inputs)
        self.build(shapes_of(inputs))
        vars(self)["_built"] = True
        if self._first_weights is not None:
            self.set_weights(self._first_weights)
            vars(self)["_first_weights"] = None

    def _dtype_for(self, inputs):
        found = [each.dtype for each in nest.flatten(inputs) if hasattr(each, "dtype")]
        return dtypes.as_dtype(found[0] if found else backend.floatx())

    # ---- losses ----

    def add_loss(self, loss=None, inputs=None, *, losses=None):
        """Adds a loss, or a list of them: scalars, which last until the outermost layer is called again, or functions of nothing,
        which stay. TensorFlow's `losses` returns them, with those of regularizers. losses: TensorFlow 1's name of loss; inputs
        changes nothing."""
        loss = either("add_loss", "loss", loss, "losses", losses)
        for each in loss if isinstance(loss, (list, tuple)) else [loss]:
            if callable(each):
                self._losses_always.append(each)
                continue
            if self._losses_number != _current.number:
                vars(self)["_losses_now"], vars(self)["_losses_number"] = [], _current.number
            self._losses_now.append(_engine.convert_to_tensor(each))

    def _add_activity_losses(self, outputs):
        for each in nest.flatten(outputs):
            if isinstance(each, _Tensor):
                loss = self.activity_regularizer(each)
                averages = each.ndim and each.shape[0] != 0 and self._averages_activity
                self.add_loss(loss / as_dtype_of(loss, extent(each, 0)) if averages else loss)

    _averages_activity = True  # TensorFlow 2's mean over the batch; tf.layers has the sum

    def _losses_since(self, number, seen):
        """The losses of this layer and of those inside, without those of an outermost call before `number`."""
        if id(self) in seen:
            return []
        seen.add(id(self))
        found = list(self._losses_now) if self._losses_number >= number else []
        found += [each() for each in self._losses_always]
        if self._trainable:
            found += [regularizer(variable) for variable, regularizer in self._regularized if variable.trainable]
        for layer in self._layers:
            found += layer._losses_since(number, seen)
        return found

    @property
    def losses(self):
        """The losses that layers added in the last call, and those of regularizers of variables, computed now: a list of
        scalars."""
        return self._losses_since(self._outermost_number, set())

    def add_metric(self, value, name=None, aggregation=None):
        """Adds a number to the metric of that name, a mean over its values since the metric was reset."""
        name = name or getattr(value, "name", None) or "metric"
        known = self._metrics_by_name.get(name)
        if known is None:
            known = self._metrics_by_name[name] = self._track(name, Mean(name=name))
        known.update_state(value)

    @property
    def metrics(self):
        """The metrics in its attributes, and those of the layers inside."""
        return _weights.once([each for layer in self._flatten_layers() for each in layer._parts()[2]])

    # ---- saving ----

    def get_config(self):
        """What from_config makes the same layer of: a dict. A subclass whose __init__ takes more says it there; otherwise the
        arguments that it was made with are used."""
        config = {"name": self._name, "trainable": self._trainable}
        if self._dtype is not None:
            config["dtype"] = self._dtype.name
        if "_batch_input_shape" in vars(self):
            config["batch_input_shape"] = self._batch_input_shape
        if self.activity_regularizer is not None:
            config["activity_regularizer"] = regularizers.serialize(self.activity_regularizer)
        return _weights.own_arguments(self, config) if type(self).get_config is Layer.get_config else config

    @classmethod
    def from_config(cls, config):
        """The layer of what get_config returned."""
        return cls(**config)

    def __repr__(self):
        return f"<{type(self).__name__} name={vars(self).get('_name')}, built={vars(self).get('_built', False)}>"
