"""60,000 small images of 100 kinds: the binary version of CIFAR-100, or cifar100.npz."""
from tapedeck._core.public import public
from tapedeck.keras._datasets import cifar as _cifar


@public("keras.datasets.cifar100.load_data")
def load_data(label_mode="fine"):
    """As cifar10.load_data. label_mode: "fine" for 100 kinds, "coarse" for 20."""
    if label_mode not in ("fine", "coarse"):
        raise ValueError(f"cifar100: label_mode is {label_mode!r}; must be 'fine' or 'coarse'")
    return _cifar.load("cifar100", "cifar-100-binary", ["train.bin"], ["test.bin"], 2, 1 if label_mode == "fine" else 0)
