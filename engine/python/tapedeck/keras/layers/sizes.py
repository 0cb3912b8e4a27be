"""Arguments of layers that slide windows: sizes, paddings, orders of axes; and the extents of what comes out."""
from tapedeck._core.shapes import TensorShape
from tapedeck.keras import backend

_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def numbers_of(value, rank, argument, least=1):
    """An integer, or `rank` of them, as a tuple. ValueError for others, and for those below `least`."""
    try:
        found = (int(value),) * rank if not hasattr(value, "__len__") else tuple(map(int, value))
    except (TypeError, ValueError):
        found = ()
    if len(found) != rank or any(number < least for number in found):
        limit = "greater than 0" if least == 1 else f"at least {least}"
        raise ValueError(f"The `{argument}` argument must be a tuple of {rank} integers, each {limit}. Received: "
                         f"{argument}={value}")
    return found


def padding_of(value, others=()):
    """'valid', 'same', or one of the others, in lower case. ValueError for something else."""
    found = value.lower() if isinstance(value, str) else value
    known = ("valid", "same", *others)
    if found not in known:
        raise ValueError(f"The `padding` argument must be one of {', '.join(map(repr, known))}. Received: padding={value}")
    return found


def data_format_of(value):
    """'channels_last' or 'channels_first'; None for tf.keras.backend.image_data_format(). ValueError for something else."""
    found = backend.image_data_format() if value is None else value.lower() if isinstance(value, str) else value
    if found not in ("channels_last", "channels_first"):
        raise ValueError("The `data_format` argument must be one of \"channels_first\", \"channels_last\". Received: "
                         f"data_format={value}")
    return found


def axes_letters(data_format, rank):
    """The data_format of the ops: "NHWC"."""
    return _FORMATS[rank][data_format == "channels_first"]


def pairs_of(value, rank, argument):
    """What a layer cuts off or adds, as a pair (before, after) for each of the axes: from a number, one for each axis, or pairs."""
    if not hasattr(value, "__len__"):
        value = (value,) * rank
    if rank == 1 and len(value) == 2 and not hasattr(value[0], "__len__"):
        value = (value,)
    if len(value) != rank:
        raise ValueError(f"`{argument}` should have {rank} elements. Received: {argument}={value}")
    return tuple(numbers_of(each if hasattr(each, "__len__") else (each, each), 2, argument, 0) for each in value)


def window_extent(extent, window, stride, padding, dilation=1):
    """How many windows there are along an axis; None where the extent is not known."""
    if extent is None:
        return None
    reach = (window - 1) * dilation + 1
    wanted = extent if padding in ("same", "causal") else extent - reach + 1
    return max(-(-wanted // stride), 0)


def with_spatial(shape, data_format, change, channels=None):
    """The shape with change(place, extent) in place of its spatial extents, and with these channels where some are given."""
    first = data_format == "channels_first"
    spatial = [change(place, extent) for place, extent in enumerate(shape[2:] if first else shape[1:-1])]
    depth = shape[1 if first else -1] if channels is None else channels
    return TensorShape((shape[0], depth, *spatial) if first else (shape[0], *spatial, depth))
