"""Attaching to a running training loop, as JSON lines: what a step costs never attached, with TAPEDECK_DEBUG=1 and nobody there,
attached and running, and after detaching; and how long it takes from a pause to the stop, in ops and in milliseconds.

    PYTHONPATH=build/default/python python3 tests/bench/bench_attach.py [ROUNDS] [SECONDS]

A step's time is that of the program's own thread (time.thread_time), so that other programs on the machine do not count.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python"))
from debug_client import Client  # noqa: E402

STEPS = 200  # of a window

LOOP = f"""
import sys, time
import tapedeck as tf

SIZE = int(sys.argv[1])
tf.set_random_seed(1)
x, y = tf.random.normal([SIZE, SIZE]), tf.random.normal([SIZE, 1])
w, b = tf.Variable(tf.random.normal([SIZE, 1]), name="w"), tf.Variable(tf.zeros([1]), name="b")
while True:
    began = time.thread_time()
    for step in range({STEPS}):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(tf.tanh(x @ w + b) - y))
        of_w, of_b = tape.gradient(loss, [w, b])
        w.assign_sub(.01 * of_w)
        b.assign_sub(.01 * of_b)
    print((time.thread_time() - began) / {STEPS} * 1e6, flush=True)
"""


class Loop:
    def __init__(self, size, runtime, debug):
        environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        environment.pop("TAPEDECK_DEBUG", None)
        if debug:
            environment["TAPEDECK_DEBUG"] = "1"
        self.process = subprocess.Popen([sys.executable, "-c", LOOP, str(size)], env=environment, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        self.process.stdout.readline()  # it is warm

    def step_us(self, seconds):
        """The median of the windows that begin within that time."""
        os.set_blocking(self.process.stdout.fileno(), False)
        while self.process.stdout.read():  # those that began before
            pass
        os.set_blocking(self.process.stdout.fileno(), True)
        self.process.stdout.readline()
        windows, until = [], time.monotonic() + seconds
        while time.monotonic() < until or len(windows) < 3:
            windows.append(float(self.process.stdout.readline()))
        return statistics.median(windows)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def entry_of(loop, runtime):
    programs = os.path.join(runtime, "tapedeck", "programs")
    name = next(name for name in os.listdir(programs) if name.startswith(f"{loop.process.pid}-"))
    with open(os.path.join(programs, name, "program.json"), encoding="utf-8") as file:
        return json.load(file)


def pauses(client, count):
    """(ops, milliseconds) from each pause to its stop."""
    found = []
    for _ in range(count):
        began = time.perf_counter()
        at = client.ask("set_gate", command="pause")
        stopped = client.wait_for(lambda status: status["gate"] == "stopped")
        found.append((stopped["stopped_before"] - at["records"], (time.perf_counter() - began) * 1e3))
        client.ask("set_gate", command="run")
        client.wait_for(lambda status: status["gate"] == "open")
        time.sleep(0.02)
    return found


def measure(size, rounds, seconds, runtime):
    times = {"never attached": [], "TAPEDECK_DEBUG=1, nobody there": [], "attached, running": [], "after detaching": []}
    stops = []
    for _ in range(rounds):
        plain = Loop(size, runtime, False)
        times["never attached"].append(plain.step_us(seconds))
        plain.end()
        loop = Loop(size, runtime, True)
        times["TAPEDECK_DEBUG=1, nobody there"].append(loop.step_us(seconds))
        with Client(entry_of(loop, runtime)) as client:
            client.wait_for(lambda status: status["records"] > 100)
            times["attached, running"].append(loop.step_us(seconds))
            stops += pauses(client, 20)
        time.sleep(0.5)  # the server notices within a tenth of a second
        times["after detaching"].append(loop.step_us(seconds))
        loop.end()
    base = statistics.median(times["never attached"])
    for state, found in times.items():
        middle = statistics.median(found)
        print(json.dumps(dict(bench="attach", size=size, state=state, step_us=round(middle, 1), ratio=round(middle / base, 3),
                              rounds=[round(one, 1) for one in found])), flush=True)
    ops, milliseconds = zip(*stops)
    print(json.dumps(dict(bench="attach_pause", size=size, pauses=len(stops), ops_median=statistics.median(ops), ops_most=max(ops),
                          ms_median=round(statistics.median(milliseconds), 2), ms_most=round(max(milliseconds), 2))), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.
    with tempfile.TemporaryDirectory(prefix="td-") as runtime:
        for size in (16, 256):
            measure(size, rounds, seconds, runtime)


if __name__ == "__main__":
    main()
