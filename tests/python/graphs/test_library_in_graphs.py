"""What tf has beyond ops (layers, losses, dropout, summaries) does in a graph of TensorFlow 1 what TensorFlow 1 does."""
import tempfile
import unittest

import numpy as np
import tapedeck.compat.v1 as tf
from tapedeck.contrib.summary import summary_test_util
from test_sessions import InGraph


class Layers(InGraph):
    def test_a_run_says_whether_and_how_much_is_dropped(self):
        x = tf.placeholder(tf.float32, [None, 50])
        kept, training = tf.placeholder(tf.float32, []), tf.placeholder(tf.bool, [])
        by_rate, by_layer = tf.nn.dropout(x, keep_prob=kept), tf.layers.dropout(x, 0.5, training=training)
        ones = np.ones([2, 50], np.float32)
        all_, none = self.run_([by_rate, by_layer], {x: ones, kept: 1.0, training: False})
        np.testing.assert_array_equal(all_, ones)
        np.testing.assert_array_equal(none, ones)
        for found in self.run_([by_rate, by_layer], {x: ones, kept: 0.5, training: True}):
            self.assertEqual(set(found.ravel().tolist()), {0, 2})

    def test_a_run_says_whether_normalization_trains(self):
        x, training = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.bool, [])
        y = tf.layers.batch_normalization(x, training=training, momentum=0.5, epsilon=0.0)
        updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
        self.initialize()
        mean = next(each for each in tf.global_variables() if "moving_mean" in each.name)
        batch = {x: [[2.0, 4.0], [4.0, 8.0]], training: True}
        np.testing.assert_allclose(self.run_(y, batch), [[-1, -1], [1, 1]], rtol=1e-6)
        np.testing.assert_array_equal(self.run_(mean), [0, 0])
        self.run_(updates, batch)
        np.testing.assert_allclose(self.run_(mean), [1.5, 3])
        self.run_(updates, {**batch, training: False})
        np.testing.assert_allclose(self.run_(mean), [1.5, 3])

    def test_layers_share_variables_by_name_and_regularize_once(self):
        x = tf.placeholder(tf.float32, [None, 3])
        arguments = dict(name="d", kernel_regularizer=lambda w: tf.reduce_sum(w * w))
        one, other = tf.layers.dense(x, 2, **arguments), tf.layers.dense(x, 2, reuse=True, **arguments)
        self.initialize()
        found = self.run_([one, other], {x: [[1.0, 2.0, 3.0]]})
        np.testing.assert_array_equal(*found)
        self.assertEqual(len(tf.losses.get_regularization_losses()), 1)
        self.assertEqual([each.name for each in tf.global_variables()], ["d/kernel:0", "d/bias:0"])

    def test_a_recurrent_layer_takes_batches_of_any_size(self):
        x = tf.placeholder(tf.float32, [None, 5, 3])
        outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(4), x, dtype=tf.float32)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(outputs ** 2))
        self.initialize()
        for rows in (2, 3):
            found, _ = self.run_([state.h, step], {x: np.ones([rows, 5, 3])})
            self.assertEqual(found.shape, (rows, 4))


class Losses(InGraph):
    def test_they_are_collected_and_added_up(self):
        x = tf.placeholder(tf.float32, [2])
        one = tf.losses.mean_squared_error([0.0, 0.0], x)
        tf.losses.add_loss(tf.reduce_sum(x))
        w = tf.get_variable("w", [], initializer=tf.ones_initializer(), regularizer=lambda w: w * 10)
        total = tf.losses.get_total_loss()
        self.assertEqual(len(tf.losses.get_losses()), 2)
        self.initialize()
        self.assertEqual(self.run_([one, total, w], {x: [1, 3]}), [5, 5 + 4 + 10, 1])


class Summaries(InGraph):
    def test_a_writer_takes_what_runs_give(self):
        x = tf.placeholder(tf.float32, [])
        tf.summary.scalar("loss", x)
        with tf.name_scope("part"):
            tf.summary.histogram("weights", tf.stack([x, x]))
        merged = tf.summary.merge_all()
        with tempfile.TemporaryDirectory() as folder:
            with tf.summary.FileWriter(folder, self.graph) as writer:
                writer.add_summary(self.run_(merged, {x: 2.0}), 3)
                own = tf.Summary()
                own.value.add(tag="own", simple_value=1.5)
                writer.add_summary(own, 4)
            events = summary_test_util.events_from_file(folder)
        self.assertEqual([(event.step, [(value.tag, value.simple_value) for value in event.summary.value]) for event in events[1:]],
                         [(3, [("loss", 2.0), ("part/weights", None)]), (4, [("own", 1.5)])])

    def test_those_of_contrib_are_written_by_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            x = tf.placeholder(tf.float32, [])
            step = tf.train.get_or_create_global_step()
            with tf.contrib.summary.create_file_writer(folder).as_default(), tf.contrib.summary.always_record_summaries():
                tf.contrib.summary.scalar("loss", x)
            self.initialize()
            self.run_(step.assign_add(1))
            self.run_([tf.contrib.summary.summary_writer_initializer_op(), tf.contrib.summary.all_summary_ops()], {x: 7.0})
            events = summary_test_util.events_from_file(folder)
        self.assertEqual([(event.step, event.summary.value[0].tag, event.summary.value[0].simple_value) for event in events[1:]],
                         [(1, "loss", 7.0)])


class Cases(tf.test.TestCase):
    def test_a_test_case_has_sessions(self):
        with tf.Graph().as_default(), self.test_session() as session:
            x = tf.placeholder(tf.float32, [2])
            self.assertAllEqual(session.run(x * 2, {x: [1, 2]}), [2, 4])
            self.assertAllEqual(self.evaluate(tf.constant([1.0, 2.0]) + 1), [2, 3])


if __name__ == "__main__":
    unittest.main()
