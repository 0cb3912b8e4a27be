"""What it costs a training loop to be recorded: with every panel closed, and with Time and Health open. One JSON line per case.

    PYTHONPATH=build/default/python python3 tests/bench/bench_panels.py [--rounds 7] [--seconds 1.0] [--cases mlp,lenet,lstm,transformer]

The loop runs in a process of its own, as a cell does; this one acts as the window: it switches recording off and on, and asks
what the two panels ask, as often as they do. Milliseconds of a step by the clock, medians of the rounds; `closed` and `open`:
medians of the rounds' ratios to the same loop unrecorded; `again`: the same of a second unrecorded measurement, which says how far
to trust the others."""
import argparse
import json
import os
import statistics
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "python", "helpers"))
from debug_client import Client, decode  # noqa: E402
from loop_process import LoopProcess  # noqa: E402

CASES = "mlp", "lenet", "lstm", "transformer"
WINDOW = 0.1  # seconds of steps in each line that the loop writes
TIME_EVERY, HEALTH_EVERY, RULES_EVERY = 0.5, 0.4, 2.0  # seconds, as the panels ask

LOOP = f"""
import sys, time
sys.path.insert(0, {HERE!r})
import bench_training
step = bench_training.ours(sys.argv[1])
while True:
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < {WINDOW}:
        step()
        count += 1
    print((time.perf_counter() - began) / count * 1e3, flush=True)
"""


class Panels(threading.Thread):
    """Asks what Time and Health ask, as long as they are open."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self._client, self._closing = client, threading.Event()
        self.every = 0

    def _ask(self, kind, answer, **body):
        """The answer's bytes. They are not decoded: in Python that takes far longer than in the window."""
        self._client.send(kind, **body)
        while True:
            data = self._client.receive_bytes(time.monotonic() + 30)
            if data is not None and answer.encode() in data[-64:]:
                return data
            if data is None or b"failure" in data[-64:]:
                raise AssertionError(f"{kind}: {data}")

    def run(self):
        ask, due = self._ask, {"time": 0, "health": 0, "rules": 0}
        while not self._closing.is_set():
            now = time.monotonic()
            if now >= due["time"]:
                due["time"] = now + TIME_EVERY
                run = decode(ask("get_profile", "profile", from_ns=0, to_ns=None, gaps=50))["body"]
                span = dict(from_ns=run["first_ns"], to_ns=run["last_ns"])
                ask("get_profile_track", "profile_track", pixels=1400, **span)
                ask("get_profile_steps", "profile_steps", most=600, **span)
            if now >= due["health"]:
                due["health"] = now + HEALTH_EVERY
                rows = ask("get_health", "health", live_ms=10000, first=0, count=200, columns=64)
                self.every = self.every or decode(rows)["body"]["every"]
            if now >= due["rules"]:
                due["rules"] = now + RULES_EVERY
                ask("get_health_findings", "health_findings", explain=False)
            self._closing.wait(0.02)

    def close(self):
        self._closing.set()
        self.join()
        self._client.ask("get_health", live_ms=0, first=0, count=0, columns=1)


def measure(case, options, runtime):
    loop = LoopProcess(LOOP, case, runtime, True)
    times = {"unrecorded": [], "again": [], "closed": [], "open": []}
    with Client(loop.entry(runtime)) as client:
        def record(on):
            client.ask("set_options", recording=on, break_at_cell_start=None, budget_bytes=None, keep_everything=None,
                       replay_on_cpu=None, functions_eagerly=None)

        for _ in range(options.rounds):
            record(False)
            times["unrecorded"].append(loop.median(options.seconds))
            record(True)
            times["closed"].append(loop.median(options.seconds))
            panels = Panels(client)
            panels.start()
            times["open"].append(loop.median(options.seconds))
            panels.close()
            every = client.ask("get_health", live_ms=0, first=0, count=0, columns=1)["every"] or panels.every
            record(False)
            times["again"].append(loop.median(options.seconds))
        records = client.ask("get_status")["records"]
    loop.end()
    ratios = {name: round(statistics.median(one / base for one, base in zip(found, times["unrecorded"])), 3)
              for name, found in times.items() if name != "unrecorded"}
    return dict(case=case, unrecorded_ms=round(statistics.median(times["unrecorded"]), 3), **ratios, sampled_one_of=every,
                records=records)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a measurement")
    parser.add_argument("--cases", default=",".join(CASES))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="td-") as runtime:
        for case in options.cases.split(","):
            print(json.dumps(measure(case, options, runtime)), flush=True)


if __name__ == "__main__":
    sys.exit(main())
