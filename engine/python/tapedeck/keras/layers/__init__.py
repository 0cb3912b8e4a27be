"""tf.keras.layers."""
from tapedeck.keras.layers.activation import ELU, LeakyReLU, PReLU, ReLU, Softmax, ThresholdedReLU  # noqa: F401
from tapedeck.keras.layers.attention import AdditiveAttention, Attention, GroupQueryAttention, MultiHeadAttention  # noqa: F401
from tapedeck.keras.layers.base import Layer  # noqa: F401
from tapedeck.keras.layers.convolution import (  # noqa: F401
    Conv1D, Conv1DTranspose, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, Convolution1D, Convolution1DTranspose,
    Convolution2D, Convolution2DTranspose, Convolution3D, Convolution3DTranspose, DepthwiseConv1D, DepthwiseConv2D,
    SeparableConv1D, SeparableConv2D, SeparableConvolution1D, SeparableConvolution2D)
from tapedeck.keras.layers.core import Activation, Dense, EinsumDense, Embedding, Identity, Lambda, Masking  # noqa: F401
from tapedeck.keras.layers.input_spec import InputSpec  # noqa: F401
from tapedeck.keras.layers.merging import (  # noqa: F401
    Add, Average, Concatenate, Dot, Maximum, Minimum, Multiply, Subtract, add, average, concatenate, dot, maximum, minimum,
    multiply, subtract)
from tapedeck.keras.layers.normalization import (  # noqa: F401
    BatchNormalization, GroupNormalization, LayerNormalization, RMSNormalization, UnitNormalization)
from tapedeck.keras.layers.pooling import (  # noqa: F401
    AveragePooling1D, AveragePooling2D, AveragePooling3D, AvgPool1D, AvgPool2D, AvgPool3D, GlobalAveragePooling1D,
    GlobalAveragePooling2D, GlobalAveragePooling3D, GlobalAvgPool1D, GlobalAvgPool2D, GlobalAvgPool3D, GlobalMaxPool1D,
    GlobalMaxPool2D, GlobalMaxPool3D, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D, MaxPool1D, MaxPool2D,
    MaxPool3D, MaxPooling1D, MaxPooling2D, MaxPooling3D)
from tapedeck.keras.layers.preprocessing import (  # noqa: F401
    CategoryEncoding, CenterCrop, Discretization, Normalization, RandomBrightness, RandomContrast, RandomCrop, RandomFlip,
    Rescaling, Resizing)
from tapedeck.keras.layers.random_images import RandomRotation, RandomTranslation, RandomZoom  # noqa: F401
from tapedeck.keras.layers.recurrent import GRU, LSTM, RNN, SimpleRNN  # noqa: F401
from tapedeck.keras.layers.recurrent_cells import GRUCell, LSTMCell, SimpleRNNCell, StackedRNNCells  # noqa: F401
from tapedeck.keras.layers.regularization import (  # noqa: F401
    ActivityRegularization, AlphaDropout, Dropout, GaussianDropout, GaussianNoise, SpatialDropout1D, SpatialDropout2D,
    SpatialDropout3D)
from tapedeck.keras.layers.reshaping import (  # noqa: F401
    Cropping1D, Cropping2D, Cropping3D, Flatten, Permute, RepeatVector, Reshape, UpSampling1D, UpSampling2D, UpSampling3D,
    ZeroPadding1D, ZeroPadding2D, ZeroPadding3D)
from tapedeck.keras.layers.wrappers import Bidirectional, TimeDistributed, Wrapper  # noqa: F401


def serialize(layer):
    """{"class_name", "config"} of a layer, of which deserialize makes the same layer."""
    from tapedeck.keras.models.graph_config import layer_config
    return layer_config(layer)


def deserialize(config, custom_objects=None):
    """The layer of what serialize returned, with variables of its own. custom_objects: classes by name, beside those of tf.keras.
    Errors: ValueError for a class that nobody knows."""
    from tapedeck.keras.models.graph_config import layer_of
    return layer_of(config, custom_objects)


__all__ = [name for name, value in list(vars().items()) if not name.startswith("_") and callable(value)]
