"""TensorFlow 1's tf.layers: classes and functions."""
from tapedeck.layers.base import InputSpec, Layer  # noqa: F401
from tapedeck.layers.core import (  # noqa: F401
    AveragePooling1D, AveragePooling2D, AveragePooling3D, Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, Dense, Dropout,
    Flatten, MaxPooling1D, MaxPooling2D, MaxPooling3D, SeparableConv1D, SeparableConv2D, average_pooling1d, average_pooling2d,
    average_pooling3d,
    conv1d, conv2d, conv2d_transpose, conv3d, conv3d_transpose, dense, dropout, flatten, max_pooling1d, max_pooling2d,
    max_pooling3d, separable_conv1d, separable_conv2d)
from tapedeck.layers.normalization import BatchNormalization, batch_normalization  # noqa: F401

__all__ = [name for name, value in list(vars().items()) if not name.startswith("_") and callable(value)]
