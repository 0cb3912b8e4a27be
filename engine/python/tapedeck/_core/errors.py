"""The engine's exceptions, under TensorFlow's names. Each is also the built-in exception that fits it."""
from tapedeck._engine import (
    DataLossError, FailedPreconditionError, InternalError, InvalidArgumentError, LockstepDifference, NotFoundError, OpError,
    OperatorNotAllowedInGraphError, OutOfRangeError, ResourceExhaustedError, TypeMismatchError, UnimplementedError)
from tapedeck._core.public import public


def _message(error) -> str:
    return str(error.args[2]) if len(error.args) > 2 else Exception.__str__(error)


def _given(place, doc):
    return property(lambda error: error.args[place] if len(error.args) > 2 else None, doc=doc)


# What programs read of a caught error. They make one as TensorFlow does, OpError(node_def, op, message), or of its text alone.
OpError.__str__ = _message
OpError.message = property(_message, doc="The error's text.")
OpError.node_def = _given(0, "The graph's node: None, as eager ops have none.")
OpError.op = _given(1, "The graph's operation: None, as eager ops have none.")


@public("errors.CancelledError")
class CancelledError(OpError):
    """An operation was cancelled."""


@public("errors.UnknownError")
class UnknownError(OpError):
    """An unknown error."""


@public("errors.DeadlineExceededError")
class DeadlineExceededError(OpError):
    """An operation exceeded its deadline."""


@public("errors.AlreadyExistsError")
class AlreadyExistsError(OpError):
    """The object to be created exists already."""


@public("errors.PermissionDeniedError")
class PermissionDeniedError(OpError):
    """The user lacks permission."""


@public("errors.AbortedError")
class AbortedError(OpError):
    """An operation was aborted by another one."""


@public("errors.UnavailableError")
class UnavailableError(OpError):
    """A service is currently unavailable."""


@public("errors.UnauthenticatedError")
class UnauthenticatedError(OpError):
    """The user is not authenticated."""


_codes = [CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError, AlreadyExistsError,
          PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, OutOfRangeError,
          UnimplementedError, InternalError, UnavailableError, DataLossError, UnauthenticatedError]
for _class in (DataLossError, FailedPreconditionError, InternalError, InvalidArgumentError, LockstepDifference, NotFoundError,
               OperatorNotAllowedInGraphError, OutOfRangeError, ResourceExhaustedError, TypeMismatchError, UnimplementedError):
    public(f"errors.{_class.__name__}")(_class)
public("errors.OpError", "OpError")(OpError)
for _code, _class in enumerate(_codes, 1):  # the numbers of TensorFlow's error_codes.proto
    _class.error_code = _code
