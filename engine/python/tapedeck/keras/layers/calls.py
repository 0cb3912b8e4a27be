"""What layers tell each other while they call each other: whether this is training, which call is the outermost, and the masks of
tensors."""
import itertools
import threading
import weakref


class _Calls(threading.local):
    """The thread's calls. layer: the one that is being called, or None; training: what the outer call said, or None; number: that
    of the outermost call, by which layers tell this call's losses from older ones."""

    layer = None
    training = None
    number = 0


current = _Calls()
numbers = itertools.count(1)
_masks = {}  # by a tensor's id: a weak reference to it, its mask


def mask_of(tensor):
    """The mask that a layer gave to the tensor, or None."""
    found = _masks.get(id(tensor))
    return found[1] if found is not None and found[0]() is tensor else None


def set_mask(tensor, mask):
    """Gives a tensor a mask, bool, True where its steps count; None takes it away. It lasts as long as the tensor."""
    key = id(tensor)
    if mask is None:
        _masks.pop(key, None)
    else:
        _masks[key] = weakref.ref(tensor, lambda gone: _masks.pop(key, None) if _masks.get(key, (None,))[0] is gone else None), mask


def any_masks():
    """Whether some tensor has a mask."""
    return bool(_masks)


class CallForm:
    """How a class' call takes its arguments. names: those after self, in order; training, mask: whether it takes these;
    training_default: the value of training where none is given."""

    def __init__(self, parameters):
        kinds = [(each.name, each) for each in parameters if each.name != "self"]
        self.names = [name for name, each in kinds if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        takes_all = any(each.kind == each.VAR_KEYWORD for _, each in kinds)
        known = {name: each for name, each in kinds if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
        self.training = "training" in known
        self.takes_training = self.training or takes_all
        self.mask = "mask" in known
        default = known["training"].default if self.training else None
        self.training_default = None if self.training and default is known["training"].empty else default
        self.training_place = self.names.index("training") if "training" in self.names else None
        self.mask_place = self.names.index("mask") if "mask" in self.names else -1
