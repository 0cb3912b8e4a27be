"""Gradients at NumPy values, and PyTorch where it is installed."""
import tapedeck as tf

try:
    import torch
except ImportError:
    torch = None

__all__ = ["gradient_of", "torch"]


def gradient_of(function, *values):
    """Gradients of the sum of the function at NumPy values."""
    tensors = [tf.constant(value) for value in values]
    with tf.GradientTape() as tape:
        for tensor in tensors:
            tape.watch(tensor)
        result = function(*tensors)
    return [None if gradient is None else gradient.numpy() for gradient in tape.gradient(result, tensors)]
