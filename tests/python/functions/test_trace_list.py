"""What the debugger lists of functions: their traces, why each was made, how often it ran, and its graph."""
import gc
import linecache
import os
import secrets
import tempfile
import threading
import unittest

import numpy as np

import tapedeck as tf
from debug_client import Client
from graph_mode import GraphCase
from tapedeck import _engine

debug = _engine.debug


class Listed(GraphCase):
    def setUp(self):
        super().setUp()
        gc.collect()  # functions of tests before
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o700)
        entry = {"endpoint": f"ipc://{folder.name}/debug", "key": secrets.token_hex(16), "protocol_version": debug.PROTOCOL_VERSION}
        debug.start(entry["endpoint"], entry["key"].encode())
        self.addCleanup(debug.stop)
        self.client = Client(entry)
        self.addCleanup(self.client.close)

    def functions(self, name):
        """Those of that name."""
        answer = self.client.ask("get_graph_functions", first=0, count=200)
        return [each for each in answer["functions"] if each["name"] == name]

    def reasons(self, function):
        (listed,) = self.functions(function.__name__)
        return [[reason["text"] for reason in trace["reasons"]] for trace in listed["traces"]]

    def test_loaded_functions_are_listed_too(self):
        module = tf.Module()
        module.f = tf.function(lambda x, k=2: x * float(k), input_signature=[tf.TensorSpec([None])])
        with tempfile.TemporaryDirectory() as folder:
            tf.saved_model.save(module, folder)
            again = tf.saved_model.load(folder)
        del module
        gc.collect()
        (listed,) = self.functions("<lambda>")
        (trace,) = listed["traces"]
        self.assertEqual(trace["signature"], "<lambda>(x: float32 (None,), k=2)")
        self.assertEqual([reason["text"] for reason in trace["reasons"]], ["loaded from a saved model"])
        again.f([1., 2.])
        self.assertEqual(self.functions("<lambda>")[0]["traces"][0]["calls"], 1)

    def test_each_trace_says_what_differs_from_the_nearest_one(self):
        @tf.function
        def scaled(x, k=2, training=False):
            return x * tf.cast(k, x.dtype)

        for args in ([tf.ones([3])], [tf.ones([4])], [tf.ones([4]), 3], [tf.ones([4]), 3, True], [tf.ones([4], tf.float64), 3, True],
                     [tf.ones([3])]):
            scaled(*args)
        self.assertEqual(self.reasons(scaled), [
            ["first call"], ["argument x: shape (3,) became (4,)"], ["argument k: 2 became 3 (Python number: pass a tensor)"],
            ["argument training: False became True"], ["argument x: dtype float32 became float64"]])
        (listed,) = self.functions("scaled")
        first = listed["traces"][0]
        self.assertEqual((first["signature"], first["calls"], listed["total"]), ("scaled(x: float32 (3,), k=2, training=False)", 2, 5))
        self.assertEqual([trace["reasons"][0]["cause"] for trace in listed["traces"]], ["first", "shape", "number", "value", "dtype"])

    def test_structures_objects_and_variables(self):
        class Model:
            pass

        @tf.function
        def total(batch, model=None, **more):
            return tf.add_n(tf.nest.flatten(batch))

        one, other = Model(), Model()
        total({"a": tf.ones([2]), "b": [tf.ones([2])]}, one)
        total({"a": tf.ones([2]), "b": [tf.ones([2])]}, other)
        total({"a": tf.ones([2]), "b": (tf.ones([2]),)}, other)
        total({"a": tf.ones([2]), "b": (tf.ones([2]), tf.ones([2]))}, other)
        total({"a": tf.ones([2]), "b": (tf.ones([2]),)}, other, scale="large")
        self.assertEqual(self.reasons(total), [
            ["first call"], ["argument model: another instance of Model"], ["argument batch['b']: list became tuple"],
            ["argument batch['b'][1] is new: float32 (2,)"], ["argument scale is new: 'large'"]])

        @tf.function
        def read(v):
            return v.read_value()

        v, w = tf.Variable(1., name="v"), tf.Variable(1., name="w")
        read(v), read(w)
        self.assertEqual(self.reasons(read)[1], ["argument v: another variable: <tf.Variable 'v:0'> became <tf.Variable 'w:0'>"])

    def test_methods_first_variables_and_concrete_functions(self):
        class Layer:
            def __init__(self):
                self.w = None

            @tf.function
            def scale(self, x):
                if self.w is None:
                    self.w = tf.Variable(2.)
                return self.w * x

        one, other = Layer(), Layer()
        one.scale(tf.ones([2]))
        other.scale.get_concrete_function(tf.TensorSpec([2], tf.float32))
        name = "Layer.scale"
        reasons = [each["traces"][0]["reasons"][0]["text"] for each in self.functions(name)]
        self.assertEqual(reasons, ["first call (traced twice, because the first trace made variables)",
                                   "another instance of Layer: each has traces of its own"])

        @tf.function
        def asked(x):
            return x

        asked.get_concrete_function(tf.TensorSpec([2], tf.float32))
        self.assertEqual(self.reasons(asked), [["first trace, for get_concrete_function"]])
        self.assertEqual(self.functions("asked")[0]["traces"][0]["calls"], 0)

    def test_a_call_inside_of_another_function_is_part_of_its_graph(self):
        @tf.function
        def inner(x):
            return x + 1.

        @tf.function
        def outer(x):
            return inner(x) * 2.

        for _ in range(3):
            outer(tf.constant(1.))
        counts = {name: [(t["calls"], t["inlined"]) for t in self.functions(name)[0]["traces"]] for name in ("inner", "outer")}
        self.assertEqual(counts, {"inner": [(0, 1)], "outer": [(3, 0)]})

    def test_functions_go_with_the_program_and_keep_nothing_alive(self):
        def call():
            big = tf.function(lambda x: x + 1.)
            big(tf.constant(1.))
            self.assertEqual(len(self.functions("<lambda>")), 1)

        call()
        gc.collect()
        self.assertEqual(self.functions("<lambda>"), [])

    def test_lines_records_and_stages(self):
        code = ("import tapedeck as tf\n"
                "@tf.function\n"
                "def walk(x):\n"
                "    if tf.reduce_sum(x) > 1.:\n"
                "        x = x * 2.\n"
                "    while tf.reduce_sum(x) < 50.:\n"
                "        x = x + x\n"
                "    return x\n"
                "a = tf.ones([2])\n"
                "y = walk(a)\n")
        names = {}
        debug.begin_cell("cell", "/tmp/kernel_9/77.py")
        try:
            linecache.cache["/tmp/kernel_9/77.py"] = (len(code), None, code.splitlines(True), "/tmp/kernel_9/77.py")
            exec(compile(code, "/tmp/kernel_9/77.py", "exec"), names)
        finally:
            debug.end_cell()
        (listed,) = self.functions("walk")
        (trace,) = listed["traces"]
        self.assertEqual((listed["cell"], trace["cell"], trace["line"]), ("cell", "cell", 10))
        self.assertIn(listed["line"], (2, 3))
        self.assertGreaterEqual(trace["after"], 1)
        rows = self.client.ask("get_graph", trace=trace["id"], stage=0, first=0, count=1000)
        self.assertEqual([stage["name"] for stage in rows["stages"]][0], "as traced")
        ops = {row["op"]: row for row in rows["rows"]}
        self.assertEqual((ops["branch"]["cell"], ops["branch"]["line"]), ("cell", 4))
        self.assertEqual(ops["loop"]["line"], 6)
        self.assertTrue({"if true", "if false", "while", "do", "return"} <= set(ops))
        self.assertEqual({row["line"] for row in rows["rows"] if row["op"] == "multiply" and row["depth"] == 2}, {5})

    def test_answers_come_while_the_program_waits_and_run_none_of_its_code(self):
        class Loud:
            def __repr__(self):
                raise AssertionError("code of the user's")

        @tf.function
        def paused(x, thing):
            return tf.exp(x)

        thing = Loud()
        paused(tf.constant(1.), thing)
        self.client.ask("set_gate", command="pause")
        program = threading.Thread(target=lambda: paused(tf.constant(1.), thing))
        program.start()
        self.client.wait_for(lambda status: status["gate"] == "stopped")
        (listed,) = self.functions("paused")
        self.client.ask("get_graph", trace=listed["traces"][0]["id"], stage=3, first=0, count=10)
        self.client.ask("set_gate", command="run")
        program.join()
        self.assertIn("thing=<Loud object>", listed["traces"][0]["signature"])

    def test_the_list_says_whether_functions_run_eagerly(self):
        for eagerly in (True, False):
            tf.config.run_functions_eagerly(eagerly)
            self.assertEqual(self.client.ask("get_graph_functions", first=0, count=1)["run_eagerly"], eagerly)

    def test_many_traces_stay_quick_to_list(self):
        @tf.function
        def counted(x, k):
            return x * k

        x = tf.constant(1.)
        for k in range(130):
            counted(x, float(k))
        (listed,) = self.functions("counted")
        self.assertEqual((listed["total"], len(listed["traces"])), (130, 100))
        self.assertEqual(listed["traces"][-1]["reasons"][0]["text"],
                         "argument k: 128.0 became 129.0 (Python number: pass a tensor)")
        self.assertEqual(np.float32(counted(x, 3.).numpy()), 3.)


if __name__ == "__main__":
    unittest.main()
