"""Attaching to a running training loop, as JSON lines: what a step costs never attached, with TAPEDECK_DEBUG=1 and no client,
attached and running, and after detaching; and how long it takes from a pause to the stop, in milliseconds and in ops: those that one
could have stopped at, but that began after the pause and ran. A VJP is one; what runs inside of it is no stop.

    PYTHONPATH=build/default/python python3 tests/bench/bench_attach.py [ROUNDS] [SECONDS]

A step's time is that of the program's own thread (time.thread_time), so that other programs on the machine do not count.
"""
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "python", "helpers"))
from debug_client import Client
from loop_process import LoopProcess

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


def passed(client, since, stop):
    """How many ops and VJPs that a step would stop at lie between the two records."""
    records = client.ask("get_records", first=since + 1, count=stop - since - 1, with_previews=False)["records"] if stop > since + 1 else []
    kinds = {}
    for record in records:
        parent = record["parent"]
        if parent and parent not in kinds:
            kinds[parent] = client.ask("get_records", first=parent, count=1, with_previews=False)["records"][0]["kind"]
        kinds[record["number"]] = record["kind"]
    return sum(record["kind"] == "vjp" or record["kind"] == "op" and
               (record["sums_gradients"] or kinds.get(record["parent"]) not in ("vjp", "playback"))
               for record in records)


def pauses(client, count):
    """(ops passed, records passed, milliseconds) from each pause to its stop."""
    found = []
    for _ in range(count):
        began = time.perf_counter()
        at = client.ask("set_gate", command="pause")
        stopped = client.wait_for(lambda status: status["gate"] == "stopped")
        took = (time.perf_counter() - began) * 1e3
        stop = stopped["stopped_before"]
        found.append((passed(client, at["records"], stop), max(0, stop - at["records"] - 1), took))
        client.ask("set_gate", command="run")
        client.wait_for(lambda status: status["gate"] == "open")
        time.sleep(0.02)
    return found


def measure(size, rounds, seconds, runtime):
    times = {"never attached": [], "TAPEDECK_DEBUG=1, no client": [], "attached, running": [], "after detaching": []}
    stops = []
    for _ in range(rounds):
        plain = LoopProcess(LOOP, size, runtime, False)
        times["never attached"].append(plain.median(seconds))
        plain.end()
        loop = LoopProcess(LOOP, size, runtime, True)
        times["TAPEDECK_DEBUG=1, no client"].append(loop.median(seconds))
        with Client(loop.entry(runtime)) as client:
            client.wait_for(lambda status: status["records"] > 100)
            times["attached, running"].append(loop.median(seconds))
            stops += pauses(client, 20)
        time.sleep(0.5)  # the server notices within a tenth of a second
        times["after detaching"].append(loop.median(seconds))
        loop.end()
    base = statistics.median(times["never attached"])
    for state, found in times.items():
        middle = statistics.median(found)
        print(json.dumps(dict(bench="attach", size=size, state=state, step_us=round(middle, 1), ratio=round(middle / base, 3),
                              rounds=[round(one, 1) for one in found])), flush=True)
    ops, records, milliseconds = zip(*stops)
    print(json.dumps(dict(bench="attach_pause", size=size, pauses=len(stops), ops_median=statistics.median(ops), ops_most=max(ops),
                          records_most=max(records), ms_median=round(statistics.median(milliseconds), 2),
                          ms_most=round(max(milliseconds), 2))), flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2.
    with tempfile.TemporaryDirectory(prefix="td-") as runtime:
        for size in (16, 256):
            measure(size, rounds, seconds, runtime)


if __name__ == "__main__":
    main()
