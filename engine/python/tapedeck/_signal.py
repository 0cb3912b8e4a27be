"""tf.signal: Fourier and cosine transforms, frames of signals and their windows. TensorFlow 1 has some of them under tf itself."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, UnimplementedError
from tapedeck._core import dtypes
from tapedeck._core.arguments import flag, integer, integers, number, one_integer, one_of
from tapedeck._core.composites import op, require_callable, require_memory, tensor
from tapedeck._core.extents import extent, extents
from tapedeck._core.host_ops import needs_extents
from tapedeck._core.public import public


def _extents(function, fft_length, axes):
    extents = integers(fft_length, "fft_length")
    if len(extents) != axes or min(extents) < 1:
        raise InvalidArgumentError(f"{function}: fft_length is {fft_length!r}; needs {axes} integers above 0")
    return extents


def _sized(x, axis, extent):
    """The beginning of an axis, or the axis with zeros after it."""
    own = x.shape[axis]
    if own is None and extent is None:
        return x
    if own is None or not isinstance(extent, int):
        return _sized_when_run(x, axis % x.ndim, extent)
    if own > extent:
        return op("slice")(x, [0] * x.ndim, [extent if i == axis % x.ndim else n for i, n in enumerate(extents(x))])
    if own < extent:
        paddings = [[0, extent - own if i == axis % x.ndim else 0] for i in range(x.ndim)]
        return op("pad")(x, [each for pair in paddings for each in pair], "CONSTANT", 0)
    return x


def _sized_when_run(x, axis, length):
    """The same where one of the extents is known when the graph runs."""
    missing = op("maximum")(length - extent(x, axis), 0)
    longer = op("pad")(x, [missing if place == 2 * axis + 1 else 0 for place in range(2 * x.ndim)], "CONSTANT", 0)
    return op("slice")(longer, [0] * x.ndim, [length if i == axis else n for i, n in enumerate(extents(x))])


def _fitting(function, x, axes):
    if x.ndim < axes:
        raise InvalidArgumentError(f"{function}: input has shape {tuple(x.shape)}; needs at least {axes} axes")
    return x


def _real_transform(function, input, fft_length, axes):
    x = _fitting(function, tensor(input), axes)
    if x.dtype not in (dtypes.float32, dtypes.float64):
        raise _engine.TypeMismatchError(f"{function}: input is {x.dtype.name}; needs float32 or float64")
    if fft_length is not None:
        for axis, length in zip(range(-axes, 0), _extents(function, fft_length, axes)):
            x = _sized(x, axis, length)
    if axes == 1 and x.shape[-1] != 0:
        return op("rfft")(x)
    y = op("fft")(op("complex")(x, op("zeros_like")(x)), axes, False)
    return _sized(y, -1, extent(x, -1) // 2 + 1)


def _outer_inverse(x, axes):
    """The inverse transform along the `axes` axes before the last one."""
    if not axes:
        return x
    before = list(range(x.ndim - axes - 1))
    order = [*before, x.ndim - 1, *range(x.ndim - axes - 1, x.ndim - 1)]
    back = [order.index(i) for i in range(x.ndim)]
    return op("transpose")(op("fft")(op("transpose")(x, order), axes, True), back)


def _inverse_real_transform(function, input, fft_length, axes):
    x = _fitting(function, tensor(input), axes)
    if not x.dtype.is_complex:
        raise _engine.TypeMismatchError(f"{function}: input is {x.dtype.name}; needs complex64 or complex128")
    own = extents(x)[-axes:]
    lengths = [*own[:-1], 2 * (own[-1] - 1)] if fft_length is None else _extents(function, fft_length, axes)
    for axis, length in zip(range(-axes, 0), [*lengths[:-1], lengths[-1] // 2 + 1]):
        x = x if fft_length is None else _sized(x, axis, length)
    x = _outer_inverse(x, axes - 1)
    mirrored = (lengths[-1] - 1) // 2  # the others are the conjugates of those that are there
    rest = op("slice")(x, [0] * (x.ndim - 1) + [1], [*extents(x)[:-1], mirrored])
    whole = op("concat")([x, op("reverse")(op("conj")(rest), [-1])], -1)
    return op("real")(op("fft")(_sized(whole, -1, lengths[-1]), 1, True))


def _define(axes):
    """The six transforms along so many axes."""
    name = "fft" if axes == 1 else f"fft{axes}d"
    where = "axis" if axes == 1 else f"{axes} axes"

    def forward(input, name=None):
        return op("fft")(tensor(input), axes, False)

    def inverse(input, name=None):
        return op("fft")(tensor(input), axes, True)

    def real_forward(input_tensor, fft_length=None, name=None):
        return _real_transform(f"r{short}", input_tensor, fft_length, axes)

    def real_inverse(input_tensor, fft_length=None, name=None):
        return _inverse_real_transform(f"ir{short}", input_tensor, fft_length, axes)

    short = name
    complex_ones = ("input: complex64 or complex128. Returns: its dtype and shape.\n"
                    "    Errors: InvalidArgumentError for fewer axes; TypeError for other dtypes.\n    ")
    forward.__doc__ = f"The discrete Fourier transform along the last {where}: the op fft.\n\n    {complex_ones}"
    inverse.__doc__ = f"The inverse of signal.{name}: the op fft with inverse=True.\n\n    {complex_ones}"
    real_forward.__doc__ = (
        f"The discrete Fourier transform of real numbers along the last {where}; of the last one only the first half, of which "
        f"the rest are conjugates.\n\n    input_tensor: float32 or float64; fft_length: the extents to which these axes are cut or "
        f"filled with zeros, None for their own.\n    Returns: complex64 or complex128, the last axis n // 2 + 1 long.\n"
        f"    Errors: InvalidArgumentError for fewer axes, and another fft_length; TypeError for other dtypes.\n    ")
    real_inverse.__doc__ = (
        f"The inverse of signal.r{name}.\n\n    input_tensor: complex64 or complex128; fft_length: the extents of the result, None "
        f"for those of the input, and 2(n - 1) along the last axis.\n    Returns: float32 or float64.\n"
        f"    Errors: InvalidArgumentError for fewer axes, and another fft_length; TypeError for other dtypes.\n    ")
    for function, called in ((forward, name), (inverse, f"i{name}"), (real_forward, f"r{name}"), (real_inverse, f"ir{name}")):
        function.__name__ = function.__qualname__ = called
        public(f"signal.{called}", *([called] if "r" not in called else []), in_errors=True)(function)


for _axes in (1, 2, 3):
    _define(_axes)


def _shifted(x, axes, direction):
    x = tensor(x)
    axes = list(range(x.ndim)) if axes is None else integers(axes, "axes")
    for axis in axes:
        if not -x.ndim <= axis < x.ndim:
            raise InvalidArgumentError(f"axes: {axis} is out of range for shape {tuple(x.shape)}")
    halves = [extent(x, axis) // 2 if direction > 0 else -(extent(x, axis) // 2) for axis in axes]
    return op("roll")(x, halves, axes) if axes else x


@public("signal.fftshift", in_errors=True)
def fftshift(x, axes=None, name=None):
    """Moves the zero frequency to the center of the axes.

    x: any dtype; axes: which, None for all. Returns: dtype and shape of x. Errors: InvalidArgumentError for an axis out of range.
    """
    return _shifted(x, axes, 1)


@public("signal.ifftshift", in_errors=True)
def ifftshift(x, axes=None, name=None):
    """The inverse of signal.fftshift, with its arguments."""
    return _shifted(x, axes, -1)


def _window(function, window_length, dtype, values):
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise _engine.TypeMismatchError(f"{function}: dtype is {kind.name}; needs a floating dtype")
    length = one_integer(window_length, "window_length")
    if length < 0:
        raise InvalidArgumentError(f"{function}: window_length is {length}; must not be negative")
    require_memory(f"{function}: a window of {length} numbers", length, dtypes.float64)
    return op("cast")(tensor(values(length) if length > 1 else np.ones(length)), kind)


def _raised_cosine(function, window_length, periodic, dtype, a, b):
    def values(length):
        period = length - 1 + flag(periodic, "periodic") * (1 - length % 2)
        return a - b * np.cos(2 * np.pi * np.arange(length) / period)
    return _window(function, window_length, dtype, values)


@public("signal.hann_window", in_errors=True)
def hann_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """A Hann window: 1/2 - 1/2 cos(2 pi k / n).

    window_length: how many numbers; periodic: n is window_length where that is even, else one less; dtype: floating.
    Returns: dtype, (window_length,). Errors: InvalidArgumentError for a length below 0; TypeError for another dtype.
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, .5, .5)


@public("signal.hamming_window", in_errors=True)
def hamming_window(window_length, periodic=True, dtype=dtypes.float32, name=None):
    """A Hamming window: 0.54 - 0.46 cos(2 pi k / n). Arguments, result and errors are those of signal.hann_window."""
    return _raised_cosine("hamming_window", window_length, periodic, dtype, .54, .46)


@public("signal.kaiser_window", in_errors=True)
def kaiser_window(window_length, beta=12., dtype=dtypes.float32, name=None):
    """A Kaiser window: I0(beta sqrt(1 - r^2)) / I0(beta), r from -1 to 1. Result and errors are those of signal.hann_window."""
    return _window("kaiser_window", window_length, dtype, lambda length: np.kaiser(length, number(beta, "beta")))


@public("signal.vorbis_window", in_errors=True)
def vorbis_window(window_length, dtype=dtypes.float32, name=None):
    """A Vorbis window: sin(pi/2 sin^2(pi (k + 1/2) / n)). Result and errors are those of signal.hann_window."""
    return _window("vorbis_window", window_length, dtype,
                   lambda length: np.sin(np.pi / 2 * np.sin(np.pi * (np.arange(length) + .5) / length) ** 2))


def _steps(function, **numbers):
    found = []
    for name, value in numbers.items():
        found.append(one_integer(value, name))
        if found[-1] < 1:
            raise InvalidArgumentError(f"{function}: {name} is {found[-1]}; must be at least 1")
    return found


@public("signal.frame", in_errors=True)
def frame(signal, frame_length, frame_step, pad_end=False, pad_value=0, axis=-1, name=None):
    """Splits an axis into frames, which may overlap.

    signal: any dtype, at least one axis; frame_length: of each piece; frame_step: from one's beginning to the next one's; pad_end:
    pieces that begin inside of the signal and end beyond it are filled with pad_value, else left out; axis: which.
    Returns: the dtype of signal, the axis replaced by (pieces, frame_length).
    Errors: InvalidArgumentError for a scalar, an axis out of range, and lengths below 1.
    """
    signal = tensor(signal)
    length, step = _steps("frame", frame_length=frame_length, frame_step=frame_step)
    axis, pad_end = integer(axis, "axis"), flag(pad_end, "pad_end")
    if not -signal.ndim <= axis < signal.ndim:
        raise InvalidArgumentError(f"frame: axis {axis} is out of range for shape {tuple(signal.shape)}")
    axis %= signal.ndim
    own = signal.shape[axis]
    if own is None:
        return _framed_when_run(signal, axis, length, step, pad_end, pad_value)
    count = -(-own // step) if pad_end else max(0, 1 + (own - length) // step)
    if pad_end and count:
        missing = max(0, (count - 1) * step + length - own)
        paddings = [[0, missing if i == axis else 0] for i in range(signal.ndim)]
        signal = op("pad")(signal, [each for pair in paddings for each in pair], "CONSTANT", pad_value)
    require_memory(f"frame: {count} pieces of {length} numbers", max(1, count) * length, dtypes.int64)
    if count and length % step == 0 and length // step <= 64:  # steps side by side, each moved as a whole
        blocks, pieces = count - 1 + length // step, []
        before, behind = extents(signal)[:axis], extents(signal)[axis + 1:]
        used = op("slice")(signal, [0] * signal.ndim, [*before, blocks * step, *behind])
        rows = op("reshape")(used, [*before, blocks, step, *behind])
        for i in range(length // step):
            pieces.append(op("slice")(rows, [i if k == axis else 0 for k in range(rows.ndim)], [*before, count, step, *behind]))
        return op("concat")(pieces, axis + 1) if len(pieces) > 1 else pieces[0]
    places = np.arange(count)[:, None] * step + np.arange(length)
    return op("gather")(signal, places.astype(np.int64), axis=axis)


def _framed_when_run(signal, axis, length, step, pad_end, pad_value):
    """frame() of an axis whose extent is known when the graph runs."""
    own = extent(signal, axis)
    count = -(-own // step) if pad_end else op("maximum")(1 + (own - length) // step, 0)
    if pad_end:
        missing = op("maximum")((count - 1) * step + length - own, 0)
        paddings = [missing if place == 2 * axis + 1 else 0 for place in range(2 * signal.ndim)]
        signal = op("pad")(signal, paddings, "CONSTANT", pad_value)
    places = op("expand_dims")(op("range")(0, count, 1, "int32"), 1) * step + tensor(np.arange(length), "int32")
    return op("gather")(signal, places, axis=axis)


@public("signal.overlap_and_add", in_errors=True)
@needs_extents
def overlap_and_add(signal, frame_step, name=None):
    """Adds pieces up where they overlap: what signal.frame took apart.

    signal: any numeric dtype, (..., pieces, length); frame_step: from one's beginning to the next one's.
    Returns: its dtype, (..., (pieces - 1) frame_step + length).
    Errors: InvalidArgumentError for fewer than two axes, and a step below 1.
    """
    signal = _fitting("overlap_and_add", tensor(signal), 2)
    [step] = _steps("overlap_and_add", frame_step=frame_step)
    *before, count, length = signal.shape
    total = (count - 1) * step + length if count else 0
    order = [signal.ndim - 2, signal.ndim - 1, *range(signal.ndim - 2)]
    places = (np.arange(count)[:, None] * step + np.arange(length)).astype(np.int64)
    sums = op("unsorted_segment_sum")(op("transpose")(signal, order), places, total)
    return op("transpose")(sums, [*range(1, len(before) + 1), 0])


@public("signal.stft", in_errors=True)
def stft(signals, frame_length, frame_step, fft_length=None, window_fn=hann_window, pad_end=False, name=None):
    """The short-time Fourier transform: signal.rfft of windowed pieces.

    signals: float32 or float64, (..., samples); frame_length, frame_step, pad_end: as in signal.frame; fft_length: to which each
    piece is filled, None for the next power of two; window_fn: a function of a length and a dtype, None for no window.
    Returns: complex64 or complex128, (..., pieces, fft_length // 2 + 1).
    Errors: those of signal.frame and signal.rfft.
    """
    signals = tensor(signals)
    length, step = _steps("stft", frame_length=frame_length, frame_step=frame_step)
    [extent] = [1 << (length - 1).bit_length()] if fft_length is None else _extents("stft", fft_length, 1)
    pieces = frame(signals, length, step, pad_end)
    if window_fn is not None:
        require_callable("stft", "window_fn", window_fn)
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    return _real_transform("rfft", pieces, [extent], 1)


@public("signal.inverse_stft", in_errors=True)
def inverse_stft(stfts, frame_length, frame_step, fft_length=None, window_fn=hann_window, name=None):
    """The signal of a short-time Fourier transform: pieces by signal.irfft, windowed and added up where they overlap.

    stfts: complex64 or complex128, (..., pieces, fft_length // 2 + 1); the other arguments as in signal.stft. With window_fn
    signal.inverse_stft_window_fn(frame_step) it undoes signal.stft, but for the ends.
    Returns: float32 or float64, (..., samples). Errors: those of signal.irfft and signal.overlap_and_add.
    """
    stfts = _fitting("inverse_stft", tensor(stfts), 2)
    length, step = _steps("inverse_stft", frame_length=frame_length, frame_step=frame_step)
    [extent] = [1 << (length - 1).bit_length()] if fft_length is None else _extents("inverse_stft", fft_length, 1)
    pieces = _sized(_inverse_real_transform("irfft", stfts, [extent], 1), -1, length)
    if window_fn is not None:
        require_callable("inverse_stft", "window_fn", window_fn)
        pieces = pieces * window_fn(length, dtype=pieces.dtype)
    return overlap_and_add(pieces, step)


@public("signal.inverse_stft_window_fn", in_errors=True)
def inverse_stft_window_fn(frame_step, forward_window_fn=hann_window, name=None):
    """The window with which signal.inverse_stft undoes signal.stft: the forward one, divided by what its squares add up to.

    frame_step: of both; forward_window_fn: the window_fn of signal.stft. Returns: a function of a length and a dtype.
    """
    [step] = _steps("inverse_stft_window_fn", frame_step=frame_step)

    def window(frame_length, dtype):
        [length] = _steps("inverse_stft_window_fn", frame_length=frame_length)
        forward = forward_window_fn(length, dtype=dtype)
        overlaps = -(-length // step)
        squares = op("reshape")(_sized(op("square")(forward), 0, overlaps * step), [overlaps, step])
        sums = op("tile")(op("reduce_sum")(squares, 0), [overlaps])
        return forward / _sized(sums, 0, length)
    return window


def _cosines(kind, count):
    """The matrix of the cosine transform of that type: result = matrix times x."""
    k, n = np.arange(count)[:, None], np.arange(count)[None]
    if kind == 1:
        matrix = 2 * np.cos(np.pi * k * n / (count - 1))
        matrix[:, [0, -1]] /= 2
    elif kind == 2:
        matrix = 2 * np.cos(np.pi * k * (2 * n + 1) / (2 * count))
    elif kind == 3:
        matrix = 2 * np.cos(np.pi * n * (2 * k + 1) / (2 * count))
        matrix[:, 0] /= 2
    else:
        matrix = 2 * np.cos(np.pi * (2 * k + 1) * (2 * n + 1) / (4 * count))
    return matrix


def _orthogonal(kind, count, matrix):
    scale = np.full(count, np.sqrt(1 / (2 * count)))
    if kind == 2:
        scale[0] /= np.sqrt(2)
        return matrix * scale[:, None]
    if kind == 3:
        scale[0] *= np.sqrt(2)
        return matrix * scale[None]
    return matrix * scale[0]


def _cosine_transform(function, input, kind, n, axis, norm):
    x = tensor(input)
    if not x.dtype.is_floating:
        raise _engine.TypeMismatchError(f"{function}: input is {x.dtype.name}; needs a floating dtype")
    one_of(kind, "type", (1, 2, 3, 4))
    if one_of(norm, "norm", (None, "ortho")) and kind == 1 or kind == 1 and n is not None:
        raise InvalidArgumentError(f"{function}: norm is {norm!r} and n {n!r} of type {kind}; norm is None or 'ortho', and type 1 "
                                   "has neither")
    if integer(axis, "axis") != -1:
        raise UnimplementedError(f"{function}: axis is {axis}; only -1 is there")
    _fitting(function, x, 1)
    if n is not None:
        x = _sized(x, -1, _extents(function, [n], 1)[0])
    count = x.shape[-1]
    if count is None:
        raise InvalidArgumentError(f"{function}: the last axis of {x.shape} must be known while a function is traced")
    if count < (2 if kind == 1 else 1):
        raise InvalidArgumentError(f"{function}: the last axis of {tuple(x.shape)} is too short")
    matrix = _cosines(kind, count)
    if norm:
        matrix = _orthogonal(kind, count, matrix)
    rows = op("reshape")(x, [-1, count])
    return op("reshape")(op("matmul")(rows, op("cast")(tensor(matrix), x.dtype), transpose_b=True), extents(x))


@public("signal.dct", in_errors=True)
@needs_extents
def dct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The discrete cosine transform along the last axis, as a product with its matrix.

    input: floating, at least one axis; type: 1 to 4; n: to which the axis is cut or filled with zeros; norm: None, or 'ortho' for
    the orthogonal matrix (not of type 1).
    Returns: its dtype and shape. Source: N. Ahmed, T. Natarajan and K. R. Rao, "Discrete cosine transform", 1974.
    Errors: InvalidArgumentError for another type, n or norm; TypeError for another dtype.
    """
    return _cosine_transform("dct", input, type, n, axis, norm)


@public("signal.idct", in_errors=True)
@needs_extents
def idct(input, type=2, n=None, axis=-1, norm=None, name=None):
    """The inverse of signal.dct of that type, but for a factor where norm is None: types 2 and 3 are each other's inverses.

    Arguments, result and errors are those of signal.dct.
    """
    inverse = {2: 3, 3: 2}.get(one_of(type, "type", (1, 2, 3, 4)), type)
    return _cosine_transform("idct", input, inverse, n, axis, norm)
