"""What watches and Console lines leave as it was: the same program with and without them gives the same numbers, names and records."""
import json
import os
import secrets
import tempfile
import threading
import unittest

import numpy as np

import tapedeck as tf
from debug_client import Client
from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session import moments
from tapedeck.summary import curves

debug = _engine.debug

PROGRAM = """
import random
import numpy as np
import tapedeck as tf

tf.keras.backend.clear_session()
tf.random.set_seed(7); random.seed(7); np.random.seed(7)
generator = tf.random.Generator.from_seed(3)
state = np.random.RandomState(4)
class Data:
    def __init__(self):
        self.rng, self.shuffles = np.random.default_rng(5), [random.Random(6)]

    def draw(self):
        return self.rng.random() + self.shuffles[0].random()
data = Data()
w = tf.Variable([1., 2.], name="w")
dropout = tf.keras.layers.Dropout(0.5)
late = tf.keras.layers.Dense(2, kernel_initializer="ones")
average = tf.keras.metrics.Mean()
curve, names, marks = [], [], {"seen": 0}

def square(x):
    return x * x

def touch():
    curve.append(-1.0)
    marks["seen"] += 1
    names.clear()
    return w.assign([9., 9.])

def train(step):
    with tf.GradientTape() as tape:
        noise = tf.random.uniform([2]) + random.random() + np.random.rand() + generator.normal([2])
        noise = noise + tf.random.uniform([2], seed=5) + state.rand() + data.draw()
        loss = tf.reduce_sum((w * dropout(noise, training=True) - 1.) ** 2)
    w.assign_sub(0.01 * tape.gradient(loss, w))
    average(loss)
    curve.append(float(loss))
    names.append(tf.keras.layers.Dense(1).name)

for step in range(3):
    train(step)
end = (tf.train.get_global_step() is None, marks["seen"], average.result().numpy(), late.built, w.numpy().tolist())
"""

# What a user watches without a thought of what it does.
WATCHES = ["tf.random.uniform(())", "tf.random.uniform((), seed=5)", "random.random()", "np.random.rand(3)",
           "generator.uniform([2])", "dropout(w, training=True)", "late(tf.ones([1, 3]))", "average(100.)",
           "state.rand()", "state.permutation(5)", "state.seed(1)", "data.draw()",
           "tf.keras.layers.Dense(3).name", "tf.train.get_or_create_global_step()", "w.assign_add([1., 1.])", "touch()",
           "tf.random.set_seed(1)", "np.random.seed(1)", "random.seed(1)", "tf.random.set_global_generator(generator)",
           "tf.summary.scalar('stray', 1.0, step=1)", "tf.add_to_collection('stray', 1)", "(step := 99)", "tf.Variable(1.)",
           "tf.keras.backend.clear_session()", "curve.append(5.)", "generator.reset_from_seed(1)", "1/0", "nothing there"]

LINES = ["import random, numpy\nrandom.random(); numpy.random.rand()", "tf.random.uniform(()); tf.random.set_seed(1)",
         "generator.uniform([2])", "state.randn(3); data.draw()", "tf.keras.layers.Dense(3)", "tf.train.create_global_step()",
         "with tf.GradientTape() as mine:\n    mine.watch(w)\n    y = w * w\nmine.gradient(y, w)"]


class Isolation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        os.chmod(folder.name, 0o700)
        self.entry = {"endpoint": f"ipc://{folder.name}/debug", "key": secrets.token_hex(16),
                      "protocol_version": debug.PROTOCOL_VERSION}
        self.answers, self.failed = [], []
        moments.notes.clear()  # another session's

    def tearDown(self):
        if debug.attached():
            debug.stop()
        session_frames.session.forget()

    def run_program(self, at_stop, steps=12, code=PROGRAM, between="step_line"):
        """The program's names, and its records, where at_stop(client, stop) is called at some of its stops."""
        debug.start(self.entry["endpoint"], self.entry["key"].encode())
        names = {"tf": tf, "np": np}

        def run():
            try:
                debug.begin_cell("cell", "CELL")
                exec(compile(code, "CELL", "exec"), names)
            except BaseException as error:
                self.failed.append(error)
            finally:
                debug.end_cell()
        program = threading.Thread(target=run)
        with Client(self.entry) as client:
            client.ask("set_gate", command="pause")
            program.start()
            stop = 0
            def stop_of(status):
                complete = status.get("complete_gradient")
                return complete["stop"] if complete else status["stopped_before"] or status["stopped_at_line"]
            for _ in range(steps):
                stop = stop_of(client.wait_for(lambda status, stop=stop: stop_of(status) not in (None, 0, stop)))
                at_stop(client, stop)
                client.status = None
                client.ask("set_gate", command=between)
            client.wait_for(lambda status: stop_of(status) not in (None, 0, stop))
            client.ask("set_gate", command="run")
            program.join(120)
        self.assertEqual(self.failed, [])
        records = [(r["number"], r["kind"], r["op"], r["line"], r["scope"], [(t["name"], t["preview"]) for t in r["outputs"]],
                    [t["name"] for t in r["inputs"]]) for r in json.loads(debug.records_json())]
        points = debug.status()["series_points"]
        debug.stop()
        return names, records, points

    def evaluate(self, client, stop, code, statements=False, frame=0, moment=None):
        answer = client.ask("evaluate", stop=stop, frame=frame, code=code, statements=statements, limit_ms=None, moment=moment)
        self.answers.append((code, answer))
        return answer

    def compare(self, plain, looked_at):
        for name in ("curve", "names", "end", "step", "marks"):
            self.assertEqual(plain[0][name], looked_at[0][name], name)
        self.assertEqual(plain[1], looked_at[1])
        self.assertEqual(plain[2], looked_at[2])

    def test_watches_change_nothing(self):
        plain = self.run_program(lambda client, stop: None)

        def look(client, stop):
            for watch in WATCHES:
                self.evaluate(client, stop, watch)
        looked_at = self.run_program(look)
        errors = {code: answer["error"] for code, answer in self.answers if answer["error"]}
        self.assertLessEqual(set(errors), {"1/0", "nothing there", *(code for code in errors if "NameError" in errors[code])}, errors)
        worked = {code for code, answer in self.answers if not answer["error"]}
        self.assertLessEqual(set(WATCHES) - {"1/0", "nothing there"}, worked)
        self.compare(plain, looked_at)
        self.assertNotIn("stray", curves.take_written())

    def test_looking_at_variables_of_the_past_changes_nothing(self):
        plain = self.run_program(lambda client, stop: None)
        seen = []

        def look(client, stop):
            for code in ("w", "w.name", "w * 2.", "late.trainable_variables", "[w][0].trainable"):
                answer = self.evaluate(client, stop, code, moment=max(1, stop - 1))
                self.assertFalse(answer["error"], answer)
                if code == "w":
                    seen.append(answer["value"]["text"])
                    held = client.ask("hold_value", place={"stop": stop, "frame": 0, "scope": "result", "name":
                                                           str(answer["result"]), "path": [], "moment": max(1, stop - 1)})
                    self.assertEqual(held["tensor"]["id"], answer["value"]["tensor"])
            self.evaluate(client, stop, "with tf.GradientTape() as t:\n    y = w * w\nt.gradient(y, w)", statements=True,
                          moment=max(1, stop - 1))
            self.evaluate(client, stop, "w[0].assign(9.)", statements=True, moment=max(1, stop - 1))
        looked_at = self.run_program(look, between="step_op", steps=40)
        self.assertEqual([answer["error"] for _, answer in self.answers if answer["error"]], [])
        self.assertGreater(len(set(seen)), 1)  # the first step's assignment is among them
        self.compare(plain, looked_at)

    def test_console_lines_draw_and_count_apart_and_their_assignments_stay(self):
        plain = self.run_program(lambda client, stop: None)

        def look(client, stop):
            for line in LINES:
                self.evaluate(client, stop, line, statements=True, frame=self.outermost(client, stop))
        looked_at = self.run_program(look)
        self.compare(plain, looked_at)
        self.assertIn("mine", looked_at[0])

        def change(client, stop):
            if len(self.answers) == 0:
                self.evaluate(client, stop, "extra = 5\nwide = tf.Variable([1.])\nwide.assign([4.])", statements=True,
                              frame=self.outermost(client, stop))
        self.answers = []
        changed = self.run_program(change)
        self.assertFalse(self.answers[0][1]["error"])
        self.assertEqual((changed[0]["extra"], changed[0]["wide"].numpy().tolist()), (5, [4.]))

    def outermost(self, client, stop):
        return client.ask("get_frames", stop=stop, first=0, count=50, moment=None)["total"] - 1

    def test_gradients_work_at_a_stop(self):
        code = """
import tapedeck as tf
tfe = tf.contrib.eager
def square(x):
    return x * x
x = tf.constant(3.)
with tf.GradientTape() as tape:
    tape.watch(x)
    y = square(x)
    z = y + 1.
g = tape.gradient(z, x)
"""
        given = {}

        def look(client, stop):
            for text in ("float(tfe.gradients_function(square)(tf.constant(3.))[0])", "tape.gradient(y, x)", "tape.watch(y)",
                         "tape.reset()", "tape.__enter__()"):
                given[text] = self.evaluate(client, stop, text)
            lines = "with tf.GradientTape() as t:\n    t.watch(x)\n    v = x * x * x\nt.gradient(v, x)"
            given["console"] = self.evaluate(client, stop, lines, statements=True)
        # The second op: y is there, and the tape is the program's, active on its own thread.
        seen = []

        def second(client, stop):
            seen.append(stop)
            if len(seen) == 2:
                look(client, stop)
        names = self.run_program(second, steps=2, code=code, between="step_op")[0]
        texts = {code: answer["value"]["text"] if answer["value"] else answer["error"] for code, answer in given.items()}
        self.assertEqual("6.0", texts["float(tfe.gradients_function(square)(tf.constant(3.))[0])"])
        self.assertEqual(texts["tape.gradient(y, x)"], "6.")
        for change in ("tape.watch(y)", "tape.reset()", "tape.__enter__()"):
            self.assertIn("the tape is the program's", texts[change])
        self.assertEqual(texts["console"], "27.")
        self.assertEqual(names["g"].numpy(), 6.0)

    def test_what_takes_too_long_leaves_everything_as_it_was_too(self):
        plain = self.run_program(lambda client, stop: None, steps=2)

        def look(client, stop):
            answer = client.ask("evaluate", stop=stop, frame=0, statements=False, limit_ms=300, moment=None,
                                code="[tf.random.uniform(()) + random.random() + np.random.rand() for _ in iter(int, 1)]")
            self.assertIn("longer than it may", answer["error"])
        self.compare(plain, self.run_program(look, steps=2))

    def test_summaries_of_an_evaluation_are_not_written(self):
        folder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(folder.cleanup)
        code = f"""
import tapedeck as tf
writer = tf.summary.create_file_writer({folder.name!r})
x = tf.constant(1.) + 1.
x = x + 1.
writer.close()
"""

        def look(client, stop):
            answer = self.evaluate(client, stop, "with writer.as_default():\n    tf.summary.scalar('stray', 3.0, step=1)\nwriter.flush()",
                                   statements=True)
            self.assertFalse(answer["error"])
        self.run_program(look, steps=1, code=code)
        for name in os.listdir(folder.name):
            with open(os.path.join(folder.name, name), "rb") as file:
                self.assertNotIn(b"stray", file.read())


if __name__ == "__main__":
    unittest.main()
