"""The values of a function's names between its parts: what of them a graph carries, and what stays Python's."""
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._autograph.exits import VALUE
from tapedeck._core import nest
from tapedeck._core.composites import op, tensor

NOT_THERE = (NameError, AttributeError, KeyError, IndexError, TypeError)
_CONVERTIBLE = (bool, int, float, complex, str, bytes, np.ndarray, np.generic)


class Undefined:
    """The value of a name that has none."""

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<{self.name} has no value>"


def value_of(read, name):
    """What read() gives; Undefined for a name without a value, and an attribute or element that is not there."""
    try:
        return read()
    except NOT_THERE:
        return Undefined(name)


def run(part, *arguments):
    """Calls a part of a converted function. A name without a value is the function's own there, and Python's error says so."""
    try:
        return part(*arguments)
    except NameError as error:
        if not _of_function(error, part.__code__):
            raise
        text = f"cannot access local variable {error.name!r} where it is not associated with a value"
        raise UnboundLocalError(text, name=error.name).with_traceback(error.__traceback__.tb_next) from None


def _of_function(error, code):
    """Whether the error comes from the code itself, of a name of the function that the code is a part of."""
    innermost = error.__traceback__
    while innermost.tb_next:
        innermost = innermost.tb_next
    if type(error) is not NameError or innermost.tb_frame.f_code is not code or error.name not in code.co_freevars:
        return False
    frame = sys._getframe(2)
    while frame:
        above = frame.f_code
        if qualified_name(above) == qualified_name(code) and error.name in above.co_cellvars:
            return True
        if qualified_name(above) != qualified_name(code) and frame.f_globals.get("__package__") != __package__:
            return False
        frame = frame.f_back
    return False


def qualified_name(code):
    """As in a traceback: "outer.<locals>.inner". Python 3.10 has the last part alone."""
    return getattr(code, "co_qualname", code.co_name)


def is_tensor(value):
    """Whether a graph can carry the value as it is."""
    return isinstance(value, _engine.Tensor)


def is_composite(value):
    """Whether it is an object that a graph carries as tensors: a tf.TensorArray, a tf.SparseTensor, tf.IndexedSlices. _carried() are those;
    _with(tensors): the object with others, _with(None): a copy; _carried_shapes(): their shapes in all iterations of a loop, None where one
    keeps the shape that it has; _is_formed(): whether these are known yet, else _formed_as(another one) is to be carried. Where what is
    known of the object is more than its tensors show: _agreeing(another one): it, with what is known of both; _conflict(another one):
    whether it may not become that one in a loop; _zeros(): tensors in place of those of an object that is not there."""
    return hasattr(type(value), "_carried")


def is_carried(value):
    """Whether a graph can carry the value: a tensor, what Python's numbers, texts and arrays become, and objects made of tensors."""
    return isinstance(value, (_engine.Tensor, *_CONVERTIBLE)) or is_composite(value) and value._is_formed()


def _tensors_of_leaf(leaf):
    """The tensors that a graph carries of a leaf."""
    return leaf._carried() if is_composite(leaf) else [tensor(leaf)]


def shapes_in_loop(values, given):
    """Of each of tensors_of(values) the shape that it has in all iterations of a loop; None for the one that it has. given(leaf): of a
    tensor the one that the program names, or None."""
    return [shape for value in values for leaf in leaves_of(value) if is_carried(leaf)
            for shape in (leaf._carried_shapes() if is_composite(leaf) else [given(leaf)])]


def scalar_bool(value, what, line):
    """The value as a tensor that decides. InvalidArgumentError for another dtype or shape."""
    value = tensor(value)
    if value.shape.rank and all(extent == 1 for extent in value.shape):
        value = op("reshape")(value, [])  # as Python takes one element
    if value.dtype.name != "bool" or value.shape.rank:
        raise _engine.InvalidArgumentError(f"line {line}: {what} is {shown(value)}; needs a scalar bool")
    return value


def shown(value):
    """A value as errors show it: dtype and shape of tensors, else what it is."""
    if is_composite(value):
        return repr(value)
    if is_tensor(value):
        return f"{value.dtype.name} {value.shape}"
    if nest.is_nested(value):
        return repr(nest.map_structure(_Shown, value))
    return repr(value) if value is None or isinstance(value, _CONVERTIBLE) else f"an object of class {type(value).__name__}"


class _Shown:
    def __init__(self, value):
        self._value = value

    def __repr__(self):
        return shown(self._value)


def leaves_of(value):
    """The leaves of a nested structure; the value itself of what cannot be taken apart."""
    try:
        return nest.flatten(value)
    except TypeError:
        return [value]


def tensors_of(values):
    """Tensors for all leaves that a graph carries, in their order."""
    return [each for value in values for leaf in leaves_of(value) if is_carried(leaf) for each in _tensors_of_leaf(leaf)]


def with_tensors(values, tensors):
    """The values with these tensors in place of the leaves that a graph carries."""
    remaining = iter(tensors)
    made = []
    for value in map(copied, values):
        leaves = leaves_of(value)
        if any(map(is_carried, leaves)):
            new = [_in_place_of(leaf, remaining) if is_carried(leaf) else leaf for leaf in leaves]
            value = nest.pack_sequence_as(value, new) if nest.is_nested(value) else new[0]
        made.append(value)
    return made


def _in_place_of(leaf, tensors):
    return leaf._with([next(tensors) for _ in leaf._carried()]) if is_composite(leaf) else next(tensors)


def copied(value):
    """The value with lists, dicts and objects made of tensors of its own: what a branch appends or writes the other does not see."""
    if is_composite(value):
        return value._with(None)
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    return {key: copied(each) for key, each in value.items()} if type(value) is dict else value


def zeros_like(value):
    """Zeros in the value's form, in place of a returned value that is not there yet. No caller sees them."""
    def zero(leaf):
        if not is_carried(leaf):
            return leaf
        return _in_place_of(leaf, iter(leaf._zeros()) if hasattr(leaf, "_zeros") else map(_zeros, _tensors_of_leaf(leaf)))

    return nest.map_structure(zero, value) if nest.is_nested(value) else zero(value)


def _zeros(carried):
    shape = [] if carried.shape.rank is None else [extent or 0 for extent in carried.shape]
    return op("fill")(shape, "") if carried.dtype.name == "string" else op("zeros")(shape, carried.dtype)


def hidden(value):
    """Whether it is a returned value that is not there yet."""
    return isinstance(value, Undefined) and value.name == VALUE


def _is_unformed(leaf):
    return is_composite(leaf) and not leaf._is_formed()


def lacks(value):
    """Whether its form is seen only where it gets a value: of a returned value, and of what a tensor array holds."""
    return hidden(value) or any(map(_is_unformed, leaves_of(value)))


def completed(value, there):
    """A value that lacks its form, in the form of the one that is there."""
    if hidden(value):
        return value if isinstance(there, Undefined) else zeros_like(there)
    leaves, others = leaves_of(value), leaves_of(there)
    if len(leaves) != len(others) or not any(map(_is_unformed, leaves)):
        return value
    new = [leaf._formed_as(other) if _is_unformed(leaf) and is_composite(other) else leaf for leaf, other in zip(leaves, others)]
    return nest.pack_sequence_as(value, new) if nest.is_nested(value) else new[0]


def has_variable(value):
    """Whether a variable is in it."""
    return any(isinstance(leaf, _engine.Variable) for leaf in leaves_of(value))


def read(value, other):
    """The value, its variables read where the other has something else in their place: a graph carries what they hold."""
    if not has_variable(value):
        return value
    leaves, others = leaves_of(value), leaves_of(other)
    if len(leaves) != len(others):
        return value
    new = [tensor(leaf) if isinstance(leaf, _engine.Variable) and leaf is not there else leaf for leaf, there in zip(leaves, others)]
    return nest.pack_sequence_as(value, new) if nest.is_nested(value) else new[0]


def difference(one, other):
    """None where a graph can carry the one in place of the other; else what differs: "structure", "kind", "dtype" or "shape"."""
    if nest.is_nested(one) != nest.is_nested(other):
        return "structure"
    if nest.is_nested(one):
        try:
            nest.assert_same_structure(one, other)
        except (TypeError, ValueError):
            return "structure"
    found = None
    for left, right in zip(leaves_of(one), leaves_of(other)):
        if is_carried(left) != is_carried(right) or is_composite(left) != is_composite(right):
            return "kind"
        if not is_carried(left) and left is not right and not (_is_unformed(left) and _is_unformed(right)):
            return "kind"
        if is_carried(left) and not _same_number(left, right):
            kind = _difference_of_leaves(left, right)
            if kind and kind != "shape":
                return kind
            found = found or kind
    return found


def _difference_of_leaves(one, other):
    left, right = _tensors_of_leaf(one), _tensors_of_leaf(other)
    if is_composite(one) and type(one) is not type(other) or len(left) != len(right):
        return "kind"
    if any(mine.dtype != theirs.dtype for mine, theirs in zip(left, right)):
        return "dtype"
    shapes = one._carried_shapes() if is_composite(one) else [None]
    same = all(mine.shape == theirs.shape if shape is None else shape.is_compatible_with(theirs.shape)
               for mine, theirs, shape in zip(left, right, shapes))
    return None if same and not conflict(one, other) else "shape"


def conflict(one, other):
    """Whether the one may not become the other in a loop, whose tensors may be alike."""
    return hasattr(type(one), "_conflict") and type(one) is type(other) and one._conflict(other)


def agreeing(one, other):
    """The one, with what is known of both."""
    return one._agreeing(other) if hasattr(type(one), "_agreeing") and type(one) is type(other) else one


def _same_number(one, other):
    return type(one) is type(other) and isinstance(one, (bool, int, float, complex, str, bytes)) and one == other


def merged(one, other, tensors):
    """The one's form with these tensors in it, but where both have the same number or text, which stays Python's."""
    if not nest.is_nested(one):
        (made,) = with_tensors([agreeing(one, other)], tensors)
        return one if _same_number(one, other) else made
    one = nest.map_structure(agreeing, one, other)
    (made,) = with_tensors([one], tensors)
    return nest.map_structure(lambda a, b, c: a if _same_number(a, b) else c, one, other, made)

