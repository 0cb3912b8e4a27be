"""The dtype in which Keras' merging layers bring inputs of different dtypes together."""
from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.composites import op
from tapedeck.keras.settings import floatx

# What is next above each dtype; "float" is floatx(), which integers of 64 bits with and without signs have in common. The
# lattice is JAX's ("Type promotion semantics", JAX documentation), which Keras 3 follows.
_NEXT = {"bool": ("uint8", "int8"), "uint8": ("uint16", "int16"), "uint16": ("uint32", "int32"), "uint32": ("uint64", "int64"),
         "uint64": ("float",), "int8": ("int16",), "int16": ("int32",), "int32": ("int64",), "int64": ("float",),
         "float": ("bfloat16", "float16"), "bfloat16": ("float32",), "float16": ("float32",), "float32": ("float64", "complex64"),
         "float64": ("complex128",), "complex64": ("complex128",), "complex128": ()}


def _reached(name):
    """The dtype itself, and all above it."""
    return {name}.union(*(_reached(each) for each in _NEXT[name]))


_ABOVE = {name: _reached(name) for name in _NEXT}


def common_dtype(kinds):
    """The least dtype that all of these become. TypeError for one that is none of numbers or bools, as string."""
    names = {kind.name for kind in kinds}
    unknown = sorted(names - set(_NEXT))
    if unknown:
        raise _engine.TypeMismatchError(f"inputs of {', '.join(sorted(names))} have no dtype in common: {unknown[0]} is none of numbers")
    shared = set.intersection(*(_ABOVE[name] for name in names))
    least = max(shared, key=lambda name: len(_ABOVE[name] & shared))
    return dtypes.as_dtype(floatx() if least == "float" else least)


def promoted(inputs):
    """The tensors in their common dtype."""
    inputs = [_engine.convert_to_tensor(each) for each in inputs]
    if len({each.dtype for each in inputs}) < 2:
        return inputs
    dtype = common_dtype([each.dtype for each in inputs])
    return [each if each.dtype == dtype else op("cast")(each, dtype) for each in inputs]
