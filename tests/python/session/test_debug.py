"""The recorder as a session process uses it: lines, cells, the gate, curves."""
import contextlib
import io
import json
import os
import signal
import stat
import tempfile
import threading
import time
import unittest

import tapedeck as tf
from tapedeck import _engine

debug = _engine.debug

CELL_ONE = """
def halve(x):
    y = x * 0.5
    return y

a = halve(tf.constant([2., 4.]))
"""
CELL_TWO = """
b = halve(a)

c = b + a
"""


def records():
    return json.loads(debug.records_json())


class Debug(unittest.TestCase):
    def tearDown(self):
        debug.stop()

    def run_cell(self, cell, filename, code, names):
        debug.begin_cell(cell, filename)
        try:
            exec(compile(code, filename, "exec"), names)
        finally:
            debug.end_cell()

    def wait_for(self, condition):
        give_up = time.monotonic() + 120
        while not condition():
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.002)

    def test_ops_are_reported_with_the_cell_whose_code_called_them(self):
        debug.attach()
        names = {"tf": tf}
        self.run_cell("one", "/tmp/kernel_1/11.py", CELL_ONE, names)
        self.run_cell("two", "/tmp/kernel_1/22.py", CELL_TWO, names)
        self.assertEqual([(r["op"], r["cell"], r["line"], r["file"]) for r in records()],
                         [("multiply", "one", 3, ""), ("multiply", "one", 3, ""), ("add", "two", 4, "")])

    def log_at_multiply(self, stream):
        debug.attach()
        self.assertEqual(debug.set_breakpoints([dict(kind="op", target="multiply", action="log", text="{op} é: {max(out)}")]),
                         [None])
        with contextlib.redirect_stdout(stream):
            y = tf.constant([2., 3.]) * 2.
            for _ in range(1000):  # Python looks for signals where a loop goes back
                pass
        return y

    def test_a_log_point_writes_as_print_does(self):
        stream = io.StringIO()
        self.log_at_multiply(stream)
        self.assertEqual(stream.getvalue(), "multiply é: 6\n")

    def test_a_log_point_passes_an_interrupt_on_and_nothing_else(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        class Raising(io.StringIO):
            def write(self, text):
                raise self.error
        stream = Raising()
        stream.error = ValueError("closed")
        self.assertEqual(self.log_at_multiply(stream).numpy().tolist(), [4., 6.])
        debug.stop()
        stream.error = KeyboardInterrupt()
        with self.assertRaises(KeyboardInterrupt):
            self.log_at_multiply(stream)

    def test_code_that_is_no_cell_is_reported_with_the_cell_that_called_it(self):
        debug.attach()
        names = {"tf": tf}
        exec(compile("def helper(x):\n  return x * x\n", "helper.py", "exec"), names)
        self.run_cell("three", "/tmp/kernel_1/33.py", "\n\nhelper(tf.constant(2.))", names)
        self.assertEqual([(r["cell"], r["line"]) for r in records()], [("three", 3)])

    def test_the_same_text_in_two_cells_is_told_apart(self):
        debug.attach()
        names = {"tf": tf, "x": tf.constant(1.0)}
        for cell in ("four", "five"):
            self.run_cell(cell, "/tmp/kernel_1/44.py", "x * x", names)
        self.assertEqual([r["cell"] for r in records()], ["four", "five"])

    def test_a_loop_reports_each_line_of_its_own(self):
        debug.attach()
        code = "for i in range(100):\n  x * x\n  x + x\n"
        self.run_cell("loop", "/tmp/kernel_1/55.py", code, {"x": tf.constant(1.0)})
        self.assertEqual([r["line"] for r in records()], [2, 3] * 100)

    def test_a_gradient_reports_the_line_that_asked_for_it_and_enters_custom_ones(self):
        debug.attach()
        code = """
@tf.custom_gradient
def cube(x):
    def grad(dy):
        return dy * 3. * x * x
    return x * x * x, grad

x = tf.constant(2.)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.sin(cube(x))
slope = tape.gradient(y, x)
"""
        names = {"tf": tf}
        self.run_cell("six", "/tmp/kernel_1/66.py", code, names)
        lines = {}
        for record in records():
            if record["backward"]:
                lines.setdefault(record["kind"], set()).add(record["line"])
        self.assertEqual(lines["playback"], {12})
        self.assertEqual(lines["vjp"], {12})
        self.assertIn(5, lines["op"])
        self.assertAlmostEqual(float(names["slope"]), 12 * __import__("math").cos(8), places=4)

    def test_control_flow_and_forward_mode_report_the_lines_inside_them(self):
        debug.attach()
        code = """
x = tf.constant([1., 2.])
with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
    y = tf.map_fn(
        lambda part:
            tf.sin(part), x)
    z = tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (
            i + 1, y * y), (0, y))
tangent = accumulator.jvp(y)
"""
        self.run_cell("flow", "/tmp/kernel_1/77.py", code, {"tf": tf})
        lines = {}
        for record in records():
            lines.setdefault((record["op"], record["backward"]), set()).add(record["line"])
        self.assertEqual((lines["sin", False], lines["unstack", False], lines["stack", False]), ({6}, {4}, {4}))
        self.assertEqual(lines["multiply", False], {10})
        self.assertEqual(lines["cos", True], {11})

    def test_what_is_made_of_several_ops_reports_the_line_that_called_it(self):
        calls = ["tf.image.resize(image, [5, 5])", "tf.image.rgb_to_grayscale(image)",
                 "tf.image.extract_patches(image[None], [1, 2, 2, 1], *[[1] * 4] * 2, 'SAME')",
                 "tf.random.stateless_gamma([2], [1, 2], 3., 4.)", "tf.random.Generator.from_seed(1).normal([2], tf.zeros([2]))",
                 "tf.random.get_global_generator().uniform_full_int([2])", "tf.random.split([1, 2])",
                 "tf.initializers.Orthogonal(seed=1)([3, 3])",
                 "tf.TensorArray(tf.float32, 2, element_shape=[2]).stack()", "tf.TensorArray(tf.float32, 2).unstack(image[:2]).concat()",
                 "tf.clip_by_average_norm(image, .1)", "tf.test.compute_gradient(tf.exp, [[1., 2.]])",
                 "tf.py_function(lambda a: a * a, [image], tf.float32)",
                 "tf.grad_pass_through(tf.round)(image)", "Scaled()(image)", "v.scatter_mul(tf.IndexedSlices([2.], [0]))",
                 "tf.compat.v1.arg_max(image, 0)", "tf.norm(image * 1e30, 3.)"]
        code = "\n".join(["image, v = tf.ones([3, 4, 3]), tf.Variable([1.])", "class Scaled(tf.Module):", "    @tf.Module.with_name_scope",
                          "    def __call__(self, x):", "        return x * 2.", *calls])
        debug.attach()
        self.run_cell("calls", "/tmp/kernel_1/99.py", code, {"tf": tf})
        found = {}
        for record in records():
            if record["kind"] == "op":
                found.setdefault(record["line"], set()).add((record["cell"], record["file"]))
        # the module's op is in its own line 5
        self.assertEqual(set(found), {1, 5, *range(6, 6 + len(calls))} - {6 + calls.index("Scaled()(image)")})
        self.assertEqual({place for places in found.values() for place in places}, {("calls", "")})

    def test_constants_and_variables_are_leaves(self):
        debug.attach()
        weight = tf.Variable(3.0, name="weight")
        weight * 2.0
        weight.assign(5.0)
        weight * 2.0
        inputs = [record["inputs"] for record in records() if record["op"] == "multiply"]
        self.assertEqual([i[0]["name"] for i in inputs], ["weight:0"] * 2)
        self.assertEqual([i[0]["preview"] for i in inputs], ["3.0", "5.0"])
        self.assertEqual([i[1]["producer"] for i in inputs], [0, 0])

    def test_a_paused_thread_waits_without_pythons_lock(self):
        debug.attach()
        debug.gate("pause")
        x = tf.constant(3.0)
        results = []
        thread = threading.Thread(target=lambda: results.append(float(x * x)))
        thread.start()
        self.wait_for(lambda: debug.status()["gate"] == "stopped")
        self.assertEqual(results, [])
        self.assertEqual(records()[0]["state"], "pending")
        debug.gate("run")
        thread.join()
        self.assertEqual(results, [9.0])

    def test_recording_off_records_nothing(self):
        debug.attach()
        debug.set_recording(False)
        tf.constant(1.0) + 1.0
        self.assertEqual(debug.record_count(), 0)
        self.assertFalse(debug.recording())

    def test_curves_count_their_points(self):
        debug.add_scalar("nobody listens", 0, 1.0)
        debug.attach()
        tf.summary.scalar("loss", 0.5, 1)
        debug.restart_series("loss")
        self.assertEqual(debug.status()["series_points"], 2)

    def test_histograms_and_images_are_counted_and_checked(self):
        self.assertTrue(debug.add_histogram("nobody listens", 0, [0., 1.], [3.]))
        debug.attach()
        tf.summary.histogram("spread", [1., 2., float("nan")], 1)
        tf.summary.image("batch", tf.zeros([3, 4, 4, 1]), 1)
        self.assertEqual(debug.status()["pictures"], 2)
        debug.restart_series("spread")
        self.assertEqual(debug.status()["pictures"], 3)
        with self.assertRaisesRegex(ValueError, "add_histogram: 1 limits for 1 counts; must be 2"):
            debug.add_histogram("spread", 0, [0.], [3.])
        with self.assertRaisesRegex(ValueError, r"add_histogram: limits\[2\] is 0.5\d* after 1.0\d*; must rise, and be finite"):
            debug.add_histogram("spread", 0, [0., 1., 0.5], [3., 4.])
        with self.assertRaisesRegex(ValueError, "add_images: width is 0 and height 4; must be at least 1"):
            debug.add_images("batch", 0, 0, 4, [""])
        self.assertFalse(debug.add_images("batch", 0, 4, 4, ["x" * (5 << 20)]))

    def test_the_server_starts_and_stops_and_refuses_open_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            endpoint = f"ipc://{folder}/debug"
            os.chmod(folder, 0o755)
            with self.assertRaisesRegex(RuntimeError, "has mode 0755; it must be 0700"):
                debug.start(endpoint, b"key")
            self.assertFalse(debug.attached())
            os.chmod(folder, 0o700)
            for _ in range(2):
                debug.start(endpoint, b"key", budget_bytes=1 << 20)
                self.assertEqual(stat.S_IMODE(os.stat(f"{folder}/debug").st_mode), 0o600)
                with self.assertRaisesRegex(ValueError, "attached already"):
                    debug.attach()
                tf.constant(1.0) + 1.0
                self.assertEqual(debug.status()["budget_bytes"], 1 << 20)
                debug.stop()
            self.assertFalse(os.path.exists(f"{folder}/debug"))
        with self.assertRaisesRegex(ValueError, "nothing records"):
            debug.status()

    def test_a_forked_child_goes_on_without_the_recorder(self):
        with tempfile.TemporaryDirectory() as folder:
            debug.start(f"ipc://{folder}/debug", b"key")
            child = os.fork()
            if child == 0:
                good = not debug.attached() and float(tf.constant(2.0) * 3.0) == 6.0
                debug.stop()
                os._exit(0 if good else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            tf.constant(2.0) * 3.0
            self.assertEqual(debug.record_count(), 1)

    def test_everything_has_a_docstring(self):
        for name in dir(debug):
            if not name.startswith("_"):
                self.assertTrue(getattr(debug, name).__doc__.split("\n", 1)[1].strip(), name)


if __name__ == "__main__":
    unittest.main()
