"""Tensors to and from other libraries, by DLPack."""
from tapedeck import _engine
from tapedeck._core.arguments import having
from tapedeck._core.public import public


@public("experimental.dlpack.to_dlpack")
def to_dlpack(tf_tensor):
    """A DLPack capsule with a copy of the tensor, to be used once. The consumer may write to it. For a read-only capsule
    without a copy call the tensor's __dlpack__(max_version=(1, 0), copy=False)."""
    return having(_engine.convert_to_tensor(tf_tensor), "to_dlpack: tf_tensor", "__dlpack__", "tensor").__dlpack__()


@public("experimental.dlpack.from_dlpack")
def from_dlpack(dlcapsule):
    """A tensor on the memory of a DLPack capsule, or of an object that has __dlpack__. Nothing is copied, so the memory
    must not be written to while the tensor lives."""
    if hasattr(dlcapsule, "__dlpack__"):
        dlcapsule = _capsule_of(dlcapsule)
    return _engine.from_dlpack(dlcapsule)


def _capsule_of(source):
    if isinstance(source, (_engine.Tensor, _engine.Variable)):
        return source.__dlpack__(max_version=(1, 0), copy=False)  # only read here
    try:
        return source.__dlpack__(max_version=(1, 0))
    except TypeError:  # a library from before DLPack 1.0 knows no max_version
        return source.__dlpack__()
