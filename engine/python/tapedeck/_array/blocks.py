"""Blocks of pixels into the batch and back, as TensorFlow's two generations call them."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, TypeMismatchError
from tapedeck._core.arguments import array, extents
from tapedeck._core.composites import op, tensor
from tapedeck._core.host_ops import Known, needs_values
from tapedeck._core.public import public


def _whole(name, argument, value):
    """A list, or lists, of integers as a NumPy array."""
    numbers = array(value, argument)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise TypeMismatchError(f"{name}: {argument} is {numbers.dtype}; needs integers")
    return numbers.astype(np.int64)


def _pairs(name, argument, value):
    """Pairs (before, after), one for each axis, as one list."""
    pairs = _whole(name, argument, value)
    if pairs.size and (pairs.ndim != 2 or pairs.shape[1] != 2):
        raise InvalidArgumentError(f"{name}: {argument} has shape {pairs.shape}; it is a list of pairs, one for each axis")
    return pairs.ravel().tolist()


def _blocks(input, **_):
    """What is known where only a run knows the extents of blocks."""
    images = tensor(input)
    return Known(images.dtype, None if images.shape.rank is None else [None] * images.shape.rank)


@public("space_to_batch_nd", "manip.space_to_batch_nd", in_errors=True, row="space_to_batch_nd")
@needs_values("block_shape", "paddings", known=_blocks)
def space_to_batch_nd(input, block_shape, paddings, name=None):
    """Cuts images into blocks and makes of each place within a block an image of its own, after a border of zeros.

    block_shape, paddings: also as arrays or tensors of integers; paddings: a pair (before, after) for each axis of the image.
    """
    return op("space_to_batch_nd")(input, _whole("space_to_batch_nd", "block_shape", block_shape).ravel().tolist(),
                                   _pairs("space_to_batch_nd", "paddings", paddings))


@public("batch_to_space_nd", "manip.batch_to_space_nd", in_errors=True, row="batch_to_space_nd")
@needs_values("block_shape", "crops", known=_blocks)
def batch_to_space_nd(input, block_shape, crops, name=None):
    """Puts images together that space_to_batch_nd took apart, and cuts off a border.

    block_shape, crops: also as arrays or tensors of integers; crops: a pair (before, after) for each axis of the image.
    """
    return op("batch_to_space_nd")(input, _whole("batch_to_space_nd", "block_shape", block_shape).ravel().tolist(),
                                   _pairs("batch_to_space_nd", "crops", crops))


def _by_generation(name, argument, block_shape, borders, block_size):
    """(block_shape, borders) of TensorFlow 2's (block_shape, borders) or of TensorFlow 1's (borders, block_size)."""
    if borders is None and block_size is not None:
        block_shape, borders = None, block_shape
    elif borders is not None and block_size is None and len(extents(block_shape, "block_shape")) == 2 \
            and not extents(borders, argument):
        block_shape, borders, block_size = None, block_shape, borders
    if (block_shape is None) == (block_size is None) or borders is None:
        raise _engine.TypeMismatchError(f"{name}() needs 'block_shape' (or 'block_size') and {argument!r}")
    return ([block_size] * 2 if block_shape is None else block_shape), borders


@public("space_to_batch", "nn.space_to_batch", in_errors=True)
def space_to_batch(input, block_shape=None, paddings=None, name=None, *, block_size=None):
    """space_to_batch_nd. TensorFlow 1 calls it with (input, paddings, block_size): the edge of blocks of two axes.

    The other arguments are those of space_to_batch_nd.
    Returns: what space_to_batch_nd returns.
    Errors: those of space_to_batch_nd; TypeError without block_shape or paddings.
    """
    return space_to_batch_nd(input, *_by_generation("space_to_batch", "paddings", block_shape, paddings, block_size))


@public("batch_to_space", "nn.batch_to_space", in_errors=True)
def batch_to_space(input, block_shape=None, crops=None, name=None, *, block_size=None):
    """batch_to_space_nd. TensorFlow 1 calls it with (input, crops, block_size): the edge of blocks of two axes.

    The other arguments are those of batch_to_space_nd.
    Returns: what batch_to_space_nd returns.
    Errors: those of batch_to_space_nd; TypeError without block_shape or crops.
    """
    return batch_to_space_nd(input, *_by_generation("batch_to_space", "crops", block_shape, crops, block_size))


@public("required_space_to_batch_paddings", "nn.required_space_to_batch_paddings", in_errors=True)
@needs_values("input_shape", "block_shape", "base_paddings", known=lambda **_: (Known("int32", [None, 2]),) * 2)
def required_space_to_batch_paddings(input_shape, block_shape, base_paddings=None, name=None):
    """The paddings with which space_to_batch_nd can cut images into blocks, and the crops that undo them.

    input_shape: the extents of the image's axes; block_shape: those of a block; base_paddings: pairs (before, after) that are
    wanted anyway, or None for none.
    Returns: (paddings, crops), int32, pairs (before, after) for each axis: padded extents are multiples of a block's.
    Errors: InvalidArgumentError for lists of different lengths, blocks that are not above 0 and paddings below 0; TypeError for
    numbers that are not whole.
    """
    function = "required_space_to_batch_paddings"
    extents, block = _whole(function, "input_shape", input_shape), _whole(function, "block_shape", block_shape)
    base = np.zeros((block.size, 2), np.int64) if base_paddings is None else _whole(function, "base_paddings", base_paddings)
    if extents.ndim != 1 or block.shape != extents.shape or base.size != 2 * block.size:
        raise InvalidArgumentError(f"{function}: input_shape {extents.tolist()}, block_shape {block.tolist()} and base_paddings "
                                   f"{base.tolist()} need one entry for each axis")
    if (block < 1).any() or (base < 0).any() or (extents < 0).any():
        raise InvalidArgumentError(f"{function}: block_shape is {block.tolist()}, base_paddings {base.tolist()}, input_shape "
                                   f"{extents.tolist()}; blocks are above 0, the others at least 0")
    before, after = base.reshape(-1, 2).T
    extra = -(extents + before + after) % block
    return (tensor(np.stack([before, after + extra], 1), "int32"), tensor(np.stack([np.zeros_like(extra), extra], 1), "int32"))
