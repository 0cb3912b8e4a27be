"""tf.function beside the same code run eagerly, and beside PyTorch and JAX. One JSON line per case: nanoseconds of calls, or milliseconds
of steps, the median of rounds in which all take turns, so that a slower moment of the machine meets all; "ratio" is graph to eager, below 1
is quicker. "load" is how many programs wanted the machine at the end of the case.

    python3 bench_functions.py [--threads 2] [--rounds 9] [--peer PYTHON] [--kernels BENCH_KERNELS] [PATTERN…]

--peer: an interpreter that has torch, jax and NumPy; else TAPEDECK_PEER; without it tapedeck runs alone. torch: eager; torch_compile:
torch.compile, where it compiles within a minute; jax_jit. --kernels: the program bench_kernels; else the built one beside the module.
PATTERN: cases whose names have one of these in them; else all. `call_empty` is what a call of a function costs that does nothing.
`small_op` is what one more op of ten numbers costs inside a function; the peers' compilers make one kernel of all. `kernel_*` is the same
from C++, next to the kernel alone. `trace_resnet50` is seconds of tracing ResNet-50 with its gradient, jax_trace the same without
compiling; `chain_sum` is ten elementwise ops of 10⁶ numbers with their sum, `chain_gradient` its gradient; `branches_*` are two chains of
products that do not depend on each other. `array_*`, `list_appends` and `data_loop` are loops of 4,000 iterations. The steps are those of
bench_training.py, `mlp_sgd_step` with plain gradient descent; in `*_gradient` but `array_gradient` and `chain_gradient` the tape is
outside of the function. `*_200_steps` is seconds of a whole training that begins without a trace: 200 steps with all tracing and compiling,
once."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import bench_training
import tapedeck as tf
from chain_case import chain, operands
from peer_cases import environment_of

CALLS = 2000
OPS = 200
STEPS = 200


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--peer", default=os.environ.get("TAPEDECK_PEER"))
    parser.add_argument("--kernels", default=built_kernels())
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    return parser.parse_args()


def built_kernels():
    """The program in the build folder whose module this Python finds."""
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        program = os.path.join(folder, "..", "tests", "bench", "bench_kernels")
        if folder and os.access(program, os.X_OK):
            return program
    return None


class Peer:
    """A process that runs cases in another framework (function_peers.py)."""

    def __init__(self, python, framework, threads):
        environment = {**environment_of("torch"), "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu"}
        here = os.path.dirname(os.path.abspath(__file__))
        self._process = subprocess.Popen([python, os.path.join(here, "function_peers.py"), framework, str(threads)], text=True,
                                         env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._answer()

    def calls(self, case):
        """(calls of the case's variants by name, why others cannot be)."""
        found = self._asked(f"prepare {case}")
        return {name: PeerCall(self, name) for name, why in found.items() if why is None}, {
            name: why for name, why in found.items() if why is not None}

    def seconds(self, name, repeat):
        return self._asked(f"run {name} {repeat}")

    def first_seconds(self, case, calls):
        """{variant: seconds of so many calls, the compilation of the first one included}."""
        return self._asked(f"first {case} {calls}")

    def _asked(self, line):
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self._process.args} ended early")
        return json.loads(line)


class PeerCall:
    """One call of a variant."""

    def __init__(self, peer, name):
        self.peer, self.name = peer, name

    def __call__(self):
        self.peer.seconds(self.name, 1)

    def seconds(self, repeat):
        return self.peer.seconds(self.name, repeat) / repeat


peers = []


def beside(case):
    """The peers' calls, and why others cannot be."""
    calls, reasons = {}, {}
    for peer in peers:
        found, others = peer.calls(case)
        calls.update(found)
        reasons.update(others)
    return calls, reasons


def seconds(call, repeat):
    if isinstance(call, PeerCall):
        return call.seconds(repeat)
    start = time.perf_counter()
    for _ in range(repeat):
        call()
    return (time.perf_counter() - start) / repeat


def in_turns(calls, rounds, least=0.02):
    """The median seconds of each call."""
    for call in calls.values():  # traces, and fills the caches
        call()
        call()
    repeat = {name: max(1, int(least / max(seconds(call, 1), 1e-7))) for name, call in calls.items()}
    times = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(seconds(call, repeat[name]))
    return {name: statistics.median(each) for name, each in times.items()}


def report(case, unit, scale, medians, **others):
    line = dict(bench="functions", case=case, threads=tf.config.get_num_threads(), unit=unit)
    line.update({name: round(value * scale, 3) for name, value in medians.items()})
    if "eager" in medians and "graph" in medians:
        line["ratio"] = round(medians["graph"] / medians["eager"], 3)
    line["load"] = round(os.getloadavg()[0], 1)
    print(json.dumps(line | others), flush=True)


# ---- calls


def call_empty(rounds):
    x = tf.ones([])
    nothing, same = tf.function(lambda: None), tf.function(lambda x: x)

    def of_python():
        pass

    def with_tensor():
        same(x)

    others, reasons = beside("call_empty")
    report("call_empty", "ns", 1e9, in_turns({"python": of_python, "graph": nothing, "graph_of_a_tensor": with_tensor, **others}, rounds),
           **reasons)


def small_op(rounds):
    x = tf.random.uniform([10])

    def chain(count):
        def run(x):
            for _ in range(count):
                x = x + x
            return x
        return run

    short, long = tf.function(chain(1)), tf.function(chain(1 + OPS))
    eager = chain(OPS)
    times = in_turns({"short": lambda: short(x), "long": lambda: long(x), "eager": lambda: eager(x)}, rounds)
    found, reasons = {"graph": (times["long"] - times["short"]) / OPS, "eager": times["eager"] / OPS}, {}
    ends = []
    for case in ("small_op_short", "small_op_long"):
        others, reasons = beside(case)
        ends.append(in_turns(others, rounds) if others else {})
    found.update({name: (ends[1][name] - ends[0][name]) / OPS for name in ends[1]})
    report("small_op", "ns", 1e9, found, **reasons)


def kernels(rounds):
    """From C++: an op of ten numbers next to its kernel alone."""
    program = arguments().kernels
    if program is None:
        return print("bench_functions.py: no bench_kernels (ninja bench_kernels, --kernels)", file=sys.stderr)
    lines = subprocess.run([program, str(max(rounds, 15))], capture_output=True, text=True, check=True).stdout.splitlines()
    for line in map(json.loads, lines):
        print(json.dumps({**line, "bench": "functions", "case": "kernel_" + line["case"]}), flush=True)


def call_gradient(rounds):
    """A call of four ops of ten numbers under a tape, and its gradient."""
    w, c, d = tf.random.uniform([10]), tf.random.uniform([10]), tf.random.uniform([10])

    def loss(w):
        return tf.reduce_sum((w * c + d) * w)

    traced = tf.function(loss)

    def step(function):
        def run():
            with tf.GradientTape() as tape:
                tape.watch(w)
                y = function(w)
            return tape.gradient(y, w)
        return run

    report("call_gradient", "ns", 1e9, in_turns({"eager": step(loss), "graph": step(traced)}, rounds))


# ---- chains


def chain_of_ten(case):
    """`chain_sum`: ten elementwise ops of 10⁶ numbers and the sum of what they give; `chain_gradient`: its gradient."""
    def run(rounds):
        x, y = map(tf.constant, operands())

        def total(x, y):
            return tf.reduce_sum(chain(x, y, tf.tanh, tf.exp, tf.sigmoid, tf.nn.relu))

        def gradient(x, y):
            with tf.GradientTape() as tape:
                tape.watch(x)
                found = total(x, y)
            return tape.gradient(found, x)

        function = gradient if case == "chain_gradient" else total
        traced = tf.function(function)
        others, reasons = beside(case)
        calls = {"eager": lambda: function(x, y), "graph": lambda: traced(x, y), **others}
        report(case, "ms", 1e3, in_turns(calls, rounds, 0.1), **reasons)
    return run


# ---- steps


def mlp_sgd(rounds):
    model, inputs, labels = bench_training.our_mlp(tf, tf.keras.layers)
    inputs, labels = tf.constant(inputs), tf.constant(labels)
    optimizer = tf.keras.optimizers.SGD(1e-2)

    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=model(inputs)))
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss

    step()  # makes the variables
    others, reasons = beside("mlp_sgd_step")
    report("mlp_sgd_step", "ms", 1e3, in_turns(both_ways(step) | others, rounds, 0.1), **reasons)


def both_ways(step):
    return {"eager": step, "graph": tf.function(step)}


def training(case):
    def run(rounds):
        others, reasons = beside(case + "_step")
        report(case + "_step", "ms", 1e3, in_turns(both_ways(bench_training.ours(case)) | others, rounds, 0.1), **reasons)
    return run


def from_the_first_step(case):
    """A training of 200 steps from a model without variables or a trace on: seconds, once, in turn."""
    def run(_):
        traced = tf.function(bench_training.ours(case))
        times = {"graph": seconds(traced, STEPS) * STEPS}
        for peer in peers:
            times.update(peer.first_seconds(case + "_step", STEPS))
        report(f"{case}_{STEPS}_steps", "s", 1, times)
    return run


def forward_in_function(case):
    """The model alone is a function; the tape is outside."""
    def run(rounds):
        model, inputs, labels = {"mlp": bench_training.our_mlp, "lstm": bench_training.our_lstm,
                                 "transformer": bench_training.our_transformer}[case](tf, tf.keras.layers)
        inputs = tf.constant(inputs)

        def loss_of(x):
            return tf.reduce_mean(tf.square(model(x)))

        traced = tf.function(loss_of)

        def step(function):
            def run():
                with tf.GradientTape() as tape:
                    loss = function(inputs)
                return tape.gradient(loss, model.trainable_variables)
            return run

        report(case + "_gradient", "ms", 1e3, in_turns({"eager": step(loss_of), "graph": step(traced)}, rounds, 0.1))
    return run


def autoencoder(rounds):
    random = np.random.default_rng(1)
    data = tf.constant(random.random((10000, 784), np.float32))
    w = tf.Variable((random.random((784, 196), np.float32) - 0.5) * 0.1)

    def loss_of(data):
        hidden = tf.sigmoid(data @ w)
        return tf.losses.mean_squared_error(data, tf.sigmoid(tf.matmul(hidden, w, transpose_b=True)))

    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(data)
        return loss, tape.gradient(loss, w)

    traced = tf.function(loss_of)

    def step_outside():
        with tf.GradientTape() as tape:
            loss = traced(data)
        return loss, tape.gradient(loss, w)

    others, reasons = beside("autoencoder_10000_step")
    report("autoencoder_10000_step", "ms", 1e3,
           in_turns(both_ways(step) | {"graph_tape_outside": step_outside} | others, rounds, 0.1), **reasons)


def trace_resnet50(rounds):
    step = bench_training.ours("resnet50")
    step()  # makes the variables
    times = []
    for _ in range(max(1, rounds // 3)):
        start = time.perf_counter()
        tf.function(step).get_concrete_function()
        times.append(time.perf_counter() - start)
    others, reasons = beside("trace_resnet50")
    times = {"trace": statistics.median(times)} | (in_turns(others, max(1, rounds // 3)) if others else {})
    report("trace_resnet50", "s", 1, times, **reasons)


def branches(size, length):
    def run(rounds):
        x, y = tf.random.uniform([size, size]), tf.random.uniform([size, size])
        v, w = tf.random.uniform([size, size]) / size, tf.random.uniform([size, size]) / size

        def two_chains(x, y):
            for _ in range(length):
                x, y = tf.tanh(x @ v), tf.tanh(y @ w)
            return x + y

        times = in_turns({"eager": lambda: two_chains(x, y)}
                         | {"graph": (lambda traced: lambda: traced(x, y))(tf.function(two_chains))}, rounds)
        report(f"branches_{size}", "us", 1e6, times)
    return run


def in_loops(case):
    """4,000 rows of 200 numbers: `array_writes` puts them into a tf.TensorArray, `list_appends` into a list, `array_reads` takes them from
    one, and `array_gradient` plays a tape over writes and reads; `data_loop` is a `for` over a data set of as many numbers."""
    rows, width = 4000, 200
    data = tf.data.Dataset.from_tensor_slices(tf.range(float(rows)))

    def array_writes(a, count):
        array = tf.TensorArray(tf.float32, size=rows)
        for i in tf.range(count):
            array = array.write(i, a)
        return array.stack()

    def list_appends(a, count):
        items = []
        for _ in tf.range(count):
            items.append(a)
        return tf.stack(items)

    def array_reads(a, count):
        array = tf.TensorArray(tf.float32, size=rows, clear_after_read=False).unstack(tf.tile(a[None], [rows, 1]))
        total = a
        for i in tf.range(count):
            total = total + array.read(i)
        return total

    def array_gradient(a, count):
        with tf.GradientTape() as tape:
            tape.watch(a)
            array = tf.TensorArray(tf.float32, size=rows, clear_after_read=False)
            for i in tf.range(count):
                array = array.write(i, a * 2.)
            y = tf.reduce_sum(array.stack())
        return tape.gradient(y, a)

    def data_loop(a, _):
        total = a
        for x in data:
            total = total + x
        return total

    function = {each.__name__: each for each in (array_writes, list_appends, array_reads, array_gradient, data_loop)}[case]

    def run(rounds):
        a, count = tf.random.uniform([] if case == "data_loop" else [width]), tf.constant(rows)
        traced = tf.function(function)
        report(case, "ms", 1e3, in_turns({"eager": lambda: function(a, count), "graph": lambda: traced(a, count)}, rounds, 0.1))
    return run


CASES = {
    "chain_sum": chain_of_ten("chain_sum"), "chain_gradient": chain_of_ten("chain_gradient"), "mlp_sgd_step": mlp_sgd,
    "call_empty": call_empty, "small_op": small_op, "kernels": kernels, "call_gradient": call_gradient, "mlp_step": training("mlp"),
    "mlp_gradient": forward_in_function("mlp"), "autoencoder_10000_step": autoencoder, "lstm_step": training("lstm"),
    "lstm_gradient": forward_in_function("lstm"), "transformer_step": training("transformer"),
    "transformer_gradient": forward_in_function("transformer"), "branches_64": branches(64, 8), "branches_128": branches(128, 8),
    "branches_256": branches(256, 4), "lstm_200_steps": from_the_first_step("lstm"),
    "transformer_200_steps": from_the_first_step("transformer"), "trace_resnet50": trace_resnet50, "array_writes": in_loops("array_writes"),
    "list_appends": in_loops("list_appends"), "array_reads": in_loops("array_reads"), "array_gradient": in_loops("array_gradient"),
    "data_loop": in_loops("data_loop"),
}


def main():
    options = arguments()
    tf.config.set_num_threads(options.threads)
    tf.config.run_functions_eagerly(False)
    if options.peer:
        peers.extend(Peer(options.peer, framework, options.threads) for framework in ("torch", "jax"))
    else:
        print("bench_functions.py: no peers (--peer PYTHON or TAPEDECK_PEER): tapedeck alone", file=sys.stderr)
    for name, case in CASES.items():
        if not options.patterns or any(pattern in name for pattern in options.patterns):
            case(options.rounds)


if __name__ == "__main__":
    main()
