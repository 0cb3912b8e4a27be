"""Graphs of TensorFlow 1 are built, and their sessions give what eager code gives."""
import unittest

import numpy as np
import tapedeck as eager
import tapedeck.compat.v1 as tf


class InGraph(unittest.TestCase):
    """Each test builds a graph of its own."""

    def setUp(self):
        self.graph = tf.Graph()
        context = self.graph.as_default()
        context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        self.session = tf.Session()

    def run_(self, fetches, feed_dict=None):
        return self.session.run(fetches, feed_dict)

    def initialize(self):
        self.run_(tf.global_variables_initializer())


class Runs(InGraph):
    def test_only_what_the_fetches_need_runs(self):
        printed = tf.py_function(lambda: self.fail("nothing needs this"), [], tf.float32)
        x = tf.placeholder(tf.float32, [2])
        self.assertIsNotNone(printed)
        np.testing.assert_array_equal(self.run_(x * 2, {x: [1, 2]}), [2, 4])

    def test_fetches_keep_their_structure_and_their_kinds(self):
        x = tf.placeholder(tf.float32, [2], name="x")
        total, double = tf.reduce_sum(x), x * 2
        found = self.run_({"a": [total, (double, "x:0")], "b": tf.no_op()}, {x: [1, 2]})
        self.assertIsInstance(found["a"][0], np.float32)
        self.assertIsInstance(found["a"][1], tuple)
        self.assertEqual((found["a"][0], found["b"]), (3, None))
        np.testing.assert_array_equal(found["a"][1], [[2, 4], [1, 2]])
        self.assertEqual(self.run_([]), [])

    def test_the_dtype_float_has_32_bits(self):
        self.assertEqual((tf.placeholder("float", [2]).dtype, tf.constant(1, "float").dtype), (tf.float32, tf.float32))

    def test_any_tensor_may_be_fed(self):
        x = tf.placeholder(tf.float32, [2])
        middle = x + 1
        np.testing.assert_array_equal(self.run_(middle * 10, {middle: [5, 6]}), [50, 60])
        constant = tf.constant([1.0, 2.0])
        np.testing.assert_array_equal(self.run_(constant * 10, {constant: [3, 4]}), [30, 40])

    def test_open_extents_take_the_feeds(self):
        x = tf.placeholder(tf.float32, [None, 3])
        self.assertEqual(x.shape.as_list(), [None, 3])
        mean = tf.reduce_mean(tf.reshape(x, [tf.shape(x)[0] * 3]))
        slope, = tf.gradients(mean, [x])
        for rows in (1, 2, 5, 2):
            value, by_x = self.run_([mean, slope], {x: np.ones([rows, 3])})
            self.assertEqual(value, 1)
            np.testing.assert_allclose(by_x, np.full([rows, 3], 1 / (3 * rows)), rtol=1e-6)

    def test_a_placeholder_with_a_default_is_that_where_it_is_not_fed(self):
        x = tf.placeholder_with_default([1.0, 2.0], [None])
        y = x * 3
        np.testing.assert_array_equal(self.run_(y), [3, 6])
        np.testing.assert_array_equal(self.run_(y, {x: [1, 1, 1]}), [3, 3, 3])

    def test_branches_and_loops_run_with_the_feeds(self):
        x = tf.placeholder(tf.float32, [])
        chosen = tf.cond(x > 0, lambda: x * 2, lambda: x * 3)
        _, total = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, a + x), [0, 0.0])
        self.assertEqual(self.run_([chosen, total], {x: 2}), [4, 8])
        self.assertEqual(self.run_([chosen, total], {x: -1}), [-3, -4])

    def test_random_numbers_are_drawn_in_each_run_and_once_in_a_run(self):
        noise = tf.random_normal([4])
        one, again = self.run_([noise, noise + 0])
        np.testing.assert_array_equal(one, again)
        self.assertFalse(np.array_equal(one, self.run_(noise)))

    def test_eager_code_is_eager_beside_a_graph(self):
        x = tf.placeholder(tf.float32, [2])
        self.assertFalse(tf.executing_eagerly())
        with tf.init_scope():
            self.assertEqual(float(eager.reduce_sum(eager.constant([1.0, 2.0]))), 3)
        self.assertEqual(self.run_(tf.reduce_sum(x), {x: [1, 2]}), 3)


class Variables(InGraph):
    def test_a_session_has_values_of_its_own(self):
        w = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
        step = w.assign_add([1.0, 2.0])
        init = tf.global_variables_initializer()
        other = tf.Session()
        for session in (self.session, other):
            session.run(init)
        self.run_(step)
        self.run_(step)
        other.run(step)
        np.testing.assert_array_equal(self.run_(w), [2, 4])
        np.testing.assert_array_equal(other.run(w), [1, 2])

    def test_an_assignment_gives_the_value_behind_it(self):
        w = tf.Variable([1.0, 2.0])
        self.initialize()
        before, later = w * 1, w.assign_add([1.0, 1.0])
        np.testing.assert_array_equal(self.run_([before, later]), [[1, 2], [2, 3]])
        self.assertIsNone(self.run_(later.op))
        np.testing.assert_array_equal(self.run_(w), [3, 4])

    def test_a_read_that_needs_no_assignment_runs_none(self):
        w = tf.Variable(1.0)
        self.initialize()
        w.assign(5.0)
        self.assertEqual(self.run_(w + 1), 2)

    def test_control_dependencies_run_before(self):
        w = tf.Variable(1.0)
        self.initialize()
        with tf.control_dependencies([w.assign_add(1.0)]):
            after = tf.identity(w)
            with tf.control_dependencies(None):
                free = tf.identity(w)
            done = tf.no_op()
        self.assertEqual(self.run_(free), 1)
        self.assertEqual([self.run_(after), self.run_(done), self.run_(w)], [2, None, 3])

    def test_variables_may_begin_as_others_and_as_feeds(self):
        x = tf.placeholder(tf.float32, [2])
        fed = tf.Variable(x)
        first = tf.Variable(tf.random_normal([3]))
        second = tf.Variable(first.initialized_value() * 2)
        self.run_(tf.global_variables_initializer(), {x: [3, 4]})
        one, two, three = self.run_([first, second, fed])
        np.testing.assert_array_equal(one * 2, two)
        np.testing.assert_array_equal(three, [3, 4])

    def test_what_is_not_initialized_is_told(self):
        tf.get_variable("a", [], initializer=tf.zeros_initializer())
        b = tf.get_variable("b", [], initializer=tf.zeros_initializer())
        left, there = tf.report_uninitialized_variables(), tf.is_variable_initialized(b)
        self.run_(b.initializer)
        found, is_there = self.run_([left, there])
        self.assertEqual((list(found), is_there), ([b"a"], True))

    def test_scopes_share_as_they_say(self):
        with tf.variable_scope("layer"):
            w = tf.get_variable("w", [2])
            with self.assertRaisesRegex(ValueError, "Variable layer/w already exists, disallowed"):
                tf.get_variable("w", [2])
        with tf.variable_scope("layer", reuse=True):
            self.assertIs(tf.get_variable("w", [2]), w)
            with self.assertRaisesRegex(ValueError, "Variable layer/b does not exist, or was not created with tf.get_variable"):
                tf.get_variable("b", [2])
        with tf.variable_scope("layer", reuse=tf.AUTO_REUSE):
            self.assertIs(tf.get_variable("w", [2]), w)
        self.assertEqual([each.name for each in tf.trainable_variables()], ["layer/w:0"])
        self.assertEqual(tf.trainable_variables("other"), [])

    def test_a_graph_that_is_entered_again_is_as_it_was(self):
        with tf.variable_scope("a"):
            w = tf.get_variable("w", [2])
            with tf.Graph().as_default():
                self.assertEqual(tf.get_variable_scope().name, "")
                tf.get_variable("w", [3])
                with self.graph.as_default(), tf.variable_scope(tf.get_variable_scope(), reuse=True):
                    self.assertIs(tf.get_variable("w", [2]), w)
            self.assertEqual(tf.get_variable_scope().name, "a")

    def test_moving_averages_are_updates_of_the_graph(self):
        x = tf.placeholder(tf.float32, [None, 2])
        out = tf.layers.batch_normalization(x, training=True, momentum=0.5)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        self.initialize()
        mean = next(each for each in tf.global_variables() if "moving_mean" in each.name)
        batch = {x: [[2.0, 4.0], [4.0, 8.0]]}
        self.run_(out, batch)
        np.testing.assert_array_equal(self.run_(mean), [0, 0])
        self.run_(updates, batch)
        np.testing.assert_allclose(self.run_(mean), [1.5, 3])


class Names(InGraph):
    def test_tensors_and_operations_are_found_by_name(self):
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.name_scope("part"):
            y = tf.identity(x + 1, name="y")
        with tf.name_scope("part"):
            again = tf.identity(x, name="y")
        self.assertEqual((x.name, y.name, again.name, y.op.name, y.op.type), ("x:0", "part/y:0", "part_1/y:0", "part/y", "Identity"))
        self.assertEqual(self.graph.get_tensor_by_name("part/y:0"), y)
        self.assertIs(self.graph.get_operation_by_name("part/y"), y.op)
        self.assertIs(y.graph, self.graph)
        np.testing.assert_array_equal(self.run_("part/y:0", {"x:0": [1, 2]}), [2, 3])
        self.assertIn(y.op, self.graph.get_operations())
        self.assertIn(y.op.inputs[0].op, x.consumers())
        with self.assertRaisesRegex(KeyError, "'nothing', does not exist in the graph"):
            self.graph.get_tensor_by_name("nothing:0")
        with self.assertRaisesRegex(KeyError, "refers to an Operation not in the graph"):
            self.graph.get_operation_by_name("nothing")

    def test_tensors_are_keys(self):
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        self.assertEqual({x: 1, y: 2}[self.graph.get_tensor_by_name(x.name)], 1)
        self.assertTrue(x == self.graph.get_tensor_by_name(x.name))
        self.assertTrue(x != y)

    def test_collections_are_the_graphs(self):
        tf.add_to_collection("mine", 1)
        self.assertEqual(tf.get_collection("mine"), [1])
        with tf.Graph().as_default():
            self.assertEqual(tf.get_collection("mine"), [])
        self.assertEqual(self.graph.get_collection("mine"), [1])


class Errors(InGraph):
    def raises(self, kind, text, fetches, feed_dict=None):
        with self.assertRaisesRegex(kind, text):
            self.run_(fetches, feed_dict)

    def test_feeds_that_do_not_fit(self):
        x = tf.placeholder(tf.float32, [2], name="x")
        with tf.Graph().as_default():
            other = tf.placeholder(tf.float32, name="other")
        y = x * 2
        self.raises(tf.errors.InvalidArgumentError, r"must feed a value for placeholder tensor 'x' with dtype float and shape \[2\]", y)
        self.raises(tf.errors.InvalidArgumentError, r"placeholder tensor 'open' with dtype double and shape \[\?,2\]",
                    tf.placeholder(tf.float64, [None, 2], name="open") + 1)
        self.raises(tf.errors.InvalidArgumentError, r"placeholder tensor 'any' with dtype int32\n",
                    tf.placeholder(tf.int32, name="any") + 1)
        self.raises(ValueError, r"Cannot feed value of shape \(3,\) for Tensor 'x:0', which has shape '\(2,\)'", y, {x: [1, 2, 3]})
        self.raises(TypeError, "Cannot interpret feed_dict key as Tensor: Tensor .* is not an element of this graph", y, {other: 1})
        self.raises(TypeError, "Cannot interpret feed_dict key as Tensor: The name 'no:0' refers to a Tensor which does", y, {"no:0": 1})
        self.raises(TypeError, "The value of a feed cannot be a tf.Tensor object", y, {x: y})

    def test_fetches_that_do_not_fit(self):
        tf.placeholder(tf.float32, [2], name="x")
        with tf.Graph().as_default():
            other = tf.placeholder(tf.float32, name="other")
        self.raises(ValueError, "Fetch argument .* cannot be interpreted as a Tensor. .*is not an element of this graph", other)
        self.raises(ValueError, "Fetch argument 'no:0' cannot be interpreted as a Tensor", "no:0")
        self.raises(TypeError, "Fetch argument None has invalid type <class 'NoneType'>", None)
        self.raises(TypeError, r"Fetch argument 3 has invalid type <class 'int'>, must be a string or Tensor. \(Can not convert a int", 3)

    def test_a_variable_without_a_value(self):
        w = tf.get_variable("w", [2])
        self.raises(tf.errors.FailedPreconditionError, "Attempting to use uninitialized value w", w * 2)
        self.raises(tf.errors.FailedPreconditionError, "Attempting to use uninitialized value w", w)
        self.initialize()
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "uninitialized value w"):
            tf.Session().run(w)

    def test_sessions_that_cannot_run(self):
        x = tf.constant(1.0)
        with self.assertRaisesRegex(ValueError, "Cannot evaluate tensor using `eval\\(\\)`: No default session is registered"):
            x.eval()
        with self.session.as_default(), tf.Graph().as_default(), self.assertRaisesRegex(
                ValueError, "the tensor's graph is different from the session's graph"):
            tf.constant(1.0).eval()
        with tf.Graph().as_default(), self.assertRaisesRegex(RuntimeError, "The Session graph is empty"):
            tf.Session().run([])
        self.session.close()
        self.raises(RuntimeError, "Attempted to use a closed Session", x)

    def test_a_finalized_graph_grows_no_more(self):
        x = tf.placeholder(tf.float32, [])
        y = x + 1
        self.graph.finalize()
        self.assertEqual(self.run_(y, {x: 1}), 2)
        with self.assertRaisesRegex(RuntimeError, "Graph is finalized and cannot be modified"):
            tf.exp(x)
        x * 2
        self.raises(RuntimeError, "Graph is finalized and cannot be modified", y, {x: 1})

    def test_ops_of_two_graphs(self):
        x = tf.placeholder(tf.float32)
        with tf.Graph().as_default(), self.assertRaisesRegex(ValueError, "must be from the same graph"):
            x + tf.placeholder(tf.float32)

    def test_what_fails_in_a_run_says_where_it_was_built(self):
        x = tf.placeholder(tf.float32, [None])
        y = tf.reshape(x, [3])
        with self.assertRaises(tf.errors.InvalidArgumentError) as caught:
            self.run_(y, {x: [1, 2]})
        self.assertIn("test_sessions.py", "".join(getattr(caught.exception, "__notes__", ["test_sessions.py"])))

    def test_python_reads_no_value_of_a_graph(self):
        x = tf.placeholder(tf.float32, [], name="x")
        with self.assertRaisesRegex(TypeError, r"ask for it with Session.run\(\) or Tensor.eval\(\)"):
            bool(x > 1)


class WithoutGraph(unittest.TestCase):
    def test_graphs_alone_have_placeholders(self):
        with self.assertRaisesRegex(RuntimeError, r"tf.placeholder\(\) is not compatible with eager execution"):
            tf.placeholder(tf.float32)
        with self.assertRaisesRegex(NotImplementedError, "eval is not supported when eager execution is enabled"):
            eager.constant(1.0).eval()
        self.assertFalse(hasattr(eager.constant(1.0), "op"))
        self.assertIsNone(eager.Variable(1.0).initializer)

    def test_an_interactive_session_is_the_default_one(self):
        graph = tf.Graph()
        session = tf.InteractiveSession(graph=graph)
        try:
            self.assertIs(tf.get_default_graph(), graph)
            self.assertEqual((tf.constant(2.0) * 3).eval(), 6)
        finally:
            session.close()
        self.assertTrue(tf.executing_eagerly())
        self.assertIsNone(tf.get_default_session())


if __name__ == "__main__":
    unittest.main()
