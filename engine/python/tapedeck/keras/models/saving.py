"""Models in files: their weights, or all of a model, as one safetensors file with the graph of objects and the config in its
metadata."""
import json
import os

import numpy as np

from tapedeck import _engine
from tapedeck._engine import DataLossError, NotFoundError
from tapedeck._checkpoint.files import file_path, parsed, TensorFile, write_tensors
from tapedeck._checkpoint.graph import Collected, METADATA_KEY
from tapedeck._checkpoint.objects import read_objects
from tapedeck._checkpoint.state import update_checkpoint_state
from tapedeck._checkpoint.weights import _Without, _WithoutSlots
from tapedeck._core import nest
from tapedeck._core.arguments import having
from tapedeck._core.public import public
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import named_objects
from tapedeck.keras.models.graph_config import _plain, layer_config, layer_of, to_json
from tapedeck.keras.models.symbolic import trial

_CONFIG_KEY = "tapedeck.keras_model"
_MOST_BYTES = 1 << 36  # of a variable in an .npz
_OTHERS = (".h5", ".hdf5", ".keras")  # names of formats that programs give; the file's name gets the extension after it


def _path(filepath):
    path = os.fsdecode(os.fspath(filepath))
    return path + ".safetensors" if path.endswith(_OTHERS) else path


def _refuse_to_overwrite(path, overwrite):
    if not overwrite and os.path.exists(file_path(path)):
        raise FileExistsError(f"{file_path(path)} is there already, and overwrite is False")


def write_model(model, path, metadata, with_optimizer=True):
    """Writes the model's variables, its optimiser's state where that is wanted, and metadata."""
    collected = _collected(model, with_optimizer)
    tensors = collected.values()
    return write_tensors(path, tensors, {METADATA_KEY: collected.to_json(), **metadata})


def _collected(model, with_optimizer=False):
    return Collected(model) if with_optimizer else _WithoutSlots(_Without(model, ("optimizer",)))


def restore_model(model, path):
    """Gives the model the values of a file with a graph of objects; variables that come later get theirs then. Returns a status."""
    return read_objects(path, model).expect_partial()


class NoFileError(NotFoundError, FileNotFoundError, ValueError):
    """There is no file of that name. TensorFlow's releases raise one or another of its bases there."""


def _opened(path):
    try:
        return TensorFile(path)
    except NotFoundError as error:
        raise NoFileError(f"File not found: {error}") from error


def _arrays(path):
    from tapedeck._checkpoint.npz import Archive  # 10 ms, which only such a file needs
    try:
        with Archive(path, _MOST_BYTES, lists=False) as archive:
            return {name.removesuffix(":0"): archive.read(name) for name in archive.names}
    except FileNotFoundError as error:
        raise NoFileError(f"File not found: {path}") from error


class Saved:
    """What a model knows of files."""

    def save_weights(self, filepath, overwrite=True, save_format=None, options=None):
        """Writes the variables, without those of the optimiser, to one safetensors file, which appears when it is whole.

        filepath: the extension ".safetensors" is added where it is not there; without an extension of weights' files (".h5", …) it
        is a checkpoint, which tf.train.latest_checkpoint finds in its folder. overwrite False: FileExistsError where the file is
        there. save_format and options change nothing. Errors: ValueError before the variables are made.
        """
        if not self.built and not self.weights:
            raise ValueError(f"Model {self.name} has no weights yet. Build the model first by calling `build()` or by calling the "
                             "model on a batch of data.")
        path = _path(filepath)
        _refuse_to_overwrite(path, overwrite)
        write_model(self, path, {}, with_optimizer=False)
        folder, name = os.path.split(path)
        if not path.endswith(".safetensors") and name != "checkpoint":  # which is what the folder's list of checkpoints is called
            update_checkpoint_state(folder, path, relative=True)

    def load_weights(self, filepath, by_name=False, skip_mismatch=False, options=None):
        """Reads variables from a safetensors file that save_weights, save or another tool wrote, or from a .npz of NumPy.

        Variables that are not made yet get their values when they are. A file of another tool has variables by their names, as
        "dense/kernel"; by_name does that with every file. skip_mismatch: variables of other shapes keep what they have; with
        neither, nothing is changed where something does not fit.
        Errors: NoFileError where there is no file; ValueError for other shapes, and names that are missing.
        """
        path = os.fsdecode(os.fspath(filepath))
        if path.endswith(".npz"):
            return _assign_by_name(self, path, _arrays(path), by_name, skip_mismatch)
        file = _opened(_path(path))
        if METADATA_KEY in file.metadata and not by_name and not skip_mismatch:
            return restore_model(self, file.path)
        return _assign_by_name(self, path, {name: file.read(name) for name in file.tensors}, by_name, skip_mismatch)

    def save(self, filepath, overwrite=True, include_optimizer=True, save_format=None, **kwargs):
        """Writes the model's config, its variables and, where it was compiled, what it was compiled with and the optimiser's state,
        to one safetensors file, of which tf.keras.models.load_model makes the model again.

        filepath: the extension ".safetensors" is added where it is not there, after ".keras" and ".h5" too. overwrite False:
        FileExistsError where the file is there. Errors: TypeError where a layer's config holds what JSON does not.
        """
        described = layer_config(self)
        described["build"] = _seen_config(self)
        described["compile"] = self.get_compile_config() if include_optimizer else None
        path = _path(filepath)
        _refuse_to_overwrite(path, overwrite)
        text = json.dumps(described, default=_plain)
        write_model(self, path, {_CONFIG_KEY: text}, include_optimizer)

    def to_json(self, **kwargs):
        """The model's class and config as a text, of which tf.keras.models.model_from_json makes a model."""
        return to_json(self, **kwargs)


def _assign_by_name(model, path, values, by_name, skip_mismatch):
    if not model.built:
        raise ValueError(f"Unable to load weights of {path} into model {model.name}, which has not created its variables yet. Call "
                         "the model first, then load the weights.")
    collected = _collected(model)
    found, missing = [], []
    for thing, key in zip(collected.objects, collected.paths):
        if not isinstance(thing, _engine.Variable):
            continue
        value = values.get(key, values.get(thing.name.removesuffix(":0")))
        if value is None:
            missing.append(thing.name.removesuffix(":0"))
        elif tuple(value.shape) != tuple(thing.shape):
            if not skip_mismatch:
                raise ValueError(f"{path}: {key} has shape {tuple(value.shape)}; the variable {thing.name} has shape "
                                 f"{tuple(thing.shape)}. Nothing was loaded")
        else:
            found.append((thing, value))
    if missing and not by_name and not skip_mismatch:
        raise ValueError(f"{path} has no values for {', '.join(missing[:10])}; it has {', '.join(list(values)[:10])}")
    for variable, value in found:
        variable.assign(_engine.convert_to_tensor(np.asarray(value), variable.dtype))


def _seen_config(model):
    """The shapes and dtypes of the inputs that a model by subclassing was built for."""
    seen = vars(model).get("_seen")
    if seen is None or model._graph is not None:
        return None
    shapes, kinds = seen
    if nest.is_nested(shapes):
        if isinstance(shapes, dict):
            return {name: [list(each), getattr(kinds[name], "name", kinds[name])] for name, each in shapes.items()}
        return {"list": [[list(each), getattr(kind, "name", kind)] for each, kind in zip(shapes, kinds)]}
    return [list(shapes), getattr(kinds, "name", kinds)]


def _build_as_seen(model, config):
    if isinstance(config, list):
        seen = TensorShape(config[0]), config[1]
    elif list(config) == ["list"]:
        seen = [TensorShape(each[0]) for each in config["list"]], [each[1] for each in config["list"]]
    else:
        seen = {name: TensorShape(each[0]) for name, each in config.items()}, {name: each[1] for name, each in config.items()}
    vars(model)["_seen"] = seen
    with trial():
        model._call_on_zeros(1, 64)


@public("keras.models.save_model")
def save_model(model, filepath, overwrite=True, include_optimizer=True, save_format=None, **kwargs):
    """model.save(filepath). TypeError for a value that is not a model."""
    having(model, "save_model: model", "save", "model").save(filepath, overwrite=overwrite, include_optimizer=include_optimizer)


@public("keras.models.load_model")
def load_model(filepath, custom_objects=None, compile=True, safe_mode=True):
    """The model of a file that Model.save wrote, with its variables; compiled, with the optimiser's state, where it was, unless
    compile is False.

    custom_objects: classes and functions that the config names, beside those of tf.keras and those registered with
    tf.keras.utils.register_keras_serializable. safe_mode changes nothing: no file runs code.
    Errors: NoFileError where there is no file; ValueError for a file that holds no model, and for an unknown class;
    DataLossError for a damaged one.
    """
    try:
        file = _opened(_path(filepath))
    except NotFoundError as error:
        if os.path.isdir(filepath):
            raise ValueError(f"load_model: {filepath} is a folder; tf.saved_model.load reads those of tf.saved_model.save. A model's "
                             f"file is named {_path(filepath)}") from error
        if os.path.exists(filepath):
            raise ValueError(f"load_model: {filepath} was not written by Tapedeck, whose files are named {_path(filepath)}; Keras' "
                             "own archives and HDF5 are not read") from error
        raise
    if _CONFIG_KEY not in file.metadata:
        raise ValueError(f"load_model: {file.path} holds tensors but no model; Model.save writes one, Model.load_weights reads "
                         "tensors")
    where = f"load_model: {file.path}: metadata {_CONFIG_KEY}"
    described = parsed(file.metadata[_CONFIG_KEY], where)
    if type(described) is not dict:
        raise DataLossError(f"{where}: is a {type(described).__name__}; must be a dict")
    with named_objects.custom_object_scope(custom_objects or {}):
        try:
            model = layer_of(described)
        except RecursionError:
            raise DataLossError(f"{where}: is nested too deeply") from None
        if described.get("build") and not model.weights:
            _build_as_seen(model, described["build"])
        if compile and described.get("compile"):
            model.compile_from_config(described["compile"])
    restore_model(model, file.path)
    return model
