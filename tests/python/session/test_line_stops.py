"""Breakpoints on lines, whatever the line runs, and conditions that ask for Python names."""
import contextlib
import io
import json
import os
import secrets
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import tapedeck as tf
from debug_client import Client
from tapedeck import _engine
from tapedeck._session import frames as session_frames

debug = _engine.debug


def breakpoint(number, line=0, kind="line", cell="cell", condition="", **other):
    return {"id": number, "kind": kind, "cell": cell, "line": line, "target": "", "condition": condition, "from_hit": 1,
            "enabled": True, "once": False, "action": "stop", "text": "", **other}


class Stops(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o700)
        self.entry = {"endpoint": f"ipc://{folder.name}/debug", "key": secrets.token_hex(16),
                      "protocol_version": debug.PROTOCOL_VERSION}
        self.folder = folder.name
        self.failed = []
        debug.start(self.entry["endpoint"], self.entry["key"].encode())
        self.addCleanup(session_frames.session.forget)
        self.addCleanup(debug.stop)
        self.client = Client(self.entry)
        self.addCleanup(self.client.close)
        self.last = None

    def run_cell(self, code, breakpoints, names=None, cell="cell", filename="CELL"):
        """Starts it on a thread of its own; returns its names."""
        states = self.client.ask("set_breakpoints", breakpoints=breakpoints, labels=[])["states"]
        self.assertEqual([state["problem"] for state in states], [None] * len(states))
        names = {"tf": tf, "np": np} if names is None else names
        self.ended = self.client.ask("get_status")["cells_ended"]

        def run():
            try:
                debug.begin_cell(cell, filename)
                exec(compile(code, filename, "exec"), names)
            except BaseException as error:
                self.failed.append(error)
            finally:
                debug.end_cell()
        self.program = threading.Thread(target=run)
        self.program.start()
        self.addCleanup(self.end)
        return names

    def end(self):
        self.client.ask("set_breakpoints", breakpoints=[], labels=[])
        give_up = time.monotonic() + 120
        while self.program.is_alive() and time.monotonic() < give_up:  # what began before may stop once more when it ends
            self.client.ask("set_gate", command="run")
            self.program.join(0.1)
        self.assertFalse(self.program.is_alive())

    @staticmethod
    def identity(status):
        return status["stopped_before"], status["stopped_after"], status["stopped_at_line"]

    def next_stop(self):
        """(line, whether an op waits, reason) of the next stop; None where the program ends before."""
        def news(status):
            stopped = status["gate"] == "stopped" and self.identity(status) != self.last
            return stopped or (status["running_cell"] is None and status["cells_ended"] > self.ended)
        status = self.client.wait_for(news)
        if status["gate"] != "stopped":
            return None
        self.last = self.identity(status)
        self.stop = status["stopped_before"] or status["stopped_at_line"]
        return status["line"], status["stopped_before"] is not None, status["stop_reason"]

    def go_on(self, command="run"):
        self.client.status = None
        self.client.ask("set_gate", command=command)

    def lines(self, command="run"):
        """The lines of all stops from here on."""
        found = []
        while (stop := self.next_stop()) is not None:
            found.append(stop[0])
            self.go_on(command)
        return found

    def evaluate(self, code):
        answer = self.client.ask("evaluate", stop=self.stop, frame=0, code=code, statements=False, limit_ms=None, moment=None)
        return answer["error"] or answer["value"]["text"]

    def test_calls_returns_and_plain_python_stop_before_the_line(self):
        code = """
def double(x):
    y = x + x
    return y

class Model:
    def __call__(self, x):
        z = double(x)
        return z

count = 0
out = Model()(tf.constant([1., 2.]))
count = count + 1
print("", end="")
"""
        self.run_cell(code, [breakpoint(number, line) for number, line in enumerate((4, 8, 9, 11, 12, 13, 14), 1)])
        self.assertEqual(self.next_stop(), (11, False, "breakpoint 4: line 11"))
        self.assertIn("not defined", self.evaluate("count"))  # before the line
        self.go_on()
        self.assertEqual(self.next_stop()[:2], (12, False))
        self.assertEqual(self.evaluate("count"), "0")
        self.go_on()
        self.assertEqual(self.next_stop()[:2], (8, False))
        frames = self.client.ask("get_frames", stop=self.stop, first=0, count=10, moment=None)["frames"]
        self.assertEqual([(f["function"], f["line"]) for f in frames], [("__call__", 8), ("<module>", 12)])
        self.assertEqual(self.evaluate("x * 3."), "[3., 6.]")
        self.go_on()
        self.assertEqual(self.next_stop()[:2], (4, False))
        self.assertEqual(self.evaluate("y + 0."), "[2., 4.]")
        self.go_on()
        self.assertEqual(self.lines(), [9, 13, 14])
        self.assertEqual(self.failed, [])
        self.assertEqual([r["op"] for r in json.loads(debug.records_json())], ["add"])

    def test_steps_go_on_from_a_line_as_from_an_op(self):
        code = "x = tf.constant(1.)\ny = x + 1.\nz = y * 2.\nw = z - 1.\n"
        self.run_cell(code, [breakpoint(1, 2)])
        self.assertEqual(self.next_stop()[:2], (2, False))
        self.go_on("step_op")
        self.assertEqual(self.next_stop(), (2, True, "step"))
        self.go_on("step_line")
        self.assertEqual(self.next_stop(), (3, False, "step"))
        self.go_on("step_op")
        self.assertEqual(self.next_stop(), (3, True, "step"))
        self.go_on("step_line")
        self.assertEqual(self.next_stop(), (4, False, "step"))
        self.go_on()
        self.assertIsNone(self.next_stop())

    def test_a_step_to_another_line_stops_at_plain_python(self):
        code = """
x = tf.constant(2.)
y = x * x
a = 1
def f(z):
    c = 3
    return z + c
w = f(y)
for i in range(2):
    a = a + i
u = tf.stack([x,
              tf.exp(w)])
print("", end="")
"""
        self.run_cell(code, [breakpoint(1, kind="op", cell="", target="multiply")])  # no line has a breakpoint
        self.assertEqual(self.next_stop()[:2], (3, True))
        found = []
        self.go_on("step_line")
        while (stop := self.next_stop()) is not None:
            found.append(stop[0])
            if found == [4, 5, 8]:
                self.assertIn("not defined", self.evaluate("w"))
            if found == [4, 5, 8, 6]:
                self.assertEqual(self.evaluate("float(z)"), "4.0")
            self.go_on("step_line")
        self.assertEqual(found[:10], [4, 5, 8, 6, 7, 9, 10, 9, 10, 9])
        self.assertEqual(found[-1], 13)
        self.assertEqual(self.failed, [])
        self.assertIsNone(threading.gettrace())  # Python tells of no lines any longer

    def test_a_step_to_another_line_passes_what_the_playback_runs(self):
        code = """
@tf.custom_gradient
def f(x):
    def grad(dy):
        d = dy * 2.
        return d * 3.
    return x * x, grad
x = tf.constant(2.)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = f(tf.exp(x)) + 1.
g = tape.gradient(y, x)
z = g * 2.
"""
        self.run_cell(code, [breakpoint(1, 12)])
        self.assertEqual(self.next_stop()[:2], (12, False))
        found = []
        self.go_on("step_line")
        while (stop := self.next_stop()) is not None:
            found.append(stop[:2])
            self.go_on("step_line")
        # The custom gradient's own lines, and not the VJP of exp behind it, nor the complete gradient.
        self.assertEqual(found, [(5, False), (6, False), (13, False)])
        self.assertEqual(self.failed, [])

    def test_steps_over_ops_alone_trace_nothing(self):
        seen = []
        self.run_cell("seen.append(1)\nx = tf.constant(1.) + 1.\ny = x * x\n", [breakpoint(1, kind="op", cell="", target="add")],
                      {"tf": tf, "seen": seen})
        self.assertEqual(self.next_stop()[:2], (2, True))
        self.go_on("step_op")
        self.assertEqual(self.next_stop()[:2], (3, True))
        self.go_on()
        self.assertIsNone(self.next_stop())

    def test_a_line_stops_once_each_time_it_runs(self):
        code = """
def helper(n): return n + 1

for i in range(3):
    x = tf.stack([tf.constant(1.),
                  tf.constant(2.)])
    y = max(1,
            helper(i))
with open("/dev/null") as f:
    y = 1
done = 1
"""
        self.run_cell(code, [breakpoint(1, 5), breakpoint(2, 7), breakpoint(3, 9)])
        self.assertEqual(self.lines(), [5, 7] * 3 + [9])
        self.assertEqual(self.failed, [])

    def test_a_loop_stops_at_each_turn(self):
        self.run_cell("n = 0\nfor i in range(2):\n    n += i\nn", [breakpoint(1, 2)])
        self.assertEqual(self.lines(), [2, 2, 2])  # the last time it finds that it is over

    def test_one_that_is_set_at_a_stop_works_at_once(self):
        self.run_cell("a = 1\nb = 2\nc = 3\nd = 4", [breakpoint(1, 1)])
        self.assertEqual(self.next_stop()[0], 1)
        self.client.ask("set_breakpoints", breakpoints=[breakpoint(1, 1), breakpoint(2, 3)], labels=[])
        self.go_on()
        self.assertEqual(self.next_stop()[0], 3)
        self.client.ask("set_breakpoints", breakpoints=[], labels=[])
        self.go_on()
        self.assertIsNone(self.next_stop())

    def test_functions_of_earlier_cells_and_new_threads_stop_too(self):
        names = self.run_cell("def work(n):\n    m = n + 1\n    return m\n", [])
        self.program.join(120)
        code = """
import threading
thread = threading.Thread(target=work, args=(1,))
thread.start()
thread.join()
"""
        self.client.status = None
        self.run_cell(code, [breakpoint(1, 3)], names, "other", "OTHER")
        self.assertEqual(self.next_stop()[0], 3)
        self.assertEqual(self.evaluate("m"), "2")
        self.go_on()
        self.end()
        self.assertEqual(self.failed, [])

    def test_without_line_breakpoints_python_traces_nothing(self):
        traced = "import sys\ntraced = sys.gettrace() is not None or tracing()\n"

        def tracing():
            return threading.gettrace() is not None
        self.run_cell(traced, [breakpoint(1, kind="op", target="exp"), breakpoint(2, 1, cell="never run")],
                      names := {"tracing": tracing})
        self.program.join(120)
        self.assertFalse(names["traced"])
        self.run_cell(traced + "x = 1", [breakpoint(1, 9)], names, "cell", "CELL")
        self.program.join(120)
        self.assertTrue(names["traced"])
        self.client.ask("set_breakpoints", breakpoints=[], labels=[])
        self.run_cell(traced, [], names, "cell", "CELL")
        self.program.join(120)
        self.assertFalse(names["traced"])
        self.assertIsNone(sys.gettrace())

    def test_a_log_point_writes_before_lines_without_ops(self):
        names = self.run_cell("lines = 0\nfor i in range(3):\n    lines += 1\n",
                              [breakpoint(1, 3, action="log", text="line {line}, hit {hits}")])
        self.program.join(120)
        hits = {one["id"]: one["hits"] for one in self.client.ask("get_status")["hits"]}
        self.assertEqual((names["lines"], hits), (3, {1: 3}))

    def logged(self, code, breakpoints, names=None):
        """What log points write while the cell runs to its end, and its hits."""
        written = io.StringIO()
        with contextlib.redirect_stdout(written):
            self.run_cell(code, breakpoints, names)
            self.program.join(120)
        hits = {one["id"]: (one["hits"], one["without_op"]) for one in self.client.ask("get_status")["hits"]}
        self.assertEqual(self.failed, [])
        return written.getvalue().splitlines(), hits

    def test_a_log_point_that_asks_for_an_op_says_where_there_is_none(self):
        code = """
def double(x):
    return x + x
n = 0
for i in range(3):
    n += i
    y = double(tf.constant([1., 4.]))
    z = y * 2.
"""
        lines, hits = self.logged(code, [
            breakpoint(1, 6, action="log", text="{op}: {max(out)} in line {line}, hit {hits}"),
            breakpoint(2, 7, action="log", text="call: {op}"),
            breakpoint(3, 8, action="log", text="{op}: {max(out)}"),
            breakpoint(4, 6, action="log", text="i is 1: {op}", condition="i == 1"),
            breakpoint(5, 6, action="point", text="largest = max(out)"),
            breakpoint(6, 6, action="log", text="never", condition="max(out) > 0")])
        turn = ["call: no op on this line", "multiply: 16"]
        none = "no op on this line: no value in line 6, hit "
        self.assertEqual(lines, [none + "1", *turn, none + "2", "i is 1: no op on this line", *turn, none + "3", *turn])
        self.assertEqual(hits, {1: (3, 3), 2: (3, 3), 3: (3, 0), 4: (1, 1), 5: (3, 3), 6: (0, 3)})

    def test_ops_of_arguments_comprehensions_and_blocks_are_the_lines(self):
        code = """
x = tf.constant(1.)
y = tf.stack([x,
              tf.constant(2.)])
z = [x + float(i) for i in range(2)]
with tf.GradientTape() as tape:
    n = 1
def f(n): return x * 3. if n == 0 else f(n - 1)
f(2)
def numbers():
    for i in range(2):
        yield i
total = sum(numbers())
"""
        lines, hits = self.logged(code, [breakpoint(number, line, action="log", text=f"{line} {{op}}")
                                         for number, line in enumerate((3, 5, 6, 7, 8, 12), 1)])
        none = "no op on this line"
        self.assertEqual([line for line in lines if line.startswith("3 ")], ["3 stack"])
        self.assertIn("5 add", lines)
        self.assertNotIn("5 " + none, lines)
        self.assertEqual([line for line in lines if line[0] in "67"], [f"6 {none} so far", f"7 {none}"])
        # The definition, then three calls in one another, of which the innermost runs an op.
        self.assertEqual([line for line in lines if line.startswith("8 ")], [f"8 {none}", "8 multiply", f"8 {none}", f"8 {none}"])
        self.assertEqual([line for line in lines if line.startswith("12 ")], [f"12 {none} so far"] * 2)
        self.assertEqual(hits[1], (1, 0))

    def test_a_line_that_raises_is_written_and_a_missing_name_stops_before_it(self):
        code = "try:\n    [][1]\nexcept IndexError:\n    done = 1\n"
        lines, hits = self.logged(code, [breakpoint(1, 2, action="log", text="{op}")])
        self.assertEqual((lines, hits), (["no op on this line"], {1: (1, 1)}))
        for code in ("a = 1\nb = 2\n", "a = 1\nb = tf.constant(1.) + 1.\n"):
            with self.subTest(code):
                self.client.status = None
                self.run_cell(code, [breakpoint(1, 2, action="log", text="{op}", condition="stp == 3")])
                stop = self.next_stop()
                self.assertEqual(stop[:2], (2, False))
                self.assertIn('There is no Python name "stp" here.', stop[2])
                self.go_on()
                self.assertIsNone(self.next_stop())  # its op does not say it again
                self.end()
                self.last = None

    def test_conditions_take_names_of_the_program(self):
        code = """
def loss_of(x):
    return tf.reduce_sum(x * x)

def train(x):
    for step in range(40):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = loss_of(x * float(step))
        g = tape.gradient(loss, x)
mode = "train"
limit = np.float32(5.)
rate = tf.Variable(0.5)
train(tf.constant([1., 2.]))
"""
        ways = {"step == 30 and max(abs(grad)) > 10": 30, "step >= 7 and op:reduce_sum": 7, "step % 10 == 9 and op:reduce_sum": 9,
                "mode == 'train' and rate < 1 and op:reduce_sum and step > 3": 4, "op:reduce_sum and max(out) > limit": 2,
                "op:reduce_sum and limit < max(out) and mode != \"test\"": 2}
        for number, (condition, step) in enumerate(ways.items(), 1):
            with self.subTest(condition):
                self.client.status = None
                self.run_cell(code, [breakpoint(number, kind="condition", condition=condition)],
                              {"tf": tf, "np": np})
                self.assertIn(f"breakpoint {number}: {condition}", self.next_stop()[2])
                frame = self.client.ask("get_frames", stop=self.stop, first=0, count=10, moment=None)
                places = [f["function"] for f in frame["frames"]]
                answer = self.client.ask("evaluate", stop=self.stop, frame=places.index("train"), code="step", statements=False,
                                         limit_ms=None, moment=None)
                self.assertEqual(answer["value"]["text"], str(step))
                self.end()
                self.client.ask("set_breakpoints", breakpoints=[], labels=[])
                self.last = None

    def test_a_condition_on_names_alone_stops_before_its_line(self):
        self.run_cell("for i in range(5):\n    n = i * 2\n", [breakpoint(1, 2, condition="i == 3")])
        self.assertEqual(self.next_stop(), (2, False, "breakpoint 1: line 2, i == 3"))
        self.assertEqual(self.evaluate("(i, n)"), "(3, 4)")
        self.go_on()
        self.assertIsNone(self.next_stop())

    def test_a_name_that_is_missing_or_no_number_stops_with_a_sentence(self):
        code = "x = tf.constant([1., 2.])\nmode = [1]\ny = x + x\nz = 1\n"
        for condition, sentence in {
            "stp == 3": 'There is no Python name "stp" here.',
            "mode == 3": 'The Python name "mode" holds a value of type list: a condition compares numbers, strings and booleans.',
            "x == 3": 'The Python name "x" holds a tensor of shape (2,): a condition compares numbers, strings and booleans.',
        }.items():
            both = breakpoint(1, kind="op", condition=condition, target="add"), breakpoint(2, 4, condition=condition)
            for number, one in enumerate(both):
                with self.subTest(condition, number=number):
                    self.client.status = None
                    self.run_cell(code, [one])
                    self.assertIn(sentence, self.next_stop()[2])
                    self.end()
                    self.last = None


if __name__ == "__main__":
    unittest.main()
