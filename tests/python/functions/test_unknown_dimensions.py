"""Functions that are traced once for all extents."""
import operator
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase

rows = tf.TensorSpec([None, 2], tf.float32)


def shown(function, *specs):
    """The shape, as a list or None, of what function(*tensors of these specs) returns in a trace."""
    concrete = tf.function(function).get_concrete_function(*specs)
    shape = concrete.outputs[0].shape
    return None if shape is None else shape.as_list()


class Shapes(GraphCase):
    def test_a_traced_tensor_shows_what_is_known(self):
        seen = {}

        @tf.function(input_signature=[rows, tf.TensorSpec(None)])
        def f(x, y):
            seen.update(shape=x.shape, text=repr(x), unknown=repr(y), of_unknown=y.shape, rank=x.shape.rank, ndim=(x.ndim, y.ndim))
            with self.assertRaisesRegex(TypeError, r"len\(\) needs the first extent of a tensor of shape \(None, 2\)"):
                len(x)
            with self.assertRaisesRegex(TypeError, "needs the first extent"):
                list(x)
            with self.assertRaisesRegex(TypeError, "an index needs a value"):
                operator.index(tf.shape(x)[0])
            with self.assertRaises(ValueError):
                y.shape.as_list()
            with self.assertRaises(ValueError):
                len(y.shape)
            return x

        f(tf.ones([3, 2]), tf.ones([]))
        self.assertEqual(seen["shape"], tf.TensorShape([None, 2]))
        self.assertEqual((seen["shape"].as_list(), seen["rank"], seen["ndim"]), ([None, 2], 2, (2, None)))
        self.assertEqual(seen["text"], "<tf.Tensor 'x' shape=(None, 2) dtype=float32>")
        self.assertEqual(seen["unknown"], "<tf.Tensor 'y' shape=<unknown> dtype=float32>")
        self.assertIsNone(seen["of_unknown"].rank)

    def test_what_follows_is_known_of_results(self):
        weights = tf.ones([3, 4])
        for function, wanted in ((lambda x: x + tf.ones([5, 2]), [5, 2]), (lambda x: x[:10], [None, 2]), (lambda x: x[0], [2]),
                                 (lambda x: x[-1], [2]), (lambda x: x[:, 0], [None]), (lambda x: x[:, None], [None, 1, 2]),
                                 (lambda x: tf.reshape(x, [-1, 4]), [None, 4]), (lambda x: tf.transpose(x), [2, None]),
                                 (lambda x: tf.concat([x, x], 0), [None, 2]), (lambda x: tf.reduce_mean(x), []),
                                 (lambda x: tf.matmul(x, x, transpose_b=True), [None, None]), (lambda x: tf.unstack(x, axis=1)[0], [None]),
                                 (lambda x: tf.boolean_mask(x, x[:, 0] > 0), [None, 2]), (lambda x: tf.where(x > 0), [None, 2]),
                                 (lambda x: x[x[:, 0] > 0], [None, 2]), (lambda x: tf.stack([x, x]), [2, None, 2]),
                                 (lambda x: tf.pad(x, [[1, 1], [0, 0]]), [None, 2]), (lambda x: tf.one_hot(tf.argmax(x, 1), 7), [None, 7]),
                                 (lambda x: tf.matmul(tf.reshape(x, [-1, 3]), weights), [None, 4]), (lambda x: tf.zeros_like(x), [None, 2]),
                                 (lambda x: tf.range(tf.shape(x)[0]), [None]), (lambda x: tf.unique(x[:, 0])[0], [None])):
            with self.subTest(shape=wanted):
                self.assertEqual(shown(function, rows), wanted)
        self.assertIsNone(shown(tf.exp, tf.TensorSpec(None)))
        self.assertEqual(shown(tf.reduce_sum, tf.TensorSpec(None)), [])

    def test_set_shape_and_ensure_shape_narrow_and_are_checked(self):
        def narrowed(x):
            x.set_shape([None, 3])
            self.assertEqual(x.shape.as_list(), [None, 3])
            return x * 2.

        f = tf.function(narrowed, input_signature=[tf.TensorSpec([None, None])])
        self.assertEqual(f(tf.ones([2, 3])).numpy().tolist(), [[2.] * 3] * 2)
        with self.assertRaisesRegex(ValueError, r"set_shape: a result is float32 \(2, 4\)"):
            f(tf.ones([2, 4]))
        g = tf.function(lambda x: tf.ensure_shape(x, [2, None]) + 1., input_signature=[tf.TensorSpec(None)])
        self.assertEqual(g(tf.ones([2, 1])).shape, (2, 1))
        with self.assertRaises(ValueError):
            g(tf.ones([3, 1]))
        self.assertEqual(shown(lambda x: tf.ensure_shape(x, [2, None]), tf.TensorSpec(None)), [2, None])


class Traces(GraphCase):
    def check(self, function, *sizes, spec=rows, tolerance=0):
        """One trace gives for each number of rows what eager code gives."""
        made = tf.function(function, input_signature=[spec])
        for size in sizes or (1, 2, 5, 6):
            shape = [size if extent is None else extent for extent in spec.shape]
            x = tf.constant(np.random.RandomState(size).randn(*shape), spec.dtype)
            wanted, given = tf.nest.flatten(function(x)), tf.nest.flatten(made(x))
            for one, other in zip(wanted, given):
                self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
                if tolerance:
                    np.testing.assert_allclose(other, one, tolerance, tolerance)
                else:
                    self.assertEqual(np.asarray(one).tobytes(), np.asarray(other).tobytes())
        self.assertEqual(made.experimental_get_tracing_count(), 1)
        return made

    def test_ops_take_numbers_that_a_run_has(self):
        def n(x):
            return tf.shape(x)[0]

        for function in (lambda x: tf.reshape(x, [n(x), 1, -1]), lambda x: tf.zeros([n(x), 3]), lambda x: tf.range(n(x)),
                         lambda x: x[:n(x) // 2], lambda x: x[n(x) - 1], lambda x: tf.tile(x, [n(x), 1]),
                         lambda x: tf.pad(x, [[0, n(x)], [0, 0]]), lambda x: tf.fill([n(x)], 7.), lambda x: tf.one_hot([0, 1], n(x)),
                         lambda x: tf.zeros(tf.shape(x)), lambda x: tf.ones(tf.shape(x) * 2), lambda x: tf.broadcast_to(x[:1], [n(x), 2]),
                         lambda x: tf.slice(x, [n(x) - 1, 0], [1, 2]), lambda x: x[n(x) // 2:, ::2], lambda x: tf.eye(n(x)),
                         lambda x: tf.linspace(0., 1., n(x)), lambda x: tf.reshape(tf.repeat(x, 3, axis=0), [n(x) * 3, 2]),
                         lambda x: tf.roll(x, n(x) - 1, 0), lambda x: tf.sequence_mask([1, 2], n(x)), lambda x: tf.reverse(x, [0])):
            self.check(function)
        self.check(lambda x: tf.random.stateless_normal([tf.shape(x)[0], 3], [1, 2]))

    def test_numbers_may_be_arguments(self):
        whole = tf.TensorSpec([], tf.int32)
        x3, x5 = tf.constant(np.arange(6.).reshape(3, 2), tf.float32), tf.constant(np.arange(10.).reshape(5, 2), tf.float32)
        for function, specs, calls in (
                (lambda n: tf.zeros([n, 3]), [whole], [[4], [0]]), (lambda n: tf.range(n * 2), [whole], [[4], [0]]),
                (lambda n: tf.reduce_sum(tf.reshape(tf.range(6), [2, 3]), axis=n), [whole], [[0], [1]]),
                (lambda x, n: x[:n], [rows, whole], [[x3, 2], [x5, -1]]), (lambda x, n: x[n:, 0], [rows, whole], [[x3, 2], [x5, -1]]),
                (lambda x, n: tf.reshape(x, [n, -1]), [rows, whole], [[x3, 2], [x5, 10]]),
                (lambda n: tf.reshape(tf.zeros([n, 3]), [n * 3]), [whole], [[2], [10]]),
                (tf.transpose, [rows, tf.TensorSpec([2], tf.int32)], [[x3, [0, 1]], [x5, [1, 0]]]),
                (lambda x: tf.zeros(tf.shape(x)), [tf.TensorSpec(None)], [[x3], [x5[0]]]),
                (lambda x, y: tf.reshape(x, tf.shape(y)), [tf.TensorSpec(None)] * 2, [[x3, tf.transpose(x3)], [x5, tf.reshape(x5, [-1])]]),
                (lambda x: tf.reduce_sum(x * 2., axis=-1) + 1., [tf.TensorSpec(None)], [[x3], [x5[0]], [tf.ones([2, 3, 4])]])):
            made = tf.function(function, input_signature=specs)
            for arguments in calls:
                arguments = [tf.convert_to_tensor(each) for each in arguments]
                self.assertSame(function(*arguments), made(*arguments))
            self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_results_whose_shapes_depend_on_values(self):
        self.check(lambda x: tf.boolean_mask(x, x[:, 0] > 0) * 2.)
        self.check(lambda x: tf.gather_nd(x, tf.where(x > 0)))
        self.check(lambda x: tf.unique(tf.cast(x[:, 0] > 0, tf.int32)))
        self.check(lambda x: tf.dynamic_partition(x, tf.cast(x[:, 0] > 0, tf.int32), 2))

    def test_gradients(self):
        def gradient(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_mean(tf.square(tf.matmul(x, [[1., 2., 3.], [4., 5., 6.]]) + [1., 2., 3.]) * x[:, :1])
            return tape.gradient(y, x)

        self.check(gradient)
        weights = tf.Variable([[1., -1.], [2., .5]])

        def second(x):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    y = tf.reduce_sum(tf.tanh(tf.matmul(x, weights)))
                slope = tape.gradient(y, weights)
                length = tf.reduce_sum(slope * slope)
            return slope, outer.gradient(length, weights)

        self.check(second)
        f = tf.function(lambda x: tf.reduce_sum(tf.nn.softmax(tf.matmul(x, weights))[:, 0]), input_signature=[rows])
        for size in (1, 4):
            with tf.GradientTape() as tape:
                y = f(tf.ones([size, 2]))
            self.assertEqual(tape.gradient(y, weights).shape, (2, 2))

    def test_gradients_of_other_kinds(self):
        @tf.custom_gradient
        def clipped(x):
            return x * 3., lambda d: tf.clip_by_value(d, -.1, .1) * tf.cast(tf.shape(x)[0], tf.float32)

        def custom(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(clipped(x)**2)
            return y, tape.gradient(y, x)

        self.check(custom)
        inner = tf.function(lambda x: clipped(x) * x, input_signature=[rows])
        for size in (2, 3):
            x = tf.constant(np.random.RandomState(size).rand(size, 2), tf.float32)
            slopes = []
            for function in (inner, lambda x: clipped(x) * x):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = function(x)
                slopes.append(tape.gradient(y, x))
            self.assertSame(*slopes)

        def third(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as middle:
                    middle.watch(x)
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        y = tf.reduce_sum(x**4 * tf.exp(x[:1]))
                    first = tape.gradient(y, x)
                second = middle.gradient(first, x)
            return first, second, outer.gradient(second, x)

        self.check(third)

        def weighted(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x * x
            return tape.gradient(y, x, output_gradients=tf.exp(x))

        self.check(weighted)
        table = tf.Variable(np.arange(12.).reshape(6, 2), dtype=tf.float32)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.int32)])
        def of_rows(numbers):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.nn.embedding_lookup(table, numbers)**2)
            return tf.convert_to_tensor(tape.gradient(y, table))

        self.assertEqual(of_rows(tf.constant([1, 2, 1])).numpy()[:3].tolist(), [[0., 0.], [8., 12.], [8., 10.]])
        self.assertEqual(of_rows(tf.constant([0])).numpy()[0].tolist(), [0., 2.])

        def dropped(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.nn.dropout(x, .5)
            return tf.reduce_all(tf.equal(y, x * tape.gradient(y, x)))

        self.check(dropped)
        weights = tf.Variable([[1., -1.], [2., .5]])

        def jacobian(x):
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.tanh(tf.matmul(x, weights)), 0)
            return tape.jacobian(y, weights)

        self.check(jacobian)

    def test_unconnected_sources_have_no_gradient(self):
        @tf.function(input_signature=[rows, rows])
        def f(x, z):
            with tf.GradientTape() as tape:
                tape.watch([x, z])
                y = tf.reduce_sum((x + tf.ones([5, 2])) * x)
            slopes = tape.gradient(y, [x, z])
            self.assertIsNone(slopes[1])
            self.assertEqual(slopes[0].shape.as_list(), [None, 2])
            return slopes[0]

        self.assertEqual(f(tf.ones([5, 2]), tf.ones([1, 2])).numpy().tolist(), [[3., 3.]] * 5)
        self.assertEqual(f(tf.ones([1, 2]), tf.ones([1, 2])).numpy().tolist(), [[15., 15.]])

    def test_control_flow(self):
        def summed(x):
            total = tf.zeros([2])
            for row in x:
                if tf.reduce_sum(row) > 0:
                    total += row
            return total

        self.check(summed)

        def chosen(x):
            if tf.reduce_sum(x) > 0:
                y = x
            else:
                y = tf.zeros([7, 2])
            return y + 1.

        self.check(chosen)

        def grown(x):
            i = tf.constant(0)
            while i < 3:
                tf.autograph.experimental.set_loop_options(shape_invariants=[(x, tf.TensorShape([None, 2]))])
                x = tf.concat([x, x[:1]], 0)
                i += 1
            return x

        fixed = tf.function(grown)
        self.assertEqual(fixed(tf.ones([2, 2])).shape, (5, 2))
        self.check(grown)
        last = tf.function(lambda x: tf.while_loop(lambda v: tf.size(v) < 9, lambda v: tf.concat([v, v], 0), [x],
                                                   shape_invariants=[tf.TensorShape([None])])[0])
        self.assertEqual(last(tf.ones([3])).shape, (12,))

        def refused(x):
            while tf.size(x) < 9:
                x = tf.concat([x, x], 0)
            return x

        with self.assertRaisesRegex(ValueError, r"'x' must keep its shape in the loop in line \d+: it is float32 \(3,\) before the loop, "
                                    r"float32 \(6,\) after an iteration \(line \d+\); .*shape_invariants"):
            tf.function(refused)(tf.ones([3]))

    def test_functions_of_slices(self):
        self.check(lambda x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x))
        self.check(lambda x: tf.map_fn(lambda row: (row[0], tf.cast(row[1] > 0, tf.int32)), x, fn_output_signature=(tf.float32, tf.int32)))
        self.check(lambda x: tf.foldl(lambda a, row: a * .5 + row, x, tf.zeros([2])))
        self.check(lambda x: tf.foldr(lambda a, row: a * .5 + row, x))
        for reverse in (False, True):
            self.check(lambda x, reverse=reverse: tf.scan(lambda a, row: a * .5 + row, x, reverse=reverse))
        self.check(lambda x: tf.scan(lambda a, row: a + tf.reduce_sum(row), x, 0.))

    def test_a_function_may_call_another(self):
        inner = tf.function(lambda x: tf.reshape(x, [tf.shape(x)[0] * 2, -1]), input_signature=[rows])
        self.check(lambda x: inner(x * 2.) + 1.)
        free = tf.function(lambda x: x + 1.)
        self.check(lambda x: free(x[:, 0]))

    def test_errors_while_tracing_and_while_running(self):
        with self.assertRaisesRegex(ValueError, r"matmul: .*\(None, 2\)"):
            tf.function(lambda x: tf.matmul(x, tf.ones([3, 4])), input_signature=[rows])(tf.ones([1, 2]))
        f = tf.function(lambda x: x + tf.ones([5, 2]), input_signature=[rows])
        self.assertEqual(f(tf.ones([1, 2])).shape, (5, 2))
        with self.assertRaisesRegex(ValueError, "add: .*"):
            f(tf.ones([4, 2]))
        with self.assertRaisesRegex(TypeError, r"input_signature wants TensorSpec\(shape=\(None, 2\).* for x; the call has shape \(1, 3\)"):
            f(tf.ones([1, 3]))
        with self.assertRaisesRegex(ValueError, r"x is float32 \(1, 3\); it was traced for float32 \(None, 2\)"):
            tf.function(lambda x: x).get_concrete_function(rows)(tf.ones([1, 3]))

    def test_reduce_retracing(self):
        seen = []

        @tf.function(reduce_retracing=True)
        def f(x, k):
            seen.append(x.shape.as_list())
            return x * k

        for size in (1, 2, 3, 4, 1):
            self.assertEqual(f(tf.ones([size, 2]), 2).shape, (size, 2))
        f(tf.ones([2, 2]), 3)
        self.assertEqual(seen, [[1, 2], [None, 2], [2, 2]])

    def test_a_variable_of_open_shape(self):
        v = tf.Variable(tf.ones([2, 3]), shape=[None, 3])
        seen = []

        @tf.function
        def f():
            seen.append(v.read_value().shape.as_list())
            return tf.reduce_sum(v, 0)

        f()
        v.assign(tf.ones([5, 3]))
        self.assertEqual((f().numpy().tolist(), seen), ([5.] * 3, [[None, 3]]))
        grow = tf.function(lambda x: v.assign(x), input_signature=[tf.TensorSpec([None, 3])])
        grow(tf.ones([7, 3]))
        self.assertEqual(v.numpy().shape, (7, 3))


class Layers(GraphCase):
    def check(self, function, spec, *sizes):
        made = tf.function(function, input_signature=[spec])
        for size in sizes or (1, 3):
            x = np.random.RandomState(size).rand(*[size if each is None else each for each in spec.shape])
            x = tf.cast(tf.constant(x * 3.), spec.dtype)
            for one, other in zip(tf.nest.flatten(function(x)), tf.nest.flatten(made(x))):
                np.testing.assert_allclose(other, one, 1e-5, 1e-6)
                self.assertEqual(one.shape, other.shape)
        self.assertEqual(made.experimental_get_tracing_count(), 1)

    def test_layers_take_batches_of_any_size(self):
        layers = tf.keras.layers
        images = tf.TensorSpec([None, 8, 8, 3], tf.float32)
        vectors = tf.TensorSpec([None, 6], tf.float32)
        for layer, spec in ((layers.Dense(4, "relu"), vectors), (layers.Flatten(), images), (layers.Conv2D(2, 3), images),
                            (layers.MaxPooling2D(), images), (layers.AveragePooling2D(), images), (layers.BatchNormalization(), images),
                            (layers.Dropout(.5), vectors), (layers.LayerNormalization(), vectors), (layers.Reshape((3, 2)), vectors),
                            (layers.GlobalAveragePooling2D(), images), (layers.Conv2DTranspose(2, 3), images),
                            (layers.LSTM(3), tf.TensorSpec([None, 4, 2], tf.float32)), (layers.GRU(3), tf.TensorSpec([None, 4, 2])),
                            (layers.TimeDistributed(layers.Dense(2)), tf.TensorSpec([None, 4, 2], tf.float32)),
                            (layers.Embedding(5, 2), tf.TensorSpec([None, 3], tf.int32)), (layers.UpSampling2D(), images),
                            (layers.LSTM(3, return_sequences=True), tf.TensorSpec([None, None, 2])),
                            (layers.ZeroPadding2D(), images), (layers.Activation("softmax"), vectors)):
            with self.subTest(type(layer).__name__):
                self.check(layer, spec)

    def test_attention_of_sequences_of_any_length(self):
        heads = tf.keras.layers.MultiHeadAttention(2, 3)
        additive = tf.keras.layers.AdditiveAttention()
        x = tf.ones([1, 2, 6])
        heads(x, x)
        additive([x, x])
        for causal in (False, True):
            for function in (lambda x: heads(x, x, use_causal_mask=causal), lambda x: additive([x, x], use_causal_mask=causal)):
                made = tf.function(function, input_signature=[tf.TensorSpec([None, None, 6])])
                for shape in ([2, 4, 6], [3, 5, 6]):
                    x = tf.constant(np.random.RandomState(0).rand(*shape), tf.float32)
                    np.testing.assert_allclose(made(x), function(x), 1e-5, 1e-6)

    def test_losses_and_metrics(self):
        vectors = tf.TensorSpec([None, 6], tf.float32)
        for function in (lambda x: tf.keras.losses.MeanSquaredError()(x, x * .5), lambda x: tf.reduce_mean(tf.keras.losses.mse(x, x * .5)),
                         lambda x: tf.keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=.1)(tf.nn.softmax(x), x),
                         lambda x: tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(tf.argmax(x, 1), x),
                         lambda x: tf.keras.losses.BinaryCrossentropy(from_logits=True)(tf.cast(x > .5, tf.float32), x),
                         lambda x: tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(x), logits=x),
                         lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.argmax(x, 1), logits=x),
                         lambda x: tf.keras.metrics.sparse_categorical_accuracy(tf.argmax(x, 1), x),
                         lambda x: tf.one_hot(tf.argmax(x, 1), 6), lambda x: tf.nn.moments(x, [0]), lambda x: tf.nn.l2_normalize(x, 1)):
            self.check(function, vectors)
        mean = tf.keras.metrics.Mean()
        update = tf.function(mean.update_state, input_signature=[vectors])
        update(tf.ones([2, 6]))
        update(tf.zeros([2, 6]))
        self.assertEqual(float(mean.result()), .5)

    def test_a_training_step(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(8, "relu", input_shape=(6,)), tf.keras.layers.Dense(3)])
        optimizer = tf.keras.optimizers.SGD(.1)
        loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

        @tf.function(input_signature=[tf.TensorSpec([None, 6]), tf.TensorSpec([None], tf.int64)])
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = loss_of(y, model(x, training=True))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss

        random = np.random.RandomState(0)
        losses = []
        for size in (4, 7, 4, 7, 4, 7):
            x = random.rand(size, 6).astype("float32")
            losses.append(float(step(x, np.arange(size) % 3)))
        self.assertTrue(np.isfinite(losses).all())
        self.assertLessEqual(step.experimental_get_tracing_count(), 2)


if __name__ == "__main__":
    unittest.main()
