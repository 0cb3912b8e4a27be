"""What programs read of TensorFlow's own file ops/gen_nn_ops.py."""
import sys

from tapedeck._core.composites import op, tensor


def _relu_grad(gradients, features, name=None):
    """The gradient of relu: gradients where features are positive, else 0."""
    features = tensor(features)
    return op("where")(op("greater")(features, tensor(0, features.dtype)), gradients, op("zeros_like")(features))


relu_grad = _relu_grad


def __getattr__(name):
    return getattr(sys.modules["tapedeck.nn"], name)
