"""Small ops, their gradients, long vectors, matrix products and ResNet-50's convolutions (batch 8, forward and backward)
from Python; beside PyTorch where it can be imported. Prints one JSON line per case: name, nanoseconds (best of 7 rounds)."""
import argparse
import json
import os
import time

import tapedeck as tf
from tapedeck import _engine

try:
    import torch
except ImportError:
    torch = None

# Square ones, a layer for 16 examples at once, and a layer of ten classes.
PRODUCTS = [(n, n, n) for n in (256, 1024, 2048, 4096)] + [(16, 1024, 1024), (128, 784, 10)]


def product_name(m, k, n):
    return f"matmul_{m}" if m == k == n else f"matmul_{m}x{k}x{n}"


# Rows of ResNet-50: extent, channels in and out, window, stride.
CONVOLUTIONS = [(224, 3, 64, 7, 2), (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (28, 128, 128, 3, 1),
                (14, 256, 256, 3, 1), (14, 1024, 256, 1, 1), (7, 512, 512, 3, 1)]
BATCH = 8


def best(f, repeat):
    time.sleep(0.05)  # threads that the other library left waiting awake go to sleep
    f()
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(repeat):
            f()
        times.append((time.perf_counter() - start) / repeat)
    return min(times) * 1e9


def tapedeck_cases():
    """(case, function, repetitions) of this project."""
    a, b = tf.ones(()), tf.ones(())
    yield "add_scalar", lambda: a + b, 20000
    yield "add_scalar_function", lambda: tf.add(a, b), 20000
    yield "add_scalar_number", lambda: a + 1., 20000
    c, d = tf.random.uniform([10]), tf.random.uniform([10])
    yield "add_10", lambda: c + d, 20000
    w = tf.random.uniform([10])

    def gradient():
        with tf.GradientTape() as tape:
            tape.watch(w)
            y = tf.reduce_sum((w * c + d) * w)
        return tape.gradient(y, w)

    yield "gradient_4_ops_10", gradient, 4000
    dot = _engine.op_function("dot")
    m = tf.random.uniform([32, 32])
    yield "matmul_32", lambda: m @ m, 20000
    for n in (10**4, 10**5, 10**6, 10**7):
        x, y = tf.random.uniform([n]), tf.random.uniform([n])
        repeat = max(3, int(1e7 / n))
        yield f"add_{n}", lambda: x + y, repeat
        yield f"exp_{n}", lambda: tf.exp(x), repeat
        yield f"sigmoid_{n}", lambda: tf.sigmoid(x), repeat
        yield f"sum_{n}", lambda: tf.reduce_sum(x), repeat
        yield f"dot_{n}", lambda: dot(x, y), repeat
        yield f"tanh_{n}", lambda: tf.tanh(x), repeat
        yield f"sin_{n}", lambda: tf.sin(x), repeat
        yield f"gelu_{n}", lambda: tf.nn.gelu(x), repeat
        yield f"normal_{n}", lambda: tf.random.normal([n]), repeat
        rows = tf.reshape(x, [n // 1000, 1000])
        yield f"softmax_{n}", lambda: tf.nn.softmax(rows), repeat
        yield f"mean_axis_{n}", lambda: tf.reduce_mean(rows, 1), repeat
    for m, k, n in PRODUCTS:
        x, y = tf.random.uniform([m, k]), tf.random.uniform([k, n])
        yield product_name(m, k, n), lambda: x @ y, max(2, int(1e9 / (m * k * n)))
    for extent, channels, filters, window, stride in CONVOLUTIONS:
        x = tf.random.uniform([BATCH, extent, extent, channels])
        f = tf.random.uniform([window, window, channels, filters])

        def convolve():
            with tf.GradientTape() as tape:
                tape.watch([x, f])
                y = tf.nn.conv2d(x, f, stride, "SAME")
            return tape.gradient(y, [x, f])

        yield f"conv_{extent}_{channels}_{filters}_{window}x{window}_{stride}", convolve, 2


def torch_cases():
    """The same in PyTorch; its tensors that require gradients record on their own tape."""
    a, b = torch.ones(()), torch.ones(())
    yield "add_scalar", lambda: a + b
    yield "add_scalar_function", lambda: torch.add(a, b)
    yield "add_scalar_number", lambda: a + 1.
    c, d = torch.rand(10), torch.rand(10)
    yield "add_10", lambda: c + d
    w = torch.rand(10, requires_grad=True)
    yield "gradient_4_ops_10", lambda: torch.autograd.grad(((w * c + d) * w).sum(), w)
    m = torch.rand(32, 32)
    yield "matmul_32", lambda: m @ m
    for n in (10**4, 10**5, 10**6, 10**7):
        x, y = torch.rand(n), torch.rand(n)
        yield f"add_{n}", lambda: x + y
        yield f"exp_{n}", lambda: torch.exp(x)
        yield f"sigmoid_{n}", lambda: torch.sigmoid(x)
        yield f"sum_{n}", lambda: x.sum()
        yield f"dot_{n}", lambda: torch.dot(x, y)
        yield f"tanh_{n}", lambda: torch.tanh(x)
        yield f"sin_{n}", lambda: torch.sin(x)
        yield f"gelu_{n}", lambda: torch.nn.functional.gelu(x)
        yield f"normal_{n}", lambda: torch.randn(n)
        rows = x.reshape(n // 1000, 1000)
        yield f"softmax_{n}", lambda: torch.softmax(rows, 1)
        yield f"mean_axis_{n}", lambda: rows.mean(1)
    for m, k, n in PRODUCTS:
        x, y = torch.rand(m, k), torch.rand(k, n)
        yield product_name(m, k, n), lambda: x @ y
    for extent, channels, filters, window, stride in CONVOLUTIONS:
        x = torch.rand(BATCH, channels, extent, extent, requires_grad=True)
        f = torch.rand(filters, channels, window, window, requires_grad=True)

        def convolve():
            y = torch.nn.functional.conv2d(x, f, stride=stride, padding=window // 2)
            return torch.autograd.grad(y.sum(), [x, f])

        yield f"conv_{extent}_{channels}_{filters}_{window}x{window}_{stride}", convolve


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="", help="cases with this in their names")
    options = parser.parse_args()
    tf.config.set_num_threads(options.threads)
    peers = None
    if torch:
        torch.set_num_threads(options.threads)
        peers = torch_cases()
    for case, ours, repeat in tapedeck_cases():
        peer = next(peers) if peers else None
        if options.only not in case:
            continue
        row = dict(case=case, ns=round(best(ours, repeat), 1), threads=options.threads)
        if peer:
            assert peer[0] == case
            row["torch_ns"] = round(best(peer[1], repeat), 1)
            row["ratio"] = round(row["ns"] / row["torch_ns"], 3)
            row["peer"] = "torch " + torch.__version__
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
