"""Checkpoints: what objects hold, saved to a file and brought back. tf.train, tfe and tf.train.experimental name them."""
from tapedeck.checkpoint.files import read_metadata, read_tensors, write_tensors  # noqa: F401
from tapedeck.checkpoint.manager import CheckpointManager  # noqa: F401
from tapedeck.checkpoint.objects import Checkpoint  # noqa: F401
from tapedeck.checkpoint.python_state import CheckpointOptions, PythonState  # noqa: F401
from tapedeck.checkpoint.reader import CheckpointReader, list_variables, load_checkpoint, load_variable  # noqa: F401
from tapedeck.checkpoint.saver import EagerSaver, Saver, restore_variables_on_create  # noqa: F401
from tapedeck.checkpoint.state import (  # noqa: F401
    CheckpointState,
    checkpoint_exists,
    checkpoints_iterator,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    remove_checkpoint,
    update_checkpoint_state,
)
from tapedeck.checkpoint.weights import load_weights, save_weights  # noqa: F401
