"""The signatures of op functions, for the type stubs."""

_annotations = {
    "tensor": "TensorLike",
    "tensors": "Sequence[TensorLike]",
    "boolean": "_bool",
    "integer": "int",
    "real": "float",
    "text": "str",
    "dtype": "DTypeLike",
    "integers": "int | Sequence[int]",
    "shape": "ShapeLike",
    "any": "Any",
}


def annotation(kind, default):
    """What a type stub says of a parameter of this kind."""
    text = _annotations[kind]
    return f"{text} | None" if default is None else text
