"""Tapedeck's eager tensor engine, in TensorFlow eager's shape: `import tapedeck as tf`, `from tapedeck import tfe`.

The op functions (tf.matmul, tf.math.log, …) are made from the engine's registry while this package is imported.
"""
import os as _os

from tapedeck._engine import Tensor, Variable
from tapedeck import (  # noqa: F401  (order matters: dtypes tells the engine its classes)
    dtypes,
    autodiff,
    compat,
    data,
    errors,
    nest,
    config,
    debugging,
    experimental,
    initializers,
    io,
    keras,
    layers,
    linalg,
    losses,
    metrics,
    nn,
    python_io,
    random,
    strings,
    summary,
    test,
    tfe,
    train,
    version,
    contrib,
)
from tapedeck.compat import disable_tensor_equality, enable_tensor_equality
from tapedeck.config import get_flush_denormal, set_flush_denormal
from tapedeck.context import (add_check_numerics_ops, control_dependencies, device, disable_eager_execution, enable_eager_execution,
                              executing_eagerly, group, init_scope, name_scope, no_op, timestamp)
from tapedeck.creation import constant, convert_to_tensor, is_tensor
from tapedeck.custom import custom_gradient, grad_pass_through, recompute_grad
from tapedeck.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from tapedeck.errors import OpError
from tapedeck.explain import explain_no_gradient
from tapedeck.indexed_slices import IndexedSlices
from tapedeck.io import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from tapedeck.keras import optimizers
from tapedeck.shapes import Dimension, TensorShape
from tapedeck.tape import GradientTape, UnconnectedGradients
from tapedeck import missing as _missing, namespaces as _namespaces, shaping as _shaping

newaxis = None
__version__ = "0.1.0"
VERSION = version.VERSION

_LATER = {"app", "flags", "gfile", "logging"}  # namespaces that few programs use: imported at first use


def __getattr__(name):
    if name in _LATER:
        import importlib
        return importlib.import_module(f"tapedeck.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'tapedeck' has no attribute {name!r}")
    raise _missing.MissingName("tapedeck", name)



_namespaces.install(_shaping.functions, debugging.functions, random.functions, initializers.functions)

if _os.environ.get("TAPEDECK_DEBUG") == "1":
    from tapedeck import attachable as _attachable
    _attachable.start()
