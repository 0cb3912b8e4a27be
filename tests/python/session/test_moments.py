"""What names had in the past, and what an edit at a stop comes too late for."""
import gc
import unittest
import weakref

import numpy as np

import tapedeck as tf
from tapedeck import _engine
from tapedeck._session import console as session_console
from tapedeck._session import frames as session_frames
from tapedeck._session import moments, places

from cell_thread import CellThread

debug = _engine.debug

TRAINING = """
w = tf.Variable([1., 2.], name='w')
losses = []
for step in range(4):
    before = step * 10
    loss = tf.reduce_sum(w * w)
    losses.append(loss)
    w.assign_sub(w * .5)
late = tf.Variable(7.)
last = tf.constant(1.) + 1.
"""

CALLS = """
def scaled(h, factor):
    bent = h * factor
    big = np.arange(1000)
    return bent + 1.

def outer(x):
    y = x + 1.
    return scaled(y, 3) * y

result = outer(tf.constant([1., 2.]))
"""


EDITED = [  # where, the code, the variable that is set to 5 at the first stop, and what comes out: the op that waits has 2
    ("a function",
     "def f(x):\n"
     "    y = x + 1.\n"
     "    return x * y\n"
     "out = f(tf.constant(2.))\n", "x", 15.0),
    ("a cell",
     "x = tf.constant(2.)\n"
     "y = x + 1.\n"
     "out = x * y\n", "x", 15.0),
    ("a closure",
     "def f(x):\n"
     "    def g():\n"
     "        y = x + 1.\n"
     "        return x * y\n"
     "    return g()\n"
     "out = f(tf.constant(2.))\n", "x", 15.0),
    ("a captured variable",
     "def f(x):\n"
     "    g = lambda: x\n"
     "    y = g() + 1.\n"
     "    return x * y\n"
     "out = f(tf.constant(2.))\n", "x", 15.0),
    ("a comprehension",
     "out = [(v + 1.) * v for v in [tf.constant(2.)]][0]\n", "v", 15.0),
    ("a method",
     "class A:\n"
     "    def m(self, x):\n"
     "        y = x + 1.\n"
     "        return x * y\n"
     "out = A().m(tf.constant(2.))\n", "x", 15.0),
    ("a generator",
     "def g(x):\n"
     "    y = x + 1.\n"
     "    yield x * y\n"
     "out = next(g(tf.constant(2.)))\n", "x", 15.0),
    ("a class",
     "class A:\n"
     "    x = tf.constant(2.)\n"
     "    y = x + 1.\n"
     "    z = x * y\n"
     "out = A.z\n", "x", 15.0),
    ("a loop",
     "def f(xs):\n"
     "    for x in xs:\n"
     "        y = x + 1.\n"
     "        t = x * y\n"
     "    return t\n"
     "out = f([tf.constant(2.)])\n", "x", 15.0),
]


class Moments(CellThread):
    # ---- the past

    def test_a_variable_has_the_value_of_the_moment_and_the_rest_says_that_it_is_of_now(self):
        self.run_to_its_end(TRAINING)
        products = self.numbers("multiply")  # two a step: w * w, w * .5
        for step in range(4):
            rows = self.rows(products[2 * step], "globals")
            value = np.array([1., 2.]) * .5**step
            self.assertEqual(rows["w"]["text"], session_console.describe("w", tf.constant(value, tf.float32))["text"])
            self.assertNotIn("as_of", rows["w"])
            self.assertEqual((rows["step"]["text"], rows["step"]["as_of"]), ("3", "now"))
            self.assertNotIn("edit", rows["step"])
            self.assertEqual(rows["late"]["problem"], "late was made later")
        # No stop was earlier, but the cell's beginning was.
        self.assertEqual(moments.frames(0, False, 0, 0, 100, products[0]), ("", 0, [], 1, False, "cell-1", ""))
        tensor, text, variable = places.PastPlace(0, 0, 0, "globals", "w", [], products[2]).held()
        self.assertEqual((text, variable), ("w", True))
        self.assertEqual(list(np.asarray(debug._value_of(tensor))), [.5, 1.])

    def test_expressions_have_the_values_of_the_moment_and_say_which(self):
        self.run_to_its_end(TRAINING)
        first = self.numbers("multiply")[2]
        answer = self.evaluate("float(w[1]) + 1.", first)
        self.assertEqual((answer["value"]["text"], answer["moment"]), ("2.0", f"at op {first}"))
        answer = self.evaluate("float(w[1]) + step", first)
        self.assertEqual((answer["value"]["text"], answer["moment"]), ("4.0", f"at op {first}; step as now"))
        self.assertEqual(self.evaluate("step", first)["moment"], "now")
        self.assertEqual(self.evaluate("float(late)", first)["error"], "LookupError: late was made later")
        self.assertIn("NameError", self.evaluate("nothing", first)["error"])
        self.assertEqual(self.evaluate("[float(v) for v in w]", first)["value"]["text"], "[0.5, 1.0]")

    def test_statements_about_the_past_change_nothing(self):
        self.run_to_its_end(TRAINING)
        first = self.numbers("multiply")[2]
        answer = self.evaluate("step = 99\nfresh = 1\nstep + float(w[0])", first, statements=True)
        self.assertEqual(answer["text"], "99.5")
        self.assertIn("is not kept", answer["note"])
        self.assertEqual(self.names["step"], 3)
        self.assertNotIn("fresh", self.names)
        self.assertEqual(self.evaluate("w.assign([5., 5.])", first, statements=True)["error"],
                         f"TypeError: w.assign: w is shown as it was at op {first}, and the past is not assigned to: Alt+End goes to "
                         "the newest op")
        self.assertEqual(list(self.names["w"].numpy()), [.0625, .125])

    def test_locals_are_those_of_the_nearest_earlier_stop_which_is_named(self):
        self.start(CALLS, 4)  # x + 1., h * factor, bent + 1., and the product in outer
        one, two, three, four = range(self.stop - 3, self.stop + 1)
        name, total, frames, noted, after, cell, unknown = moments.frames(self.stop, False, self.thread.ident, 0, 100, three)
        self.assertEqual(([frame[0] for frame in frames], noted, after, cell, unknown),
                         (["scaled", "outer", "<module>"], three, False, "", ""))
        rows = self.rows(three, "locals")
        self.assertEqual({name: row["text"] for name, row in rows.items() if name != "big"},
                         {"h": "[2., 3.]", "factor": "3", "bent": "[6., 9.]"})
        self.assertEqual((rows["big"]["shape"], rows["big"]["problem"]), ([1000], "only its type and shape are known"))
        self.assertNotIn("bent", self.rows(two, "locals"))
        self.assertEqual(list(self.rows(three, "locals", 1)), ["x", "y"])
        answer = self.evaluate("factor + 1 if bent is not None else 0", three)
        self.assertEqual((answer["value"]["text"], answer["moment"]),
                         ("4", f"at op {three}; bent, factor as of the stop before op {three}"))
        self.assertEqual(self.evaluate("bent", three)["value"]["text"], "[6., 9.]")
        self.assertEqual(self.evaluate("big", three)["error"],
                         f"LookupError: of big only its type and shape are known at op {three}")
        self.assertEqual(moments.frames(self.stop, False, self.thread.ident, 0, 100, one)[3], one)

    def test_after_a_stop_after_an_op_the_note_holds_from_the_next_op_on(self):
        self.start(CALLS, 2)
        moments.notes.clear()
        moments.frames(self.stop, True, self.thread.ident, 0, 100, 0)
        self.assertIsNone(moments.notes.nearest(self.stop))
        self.assertEqual(moments.notes.nearest(self.stop + 1).text(), f"the stop after op {self.stop}")

    def test_a_stop_before_a_line_comes_after_the_records_that_there_are(self):
        self.start(CALLS, 2)
        moments.notes.clear()
        moments.note_stop(moments.FIRST_LINE_STOP + 7, False, self.thread.ident)
        count = debug.record_count()
        self.assertIsNone(moments.notes.nearest(count))
        self.assertEqual(moments.notes.nearest(count + 1).text(), "the stop at line 3")

    def test_a_note_keeps_no_value_of_the_programs_alive(self):
        class Kept:
            pass
        kept, array = Kept(), np.zeros(1000)
        texts = ["a", "b"]
        note = moments.Note(1, 1, False, None)
        entries = note.entries([("kept", kept), ("array", array), ("texts", texts), ("tensor", tf.constant([1.]))])
        gone = weakref.ref(kept), weakref.ref(array)
        texts.append("c")
        del kept, array
        gc.collect()
        self.assertEqual([one() for one in gone], [None, None])
        self.assertEqual(entries["texts"].value, ["a", "b"])
        self.assertEqual((entries["kept"].kind, entries["array"].shape), ("other", [1000]))

    def test_notes_are_bounded_and_the_oldest_go(self):
        self.addCleanup(moments.notes.clear)
        names = [(f"name{i}", i) for i in range(1000)]
        for before in range(1, 2000):
            note = moments.Note(before, before, False, None)
            note.globals = note.entries(names)
            moments.notes.add(note)
        self.assertLessEqual(note.size, moments.MOST_NAMES)
        self.assertIsNone(moments.notes.nearest(1000))
        self.assertEqual(moments.notes.nearest(1990).before, 1990)

    def test_what_a_subclass_does_to_itself_ends_no_note(self):
        class Odd(np.ndarray):
            @property
            def shape(self):
                raise RuntimeError("no shape")

        class Loud(int):
            def __eq__(self, other):
                raise RuntimeError("no comparison")
            __hash__ = int.__hash__
        note = moments.Note(1, 1, False, None)
        entries = note.entries([("odd", np.zeros(2).view(Odd)), ("loud", Loud(3)), ("after", 1)])
        self.assertEqual(entries["after"].value, 1)
        self.assertEqual(entries["odd"].shape, [2])

    # ---- edits

    def test_an_edit_says_who_has_read_the_variable_already(self):
        self.start("def f(x):\n    y = tf.subtract(x, tf.square(x))\n    return y + x\nout = f(tf.constant(2.))\n", 1)
        note = self.assign("x", "3.")["note"]
        self.assertEqual(note, "Line 2 of f has read x already, and goes on with what it was; what comes after sees the "
                               "new value.")
        self.go_on()
        self.assertEqual(float(self.names["out"]), 2. - 4. + 3.)

    def test_an_edit_of_a_place_that_is_gone_by_then_does_not_say_that_it_keeps_its_value(self):
        self.start("def f(x):\n    return tf.square(x)\nout = f(tf.constant(2.))\n", 1)
        place = (self.stop, self.thread.ident, 0, "locals", "x", ())
        self.go_on()
        self.assertEqual(session_console.assigned(place), {"note": session_console.WENT_ON})

    def test_an_edit_of_what_was_not_read_yet_is_seen(self):
        self.start("def f(x, k):\n    y = tf.square(x)\n    return y * k\nout = f(tf.constant(2.), 2.)\n", 1)
        self.assertEqual(self.assign("k", "10.")["note"], session_console.SEEN)
        self.go_on()
        self.assertEqual(float(self.names["out"]), 40.)

    def test_a_statement_of_several_lines_is_read_as_a_whole(self):
        self.start("def f(x):\n    return tf.subtract(\n        x,\n        tf.square(3. * tf.constant(1.)))\n"
                   "out = f(tf.constant(2.))\n", 1)
        self.assertIn("has read x already", self.assign("x", "5.")["note"])
        self.go_on()
        self.assertEqual(float(self.names["out"]), -7.)

    def test_edits_take_effect_wherever_code_has_variables_of_its_own(self):
        for title, code, name, value in EDITED:
            with self.subTest(title):
                try:
                    self.start(code, 1)
                    frame = session_frames.frame_at(self.thread.ident, 0)
                    kind = "locals" if session_frames.has_locals(frame) else "globals"
                    answer = self.assign(name, "5.", kind)
                    self.assertNotIn("error", answer)
                    self.assertIn("what comes after sees the new value", answer["note"].lower())
                    self.go_on()
                    self.assertEqual(float(self.names["out"]), value)
                finally:
                    self.tearDown()

    def test_a_global_is_read_by_the_functions_that_wait(self):
        self.start("rate = 2.\ndef f(x):\n    return rate * tf.square(x)\nout = f(tf.constant(2.))\nagain = rate * out\n", 1)
        self.assertIn("Line 3 of f has read rate already", self.assign("rate", "10.", "globals")["note"])
        self.go_on()
        self.assertEqual((float(self.names["out"]), float(self.names["again"])), (8., 80.))


if __name__ == "__main__":
    unittest.main()
