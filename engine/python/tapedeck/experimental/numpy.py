"""What TensorFlow has under NumPy's names only, tf.experimental.numpy."""
from tapedeck import _engine
from tapedeck._core.public import public


@public("experimental.numpy.outer")
def outer(a, b):
    """All products of an element of a and one of b: result[i, j] = a[i]·b[j], of tensors with their values as one vector.

    a, b: any numeric dtype, one for both, any shapes. Returns: that dtype, (elements of a, elements of b). TypeError for
    different dtypes. tf.tensordot(a, b, 0) keeps the axes.
    """
    reshape, expand = _engine.op_function("reshape"), _engine.op_function("expand_dims")
    return _engine.op_function("multiply")(expand(reshape(a, [-1]), 1), expand(reshape(b, [-1]), 0))
