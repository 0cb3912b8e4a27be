"""Variables, frames and code at a place, as the debug server asks for them."""
import gc
import threading
import time
import unittest
import weakref

import numpy as np

import tapedeck as tf
from tapedeck import _engine
from tapedeck._session import console as session_console
from tapedeck._session import frames as session_frames
from tapedeck._session import places
from tapedeck._session import values as session_values

debug = _engine.debug

NESTED = """
def inner(h, k=2):
    z = h * 2.
    return [z * i for i in range(k)]

def outer(x):
    y = x + 1.
    def made():
        yield inner(y)
    for q in made():
        pass
    return q

x = tf.constant([1., 2.])
result = outer(x)
"""


class Raising:
    def __repr__(self):
        raise RuntimeError("no repr today")


class Exiting:
    def __repr__(self):
        raise SystemExit(3)


class Attributes:
    def __init__(self):
        self.weight = tf.Variable([[1., 2.]], name="weight")
        self._private = 3
        self.__dict__["with space"] = 1

    @property
    def never(self):
        raise AssertionError("a property was called")

    def __getattr__(self, name):
        raise AssertionError(f"__getattr__ was called for {name}")


class Slots:
    __slots__ = ("a", "unset")

    def __init__(self):
        self.a = 1


class Lying:
    """Says that it is something else."""
    __class__ = list


def row(value):
    return session_values.describe("x", value)


class Values(unittest.TestCase):
    def test_tensors_variables_and_arrays_tell_shape_dtype_device_and_bytes(self):
        tensor = row(tf.constant([[1., 2.], [3., 4.]]))
        self.assertEqual((tensor["type"], tensor["shape"], tensor["dtype"], tensor["device"], tensor["bytes"]),
                         ("Tensor", [2, 2], "float32", "/cpu:0", 16))
        self.assertEqual(tensor["text"], "[[1., 2.], [3., 4.]]")
        self.assertEqual(tensor["edit"], "[[1., 2.], [3., 4.]]")
        variable = tf.Variable(tf.zeros([100, 100], tf.float64))
        self.assertEqual((row(variable)["bytes"], row(variable)["tensor"]), (80000, variable._id))
        self.assertNotIn("edit", row(variable))
        array = row(np.arange(5))
        self.assertEqual((array["type"], array["shape"], array["dtype"], array["bytes"]), ("ndarray", [5], "int64", 40))

    def test_a_small_value_is_edited_as_the_text_that_makes_it(self):
        for value in (1, -2.5, 1e300, True, None, "it's", [1, [2, 3]], (1,), {"a": [1]}, {1, 2}, 3j):
            self.assertEqual(eval(row(value)["edit"]), value)
        narrow = tf.constant([.1, 1e-20, 3e30])
        self.assertTrue(np.array_equal(np.float32(eval(row(narrow)["edit"])), np.asarray(narrow)))

    def test_what_is_large_or_not_plain_has_no_text_to_edit(self):
        for value in (list(range(1000)), "x" * 10000, Raising(), tf.zeros([65]), tf.zeros([0, 3]), 10 ** 5000, [Raising()]):
            self.assertNotIn("edit", row(value))

    def test_texts_are_bounded_whatever_the_value(self):
        loop = []
        loop.append(loop)
        deep = []
        for _ in range(100_000):
            deep = [deep]
        for value in (list(range(10 ** 6)), "x" * 10 ** 7, loop, {i: [i] * 1000 for i in range(1000)}, 10 ** 100_000,
                      tf.zeros([1000, 1000]), np.zeros([2] * 20), deep, {"k" * 10 ** 6: 1}, b"b" * 10 ** 6):
            self.assertLessEqual(len(row(value)["text"]), session_values.MOST_TEXT)
        self.assertEqual(row(list(range(10 ** 6)))["items"], 10 ** 6)
        while deep:  # one by one: Python's own way recurses
            deep = deep[0]

    def test_a_repr_that_raises_is_told_and_ends_nothing(self):
        self.assertEqual(row(Raising())["problem"], "its repr raised RuntimeError: no repr today")
        self.assertEqual(row(Exiting())["problem"], "its repr raised SystemExit: 3")

    def test_a_key_whose_repr_raises_is_one_row(self):
        self.assertEqual([name for name, _ in session_values.Items({Raising(): 1, 2: 3}).page(0, 9)], ["[<Raising>]", "[2]"])

    def test_texts_are_of_one_line_in_letters_that_travel(self):
        class Odd:
            def __repr__(self):
                return "two\nlines \ud800 \x00"
        self.assertEqual(row(Odd())["text"], "two lines \N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}")

    def test_a_class_that_lies_about_itself_is_an_object(self):
        self.assertEqual(row(Lying())["type"], "Lying")
        self.assertEqual(row(Lying())["items"], 0)

    def test_attributes_are_read_without_calling_the_users_code(self):
        names = [name for name, _ in session_values.Items(Attributes()).page(0, 100)]
        self.assertEqual(names, [".weight", ".with space", "._private"])
        self.assertEqual(session_values.Items(Slots()).page(0, 9), [(".a", 1)])

    def test_items_come_by_page(self):
        pages = session_values.Items({i: str(i) for i in range(1000)})
        self.assertEqual(pages.total, 1000)
        self.assertEqual(pages.page(998, 500), [("[998]", "998"), ("[999]", "999")])
        self.assertEqual(session_values.Items([4, 5, 6]).page(1, 1), [("[1]", 5)])

    def test_functions_classes_and_modules_are_code(self):
        for value in (len, row, Values, np, np.add, [].append):
            self.assertEqual(row(value).get("kind"), "code")


class AtAStop(unittest.TestCase):
    """A thread that waits at the gate, in code of a cell."""

    def start(self, code, steps):
        debug.attach()
        debug.begin_cell("cell-1", "CELL")
        self.names = {"tf": tf, "np": np}
        self.failed = []

        def run():
            try:
                exec(compile(code, "CELL", "exec"), self.names)
            except BaseException as error:
                self.failed.append(error)
        debug.gate("pause")
        self.thread = threading.Thread(target=run, name="user")
        self.thread.start()
        for step in range(1, steps + 1):
            self.wait(step)
            if step < steps:
                debug.gate("step_op")

    def wait(self, record):
        give_up = time.monotonic() + 120
        while debug.status()["stopped_before"] != record:
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.002)
        self.stop = record

    def go_on(self):
        debug.gate("run")
        self.thread.join()
        self.assertEqual(self.failed, [])

    def tearDown(self):
        if debug.attached():
            debug.gate("run")
            self.thread.join()
            debug.end_cell()
            debug.stop()
        session_frames.session.forget()

    def place(self, frame, kind, name="", path=()):
        return self.stop, self.thread.ident, frame, kind, name, list(path)

    def rows(self, frame, kind, **place):
        return {r["name"]: r for r in places.page(self.place(frame, kind, **place), 0, 500)[1]}

    def evaluate(self, code, frame=0, statements=False):
        return session_console.evaluate(self.stop, self.thread.ident, frame, code, statements)

    def test_the_stack_has_functions_generators_and_comprehensions_but_no_libraries(self):
        self.start(NESTED, 3)
        name, total, frames = session_frames.frames(self.thread.ident, 0, 100)
        self.assertEqual((name, total), ("user", 5))
        self.assertEqual([(f[0], f[1], f[3], f[4]) for f in frames],
                         [("<listcomp>", "cell-1", 4, True), ("inner", "cell-1", 4, True), ("made", "cell-1", 9, True),
                          ("outer", "cell-1", 10, True), ("<module>", "cell-1", 15, False)])

    def test_frames_of_the_package_between_the_users_are_left_out(self):
        self.start("def body(part):\n    return tf.sin(part)\ny = tf.map_fn(body, tf.constant([1., 2.]))", 1)
        while session_frames.frames(self.thread.ident, 0, 1)[2][0][0] != "body":
            debug.gate("step_op")
            self.wait(self.stop + 1)
        self.assertEqual([f[0] for f in session_frames.frames(self.thread.ident, 0, 10)[2]], ["body", "<module>"])

    def test_each_frame_has_its_locals(self):
        self.start(NESTED, 3)
        self.assertEqual(list(self.rows(1, "locals")), ["h", "k", "z"])
        self.assertEqual(self.rows(1, "locals")["z"]["text"], "[4., 6.]")
        self.assertEqual(self.rows(3, "locals")["y"]["text"], "[2., 3.]")
        self.assertEqual(self.rows(4, "locals"), {})
        self.assertEqual([name for name in self.rows(0, "globals") if name in ("x", "outer", "result")], ["outer", "x"])

    def test_locals_are_let_go_when_the_program_lets_them_go(self):
        self.start("""
class Kept: pass
def work(x):
    held = Kept()
    seen.append(weakref.ref(held))
    x * 2.
    held = None
    x * 3.
    return x
import weakref
seen = []
work(tf.constant(1.))
""", 1)
        self.assertIn("held", self.rows(0, "locals"))
        self.evaluate("held")
        debug.gate("step_op")
        self.wait(2)
        session_frames.session.at(self.stop)
        gc.collect()
        self.assertIsNone(self.names["seen"][0]())
        self.assertIsInstance(self.names["seen"][0], weakref.ref)

    def test_a_dict_of_locals_that_the_program_keeps_stays_its_own(self):
        self.start("def work(x):\n    kept = locals()\n    x * 2.\n    return kept\nkept = work(tf.constant(1.))", 1)
        self.rows(0, "locals")
        self.go_on()
        self.assertIn("x", self.names["kept"])

    def test_expressions_see_locals_globals_and_those_inside_of_comprehensions(self):
        self.start(NESTED, 2)
        self.assertEqual(self.evaluate("[v * k + h.shape[0] for v in (1, 2)]")["value"]["text"], "[4, 6]")
        self.assertEqual(self.evaluate("x.shape[0] + k")["value"]["text"], "4")

    def test_errors_come_with_their_traceback_and_without_ours(self):
        self.start(NESTED, 2)
        for code, error in (("1/0", "ZeroDivisionError: division by zero"),
                            ("nothing", "NameError: name 'nothing' is not defined"),
                            ("x y", "SyntaxError: invalid syntax")):
            answer = self.evaluate(code)
            self.assertEqual(answer["error"], error)
            self.assertNotIn("session_console", answer["traceback"])
        self.assertIn("RecursionError", self.evaluate("def f(n): return f(n + 1)\nf(0)", statements=True)["error"])
        self.assertIn("SystemExit", self.evaluate("import sys\nsys.exit()", statements=True)["error"])

    def test_what_is_printed_comes_back_and_not_what_other_threads_print(self):
        self.start(NESTED, 2)
        answer = self.evaluate("print('here', k)\nk + 1", statements=True)
        self.assertEqual((answer["printed"], answer["value"]["text"], answer["text"]), ("here 2\n", "3", "3"))

    def test_of_much_that_is_printed_the_first_part_comes_back_and_the_cut_is_told(self):
        self.start(NESTED, 2)
        most = session_console.MOST_PRINTED
        exactly = self.evaluate(f"print('x' * {most}, end='')", statements=True)["printed"]
        self.assertEqual(exactly, "x" * most)
        for code in (f"print('x' * {most + 1})", f"for i in range({most}): print('xx', end='')"):
            self.assertEqual(self.evaluate(code, statements=True)["printed"],
                             "x" * most + "\n… cut after 100,000 characters")

    def test_a_write_to_the_console_does_not_look_at_those_before_it(self):
        class Text(str):
            asked = 0

            def __len__(self):
                Text.asked += 1
                return super().__len__()

            def __getitem__(self, key):
                return Text(super().__getitem__(key))

            def __str__(self):
                return self
        kept = session_console.Kept()
        stream = session_console.Printed(None, kept)
        for _ in range(100):
            stream.write(Text("ab"))
        self.assertLessEqual(Text.asked, 500)
        self.assertEqual(kept.text(), "ab" * 100)

    def test_the_console_assigns_to_variables_of_the_function(self):
        self.start(NESTED, 2)
        self.assertEqual(self.evaluate("k = 3\nh", statements=True)["note"], "")
        self.assertEqual(self.rows(0, "locals")["k"]["text"], "3")
        self.go_on()
        self.assertEqual(len(self.names["result"]), 3)

    def test_a_name_that_the_function_does_not_have_is_the_consoles_own_and_says_so(self):
        self.start(NESTED, 2)
        self.assertIn("inner has no variable fresh", self.evaluate("fresh = 5", statements=True)["note"])
        self.assertEqual(self.evaluate("fresh + k")["value"]["text"], "7")

    def test_an_edited_local_is_what_the_cell_goes_on_with(self):
        self.start(NESTED, 3)
        answer = session_console.assign(self.place(1, "locals", "z"), "[10., 20.]")
        self.assertEqual(answer["value"]["text"], "[10., 20.]")
        self.assertIn("have read z already", answer["note"])
        self.go_on()
        # z * 0 waited with the old z in its frame, the list comprehension; the variable is a cell of both.
        self.assertEqual([list(np.asarray(t)) for t in self.names["result"]], [[0., 0.], [10., 20.]])

    def test_items_attributes_and_arrays_can_be_replaced(self):
        self.start("class Net: pass\nnet = Net(); net.rate = .5; layers = [1, {'a': [2]}]; array = np.zeros(2, 'f4'); fixed = (1, 2)\n"
                   "tf.constant(1.) * 2.\n", 1)
        assign = session_console.assign
        assign(self.place(0, "globals", "layers", [1, 0, 0]), "7")
        assign(self.place(0, "globals", "net", [0]), ".25")
        assign(self.place(0, "globals", "array"), "[1, nan]")
        self.assertEqual(self.names["layers"], [1, {"a": [7]}])
        self.assertEqual(self.names["net"].rate, .25)
        self.assertEqual((self.names["array"].dtype, self.names["array"][0]), (np.float32, 1))
        self.assertEqual(assign(self.place(0, "globals", "fixed", [0]), "3")["error"],
                         "TypeError: the items of a tuple cannot be replaced")
        self.assertIn("LookupError", assign(self.place(0, "globals", "gone"), "3")["error"])

    def test_results_can_be_unfolded_until_the_program_goes_on(self):
        self.start(NESTED, 2)
        number = self.evaluate("{'a': [h, 1]}")["result"]
        self.assertEqual(list(self.rows(0, "result", name=str(number))), ["['a']"])
        self.assertEqual(list(self.rows(0, "result", name=str(number), path=[0])), ["[0]", "[1]"])
        debug.gate("step_op")
        self.wait(3)
        with self.assertRaisesRegex(LookupError, "went on"):
            self.rows(0, "result", name=str(number))

    def test_names_are_completed(self):
        self.start(NESTED, 2)

        def complete(code):
            return session_console.complete(self.stop, self.thread.ident, 0, code, len(code))
        self.assertEqual(complete("1 + x"), (4, ["x"]))
        self.assertIn("reduce_mean", complete("tf.reduce_me")[1])
        self.assertEqual(complete("tf.reduce_me")[0], 3)
        self.assertEqual(complete("nothing.a")[1], [])
        self.assertEqual(complete("")[1], [])

    def test_deep_recursion_comes_by_page(self):
        self.start("def down(n):\n    return down(n - 1) if n else tf.constant(1.) * 2.\ndown(800)", 1)
        name, total, frames = session_frames.frames(self.thread.ident, 0, 100)
        self.assertEqual((total, len(frames)), (802, 100))
        self.assertEqual(session_frames.frames(self.thread.ident, 801, 100)[2][0][0], "<module>")
        self.assertEqual(self.rows(800, "locals")["n"]["text"], "800")


if __name__ == "__main__":
    unittest.main()
