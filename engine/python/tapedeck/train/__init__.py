"""Training: optimisers, learning rates that decay, averages, and the global step."""
import types as _types

from tapedeck.checkpoint import (
    Checkpoint,
    CheckpointManager,
    CheckpointOptions,
    CheckpointState,
    Saver,
    checkpoint_exists,
    checkpoints_iterator,
    get_checkpoint_mtimes,
    get_checkpoint_state,
    latest_checkpoint,
    list_variables,
    load_checkpoint,
    load_variable,
    remove_checkpoint,
    update_checkpoint_state,
)
from tapedeck.checkpoint import CheckpointReader as NewCheckpointReader
from tapedeck.train import experimental
from tapedeck.train.decays import (
    cosine_decay,
    cosine_decay_restarts,
    exponential_decay,
    inverse_time_decay,
    linear_cosine_decay,
    natural_exp_decay,
    noisy_linear_cosine_decay,
    piecewise_constant,
    polynomial_decay,
)
from tapedeck.train.kfac import KFACOptimizer
from tapedeck.train.lbfgs import LBFGS
from tapedeck.train.optimizer import Optimizer
from tapedeck.train.optimizers import (
    AdadeltaOptimizer,
    AdagradDAOptimizer,
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    MomentumOptimizer,
    ProximalAdagradOptimizer,
    ProximalGradientDescentOptimizer,
    RMSPropOptimizer,
)
from tapedeck.train.steps import (
    ExponentialMovingAverage,
    assert_global_step,
    create_global_step,
    get_global_step,
    get_or_create_global_step,
    global_step,
)

piecewise_constant_decay = piecewise_constant

__all__ = [_name for _name, _value in list(globals().items())
           if not _name.startswith("_") and (_value is experimental or not isinstance(_value, _types.ModuleType))]
