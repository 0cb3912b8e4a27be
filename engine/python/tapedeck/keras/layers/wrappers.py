"""Layers around a layer: in both directions, and at each step."""
from tapedeck._core import nest
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import extents
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras.layers import recurrent_cells as cells
from tapedeck.keras.layers.base import as_shape, call_form, Layer
from tapedeck.keras.utils.objects import serialize_keras_object

_MODES = "sum", "mul", "ave", "concat", None


@public("keras.layers.Wrapper")
class Wrapper(Layer):
    """The base of layers around a layer. layer: which. AssertionError where it is none."""

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(f"{type(self).__name__}: layer is {layer!r}; needs a tf.keras.layers.Layer")
        super().__init__(**kwargs)
        self.layer = layer

    def build(self, input_shape=None):
        cells.build_layer(self.layer, input_shape)
        self.built = True

    def get_config(self):
        return {**super().get_config(), "layer": serialize_keras_object(self.layer)}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        return cls(cells.deserialized(config.pop("layer"), custom_objects), **config)


@public("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """A layer, at each step of sequences: on (batch · time, …) at once.

    Inputs: (batch, time, …), or a structure of such; mask: (batch, time), bool, which the layer gets where it takes one.
    Returns: (batch, time, …).
    Errors: ValueError for a value that is not a layer, for fewer than three axes, and for a mask of another shape.
    """

    def __init__(self, layer, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(f"Please initialize `TimeDistributed` layer with a `keras.layers.Layer` instance. Received: {layer}")
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    @staticmethod
    def _step_shape(shape):
        if len(shape) < 3:
            raise ValueError("`TimeDistributed` Layer should be passed an `input_shape` with at least 3 dimensions, received: "
                             f"{tuple(shape)}")
        return TensorShape((shape[0], *shape[2:]))

    def _step_shapes(self, input_shape):
        shapes = as_shape(input_shape)
        return [self._step_shape(each) for each in shapes] if isinstance(shapes, list) else self._step_shape(shapes)

    def build(self, input_shape=None):
        super().build(self._step_shapes(input_shape))

    def compute_output_shape(self, input_shape):
        shapes = as_shape(input_shape)
        first = shapes[0] if isinstance(shapes, list) else shapes
        found = self.layer.compute_output_shape(self._step_shapes(input_shape))
        return TensorShape((first[0], first[1], *found[1:]))

    def call(self, inputs, training=None, mask=None):
        first = nest.flatten(inputs)[0]
        batch, time = extents(first)[:2]
        form, keywords = call_form(type(self.layer)), {}
        if mask is not None:
            if not mask.shape[:2].is_compatible_with(first.shape[:2]):
                raise ValueError(f"The `mask` passed to the `TimeDistributed` layer has a shape {tuple(mask.shape)} that is incompatible "
                                 f"with the input shape {tuple(first.shape)}. The first two dimensions of the mask (batch size and "
                                 "timesteps) must match the input's first two dimensions.")
            if form.mask:
                keywords["mask"] = _op("reshape")(mask, [batch * time, *extents(mask)[2:]])
        if form.training:
            keywords["training"] = training

        def together(value):
            return _op("reshape")(value, [batch * time, *extents(value)[2:]])

        flat = nest.map_structure(together, inputs) if nest.is_nested(inputs) else together(inputs)
        outputs = self.layer(flat, **keywords)

        def apart(value):
            return _op("reshape")(value, [batch, time, *extents(value)[1:]])

        return nest.map_structure(apart, outputs) if nest.is_nested(outputs) else apart(outputs)


@public("keras.layers.Bidirectional")
class Bidirectional(Layer):
    """A recurrent layer in both directions, its outputs merged.

    layer: an RNN, or a layer with its arguments, of which two copies are made; merge_mode: "concat", "sum", "mul", "ave", or None for
    a list of both; backward_layer: another layer for the way back, with go_backwards; weights: the first values of all variables.
    initial_state: the states of the way forward, then those of the way back; the last states come in that order with return_state.
    Errors: ValueError for a value that is not a layer, another merge_mode, and layers that differ in what they return.
    """

    def __init__(self, layer, merge_mode="concat", weights=None, backward_layer=None, **kwargs):
        if not isinstance(layer, Layer):
            raise ValueError(f"Please initialize `Bidirectional` layer with a `keras.layers.Layer` instance. Received: {layer}")
        if backward_layer is not None and not isinstance(backward_layer, Layer):
            raise ValueError(f"`backward_layer` need to be a `keras.layers.Layer` instance. Received: {backward_layer}")
        if merge_mode not in _MODES:
            raise ValueError(f"Invalid merge mode. Received: {merge_mode}. Merge mode should be one of "
                             '{"sum", "mul", "ave", "concat", None}')
        super().__init__(**kwargs)
        self.merge_mode = merge_mode
        self.forward_layer = self._copy(layer, "forward_")
        self.backward_layer = self._copy(layer, "backward_", go_backwards=True) if backward_layer is None else backward_layer
        self._check_layers()
        for each in (self.forward_layer, self.backward_layer):
            if hasattr(each, "zero_output_for_mask"):
                each.zero_output_for_mask = each.return_sequences
        self._own_backward = backward_layer is not None
        if weights:
            half = len(weights) // 2
            vars(self.forward_layer)["_first_weights"] = weights[:half]
            vars(self.backward_layer)["_first_weights"] = weights[half:]
        self.return_sequences, self.return_state = layer.return_sequences, layer.return_state
        self.stateful = layer.stateful
        self.supports_masking = True

    @staticmethod
    def _copy(layer, prefix, **changes):
        """A layer like this one, without its variables' values."""
        config = layer.get_config()
        plain = config["name"][len(prefix):] if config["name"].startswith(prefix) else config["name"]
        return type(layer).from_config({**config, **changes, "name": prefix + plain})

    def _check_layers(self):
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError("Forward layer and backward layer should have different `go_backwards` value. Received: "
                             f"forward_layer.go_backwards {forward.go_backwards}, backward_layer.go_backwards={backward.go_backwards}")
        for name in ("stateful", "return_sequences", "return_state"):
            if getattr(forward, name) != getattr(backward, name):
                raise ValueError("Forward layer and backward layer are expected to have the same value for attribute "
                                 f'"{name}", got "{getattr(forward, name)}" for forward layer and "{getattr(backward, name)}" for '
                                 "backward layer")

    def build(self, input_shape=None):
        for layer in (self.forward_layer, self.backward_layer):
            cells.build_layer(layer, input_shape)
            if vars(layer)["_first_weights"] is not None:
                layer.set_weights(vars(layer)["_first_weights"])
                vars(layer)["_first_weights"] = None
        self.built = True

    def compute_output_shape(self, input_shape, initial_state_shape=None):
        found = self.forward_layer.compute_output_shape(input_shape)
        shape, states = (found[0], list(found[1:])) if self.return_state else (found, [])
        if self.merge_mode == "concat":
            shape = TensorShape((*shape[:-1], None if shape[-1] is None else 2 * shape[-1]))
        both = [shape, shape] if self.merge_mode is None else [shape]
        return (*both, *states, *states) if len(both) + len(states) > 1 else shape

    def compute_mask(self, inputs, mask=None):
        if isinstance(mask, (list, tuple)):
            mask = mask[0]
        kept = mask if self.return_sequences else None
        masks = [kept, kept] if self.merge_mode is None else [kept]
        if self.return_state:
            masks += [None] * (2 * len(nest.flatten(self.forward_layer.state_size)))
        return masks if len(masks) > 1 else kept

    def reset_states(self):
        """Stateful layers' next batch begins anew."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    reset_state = reset_states

    def call(self, sequences, initial_state=None, mask=None, training=None):
        half = None if initial_state is None else len(initial_state) // 2
        states = (None, None) if half is None else (list(initial_state[:half]), list(initial_state[half:]))
        found = []
        for layer, own in zip((self.forward_layer, self.backward_layer), states):
            form, keywords = call_form(type(layer)), {}
            if own is not None:
                keywords["initial_state"] = own
            if form.training:
                keywords["training"] = training
            if form.mask and mask is not None:
                keywords["mask"] = mask
            found.append(layer(sequences, **keywords))
        last = []
        if self.return_state:
            last = [*found[0][1:], *found[1][1:]]
            found = [found[0][0], found[1][0]]
        forward, backward = found
        if self.return_sequences:
            backward = _op("reverse")(backward, [0 if getattr(self.forward_layer, "time_major", False) else 1])
        merged = self._merged(forward, backward)
        if last:
            return (*merged, *last) if self.merge_mode is None else (merged, *last)
        return merged

    def _merged(self, forward, backward):
        if self.merge_mode == "concat":
            return _op("concat")([forward, backward], -1)
        if self.merge_mode == "sum":
            return forward + backward
        if self.merge_mode == "ave":
            return (forward + backward) / 2
        return forward * backward if self.merge_mode == "mul" else (forward, backward)

    def get_config(self):
        config = {**super().get_config(), "merge_mode": self.merge_mode, "layer": serialize_keras_object(self.forward_layer)}
        if self._own_backward:
            config["backward_layer"] = serialize_keras_object(self.backward_layer)
        return config

    @classmethod
    def from_config(cls, config, custom_objects=None):
        config = dict(config)
        backward = config.pop("backward_layer", None)
        if backward is not None:
            config["backward_layer"] = cells.deserialized(backward, custom_objects)
        return cls(cells.deserialized(config.pop("layer"), custom_objects), **config)
