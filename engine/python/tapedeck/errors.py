"""The engine's exceptions, under TensorFlow's names. Each is also the built-in exception that fits it."""
from tapedeck._engine import (  # noqa: F401
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    TypeMismatchError,
    UnimplementedError,
)
