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

# What programs read of a caught error. Eager ops have no graph node.
OpError.message = property(str, doc="The error's text.")
OpError.op = OpError.node_def = None


class CancelledError(OpError):
    """An operation was given up."""


class UnknownError(OpError):
    """An error of a kind that nobody knows."""


class DeadlineExceededError(OpError):
    """An operation took longer than it may."""


class AlreadyExistsError(OpError):
    """What was to be made is there already."""


class PermissionDeniedError(OpError):
    """The user may not do that."""


class AbortedError(OpError):
    """An operation was stopped by another one."""


class InternalError(OpError):
    """The engine is at fault."""


class UnavailableError(OpError):
    """Something is not there for now."""


class DataLossError(OpError):
    """Data are broken beyond repair."""


class UnauthenticatedError(OpError):
    """The user is not known."""


_codes = [CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError, AlreadyExistsError,
          PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, OutOfRangeError,
          UnimplementedError, InternalError, UnavailableError, DataLossError, UnauthenticatedError]
for _code, _class in enumerate(_codes, 1):  # the numbers of TensorFlow's error_codes.proto
    _class.error_code = _code
