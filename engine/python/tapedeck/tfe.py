"""TensorFlow's tfe: eager execution's first interface, `from tapedeck import tfe`."""
from tapedeck._engine import Tensor as EagerTensor  # noqa: F401
from tapedeck._engine import Variable  # noqa: F401
from tapedeck.context import enable_eager_execution, executing_eagerly, num_gpus  # noqa: F401
from tapedeck.custom import custom_gradient  # noqa: F401
from tapedeck.functional import (  # noqa: F401
    gradients_function,
    hessian_function,
    hessian_vector_product_function,
    implicit_gradients,
    implicit_value_and_gradients,
    jacobian_function,
    value_and_gradients_function,
)
from tapedeck.train.lbfgs import LBFGS  # noqa: F401
from tapedeck.graphs import py_function as py_func  # noqa: F401
from tapedeck.tape import GradientTape  # noqa: F401
from tapedeck.templates import ShapeAndDtype, graph_callable, make_template  # noqa: F401
from tapedeck.variable_stores import EagerVariableStore  # noqa: F401
