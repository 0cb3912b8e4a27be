"""Graph functions in the debugger: what a call records, and where it stops."""
import json

from cell_thread import CellThread
from graph_mode import graphs

import tapedeck as tf
from tapedeck import _engine

debug = _engine.debug

PROGRAM = """\
w = tf.Variable([1., 2., 3.], name='w')
@tf.function
def g(x):
    return tf.exp(x) * 0.5
@tf.function
def f(x):
    y = x * w
    if tf.reduce_sum(y) > 1.:
        y = tf.tanh(y)
    else:
        y = -y
    for i in tf.range(2):
        y = y + y
        if i > 0:
            y = tf.square(y)
    return g(y)
@tf.function
def slope(x):
    with tf.GradientTape() as tape:
        z = tf.reduce_sum(tf.tanh(x * w))
    return tape.gradient(z, w)
"""


class Records(CellThread):
    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def tearDown(self):
        if debug.attached():
            debug.set_breakpoints([])  # where a test failed at a stop
        super().tearDown()

    def records(self):
        return json.loads(debug.records_json())

    def called(self):
        """(depth, op) of what the last call ran."""
        all_of_it = self.records()
        first = max(at for at, record in enumerate(all_of_it) if record["kind"] == "call" and record["depth"] == 0)
        return [(record["depth"], record["op"], record["line"]) for record in all_of_it[first:]]

    def test_a_call_has_its_branches_iterations_and_inner_calls(self):
        self.run_to_its_end(PROGRAM + "f(tf.ones([3]))\n")
        found = self.called()
        self.assertEqual(found[0], (0, "f(x: float32 (3,))", 22))
        parts = [each for each in found[1:] if any(word in each[1] for word in ("if", "loop", "iteration", "("))]
        self.assertEqual(parts, [(1, "if line 8: true", 8), (1, "loop line 12", 12), (2, "iteration 1", 12),
                                 (3, "if line 14: false", 14), (2, "iteration 2", 12), (3, "if line 14: true", 14),
                                 (1, "g(x: float32 (3,))", 16)])
        self.assertIn((2, "tanh", 9), found)
        self.assertIn((4, "square", 15), found)
        self.assertEqual([each for each in found if each[2] == 4], [(2, "exp", 4), (2, "multiply", 4)])

    def test_lines_of_an_inner_function_are_its_own(self):
        self.run_to_its_end(PROGRAM + "@tf.function\ndef outer(x):\n    return f(x) + 1.\nouter(tf.ones([3]))\n")
        found = self.called()
        self.assertEqual(found[:2], [(0, "outer(x: float32 (3,))", 25), (1, "f(x: float32 (3,))", 24)])
        for part in ((2, "if line 8: true", 8), (2, "loop line 12", 12), (4, "if line 14: true", 14), (2, "g(x: float32 (3,))", 16)):
            self.assertIn(part, found)

    def test_gradients_of_a_trace_are_backward(self):
        self.run_to_its_end(PROGRAM + "slope(tf.ones([3]))\n")
        records = self.records()
        names = {record["op"] for record in records if record["kind"] == "call"}
        self.assertTrue({"slope(x: float32 (3,))", "gradient"} <= names, names)
        forward = {record["number"]: record for record in records if record["kind"] == "op" and not record["backward"]}
        vjps = [record for record in records if record["kind"] == "vjp"]
        self.assertEqual({record["op"]: forward[record["forward"]]["line"] for record in vjps if record["op"] == "tanh"}, {"tanh": 20})
        for record in records:
            if record["line"] == 21:
                self.assertTrue(record["backward"], record)
            if record["line"] == 20 and record["kind"] == "op":
                self.assertFalse(record["backward"], record)
            self.assertNotEqual(record["kind"], "playback")

    def test_a_tape_around_a_call_records_its_ops(self):
        self.run_to_its_end(PROGRAM + "x = tf.ones([3])\nwith tf.GradientTape() as tape:\n    y = f(x)\n"
                                      "grad = tape.gradient(y, w)\n")
        records = self.records()
        by_number = {record["number"]: record for record in records}
        vjps = [record for record in records if record["kind"] == "vjp"]
        of = {by_number[vjp["forward"]]["op"]: by_number[vjp["forward"]]["line"] for vjp in vjps}
        self.assertEqual({key: of.get(key) for key in ("tanh", "square", "exp")}, {"tanh": 9, "square": 15, "exp": 4})

    def lines_of_stops(self, lines):
        """Where a call of f stops, with breakpoints on these lines."""
        self.begin(PROGRAM + "x = tf.ones([3])\ny = f(x)\n")
        problems = debug.set_breakpoints([dict(kind="line", cell="cell-1", line=line) for line in lines])
        self.assertEqual(problems, [None] * len(lines))
        self.thread.start()
        self.stop, seen = 0, []
        while True:
            while self.thread.is_alive() and debug.status()["stop"] in (0, self.stop):
                self.thread.join(0.002)
            if not self.thread.is_alive():
                break
            self.stop = debug.status()["stop"]
            seen.append(debug.status()["line"])
            debug.gate("run")
        self.stop = 0
        self.assertEqual(self.failed, [])
        return seen

    def test_line_breakpoints_stop_in_branches_and_iterations(self):
        self.assertEqual(self.lines_of_stops([9, 11, 13, 15]), [9, 13, 13, 15])
        self.assertEqual(debug.breakpoint_hits(), [1, 0, 2, 1])

    def test_a_line_that_only_calls_a_function_stops_before_the_call(self):
        self.assertEqual(self.lines_of_stops([16, 4]), [16, 4])
        self.assertEqual(debug.breakpoint_hits(), [1, 1])

    def test_a_condition_stops_where_it_holds_in_a_loop(self):
        self.begin(PROGRAM + "x = tf.ones([3])\ny = f(x)\n")
        debug.set_breakpoints([dict(kind="condition", condition="op:add and max(abs(out)) > 3")])
        self.stop = 0
        self.thread.start()
        self.wait()
        at = self.records()[self.stop - 1]
        self.assertEqual((at["op"], at["line"]), ("add", 13))
        self.assertEqual(self.records()[at["parent"] - 1]["op"], "iteration 2")
        debug.set_breakpoints([])
        self.go_on()

    def test_f10_goes_over_a_call(self):
        self.start(PROGRAM + "x = tf.ones([3])\ny = f(x)\nz = tf.exp(y)\n", 1)
        while self.records()[self.stop - 1]["kind"] != "call":
            debug.gate("step_op")
            self.wait()
        call = self.stop
        debug.gate("step_op")
        self.wait()
        after = self.records()[self.stop - 1]
        self.assertEqual((after["op"], after["line"], after["depth"]), ("exp", 24, 0))
        ops = sum(record["kind"] == "op" for record in self.records()[call:self.stop - 1])
        self.assertEqual(debug.status()["stepped_call"], f"f ran, {ops} ops")
        self.go_on()

    def test_the_switch_is_the_engine_s(self):
        self.assertFalse(tf.config.functions_run_eagerly())
        _engine.set_functions_run_eagerly(True)
        self.assertTrue(tf.config.functions_run_eagerly())
        self.run_to_its_end(PROGRAM + "f(tf.ones([3]))\n")
        self.assertNotIn("call", [record["kind"] for record in self.records()])
