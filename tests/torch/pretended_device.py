"""A device that is not the CPU, on machines that have no other: "pretended", registered as PyTorch's PrivateUse1. Its memory is the CPU's,
under tensors that say otherwise; each op runs on tensors of the CPU in the same memory. `waits` has the name of each op that a program
ran between the calls of synchronize(), and "synchronize"."""
import torch
from torch.utils import backend_registration

AVAILABLE = (hasattr(backend_registration, "_setup_privateuseone_for_python_backend") and hasattr(torch.library.Library, "fallback")
             and hasattr(torch._C, "_construct_storage_from_data_pointer") and hasattr(torch._C, "_data_address")
             and hasattr(torch._C, "_acc"))
NAME = "pretended"

waits, fails = [], []  # what runs next raises the exceptions in `fails`
_memory = {}  # the address of a storage on the device: the tensor that has its memory


class _Module:
    """What `torch.pretended` is."""

    is_available = staticmethod(lambda: True)
    device_count = staticmethod(lambda: 2)
    current_device = staticmethod(lambda: 0)
    _is_in_bad_fork = staticmethod(lambda: False)
    manual_seed_all = staticmethod(lambda seed: None)

    @staticmethod
    def synchronize(device=None):
        waits.append("synchronize")
        if fails:
            raise fails.pop()

    @staticmethod
    def memory_allocated(device=None):
        return sum(memory.numel() for memory in _memory.values())

    @staticmethod
    def mem_get_info(device=None):
        return 1 << 30, 1 << 30


def _made(like, device):
    """A tensor on the device with memory of its own, and the values and layout of one of the CPU's."""
    reach = 1 + sum((extent - 1) * stride for extent, stride in zip(like.shape, like.stride())) if like.numel() else 0
    memory = torch.empty(max(reach, 1) * like.element_size(), dtype=torch.uint8)
    here = torch.empty(0, dtype=like.dtype).set_(memory.untyped_storage(), 0, like.shape, like.stride())
    here.copy_(like)
    address = memory.data_ptr()
    _memory[address] = memory
    storage = torch._C._construct_storage_from_data_pointer(address, device, memory.numel())
    return _of(storage, here.dtype, here)


def _of(storage, dtype, place, tensor=None):
    """A tensor (or the given one) in a storage on the device, with the shape, strides and offset of one of the CPU's."""
    tensor = torch._C._acc.create_empty_tensor((0,), dtype) if tensor is None else tensor
    return torch.ops.aten.set_.source_Storage_storage_offset.redispatch(
        torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), tensor, storage, place.storage_offset(), place.shape, place.stride())


def _here(tensor):
    """On the CPU, in the same memory."""
    memory = _memory[torch._C._data_address(tensor)]
    return torch.empty(0, dtype=tensor.dtype).set_(memory.untyped_storage(), tensor.storage_offset(), tensor.shape, tensor.stride())


def _run(op, *args, **kwargs):
    waits.append(str(op))
    tensors = {}

    def brought(value):
        if isinstance(value, torch.Tensor) and value.device.type == NAME:
            tensors.setdefault(id(value), (value, _here(value)))
            return tensors[id(value)][1]
        if isinstance(value, (list, tuple)):
            return type(value)(map(brought, value))
        return torch.device("cpu") if isinstance(value, torch.device) and value.type == NAME else value

    asked = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.device)]
    given, named = brought(args), {name: brought(value) for name, value in kwargs.items()}
    if str(op) == "aten._copy_from.default":
        if args[1].device.type == "cpu":
            to_host(*given)
        else:
            given[1].copy_(given[0])
        return args[1]
    device = next((there.device for there, _ in tensors.values()), asked[0] if asked else None)
    device = torch.device(NAME, device.index or 0)
    results = op(*given, **named)

    def taken(result):
        if not isinstance(result, torch.Tensor):
            return [taken(one) for one in result] if isinstance(result, (list, tuple)) else result
        for there, here in tensors.values():
            if result is here:
                if here.shape != there.shape:  # an output that the op has made larger: its memory is another one now
                    _of(_made(result, device).untyped_storage(), result.dtype, result, there)
                return there
            if result.untyped_storage()._cdata == here.untyped_storage()._cdata:
                return _of(there.untyped_storage(), result.dtype, result)
        return _made(result, device)

    taken_results = taken(results)
    return tuple(taken_results) if isinstance(results, tuple) else taken_results


def to_host(there, here):
    """A test may put another function here."""
    here.copy_(there)


def install():
    """To be called once in a process. The registration ends with it."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    install.library = torch.library.Library("_", "IMPL")
    install.library.fallback(_run, "PrivateUse1")
