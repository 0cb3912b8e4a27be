"""Which names lead to a tensor or a tape, as the debug server asks for them."""
import types
import unittest
from collections import deque

import numpy as np

import tapedeck as tf
from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session import names as session_names

debug = _engine.debug


class Holder:
    __slots__ = ("inside",)

    def __init__(self, inside):
        self.inside = inside


class Hostile:
    def __getattribute__(self, name):
        raise RuntimeError("not to be asked")


class Names(unittest.TestCase):
    def setUp(self):
        debug.attach()
        self.namespace = {}
        session_frames.session.attach(self.namespace, {})

    def tearDown(self):
        session_frames.session.attach(None, {})
        debug.stop()

    def find(self, tensors=(), tapes=()):
        found, complete = session_names.find_names(0, 0, [debug._storage_of(one) for one in tensors],
                                                   [tape._id for tape in tapes])
        self.assertTrue(complete)
        return [(path, root, items) for _, _, path, root, items in found]

    def test_the_path_through_lists_dicts_and_objects(self):
        x = tf.square(tf.ones([100]))
        tape = tf.GradientTape()
        self.namespace["history"] = [1, {"loss": x, "tape": tape}, 3]
        self.namespace["holder"] = Holder(deque([x]))
        self.assertEqual(self.find([x], [tape]), [("history[1]['loss']", "history", 3), ("history[1]['tape']", "history", 3),
                                                  ("holder.inside[0]", "holder", 0)])

    def test_views_and_arrays_of_the_memory_count(self):
        x = tf.square(tf.ones([100]))
        self.namespace["row"] = tf.reshape(x, [10, 10])
        self.namespace["array"] = x.numpy()
        roots = [root for _, root, _ in self.find([x])]
        self.assertIn("row", roots)
        if np.shares_memory(self.namespace["array"], x.numpy()):
            self.assertIn("array", roots)

    def test_closures_and_generators_are_looked_into(self):
        x, y = tf.square(tf.ones([100])), tf.square(tf.ones([200]))

        def make():
            def function():
                return x
            return function

        def generate(kept):
            yield kept
            yield kept

        self.namespace["function"] = make()
        self.namespace["running"] = generate(y)
        next(self.namespace["running"])
        self.assertEqual(self.find([x, y]), [("function.x", "function", 0), ("running.kept", "running", 0)])

    def test_circles_end_and_hostile_objects_are_passed(self):
        x = tf.square(tf.ones([100]))
        circle = []
        circle.append(circle)
        self.namespace.update(circle=circle, hostile=Hostile(), module=types, kind=int, last=[x])
        self.assertEqual(self.find([x]), [("last[0]", "last", 1)])

    def test_what_nothing_names_is_not_found(self):
        x = tf.square(tf.ones([100]))
        self.assertEqual(self.find([x]), [])

    def test_three_paths_are_enough(self):
        x = tf.square(tf.ones([100]))
        self.namespace["many"] = [x] * 100
        self.assertEqual([path for path, _, _ in self.find([x])], ["many[0]", "many[1]", "many[2]"])

    def test_it_ends_in_time_and_says_so(self):
        x = tf.square(tf.ones([100]))
        self.namespace["large"] = [[i] for i in range(400_000)]
        self.namespace["large"].append(x)
        before = session_names.MOST_VALUES
        session_names.MOST_VALUES = 1000
        try:
            found, complete = session_names.find_names(0, 0, [debug._storage_of(x) + 1], [])
        finally:
            session_names.MOST_VALUES = before
        self.assertEqual(found, [])
        self.assertFalse(complete)


if __name__ == "__main__":
    unittest.main()
