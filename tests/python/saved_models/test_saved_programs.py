"""Random programs with control flow: saved and loaded, a graph gives what it gave: results, variables and gradients, bit for bit."""
import os
import sys
import unittest

import tapedeck as tf
from campaign import Campaign
from checkpoint_objects import InFolder
from random_functions import RandomFunctions

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "functions"))
from test_random_functions import arguments, first_order, outcome, Program, same, second_order  # noqa: E402

SPECS = {"known extents": lambda each: tf.TensorSpec(each.shape, each.dtype), "unknown extents": lambda each: tf.TensorSpec(
    [None] * len(each.shape), each.dtype)}


class Loaded:
    """A program that was loaded, as outcome() takes one."""

    def __init__(self, module):
        self.module, self.variables = module, list(module.v)

    reset = Program.reset


class RandomPrograms(InFolder):
    def test_loaded_graphs_give_what_they_gave(self):
        programs = Campaign("saved_programs", "random programs that are saved and loaded", 12, 1_000, "further random programs")
        compared = 0
        for number in range(programs.count):
            compared += self.compare(RandomFunctions(programs.random(number)).source, f"program {number}")
        self.assertGreater(compared, programs.count // 3)

    def compare(self, source, title):
        """How many graphs were saved: functions that print and that only eager code can run are none."""
        program, compared = Program(source), 0
        for name, spec in SPECS.items():
            module = tf.Module()
            module.v = program.variables
            module.f = tf.function(program.function, input_signature=[spec(each) for each in arguments(0)])
            try:
                module.f.get_concrete_function()
            except Exception:  # the program is wrong: eager code says so, too
                continue
            path = os.path.join(self.folder, "model")
            try:
                tf.saved_model.save(module, path)
            except tf.errors.UnimplementedError as error:
                self.assertIn("cannot be saved: it calls", str(error), source)
                continue
            loaded = Loaded(tf.saved_model.load(path))
            compared += 1
            for order in (lambda _, function: function, first_order, lambda each, f: second_order(each, first_order(each, f))):
                for call in (0, 1, 2):
                    wanted = outcome(program, order(program, module.f), call)
                    given = outcome(loaded, order(loaded, loaded.module.f), call)
                    if wanted[0] and isinstance(wanted[0][0], str):  # an error: loaded functions know no lines
                        wanted, given = (wanted[0][0], *wanted[1:]), (given[0][0], *given[1:])
                        self.assertEqual(wanted, given, f"{title}, {name}, call {call}:\n{source}")
                    else:
                        self.assertTrue(same(wanted, given, False), f"{title}, {name}, call {call}:\n{source}\nbefore: {wanted}\n"
                                        f"loaded: {given}")
        return compared


if __name__ == "__main__":
    unittest.main()
