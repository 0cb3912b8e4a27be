"""TensorFlow's tfe: eager execution's first interface, `from tapedeck import tfe`."""
from tapedeck import eager_metrics as metrics  # noqa: F401
from tapedeck._engine import Tensor as EagerTensor  # noqa: F401
from tapedeck._engine import Variable  # noqa: F401
from tapedeck.checkpoint import Checkpoint, restore_variables_on_create  # noqa: F401
from tapedeck.checkpoint import EagerSaver as Saver  # noqa: F401
from tapedeck.context import enable_eager_execution, executing_eagerly, num_gpus  # noqa: F401
from tapedeck.custom import custom_gradient  # noqa: F401
from tapedeck.execution_callbacks import (  # noqa: F401
    InfOrNanError,
    add_execution_callback,
    clear_execution_callbacks,
    errstate,
    inf_callback,
    inf_nan_callback,
    nan_callback,
    seterr,
)
from tapedeck.evaluator import Evaluator, SparseSoftmaxEvaluator  # noqa: F401
from tapedeck.data.iterators import Iterator  # noqa: F401
from tapedeck.eager_modes import (  # noqa: F401
    ASYNC,
    DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32,
    DEVICE_PLACEMENT_WARN,
    IsolateTest,
    SYNC,
    async_clear_error,
    async_wait,
    defun,
    execution_mode,
    get_optimizer_variables,
    in_eager_mode,
    in_graph_mode,
    list_devices,
    run,
    run_test_in_graph_and_eager_modes,
)
from tapedeck.functional import (  # noqa: F401
    gradients_function,
    hessian_function,
    hessian_vector_product_function,
    implicit_gradients,
    implicit_value_and_gradients,
    jacobian_function,
    value_and_gradients_function,
)
from tapedeck.graphs import py_function as py_func  # noqa: F401
from tapedeck.train.lbfgs import LBFGS  # noqa: F401
from tapedeck.network import Network, Sequential  # noqa: F401
from tapedeck.network_checkpoints import restore_network_checkpoint, save_network_checkpoint  # noqa: F401
from tapedeck.tape import GradientTape  # noqa: F401
from tapedeck.templates import ShapeAndDtype, graph_callable, make_template  # noqa: F401
from tapedeck.variable_stores import EagerVariableStore  # noqa: F401
from tapedeck.trackable import Trackable as Checkpointable  # noqa: F401
