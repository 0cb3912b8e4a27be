"""Handwritten digits: 60,000 images to train and 10,000 to test, from the folder TAPEDECK_MNIST; without it the images of
Fashion-MNIST, which have the same form."""
from tapedeck.idx import load_data  # noqa: F401
