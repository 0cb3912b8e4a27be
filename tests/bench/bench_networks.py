"""Forward and backward passes of small networks as users write them, beside PyTorch where it can be imported. Prints one JSON
line per case: milliseconds (best of 7 rounds), and how far the gradients are from PyTorch's (largest difference, relative to the
largest value)."""
import argparse
import json
import os
import time

import numpy as np

import tapedeck as tf
from bench_python import best

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = None

_random = np.random.default_rng(0)


def normal(*shape):
    return (.1 * _random.standard_normal(shape)).astype(np.float32)


def pool(x):
    return tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")


def cross_entropy(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


def layer_norm(x, scale, offset):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


# Each case is a function that gives (parameters, function of them, the same in PyTorch).
def perceptron(activation, peer_activation):
    x, labels = normal(128, 784), _random.integers(0, 10, 128)
    inputs, targets = tf.constant(x), tf.constant(labels)

    def ours(a, b, c, d):
        return cross_entropy(targets, activation(inputs @ a + b) @ c + d)

    def peer(a, b, c, d):
        return F.cross_entropy(peer_activation(torch.tensor(x) @ a + b) @ c + d, torch.tensor(labels))

    return [normal(784, 256), normal(256), normal(256, 10), normal(10)], ours, peer


def lenet():
    x, labels = normal(64, 28, 28, 1), _random.integers(0, 10, 64)
    images, targets = tf.constant(x), tf.constant(labels)

    def ours(a, b, c):
        h = pool(tf.nn.conv2d(pool(tf.nn.conv2d(images, a, 1, "SAME")), b, 1, "SAME"))
        return cross_entropy(targets, tf.reshape(h, [64, -1]) @ c)

    def peer(a, b, c):
        h = torch.tensor(x).permute(0, 3, 1, 2)
        for filters in (a, b):
            h = F.max_pool2d(torch.relu(F.conv2d(h, filters.permute(3, 2, 0, 1), padding=2)), 2)
        return F.cross_entropy(h.permute(0, 2, 3, 1).reshape(64, -1) @ c, torch.tensor(labels))

    return [normal(5, 5, 1, 16), normal(5, 5, 16, 32), normal(7 * 7 * 32, 10)], ours, peer


def transformer_block(batch=8, length=64, width=128, heads=4):
    x = 10 * normal(batch, length, width)
    tokens = tf.constant(x)
    scale = np.float32((width // heads)**-.5)

    def ours(qkv, out, up, down, gain, offset):
        parts = tf.reshape(layer_norm(tokens, gain, offset) @ qkv, [batch, length, 3, heads, width // heads])
        q, k, v = tf.unstack(tf.transpose(parts, [2, 0, 3, 1, 4]))
        mixed = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * scale) @ v
        h = tokens + tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [batch, length, width]) @ out
        return tf.reduce_mean(tf.square(h + tf.nn.gelu(layer_norm(h, gain, offset) @ up) @ down))

    def peer(qkv, out, up, down, gain, offset):
        given = torch.tensor(x)
        parts = (F.layer_norm(given, (width,), gain, offset) @ qkv).reshape(batch, length, 3, heads, width // heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = torch.softmax(q @ k.transpose(-1, -2) * float(scale), -1) @ v
        h = given + mixed.transpose(1, 2).reshape(batch, length, width) @ out
        return ((h + F.gelu(F.layer_norm(h, (width,), gain, offset) @ up) @ down)**2).mean()

    parameters = [normal(width, 3 * width), normal(width, width), normal(width, 4 * width), normal(4 * width, width),
                  np.ones(width, np.float32), np.zeros(width, np.float32)]
    return parameters, ours, peer


def lstm(steps=20):
    x = normal(32, steps, 64)
    sequence = tf.constant(x)

    def ours(w, u, b):
        h = c = tf.zeros([32, 64])
        for t in range(steps):
            i, f, g, o = tf.split(sequence[:, t] @ w + h @ u + b, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return tf.reduce_sum(h)

    def peer(w, u, b):
        given = torch.tensor(x)
        h = c = torch.zeros(32, 64)
        for t in range(steps):
            i, f, g, o = (given[:, t] @ w + h @ u + b).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
        return h.sum()

    return [normal(64, 256), normal(64, 256), normal(256)], ours, peer


def embedding():
    words = _random.integers(0, 5000, (32, 20))
    ids = tf.constant(words)

    def ours(table, w):
        return tf.reduce_sum(tf.sigmoid(tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1) @ w))

    def peer(table, w):
        return torch.sigmoid(F.embedding(torch.tensor(words), table).mean(1) @ w).sum()

    return [normal(5000, 64), normal(64, 1)], ours, peer


def batch_norm():
    x = normal(32, 14, 14, 64)
    images = tf.constant(x)

    def ours(gain, offset):
        mean, variance = tf.nn.moments(images, [0, 1, 2])
        return tf.reduce_sum(tf.nn.relu(tf.nn.batch_normalization(images, mean, variance, offset, gain, 1e-5))**2)

    def peer(gain, offset):
        given = torch.tensor(x).permute(0, 3, 1, 2)
        return (torch.relu(F.batch_norm(given, None, None, gain, offset, True))**2).sum()

    return [np.ones(64, np.float32), np.zeros(64, np.float32)], ours, peer


def cases():
    yield "perceptron_relu", perceptron(tf.nn.relu, torch and torch.relu)
    yield "perceptron_gelu", perceptron(tf.nn.gelu, torch and F.gelu)
    yield "lenet", lenet()
    yield "transformer_block", transformer_block()
    yield "lstm_20", lstm()
    yield "embedding", embedding()
    yield "batch_norm", batch_norm()


def milliseconds(f):
    """Of the fastest of 7 rounds of about 0.1 s each."""
    f()
    start = time.perf_counter()
    f()
    return round(best(f, max(1, int(.1 / (time.perf_counter() - start)))) / 1e6, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    tf.config.set_num_threads(options.threads)
    if torch:
        torch.set_num_threads(options.threads)
    for case, (values, ours, peer) in cases():
        variables = [tf.Variable(value) for value in values]

        def step():
            with tf.GradientTape() as tape:
                loss = ours(*variables)
            return tape.gradient(loss, variables)

        row = dict(case=case, ms=milliseconds(step), threads=options.threads)
        if torch:
            parameters = [torch.tensor(value, requires_grad=True) for value in values]
            row["torch_ms"] = milliseconds(lambda: torch.autograd.grad(peer(*parameters), parameters))
            row["ratio"] = round(row["ms"] / row["torch_ms"], 3)
            expected = [gradient.numpy() for gradient in torch.autograd.grad(peer(*parameters), parameters)]
            row["difference"] = max(float(np.abs(found.numpy() - wanted).max() / np.abs(wanted).max())
                                    for found, wanted in zip(step(), expected))
            row["peer"] = "torch " + torch.__version__
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
