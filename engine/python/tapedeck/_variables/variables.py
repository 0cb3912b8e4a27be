"""Assignments to some elements of a variable: its methods scatter_…, and TensorFlow 1's functions."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import OutOfRangeError
from tapedeck._core.arguments import integer
from tapedeck._core.composites import op, tensor
from tapedeck._core.indexed_slices import IndexedSlices
from tapedeck._core.public import public
from tapedeck._core.refusals import naming


def _turns(numbers):
    """The places in a list of row numbers, those that name a row for the first time, the second time, …: an array for each."""
    order = np.argsort(numbers, kind="stable")
    begins = np.flatnonzero(np.diff(numbers[order], prepend=-1))  # of each row's run; rows are at least 0
    occurrence = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
    ends = np.cumsum(np.bincount(occurrence))
    return np.split(order[np.argsort(occurrence, kind="stable")], ends[:-1]) if len(order) else []


def _one_after_another(operation):
    """Changes rows by one value after another: a product of all values of a row could overflow where the row does not."""
    def change(variable, indices, values):
        numbers = np.asarray(indices, np.int64).reshape(-1)
        outside = np.flatnonzero((numbers < 0) | (numbers >= variable.shape[0]))
        if outside.size:
            place = ", ".join(map(str, np.unravel_index(outside[0], tuple(indices.shape))))
            raise OutOfRangeError(f"indices[{place}] is {numbers[outside[0]]}; must be in [0, {variable.shape[0]})")
        values = op("reshape")(values, [len(numbers), *values.shape[indices.ndim:]])
        rows, own = np.unique(numbers, return_inverse=True)
        changed = op("gather")(variable, rows)
        for turn in _turns(numbers):
            now = op(operation)(op("gather")(changed, own[turn]), op("gather")(values, turn))
            changed = op("tensor_scatter_nd_update")(changed, own[turn][:, None], now)
        return op("tensor_scatter_nd_update")(variable, rows[:, None], changed)
    return change


def _quotient(variable, indices, values):
    return _one_after_another("truncatediv" if values.dtype.is_integer else "divide")(variable, indices, values)


def _places(indices):
    return op("expand_dims")(indices, -1)


def _by_places(verb):
    return lambda variable, indices, values: op("tensor_scatter_nd_" + verb)(variable, _places(indices), values)


# What becomes of a row, and how; where several values have one number.
_ROWS = {
    "update": ("Replaces rows of the variable; of several values of one row the last stays.", _by_places("update")),
    "add": ("Adds to rows of the variable; several values of one row add up.", _by_places("add")),
    "sub": ("Subtracts from rows of the variable; several values of one row add up.", _by_places("sub")),
    "mul": ("Multiplies rows of the variable, by several values of one row one after another.", _one_after_another("multiply")),
    "div": ("Divides rows of the variable, by several values of one row one after another; integers towards 0.", _quotient),
    "min": ("Makes rows of the variable the smaller of what they are and of the values.", _by_places("min")),
    "max": ("Makes rows of the variable the larger of what they are and of the values.", _by_places("max")),
}
_PLACES = {
    "update": "Replaces slices of the variable, by coordinates; of several values of one place the last stays.",
    "add": "Adds to slices of the variable, by coordinates; several values of one place add up.",
    "sub": "Subtracts from slices of the variable, by coordinates; several values of one place add up.",
    "min": "Makes slices of the variable, by coordinates, the smaller of what they are and of the values.",
    "max": "Makes slices of the variable, by coordinates, the larger of what they are and of the values.",
}
_ERRORS = """Returns: the variable.
    Errors: OutOfRangeError for {places} outside of the variable; InvalidArgumentError for values of another shape; TypeError for
    other dtypes, and what is no {thing}.
    """
_OF_DELTA = """{what}

    sparse_delta: an IndexedSlices; its values have the variable's dtype, and the shape indices.shape + variable.shape[1:] or ().
    """ + _ERRORS.format(places="indices", thing="IndexedSlices")
_OF_REF = """{what}

    ref: a variable; indices: integers, any shape; updates: the variable's dtype, the shape indices.shape + ref.shape[1:] or
    (); use_locking changes nothing.
    """ + _ERRORS.format(places="indices", thing="variable")
_OF_PLACES = """{what}

    indices: integers, their last axis holds coordinates of the variable's first axes; updates: the variable's dtype, shape
    indices.shape[:-1] + variable.shape[indices.shape[-1]:].
    """ + _ERRORS.format(places="coordinates", thing="tensor")
_BATCHES = """Replaces rows within each batch of a variable: variable[b…, indices[b…, i]] = values[b…, i].

    {arguments}; of several values of one row the last stays.
    """


def _delta(method, delta):
    if not isinstance(delta, IndexedSlices):
        raise _engine.TypeMismatchError(f"{method}: sparse_delta is a {type(delta).__name__}; needs a tf.IndexedSlices")
    return delta.indices, delta._given_values


def _checked(function, ref):
    if not isinstance(ref, _engine.Variable):
        raise _engine.TypeMismatchError(f"{function}: ref is a {type(ref).__name__}; needs a tf.Variable")
    return ref


def _whole_numbers(indices):
    indices = tensor(indices)
    if not indices.dtype.is_integer:
        raise _engine.TypeMismatchError(f"indices are {indices.dtype.name}; needs integers")
    return indices


def _change_rows(variable, kind, indices, values):
    indices, values = _whole_numbers(indices), tensor(values, variable.dtype)
    if not variable.shape:
        raise _engine.InvalidArgumentError("the variable is a scalar, which has no rows")
    wanted = indices.shape + variable.shape[1:]
    if values.ndim == 0:
        values = op("broadcast_to")(values, wanted)
    elif values.shape != wanted:
        raise _engine.InvalidArgumentError(f"the values have shape {tuple(values.shape)}; for indices {tuple(indices.shape)} and a "
                                           f"variable {tuple(variable.shape)} it is {tuple(wanted)}")
    change = _ROWS[kind][1]
    _engine._update_variable(variable, lambda value: change(value, indices, values))
    return variable


def _change_places(variable, kind, indices, updates):
    indices, updates = tensor(indices), tensor(updates, variable.dtype)
    _engine._update_variable(variable, lambda value: op("tensor_scatter_nd_" + kind)(value, indices, updates))
    return variable


def _change_batches(variable, indices, values):
    indices, values = _whole_numbers(indices), tensor(values, variable.dtype)
    if indices.ndim == 0:
        raise _engine.InvalidArgumentError("indices is a scalar; it needs the batches' axes and one of rows")
    batches = tuple(indices.shape[:-1])
    if tuple(variable.shape[:len(batches)]) != batches or variable.ndim <= len(batches):
        raise _engine.InvalidArgumentError(f"indices {tuple(indices.shape)} must begin with the batches of the variable, "
                                           f"{tuple(variable.shape)}")
    own = [tensor(axis) for axis in np.indices(tuple(indices.shape), np.int64)[:-1]]  # batches may be more than indices' dtype has
    return _change_places(variable, "update", op("stack")([*own, op("cast")(indices, "int64")], -1), values)


def _named(function, name, doc):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _row_method(kind):
    name = f"scatter_{kind}"

    def method(self, sparse_delta, use_locking=False, name=None) -> _engine.Variable:
        return _change_rows(self, kind, *_delta(f"scatter_{kind}", sparse_delta))

    return _named(method, name, _OF_DELTA.format(what=_ROWS[kind][0]))


def _row_function(kind):
    name = f"scatter_{kind}"

    def function(ref, indices, updates, use_locking=kind == "update", name=None):
        return _change_rows(_checked(f"scatter_{kind}", ref), kind, indices, updates)

    return public(name, in_errors=True)(_named(function, name, _OF_REF.format(what=_ROWS[kind][0])))


def _place_method(kind):
    def method(self, indices, updates, name=None) -> _engine.Variable:
        return _change_places(self, kind, indices, updates)

    return _named(method, f"scatter_nd_{kind}", _OF_PLACES.format(what=_PLACES[kind]))


def _place_function(kind):
    name = f"scatter_nd_{kind}"

    def function(ref, indices, updates, use_locking=kind == "update", name=None):
        return _change_places(_checked(f"scatter_nd_{kind}", ref), kind, indices, updates)

    doc = _OF_PLACES.format(what=_PLACES[kind]).replace("indices: ", "ref: the variable; indices: ", 1)
    return public(name, in_errors=True)(_named(function, name, doc))


def _batch_scatter_update(self, sparse_delta, use_locking=False, name=None) -> _engine.Variable:
    return _change_batches(self, *_delta("batch_scatter_update", sparse_delta))


def _sparse_read(self, indices, name=None) -> _engine.Tensor:
    """Rows of the variable by number: tf.gather."""
    return op("gather")(self, indices)


def _count_up_to(self, limit) -> _engine.Tensor:
    """The value, to which 1 is added then: tf.count_up_to."""
    return count_up_to(self, limit)


@public("count_up_to", in_errors=True)
def count_up_to(ref, limit, name=None):
    """The value of a variable, a scalar of int32 or int64, to which 1 is added then.

    Errors: OutOfRangeError where it has reached limit, and stays; TypeError for another variable.
    """
    variable = _checked("count_up_to", ref)
    if variable.dtype.name not in ("int32", "int64") or variable.shape:
        raise _engine.TypeMismatchError(f"count_up_to: ref is {variable.dtype.name} {tuple(variable.shape)}; "
                                        "needs a scalar of int32 or int64")
    value = variable.read_value()
    if int(value) >= integer(limit, "limit"):
        raise OutOfRangeError(f"count_up_to: reached limit of {limit}")
    variable.assign_add(1)
    return value


def _gather_nd(self, indices, name=None) -> _engine.Tensor:
    """Slices of the variable by coordinates: tf.gather_nd."""
    return op("gather_nd")(self, indices)


@public("batch_scatter_update", in_errors=True)
def batch_scatter_update(ref, indices, updates, use_locking=True, name=None):
    return _change_batches(_checked("batch_scatter_update", ref), indices, updates)


@public("assign", in_errors=True)
def assign(ref, value, validate_shape=None, use_locking=None, name=None):
    """TensorFlow 1's name of ref.assign(value). ref: a variable, or a part of one: variable[…].

    value: the dtype and the shape of ref; the others change nothing.
    Returns: the variable.
    Errors: InvalidArgumentError for another shape; TypeError for another dtype and a ref that is not a variable.
    """
    return _assignable("assign", ref).assign(value)


@public("assign_add", in_errors=True)
def assign_add(ref, value, use_locking=None, name=None):
    """TensorFlow 1's name of ref.assign_add(value). The arguments, the result and the errors are those of tf.assign."""
    return _assignable("assign_add", ref).assign_add(value)


@public("assign_sub", in_errors=True)
def assign_sub(ref, value, use_locking=None, name=None):
    """TensorFlow 1's name of ref.assign_sub(value). The arguments, the result and the errors are those of tf.assign."""
    return _assignable("assign_sub", ref).assign_sub(value)


def _assignable(function, ref):
    if isinstance(ref, _engine.VariablePart):
        return ref
    return _checked(function, ref)


_RANGES = "indices: integers, the batches' axes and one of rows; values: the variable's dtype, " \
          "shape indices.shape + the rest of the variable's"
batch_scatter_update.__doc__ = _BATCHES.format(arguments=f"ref: a variable; {_RANGES}".replace("values:", "updates:")) + _ERRORS.format(
    places="indices", thing="variable")
_named(_batch_scatter_update, "batch_scatter_update",
       _BATCHES.format(arguments=f"sparse_delta: an IndexedSlices of indices and values. {_RANGES}") + _ERRORS.format(
           places="indices", thing="IndexedSlices"))
for _kind in _ROWS:
    _row_function(_kind)
for _kind in _PLACES:
    _place_function(_kind)
_engine._add_variable_methods({method.__name__: naming(method) for method in (
    *map(_row_method, _ROWS), *map(_place_method, _PLACES), _batch_scatter_update,
    _named(_sparse_read, "sparse_read", _sparse_read.__doc__),
    _named(_gather_nd, "gather_nd", _gather_nd.__doc__),
    _named(_count_up_to, "count_up_to", _count_up_to.__doc__))})
