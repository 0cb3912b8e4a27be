"""Values on other devices than the CPU: copies that stay there, and what is looked at of them (engine/python/torch/torch_devices).

A copy is a flat tensor on the device: a lazy clone of a whole storage where PyTorch has those, else a copy of the bytes that a tensor
reaches. It is made by the program's thread on its current stream, behind the op that made the values, and before any op that writes to
them later. Whoever reads it may be on another stream, so reading waits for all work that the device has. Making it waits for nothing.
"""
import functools

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tapedeck import _engine

CHUNK = 1 << 24  # elements that statistics take at once, so that they need little of the device's memory

class _Quiet:
    """No modes of the program's see what runs here, and no gradients are kept."""

    def __enter__(self):
        self._guards = [_disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad()]
        for guard in self._guards:
            guard.__enter__()

    def __exit__(self, *raised):
        for guard in reversed(self._guards):
            guard.__exit__(None, None, None)


def _quiet(function):
    @functools.wraps(function)
    def quietly(*arguments):
        with _Quiet():
            return function(*arguments)

    return quietly


def _module(device):
    return getattr(torch, device.type, None)


def _wait(device):
    module = _module(device)
    synchronize = getattr(module, "synchronize", None)
    if synchronize is not None:
        synchronize(*(() if device.type == "mps" else (device,)))


def _plain(tensor):
    """The numbers in memory, without a conjugate or a negative that PyTorch has not computed."""
    tensor = tensor.detach()
    if tensor.is_conj():
        tensor = torch._conj(tensor)  # again: back to the one that it is of
    return torch._neg_view(tensor) if tensor.is_neg() else tensor


def _flat(tensor, first, count):
    """`count` elements of its storage from the one at `first` on."""
    return _plain(tensor).as_strided((count,), (1,), first)


@_quiet
def clone(tensor, first, count, lazily):
    """A flat clone; None where it cannot be a lazy one."""
    flat = _flat(tensor, first, count)
    if not lazily:
        return flat.clone()
    try:
        return torch._lazy_clone(flat)
    except RuntimeError:
        return None


def _view(flat, dtype, shape, strides, offset):
    if flat.dtype != dtype:
        size = torch.empty(0, dtype=dtype, device="cpu").element_size()
        whole = flat.numel() * flat.element_size() // size * size // flat.element_size()
        flat = flat[:whole].view(dtype)
    return flat.as_strided(shape, strides, flat.storage_offset() + offset)


@_quiet
def view(flat, dtype, shape, strides, offset):
    """A tensor in a clone's memory: `offset` elements of its dtype behind the first."""
    return _view(flat, dtype, shape, strides, offset)


def _resolved(values, conjugate, negative):
    """As PyTorch would compute it, row-major, by ops that every device has."""
    values = values.clone(memory_format=torch.contiguous_format)
    if conjugate:
        torch.view_as_real(values)[..., 1].neg_()
    return values.neg_() if negative else values


@_quiet
def resolved(values, conjugate, negative):
    return _resolved(values, conjugate, negative)


def _reach(tensor):
    """How many elements of its storage a tensor spans."""
    return 1 + sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride())) if tensor.numel() else 0


@_quiet
def flat_copy(tensor):
    """A flat copy of what the tensor spans of its storage, from its first element on."""
    flat = _flat(tensor, tensor.storage_offset(), _reach(tensor))
    return _resolved(flat, tensor.is_conj(), tensor.is_neg())


@_quiet
def copy_to_write(values):
    """A copy that an op may write to, in the same layout: sums of another layout may round otherwise."""
    flat = values.as_strided((_reach(values),), (1,), values.storage_offset()).clone()
    return flat.as_strided(values.shape, values.stride(), flat.storage_offset())


@_quiet
def on_host(values):
    _wait(values.device)
    return values.contiguous().cpu()


def _bytes(tensor):
    return tensor.contiguous().view(torch.uint8) if tensor.dim() else tensor.reshape(1).view(torch.uint8)


@_quiet
def is_same(left, right):
    """Bit by bit."""
    _wait(left.device)
    return bool(torch.equal(_bytes(left), _bytes(right)))


@_quiet
def has_bytes(tensor, first, count, flat, low):
    """Whether `count` elements of the tensor's storage, from `first` on, have the bytes of the clone from byte `low` on."""
    now = _flat(tensor, first, count)
    address = getattr(torch._C, "_data_address", None)  # of a lazy clone, the one that it shares
    begin = now.storage_offset() * now.element_size() - flat.storage_offset() * flat.element_size() - low
    if address is not None and address(now) + begin == address(flat):
        return True
    _wait(now.device)
    then = flat.view(torch.uint8)[low:low + count * now.element_size()]
    return bool(torch.equal(now.view(torch.uint8), then))


def _wide(device):
    return torch.float32 if device.type == "mps" else torch.float64


@_quiet
def absolutes(values):
    wide = values if values.is_floating_point() else values.to(_wide(values.device))
    return wide.abs().contiguous()


@_quiet
def difference(now, before):
    if now.dtype in (torch.float16, torch.bfloat16):
        now, before = now.float(), before.float()
    return (now - before).contiguous()


def _chunks(values):
    flat = values.reshape(-1)
    return flat.split(CHUNK) if flat.numel() else ()


@_quiet
def statistics(values):
    """A tuple of numbers for each chunk, in the order of ForeignStatistics."""
    _wait(values.device)
    found = []
    for chunk in _chunks(values):
        wide = chunk.to(_wide(values.device))
        finite = torch.isfinite(wide)
        some = torch.where(finite, wide, 0)
        count = finite.sum()
        floating = chunk.is_floating_point()
        tiny = torch.finfo(torch.float32 if chunk.dtype in (torch.float16, torch.bfloat16) else chunk.dtype).tiny if floating else 0
        subnormals = (finite & (wide != 0) & (wide.abs() < tiny)).sum()
        mean = (some / count.clamp(min=1)).sum()
        spread = torch.where(finite, (wide - mean).square(), 0).sum()
        numbers = [count, (wide == 0).sum(), subnormals, torch.isnan(wide).sum(), (wide == torch.inf).sum(), (wide == -torch.inf).sum(),
                   torch.where(finite, wide, torch.inf).amin(), torch.where(finite, wide, -torch.inf).amax(), mean, spread]
        found.append(tuple(torch.stack([number.to(wide.dtype) for number in numbers]).tolist()))
    return found


@_quiet
def histogram(values, low, high, bins):
    _wait(values.device)
    counts = torch.zeros(bins, dtype=torch.int64)
    width = high / 2 - low / 2
    for chunk in _chunks(values):
        distance = chunk.to(_wide(values.device)) / 2 - low / 2
        inside = (distance >= 0) & (distance <= width)
        place = (distance / width * bins).clamp(max=bins - 1) if width > 0 else torch.zeros_like(distance)
        places = torch.where(inside, place, -1).floor().to(torch.int64) + 1
        counts += torch.bincount(places, minlength=bins + 1)[1:].cpu()
    return counts.tolist()


def _padded(values, rows, columns, with_value):
    down, right = -values.shape[0] % rows, -values.shape[1] % columns
    padded = torch.nn.functional.pad(values, (0, right, 0, down), value=with_value)
    return padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // columns, columns)


@_quiet
def cells(matrix, rows, columns, which):
    """What cells of rows × columns elements show, row-major: their mean, extreme, minimum or maximum."""
    _wait(matrix.device)
    wide = matrix.to(_wide(matrix.device))
    if which == 0:
        counts = _padded(torch.ones_like(wide), rows, columns, 0).sum((1, 3))
        shown = _padded(wide, rows, columns, 0).sum((1, 3)) / counts
    else:
        smallest = _padded(wide, rows, columns, torch.inf).amin((1, 3)) if which != 3 else None
        largest = _padded(wide, rows, columns, -torch.inf).amax((1, 3)) if which != 2 else None
        shown = smallest if which == 2 else largest if which == 3 else torch.where(largest.abs() >= smallest.abs(), largest, smallest)
    return shown.reshape(-1).tolist()


def memory_of(device):
    """(bytes that PyTorch's tensors use there, bytes that it has); 0 for what is not known."""
    module = _module(device)
    try:
        used = module.memory_allocated(device) if device.type != "mps" else module.current_allocated_memory()
        total = module.mem_get_info(device)[1] if hasattr(module, "mem_get_info") else 0
    except (AttributeError, RuntimeError, TypeError):
        return 0, 0
    return int(used), int(total)


class RandomState:
    """That of a device's generator; where the device's module has none, nothing."""

    def __init__(self, device):
        self._device, self._module = device, _module(device)
        self._before = self._now()

    def _now(self):
        read = getattr(self._module, "get_rng_state", None)
        try:
            return None if read is None else read(*(() if self._device.type == "mps" else (self._device,)))
        except (NotImplementedError, RuntimeError):
            return None

    def has_changed(self):
        return self._before is not None and not torch.equal(self._before, self._now())

    def restore(self):
        if self._before is not None:
            self._module.set_rng_state(self._before, *(() if self._device.type == "mps" else (self._device,)))


def watch():
    """A graph of a device's work has the addresses of what it reads and writes, and runs again later: while one is captured, no copies are
    made, and what lazy clones share is theirs alone from before on."""
    for graph in (getattr(getattr(torch, "cuda", None), "CUDAGraph", None), getattr(getattr(torch, "xpu", None), "XPUGraph", None)):
        if graph is not None and hasattr(graph, "capture_begin") and not hasattr(graph.capture_begin, "_tapedeck_watches"):
            _watch_captures(graph)


def _watch_captures(graph):
    begin, end = graph.capture_begin, graph.capture_end

    @functools.wraps(begin)
    def capture_begin(self, *arguments, **named):
        _engine.torch.begin_capture()
        try:
            return begin(self, *arguments, **named)
        except BaseException:
            _engine.torch.end_capture()
            raise

    @functools.wraps(end)
    def capture_end(self, *arguments, **named):
        try:
            return end(self, *arguments, **named)
        finally:
            _engine.torch.end_capture()

    capture_begin._tapedeck_watches = True
    graph.capture_begin, graph.capture_end = capture_begin, capture_end
