"""What functions take and return, taken apart into tensors: nested structures, and objects that are made of several tensors."""
import operator
import weakref

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.dtypes import DType
from tapedeck._core.shapes import TensorShape
from tapedeck.data.specs import TensorSpec

_ARRAYS = (np.ndarray, np.generic)
_VALUES = (bool, int, float, complex, str, bytes)


class Leaf:
    """One leaf of a structure. key: equal for leaves that may share a trace; tensors: what it has of them; specs: their TensorSpecs;
    made_of: a function that gives the leaf with other tensors; shown: the text that is left of an object."""

    __slots__ = ("key", "tensors", "specs", "made_of", "is_models_tensor", "_shown")

    def __init__(self, key, tensors=(), specs=(), made_of=None, shown=None):
        self.key, self.tensors, self.specs, self.made_of, self._shown = key, tensors, specs, made_of, shown
        self.is_models_tensor = False

    def in_signature(self, names):
        """What the signature has for it, which keeps no object alive. names: an iterator over names for its tensors; specs keep theirs."""
        if self.specs:
            specs = [spec if spec.name else TensorSpec(spec.shape, spec.dtype, name) for spec, name in zip(self.specs, names)]
            return specs[0] if len(specs) == 1 else tuple(specs)
        return self.made_of(()) if self._shown is None else Shown(self._shown)


class Shown:
    """In a signature the place of an object."""

    def __init__(self, text):
        self._text = text

    def __repr__(self):
        return self._text


class ByIdentity:
    """A key that is equal for the same object, as long as it lives."""

    __slots__ = ("_number", "_reference", "__weakref__")

    def __init__(self, thing):
        self._number = id(thing)
        try:
            self._reference = weakref.ref(thing)
        except TypeError:
            self._reference = lambda: thing

    def thing(self):
        """The object; None where it has gone."""
        return self._reference()

    def __hash__(self):
        return hash(self._number)

    def __eq__(self, other):
        thing = self._reference() if isinstance(other, ByIdentity) else None
        return thing is not None and thing is other._reference()


def spec_of(tensor):
    """The TensorSpec of a tensor."""
    return TensorSpec(tensor.shape, tensor.dtype)


def _key_of(spec):
    return "tensor", spec.dtype.name, None if spec.shape is None else tuple(spec.shape)


def _of_tensors(name, tensors, made_of):
    specs = tuple(map(spec_of, tensors))
    return Leaf((name, *map(_key_of, specs)), tensors, specs, made_of)


def is_composite(value):
    """Whether it is an object that graphs carry as tensors: a data set, an iterator, a sparse tensor. Its _graph_parts() are a Leaf's."""
    return hasattr(type(value), "_graph_parts")


def _is_value(leaf):
    return leaf is None or leaf is ... or isinstance(leaf, (*_VALUES, DType, TensorShape, type, range, slice))


def leaf_of(value):
    """The Leaf of an argument."""
    if isinstance(value, _engine.Tensor):
        spec = spec_of(value)
        return Leaf(_key_of(spec), (value,), (spec,), lambda tensors: tensors[0])
    if isinstance(value, TensorSpec):
        return Leaf(_key_of(value), (None,), (value,), lambda tensors: tensors[0])
    if isinstance(value, _ARRAYS):
        return leaf_of(_engine.convert_to_tensor(value))
    if isinstance(value, _engine.Variable):
        return Leaf(("variable", ByIdentity(value)), made_of=lambda tensors: value, shown=f"<tf.Variable {value.name!r}>")
    if is_composite(value):
        return Leaf(*value._graph_parts())
    if hasattr(type(value), "_carried"):
        return _of_tensors(type(value).__name__, tuple(value._carried()), value._maker())
    if _is_value(value):  # 1, 1.0 and True are different arguments, as are 0.0 and -0.0; a NaN is the same each time
        key = type(value), (repr(value) if isinstance(value, (float, complex, slice)) else value)
        return Leaf(key, made_of=lambda tensors: value)
    leaf = Leaf(("object", ByIdentity(value)), made_of=lambda tensors: value, shown=f"<{type(value).__name__} object>")
    leaf.is_models_tensor = getattr(type(value), "_is_symbolic", False)
    return leaf


class Arguments:
    """A call's arguments. key: of their signature; tensors: to call a graph with."""

    def __init__(self, args, kwargs):
        self.structure = [list(args), dict(kwargs)]
        self.leaves = [leaf_of(leaf) for leaf in nest.flatten(self.structure)]
        self.tensors = [tensor for leaf in self.leaves for tensor in leaf.tensors]
        self._make_signature()

    def _make_signature(self):
        self.key = nest._shape_of(self.structure), tuple(leaf.key for leaf in self.leaves)
        self.specs = [spec for leaf in self.leaves for spec in leaf.specs]
        # The ops of a functional model are layers, whose model may be called by a function in turn.
        self.has_models_tensors = any(leaf.is_models_tensor for leaf in self.leaves)

    def relaxed(self, specs):
        """Has the signature these TensorSpecs in place of those of its tensors, one for each; other objects keep theirs."""
        if any(each.tensors and len(each.specs) != 1 for each in self.leaves):
            return
        remaining = iter(specs)
        for leaf in self.leaves:
            if leaf.specs:
                spec = next(remaining)
                if leaf.key[0] != "tensor":
                    continue  # a data set's tensor says nothing of it
                leaf.key, leaf.specs = _key_of(spec), (spec,)
        self._make_signature()

    def form(self):
        """What is equal for calls that differ in nothing but the shapes of tensors."""
        keys = [leaf.key[:2] if leaf.key[0] == "tensor" else leaf.key for leaf in self.leaves]
        return nest._shape_of(self.structure), tuple(keys)

    def with_tensors(self, tensors):
        """(args, kwargs) with these in place of the tensors."""
        remaining = iter(tensors)
        leaves = [leaf.made_of([next(remaining) for _ in leaf.specs]) for leaf in self.leaves]
        return nest.pack_sequence_as(self.structure, leaves)

    def names(self, parameters):
        """A name for each tensor: its parameter's, with numbers where that has several. parameters: names of the positional ones."""
        args, kwargs = self.structure
        heads = [name for place, value in enumerate(args) for name in [parameters[place] if place < len(parameters) else f"arg{place}"]
                 for leaf in nest.flatten(value) for _ in leaf_of(leaf).specs]
        heads += [name for name in sorted(kwargs) for leaf in nest.flatten(kwargs[name]) for _ in leaf_of(leaf).specs]
        seen, names = {}, []
        for head in heads:
            number = seen[head] = seen.get(head, -1) + 1
            names.append(head if heads.count(head) == 1 else f"{head}_{number}")
        return names


def _quick_form(returned):
    """A function that makes of a list of tensors what is returned most often: nothing, a tensor, a tuple or list of tensors; else
    None."""
    if returned is None:
        return lambda tensors: None
    if type(returned) is _engine.Tensor:
        return operator.itemgetter(0)
    if type(returned) in (tuple, list) and all(type(leaf) is _engine.Tensor for leaf in returned):
        return type(returned)
    return None


class Results:
    """What a traced function returned, as TensorFlow's graphs have it: numbers and arrays as tensors, variables as their values, None
    as it is. TypeError for other objects."""

    def __init__(self, name, returned):
        self._structure, self._leaves, self.tensors = returned, [], []
        self._form = _quick_form(returned)
        for leaf in nest.flatten(returned):
            if leaf is None:
                self._leaves.append(None)
                continue
            if isinstance(leaf, _engine.Variable):
                leaf = leaf.read_value()
            if isinstance(leaf, (*_VALUES, *_ARRAYS)):
                leaf = _engine.convert_to_tensor(leaf)
            if not isinstance(leaf, _engine.Tensor) and not is_composite(leaf) and not hasattr(type(leaf), "_carried"):
                raise TypeError(f"To be compatible with tf.function, Python functions must return zero or more Tensors or ExtensionTypes "
                                f"or None values; in compilation of {name}, found return value of type {type(leaf).__name__}, which is "
                                "not a Tensor or ExtensionType.")
            made = leaf_of(leaf)
            self._leaves.append(made)
            self.tensors += made.tensors

    @classmethod
    def restored(cls, structure, leaves):
        """Those of a function that was saved. leaves: a Leaf for each of the structure's, or None."""
        made = cls.__new__(cls)
        made._structure, made._leaves, made.tensors = structure, leaves, None
        made._form = None
        return made

    def with_tensors(self, tensors):
        """What the function returns, with these tensors."""
        if self._form is not None:
            return self._form(tensors)
        remaining = iter(tensors)
        leaves = [leaf and leaf.made_of([next(remaining) for _ in leaf.specs]) for leaf in self._leaves]
        return nest.pack_sequence_as(self._structure, leaves) if nest.is_nested(self._structure) else leaves[0]

    def with_specs(self, specs):
        """The form of what it returns, with these TensorSpecs; several for what is made of several tensors."""
        remaining = iter(specs)
        leaves = [leaf and [next(remaining) for _ in leaf.specs] for leaf in self._leaves]
        leaves = [each[0] if each and len(each) == 1 else each for each in leaves]
        return nest.pack_sequence_as(self._structure, leaves) if nest.is_nested(self._structure) else leaves[0]

    def forget_tensors(self):
        """Keeps the form alone: symbolic tensors end with their trace."""
        self.tensors = None
        for leaf in self._leaves:
            if leaf:
                leaf.tensors = ()
        self._structure = nest.map_structure(lambda _: None, self._structure)
