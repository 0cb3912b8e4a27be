"""Layers and losses beside PyTorch, where it is installed: with the same weights the same values, and the same gradients with
respect to inputs and weights, in float64 to 1e-10 of the largest."""
import unittest

import numpy as np

import tapedeck as tf

try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError:
    torch = None

layers, losses = tf.keras.layers, tf.keras.losses


def drawn(*shape, seed=0, low=-1., high=1.):
    return np.random.default_rng([seed, *shape]).uniform(low, high, shape)


def first_to_last(x):
    """[batch, channels, places …] → [batch, places …, channels], of NumPy's or PyTorch's."""
    return np.moveaxis(x, 1, -1) if isinstance(x, np.ndarray) else x.movedim(1, -1)


def last_to_first(x):
    return x.movedim(-1, 1)


def kernel_last(*order):
    """How a filter of PyTorch's, [out, in, places …], becomes Keras'."""
    return lambda w: np.transpose(w, order)


def same(w):
    return w


def transposed(w):
    return w.T


def gates(*order):
    """Kernels and biases of recurrent layers: PyTorch's rows of gates as columns, in Keras' order."""
    def convert(w):
        parts = np.split(w, len(order))
        joined = np.concatenate([parts[place] for place in order])
        return joined.T if w.ndim == 2 else joined
    return convert


def heads(count):
    def convert(w):  # [heads · size, width] → [width, heads, size]
        return w.T.reshape(w.shape[1], count, -1)
    return convert


def channels_last(module):
    """PyTorch's module on data whose channels come last."""
    return lambda x: first_to_last(module(last_to_first(x)))


class Case:
    """`ours`: a layer; `theirs`: a function of PyTorch tensors; `weights`: (PyTorch parameter, its form in Keras), in the order of
    `ours.trainable_weights`."""

    def __init__(self, ours, theirs, *inputs, weights=(), training=False):
        self.ours, self.theirs, self.inputs, self.weights, self.training = ours, theirs, inputs, weights, training


def convolution_cases():
    def plain(ours, module, form, shape):
        module = module.double()
        return Case(ours, channels_last(module), drawn(*shape), weights=[(module.weight, form), (module.bias, same)])

    separable = nn.Sequential(nn.Conv2d(3, 6, 3, groups=3, bias=False), nn.Conv2d(6, 4, 1)).double()
    depthwise, causal = nn.Conv2d(3, 6, 3, groups=3).double(), nn.Conv1d(4, 5, 3, bias=False).double()

    def depthwise_form(w):  # [channels · multiplier, 1, 3, 3] → [3, 3, channels, multiplier]
        return w.reshape(3, 2, 3, 3).transpose(2, 3, 0, 1)

    return {
        "Conv1D": plain(layers.Conv1D(5, 3), nn.Conv1d(4, 5, 3), kernel_last(2, 1, 0), (2, 9, 4)),
        "Conv1D, causal": Case(layers.Conv1D(5, 3, padding="causal", use_bias=False),
                               channels_last(lambda x: causal(functional.pad(x, (2, 0)))), drawn(2, 9, 4),
                               weights=[(causal.weight, kernel_last(2, 1, 0))]),
        "Conv2D": plain(layers.Conv2D(5, 3, 2), nn.Conv2d(4, 5, 3, 2), kernel_last(2, 3, 1, 0), (2, 9, 8, 4)),
        "Conv2D, dilated": plain(layers.Conv2D(5, 3, dilation_rate=2), nn.Conv2d(4, 5, 3, dilation=2), kernel_last(2, 3, 1, 0),
                                 (2, 9, 8, 4)),
        "Conv2D, groups": plain(layers.Conv2D(6, 3, groups=2), nn.Conv2d(4, 6, 3, groups=2), kernel_last(2, 3, 1, 0), (2, 7, 8, 4)),
        "Conv3D": plain(layers.Conv3D(3, 2), nn.Conv3d(2, 3, 2), kernel_last(2, 3, 4, 1, 0), (2, 4, 5, 4, 2)),
        "Conv1DTranspose": plain(layers.Conv1DTranspose(5, 3, 2), nn.ConvTranspose1d(4, 5, 3, 2), kernel_last(2, 1, 0), (2, 6, 4)),
        "Conv2DTranspose": plain(layers.Conv2DTranspose(5, 3, 2), nn.ConvTranspose2d(4, 5, 3, 2), kernel_last(2, 3, 1, 0),
                                 (2, 4, 5, 4)),
        "DepthwiseConv2D": Case(layers.DepthwiseConv2D(3, depth_multiplier=2), channels_last(depthwise), drawn(2, 6, 7, 3),
                                weights=[(depthwise.weight, depthwise_form), (depthwise.bias, same)]),
        "SeparableConv2D": Case(
            layers.SeparableConv2D(4, 3, depth_multiplier=2), channels_last(separable), drawn(2, 6, 7, 3),
            weights=[(separable[0].weight, depthwise_form), (separable[1].weight, kernel_last(2, 3, 1, 0)), (separable[1].bias, same)]),
    }


def recurrent_cases():
    cases = {}
    for name, ours, module, order in (
            ("LSTM", layers.LSTM(5, return_sequences=True), nn.LSTM(4, 5, batch_first=True), (0, 1, 2, 3)),
            ("SimpleRNN", layers.SimpleRNN(5, return_sequences=True), nn.RNN(4, 5, batch_first=True), (0,)),
            ("GRU", layers.GRU(5, return_sequences=True, reset_after=True), nn.GRU(4, 5, batch_first=True), (1, 0, 2))):
        module = module.double()
        form = gates(*order)
        if name != "GRU":
            module.bias_hh_l0.data.zero_()
        biases = [(module.bias_ih_l0, form)] if name != "GRU" else [
            ((module.bias_ih_l0, module.bias_hh_l0), lambda ih, hh, form=form: np.stack([form(ih), form(hh)]))]
        cases[name] = Case(ours, lambda x, module=module: module(x)[0], drawn(3, 6, 4),
                           weights=[(module.weight_ih_l0, form), (module.weight_hh_l0, form), *biases])
    both = nn.LSTM(4, 5, batch_first=True, bidirectional=True).double()
    order = gates(0, 1, 2, 3)
    for bias in both.bias_hh_l0, both.bias_hh_l0_reverse:
        bias.data.zero_()
    cases["Bidirectional"] = Case(
        layers.Bidirectional(layers.LSTM(5, return_sequences=True)), lambda x: both(x)[0], drawn(3, 6, 4),
        weights=[(getattr(both, name + end), order) for end in ("_l0", "_l0_reverse") for name in ("weight_ih", "weight_hh", "bias_ih")])
    return cases


def attention_case():
    module = nn.MultiheadAttention(8, 2, batch_first=True).double()
    module.in_proj_bias.data.uniform_(-1, 1)
    module.out_proj.bias.data.uniform_(-1, 1)

    def form(place):
        return lambda w, b: (heads(2)(np.split(w, 3)[place]), np.split(b, 3)[place].reshape(2, 4))

    pairs = [((module.in_proj_weight, module.in_proj_bias), lambda w, b, place=place, part=part: form(place)(w, b)[part])
             for place in range(3) for part in range(2)]
    return Case(layers.MultiHeadAttention(2, 4), lambda q, k: module(q, k, k, need_weights=False)[0], drawn(3, 5, 8), drawn(3, 7, 8),
                weights=[*pairs, (module.out_proj.weight, lambda w: w.T.reshape(2, 4, 8)), (module.out_proj.bias, same)])


def layer_cases():
    dense, einsum, prelu = nn.Linear(6, 4).double(), nn.Linear(6, 4).double(), nn.PReLU(5).double()
    batch, layer = nn.BatchNorm2d(5, eps=1e-3).double(), nn.LayerNorm(6, eps=1e-3).double()
    group = nn.GroupNorm(2, 6, eps=1e-3).double()
    for norm in batch, layer, group:
        norm.weight.data.uniform_(.5, 2)
        norm.bias.data.uniform_(-1, 1)
    scales = [(norm.weight, same) for norm in (batch, layer, group)], [(norm.bias, same) for norm in (batch, layer, group)]
    images, volumes = drawn(2, 7, 8, 3), drawn(2, 5, 6, 4, 2)

    def pool(ours, function, x, *arguments):
        return Case(ours, lambda t: first_to_last(function(last_to_first(t), *arguments)), x)

    cases = {
        "Dense": Case(layers.Dense(4), dense, drawn(3, 5, 6), weights=[(dense.weight, transposed), (dense.bias, same)]),
        "EinsumDense": Case(layers.EinsumDense("abc,cd->abd", [None, 4], bias_axes="d"), einsum, drawn(3, 5, 6),
                            weights=[(einsum.weight, transposed), (einsum.bias, same)]),
        "PReLU": Case(layers.PReLU(shared_axes=[1]), channels_last(prelu), drawn(3, 7, 5),
                      weights=[(prelu.weight, lambda w: w[np.newaxis])]),
        "BatchNormalization": Case(layers.BatchNormalization(), channels_last(batch), drawn(4, 3, 3, 5), training=True,
                                   weights=[scales[0][0], scales[1][0]]),
        "LayerNormalization": Case(layers.LayerNormalization(), layer, drawn(4, 5, 6), weights=[scales[0][1], scales[1][1]]),
        "GroupNormalization": Case(layers.GroupNormalization(2), channels_last(group), drawn(3, 4, 4, 6),
                                   weights=[scales[0][2], scales[1][2]]),
        "UnitNormalization": Case(layers.UnitNormalization(), lambda x: functional.normalize(x, dim=-1), drawn(3, 6)),
        "MaxPooling1D": pool(layers.MaxPooling1D(2), functional.max_pool1d, drawn(2, 9, 3), 2),
        "MaxPooling2D": pool(layers.MaxPooling2D(3, 2), functional.max_pool2d, images, 3, 2),
        "MaxPooling3D": pool(layers.MaxPooling3D(2), functional.max_pool3d, volumes, 2),
        "AveragePooling1D": pool(layers.AveragePooling1D(2), functional.avg_pool1d, drawn(2, 9, 3), 2),
        "AveragePooling2D": pool(layers.AveragePooling2D(3, 2), functional.avg_pool2d, images, 3, 2),
        "AveragePooling3D": pool(layers.AveragePooling3D(2), functional.avg_pool3d, volumes, 2),
        "GlobalAveragePooling2D": Case(layers.GlobalAveragePooling2D(), lambda x: x.mean((1, 2)), images),
        "GlobalMaxPooling2D": Case(layers.GlobalMaxPooling2D(), lambda x: x.amax((1, 2)), images),
        "UpSampling2D": pool(layers.UpSampling2D(2), lambda x: functional.interpolate(x, scale_factor=2), images),
        "ZeroPadding2D": pool(layers.ZeroPadding2D(((1, 2), (3, 0))), lambda x: functional.pad(x, (3, 0, 1, 2)), images),
        "Dot": Case(layers.Dot(-1), lambda a, b: a @ b.mT, drawn(3, 5, 4), drawn(3, 6, 4)),
        "Attention": Case(layers.Attention(), lambda q, v: functional.softmax(q @ v.mT, -1) @ v, drawn(2, 5, 4), drawn(2, 6, 4)),
        "MultiHeadAttention": attention_case(),
    }
    for name, ours, theirs in (
            ("relu", "relu", functional.relu), ("gelu", "gelu", functional.gelu), ("silu", "silu", functional.silu),
            ("selu", "selu", functional.selu), ("elu", "elu", functional.elu), ("softplus", "softplus", functional.softplus),
            ("softsign", "softsign", functional.softsign), ("tanh", "tanh", torch.tanh), ("sigmoid", "sigmoid", torch.sigmoid),
            ("mish", "mish", functional.mish), ("hard_tanh", "hard_tanh", functional.hardtanh),
            ("relu6", "relu6", functional.relu6), ("softmax", "softmax", lambda x: functional.softmax(x, -1)),
            ("log_softmax", "log_softmax", lambda x: functional.log_softmax(x, -1)), ("glu", "glu", functional.glu)):
        cases["Activation, " + name] = Case(layers.Activation(ours), theirs, drawn(4, 6, low=-4., high=9.))
    cases["LeakyReLU"] = Case(layers.LeakyReLU(negative_slope=.2), lambda x: functional.leaky_relu(x, .2), drawn(4, 6))
    return {**cases, **convolution_cases(), **recurrent_cases()}


def one_hot(labels, count):
    return np.eye(count)[labels]


def loss_cases():
    """name: (our loss, a function of PyTorch's prediction and target, target, prediction, their target or None)"""
    x, y = drawn(8, 5, low=.05, high=.95), drawn(8, 5, seed=1, low=.05, high=.95)
    signs, bits, labels = np.sign(drawn(8, 5)), (drawn(8, 5) > 0) * 1., np.arange(8) % 5
    logits = drawn(8, 5, seed=2, low=-4., high=4.)
    shares = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    return {
        "MeanSquaredError": (losses.MeanSquaredError(), functional.mse_loss, y, x),
        "MeanAbsoluteError": (losses.MeanAbsoluteError(), functional.l1_loss, y, x),
        "MeanSquaredLogarithmicError": (losses.MeanSquaredLogarithmicError(),
                                        lambda p, t: functional.mse_loss(torch.log1p(p), torch.log1p(t)), y, x),
        "Huber": (losses.Huber(.3), lambda p, t: functional.huber_loss(p, t, delta=.3), y, x),
        "Poisson": (losses.Poisson(), lambda p, t: functional.poisson_nll_loss(p, t, log_input=False, eps=1e-7), y, x),
        "KLDivergence": (losses.KLDivergence(), lambda p, t: functional.kl_div(p.log(), t, reduction="batchmean"), y, x),
        "CosineSimilarity": (losses.CosineSimilarity(), lambda p, t: -functional.cosine_similarity(p, t).mean(), y, x),
        "Hinge": (losses.Hinge(), lambda p, t: (1 - p * t).clamp(min=0).mean(), signs, x),
        "SquaredHinge": (losses.SquaredHinge(), lambda p, t: (1 - p * t).clamp(min=0).square().mean(), signs, x),
        "LogCosh": (losses.LogCosh(), lambda p, t: torch.log(torch.cosh(p - t)).mean(), y, x),
        "BinaryCrossentropy": (losses.BinaryCrossentropy(), functional.binary_cross_entropy, bits, x),
        "BinaryCrossentropy of logits": (losses.BinaryCrossentropy(from_logits=True), functional.binary_cross_entropy_with_logits,
                                         bits, logits),
        "CategoricalCrossentropy": (losses.CategoricalCrossentropy(),
                                    lambda p, t: -(t * (p / p.sum(-1, keepdim=True)).log()).sum(-1).mean(),
                                    one_hot(labels, 5), shares),
        "CategoricalCrossentropy, smoothed": (
            losses.CategoricalCrossentropy(from_logits=True, label_smoothing=.1),
            lambda p, t: functional.cross_entropy(p, t.argmax(-1), label_smoothing=.1), one_hot(labels, 5), logits),
        "SparseCategoricalCrossentropy": (losses.SparseCategoricalCrossentropy(from_logits=True), functional.cross_entropy,
                                          labels, logits),
        "tf.losses.huber_loss": (lambda t, p: tf.losses.huber_loss(t, p, delta=.3),
                                 lambda p, t: functional.huber_loss(p, t, delta=.3), y, x),
        "tf.losses.sigmoid_cross_entropy": (tf.losses.sigmoid_cross_entropy, functional.binary_cross_entropy_with_logits, bits, logits),
        "tf.losses.softmax_cross_entropy": (tf.losses.softmax_cross_entropy, functional.cross_entropy, one_hot(labels, 5), logits),
        "tf.losses.log_loss": (lambda t, p: tf.losses.log_loss(t, p, epsilon=0.), functional.binary_cross_entropy, bits, x),
        "tf.losses.absolute_difference": (tf.losses.absolute_difference, functional.l1_loss, y, x),
    }


@unittest.skipUnless(torch, "needs PyTorch (python3-torch)")
class BesidePyTorch(unittest.TestCase):
    def assert_near(self, value, expected, what):
        expected = np.asarray(expected)
        bound = 1e-10 * max(1., np.abs(expected).max(initial=0.))
        np.testing.assert_allclose(np.asarray(value), expected, rtol=0, atol=bound, err_msg=what)

    def in_keras_form(self, tensors, form):
        several = tensors if isinstance(tensors, tuple) else (tensors,)
        return form(*(tensor.detach().numpy() for tensor in several))

    def gradient_in_keras_form(self, tensors, form):
        several = tensors if isinstance(tensors, tuple) else (tensors,)
        return form(*(tensor.grad.numpy() for tensor in several))

    def compare_layer(self, case):
        layer, arguments = case.ours, {"training": True} if case.training else {}
        inputs = [tf.constant(x) for x in case.inputs]
        merging = isinstance(layer, (layers.Dot, layers.Attention))

        def call():
            return layer(inputs if merging else inputs[0], *([] if merging else inputs[1:]), **arguments)

        call()  # makes the weights
        self.assertEqual(len(layer.trainable_weights), len(case.weights))
        for variable, (tensors, form) in zip(layer.trainable_weights, case.weights):
            variable.assign(self.in_keras_form(tensors, form))
        there = [torch.tensor(x, requires_grad=True) for x in case.inputs]
        expected = case.theirs(*there)
        arrived = drawn(*expected.shape, seed=7)
        expected.backward(torch.tensor(arrived))
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            result = call()
        gradients = tape.gradient(result, [*inputs, *layer.trainable_weights], arrived)
        self.assert_near(result.numpy(), expected.detach().numpy(), "values")
        for place, (gradient, tensor) in enumerate(zip(gradients, there)):
            self.assert_near(gradient.numpy(), tensor.grad.numpy(), f"gradient of input {place}")
        for gradient, variable, (tensors, form) in zip(gradients[len(inputs):], layer.trainable_weights, case.weights):
            self.assert_near(gradient.numpy(), self.gradient_in_keras_form(tensors, form), f"gradient of {variable.name}")

    def setUp(self):
        self.addCleanup(tf.keras.backend.set_floatx, tf.keras.backend.floatx())
        tf.keras.backend.set_floatx("float64")
        torch.manual_seed(5)

    def test_layers(self):
        cases = layer_cases()
        self.assertGreaterEqual(len(cases), 40)
        for name, case in cases.items():
            with self.subTest(name):
                self.compare_layer(case)

    def test_losses(self):
        for name, (ours, theirs, target, prediction) in loss_cases().items():
            with self.subTest(name):
                there = torch.tensor(prediction, requires_grad=True)
                expected = theirs(there, torch.tensor(target))
                expected.backward()
                x = tf.constant(prediction)
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    value = ours(tf.constant(target), x)
                self.assert_near(value.numpy(), expected.detach().numpy(), "value")
                self.assert_near(tape.gradient(value, x).numpy(), there.grad.numpy(), "gradient")


if __name__ == "__main__":
    unittest.main()
