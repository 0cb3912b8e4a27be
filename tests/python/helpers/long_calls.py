"""Calls of ops that take long on large inputs: for the test that they can be interrupted, and for the benchmark that says how
late the interrupt comes."""
import functools

import numpy as np

import tapedeck as tf

rng = np.random.default_rng(1)
SOME_NUMBERS = rng.standard_normal(4_000_037, dtype=np.float32)  # a prime number of them: rows differ


def normal(*shape, dtype=np.float32):
    """The same numbers again and again: to draw all of them would take ten times as long as the interrupted calls do."""
    return np.resize(SOME_NUMBERS, shape).astype(dtype, copy=False)


def draw(*shape, dtype=np.float32):
    return tf.constant(normal(*shape, dtype=dtype))


@functools.lru_cache(maxsize=1)
def square(n, batch=()):
    """Far from singular, and not symmetric."""
    return tf.constant(normal(*batch, n, n, dtype=np.float64) + 2 * np.sqrt(n) * np.eye(n))


def positive(n):
    a = normal(n, n, dtype=np.float64)
    return tf.constant((a + a.T) + 4 * np.sqrt(n) * np.eye(n))


def op(name, *tensors, **attributes):
    """A call of the engine's own function: no line of Python runs between its start and its end."""
    from tapedeck import _engine
    return functools.partial(_engine.op_function(name), *tensors, **attributes)


def convolution(which, dtype):
    x, w, dy = [64, 64, 64, 64], [5, 5, 64, 128], [64, 64, 64, 128]
    common = dict(strides=[1, 1, 1, 1], padding="SAME")
    if which == "conv2d":
        return op("conv2d", draw(*x, dtype=dtype), draw(*w, dtype=dtype), **common)
    if which == "conv2d_backprop_input":
        return op("conv2d_backprop_input", x, draw(*w, dtype=dtype), draw(*dy, dtype=dtype), **common)
    return op("conv2d_backprop_filter", draw(*x, dtype=dtype), w, draw(*dy, dtype=dtype), **common)


def recurrent(which, batch=64, steps=300, units=512):
    x, state, weights = draw(batch, steps, units), draw(batch, units), (draw(units, 4 * units), draw(units, 4 * units), draw(4 * units))
    if which == "lstm":
        return op("lstm", x, state, state, *weights, [])
    return op("lstm_gradient", x, state, state, *weights, x, draw(batch, steps, 5 * units), [x], time_major=False, reverse=False,
              given=[0], wanted=[0, 3, 4])


def many(count=20_000_000, dtype=np.float32):
    return draw(count, dtype=dtype)


MANY = 250_000_000  # elements of a result that is made of few: 1 GB


def segments(count=20_000_000):
    return tf.constant(rng.integers(0, count, count, dtype=np.int32))


# name → what makes the call; each takes some tenths of a second at least.
LONG_CALLS = {
    "matrix_inverse": lambda: op("matrix_inverse", square(3000)),
    "matrix_inverse of a batch": lambda: op("matrix_inverse", square(1500, (6,))),
    "matrix_determinant": lambda: op("matrix_determinant", square(4000)),
    "log_matrix_determinant": lambda: op("log_matrix_determinant", square(4000)),
    "matrix_cofactor": lambda: op("matrix_cofactor", square(2500)),
    "matrix_cofactor, singular": lambda: op("matrix_cofactor", tf.ones([1200, 1200], tf.float64)),
    "matrix_cofactor_derivative": lambda: op("matrix_cofactor_derivative", square(2500), draw(2500, 2500, dtype=np.float64)),
    "matrix_solve": lambda: op("matrix_solve", square(3000), draw(3000, 3000, dtype=np.float64)),
    "matrix_triangular_solve": lambda: op("matrix_triangular_solve", square(4000), draw(4000, 4000, dtype=np.float64)),
    "cholesky": lambda: op("cholesky", positive(4500)),
    "lu": lambda: op("lu", square(4000)),
    "qr": lambda: op("qr", draw(2500, 2500, dtype=np.float64)),
    "svd": lambda: op("svd", draw(1500, 1500, dtype=np.float64)),
    "svd without vectors": lambda: op("svd", draw(2500, 2500, dtype=np.float64), compute_uv=False),
    "pinv": lambda: op("pinv", draw(1500, 1500, dtype=np.float64)),
    "self_adjoint_eig": lambda: op("self_adjoint_eig", positive(3000)),
    "self_adjoint_eigvals": lambda: op("self_adjoint_eigvals", positive(3000)),
    "matrix_square_root": lambda: op("matrix_square_root", square(1000)),
    "matrix_exponential": lambda: op("matrix_exponential", square(2000)),
    "matrix_logarithm": lambda: op("matrix_logarithm", square(700)),
    "matmul": lambda: op("matmul", draw(6000, 6000), draw(6000, 6000)),
    "matmul of whole numbers": lambda: op("matmul", tf.ones([2500, 2500], tf.int32), tf.ones([2500, 2500], tf.int32)),
    "einsum": lambda: op("einsum", "ijk,kjl->il", [draw(2000, 100, 200), draw(200, 100, 2000)]),
    "conv2d": lambda: convolution("conv2d", np.float32),
    "conv2d_backprop_input": lambda: convolution("conv2d_backprop_input", np.float32),
    "conv2d_backprop_filter": lambda: convolution("conv2d_backprop_filter", np.float32),
    "conv2d of float64": lambda: convolution("conv2d", np.float64),
    "conv2d_backprop_filter of float64": lambda: convolution("conv2d_backprop_filter", np.float64),
    "lstm": lambda: recurrent("lstm"),
    "lstm of one example": lambda: recurrent("lstm", batch=1, steps=3000),
    "lstm_gradient": lambda: recurrent("lstm_gradient"),
    "attention": lambda: op("attention", *(draw(64, 1500, 64) for _ in range(3)), []),
    "attention of one matrix": lambda: op("attention", *(draw(8000, 64) for _ in range(3)), []),
    "sort": lambda: op("sort", many()),
    "argsort": lambda: op("argsort", many()),
    "top_k of few": lambda: op("top_k", many(40_000_000), k=100),
    "top_k of many": lambda: op("top_k", many(), k=5_000_000),
    "unique": lambda: op("unique", many(10_000_000)),
    "unique_with_counts": lambda: op("unique_with_counts", many(10_000_000)),
    "searchsorted": lambda: op("searchsorted", tf.range(-4., 4., 4e-7), many()),
    "unsorted_segment_sum": lambda: op("unsorted_segment_sum", tf.ones([20_000_000]), segments(),
                                       num_segments=20_000_000),
    "unsorted_segment_sum of a few into many": lambda: op("unsorted_segment_sum", tf.ones([1]), tf.constant([0]), num_segments=MANY),
    "unsorted_segment_max of a few into many": lambda: op("unsorted_segment_max", tf.ones([1]), tf.constant([0]), num_segments=MANY),
    "one_hot": lambda: op("one_hot", tf.constant([0]), MANY),
    "fill": lambda: op("fill", [MANY], tf.constant(1.)),
    "range": lambda: op("range", 0, MANY, 1),
    "scatter_nd": lambda: op("scatter_nd", tf.constant([[0]]), tf.ones([1]), [MANY]),
    "cumsum": lambda: op("cumsum", tf.ones([100_000_000]), axis=0),
    "invert_permutation": lambda: op("invert_permutation", tf.constant(np.arange(15_000_000) * 7_654_321 % 15_000_000)),
}
