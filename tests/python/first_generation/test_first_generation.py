"""Calls that TensorFlow 1.5 reads in another way than 2, and names that only it has."""
import contextlib
import io
import os
import tempfile
import unittest

import numpy as np
import tapedeck as tf
from tapedeck import tfe


class AfterV1Behavior(unittest.TestCase):
    def setUp(self):
        tf.compat.v1_behavior()
        self.addCleanup(tf.compat.v2_behavior)

    def test_dropouts_second_argument_is_what_is_kept(self):
        tf.set_random_seed(1)
        ones = tf.ones([4000])
        kept = tf.nn.dropout(ones, .8).numpy()
        self.assertAlmostEqual(float((kept > 0).mean()), .8, delta=.05)
        np.testing.assert_allclose(kept[kept > 0], 1.25)
        self.assertAlmostEqual(float((tf.nn.dropout(ones, rate=.8).numpy() > 0).mean()), .2, delta=.05)
        np.testing.assert_array_equal(tf.nn.dropout(ones, 1.), ones)
        with self.assertRaisesRegex(ValueError, "keep_prob is 0"):
            tf.nn.dropout(ones, 0)

    def test_layers_drop_what_they_are_told_to(self):
        tf.set_random_seed(1)
        ones = np.ones([4000], np.float32)
        for layer in (tf.keras.layers.Dropout(.2), tf.layers.Dropout(.2)):
            self.assertAlmostEqual(float((layer(ones, training=True).numpy() > 0).mean()), .8, delta=.05)

    def test_cond_and_while_loop_return_the_only_value(self):
        self.assertEqual(int(tf.cond(True, lambda: [tf.constant(3)], lambda: [tf.constant(4)])), 3)
        self.assertIsInstance(tf.cond(True, lambda: [tf.constant(3)], lambda: [tf.constant(4)], strict=True), list)
        self.assertEqual(int(tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0])), 5)
        self.assertEqual(len(tf.while_loop(lambda i, j: i < 5, lambda i, j: [i + 1, j], [0, 1])), 2)

    def test_floats_are_cut_where_whole_numbers_are_asked_for(self):
        got = tf.constant([1.9, -1.9], dtype=tf.int64)
        self.assertEqual((got.dtype, got.numpy().tolist()), (tf.int64, [1, -1]))
        with self.assertRaises(TypeError):
            tf.constant("1", dtype=tf.int32)


    def test_extents_are_dimensions(self):
        shape = tf.zeros([2, 3]).shape
        self.assertEqual((shape[1].value, shape[-1] + 1, repr(shape[0]), str(shape[0]), [each.value for each in shape.dims]),
                         (3, 4, "Dimension(2)", "2", [2, 3]))
        self.assertTrue(shape[0].is_compatible_with(None) and shape[0].is_compatible_with(2) and not shape[0].is_compatible_with(3))
        self.assertEqual((shape.as_list(), shape[:1], tf.TensorShape([None])[0]), ([2, 3], (2,), None))
        self.assertEqual(tf.zeros([shape[0], 1]).shape, (2, 1))


class WithoutIt(unittest.TestCase):
    def test_the_same_calls_are_tensorflow_2s(self):
        tf.set_random_seed(1)
        self.assertAlmostEqual(float((tf.nn.dropout(tf.ones([4000]), .8).numpy() > 0).mean()), .2, delta=.05)
        self.assertIsInstance(tf.cond(True, lambda: [tf.constant(3)], lambda: [tf.constant(4)]), list)
        self.assertEqual(int(tf.cond(False, lambda: [tf.constant(3)], lambda: [tf.constant(4)], strict=False)), 4)
        self.assertIsInstance(tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0]), list)
        self.assertEqual(int(tf.while_loop(lambda i: i < 5, lambda i: [i + 1], [0], return_same_structure=False)), 5)
        with self.assertRaises(TypeError):
            tf.constant(1.5, dtype=tf.int64)
        self.assertIs(type(tf.zeros([2]).shape[0]), int)

    def test_cross_entropy_takes_labels_of_any_numbers(self):
        logits = tf.constant([[1., 2., 3.]])
        wanted = tf.nn.softmax_cross_entropy_with_logits(labels=[[0., 0., 1.]], logits=logits).numpy()
        for labels in (np.eye(3)[2:], np.array([[0, 0, 1]]), tf.constant([[False, False, True]])):
            np.testing.assert_array_equal(tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits), wanted)
        old = tf.nn.softmax_cross_entropy_with_logits_v2(labels=[[0., 0., 1.]], logits=logits, dim=1)
        np.testing.assert_array_equal(old, wanted)
        with self.assertRaisesRegex(ValueError, "labels is None"):
            tf.nn.softmax_cross_entropy_with_logits(logits=logits)

    def test_convolution_takes_its_padding_before_its_strides_too(self):
        x, filters = tf.random.normal([1, 7, 7, 2], seed=1), tf.random.normal([3, 3, 2, 4], seed=2)
        np.testing.assert_array_equal(tf.nn.convolution(x, filters, "SAME", 2), tf.nn.convolution(x, filters, 2, "SAME"))
        np.testing.assert_array_equal(tf.nn.convolution(x, filters, "VALID"), tf.nn.convolution(x, filters))


class FirstNames(unittest.TestCase):
    def test_print_shows_and_passes_its_input_on(self):
        x, stream = tf.constant([1., 2.]), io.StringIO()
        with contextlib.redirect_stderr(stream), tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.Print(x, [x, tf.range(5)], message="x: ")
        self.assertEqual(stream.getvalue(), "x: [1 2][0 1 2...]\n")
        np.testing.assert_array_equal(tape.gradient(y, x), [1, 1])

    def test_tuple_makes_tensors(self):
        one, nothing, rows = tf.tuple([1., None, tf.IndexedSlices(tf.constant([[1.]]), tf.constant([0]))])
        self.assertEqual((float(one), nothing, type(rows)), (1., None, tf.IndexedSlices))
        with self.assertRaisesRegex(ValueError, "at least one Tensor"):
            tf.tuple([None])

    def test_count_up_to_counts_and_stops(self):
        v = tf.Variable(0)
        self.assertEqual([int(v.count_up_to(2)), int(tf.count_up_to(v, 2))], [0, 1])
        with self.assertRaisesRegex(tf.errors.OutOfRangeError, "limit of 2"):
            v.count_up_to(2)
        self.assertEqual((int(v), int(v.initialized_value()), v.initializer), (2, 2, None))
        with self.assertRaisesRegex(TypeError, "count_up_to: ref is float32"):
            tf.count_up_to(tf.Variable(0.), 2)

    def test_what_eager_execution_refuses_says_so(self):
        for refused in (lambda: tf.summary.merge([1]), tf.summary.merge_all, lambda: tf.summary.FileWriter("logs"),
                        tf.add_check_numerics_ops):
            with self.assertRaisesRegex(RuntimeError, "not compatible with eager execution"):
                refused()

    def test_the_optimizers_variables_can_be_saved_by_name(self):
        v = tfe.Variable([1., 2.], name="v")
        optimizer = tf.train.AdamOptimizer(.1)
        optimizer.minimize(lambda: tf.reduce_sum(v * v))
        mine = tfe.get_optimizer_variables(optimizer)
        self.assertEqual([each.name for each in mine], [each.name for each in optimizer.variables()])
        with tempfile.TemporaryDirectory() as folder, tfe.IsolateTest():
            saver = tfe.Saver([v, *mine])
            path = saver.save(os.path.join(folder, "all"))
            optimizer.minimize(lambda: tf.reduce_sum(v * v))
            wanted = v.numpy()
            saver.restore(path)
            optimizer.minimize(lambda: tf.reduce_sum(v * v))
        np.testing.assert_array_equal(v, wanted)

    def test_classes_stand_at_the_top_too(self):
        self.assertEqual((tf.OpError, tf.FixedLenFeature, tf.FixedLenSequenceFeature, tf.VarLenFeature),
                         (tf.errors.OpError, tf.io.FixedLenFeature, tf.io.FixedLenSequenceFeature, tf.io.VarLenFeature))

    def test_a_benchmark_reports_in_one_line(self):
        class Mine(tf.test.Benchmark):
            pass

        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            Mine().report_benchmark(iters=3, wall_time=.5, extras={"examples": 7})
        self.assertEqual(stream.getvalue(), "Mine iters=3 wall_time=0.5 examples=7\n")


class OfGraphs(unittest.TestCase):
    """What TensorFlow 1.5 makes graphs of, run at once."""

    def test_a_graph_callable_makes_its_variables_once_and_has_gradients(self):
        @tfe.graph_callable([tfe.ShapeAndDtype(shape=(), dtype=tf.float32)])
        def scaled(x):
            return tf.get_variable("scale", initializer=tf.constant(2.), shape=()) * x

        self.assertEqual([float(scaled(tf.constant(each))) for each in (3., 5.)], [6., 10.])
        self.assertEqual(float(tfe.gradients_function(scaled)(tf.constant(3.))[0]), 2.)
        scale, = scaled.variables
        scale.assign(4.)
        (gradient, variable), = tfe.implicit_gradients(scaled)(tf.constant(3.))
        self.assertEqual((float(scaled(tf.constant(3.))), float(gradient), variable is scale), (12., 3., True))

    def test_a_templates_layers_share_their_variables(self):
        template = tfe.make_template("linear", lambda x: tf.layers.dense(x, 3))
        x = tf.random.normal([2, 4], seed=1)
        np.testing.assert_array_equal(template(x), template(x))
        self.assertEqual(sorted(variable.name for variable in template.trainable_variables),
                         ["linear/dense/bias:0", "linear/dense/kernel:0"])
        other = tfe.make_template("linear", lambda x: tf.layers.dense(x, 3))
        self.assertGreater(float(tf.reduce_max(tf.abs(template(x) - other(x)))), 0)
        self.assertEqual(len(tfe.implicit_gradients(lambda: tf.reduce_sum(template(x)))()), 2)

    def test_a_py_func_computes_with_numpy_and_its_ops_have_gradients(self):
        halved = tfe.py_func(lambda t: t.numpy().astype(np.float32) / 2, [tf.constant([1., 3.]) + 1], tf.float32)
        self.assertEqual(halved.numpy().tolist(), [1., 2.])
        squared = tfe.gradients_function(lambda x: tfe.py_func(lambda t: t * t, [x + 1], tf.float32))
        self.assertEqual(float(squared(tf.constant(2.))[0]), 6.)


class Arguments(unittest.TestCase):
    def test_a_loss_may_take_the_variables_that_it_is_of(self):
        a, b = tf.Variable(2.), tf.Variable(3.)
        pairs = tf.train.GradientDescentOptimizer(1.).compute_gradients(lambda x, y: x * x * y, [a, b])
        self.assertEqual([(float(gradient), variable is wanted) for (gradient, variable), wanted in zip(pairs, (a, b))],
                         [(12., True), (4., True)])
        defaults = tf.train.GradientDescentOptimizer(1.).compute_gradients(lambda scale=2.: scale * a, [a])
        self.assertEqual(float(defaults[0][0]), 2.)

    def test_arguments_have_their_older_names(self):
        x, filters = tf.random.normal([1, 2, 2, 2, 3], seed=1), tf.random.normal([1, 1, 1, 4, 3], seed=2)
        older = tf.nn.conv3d_transpose(value=x, filter=filters, output_shape=[1, 2, 2, 2, 4], strides=[1] * 5)
        np.testing.assert_array_equal(older, tf.nn.conv3d_transpose(x, filters, [1, 2, 2, 2, 4], [1] * 5))
        image = tf.random.normal([1, 6, 6, 2], seed=3)
        np.testing.assert_array_equal(tf.nn.pool(image, [2, 2], "MAX", "SAME", dilation_rate=[1, 1]),
                                      tf.nn.pool(image, [2, 2], "MAX", padding="SAME"))
        with tf.device(device_name_or_function="/cpu:0"), tf.device(device_name=None):
            tf.zeros([1])
        with tf.device(device_name="/gpu:99"):
            tf.zeros([1])

        class Penalised(tf.layers.Layer):
            def call(self, inputs):
                self.add_loss(losses=tf.reduce_sum(inputs), inputs=inputs)
                return inputs

        layer = Penalised()
        layer(tf.ones([3]))
        self.assertEqual([float(loss) for loss in layer.losses], [3.])

    def test_files_are_found_by_the_older_names_of_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = os.path.join(folder, "a.txt"), os.path.join(folder, "b.txt")
            with tf.gfile.Open(old, "w") as file:
                file.write("text")
            tf.gfile.Copy(oldpath=old, newpath=new)
            self.assertTrue(tf.gfile.Exists(filename=new) and tf.gfile.IsDirectory(dirname=folder))
            self.assertEqual(sorted(tf.gfile.ListDirectory(dirname=folder)), ["a.txt", "b.txt"])
            self.assertEqual(tf.gfile.Glob(filename=folder + "/b*"), [new])
            tf.gfile.Remove(filename=old)
            self.assertEqual([files for _, _, files in tf.gfile.Walk(folder, in_order=False)], [["b.txt"]])

    def test_a_list_of_one_result_is_that_result(self):
        for function in (tf.py_func, tf.py_function):
            self.assertEqual(function(lambda x: [[int(x) + 1]], [1], tf.int64).shape, (1,))

    def test_what_a_python_function_raises_comes_as_tensorflows(self):
        for raised, kind in ((ValueError, tf.errors.InvalidArgumentError), (TypeError, tf.errors.InvalidArgumentError),
                             (StopIteration, tf.errors.OutOfRangeError), (MemoryError, tf.errors.ResourceExhaustedError),
                             (NotImplementedError, tf.errors.UnimplementedError), (KeyError, tf.errors.UnknownError)):
            def fails(raised=raised):
                raise raised("blah")

            for function in (tfe.py_func, tf.py_func):
                with self.assertRaisesRegex(kind, f"{raised.__name__}: .*blah") as caught:
                    function(fails, [], tf.float32)
                self.assertIsInstance(caught.exception.__cause__, raised)

    def test_piecewise_constant_refuses_dtypes_that_differ(self):
        with self.assertRaisesRegex(ValueError, r"Boundaries \(float32\) must have the same dtype as x \(int32\)"):
            tf.train.piecewise_constant(tf.Variable(0), [-1., 1.], [1, 2, 3])
        with self.assertRaisesRegex(ValueError, "the same dtype; they are float32, int32"):
            tf.train.piecewise_constant(tf.Variable(0.), [-1., 1.], [1., 2, 3])
        self.assertEqual(float(tf.train.piecewise_constant(tf.Variable(2, dtype=tf.int64), [1, 3], [.5, .25, .125])), .25)

    def test_a_template_needs_a_name(self):
        with self.assertRaisesRegex(ValueError, "name cannot be None"):
            tf.make_template(None, lambda: 1)

    def test_what_was_never_written_can_be_read_twice(self):
        array = tf.TensorArray(tf.float32, size=2, element_shape=[1]).write(1, [5.])
        for _ in range(2):
            np.testing.assert_array_equal(array.read(0), [0])
        np.testing.assert_array_equal(array.stack(), [[0], [5]])
        array.read(1)
        with self.assertRaisesRegex(ValueError, "was read and is cleared"):
            array.stack()

    def test_a_cells_state_may_be_a_tensor_array_beside_lengths(self):
        class Noting(tf.nn.rnn_cell.RNNCell):
            state_size = output_size = 1

            def __call__(self, inputs, state, scope=None):
                number, notes = state
                return inputs, (number + 1, notes.write(int(tf.reduce_max(number)), inputs))

        first = tf.zeros([1], tf.int32), tf.TensorArray(tf.float32, size=3)
        outputs, (number, notes) = tf.nn.dynamic_rnn(Noting(), tf.constant([[[1.], [2.], [3.]]]), [3], first)
        np.testing.assert_array_equal(notes.stack()[:, 0, 0], [1, 2, 3])
        self.assertEqual((outputs.shape, int(number[0])), ((1, 3, 1), 3))

    def test_summaries_reach_the_file_with_the_last_that_may_wait(self):
        for late in (dict(flush_millis=10**6), dict(flush_secs=10**3)):
            with tempfile.TemporaryDirectory() as folder:
                writer = tf.contrib.summary.create_file_writer(folder, max_queue=2, **late)
                sizes = []
                with writer.as_default(), tf.contrib.summary.always_record_summaries():
                    for step in range(3):
                        sizes.append(os.path.getsize(os.path.join(folder, os.listdir(folder)[0])))
                        tf.contrib.summary.scalar("loss", 2., step=step)
            self.assertEqual(sizes[0], sizes[1])
            self.assertGreater(sizes[2], sizes[1])

    def test_evaluate_calls_a_function(self):
        class Case(tf.test.TestCase):
            def runTest(self):
                self.assertEqual(self.evaluate(lambda: tf.constant(2)), 2)

        result = Case().run()
        self.assertTrue(result.wasSuccessful(), result.errors + result.failures)


if __name__ == "__main__":
    unittest.main()
