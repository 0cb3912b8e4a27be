"""Steps of optimisers beside a copy of memory, and beside PyTorch where its interpreter is named: one JSON line a case.

    python bench_optimizers.py [NAME…]
    TAPEDECK_TORCH=/path/to/python3 python bench_optimizers.py

gigabytes_per_second counts what a step must read and write once: value, slots and gradient in, value and slots out. PyTorch runs in
a process of its own, with as many threads, between two of ours, so that a machine that becomes slower does so for both.
"""
import json
import os
import subprocess
import sys
import time

import numpy as np

COUNT, SMALL, REPEATS = 10_000_000, 160, 15

TORCH = """
import json, sys, time, torch
name, count, small, repeats, threads = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
shapes = [count] if small == 1 else [64] * small
parameters = [torch.nn.Parameter(torch.zeros(n)) for n in shapes]
for p in parameters: p.grad = torch.randn_like(p)
make = {"sgd": lambda: torch.optim.SGD(parameters, 1e-3), "momentum": lambda: torch.optim.SGD(parameters, 1e-3, 0.9),
        "adagrad": lambda: torch.optim.Adagrad(parameters, 1e-3), "rmsprop": lambda: torch.optim.RMSprop(parameters, 1e-3),
        "adam": lambda: torch.optim.Adam(parameters, 1e-3), "adam_fused": lambda: torch.optim.Adam(parameters, 1e-3, fused=True)}
optimizer = make[name]()
optimizer.step()
times = []
for _ in range(repeats):
    begin = time.perf_counter(); optimizer.step(); times.append(time.perf_counter() - begin)
print(sorted(times)[repeats // 2])
"""


def median_seconds(function):
    function()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return sorted(times)[REPEATS // 2]


def step_of(make, sizes):
    import tapedeck as tf
    variables = [tf.Variable(np.zeros(size, np.float32)) for size in sizes]
    gradients = [tf.constant(np.random.default_rng(0).standard_normal(size, dtype=np.float32)) for size in sizes]
    optimizer = make(tf.keras.optimizers)
    return lambda: optimizer.apply(gradients, variables)


def copy_of_memory():
    """The engine's own copy of as many bytes as a value has, on its threads."""
    import tapedeck as tf
    source = tf.constant(np.zeros(COUNT, np.float32))
    target = tf.Variable(source)
    zero = tf.constant(0.0)
    return lambda: target.assign(source + zero)


def torch_seconds(name, count, small):
    interpreter = os.environ.get("TAPEDECK_TORCH")
    if not interpreter:
        return None
    arguments = [interpreter, "-c", TORCH, name, *map(str, (count, small, REPEATS, len(os.sched_getaffinity(0))))]
    done = subprocess.run(arguments, capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else None


# name → optimiser, PyTorch's name, arrays that a step reads and writes
CASES = {
    "sgd": (lambda k: k.SGD(1e-3), "sgd", 3),
    "momentum": (lambda k: k.SGD(1e-3, 0.9), "momentum", 5),
    "adagrad": (lambda k: k.Adagrad(1e-3), "adagrad", 5),
    "rmsprop": (lambda k: k.RMSprop(1e-3), "rmsprop", 5),
    "adam": (lambda k: k.Adam(1e-3), "adam", 7),
}


def show(case, arrays, ours, others):
    line = {"case": case, "milliseconds": round(ours * 1e3, 3)}
    if arrays:
        line["gigabytes_per_second"] = round(arrays * 4 * COUNT / ours / 1e9, 1)
    for name, seconds in others.items():
        if seconds is not None:
            line[f"{name}_milliseconds"] = round(seconds * 1e3, 3)
            line[f"of_{name}"] = round(ours / seconds, 2)
    print(json.dumps(line), flush=True)


def main(names):
    show("copy of 10^7 float32", 2, median_seconds(copy_of_memory()), {})
    for name, (make, torch_name, arrays) in CASES.items():
        if names and name not in names:
            continue
        step = step_of(make, [COUNT])
        first = median_seconds(step)
        others = {"torch": torch_seconds(torch_name, COUNT, 1)}
        if name == "adam":
            others["torch_fused"] = torch_seconds("adam_fused", COUNT, 1)
        show(f"{name}, 10^7 parameters", arrays, min(first, median_seconds(step)), others)
        small = median_seconds(step_of(make, [64] * SMALL))
        show(f"{name}, {SMALL} variables of 64", 0, small, {"torch": torch_seconds(torch_name, 64, SMALL)})


if __name__ == "__main__":
    main(sys.argv[1:])
