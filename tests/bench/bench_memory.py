"""A loop of 100,000 training steps must not grow: prints the resident memory along the way, one JSON line each.

    python bench_memory.py [STEPS]
"""
import json
import os
import sys

import tapedeck as tf


def resident_bytes():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    tf.set_random_seed(1)
    x, y = tf.random.normal([64, 16]), tf.random.normal([64, 1])
    w, b = tf.Variable(tf.random.normal([16, 1])), tf.Variable(tf.zeros([1]))
    for step in range(1, steps + 1):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ w + b) - y))
        of_w, of_b = tape.gradient(loss, [w, b])
        w.assign_sub(.01 * of_w)
        b.assign_sub(.01 * of_b)
        if step * 10 % steps == 0:
            print(json.dumps(dict(bench="memory", step=step, resident_mb=round(resident_bytes() / 2**20, 2), loss=float(loss))),
                  flush=True)


if __name__ == "__main__":
    main()
