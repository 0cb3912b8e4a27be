"""The cases of beside_peer.py, the same in tapedeck and in torch; the process that runs them in one of both.

    python peer_cases.py tapedeck|torch THREADS cpu|gpu

reads the name of a case per line and answers with a line of JSON: the seconds of one call, the best of several rounds
that together take about a tenth of a second; for the autoencoder the median of its iterations. On a GPU a round ends
when it has done all the work.
"""
import gzip
import json
import os
import statistics
import sys
import time

LENGTHS = (10**4, 10**5, 10**6, 10**7)
ELEMENTWISE = ("add", "exp", "tanh", "sigmoid", "log", "erf", "gelu", "softmax", "sum", "mean")
OTHERS = ("pow", "digamma", "lgamma", "int_division", "cumsum", "gather")  # of 10⁶ elements
PRODUCTS = (256, 1024, 2048)
AUTOENCODERS = {"autoencoder_10000": (10000, 100), "autoencoder_60000": (60000, 5)}  # images, history
INPUTS, UNITS = 784, 196
SIGNALS = ("stft_400000", "fft_781x512", "rfft_781x512")
LAYERS = ("convolution_32x56x56x64", "layer_norm_8192x1024", "attention_8x8x1024x64", "transpose_4096", "sort_1000000",
          "mlp_step_128")  # on GPUs alone


def names(device="cpu"):
    """Of all cases, in the order in which they run."""
    yield from ("add_scalar", "matmul_32", "gradient_4_ops")
    for length in (*LENGTHS, 10**8) if device == "gpu" else LENGTHS:
        yield from (f"{name}_{length}" for name in ELEMENTWISE)
    yield from (f"{name}_{10**6}" for name in OTHERS)
    yield from (f"matmul_{size}" for size in ((*PRODUCTS, 8192) if device == "gpu" else PRODUCTS))
    if device == "gpu":
        yield from LAYERS
    yield from ("resize_8x224x224x3", *SIGNALS, "top_k_4000x1000", "unique_1000000", "svd_64", "svd_1000x8", "eigh_64", *AUTOENCODERS)


def work(case):
    """What a case does that the machine has a rate of: ("flops", count) or (stream, length of a vector); else None."""
    name, _, size = case.rpartition("_")
    if case in AUTOENCODERS:
        return "flops", 5 * 2.0 * int(size) * INPUTS * UNITS  # two products forward, three of gradients
    if not size.isdigit():
        return None
    if name == "matmul":
        return "flops", 2.0 * int(size) ** 3
    if name in ("add", "pow"):
        return "add", int(size)
    if name in ("sum", "mean"):
        return "read", int(size)
    if name in ELEMENTWISE or name in ("digamma", "lgamma", "cumsum"):
        return "copy", int(size)
    return None


def environment_of(framework):
    """The environment of a process of that framework: PyTorch's without what Tapedeck's Python needs. Where Tapedeck runs with its own
    libraries (tests/cuda/run_bundle), the machine's search path is TAPEDECK_LIBRARIES_OF_THE_MACHINE."""
    environment = dict(os.environ)
    if framework == "torch":
        for name in ("PYTHONPATH", "PYTHONHOME"):
            environment.pop(name, None)
        outer = environment.pop("TAPEDECK_LIBRARIES_OF_THE_MACHINE", None)
        if outer is not None:
            environment["LD_LIBRARY_PATH"] = outer
    return environment


def images(count):
    """The first images of MNIST or Fashion-MNIST, with elements from 0 to 1."""
    import numpy as np
    folder = os.environ.get("TAPEDECK_MNIST", "/usr/share/datasets/fashion-mnist")
    with gzip.open(os.path.join(folder, "train-images-idx3-ubyte.gz")) as file:
        data = np.frombuffer(file.read(16 + count * INPUTS), np.uint8, offset=16)
    return data.reshape(count, INPUTS).astype(np.float32) / np.float32(255)


def inputs(kind, *shape):
    """The same for both."""
    import numpy as np
    generator = np.random.default_rng(1)
    if kind == "whole":
        return generator.integers(1, 1000, shape)
    if kind == "normal":
        return generator.standard_normal(shape, np.float32)
    return generator.random(shape, np.float32) + np.float32(1e-3)


class Tapedeck:
    def __init__(self, threads, device):
        import tapedeck as tf
        self.tf = tf
        tf.config.set_num_threads(threads)
        self.wait = tf.tfe.async_wait if device == "gpu" else lambda: None
        if device == "gpu" and tf.tfe.num_gpus() == 0:
            sys.exit("peer_cases.py: tapedeck finds no GPU")

    def array(self, values):
        return self.tf.constant(values)

    def call(self, case):
        tf, (name, _, size) = self.tf, case.rpartition("_")
        if case in AUTOENCODERS:
            return None
        if name == "add" and size == "scalar":
            a, b = tf.ones([]), tf.ones([])
            return lambda: a + b
        if case == "gradient_4_ops":
            w, c, d = (self.array(inputs("uniform", 10)) for _ in range(3))

            def gradient():
                with tf.GradientTape() as tape:
                    tape.watch(w)
                    y = tf.reduce_sum((w * c + d) * w)
                return tape.gradient(y, w)
            return gradient
        if name == "matmul":
            x, y = (self.array(inputs("uniform", int(size), int(size))) for _ in range(2))
            return lambda: tf.matmul(x, y)
        if name in ("svd", "eigh"):
            a = self.array(matrices(case))
            return (lambda: tf.linalg.svd(a)) if name == "svd" else (lambda: tf.linalg.eigh(a))
        if name == "resize":
            x = self.array(inputs("uniform", 8, 224, 224, 3))
            return lambda: tf.image.resize(x, [448, 448])
        if name == "stft":
            x = self.array(inputs("normal", int(size)))
            return lambda: tf.signal.stft(x, 512, 128)
        if name in ("fft", "rfft"):
            x = self.array(inputs("normal", 781, 512))
            z = tf.cast(x, tf.complex64)
            return (lambda: tf.signal.fft(z)) if name == "fft" else (lambda: tf.signal.rfft(x))
        if name == "top_k":
            x = self.array(inputs("normal", 4000, 1000))
            return lambda: tf.math.top_k(x, 10)
        if case in LAYERS:
            return self.layer(name)
        if name in ("unique", "int_division"):
            n, m = self.array(inputs("whole", int(size))), self.array(inputs("whole", int(size))[::-1].copy())
            return (lambda: tf.unique(n)) if name == "unique" else (lambda: n // m)
        x, y = self.array(inputs("uniform", int(size))), self.array(inputs("uniform", int(size)))
        if name == "gather":
            places = self.array(inputs("whole", int(size)) * (int(size) // 1000))
            return lambda: tf.gather(x, places)
        rows = tf.reshape(x, [-1, 1000])
        return {
            "add": lambda: x + y, "exp": lambda: tf.exp(x), "tanh": lambda: tf.tanh(x),
            "sigmoid": lambda: tf.sigmoid(x), "log": lambda: tf.math.log(x), "erf": lambda: tf.math.erf(x),
            "gelu": lambda: tf.nn.gelu(x, approximate=False), "softmax": lambda: tf.nn.softmax(rows),
            "sum": lambda: tf.reduce_sum(x), "mean": lambda: tf.reduce_mean(rows, 1), "pow": lambda: x ** y,
            "digamma": lambda: tf.math.digamma(x), "lgamma": lambda: tf.math.lgamma(x), "cumsum": lambda: tf.cumsum(x),
        }[name]

    def layer(self, name):
        tf = self.tf
        if name == "convolution":
            x, w = self.array(inputs("normal", 32, 56, 56, 64)), self.array(inputs("normal", 3, 3, 64, 64))
            return lambda: tf.nn.conv2d(x, w, 1, "SAME")
        if name == "layer_norm":
            x, scale, offset = (self.array(inputs("normal", *shape)) for shape in ((8192, 1024), (1024,), (1024,)))
            layer = tf.keras.layers.LayerNormalization()
            layer(x)
            return lambda: layer(x)
        if name == "attention":
            q, k, v = (self.array(inputs("normal", 8, 8, 1024, 64)) for _ in range(3))
            layer = tf.keras.layers.Attention(use_scale=False)
            return lambda: layer([q, v, k])
        if name == "transpose":
            x = self.array(inputs("normal", 4096, 4096))
            return lambda: tf.transpose(x) + 0.0
        if name == "sort":
            x = self.array(inputs("normal", 10**6))
            return lambda: tf.sort(x)
        x, w, v = (self.array(inputs("normal", *shape)) for shape in ((128, 784), (784, 128), (128, 10)))
        w, v = tf.Variable(w), tf.Variable(v)
        labels = self.array(inputs("whole", 128) % 10)
        optimizer = tf.train.AdamOptimizer(1e-3)

        def step():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=labels, logits=tf.nn.relu(x @ w) @ v))
            optimizer.apply_gradients(zip(tape.gradient(loss, [w, v]), [w, v]))
        return step

    def minimize(self, data, initial, history, iterations, stamp):
        tf = self.tf
        data, w = tf.constant(data), tf.Variable(initial)

        def loss():
            hidden = tf.sigmoid(data @ w)
            return tf.losses.mean_squared_error(data, tf.sigmoid(tf.matmul(hidden, w, transpose_b=True)))
        tf.train.LBFGS(history_size=history).minimize(loss, [w], iterations, lambda iteration, value: stamp())


class Torch:
    def __init__(self, threads, device):
        import torch
        self.torch = torch
        torch.set_num_threads(threads)
        torch.set_default_device("cuda" if device == "gpu" else "cpu")
        self.wait = torch.cuda.synchronize if device == "gpu" else lambda: None
        torch.backends.cudnn.allow_tf32 = False  # as everywhere else, and as we do

    def array(self, values):
        return self.torch.tensor(values)

    def call(self, case):
        torch, (name, _, size) = self.torch, case.rpartition("_")
        if case in AUTOENCODERS:
            return None
        if name == "add" and size == "scalar":
            a, b = torch.ones([]), torch.ones([])
            return lambda: a + b
        if case == "gradient_4_ops":
            w, c, d = (self.array(inputs("uniform", 10)) for _ in range(3))
            w.requires_grad_(True)
            return lambda: torch.autograd.grad(((w * c + d) * w).sum(), w)
        if name == "matmul":
            x, y = (self.array(inputs("uniform", int(size), int(size))) for _ in range(2))
            return lambda: x @ y
        if name in ("svd", "eigh"):
            a = self.array(matrices(case))
            if name == "eigh":
                return lambda: torch.linalg.eigh(a)
            return lambda: torch.linalg.svd(a, full_matrices=False)
        if name == "resize":
            x = self.array(inputs("uniform", 8, 224, 224, 3)).permute(0, 3, 1, 2)  # channels last in memory, as ours
            return lambda: torch.nn.functional.interpolate(x, (448, 448), mode="bilinear", align_corners=False)
        if name == "stft":
            x, window = self.array(inputs("normal", int(size))), torch.hann_window(512)
            return lambda: torch.stft(x, 512, 128, window=window, center=False, return_complex=True)
        if name in ("fft", "rfft"):
            x = self.array(inputs("normal", 781, 512))
            z = x.to(torch.complex64)
            return (lambda: torch.fft.fft(z)) if name == "fft" else (lambda: torch.fft.rfft(x))
        if name == "top_k":
            x = self.array(inputs("normal", 4000, 1000))
            return lambda: torch.topk(x, 10)
        if case in LAYERS:
            return self.layer(name)
        if name in ("unique", "int_division"):
            n, m = self.array(inputs("whole", int(size))), self.array(inputs("whole", int(size))[::-1].copy())
            return (lambda: torch.unique(n, return_inverse=True)) if name == "unique" else (lambda: n // m)
        x, y = self.array(inputs("uniform", int(size))), self.array(inputs("uniform", int(size)))
        if name == "gather":
            places = self.array(inputs("whole", int(size)) * (int(size) // 1000))
            return lambda: x[places]
        rows = x.reshape(-1, 1000)
        return {
            "add": lambda: x + y, "exp": lambda: torch.exp(x), "tanh": lambda: torch.tanh(x),
            "sigmoid": lambda: torch.sigmoid(x), "log": lambda: torch.log(x), "erf": lambda: torch.erf(x),
            "gelu": lambda: torch.nn.functional.gelu(x), "softmax": lambda: torch.softmax(rows, 1),
            "sum": lambda: x.sum(), "mean": lambda: rows.mean(1), "pow": lambda: x ** y,
            "digamma": lambda: torch.digamma(x), "lgamma": lambda: torch.lgamma(x),
            "cumsum": lambda: torch.cumsum(x, 0),
        }[name]

    def layer(self, name):
        torch, functional = self.torch, self.torch.nn.functional
        if name == "convolution":  # channels last in memory, as ours
            x = self.array(inputs("normal", 32, 56, 56, 64)).permute(0, 3, 1, 2)
            w = self.array(inputs("normal", 3, 3, 64, 64)).permute(3, 2, 0, 1).contiguous(memory_format=torch.channels_last)
            return lambda: functional.conv2d(x, w, padding="same")
        if name == "layer_norm":
            x, scale, offset = (self.array(inputs("normal", *shape)) for shape in ((8192, 1024), (1024,), (1024,)))
            return lambda: functional.layer_norm(x, (1024,), scale, offset)
        if name == "attention":
            q, k, v = (self.array(inputs("normal", 8, 8, 1024, 64)) for _ in range(3))
            return lambda: functional.scaled_dot_product_attention(q, k, v)
        if name == "transpose":
            x = self.array(inputs("normal", 4096, 4096))
            return lambda: x.t() + 0.0
        if name == "sort":
            x = self.array(inputs("normal", 10**6))
            return lambda: torch.sort(x)
        x, w, v = (self.array(inputs("normal", *shape)) for shape in ((128, 784), (784, 128), (128, 10)))
        w.requires_grad_(True), v.requires_grad_(True)
        labels = self.array(inputs("whole", 128) % 10)
        optimizer = torch.optim.Adam([w, v], 1e-3)

        def step():
            optimizer.zero_grad()
            functional.cross_entropy(torch.relu(x @ w) @ v, labels).backward()
            optimizer.step()
        return step

    def minimize(self, data, initial, history, iterations, stamp):
        torch = self.torch
        data, w = torch.tensor(data), torch.nn.Parameter(torch.tensor(initial))
        optimizer = torch.optim.LBFGS([w], max_iter=iterations, history_size=history, lr=1.0)

        def closure():
            optimizer.zero_grad()
            hidden = torch.sigmoid(data @ w)
            loss = torch.nn.functional.mse_loss(torch.sigmoid(hidden @ w.t()), data)
            loss.item()
            stamp()
            loss.backward()
            return loss
        optimizer.step(closure)


def matrices(case):
    if case == "svd_1000x8":
        return inputs("normal", 1000, 8, 8)
    a = inputs("normal", 64, 64)
    return a + a.T if case == "eigh_64" else a


def seconds(call, wait):
    call()
    wait()
    start = time.perf_counter()
    call()
    wait()
    once = time.perf_counter() - start
    repeat = max(1, int(0.004 / max(once, 1e-7)))
    best = once
    for _ in range(max(3, min(25, int(0.1 / (repeat * max(once, 1e-7)))))):
        start = time.perf_counter()
        for _ in range(repeat):
            call()
        wait()
        best = min(best, (time.perf_counter() - start) / repeat)
    return best


def iteration_seconds(framework, case):
    """The median of 51 iterations, from the fourth on."""
    import numpy as np
    count, history = AUTOENCODERS[case]
    limit = np.sqrt(6 / (INPUTS + UNITS + 1))
    initial = np.random.default_rng(1).uniform(-limit, limit, (INPUTS, UNITS)).astype(np.float32)
    stamps = []
    framework.minimize(images(count), initial, history, 51, lambda: stamps.append(time.perf_counter()))
    return statistics.median(after - before for before, after in zip(stamps[2:], stamps[3:]))


def main():
    framework = {"tapedeck": Tapedeck, "torch": Torch}[sys.argv[1]](int(sys.argv[2]), sys.argv[3])
    print(json.dumps({"ready": sys.argv[1]}), flush=True)
    calls = {}
    for line in sys.stdin:
        case = line.strip()
        if case not in calls:
            calls = {case: framework.call(case)}  # the operands of the case before go
        call = calls[case]
        print(json.dumps(seconds(call, framework.wait) if call else iteration_seconds(framework, case)), flush=True)


if __name__ == "__main__":
    main()
