"""Images of clothing in MNIST's form, from Debian's package dataset-fashion-mnist, or what TAPEDECK_MNIST names instead."""
from tapedeck.idx import load_data  # noqa: F401
