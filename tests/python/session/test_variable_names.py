"""What records call the variables of a model that an earlier cell built."""
import json
import unittest
from collections import deque

import tapedeck as tf
from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session import variable_names

debug = _engine.debug

BUILD = """
class Dense:
    def __init__(self, rows, columns):
        self.kernel = tf.Variable(tf.ones([rows, columns]), name="kernel")
        self.bias = tf.Variable(tf.zeros([columns]), name="bias")

class Net:
    def __init__(self):
        self.w1 = tf.Variable([[1., 2.]])
        self.scale = tf.Variable(3., name="scale")
        self.layers = [Dense(2, 3), Dense(3, 1)]
    def __call__(self, x):
        x = tf.matmul(x, self.w1) * self.scale
        for layer in self.layers:
            x = tf.matmul(x, layer.kernel) + layer.bias
        return x

model = Net()
all_of_them = [model.w1, model.scale] + [v for layer in model.layers for v in (layer.kernel, layer.bias)]
"""

TRAIN = """
for step in range(2):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(model(tf.ones([1, 1])))
    for variable, gradient in zip(all_of_them, tape.gradient(loss, all_of_them)):
        variable.assign_sub(0.01 * gradient)
"""


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError("not to be asked")


def names_read(first):
    """By the records from that one on, in their order: those of inputs that have one."""
    return [tensor["name"] for record in json.loads(debug.records_json()) if record["number"] >= first
            for tensor in record["inputs"] if tensor["name"]]


class VariableNames(unittest.TestCase):
    def setUp(self):
        debug.attach()
        self.namespace = {"tf": tf}
        session_frames.session.attach(self.namespace, {})

    def tearDown(self):
        session_frames.session.attach(None, {})
        debug.stop()

    def run_cell(self, cell, code):
        """As CellWatch does. Returns what its ops read."""
        first = len(json.loads(debug.records_json())) + 1
        filename = f"/tmp/variable_names/{cell}.py"
        debug.begin_cell(cell, filename)
        variable_names.name_variables()
        try:
            exec(compile(code, filename, "exec"), self.namespace)
        finally:
            debug.end_cell()
        return names_read(first)

    def test_a_model_of_an_earlier_cell_has_its_names_from_the_first_step_on(self):
        self.run_cell("build", BUILD)
        read = self.run_cell("train", TRAIN)
        step = ["model.w1", "scale:0", "model.layers[0].kernel", "model.layers[0].bias", "model.layers[1].kernel",
                "model.layers[1].bias"]
        self.assertEqual(read[:6], step)
        self.assertNotIn("Variable:0", read)
        self.assertNotIn("kernel:0", read)
        # Of the second step, too, whose values are others.
        reads_of_w1 = [name for name in read if name == "model.w1"]
        self.assertGreaterEqual(len(reads_of_w1), 4)  # product and update, twice

    def test_the_variables_keep_their_own_names(self):
        self.run_cell("build", BUILD)
        self.run_cell("next", "y = model.w1 + 1.")
        self.assertEqual((self.namespace["model"].w1.name, self.namespace["model"].layers[0].kernel.name),
                         ("Variable:0", "kernel:0"))

    def test_a_name_that_is_the_only_one_stays(self):
        self.run_cell("build", "w = tf.Variable(1., name='weights')\nholder = {'a b': tf.Variable(2.)}\nplain = tf.Variable(3.)")
        self.assertEqual(self.run_cell("next", "y = w + holder['a b'] + plain"), ["weights:0", "holder['a b']", "plain"])

    def test_one_that_was_renamed_in_python_is_called_so_in_the_next_cell(self):
        self.run_cell("build", "first = tf.Variable(1.)")
        self.run_cell("rename", "second = first; del first")
        self.assertEqual(self.run_cell("next", "y = second * 2."), ["second"])

    def test_one_that_was_made_while_nothing_was_recorded_has_its_name(self):
        debug.set_recording(False)
        self.run_cell("build", "class Holder: pass\nholder = Holder()\nholder.w = tf.Variable([1., 2.])")
        debug.set_recording(True)
        self.assertEqual(self.run_cell("next", "y = holder.w * 2."), ["holder.w"])

    def test_attributes_go_before_lists_and_what_is_public_before_what_is_not(self):
        v = tf.Variable(1.)
        model = type("Model", (), {})()
        model._all, model.w = [v], v
        hidden = type("Model", (), {})()
        hidden._w = tf.Variable(2.)
        wanted = {id(v): (v, False), id(hidden._w): (hidden._w, False)}
        paths = variable_names._paths(wanted, [("variables", [v]), ("model", model), ("hidden", hidden)])
        self.assertEqual(paths, {id(v): (False, "model.w"), id(hidden._w): (True, "hidden._w")})

    def test_circles_end_and_hostile_objects_are_passed(self):
        circle = deque()
        circle.append(circle)
        v = tf.Variable(1.)
        paths = variable_names._paths({id(v): (v, False)}, [("circle", circle), ("hostile", Hostile()), ("set", {v.ref()})
                                                            if hasattr(v, "ref") else ("none", None), ("last", [v])])
        self.assertEqual(paths, {id(v): (False, "last[0]")})

    def test_rows_of_data_are_looked_into_last(self):
        v = tf.Variable(1.)
        inner = type("Layer", (), {})()
        inner.kernel = v
        model = type("Model", (), {})()
        model.layers = [inner]
        before = variable_names.MOST_VALUES
        variable_names.MOST_VALUES = 1000
        try:
            paths = variable_names._paths({id(v): (v, False)}, [("data", [[i] for i in range(20_000)]), ("model", model)])
        finally:
            variable_names.MOST_VALUES = before
        self.assertEqual(paths, {id(v): (False, "model.layers[0].kernel")})

    def test_it_ends_in_time(self):
        v = tf.Variable(1.)
        before = variable_names.MOST_VALUES
        variable_names.MOST_VALUES = 1000
        try:
            paths = variable_names._paths({id(v): (v, False)}, [("large", [[i] for i in range(400_000)] + [v])])
        finally:
            variable_names.MOST_VALUES = before
        self.assertEqual(paths, {})


if __name__ == "__main__":
    unittest.main()
