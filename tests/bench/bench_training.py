"""Training steps (forward, backward, Adam) beside PyTorch's. One JSON line per case: milliseconds of a step, the median of rounds
that alternate between a process of Tapedeck and one of PyTorch, so that both see the same machine; their ratio; and the loss after some
steps from other first values, as a sign that both train.

    python3 bench_training.py [--torch PYTHON] [--threads 2] [--rounds 7] [--cases mlp,lstm] [--device cpu|gpu]

--torch: an interpreter that can import torch; without it Tapedeck runs alone. --device gpu: both on the first GPU. --cpu counts the
processor's time, not the clock's: for a busy machine, with --threads 1. Two more cases: `adam`, an update of 10⁷ parameters in gigabytes
a second of what it must read and write (28 bytes a parameter), to be seen beside bench_machine's rate; `start`, seconds from the
interpreter's start to the end of a first step."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

from peer_cases import environment_of

CASES = "mlp", "lenet", "resnet50", "lstm", "transformer", "adam", "start"
RESNET = (64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)
PARAMETERS = 10**7


def numbers(*shape):
    import numpy as np
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def classes(count, batch):
    import numpy as np
    return np.random.default_rng(batch).integers(0, count, batch)


# ---- Tapedeck ----

def ours(case):
    """A function that does a step and returns the loss."""
    import tapedeck as tf
    layers = tf.keras.layers
    if case == "adam":
        variable, gradient = tf.Variable(numbers(PARAMETERS)), tf.constant(numbers(PARAMETERS) * 2)
        optimizer = tf.keras.optimizers.Adam(1e-3)
        return lambda: optimizer.apply_gradients([(gradient, variable)])
    model, inputs, labels = {"mlp": our_mlp, "lenet": our_lenet, "resnet50": our_resnet, "lstm": our_lstm,
                             "transformer": our_transformer}[case](tf, layers)
    optimizer = tf.keras.optimizers.Adam(1e-3)
    inputs = tf.constant(inputs)
    labels = None if labels is None else tf.constant(labels)

    def step():
        with tf.GradientTape() as tape:
            outputs = model(inputs)
            if labels is None:
                loss = tf.reduce_mean(tf.square(outputs))
            else:
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=outputs))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    return step


def our_mlp(tf, layers):
    model = tf.keras.Sequential([layers.Dense(512, "relu"), layers.Dense(512, "relu"), layers.Dense(10)])
    return model, numbers(128, 784), classes(10, 128)


def our_lenet(tf, layers):
    model = tf.keras.Sequential([
        layers.Conv2D(6, 5, padding="same", activation="relu"), layers.MaxPooling2D(), layers.Conv2D(16, 5, activation="relu"),
        layers.MaxPooling2D(), layers.Flatten(), layers.Dense(120, "relu"), layers.Dense(84, "relu"), layers.Dense(10)])
    return model, numbers(128, 28, 28, 1), classes(10, 128)


def our_resnet(tf, layers):
    class Block(tf.keras.Model):
        def __init__(self, width, stride, projects):
            super().__init__()
            self.convolutions = [layers.Conv2D(width, 1, use_bias=False),
                                 layers.Conv2D(width, 3, stride, "same", use_bias=False),
                                 layers.Conv2D(4 * width, 1, use_bias=False)]
            self.norms = [layers.BatchNormalization() for _ in range(3)]
            self.projection = layers.Conv2D(4 * width, 1, stride, use_bias=False) if projects else None
            self.projection_norm = layers.BatchNormalization() if projects else None

        def call(self, x, training=True):
            h = x
            for number, (convolution, norm) in enumerate(zip(self.convolutions, self.norms)):
                h = norm(convolution(h), training=True)
                if number < 2:
                    h = tf.nn.relu(h)
            return tf.nn.relu(h + (x if self.projection is None else self.projection_norm(self.projection(x), training=True)))

    class ResNet(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.stem, self.stem_norm = layers.Conv2D(64, 7, 2, "same", use_bias=False), layers.BatchNormalization()
            self.pool = layers.MaxPooling2D(3, 2, "same")
            self.blocks = [Block(width, stride if not number else 1, not number)
                           for width, count, stride in RESNET for number in range(count)]
            self.head = layers.Dense(1000)

        def call(self, x):
            x = self.pool(tf.nn.relu(self.stem_norm(self.stem(x), training=True)))
            for block in self.blocks:
                x = block(x)
            return self.head(tf.reduce_mean(x, [1, 2]))

    return ResNet(), numbers(8, 224, 224, 3), classes(1000, 8)


def our_lstm(tf, layers):
    model = tf.keras.Sequential([layers.LSTM(256, return_sequences=True), layers.LSTM(256, return_sequences=True)])
    return model, numbers(32, 64, 256), None


def our_transformer(tf, layers):
    class Block(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.attention = layers.MultiHeadAttention(8, 32)
            self.first, self.second = layers.LayerNormalization(), layers.LayerNormalization()
            self.up, self.down = layers.Dense(1024, "gelu"), layers.Dense(256)

        def call(self, x):
            normed = self.first(x)
            x = x + self.attention(normed, normed)
            return x + self.down(self.up(self.second(x)))

    return Block(), numbers(16, 128, 256), None


# ---- PyTorch ----

def peer(case):
    """The same in PyTorch."""
    import torch
    from torch import nn
    if case == "adam":
        parameter = nn.Parameter(torch.tensor(numbers(PARAMETERS)))
        parameter.grad = torch.tensor(numbers(PARAMETERS) * 2)
        return torch.optim.Adam([parameter], 1e-3, fused=True).step
    model, inputs, labels = {"mlp": peer_mlp, "lenet": peer_lenet, "resnet50": peer_resnet, "lstm": peer_lstm,
                             "transformer": peer_transformer}[case](torch, nn)
    optimizer = torch.optim.Adam(model.parameters(), 1e-3, fused=True)
    inputs = torch.tensor(inputs)
    labels = None if labels is None else torch.tensor(labels)

    def step():
        optimizer.zero_grad()
        outputs = model(inputs)
        loss = outputs.square().mean() if labels is None else nn.functional.cross_entropy(outputs, labels)
        loss.backward()
        optimizer.step()
        return loss

    return step


def peer_mlp(torch, nn):
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, numbers(128, 784), classes(10, 128)


def peer_lenet(torch, nn):
    model = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))
    return model, numbers(128, 1, 28, 28), classes(10, 128)


def peer_resnet(torch, nn):
    class Block(nn.Module):
        def __init__(self, channels, width, stride, projects):
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width))
            self.around = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False),
                                        nn.BatchNorm2d(4 * width)) if projects else nn.Identity()

        def forward(self, x):
            return torch.relu(self.inner(x) + self.around(x))

    blocks, channels = [], 64
    for width, count, stride in RESNET:
        for number in range(count):
            blocks.append(Block(channels, width, stride if not number else 1, not number))
            channels = 4 * width
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1), *blocks,
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    return model, numbers(8, 3, 224, 224), classes(1000, 8)


def peer_lstm(torch, nn):
    class First(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(256, 256, 2, batch_first=True)

        def forward(self, x):
            return self.layer(x)[0]

    return First(), numbers(32, 64, 256), None


def peer_transformer(torch, nn):
    model = nn.TransformerEncoderLayer(256, 8, 1024, 0.0, "gelu", batch_first=True, norm_first=True)
    return model, numbers(16, 128, 256), None


# ---- processes ----

def nothing():
    pass


def work(side, case, threads, clock, device):
    """Answers each line on standard input, a number of steps, with the seconds that they took and the last loss."""
    began = time.time()
    wait = nothing
    if side == "torch":
        import torch
        torch.set_num_threads(threads)
        if device == "gpu":
            torch.set_default_device("cuda")
            torch.backends.cudnn.allow_tf32 = False  # as everywhere else, and as we do
            wait = torch.cuda.synchronize
        step = peer("mlp" if case == "start" else case)
    else:
        import tapedeck as tf
        tf.config.set_num_threads(threads)
        if device == "gpu":
            if tf.tfe.num_gpus() == 0:
                sys.exit("bench_training.py: tapedeck finds no GPU")
            wait = tf.tfe.async_wait
        step = ours("mlp" if case == "start" else case)
    step()
    wait()
    if case == "start":
        print(json.dumps([time.time() - float(os.environ["BENCH_STARTED"]), time.time() - began]), flush=True)
        return
    for _ in range(2):
        step()
    wait()
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        start = clock()
        for _ in range(int(line)):
            result = step()
        wait()
        seconds = clock() - start
        loss = None if case == "adam" else float(result if side == "tapedeck" else result.detach())
        print(json.dumps([seconds, loss]), flush=True)


class Worker:
    def __init__(self, interpreter, side, case, options):
        environment = {**environment_of(side), "OMP_NUM_THREADS": str(options.threads), "BENCH_STARTED": str(time.time())}
        self.process = subprocess.Popen(
            [interpreter, __file__, "--worker", side, "--cases", case, "--threads", str(options.threads),
             "--device", options.device] + ["--cpu"] * options.cpu,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.first = self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a process ended early")
        return json.loads(line)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return self.answer()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def alternate(workers, rounds, seconds):
    """(milliseconds of a step in each round, last loss) for each worker. A step before each round is not counted: its process was idle
    while the other one ran, and a training loop does not."""
    steps = [max(1, int(seconds / worker.run(1)[0])) for worker in workers]
    found = [[] for _ in workers]
    losses = [None] * len(workers)
    for _ in range(rounds):
        for place, worker in enumerate(workers):
            worker.run(1)
            taken, losses[place] = worker.run(steps[place])
            found[place].append(1e3 * taken / steps[place])
    return found, losses


def measure(case, sides, options):
    row = dict(case=case, threads=options.threads, device=options.device)
    if case == "start":
        for name, interpreter in sides:
            times = []
            for _ in range(options.rounds):
                worker = Worker(interpreter, name, case, options)
                times.append(worker.first[0])
                worker.end()
            row[name + "_seconds"] = round(statistics.median(times), 3)
        return row
    workers = [Worker(interpreter, name, case, options) for name, interpreter in sides]
    found, losses = alternate(workers, options.rounds, options.seconds)
    for worker in workers:
        worker.end()
    medians = [statistics.median(each) for each in found]
    for (name, _), median, loss, each in zip(sides, medians, losses, found):
        row[name + "_ms"], row[name + "_best_ms"] = round(median, 3), round(min(each), 3)
        if loss is not None:
            row[name + "_loss"] = round(loss, 4)
        if case == "adam":
            row[name + "_gb_per_s"] = round(28e-6 * PARAMETERS / median, 1)
    if len(medians) == 2:
        row["ratio"] = round(medians[0] / medians[1], 3)
        row["best_ratio"] = round(min(found[0]) / min(found[1]), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", help="an interpreter that can import torch")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=.5, help="of a round")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--cpu", action="store_true", help="the processor's time")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker, options.cases, options.threads, time.process_time if options.cpu else time.perf_counter,
                    options.device)
    sides = [("tapedeck", sys.executable)] + ([("torch", options.torch)] if options.torch else [])
    for case in options.cases.split(","):
        if case not in CASES:
            parser.error(f"no case {case!r}; there are {', '.join(CASES)}")
        print(json.dumps(measure(case, sides, options)), flush=True)


if __name__ == "__main__":
    main()
