"""The autoencoder benchmark: a one-layer sigmoid autoencoder with tied weights (784-196-784, no bias), mean squared error,
full-batch L-BFGS with learning rate 1 and no line search. Prints one JSON line: the loss after every evaluation, and the
median seconds of an iteration.

    python autoencoder_lbfgs.py --batch 10000 --history 100 --iterations 51 [--double] [--data FOLDER]

With --recording it prints what recording costs instead: every other iteration is recorded, first with records alone, then with
the default keeping of values; one JSON line each, medians.
"""
import argparse
import json
import os
import statistics
import time

import numpy as np

import tapedeck as tf
from tapedeck.keras._datasets import idx


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=10000)
    parser.add_argument("--history", type=int, default=100)
    parser.add_argument("--iterations", type=int, default=51)
    parser.add_argument("--threads", type=int, default=tf.config.get_num_threads())
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--recording", action="store_true", help="measure what recording costs")
    parser.add_argument("--data", help="folder of MNIST's files; else TAPEDECK_MNIST, else Debian's Fashion-MNIST")
    return parser.parse_args()


def compare_recording(optimizer, loss, variable, iterations):
    """Every other iteration is recorded, so a slower moment of the machine meets both kinds."""
    debug = tf._engine.debug
    for case, keep_values in (("records alone", False), ("default keeping", True)):
        seconds = {False: [], True: []}
        started, recorded = None, False

        def take_turns(iteration, value):
            nonlocal started, recorded
            if iteration > 4:
                seconds[recorded].append(time.perf_counter() - started)
            recorded = not recorded
            debug.set_recording(recorded)
            started = time.perf_counter()

        debug.attach(keep_values=keep_values)
        optimizer.minimize(loss, [variable], iterations, take_turns)
        debug.stop()
        without, recording = statistics.median(seconds[False]), statistics.median(seconds[True])
        print(json.dumps(dict(bench="autoencoder_recording", case=case, seconds_per_iteration=recording,
                              seconds_without=without, ratio=recording / without, iterations=len(seconds[True]))))


def main():
    options = arguments()
    tf.config.set_num_threads(options.threads)
    dtype = tf.float64 if options.double else tf.float32
    np.random.seed(1)
    limit = np.sqrt(6) / np.sqrt(784 + 196 + 1)
    initial = (np.random.random(784 * 196) * 2 * limit - limit).reshape(784, 196).astype(np.float32)
    images = idx.read(os.path.join(options.data or idx.folder(), "train-images-idx3-ubyte.gz"), 3)
    pixels = tf.reshape(tf.constant(images[:options.batch]), [-1, 784])
    data = tf.cast(tf.cast(pixels, tf.float32) / 255., dtype)
    del images, pixels
    w = tf.Variable(initial.astype(dtype.as_numpy_dtype), name="w")
    stamps = []

    def loss():
        hidden = tf.sigmoid(data @ w)
        output = tf.sigmoid(tf.matmul(hidden, w, transpose_b=True))
        return tf.losses.mean_squared_error(data, output)

    optimizer = tf.train.LBFGS(history_size=options.history)
    if options.recording:
        return compare_recording(optimizer, loss, w, options.iterations)
    losses = optimizer.minimize(loss, [w], options.iterations, lambda iteration, value: stamps.append(time.perf_counter()))
    steps = [after - before for before, after in zip(stamps[2:], stamps[3:])] or [float("nan")]
    print(json.dumps(dict(peer="tapedeck " + tf.__version__, threads=tf.config.get_num_threads(), batch=options.batch,
                          history=options.history, evaluations=len(losses), seconds_per_iteration=statistics.median(steps),
                          slowest=max(steps), last=losses[-1], losses=losses)))


if __name__ == "__main__":
    main()
