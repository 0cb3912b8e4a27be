"""tf.saved_model.save, load and what belongs to them."""
import collections.abc
import json
import os

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.public import public
from tapedeck._core.trackable import Trackable
from tapedeck._engine import DataLossError
from tapedeck._functions.concrete import ConcreteFunction
from tapedeck._functions.function import Function, Method
from tapedeck._saved_model import keras_models
from tapedeck._saved_model.functions import LoadedFunction, LoadedSignature, SignatureMap
from tapedeck._saved_model.objects import functions_of, Loaded, LoadedObject, Saved

DEFAULT = "serving_default"
_MODEL_FILE = "model.json"

for _name, _value in (("DEFAULT_SERVING_SIGNATURE_DEF_KEY", DEFAULT), ("SERVING", "serve"), ("TRAINING", "train"),
                      ("PREDICT_INPUTS", "inputs"), ("PREDICT_OUTPUTS", "outputs")):
    public(f"saved_model.{_name}")(_value)


class _Options:
    def __init__(self, **kwargs):
        vars(self).update(kwargs)


@public("saved_model.SaveOptions")
class SaveOptions(_Options):
    """TensorFlow's options for saving, which change nothing here."""


@public("saved_model.LoadOptions")
class LoadOptions(_Options):
    """TensorFlow's options for loading, which change nothing here."""


def _folder(path):
    try:
        folder = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"a saved model's folder is {path!r}; needs a str, bytes or a pathlib.Path") from None
    if not folder or "\0" in folder:
        raise ValueError(f"a saved model's folder is {path!r}, which is no path")
    return folder


# ---- signatures


def _signature_function(function):
    """The ConcreteFunction to make a signature of; None where there is none."""
    if isinstance(function, ConcreteFunction):
        return function
    if isinstance(function, (Function, Method)) and function.input_signature is not None:
        return function.get_concrete_function()
    if isinstance(function, LoadedFunction) and len(function.concrete_functions) == 1:
        return function.concrete_functions[0]
    return None


def _outputs_of(concrete, key):
    """The names of its results, in their order. ValueError for results that no signature can have."""
    if isinstance(concrete, LoadedSignature):
        return list(concrete._outputs)
    outputs = concrete.structured_outputs
    if not isinstance(outputs, collections.abc.Mapping):
        if hasattr(outputs, "_asdict"):
            outputs = outputs._asdict()
        else:
            several = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
            outputs = {f"output_{place}": output for place, output in enumerate(several)}
    for name, value in outputs.items():
        if not isinstance(name, str):
            raise ValueError(f"Got a dictionary with a non-string key {name!r} in the output of the function {concrete.name} used to "
                             f"generate the SavedModel signature {key!r}.")
        if value is None or nest.is_nested(value):
            raise ValueError(f"Got a non-Tensor value {value!r} for key {name!r} in the output of the function {concrete.name} used to "
                             f"generate the SavedModel signature {key!r}. Outputs for functions used as signatures must be a single "
                             "Tensor, a sequence of Tensors, or a dictionary from string to Tensor.")
    return sorted(outputs) if isinstance(concrete.structured_outputs, dict) else list(outputs)


def _inputs_of(concrete, key):
    names = concrete._names if isinstance(concrete, LoadedSignature) else list(concrete._tensor_names())
    if len(set(names)) != len(names):
        raise ValueError(f"Got non-unique argument names for SavedModel signature {key!r}: {', '.join(names)}. Give the TensorSpecs of "
                         f"the function {concrete.name} names: tf.TensorSpec(shape, dtype, name='…')")
    return list(names)


def _given_signatures(signatures):
    if not isinstance(signatures, collections.abc.Mapping):
        signatures = {DEFAULT: signatures}
    found = {}
    for key, function in signatures.items():
        if not isinstance(key, str):
            raise ValueError(f"saved_model.save: the key of a signature is {key!r}; needs a str")
        concrete = _signature_function(function)
        if concrete is None:
            raise ValueError(f"Expected a TensorFlow function for which to generate a signature, but got {function!r}. Only `tf.functions` "
                             "with an input signature or concrete functions can be used as a signature.")
        found[key] = concrete, _inputs_of(concrete, key), _outputs_of(concrete, key)
    return found


def _found_signatures(root, saved):
    """Where none are given: a model's call, or the only function that can be one."""
    if isinstance(root, LoadedObject) and isinstance(vars(root).get("signatures"), SignatureMap):
        return _given_signatures(vars(root)["signatures"])
    if keras_models.is_keras(root):
        call = saved.keras_functions(root).get("__call__")
        if call is None:
            return {}
        concrete, outputs = keras_models.serving(root, call)
        return {DEFAULT: (concrete, _inputs_of(concrete, DEFAULT), outputs)}
    possible = []
    for function in functions_of(root).values():
        concrete = _signature_function(function)
        if concrete is None:
            continue
        try:
            possible.append((concrete, _inputs_of(concrete, DEFAULT), _outputs_of(concrete, DEFAULT)))
        except ValueError:
            continue
    return {DEFAULT: possible[0]} if len(possible) == 1 else {}


# ---- saving and loading


@public("saved_model.save")
def save(obj, export_dir, signatures=None, options=None):
    """Writes an object to a folder: its variables, the objects in its attributes, and the traces of its tf.functions; without the
    Python code. tf.saved_model.load makes it again, and C++ programs run its signatures without Python (tapedeck::Function::load).

    obj: a tf.Module, a layer, a model, or what load returned. Functions are saved with the signatures that they were called with, or
    have an input_signature for. signatures: a tf.function with an input_signature, a concrete function, or a dict of such; None: a
    model's call, or the only function that can be one. options changes nothing. The folder may be there; what an older model left
    in it stays whole until the new one is on the disk.
    Errors: ValueError for another object, and for functions that cannot be signatures; AssertionError where a function reads a variable
    that the object does not have; UnimplementedError for functions that call back into the program, as tf.py_function does, with the
    line of the call.
    """
    if not isinstance(obj, Trackable):
        raise ValueError(f"Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for "
                         f"export. Got {obj!r} with type {type(obj)}.")
    folder = _folder(export_dir)
    given = None if signatures is None else _given_signatures(signatures)
    saved = Saved(obj)
    if given is None:
        given = _found_signatures(obj, saved)
    parts = {key: (saved.graph_number(concrete, f"the signature {key!r}"), inputs, outputs)
             for key, (concrete, inputs, outputs) in given.items()}
    _require_tracked(saved)
    objects = json.dumps({"root": 0, "nodes": saved.nodes})
    _engine.write_saved_model(folder, saved.variables, saved.graphs, parts, objects)


def _require_tracked(saved):
    known = set(map(id, saved.variables))
    for graph, path in zip(saved.graphs, saved.paths):
        for variable in graph.variables:
            if id(variable) not in known:
                raise AssertionError(f"Tried to export a function which references an 'untracked' resource: {path} uses the variable "
                                     f"{variable.name!r}. TensorFlow objects (e.g. tf.Variable) captured by functions must be "
                                     "'tracked' by assigning them to an attribute of a tracked object or assigned to an attribute of "
                                     "the main object directly.")


@public("saved_model.load")
def load(export_dir, tags=None, options=None):
    """The object of a saved model's folder: variables, functions, lists, dicts and other objects are its attributes, as they were of the
    object that was saved; `signatures` has its signatures by name. tapes watch its trainable variables.

    tags and options change nothing.
    Errors: NotFoundError where there is no such folder, DataLossError where something in it is damaged, UnimplementedError for
    TensorFlow's own SavedModel and for newer versions.
    """
    folder = _folder(export_dir)
    variables, graphs, signatures, objects = _engine.read_saved_model(folder)
    place = os.path.join(folder, _MODEL_FILE)
    if not objects:  # of a program in C++
        root = LoadedObject()
        root.graphs_variables = variables
    else:
        try:
            root = Loaded(json.loads(objects), variables, graphs).root
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError, _engine.OpError) as error:
            raise DataLossError(f"{place}: objects: {type(error).__name__}: {error}") from None
        if not isinstance(root, LoadedObject):
            raise DataLossError(f"{place}: objects: the root is a {type(root).__name__}")
    object.__setattr__(root, "signatures", SignatureMap({
        key: LoadedSignature.made(key, graphs[number], inputs, outputs) for key, (number, inputs, outputs) in signatures.items()}))
    return root


@public("saved_model.contains_saved_model")
def contains_saved_model(export_dir):
    """Whether there is a saved model of Tapedeck's in the folder."""
    return os.path.isfile(os.path.join(_folder(export_dir), _MODEL_FILE))
