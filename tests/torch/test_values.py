"""Every value of a PyTorch program that the window shows, current, stored or computed again, is what a hook inside the program saw."""
import json
import os
import pathlib
import secrets
import subprocess
import tempfile
import unittest

from campaign import Campaign
from debug_client import Client
from shown_values import Comparison
from torch_interpreter import PROGRAMS, TORCH, Runs, environment, facts, main, needs_module

HELPERS = pathlib.Path(__file__).resolve().parents[1] / "python/helpers"
SERVER = os.environ.get("TAPEDECK_TRACE_SERVER", "")
SMALL = 1 << 20  # bytes: most values are gone when they are asked for, and have to be computed again
NO_VALUE = "PyTorch has not computed yet", "it has no memory of its own"  # in PyTorch itself: lazy conjugates, zero tensors
OPS = Campaign("torch_values", "random ops of twenty PyTorch programs", 200, 2000, "further ops of the same programs")


def serve(trace, folder):
    """(process, what a Client needs) of a server of that trace file, which runs without PyTorch."""
    key = secrets.token_hex(16)
    pathlib.Path(folder, "key").write_text(key, encoding="ascii")
    endpoint = f"ipc://{folder}/trace"
    process = subprocess.Popen([SERVER, trace, "--endpoint", endpoint, "--key-file", f"{folder}/key"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process, dict(endpoint=endpoint, key=key)


@needs_module
class Values(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with_zmq = subprocess.run([TORCH, "-c", "import zmq"], capture_output=True, check=False, timeout=60, env=environment())
        if with_zmq.returncode:
            raise unittest.SkipTest("the interpreter that TAPEDECK_TORCH names has no pyzmq")
        cls.runs, cls.found, cls.budgets = {}, {}, {}
        budgets = OPS.random("budgets")
        small = set(budgets.sample(PROGRAMS, len(PROGRAMS) // 2))
        for budget in (None, SMALL):
            programs = [path for path in PROGRAMS if (path in small) == (budget is not None)]
            options = dict(count=OPS.count // len(PROGRAMS), seed=OPS.seed, budget=budget)
            runs = Runs("witnessed", programs, TAPEDECK_WITNESS=json.dumps(options),
                        PYTHONPATH=os.pathsep.join(filter(None, [environment().get("PYTHONPATH"), str(HELPERS)])))
            cls.addClassCleanup(runs.close)
            for path in programs:
                cls.runs[path.stem] = runs
                cls.budgets[path.stem] = budget
                if runs.exit[path.stem] == "0":
                    cls.found[path.stem] = json.loads((runs.folder / f"{path.stem}.json").read_text(encoding="utf-8"))

    def test_each_program_ran_and_was_witnessed(self):
        for name, runs in self.runs.items():
            with self.subTest(name):
                self.assertEqual(runs.exit[name], "0", runs.err[name])
                self.assertEqual(self.found[name]["ops"], min(OPS.count // len(PROGRAMS), self.found[name]["calls"]))

    def test_what_is_shown_is_what_the_program_computed(self):
        for name, found in self.found.items():
            with self.subTest(name):
                self.assertEqual(found["problems"], [])

    def test_values_are_held_or_computed_again_and_lost_only_beyond_the_budget(self):
        sources, lost = {}, []
        for name, found in self.found.items():
            for source, count in found["sources"].items():
                sources[source] = sources.get(source, 0) + count
            lost += found["lost"] if self.budgets[name] else []
            if self.budgets[name] is None:  # what PyTorch has not computed itself has no value
                self.assertEqual([one for one in found["lost"] if not any(reason in one for reason in NO_VALUE)], [], name)
        print(f"{sources}, {len(lost)} lost", flush=True)
        self.assertGreater(sources.get("held", 0), OPS.count // 10, sources)
        self.assertGreater(sources.get("recomputed", 0), OPS.count // 10, sources)
        reasons = "dropped when the recording exceeded its budget", *NO_VALUE
        self.assertEqual([one for one in lost if not any(reason in one for reason in reasons)], [])
        self.assertLess(len(lost), sum(found["values"] for found in self.found.values()) // 4, lost)

    @unittest.skipUnless(SERVER, "TAPEDECK_TRACE_SERVER names no tapedeck-trace")
    def test_a_trace_shows_the_same_without_pytorch(self):
        shown = 0
        for name, found in self.found.items():
            with self.subTest(name), tempfile.TemporaryDirectory(prefix="td-") as folder:
                process, entry = serve(self.runs[name].folder / f"{name}.tapetrace", folder)
                try:
                    with Client(dict(entry, protocol_version=facts()["protocol"])) as client:
                        comparison = Comparison(client)
                        for seen in found["kept"]:
                            comparison.look_at(seen)
                finally:
                    process.stdin.close()
                    process.wait(60)
                    process.stdout.close()
                self.assertEqual(comparison.problems, [])
                shown += comparison.values - len(comparison.lost)
        self.assertGreater(shown, OPS.count)


if __name__ == "__main__":
    main()
