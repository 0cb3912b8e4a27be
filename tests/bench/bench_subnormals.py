"""What subnormal numbers cost a tape of vanishing gradients, and what flushing them gives back: one JSON line each."""
import json
import time

import tapedeck as tf


def seconds(scale, flush):
    """Of a playback through 40 layers whose gradients are `scale`."""
    tf.set_flush_denormal(flush)
    x = tf.fill([512, 512], scale)
    best = float("inf")
    for _ in range(5):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in range(40):
                y = y * 0.999
        start = time.perf_counter()
        tape.gradient(y, x, output_gradients=x)
        best = min(best, time.perf_counter() - start)
    return best


def main():
    usual = seconds(1.0, False)
    for flush in (False, True):
        here = seconds(1e-40, flush)
        print(json.dumps(dict(bench="subnormals", flush=flush, seconds=round(here, 5), against_usual_numbers=round(here / usual, 2))))


if __name__ == "__main__":
    main()
