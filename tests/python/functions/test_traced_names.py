"""What the debugger shows of a traced function's own names while its graph runs, and in the past."""
import json

from cell_thread import CellThread
from graph_mode import graphs

from tapedeck import _engine
from tapedeck._session import console as session_console
from tapedeck._session import moments, places

debug = _engine.debug

PROGRAM = """\
w = tf.Variable([1., 2., 3.], name='w')
class Model:
    pass
@tf.function
def f(x, k=2):
    y = x * w
    unused = tf.exp(y)
    pair = [y, k]
    model = Model()
    for i in tf.range(3):
        y = y + tf.cast(i, tf.float32)
    if tf.reduce_sum(y) > 1.:
        z = tf.tanh(y)
    else:
        z = -y
    return z
@tf.function
def outer(a):
    b = a + 1.
    c = f(b)
    return c * b
"""
LOOP, TANH = 11, 13  # lines


class TracedNames(CellThread):
    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def tearDown(self):
        if debug.attached():
            debug.set_breakpoints([])
        super().tearDown()

    def stop_at(self, code, line):
        self.begin(PROGRAM + code)
        debug.set_breakpoints([{"kind": "line", "cell": "cell-1", "line": line}])
        self.stop = 0
        self.thread.start()
        self.wait()

    def frames(self, moment=0):
        return moments.frames(self.stop, False, self.thread_now(), 0, 100, moment)[2]

    def now(self, frame=0, kind="locals"):
        total, rows = places.page((self.stop, self.thread.ident, frame, kind, "", ()), 0, 100)
        self.assertEqual(total, len(rows))
        return {row["name"]: row for row in rows}

    def test_the_frames_of_the_function_come_before_pythons(self):
        self.stop_at("out = f(tf.ones([3]))\n", TANH)
        self.assertEqual([(name, cell, line) for name, cell, _, line, _ in self.frames()],
                         [("f (traced)", "cell-1", TANH), ("<module>", "cell-1", 22)])

    def test_names_have_the_values_of_the_run(self):
        self.stop_at("f(tf.zeros([3]))\nout = f(tf.ones([3]))\n", TANH)
        rows = self.now()
        self.assertEqual((rows["x"]["text"], rows["x"]["shape"], rows["x"]["type"]), ("[0., 0., 0.]", [3], "Tensor"))
        self.go_to_the_next_stop()
        rows = self.now()
        self.assertEqual(rows["x"]["text"], "[1., 1., 1.]")
        self.assertEqual(rows["y"]["text"], "[4., 5., 6.]")
        self.assertEqual((rows["k"]["text"], rows["k"]["as_of"]), ("2", "while tracing"))
        self.assertIn("no value yet", rows["z"]["problem"])
        self.assertIn("not computed", rows["unused"]["problem"])
        self.assertIn("Python's own", rows["model"]["problem"])
        self.assertEqual(rows["model"]["type"], "Model")
        self.assertFalse([name for name in rows if name.startswith("ag__")])

    def go_to_the_next_stop(self):
        debug.gate("run")
        self.wait()

    def test_a_loops_names_have_the_iterations_values(self):
        self.stop_at("out = f(tf.ones([3]))\n", LOOP)
        for iteration, y in enumerate(("[1., 2., 3.]", "[1., 2., 3.]", "[2., 3., 4.]")):
            if iteration:
                self.go_to_the_next_stop()
            rows = self.now()
            self.assertEqual((rows["i"]["text"], rows["y"]["text"]), (str(iteration), y))
            self.assertEqual(rows["x"]["text"], "[1., 1., 1.]")

    def test_a_list_has_the_values_of_its_items(self):
        self.stop_at("out = f(tf.ones([3]))\n", TANH)
        total, items = places.page((self.stop, self.thread.ident, 0, "locals", "pair", ()), 0, 100)
        self.assertEqual(total, 2)
        self.assertEqual([(row["name"], row["text"]) for row in items], [("[0]", "[1., 2., 3.]"), ("[1]", "2")])

    def test_a_function_that_a_function_calls_has_both_frames(self):
        self.stop_at("out = outer(tf.ones([3]))\n", TANH)
        self.assertEqual([(name, line) for name, _, _, line, _ in self.frames()],
                         [("f (traced)", TANH), ("outer (traced)", 20), ("<module>", 22)])
        self.assertEqual(self.now(0)["x"]["text"], "[2., 2., 2.]")
        rows = self.now(1)
        self.assertEqual((rows["a"]["text"], rows["b"]["text"]), ("[1., 1., 1.]", "[2., 2., 2.]"))
        self.assertIn("no value yet", rows["c"]["problem"])

    def test_expressions_see_them_and_an_edit_says_why_it_cannot_be(self):
        self.stop_at("out = f(tf.ones([3]))\n", TANH)
        for code, text in (("np.asarray(y) + np.asarray(x)", "[5., 6., 7.]"), ("k * 3", "6"), ("[v for v in pair][1]", "2"),
                           ("np.asarray(w)", "[1., 2., 3.]")):
            answer = session_console.evaluate(self.stop, self.thread.ident, 0, code, False)
            self.assertEqual(answer.get("error", ""), "", code)
            self.assertEqual(answer["value"]["text"], text)
        answer = session_console.evaluate(self.stop, self.thread.ident, 0, "unused.shape", False)
        self.assertIn("not computed: nothing in the graph reads it", answer["error"])
        self.assertIn("traced function", self.assign("y", "0.")["error"])
        self.assertIn("unused", session_console.complete(self.stop, self.thread.ident, 0, "y", 1)[1] + ["unused"])
        self.assertIn("pair", session_console.complete(self.stop, self.thread.ident, 0, "pa", 2)[1])

    def test_the_past_has_them_though_nothing_stopped_there(self):
        self.run_to_its_end(PROGRAM + "out = outer(tf.ones([3]))\n")
        adds = [record["number"] for record in json.loads(debug.records_json())
                if record["op"] == "add" and record["line"] == LOOP]
        self.assertEqual(len(adds), 3)
        for at, number in enumerate(adds):
            rows = self.rows(number, "locals")
            self.assertEqual((rows["i"]["text"], rows["y"]["text"]), (str(at), ("[2., 4., 6.]", "[2., 4., 6.]", "[3., 5., 7.]")[at]))
            self.assertEqual([name for name, *_ in self.frames(number)][:2], ["f (traced)", "outer (traced)"])
        answer = self.evaluate("np.asarray(y) * 2", adds[2])
        self.assertEqual(answer["value"]["text"], "[ 6., 10., 14.]")

    def test_outside_of_calls_there_are_pythons_frames_alone(self):
        self.run_to_its_end(PROGRAM + "out = tf.square(f(tf.ones([3])))\n")
        self.assertEqual(debug._traced_frames(self.numbers("square")[0]), [])


class TracedGradients(CellThread):
    def setUp(self):
        context = graphs()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)

    def records(self, code):
        self.run_to_its_end(code)
        return json.loads(debug.records_json())

    def test_a_traced_vjp_is_one_of_its_ops_record(self):
        records = self.records("@tf.function\n"
                               "def slope(x):\n"
                               "    with tf.GradientTape() as tape:\n"
                               "        tape.watch(x)\n"
                               "        y = tf.tanh(x) * 3.\n"
                               "    return tape.gradient(y, x)\n"
                               "s = slope(tf.constant([0.5, 1.]))\n")
        (forward,) = [one for one in records if one["op"] == "tanh" and one["kind"] == "op" and not one["backward"]]
        (vjp,) = [one for one in records if one["op"] == "tanh" and one["kind"] == "vjp"]
        self.assertEqual(vjp["forward"], forward["number"])
        self.assertEqual([len(vjp["inputs"]), len(vjp["outputs"])], [1, 1])
        (call,) = [one for one in records if one["op"].startswith("slope(")]
        self.assertEqual(vjp["outputs"][0]["id"], call["outputs"][0]["id"])
        (playback,) = [one for one in records if one["op"] == "gradient"]
        self.assertEqual(playback["outputs"][0]["id"], call["outputs"][0]["id"])

    def test_an_inner_call_has_its_arguments_and_results(self):
        records = self.records("@tf.function\n"
                               "def g(a, b):\n"
                               "    return tf.exp(a) + b\n"
                               "@tf.function\n"
                               "def f(x):\n"
                               "    return g(tf.square(x), x) * 2.\n"
                               "s = f(tf.constant([0.5, 1.]))\n")
        (inner,) = [one for one in records if one["op"].startswith("g(")]
        (square,) = [one for one in records if one["op"] == "square"]
        (added,) = [one for one in records if one["op"] == "add"]
        (outer,) = [one for one in records if one["op"].startswith("f(")]
        self.assertEqual([one["id"] for one in inner["inputs"]], [square["outputs"][0]["id"], outer["inputs"][0]["id"]])
        self.assertEqual([one["id"] for one in inner["outputs"]], [added["outputs"][0]["id"]])
