"""Tensors to and from other libraries without a copy, by DLPack."""
from tapedeck import _engine


def to_dlpack(tf_tensor):
    """A DLPack capsule on the tensor's memory, to be used once. Whoever takes it must not write to it."""
    return _engine.convert_to_tensor(tf_tensor).__dlpack__()


def from_dlpack(dlcapsule):
    """A tensor on the memory of a DLPack capsule, or of an object that has __dlpack__. Nothing is copied, so nobody
    may write to that memory while the tensor lives."""
    if hasattr(dlcapsule, "__dlpack__"):
        dlcapsule = dlcapsule.__dlpack__()
    return _engine.from_dlpack(dlcapsule)
