"""Sessions' runs in the debugger: a run is a call, with the ops that it ran on the lines that built them."""
import json

from cell_thread import CellThread
from graph_mode import graphs
from tapedeck import _engine

debug = _engine.debug

PROGRAM = """\
import tapedeck.compat.v1 as v1
graph = v1.Graph()
with graph.as_default():
    x = v1.placeholder(v1.float32, [SHAPE], name='x')
    w = v1.get_variable('w', [3], initializer=v1.ones_initializer())
    y = v1.tanh(x * w)
    loss = v1.reduce_sum(y)
    other = v1.exp(x)
    slope, = v1.gradients(loss, [w])
    step = v1.train.GradientDescentOptimizer(0.5).minimize(loss)
    begin = v1.global_variables_initializer()
session = v1.Session(graph=graph)
session.run(begin)
"""


class Runs(CellThread):
    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def tearDown(self):
        if debug.attached():
            debug.set_breakpoints([])  # where a test failed at a stop
        super().tearDown()

    def last_run(self, shape, line):
        """(depth, op, line) of what the last run recorded."""
        self.run_to_its_end(PROGRAM.replace("SHAPE", shape) + line)
        records = json.loads(debug.records_json())
        first = max(at for at, record in enumerate(records) if record["kind"] == "call" and record["depth"] == 0)
        return [(record["depth"], record["op"], record["line"]) for record in records[first:]]

    def test_a_run_has_what_it_needs_and_no_more(self):
        found = self.last_run("3", "session.run(loss, {x: [1., 2., 3.]})\n")
        self.assertEqual(found, [(0, "session(x: float32 (3,))", 14), (1, "multiply", 6), (1, "tanh", 6), (1, "reduce_sum", 7)])

    def test_open_extents_are_those_of_the_feed(self):
        found = self.last_run("None", "session.run(loss, {x: [1., 2., 3.]})\n")
        self.assertEqual(found[0], (0, "session(x: float32 (3,))", 14))
        self.assertEqual([(op, line) for _, op, line in found[1:] if not op.startswith("session")],
                         [("multiply", 6), ("tanh", 6), ("reduce_sum", 7)])

    def test_an_update_is_on_the_optimizers_line(self):
        found = self.last_run("3", "session.run(step, {x: [1., 2., 3.]})\n")
        self.assertIn((1, "tanh", 6), found)
        self.assertIn("gradient_descent", [op for _, op, _ in found])
        self.assertEqual({line for _, op, line in found if op == "gradient_descent"}, {10})

    def test_breakpoints_stop_on_lines_that_built_ops(self):
        self.begin(PROGRAM.replace("SHAPE", "3") + "session.run(loss, {x: [1., 2., 3.]})\n")
        self.assertEqual(debug.set_breakpoints([dict(kind="line", cell="cell-1", line=line) for line in (7, 8)]), [None, None])
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
        self.assertEqual((self.failed, seen), ([], [7]))


if __name__ == "__main__":
    import unittest
    unittest.main()
