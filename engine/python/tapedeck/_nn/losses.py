"""TensorFlow's smaller tf.nn functions: layers in one call, Poisson's loss, normalisation across channels."""
import math

from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import flag, integer, number
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public


@public("nn.xw_plus_b", in_errors=True)
def xw_plus_b(x, weights, biases, name=None):
    """x·weights + biases.

    x: (rows, in), weights: (in, out), biases: (out,); any numeric dtype, one for all.
    Returns: (rows, out), that dtype.
    Errors: InvalidArgumentError for shapes that do not fit; TypeError for different dtypes.
    """
    return op("bias_add")(op("matmul")(x, weights), biases)


@public("nn.relu_layer", in_errors=True)
def relu_layer(x, weights, biases, name=None):
    """relu(x·weights + biases). The arguments, the result and the errors are those of nn.xw_plus_b.

    Returns: (rows, out), their dtype.
    Errors: InvalidArgumentError for shapes that do not fit; TypeError for different dtypes.
    """
    return op("relu")(xw_plus_b(x, weights, biases))


@public("nn.softmax_cross_entropy_with_logits", "nn.softmax_cross_entropy_with_logits_v2", in_errors=True,
        row="softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(labels=None, logits=None, axis=-1, name=None, *, dim=None):
    """The cross entropy of classes' probabilities. labels are cast to the dtype of logits; dim is TensorFlow 1's name of axis."""
    if labels is None or logits is None:
        raise InvalidArgumentError(f"softmax_cross_entropy_with_logits: both labels and logits must be given; "
                                   f"{'labels' if labels is None else 'logits'} is None")
    logits = tensor(logits)
    labels = tensor(labels) if hasattr(labels, "dtype") else tensor(labels, logits.dtype)
    if labels.dtype != logits.dtype and not labels.dtype.is_complex and labels.dtype.name != "string":
        labels = op("cast")(labels, logits.dtype)
    return op("softmax_cross_entropy_with_logits")(labels, logits, axis if dim is None else dim)


@public("nn.log_poisson_loss", in_errors=True)
def log_poisson_loss(targets, log_input, compute_full_loss=False, name=None):
    """The negative logarithm of Poisson's likelihood, given the logarithm of the rate: exp(c) − z·c.

    targets: z, none below 0; log_input: c; one floating dtype and one shape. compute_full_loss: adds Stirling's
    approximation of ln z!, z·ln z − z + ½·ln(2πz), where z > 1.
    Returns: that dtype and shape, element by element.
    Errors: InvalidArgumentError for different shapes; TypeError for other or different dtypes.
    """
    log_input = tensor(log_input)
    targets = tensor(targets, None if hasattr(targets, "dtype") else log_input.dtype)
    if tuple(targets.shape) != tuple(log_input.shape):
        raise InvalidArgumentError(f"log_poisson_loss: targets {tuple(targets.shape)} and log_input {tuple(log_input.shape)} "
                                   "must have one shape")
    loss = op("exp")(log_input) - log_input * targets
    if not flag(compute_full_loss, "compute_full_loss"):
        return loss
    above = op("greater")(targets, 1.)
    safe = op("where")(above, targets, 1.)  # what is not chosen has no logarithm of 0 in its gradient either
    stirling = safe * op("log")(safe) - safe + 0.5 * op("log")(2 * math.pi * safe)
    return loss + op("where")(above, stirling, 0.)


@public("nn.local_response_normalization", "nn.lrn", in_errors=True)
@needs_extents
def local_response_normalization(input, depth_radius=5, bias=1, alpha=1, beta=0.5, name=None):
    """x / (bias + alpha·Σ x²)^beta, the sum over the channels at most depth_radius away (Krizhevsky, Sutskever, Hinton 2012).

    input: images (batch, rows, columns, channels), any floating dtype; depth_radius: an integer, none below 0; bias,
    alpha, beta: numbers.
    Returns: dtype and shape of input.
    Errors: InvalidArgumentError for another number of axes and a depth_radius below 0; TypeError for another dtype.
    """
    x, radius = tensor(input), integer(depth_radius, "depth_radius")
    if x.ndim != 4:
        raise InvalidArgumentError(f"local_response_normalization: input has shape {tuple(x.shape)}; needs 4 axes")
    if radius < 0:
        raise InvalidArgumentError(f"local_response_normalization: depth_radius is {depth_radius}; must not be negative")
    channels = x.shape[3]
    near = min(radius, channels)
    band = op("matrix_band_part")(op("ones")([channels, channels], x.dtype), near, near)
    sums = op("reshape")(op("matmul")(op("reshape")(op("square")(x), [-1, channels] if channels else [0, 0]), band), extents(x))
    bias, alpha, beta = number(bias, "bias"), number(alpha, "alpha"), number(beta, "beta")
    return x / (bias + alpha * sums) ** beta
