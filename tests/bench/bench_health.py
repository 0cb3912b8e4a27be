"""What Health costs: training loops that are recorded with the panel closed and open, in pairs of rounds that alternate in one
process, and what the panel's requests take with many records. One JSON line per case.

    python3 bench_health.py [--rounds 9] [--seconds 1.0] [--cases mlp,lenet,lstm,records] [--records 1000000]

For mlp, lenet and lstm: milliseconds of a step closed and open (medians of the rounds), `ratio`: the median of the pairs' ratios;
`cpu_ratio`: the same of the processor's time, for a busy machine; `every`: one step of so many was sampled at the end. Open, the
table and what the rules say are asked for as often as the panel asks. `records`: milliseconds of the table, of the rules and of
recomputing 40 steps, with so many records."""
import argparse
import json
import statistics
import sys
import threading
import time

import numpy as np

import bench_training
import tapedeck as tf
from tapedeck import _engine

CASES = "mlp", "lenet", "lstm", "records"
ASKED_EVERY = 0.4  # seconds, as the panel does


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round")
    parser.add_argument("--cases", default=",".join(CASES))
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    options.cases = options.cases.split(",")
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"there is no case {sorted(unknown)[0]!r}; there are {', '.join(CASES)}")
    return options


class Panel(threading.Thread):
    """Asks what the panel asks, as long as it is open."""

    def __init__(self):
        super().__init__(daemon=True)
        self.closing, self.every = threading.Event(), 0

    def run(self):
        while not self.closing.is_set():
            self.every = _engine.debug.health(10_000)["every"]
            _engine.debug.health_findings(0)
            self.closing.wait(ASKED_EVERY)

    def close(self):
        self.closing.set()
        self.join()
        _engine.debug.health(0)


def step_ms(step, seconds):
    """The mean of the steps that fit, by the clock and by the processor's time (that of the panel's questions, too)."""
    count, start, cpu = 0, time.perf_counter(), time.process_time()
    while time.perf_counter() - start < seconds:
        step()
        count += 1
    return (time.perf_counter() - start) * 1e3 / count, (time.process_time() - cpu) * 1e3 / count


def training(case, options):
    step = bench_training.ours(case)
    for _ in range(3):
        step()
    closed, opened, every = [], [], 0
    for _ in range(options.rounds):
        closed.append(step_ms(step, options.seconds))
        panel = Panel()
        panel.start()
        while panel.every == 0:
            time.sleep(0.001)
        opened.append(step_ms(step, options.seconds))
        every = panel.every
        panel.close()
    def median(of):
        return round(statistics.median(of), 3)

    return {"case": case, "closed_ms": median(wall for wall, _ in closed), "open_ms": median(wall for wall, _ in opened),
            "ratio": median(b[0] / a[0] for a, b in zip(closed, opened)),
            "cpu_ratio": median(b[1] / a[1] for a, b in zip(closed, opened)), "every": every}


def many_records(options):
    random = np.random.RandomState(0)
    x = tf.constant(random.randn(8, 8).astype(np.float32))
    weights = [tf.Variable(tf.constant(random.randn(8, 8).astype(np.float32))) for _ in range(4)]
    optimizer = tf.train.GradientDescentOptimizer(1e-4)
    while _engine.debug.record_count() < options.records:
        with tf.GradientTape() as tape:
            h = x
            for weight in weights:
                h = tf.nn.relu(tf.matmul(h, weight))
            loss = tf.reduce_mean(h)
        optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
    result = {"case": "records", "records": _engine.debug.record_count()}
    for name, ask in (("first_table_ms", lambda: _engine.debug.health(0)), ("table_ms", lambda: _engine.debug.health(0)),
                      ("recompute_40_ms", lambda: _engine.debug.health_findings(40)),
                      ("rules_ms", lambda: _engine.debug.health_findings(0))):
        start = time.perf_counter()
        ask()
        result[name] = round((time.perf_counter() - start) * 1e3, 2)
    state = _engine.debug.health(0)
    return {**result, "steps": state["steps"], "sampled": state["sampled"], "gone": state["gone"]}


def main():
    options = arguments()
    for case in options.cases:
        _engine.debug.attach()
        print(json.dumps(many_records(options) if case == "records" else training(case, options)), flush=True)
        _engine.debug.stop()


if __name__ == "__main__":
    sys.exit(main())
