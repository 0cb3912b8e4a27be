"""tf.nn.ctc_loss: the likelihood of a sequence of labels, over all alignments with the time steps."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import flag, integer
from tapedeck._core.composites import op, tensor
from tapedeck._core.host_ops import Known, needs_values
from tapedeck._core.public import public

_NEVER = -1e30  # a logarithm of 0 whose differences and sums stay numbers


def _lengths(name, value, batch, most):
    lengths = np.asarray(tensor(value))
    if lengths.dtype.kind not in "iu":
        raise _engine.TypeMismatchError(f"ctc_loss: {name} is {lengths.dtype}; needs integers")
    if lengths.shape != (batch,) or (lengths < 0).any() or (lengths > most).any():
        raise InvalidArgumentError(f"ctc_loss: {name} is {lengths.tolist()}; needs {batch} numbers from 0 to {most}")
    return lengths.astype(np.int64)


def _checked(labels, logits, label_length, logit_length, blank):
    if not logits.dtype.is_floating:
        raise _engine.TypeMismatchError(f"ctc_loss: logits is {logits.dtype.name}; needs a floating dtype")
    if logits.ndim != 3 or min(logits.shape) < 1:
        raise InvalidArgumentError(f"ctc_loss: logits has shape {tuple(logits.shape)}; needs (frames, batch, labels), each above 0")
    frames, batch, classes = logits.shape
    labels = np.asarray(tensor(labels))
    if labels.dtype.kind not in "iu" or labels.ndim != 2 or len(labels) != batch:
        raise InvalidArgumentError(f"ctc_loss: labels is {labels.dtype} {labels.shape}; needs integers of shape ({batch}, "
                                   "most labels)")
    label_length = _lengths("label_length", label_length, batch, labels.shape[1])
    logit_length = _lengths("logit_length", logit_length, batch, frames)
    blank = 0 if blank is None else integer(blank, "blank_index")
    if not -classes <= blank < classes:
        raise InvalidArgumentError(f"ctc_loss: blank_index is {blank}; there are {classes} labels")
    used = np.arange(labels.shape[1]) < label_length[:, None]
    if (used & ((labels < 0) | (labels >= classes))).any():
        raise InvalidArgumentError(f"ctc_loss: labels holds {labels[used].min()} to {labels[used].max()}; must be in "
                                   f"[0, {classes})")
    return np.where(used, labels, blank % classes), label_length, logit_length, blank % classes


def _with_blanks(labels, blank):
    """Each label between two blanks; and where a step may go two places on, over the blank between different labels."""
    states = np.full((len(labels), 2 * labels.shape[1] + 1), blank, np.int64)
    states[:, 1::2] = labels
    jumps = np.zeros(states.shape, bool)
    jumps[:, 2:] = (states[:, 2:] != blank) & (states[:, 2:] != states[:, :-2])
    return states, jumps


def _behind(alpha, places):
    """The values of the states that many places before."""
    batch, states = alpha.shape
    if places >= states:
        return op("fill")([batch, states], op("cast")(_NEVER, alpha.dtype))
    rest = op("slice")(alpha, [0, 0], [batch, states - places])
    return op("pad")(rest, [0, 0, places, 0], "CONSTANT", _NEVER)


def _log_likelihood(scores, jumps, label_length, logit_length):
    """scores: of every frame the (batch, states) logarithms of the states' labels."""
    batch, states = jumps.shape
    never = op("cast")(_NEVER, scores[0].dtype)
    begins = (np.arange(states) < 2) & (np.arange(states) <= 2 * label_length[:, None])
    alpha = op("where")(begins, scores[0], never)
    for time, score in enumerate(scores[1:], 1):
        reached = op("stack")([alpha, _behind(alpha, 1), op("where")(jumps, _behind(alpha, 2), never)], 0)
        moved = op("maximum")(op("reduce_logsumexp")(reached, 0), never) + score
        running = (time < logit_length)[:, None]
        alpha = moved if running.all() else op("where")(running, moved, alpha)
    ends = (np.arange(states) == 2 * label_length[:, None]) | (np.arange(states) == 2 * label_length[:, None] - 1)
    return op("reduce_logsumexp")(op("where")(ends, alpha, never), 1)


def _losses_of(logits, logits_time_major, **_):
    logits = tensor(logits)
    return Known(logits.dtype, [logits.shape[1 if logits_time_major else 0] if logits.shape.rank == 3 else None])


@public("nn.ctc_loss", in_errors=True)
@needs_values("labels", "logits", "label_length", "logit_length", known=_losses_of)
def ctc_loss(labels, logits, label_length, logit_length, logits_time_major=True, unique=None, blank_index=None, name=None):
    """Minus the logarithm of a sequence's probability, summed over all ways in which its labels can lie along the frames.

    labels: integers, (batch, most labels); what follows label_length of each is not read; logits: floating, (frames,
    batch, all labels), or (batch, frames, all labels) where logits_time_major is False; label_length, logit_length: whole
    numbers, (batch,): how much of each row and of its frames counts; blank_index: the label that means none, 0 where it is
    None, negative from the end; unique: changes nothing.
    Returns: the dtype of logits, (batch,); infinity where the labels do not fit into the frames.
    Source: A. Graves and others, "Connectionist temporal classification", 2006.
    Errors: InvalidArgumentError for shapes, lengths and labels that do not fit; TypeError for other dtypes.
    """
    logits = tensor(logits)
    if not flag(logits_time_major, "logits_time_major") and logits.ndim == 3:
        logits = op("transpose")(logits, [1, 0, 2])
    labels, label_length, logit_length, blank = _checked(labels, logits, label_length, logit_length, blank_index)
    states, jumps = _with_blanks(labels, blank)
    scores = op("log_softmax")(op("transpose")(logits, [1, 0, 2]))
    scores = op("unstack")(op("gather")(scores, states, axis=2, batch_dims=1), axis=1)
    likelihood = _log_likelihood(scores, jumps, label_length, logit_length)
    none = (logit_length == 0) & (label_length == 0)
    loss = op("where")(none, op("zeros_like")(likelihood), -likelihood)
    impossible = np.asarray(op("greater")(loss, op("cast")(-_NEVER / 2, loss.dtype))) | (logit_length == 0) & (label_length > 0)
    return op("where")(impossible, op("cast")(np.inf, loss.dtype), loss) if impossible.any() else loss
