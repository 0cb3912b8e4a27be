"""Memory whose address others get is copied rather than cloned lazily: a write to it would move it. What Python reads as an array or
a list is noted as left to it."""
import functools

import torch
import torch.utils.dlpack
from torch.utils._python_dispatch import _disable_current_modes

from tapedeck import _engine


def watch():
    """Wraps what gives such an address; does nothing a second time."""
    for name in ("data_ptr", "share_memory_"):
        _wrap(torch.Tensor, name, _engine.torch.note_export)
    for name in ("numpy", "__dlpack__"):
        _wrap(torch.Tensor, name, _note_array)
    _wrap(torch.Tensor, "tolist", _engine.torch.note_read)  # item(), bool() and the like run an op
    for module in (torch, torch.utils.dlpack):
        _wrap(module, "to_dlpack", _note_array)
    # Writes of a storage's own pass by PyTorch's ops, too.
    for name in ("data_ptr", "fill_", "share_memory_", "__setitem__"):
        _wrap(torch.UntypedStorage, name, _note_storage)


def _note_array(tensor):
    _engine.torch.note_read(tensor)
    _engine.torch.note_export(tensor)


def _note_storage(storage):
    if storage.device.type != "meta":
        with _disable_current_modes():
            _engine.torch.note_export(torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage))


def _wrap(owner, name, note):
    original = getattr(owner, name, None)
    if original is None or hasattr(original, "_tapedeck_watches"):
        return

    @_engine.torch.without_frames
    @functools.wraps(original)
    def exporting(exported, *arguments, **named):
        note(exported)
        return original(exported, *arguments, **named)

    exporting._tapedeck_watches = True
    setattr(owner, name, exporting)
