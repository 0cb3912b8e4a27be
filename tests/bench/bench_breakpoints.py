"""What breakpoints cost: a watch for NaN and infinities over the autoencoder of autoencoder_lbfgs.py, and breakpoints that are
never hit, for each small op. Prints JSON lines; the cases take turns, so a slower moment of the machine meets all of them.

    python bench_breakpoints.py [--batch 10000] [--iterations 51] [--torch PYTHON] [--data FOLDER]

--torch: an interpreter that has PyTorch; the same model then runs there, every other iteration under
torch.autograd.detect_anomaly.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

import numpy as np

import tapedeck as tf
from tapedeck.keras._datasets import idx

debug = tf._engine.debug

NAN_WATCH = [dict(kind="condition", condition="nan(out) or inf(out)")]
LINE = [dict(kind="line", cell="no such cell", line=3)]
TEN = [dict(kind="line", cell="no such cell", line=line) for line in (3, 7, 11)] + [
    dict(kind="op", target="svd"), dict(kind="op", target="*pool*"), dict(kind="vjp", target="matmul"),
    dict(kind="write", target="no_such_variable"), dict(kind="playback"), dict(kind="exception"),
    dict(kind="condition", condition="op:softmax and max(abs(out)) > 1e3")]

TORCH = """
import json, statistics, sys, time, numpy as np, torch
images, batch, history, iterations, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
np.random.seed(1)
limit = np.sqrt(6) / np.sqrt(784 + 196 + 1)
initial = (np.random.random(784 * 196) * 2 * limit - limit).reshape(784, 196).astype(np.float32)
data = torch.tensor(np.load(images))
w = torch.nn.Parameter(torch.tensor(initial))
optimizer = torch.optim.LBFGS([w], max_iter=iterations, history_size=history, lr=1.0)
seconds, count, started = {False: [], True: []}, 0, 0
def closure():
    global count, started
    now, watched = time.perf_counter(), (count - 1) % 2 == 1
    if count > 4: seconds[watched].append(now - started)
    started = now
    count += 1
    torch.autograd.set_detect_anomaly((count - 1) % 2 == 1)
    optimizer.zero_grad()
    hidden = torch.sigmoid(data @ w)
    loss = torch.nn.functional.mse_loss(torch.sigmoid(hidden @ w.t()), data)
    loss.backward()
    return loss
optimizer.step(closure)
without, watching = statistics.median(seconds[False]), statistics.median(seconds[True])
print(json.dumps(dict(bench="breakpoints", case="torch.autograd.detect_anomaly over the autoencoder", torch=torch.__version__,
                      seconds_per_iteration=watching, seconds_without=without, ratio=watching / without)))
"""


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=10000)
    parser.add_argument("--history", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=51)
    parser.add_argument("--torch", help="an interpreter that has PyTorch")
    parser.add_argument("--data", help="folder of MNIST's files; else TAPEDECK_MNIST, else Debian's Fashion-MNIST")
    return parser.parse_args()


def watch_autoencoder(options, data):
    np.random.seed(1)
    limit = np.sqrt(6) / np.sqrt(784 + 196 + 1)
    initial = (np.random.random(784 * 196) * 2 * limit - limit).reshape(784, 196).astype(np.float32)
    w = tf.Variable(initial, name="w")
    x = tf.constant(data)

    def loss():
        hidden = tf.sigmoid(x @ w)
        return tf.losses.mean_squared_error(x, tf.sigmoid(tf.matmul(hidden, w, transpose_b=True)))

    seconds = {False: [], True: []}
    started, watched = None, False

    def take_turns(iteration, value):
        nonlocal started, watched
        if iteration > 4:
            seconds[watched].append(time.perf_counter() - started)
        watched = not watched
        debug.set_breakpoints(NAN_WATCH if watched else [])
        started = time.perf_counter()

    debug.attach()
    tf.train.LBFGS(history_size=options.history).minimize(loss, [w], options.iterations, take_turns)
    debug.stop()
    without, watching = statistics.median(seconds[False]), statistics.median(seconds[True])
    print(json.dumps(dict(bench="breakpoints", case="NaN and infinity over the autoencoder", batch=options.batch,
                          seconds_per_iteration=watching, seconds_without=without, ratio=watching / without,
                          iterations=len(seconds[True]))), flush=True)


def small_ops(rounds=61, count=5000):
    x = tf.constant(1.5)
    multiply = tf.multiply
    cases = {"none": [], "one line, never hit": LINE, "ten, never hit": TEN, "NaN and infinity": NAN_WATCH}
    times = {name: [] for name in cases}
    debug.attach()
    for _ in range(rounds):
        for name, breakpoints in cases.items():
            debug.set_breakpoints(breakpoints)
            for _ in range(200):
                multiply(x, x)
            started = time.perf_counter_ns()
            for _ in range(count):
                multiply(x, x)
            times[name].append((time.perf_counter_ns() - started) / count)
    debug.stop()
    base = statistics.median(times["none"])
    for name, values in times.items():
        print(json.dumps(dict(bench="breakpoints", case=name + ", multiply of two scalars", ns_per_op=statistics.median(values),
                              added_ns=statistics.median(values) - base)), flush=True)


def main():
    options = arguments()
    small_ops()
    images = idx.read(os.path.join(options.data or idx.folder(), "train-images-idx3-ubyte.gz"), 3)[:options.batch]
    data = images.reshape(len(images), -1).astype(np.float32) / np.float32(255)
    watch_autoencoder(options, data)
    if options.torch:
        import tempfile
        with tempfile.NamedTemporaryFile(suffix=".npy") as file:
            np.save(file, data)
            file.flush()
            subprocess.run([options.torch, "-c", TORCH, file.name, str(options.batch), str(options.history),
                            str(options.iterations), str(tf.config.get_num_threads())], check=True)


if __name__ == "__main__":
    main()
