"""Sessions' runs in the debugger: a run is a call, with the ops that it ran on the lines that built them."""
import gc
import json
import os
import secrets
import tempfile
import unittest

from cell_thread import CellThread
from debug_client import Client
from graph_mode import graphs
import tapedeck.compat.v1 as tf
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


class Listed(unittest.TestCase):
    def test_the_debugger_lists_what_ran_and_why(self):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o700)
        entry = {"endpoint": f"ipc://{folder.name}/debug", "key": secrets.token_hex(16), "protocol_version": debug.PROTOCOL_VERSION}
        gc.collect()  # graphs of tests before
        debug.start(entry["endpoint"], entry["key"].encode())
        self.addCleanup(debug.stop)
        client = Client(entry)
        self.addCleanup(client.close)
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.placeholder(tf.float32, [None], name="x")
            total = tf.reduce_sum(x, name="total")
            for values in ([1, 2], [3, 4], [1, 2, 3]):
                session.run(total, {x: values})
            session.run(total + 1, {total: 2})
            answer = client.ask("get_graph_functions", first=0, count=200)
            (listed,) = [each for each in answer["functions"] if each["name"] == "session"]
        self.assertEqual([(trace["signature"], [reason["text"] for reason in trace["reasons"]]) for trace in listed["traces"]], [
            ("session(x: float32 (2,))", ["first run: total"]),
            ("session(x: float32 (3,))", ["feeds of another shape"]),
            ("session(total: float32 ())", ["other fetches or feeds: add"])])
        self.assertEqual([trace["calls"] for trace in listed["traces"]], [2, 1, 1])


if __name__ == "__main__":
    unittest.main()
