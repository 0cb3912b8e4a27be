"""What subnormal numbers cost ops, and what flushing them gives back: one JSON line each, with the time against that of usual
numbers. Processors differ much in this."""
import json
import time

import tapedeck as tf

# name → the op, two operands that meet subnormal numbers, and two that do not
CASES = {
    "multiply": (lambda x, y: x * y, (1e-20, 1e-20), (1.0, 0.5)),
    "divide": (lambda x, y: x / y, (1e-40, 0.5), (1.0, 0.5)),
    "sqrt": (lambda x, y: tf.sqrt(x), (1e-40, 0.0), (1.0, 0.0)),
    "exp": (lambda x, y: tf.exp(x), (-95.0, 0.0), (1.0, 0.0)),
    "sigmoid": (lambda x, y: tf.sigmoid(x), (-100.0, 0.0), (1.0, 0.0)),
    "matmul": (lambda x, y: tf.matmul(x, y), (1e-20, 1e-21), (1.0, 0.5)),
    "playback": (lambda x, y: playback(x, y), (1e-40, 0.9), (1.0, 0.9)),
}


def playback(x, y):
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = x
        for _ in range(20):
            z = tf.sqrt(z * z) * y
    return tape.gradient(z, x, output_gradients=x)


def seconds(f, values, flush):
    tf.set_flush_denormal(flush)
    x, y = (tf.fill([512, 512], value) for value in values)
    best = float("inf")
    for _ in range(9):
        start = time.perf_counter()
        f(x, y)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    for name, (f, subnormal, usual) in CASES.items():
        base = seconds(f, usual, False)
        print(json.dumps(dict(bench="subnormals", op=name, usual_us=round(1e6 * base),
                              against_usual=round(seconds(f, subnormal, False) / base, 2),
                              flushed=round(seconds(f, subnormal, True) / base, 2))))


if __name__ == "__main__":
    main()
