"""Code that is evaluated about the past: what it reaches from objects, variables in it, and locals that are not known."""
import unittest

import numpy as np

from tapedeck import _engine
from tapedeck._session import moments, places

from cell_thread import CellThread

NETWORK = """
class Layer:
    def __init__(self):
        self.kernel = tf.Variable([1., 2.], name='kernel')

class Net:
    def __init__(self):
        self.w1 = tf.Variable([1., 2.], name='w1')
        self.fixed = tf.Variable([[3.]], name='fixed', trainable=False)
        self.layers = [Layer(), Layer()]
        self.rate = .5
        self.cache = None

    def both(self):
        return [self.w1, self.layers[0].kernel]

    def doubled(self):
        return self.w1 * 2.

net = Net()
d = {'w': tf.Variable(8., name='in_d')}
alone = net.w1
plain = [1, 2]
for step in range(4):
    net.cache = net.w1 * 1.
    net.w1.assign(net.w1 * net.rate)
    net.layers[0].kernel.assign(net.layers[0].kernel + 1.)
    d['w'].assign(d['w'] * .5)
    net.rate = net.rate * 1.
net.late = tf.Variable(0., name='late')
"""

CALLS = """
def scaled(h, factor):
    bent = h * factor
    inner = [row + 1. for row in [bent]]
    return inner[0] * 2.

y = tf.constant([1., 2.]) + 1.
out = scaled(y, 3)
"""


class PastCode(CellThread):

    def run_network(self):
        """The moment before the third step's first product: w1 is [.25, .5] then, its kernel [3, 4], d's 2."""
        self.run_to_its_end(NETWORK)
        return self.numbers("multiply")[6]

    def text(self, code, moment):
        answer = self.evaluate(code, moment)
        self.assertNotIn("error", answer)
        return answer["value"]["text"], answer["moment"]

    def test_the_way_to_a_variable_leads_to_its_value_at_the_moment(self):
        moment = self.run_network()
        at = f"at op {moment}"
        for code, value in (("net.w1", "[0.25, 0.5 ]"), ("net.layers[0].kernel", "[3., 4.]"), ("d['w']", "2."),
                            ("[float(v[1]) for v in net.both()][0]", "0.5"), ("float(net.w1[1])", "0.5"),
                            ("getattr(net, 'w1').numpy().tolist()", "[0.25, 0.5]")):
            with self.subTest(code):
                self.assertEqual(self.text(code, moment)[0], value)
        for code in ("net.w1", "net.layers[0].kernel", "d['w']", "float(net.w1[1])", "net.layers[0].kernel * net.w1"):
            with self.subTest(code):
                self.assertEqual(self.text(code, moment)[1], at)
        self.assertEqual(self.text("alone", moment)[0], self.text("net.w1", moment)[0])
        self.assertEqual(self.evaluate("net.w1", 0)["value"]["text"], "[0.0625, 0.125 ]")

    def test_what_is_only_known_as_it_is_now_is_named_with_the_way_to_it(self):
        moment = self.run_network()
        at = f"at op {moment}"
        self.assertEqual(self.text("net.rate", moment), ("0.5", "now"))
        self.assertEqual(self.text("net", moment)[1], "now")
        self.assertEqual(self.text("net.cache", moment)[1], "now")
        self.assertEqual(self.text("float(net.w1[0]) * net.rate", moment), ("0.125", f"{at}; net.rate as now"))
        self.assertEqual(self.text("net.w1.shape, len(net.layers)", moment)[1], f"{at}; net.layers as now")
        self.assertEqual(self.text("net.doubled()", moment)[1], "now")
        self.assertEqual(self.text("np.pi + float(d['w'])", moment), (repr(np.pi + 2.), at))

    def test_a_variable_of_the_past_has_what_variables_have(self):
        moment = self.run_network()
        for name in ("net.w1", "alone"):
            for code, value in ((f"{name}.name", "'w1:0'"), (f"{name}.trainable", "True"), (f"{name}.dtype.name", "'float32'"),
                                (f"tuple({name}.shape)", "(2,)"), (f"isinstance({name}, tf.Variable)", "True"),
                                (f"type({name}).__name__", "'Variable'"), (f"{name}.ndim", "1"),
                                (f"{name}.device == net.fixed.device", "True"), (f"{name}.numpy().tolist()", "[0.25, 0.5]"),
                                (f"{name}.read_value().numpy().tolist()", "[0.25, 0.5]"), (f"{name} is {name}", "True")):
                with self.subTest(code):
                    self.assertEqual(self.text(code, moment)[0], value)
        self.assertEqual(self.text("net.fixed.trainable", moment)[0], "False")
        self.assertEqual(self.evaluate("alone", moment)["value"]["type"], "Variable")
        answer = self.evaluate("with tf.GradientTape() as tape:\n    y = net.w1 * net.w1\ntape.gradient(y, net.w1).numpy().tolist()",
                               moment, statements=True)
        self.assertEqual(answer["text"], "[0.5, 1.0]")

    def test_what_a_variable_of_the_past_does_not_do_it_says_with_its_name(self):
        moment = self.run_network()
        count = len(_engine._living_variables())
        for code in ("net.w1.assign([0., 0.])", "net.w1.assign_add([0., 0.])", "net.w1.scatter_add(None)"):
            method = code[:code.index("(")]
            self.assertEqual(self.evaluate(code, moment, statements=True)["error"],
                             f"TypeError: {method}: net.w1 is shown as it was at op {moment}, and the past is not assigned to: "
                             "Alt+End goes to the newest op")
        self.assertEqual(self.evaluate("alone.constraint", moment)["error"],
                         f"AttributeError: which constraint alone had at op {moment} is not recorded")
        answer = self.evaluate("alone[0].assign(9.)\nfloat(alone[0])", moment, statements=True)
        self.assertEqual(answer["text"], "9.0")
        self.assertIn("is not kept", answer["note"])
        self.assertEqual(self.names["net"].w1.numpy().tolist(), [.0625, .125])
        self.assertEqual(len(_engine._living_variables()), count)  # none of the evaluations' stays

    def test_from_the_past_no_object_of_now_is_changed(self):
        moment = self.run_network()
        for code in ("net.rate = 9.", "d['w'] = 1", "del net.cache", "net.rate += 1.", "net.layers[0].kernel = 3"):
            error = self.evaluate(code, moment, statements=True)["error"]
            self.assertIn(f"{'d' if code[0] == 'd' and 'del' not in code else 'net'} is known as it is now only", error)
        self.assertEqual((self.names["net"].rate, list(self.names["d"])), (.5, ["w"]))

    def test_a_noted_list_stays_as_it_was_noted(self):
        self.run_to_its_end(NETWORK)
        moments.note_cell("cell-1")
        first = len(self.numbers("multiply")) and _engine.debug.record_count() + 1
        self.assertEqual(self.evaluate("plain.append(3)\nplain", first, statements=True)["text"], "[1, 2, 3]")
        self.assertEqual(self.text("plain", first)[0], "[1, 2]")

    def test_a_variable_that_was_made_later_is_named_with_the_way_to_it(self):
        moment = self.run_network()
        self.assertEqual(self.evaluate("net.late", moment)["error"], "LookupError: net.late was made later")
        trace = self.evaluate("net.late", moment)["traceback"]
        self.assertNotIn("past_code", trace)

    def test_what_the_code_makes_itself_is_left_alone(self):
        moment = self.run_network()
        answer = self.evaluate("v = tf.Variable(4.)\nv.assign_add(1.)\nfloat(v)", moment, statements=True)
        self.assertEqual(answer["text"], "5.0")
        answer = self.evaluate("match net.rate:\n    case float(rate):\n        found = rate\nfound", moment, statements=True)
        self.assertEqual(answer["text"], "0.5")
        self.assertEqual(self.text("(lambda net: net + 1)(2)", moment)[0], "3")

    def test_rows_below_an_object_of_now_say_which_moment_they_are_of(self):
        moment = self.run_network()
        self.assertEqual(self.rows(moment, "globals")["net"]["as_of"], "now")

        def below(kind, name):
            return {row["name"]: row for row in places.PastPlace(0, 0, 0, kind, name, [], moment).page(0, 100)[1]}
        rows = below("globals", "net")
        self.assertEqual((rows[".w1"]["text"], rows[".w1"]["as_of"]), ("[0.25, 0.5 ]", f"at op {moment}"))
        self.assertEqual(rows[".rate"]["as_of"], "now")
        # A watch's result, too.
        rows = below("result", str(self.evaluate("net", moment)["result"]))
        self.assertEqual(rows[".w1"]["text"], "[0.25, 0.5 ]")

    # ---- locals

    def test_a_local_before_the_first_stop_is_said_to_be_unknown(self):
        self.start(CALLS, 4)  # before inner[0] * 2.
        moments.notes.clear()
        moments.note_cell("cell-1")
        moments.notes._notes[0].before = 1
        product = self.numbers("multiply")[0]
        why = "locals are noted where the program stops, and no stop had been made there by then"
        for code in ("bent", "h + 1.", "factor > 2", "row"):
            name = code.split()[0]
            for statements in (False, True):
                self.assertEqual(self.evaluate(code, product + (name == "row"), statements)["error"],
                                 f"LookupError: {name} is a local of scaled, and what it had at op "
                                 f"{product + (name == 'row')} is not known: {why}")
        self.assertEqual(self.evaluate("nothing", product)["error"], "NameError: name 'nothing' is not defined")
        self.assertEqual(self.evaluate("bent", product - 1)["error"], "NameError: name 'bent' is not defined")  # the cell itself
        self.assertEqual(moments.frames(self.stop, False, self.thread.ident, 0, 100, product)[6], "scaled")
        self.assertEqual(moments.frames(self.stop, False, self.thread.ident, 0, 100, product - 1)[6], "")

    def test_a_global_in_place_of_a_local_that_is_not_known_is_said_to_be_that(self):
        self.run_to_its_end("h = tf.Variable(5.)\ndef f(h):\n    return h * 2.\nout = f(tf.constant(1.))\nlast = h + 1.\n")
        product, last = self.numbers("multiply")[0], self.numbers("add")[0]
        self.assertEqual(self.text("float(h)", product),
                         ("5.0", f"at op {product}; h of the globals, as the locals of f are not known"))
        self.assertEqual(self.text("float(h)", last), ("5.0", f"at op {last}"))

    def test_a_local_that_the_last_stop_did_not_have_is_said_to_be_unknown(self):
        self.start(CALLS, 2)  # before h * factor: bent is not there yet
        stop = self.stop
        self.go_on()
        self.stop = 0
        self.assertEqual(self.evaluate("bent", stop + 1)["error"],
                         f"LookupError: bent is a local of scaled, and what it had at op {stop + 1} is not known: locals are noted "
                         f"where the program stops, and the stop before op {stop}, the last one by then, had no bent")


if __name__ == "__main__":
    unittest.main()
