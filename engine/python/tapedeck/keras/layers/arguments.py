"""What a layer is called with: conversion to tensors of its dtype, masks, and detection of symbolic values."""
import itertools
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes, nest
from tapedeck._core.composites import op as _op
from tapedeck._core.extents import is_late
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import backend
from tapedeck.keras.layers import calls

_Tensor = _engine.Tensor
_PLAIN = (bool, int, float)
_PLAINEST = (_Tensor, bool, type(None), np.ndarray)  # what calls mostly have, and no symbolic value is


def cast_floating(value, dtype):
    """The tensor in this dtype where both are floating, with its mask; arrays become tensors, other values stay."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = _engine.convert_to_tensor(value)
    if (dtype is None or not isinstance(value, (_Tensor, _engine.Variable)) or not dtype.is_floating or value.dtype is dtype
            or not value.dtype.is_floating):
        return value
    mask = calls.mask_of(value)
    value = _op("cast")(value, dtype)
    if mask is not None:
        calls.set_mask(value, mask)
    return value


def _converted(layer, value):
    """A structure of tensors and arrays as one of tensors in the layer's dtype; lists of numbers stay what they are."""
    dtype = layer._dtype if layer._autocast else None
    if nest.is_nested(value):
        return nest.map_structure(lambda each: cast_floating(each, dtype), value) if _holds_arrays(value) else value
    return cast_floating(value, dtype)


def _holds_arrays(value):
    return any(isinstance(leaf, (_Tensor, _engine.Variable, np.ndarray, np.generic)) for leaf in nest.flatten(value))


def _first(layer, value):
    """The inputs: numbers, alone or in lists, are one tensor."""
    plain = isinstance(value, _PLAIN) or isinstance(value, (list, tuple)) and not isinstance(value, TensorShape)
    if plain and (leaves := nest.flatten(value)) and all(isinstance(each, _PLAIN) for each in leaves):
        dtype = layer._dtype if layer._dtype is not None and any(isinstance(each, float) for each in leaves) else None
        return _engine.convert_to_tensor(value, dtype)
    return _converted(layer, value)


def _any_symbolic(args, kwargs):
    """The module of symbolic values where one is among the arguments, else None. None can exist before that module is imported."""
    if all(isinstance(each, _PLAINEST) for each in args) and all(isinstance(each, _PLAINEST) for each in kwargs.values()):
        return None
    symbolic = sys.modules.get("tapedeck.keras.models.symbolic")
    leaves = nest.flatten([list(args), list(kwargs.values())]) if symbolic is not None else ()
    if any(isinstance(leaf, symbolic.KerasTensor) for leaf in leaves):
        return symbolic
    return None


def arguments(layer, form, args, kwargs):
    """(args, kwargs, None) with tensors, or the arguments as they are and the function that calls a layer on symbolic values."""
    symbolic = _any_symbolic(args, kwargs)
    if symbolic is not None:
        return args, kwargs, symbolic.call_layer
    if "_autocast" not in vars(layer):  # __init__ of the base was not called, which __call__ tells
        return args, kwargs, None
    if args:
        args = (_first(layer, args[0]), *(_converted(layer, each) for each in args[1:]))
    elif form.names and form.names[0] in kwargs:
        kwargs = {**kwargs, form.names[0]: _first(layer, kwargs[form.names[0]])}
    if kwargs:
        kwargs = {name: each if each is None or isinstance(each, _PLAIN) else _converted(layer, each)
                  for name, each in kwargs.items()}
    return args, kwargs, None


def late_training(form, args, kwargs):
    """The argument `training` where that is a tensor whose value only a run of the function knows that is being traced; else None."""
    given = kwargs.get("training")
    if given is None and form.training_place is not None and len(args) > form.training_place:
        given = args[form.training_place]
    return given if isinstance(given, (_Tensor, _engine.Variable)) and is_late(given) else None


def call_by_training(layer, form, args, kwargs, training):
    """Calls the layer both ways; when the graph runs, `training` chooses."""
    place = form.training_place
    if place is not None and len(args) > place:
        args = (*args[:place], *args[place + 1:])
    kwargs = {name: value for name, value in kwargs.items() if name != "training"}
    outputs = None

    def called(way):
        nonlocal outputs
        outputs = layer(*args, **kwargs, training=way)
        return nest.flatten(outputs)

    if not layer._built:  # a branch may make no variables
        called(False)
    truth = _op("cast")(training, dtypes.bool)
    found = _engine.graph_branch(truth, lambda: called(True), lambda: called(False))
    return nest.pack_sequence_as(outputs, found)


def mask_for(form, inputs, args, kwargs):
    """The mask that is given, or that of the inputs; None where there is none."""
    if 0 <= form.mask_place < len(args):
        return args[form.mask_place]
    if kwargs.get("mask") is not None:
        return kwargs["mask"]
    leaves = nest.flatten(inputs)
    masks = [calls.mask_of(each) for each in leaves]
    if all(each is None for each in masks):
        return None
    return nest.pack_sequence_as(inputs, masks) if nest.is_nested(inputs) else masks[0]


def pass_masks(layer, inputs, outputs, mask):
    """Gives the outputs the mask that the layer makes of that of the inputs."""
    if not (layer.supports_masking or call_makes_masks(layer)):
        return
    found = layer.compute_mask(inputs, mask)
    if found is None:
        return
    leaves = nest.flatten(outputs)
    masks = [found] if isinstance(found, (_Tensor, _engine.Variable)) else nest.flatten(found)
    for output, each in zip(leaves, masks):
        if isinstance(output, _Tensor):
            calls.set_mask(output, each)


def call_makes_masks(layer):
    """Whether the layer's class has a compute_mask of its own."""
    return type(layer)._call_form_found.makes_masks


def note_layer(error, layer, inputs):
    """Tells, below the error's text, in which layer it came up: in the innermost alone."""
    if getattr(error, "_layer_noted", False):
        return
    try:
        error._layer_noted = True
    except AttributeError:
        return
    leaves = [f"{each.dtype.name} {tuple(each.shape)}" if isinstance(each, (_Tensor, _engine.Variable)) else repr(each)[:40]
              for each in nest.flatten(inputs)]
    error.add_note(f"In the call of layer '{layer.name}' ({type(layer).__name__}) with inputs {', '.join(leaves)}")


def _zeros(shape, extent, dtype):
    if isinstance(shape, TensorShape):
        return _op("zeros")([extent if each is None else each for each in shape], dtype)
    if isinstance(shape, dict):
        return {name: _zeros(each, extent, dtype) for name, each in shape.items()}
    return [_zeros(each, extent, dtype) for each in shape]


def output_shape_by_calling(layer, input_shape):
    """The outputs' shape: what call gives for zeros, with two different extents where the inputs' are not known; an extent in which
    the two differ is not known."""
    dtype = layer._dtype or backend.floatx()
    results = []
    for extent in (2, 3) if _has_unknown(input_shape) else (2,):
        values = _zeros(input_shape, extent, dtype)
        results.append(layer.call(values) if layer._built else layer(values))
    shapes = [nest.flatten(each) for each in results]
    merged = [TensorShape([own if own == other else None for own, other in itertools.zip_longest(one.shape, two.shape)])
              for one, two in zip(shapes[0], shapes[-1])]
    return nest.pack_sequence_as(results[0], merged) if nest.is_nested(results[0]) else merged[0]


def _has_unknown(shape):
    if isinstance(shape, TensorShape):
        return not shape.is_fully_defined()
    return any(map(_has_unknown, shape.values() if isinstance(shape, dict) else shape))
