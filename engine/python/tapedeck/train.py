"""Optimisers and checkpoints."""
from tapedeck.checkpoint import (  # noqa: F401
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    CheckpointState,
    Saver,
    checkpoint_exists,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
    update_checkpoint_state,
)
from tapedeck.checkpoint import CheckpointReader as NewCheckpointReader  # noqa: F401
from tapedeck.lbfgs import LBFGS  # noqa: F401
