"""Variables saved by their names, as TensorFlow 1 does."""
import contextlib
import os
import time

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, NotFoundError
from tapedeck._checkpoint import state
from tapedeck._checkpoint.files import EXTENSION, path_text, write_tensors
from tapedeck._checkpoint.objects import assign_all
from tapedeck._checkpoint.reader import CheckpointReader
from tapedeck._core import program_graph
from tapedeck._core.public import public
from tapedeck._graph.collections import get_collection, GraphKeys


def _by_name(var_list):
    """{name: variable} of a list or dict."""
    if isinstance(var_list, dict):
        named = dict(var_list)
    else:
        named = {}
        for variable in var_list:
            if not isinstance(variable, _engine.Variable):
                raise TypeError(f"Variable to save is not a Variable: {variable!r}")
            name = variable.name.removesuffix(":0")
            if named.setdefault(name, variable) is not variable:
                raise ValueError(f"At least two variables have the same name: {name}")
    for name, variable in named.items():
        if not isinstance(variable, _engine.Variable):
            raise TypeError(f"Variable to save is not a Variable: {name!r} is {variable!r}")
    return named


@public("train.Saver")
class Saver:
    """Saves variables by name, one safetensors file for each checkpoint.

    var_list: a list of variables, or a dict of names to variables; in a tf.Graph, None for all global variables. reshape: values of
    another shape with as many elements are taken. max_to_keep: how many checkpoints stay, None or 0 for all;
    keep_checkpoint_every_n_hours: one of those that would go stays for so many hours. pad_step_number: numbers of 8 digits;
    save_relative_paths: the file "checkpoint" names files as seen from its folder; the other arguments are the graph's and change
    nothing.
    Errors: RuntimeError without var_list where ops run at once. When it saves or restores, ValueError for two variables of one
    name, and for none; TypeError for a value that is not a variable.
    """

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0, name=None,
                 restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False, write_version=2,
                 pad_step_number=False, save_relative_paths=False, filename=None):
        graph = program_graph.current()
        if var_list is None and graph is not None:
            var_list = get_collection(GraphKeys.GLOBAL_VARIABLES)
            if not var_list and not allow_empty:
                raise ValueError("No variables to save")
        if var_list is None:
            raise RuntimeError("When eager execution is enabled, `var_list` must specify a list or dict of variables to save")
        self._var_list, self._allow_empty = var_list, allow_empty
        self._reshape, self._pad, self._relative = reshape, pad_step_number, save_relative_paths
        self._max_to_keep, self._hours = max_to_keep or 0, keep_checkpoint_every_n_hours
        self._last = []  # (path, when it was written), the oldest first
        self._next_to_keep = time.time() + self._hours * 3600

    def _variables(self):
        """{name: variable} of what the list or dict holds now."""
        named = _by_name(self._var_list)
        if not named and not self._allow_empty:
            raise ValueError("No variables to save")
        return named

    @property
    def last_checkpoints(self):
        """The paths of those that are not deleted, the oldest first."""
        return [path for path, _ in self._last]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time):
        """Makes known [(path, when it was written)], the oldest first. AssertionError for a value that is not a list."""
        if not isinstance(last_checkpoints_with_time, list):
            raise AssertionError("last_checkpoints_with_time must be a list")
        self._last = [tuple(each) for each in last_checkpoints_with_time]

    def set_last_checkpoints(self, last_checkpoints):
        """Makes known the paths of checkpoints, the oldest first. AssertionError for a value that is not a list."""
        if not isinstance(last_checkpoints, list):
            raise AssertionError("last_checkpoints must be a list")
        self._last = [(path, float("inf")) for path in last_checkpoints]

    def recover_last_checkpoints(self, checkpoint_paths):
        """Makes known those of the paths where there is a checkpoint, so that they are deleted in their turn."""
        there = [path for path in checkpoint_paths if state.checkpoint_exists(path)]
        self._last = list(zip(there, state.get_checkpoint_mtimes(there)))

    def save(self, sess=None, save_path=None, global_step=None, latest_filename=None, meta_graph_suffix="meta",
             write_meta_graph=True, write_state=True, strip_default_attrs=False, save_debug_info=False):
        """Writes a checkpoint of the path, with "-STEP" after it where global_step is given.

        sess: the tf.Session whose values are written, of variables of a tf.Graph; else None. global_step: a number, a tensor or a
        variable. latest_filename: another name than "checkpoint" for the file that says what the latest one is; write_state False leaves
        that file alone. The others change nothing.
        Returns: the checkpoint's path, what restore takes. Errors: those of tf.train.Checkpoint.save; FailedPreconditionError for a
        variable that has no value in the session; TypeError without a session where the variables need one.
        """
        if save_path is None:
            raise TypeError("Saver.save() needs save_path: saver.save(session, path), and where ops run at once saver.save(None, path)")
        if sess is not None and isinstance(global_step, (_engine.Tensor, _engine.Variable)):
            global_step = sess.run(global_step)
        path = path_text(save_path).removesuffix(EXTENSION)
        if global_step is not None:
            path += f"-{int(global_step):08d}" if self._pad else f"-{int(global_step)}"
        if os.path.isdir(os.path.join(path, "")) and path.endswith(("/", os.sep)) or not os.path.basename(path):
            raise ValueError(f"{path} is a folder; save_path needs a name in it")
        with _in_session(sess, self._variables(), False) as variables:
            write_tensors(path, variables)
        if write_state:
            self._keep(path, latest_filename)
        return path

    def _keep(self, path, latest_filename):
        self._last = [each for each in self._last if each[0] != path] + [(path, time.time())]
        gone = []
        while self._max_to_keep and len(self._last) > self._max_to_keep:
            gone.append(self._last.pop(0))
        paths = [each for each, _ in self._last]
        state.update_checkpoint_state(os.path.dirname(path), path, paths, latest_filename, relative=self._relative)
        for old, written in gone:
            if self._hours and written > self._next_to_keep:
                self._next_to_keep += self._hours * 3600
            else:
                state.remove_checkpoint(old)

    def restore(self, sess=None, save_path=None):
        """Gives the variables the values that a checkpoint has under their names. One of tf.train.Checkpoint does too. sess: the
        tf.Session that gets them, of variables of a tf.Graph; else None.

        Errors: ValueError for a path without a checkpoint; NotFoundError for a name that is not in it; InvalidArgumentError for
        another shape or dtype. Then no variable is changed.
        """
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        try:
            reader = CheckpointReader(save_path)
        except NotFoundError:
            raise ValueError(f"The passed save_path is not a valid checkpoint: {path_text(save_path)}") from None
        file, variables, pairs = reader._file, self._variables(), []
        keys = {} if variables.keys() <= file.tensors.keys() else reader._by_variable_name()
        for name, variable in variables.items():
            key = keys.get(name, name)
            if key not in file.tensors:
                raise NotFoundError(f"Key {name} not found in checkpoint {file.path}")
            pairs.append(self._pair(variable, key, file))
        with _in_session(sess, variables, True):
            assign_all(file.path, pairs)

    def _pair(self, variable, key, file):
        dtype, shape = file.tensors[key]
        if self._reshape and variable.shape.is_fully_defined() and _count(shape) == _count(variable.shape):
            reshape = _engine.op_function("reshape")
            return variable, key, (dtype, tuple(variable.shape)), lambda key: reshape(file.read(key), variable.shape)
        return variable, key, (dtype, shape), file.read


@contextlib.contextmanager
def _in_session(sess, variables, gives_values):
    """The variables, with the session's values inside. gives_values: whether it has given each a value then."""
    of_graph = [variable for variable in variables.values() if variable.initializer is not None]
    if not of_graph:
        yield variables
        return
    if not hasattr(sess, "_loaded"):
        raise TypeError(f"'sess' must be a Session; {sess!r}: the variables belong to a tf.Graph, and each session has its own values")
    with sess._loaded():
        for variable in of_graph:
            if not gives_values:
                sess._require(variable)
        yield variables
        sess._initialized.update(map(id, of_graph) if gives_values else ())


def _count(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


@public("tfe.Saver")
class EagerSaver:
    """tfe.Saver: saves variables by name. var_list: a list of variables, or a dict of names to variables.

    Errors: those of tf.train.Saver.
    """

    def __init__(self, var_list):
        self._saver = Saver(var_list)

    def save(self, file_prefix, global_step=None):
        """Writes a checkpoint of that path, with "-STEP" after it where global_step is given. Returns: what restore takes."""
        return self._saver.save(None, file_prefix, global_step)

    def restore(self, file_prefix):
        """Gives the variables the values that a checkpoint has under their names. Errors: those of tf.train.Saver.restore."""
        self._saver.restore(None, file_prefix)


EagerSaver.__name__ = EagerSaver.__qualname__ = "Saver"


@public("tfe.restore_variables_on_create")
@contextlib.contextmanager
def restore_variables_on_create(save_path, map_func=None):
    """A context in which new variables get the values that a checkpoint has under their names, each value once.

    save_path: a checkpoint; None or "" for nothing. map_func: a function of a variable's name that gives the checkpoint's.
    Errors: ValueError where map_func is not a function; NotFoundError for a name that is not in the checkpoint; InvalidArgumentError
    for another shape or dtype.
    """
    if not save_path:
        yield
        return
    if map_func is not None and not callable(map_func):
        raise ValueError("map_func must be callable.")
    reader = CheckpointReader(save_path)
    hook = _value_on_create(reader._file, reader._by_variable_name(), map_func)
    before = _engine._set_creation_hook(hook)
    try:
        yield
    finally:
        _engine._set_creation_hook(before)


def _value_on_create(file, keys, map_func):
    used = set()

    def hook(name, value):
        wanted = map_func(name) if map_func else name
        key = wanted if wanted in file.tensors else keys.get(wanted)
        if key is None:
            raise NotFoundError(f"{wanted} not found in checkpoint {file.path}")
        if key in used:
            return value
        dtype, shape = file.tensors[key]
        if (value.dtype.name, tuple(value.shape)) != (dtype, tuple(shape)):
            raise InvalidArgumentError(f"{file.path}: {wanted} has shape {tuple(shape)} and dtype {dtype}; the variable {name} has "
                                       f"shape {tuple(value.shape)} and dtype {value.dtype.name}")
        used.add(key)
        return file.read(key)

    return hook
