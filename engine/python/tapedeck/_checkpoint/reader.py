"""The tensors of a checkpoint, without objects."""
import os

from tapedeck._engine import NotFoundError
from tapedeck._checkpoint import state
from tapedeck._checkpoint.files import path_text, TensorFile
from tapedeck._checkpoint.graph import METADATA_KEY, SavedGraph
from tapedeck._core import dtypes
from tapedeck._core.public import public

_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"  # what TensorFlow's keys end with


@public("train.NewCheckpointReader")
class CheckpointReader:
    """The tensors of a checkpoint by name: "model/dense/kernel". TensorFlow's longer keys, "…/.ATTRIBUTES/VARIABLE_VALUE", are
    taken too."""

    def __init__(self, path):
        self._file = TensorFile(path)

    def _key(self, name):
        if name not in self._file.tensors and name.endswith(_SUFFIX):
            return name.removesuffix(_SUFFIX)
        return name

    def has_tensor(self, tensor_str):
        """Whether there is a tensor of that name."""
        return self._key(tensor_str) in self._file.tensors

    def get_tensor(self, tensor_str):
        """Its value as NumPy has it. NotFoundError for another name."""
        key = self._key(tensor_str)
        if key not in self._file.tensors:
            raise NotFoundError(f"Key {tensor_str} not found in checkpoint {self._file.path}")
        return self._file.read(key).numpy()

    def get_variable_to_shape_map(self):
        """{name: shape}, shapes as lists."""
        return {name: list(shape) for name, (_, shape) in self._file.tensors.items()}

    def get_variable_to_dtype_map(self):
        """{name: DType}; the format's name for what no tensor can be."""
        return {name: _dtype(dtype) for name, (dtype, _) in self._file.tensors.items()}

    def debug_string(self):
        """A line for each tensor, as bytes: name, dtype, shape."""
        return "".join(f"{name} ({dtype}) {list(shape)}\n" for name, (dtype, shape) in sorted(self._file.tensors.items())).encode()

    def _by_variable_name(self):
        """{name of a variable: key}, from the graph of objects where there is one; names that several have are left out."""
        text = self._file.metadata.get(METADATA_KEY)
        if text is None:
            return {}
        names, twice = {}, set()
        for node in SavedGraph(text, self._file).nodes:
            if "variable" in node and "name" in node:
                twice.update({node["name"]} & names.keys())
                names[node["name"]] = node["variable"]
        return {name: key for name, key in names.items() if name not in twice}


def _dtype(name):
    try:
        return dtypes.as_dtype(name)
    except TypeError:
        return name


@public("train.load_checkpoint", "contrib.framework.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file):
    """A CheckpointReader of a checkpoint, or of the latest one in a folder.

    Errors: ValueError where a folder has none; NotFoundError, DataLossError.
    """
    path = path_text(ckpt_dir_or_file)
    if os.path.isdir(path) and not state.checkpoint_exists(path):
        latest = state.latest_checkpoint(path)
        if latest is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        path = latest
    return CheckpointReader(path)


@public("train.load_variable", "contrib.framework.load_variable")
def load_variable(ckpt_dir_or_file, name):
    """The value of one tensor as NumPy has it. Errors: NotFoundError for another name, and those of load_checkpoint."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@public("train.list_variables", "contrib.framework.list_variables")
def list_variables(ckpt_dir_or_file):
    """[(name, shape)] of all tensors, by name; shapes as lists. Errors: those of load_checkpoint."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())
