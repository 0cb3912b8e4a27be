"""The signatures of op functions, for help(), completion and the type stubs."""
import inspect

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
}


def annotation(kind, default):
    """What a type stub says of a parameter of this kind."""
    text = _annotations[kind]
    return f"{text} | None" if default is None else text


def signature_of(parameters):
    """An inspect.Signature of an op function's parameters: (name, kind, default) each; default is `...` where the
    caller must give the argument. TensorFlow's `name` comes last."""
    made = [
        inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD,
                          default=inspect.Parameter.empty if default is ... else default)
        for name, _, default in parameters
    ]
    made.append(inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None))
    return inspect.Signature(made)
