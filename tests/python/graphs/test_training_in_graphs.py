"""Gradients, optimisers, savers and data sets of TensorFlow 1's graphs give what eager code gives."""
import gc
import os
import tempfile
import unittest
import weakref

import numpy as np
import tapedeck as eager
import tapedeck.compat.v1 as tf
from test_sessions import InGraph

DATA = np.array([[1.0, 2.0], [3.0, -1.0], [0.5, 0.0]], np.float32)
OPTIMIZERS = {
    "gradient descent": lambda rate: tf.train.GradientDescentOptimizer(rate),
    "momentum": lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    "adagrad": lambda rate: tf.train.AdagradOptimizer(rate),
    "rmsprop": lambda rate: tf.train.RMSPropOptimizer(rate, centered=True),
    "adam": lambda rate: tf.train.AdamOptimizer(rate),
    "adadelta": lambda rate: tf.train.AdadeltaOptimizer(rate),
    "ftrl": lambda rate: tf.train.FtrlOptimizer(rate),
}


def loss_of(w, data):
    return eager.reduce_mean(eager.square(eager.matmul(data, w) - 1.0))


def eagerly(optimizer, steps):
    """The variable after so many steps."""
    w = eager.Variable([[0.5], [0.25]])
    for _ in range(steps):
        optimizer.minimize(lambda: loss_of(w, eager.constant(DATA)), var_list=[w])
    return w.numpy()


class Gradients(InGraph):
    def test_they_are_those_of_a_tape(self):
        x = tf.placeholder(tf.float32, [None])
        y = tf.sin(x) * x
        first, = tf.gradients(y, [x])
        second, = tf.gradients(first, [x])
        weighted, = tf.gradients(y, [x], grad_ys=[tf.constant([2.0, 3.0])])
        self.assertEqual(tf.gradients(y, [tf.constant(1.0)]), [None])
        points = np.array([0.5, 2.0], np.float32)
        with tf.init_scope():
            given = eager.constant(points)
            with eager.GradientTape() as outer:
                outer.watch(given)
                with eager.GradientTape() as inner:
                    inner.watch(given)
                    value = eager.sin(given) * given
                by_tape = inner.gradient(value, given)
            again = outer.gradient(by_tape, given).numpy()
            by_tape = by_tape.numpy()
        found = self.run_([first, second, weighted], {x: points})
        np.testing.assert_array_equal(found[0], by_tape)
        np.testing.assert_array_equal(found[1], again)
        np.testing.assert_allclose(found[2], by_tape * [2, 3], rtol=1e-6)

    def test_of_intermediate_values_constants_and_through_branches(self):
        x = tf.placeholder(tf.float32, [])
        middle = x * x
        constant = tf.constant(3.0)
        y = tf.cond(x > 0, lambda: middle * constant, lambda: middle)
        slopes = tf.gradients(y, [x, middle, constant])
        self.assertEqual(self.run_(slopes, {x: 2}), [12, 3, 4])
        self.assertEqual(self.run_(slopes[:2], {x: -2}), [-4, 1])

    def test_a_tape_in_a_graph_is_part_of_it(self):
        x = tf.placeholder(tf.float32, [2])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x ** 3
        slope = tape.gradient(y, x)
        np.testing.assert_array_equal(self.run_(slope, {x: [1, 2]}), [3, 12])


class Optimizers(InGraph):
    def test_each_steps_as_in_eager_code(self):
        for name, make in OPTIMIZERS.items():
            with self.subTest(name), tf.Graph().as_default(), tf.Session() as session:
                w = tf.Variable([[0.5], [0.25]])
                data = tf.placeholder(tf.float32, [None, 2])
                step = make(0.1).minimize(loss_of(w, data))
                session.run(tf.global_variables_initializer())
                for _ in range(3):
                    self.assertIsNone(session.run(step, {data: DATA}))
                found = session.run(w)
                with tf.init_scope():
                    np.testing.assert_array_equal(found, eagerly(make(0.1), 3))

    def test_sessions_have_their_own_slots_and_steps(self):
        w = tf.Variable([[0.5], [0.25]])
        count = tf.train.get_or_create_global_step()
        optimizer = tf.train.AdamOptimizer(0.1)
        step = optimizer.minimize(loss_of(w, DATA), global_step=count)
        init = tf.global_variables_initializer()
        self.assertIn(optimizer.get_slot(w, "m").name, [each.name for each in tf.global_variables()])
        results = []
        for _ in range(2):
            session = tf.Session()
            session.run(init)
            for _ in range(3):
                session.run(step)
            results.append(session.run([w, count]))
        np.testing.assert_array_equal(results[0][0], results[1][0])
        self.assertEqual([number for _, number in results], [3, 3])
        self.assertEqual(tf.train.global_step(session, count), 3)

    def test_a_learning_rate_may_be_fed_and_may_decay(self):
        w, rate = tf.Variable(1.0), tf.placeholder(tf.float32, [])
        step = tf.train.GradientDescentOptimizer(rate).minimize(w * 1.0)
        count = tf.train.get_or_create_global_step()
        decayed = tf.train.exponential_decay(1.0, count, 1, 0.5)
        slower = tf.train.GradientDescentOptimizer(decayed).minimize(w * 1.0, global_step=count)
        self.initialize()
        self.run_(step, {rate: 0.25})
        self.run_(step, {rate: 0.5})
        self.assertEqual(self.run_(w), 0.25)
        self.assertEqual(self.run_(decayed), 1)
        self.run_(slower)
        self.run_(slower)
        self.assertEqual(self.run_([w, decayed]), [0.25 - 1 - 0.5, 0.25])

    def test_gradients_may_be_changed_between(self):
        w = tf.Variable([3.0, 4.0])
        optimizer = tf.train.GradientDescentOptimizer(1.0)
        pairs = optimizer.compute_gradients(tf.reduce_sum(w * w))
        clipped, norm = tf.clip_by_global_norm([gradient for gradient, _ in pairs], 5.0)
        step = optimizer.apply_gradients(zip(clipped, [variable for _, variable in pairs]))
        self.initialize()
        self.assertEqual(self.run_([norm, step]), [10, None])
        np.testing.assert_allclose(self.run_(w), [0, 0], atol=1e-6)

    def test_an_optimizer_of_the_programs_own_is_part_of_the_graph(self):
        class Own(tf.train.Optimizer):
            def __init__(self):
                super().__init__(False, "Own")

            def _create_slots(self, var_list):
                for variable in var_list:
                    self._zeros_slot(variable, "sum", "Own")

            def _apply_dense(self, grad, var):
                total = tf.assign_add(self.get_slot(var, "sum"), grad)
                return tf.assign_sub(var, total)

        w = tf.Variable(1.0)
        step = Own().minimize(w * 1.0)
        self.initialize()
        self.run_(step)
        self.run_(step)
        self.assertEqual(self.run_(w), 1 - 1 - 2)

    def test_averages_follow_in_a_session(self):
        w = tf.Variable(1.0)
        averages = tf.train.ExponentialMovingAverage(0.5)
        follow, change = averages.apply([w]), w.assign(3.0)
        self.initialize()
        self.run_(change.op)
        self.run_(follow)
        self.assertEqual(self.run_(averages.average(w)), 2)


class Savers(InGraph):
    def test_a_session_is_saved_and_another_one_restored(self):
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        step = w.assign_add([1.0, 2.0])
        saver = tf.train.Saver()
        self.initialize()
        self.run_(step)
        with tempfile.TemporaryDirectory() as folder:
            path = saver.save(self.session, os.path.join(folder, "model"), global_step=7)
            self.assertTrue(path.endswith("model-7"))
            self.assertEqual(tf.train.latest_checkpoint(folder), path)
            other = tf.Session()
            with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "uninitialized value w"):
                saver.save(other, os.path.join(folder, "empty"))
            saver.restore(other, path)
            np.testing.assert_array_equal(other.run(w), [2, 3])
            with self.assertRaisesRegex(TypeError, "'sess' must be a Session"):
                saver.restore(None, path)
        self.run_(step)
        np.testing.assert_array_equal(other.run(w), [2, 3])


class DataSets(InGraph):
    def test_each_run_has_the_next_element_in_each_session(self):
        data = tf.data.Dataset.range(3).map(lambda x: x * 2)
        element = data.make_one_shot_iterator().get_next()
        other = tf.Session()
        self.assertEqual([self.run_(element), self.run_(element), other.run(element), self.run_(element)], [0, 2, 0, 4])
        with self.assertRaisesRegex(tf.errors.OutOfRangeError, "End of sequence"):
            self.run_(element)

    def test_an_initializer_begins_again_with_what_is_fed(self):
        values = tf.placeholder(tf.float32, [None])
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(values))
        element = iterator.get_next()
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "the iterator has not been initialized"):
            self.run_(element)
        for first in (1.0, 5.0):
            self.run_(iterator.initializer, {values: [first, 2.0]})
            self.assertEqual(self.run_(element), first)

    def test_one_iterator_takes_several_data_sets(self):
        iterator = tf.data.Iterator.from_structure(tf.int64, [])
        element = iterator.get_next()
        few, many = (iterator.make_initializer(tf.data.Dataset.range(begin, 9)) for begin in (1, 5))
        found = []
        for begin in (few, many, few):
            self.run_(begin)
            found.append(self.run_(element))
        self.assertEqual(found, [1, 5, 1])


class Lives(unittest.TestCase):
    def test_a_graph_that_is_not_referred_to_goes(self):
        def made():
            graph = tf.Graph()
            with graph.as_default(), tf.Session() as session:
                w = tf.Variable([1.0])
                step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(w * w))
                iterator = tf.data.Dataset.range(3).make_initializable_iterator()
                element = iterator.get_next()
                session.run([tf.global_variables_initializer(), iterator.initializer])
                session.run([step, element])
            return weakref.ref(graph), weakref.ref(w)

        references = made()
        gc.collect()
        self.assertEqual([each() for each in references], [None, None])


if __name__ == "__main__":
    unittest.main()
