"""tf.train.Checkpoint: all that objects hold, saved to one file and brought back by structure."""
import os

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, NotFoundError
from tapedeck._checkpoint import state
from tapedeck._checkpoint.files import EXTENSION, path_text, TensorFile, write_tensors
from tapedeck._checkpoint.graph import Collected, METADATA_KEY, SavedGraph
from tapedeck._checkpoint.python_state import call_back
from tapedeck._checkpoint.restoration import Restoration
from tapedeck._checkpoint.status import CheckpointLoadStatus, InitializationOnlyStatus, NameBasedSaverStatus, objects_below
from tapedeck._core.public import public
from tapedeck._core.trackable import is_trackable, NoDependency, Trackable


def write_objects(path, root, attached=()):
    """Writes what the objects below the root hold. attached: (name, object), further children of the root. Returns the path."""
    collected = Collected(root, attached)
    values = collected.values()
    return write_tensors(path, values, {METADATA_KEY: collected.to_json()})


def read_objects(path, root, attached=lambda: ()):
    """Restores the objects below the root; attached as a function. Returns a status."""
    file = TensorFile(path)
    objects = objects_below(root, attached)
    text = file.metadata.get(METADATA_KEY)
    if text is None:
        return _restore_by_name(file, objects)
    restoration = Restoration(file, SavedGraph(text, file))
    children = restoration.graph.children(0)
    try:
        restoration.restore([(0, root), *((children[name], child) for name, child in attached() if name in children)])
    except BaseException:
        restoration.unrestored_warning.expect_partial = True
        raise
    return CheckpointLoadStatus(restoration, objects)


def assign_all(path, pairs):
    """Assigns all (variable, name in the file, (dtype, shape) there, function of the name that gives the tensor), or none of them:
    InvalidArgumentError where one does not fit."""
    for variable, name, (dtype, shape), _ in pairs:
        if variable.dtype.name != dtype or not variable.shape.is_compatible_with(shape):
            raise InvalidArgumentError(f"{path}: {name} has shape {tuple(shape)} and dtype {dtype}; the variable {variable.name} "
                                       f"has shape {variable.shape} and dtype {variable.dtype.name}. Nothing was restored")
    for variable, value in [(variable, read(name)) for variable, name, _, read in pairs]:
        variable.assign(value)


def _restore_by_name(file, objects):
    collected, pairs, used = objects(), [], set()
    for thing, path in zip(collected.objects, collected.paths):
        if isinstance(thing, _engine.Variable):
            name = next((name for name in (thing.name.removesuffix(":0"), path) if name in file.tensors), None)
            if name is not None:
                pairs.append((thing, name, file.tensors[name], file.read))
                used.add(name)
    assign_all(file.path, pairs)
    return NameBasedSaverStatus(file.path, objects, [variable for variable, *_ in pairs], file.tensors.keys() - used)


def _require_trackable(name, value):
    if not is_trackable(value):
        raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), got "
                         f"{value!r}: layers, models, optimizers, metrics, iterators, variables, tf.Module, and lists and dicts of "
                         "them are. A number or a text is saved as tf.Variable or by tf.train.experimental.PythonState")


@public("tfe.Checkpoint", "train.Checkpoint")
class Checkpoint(Trackable):
    """Saves the state of objects to a file and restores it by the objects' structure: names of attributes, not of variables.

    root: the object whose attributes are the top level of the saved structure; None for the checkpoint itself. kwargs: further
    objects, under their names; also attributes, which may be set later.
    A checkpoint is restored in whole or in part, into existing objects and into those that are created later. If a file is damaged or a
    shape does not fit, nothing is changed.
    Errors: ValueError for a value that is not a variable, layer, optimizer, … or list or dict of them.
    """

    def __init__(self, root=None, **kwargs):
        self._counter = None
        self._root = NoDependency(root)
        self._attached = NoDependency({})
        if root is not None:
            _require_trackable("root", root)
            if isinstance(root, _engine.Variable):
                raise ValueError(f"`Checkpoint`: root is the variable {root.name}; give it a name: Checkpoint(variable=…)")
            kwargs["root"] = root
        for name, value in sorted(kwargs.items()):
            setattr(self, name, value)
            value = getattr(self, name)
            _require_trackable(name, value)
            if root is not None:
                child = root._children().get(name)
                if child is not None and child is not value:
                    raise ValueError(f"Cannot create a Checkpoint with keyword argument {name} if root.{name} already exists.")
                if child is None and name != "root":
                    self._attached[name] = value

    def _top(self):
        """(the root, what is attached to it)."""
        return (self, ()) if self._root is None else (self._root, tuple(self._attached.items()))

    @property
    def save_counter(self):
        """A variable, the number of saves so far: checkpoints are numbered by it."""
        if self._counter is None:
            counter = _engine.Variable(_engine.constant(0, "int64", None), trainable=False, name="save_counter", import_scope="")
            self._counter = NoDependency(counter)
            if self._root is None:
                self._track("save_counter", counter)
            else:
                self._attached["save_counter"] = counter
                for restoration, node in tuple(self._root._bindings()):
                    restoration.bind_child(node, "save_counter", counter)
        return self._counter

    def write(self, file_prefix, options=None):
        """Writes a checkpoint of that path, ".safetensors" after it. It is neither numbered nor known to latest_checkpoint.

        Returns: the path, without the extension. Errors: those of save.
        """
        prefix = _prefix(file_prefix)
        write_objects(prefix, *self._top())
        call_back(options, prefix)
        return prefix

    def save(self, file_prefix, options=None, session=None):
        """Writes the checkpoint "file_prefix-NUMBER.safetensors", and that it is the latest one to the file "checkpoint" beside it.

        Folders are made. The file appears when it is whole and on the disk; a process that dies before leaves what was there.
        Returns: "file_prefix-NUMBER", what restore takes. Errors: ResourceExhaustedError where the disk is full,
        PermissionDeniedError, FailedPreconditionError where a folder is needed and there is a file.
        """
        prefix = _prefix(file_prefix)
        path = self._save_numbered(lambda number: f"{prefix}-{number}", options)
        state.update_checkpoint_state(os.path.dirname(path), path, [path], relative=True)
        return path

    def _save_numbered(self, path_of, options):
        """Counts, and writes to path_of(number). Where that fails nothing is counted."""
        counter = self.save_counter
        before = counter.read_value()
        counter.assign_add(1)
        try:
            return self.write(path_of(int(counter)), options)
        except BaseException:
            counter.assign(before)
            raise

    def read(self, save_path, options=None):
        """Restores a checkpoint of that path; see restore, which also restores the number of saves.

        Returns: a status. Errors: NotFoundError where there is no such file, DataLossError where it is damaged,
        InvalidArgumentError where a shape or a dtype does not fit, UnimplementedError for TensorFlow's own format. Then nothing
        is changed.
        """
        if save_path is None:
            return InitializationOnlyStatus()
        root, _ = self._top()
        return read_objects(_prefix(save_path), root, lambda: self._top()[1])

    def restore(self, save_path, options=None):
        """Restores a checkpoint that save or write wrote: objects that there are now, and others when they are made.

        save_path: what save returned, with ".safetensors" or without; None for nothing.
        Returns: a status, whose assert_consumed() says whether all was restored; expect_partial() says that not all has to be.
        Errors: those of read.
        """
        try:
            status = self.read(save_path)
        except NotFoundError as error:
            raise NotFoundError(f"Error when restoring from checkpoint at {path_text(save_path)}: {error}. Please double-check "
                                "that the path is correct. You may be missing the checkpoint suffix (e.g. the '-1' in "
                                "'path/to/ckpt-1').") from None
        _ = self.save_counter  # made now, so that it is restored
        return status

    def sync(self):
        """Does nothing: a checkpoint is on the disk when save returns."""


def _prefix(path):
    return path_text(path).removesuffix(EXTENSION)
