"""Data sets of generators."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck.data import structure as _structure
from tapedeck.data.specs import TensorSpec


def _signature(output_types, output_shapes, output_signature):
    """A structure of TensorSpecs."""
    if output_signature is not None:
        if output_types is not None or output_shapes is not None:
            raise TypeError("from_generator: output_signature replaces output_types and output_shapes; give only one of them")
        for leaf in _structure.flatten(output_signature):
            if not isinstance(leaf, TensorSpec):
                raise TypeError(f"from_generator: output_signature holds {leaf!r}; needs tf.TensorSpec")
        return output_signature
    if output_types is None:
        raise TypeError("from_generator: needs output_signature or output_types")
    types = _structure.map_structure(dtypes.as_dtype, output_types)
    shapes = iter(_structure.matching(types, output_shapes, "from_generator: output_shapes"))
    return _structure.pack(types, iter([TensorSpec(next(shapes), leaf) for leaf in _structure.flatten(types)]))


def _values_of(value, signature):
    """The value's leaves in the signature's order; None where it has another structure."""
    if not _structure.is_nested(signature):
        return [value]
    if isinstance(signature, dict):
        if not isinstance(value, dict) or set(value) != set(signature):
            return None
        pairs = [(value[key], signature[key]) for key in sorted(signature)]
    else:
        if not isinstance(value, (tuple, list)) or len(value) != len(signature):
            return None
        pairs = zip(value, signature)
    parts = [_values_of(*pair) for pair in pairs]
    return None if None in parts else [leaf for part in parts for leaf in part]


def _converted(value, spec):
    try:
        tensor = _engine.host_tensor(value, spec.dtype)
    except (TypeError, ValueError) as error:
        raise _engine.TypeMismatchError(
            f"the generator gave an element that could not be converted to {spec.dtype.name}: {value!r}") from error
    if not spec.is_compatible_with(tensor):
        raise _engine.InvalidArgumentError(f"the generator gave an element of shape {tuple(tensor.shape)} where an element of "
                                           f"shape {tuple(spec.shape)} was expected")
    return tensor


def generator_dataset(generator, output_types, output_shapes, args, output_signature):
    """Dataset.from_generator: (stage, spec)."""
    if not callable(generator):
        raise TypeError(f"from_generator: generator is {generator!r}; needs a function that returns an iterator")
    signature = _signature(output_types, output_shapes, output_signature)
    specs = _structure.flatten(signature)
    arguments = tuple(map(_engine.host_tensor, args)) if args is not None else ()

    def run():
        for value in generator(*(argument.numpy() for argument in arguments)):
            values = _values_of(value, signature)
            if values is None:
                raise _engine.TypeMismatchError(f"the generator gave {value!r}, which does not have the structure {signature!r}")
            yield list(map(_converted, values, specs))

    return _engine.data_from_generator(run), signature
