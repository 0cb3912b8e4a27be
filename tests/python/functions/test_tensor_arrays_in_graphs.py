"""tf.TensorArray in functions that are traced: in loops whose length a run knows, in branches, and what is made of it: map_fn, scan, folds;
other objects made of tensors as variables of loops and results of branches."""
import unittest

import numpy as np

import tapedeck as tf
from graph_mode import GraphCase

ROWS = tf.constant(np.arange(12, dtype=np.float32).reshape(4, 3) / 7)
VECTOR = tf.constant([1.5, -2., 3., 0.25])


class ArrayCase(GraphCase):
    def setUp(self):
        super().setUp()
        self.enterContext(self.assertNoLogs("tensorflow", "WARNING"))  # that a function cannot be traced, and runs eagerly

    def check(self, function, *arguments):
        """As eager code, with shapes that are known while it is traced and with shapes that are not."""
        self.assertAsEager(function, *arguments)
        signature = [tf.TensorSpec([None] * x.shape.rank, x.dtype) for x in arguments]
        made = tf.function(function, input_signature=signature)
        self.assertSame(function(*arguments), made(*arguments))

    def checkGradients(self, function, x, orders=(1, 2, 3)):
        """Of the sum of function's values to the 4th, as eager code has them."""
        def derivative(x, order):
            if order == 0:
                return tf.reduce_sum(function(x) ** 4)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = derivative(x, order - 1)
                y = tf.reduce_sum(y)
            return tape.gradient(y, x)

        for order in orders:
            expected = derivative(x, order)
            for options in ({}, {"input_signature": [tf.TensorSpec([None] * x.shape.rank, x.dtype)]}):
                self.assertSame(tf.function(lambda x: derivative(x, order), **options)(x), expected)
        for options in ({}, {"input_signature": [tf.TensorSpec([None] * x.shape.rank, x.dtype)]}):
            traced = tf.function(function, **options)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(traced(x) ** 4)
            self.assertSame(tape.gradient(y, x), derivative(x, 1))


class Loops(ArrayCase):
    def test_as_many_as_a_tensor_has_rows(self):
        def doubled(a):
            array = tf.TensorArray(tf.float32, size=tf.shape(a)[0], clear_after_read=False)
            for i in tf.range(tf.shape(a)[0]):
                array = array.write(i, a[i] * 2)
            return array.stack(), array.size(), array.read(1), array.gather([2, 0]), array.concat()

        self.check(doubled, ROWS)

    def test_growing(self):
        def powers(a):
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            x, i = a[0], 0
            while x < 100.:
                array = array.write(i, [x, a[1]])
                x, i = x * 2, i + 1
            return array.stack(), array.size()

        self.check(powers, VECTOR)

    def test_growing_past_what_is_written(self):
        def sparse(a):
            array = tf.TensorArray(tf.float32, size=1, dynamic_size=True, element_shape=[])
            for i in tf.range(3):
                array = array.write(i * 2, a[i])
            return array.stack(), array.size()

        self.check(sparse, VECTOR)

    def test_as_a_loop_variable_of_while_loop(self):
        def counted(a):
            n = tf.shape(a)[0]
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            index, array = tf.while_loop(lambda i, array: i < n, lambda i, array: (i + 1, array.write(i, a[i] + tf.cast(i, tf.float32))),
                                         (0, array))
            fixed = tf.TensorArray(tf.float32, size=n, element_shape=[3])
            _, fixed = tf.while_loop(lambda i, fixed: i < n, lambda i, fixed: (i + 1, fixed.write(n - 1 - i, a[i])), (0, fixed),
                                     maximum_iterations=3)
            return index, array.stack(), fixed.stack()

        self.check(counted, ROWS)

    def test_written_from_what_was_read(self):
        def fibonacci(a):
            array = tf.TensorArray(tf.float32, size=6, element_shape=[], clear_after_read=False)
            array = array.write(0, a[0]).write(1, a[1])
            for i in tf.range(2, 6):
                array = array.write(i, array.read(i - 1) + array.read(i - 2))
            return array.stack()

        self.check(fibonacci, VECTOR)

    def test_unstack_and_scatter(self):
        def reversed_rows(a):
            rows = tf.TensorArray(tf.float32, size=4).unstack(a)
            made = tf.TensorArray(tf.float32, size=4, element_shape=[3])
            for i in tf.range(4):
                made = made.write(3 - i, rows.read(i) * 2.)
            return made.stack()

        def scattered(a):
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            return array.scatter(tf.constant([2, 0]), a[:2]).stack()

        self.check(reversed_rows, ROWS)
        self.check(scattered, ROWS)

    def test_what_is_not_written_is_zeros(self):
        def positive(a):
            array = tf.TensorArray(tf.float32, size=4, element_shape=[])
            for i in tf.range(4):
                if a[i] > 0.:
                    array = array.write(i, a[i])
            return array.stack()

        self.check(positive, VECTOR)

    def test_strings_and_integers(self):
        def told(a):
            texts = tf.TensorArray(tf.string, size=0, dynamic_size=True)
            numbers = tf.TensorArray(tf.int64, size=tf.size(a), element_shape=[])
            for i in tf.range(tf.size(a)):
                texts = texts.write(i, tf.strings.as_string(a[i]))
                numbers = numbers.write(i, tf.cast(a[i], tf.int64))
            return texts.stack(), numbers.stack()

        self.check(told, VECTOR)

    def test_in_branches(self):
        def chosen(a):
            array = tf.TensorArray(tf.float32, size=2, element_shape=[])
            array = tf.cond(a[0] > 0., lambda: array.write(0, a[0]), lambda: array.write(1, a[1]))
            if a[1] > 0.:
                array = array.write(1, a[3])
            return array.stack()

        self.check(chosen, VECTOR)
        self.check(chosen, -VECTOR)

    def test_an_array_of_before_keeps_what_it_had(self):
        @tf.function
        def written(a):
            array = tf.TensorArray(tf.float32, size=2, element_shape=[]).write(0, a[0])
            tf.while_loop(lambda i: i < 2, lambda i: (array.write(i, 7.), i + 1)[1:], [0])
            return array.stack()

        self.assertEqual(written(VECTOR).numpy().tolist(), [1.5, 0.])

    def test_errors(self):
        @tf.function
        def beyond(n):
            array = tf.TensorArray(tf.float32, size=2, element_shape=[])
            for i in tf.range(n):
                array = array.write(i, 1.)
            return array.stack()

        self.assertEqual(beyond(tf.constant(2)).numpy().tolist(), [1., 1.])
        with self.assertRaises(tf.errors.OpError) as caught:
            beyond(tf.constant(3))
        self.assertIn(f"In the graph of beyond: {__file__}, line {beyond.python_function.__code__.co_firstlineno + 4}",
                      caught.exception.__notes__)

        @tf.function
        def never(n):
            array = tf.TensorArray(tf.float32, size=3)
            for i in tf.range(n):
                array = array.write(i, tf.zeros([n]))
            return array.stack()

        self.assertEqual(tuple(never(tf.constant(3)).shape), (3, 3))
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "index 0 was not written, and the element_shape is not known"):
            never(tf.constant(0))
        with self.assertRaisesRegex(TypeError, "dtype is float32, the value is int32"):
            tf.function(lambda i: tf.TensorArray(tf.float32, size=2).write(i, tf.constant(1)).stack())(tf.constant(0))

    def test_gradients(self):
        def growing(a):
            array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
            for i in tf.range(tf.shape(a)[0]):
                array = array.write(i, a[i] * a[0])
            return array.stack()

        def rewritten(a):
            array = tf.TensorArray(tf.float32, size=4, element_shape=[3], clear_after_read=False).unstack(a)
            for i in tf.range(1, 4):
                array = array.write(i, array.read(i) * array.read(i - 1))
            return array.concat()

        self.checkGradients(growing, ROWS)
        self.checkGradients(rewritten, ROWS)


class Lists(ArrayCase):
    """That loops of unknown length make longer."""

    def test_append(self):
        def squares(a):
            items = [a[0]]
            for x in tf.data.Dataset.from_tensor_slices(a):
                items.append(x * x)
            i = 0
            while tf.cast(i, tf.float32) < a[2]:
                if a[i] > 0.:
                    items.append(a[i])
                i += 1
            total = tf.constant(0.)
            for item in items:
                total = total * 2 + item
            return tf.stack(items), total, items[-1], tf.cast(len(items), tf.int32)

        self.check(squares, VECTOR)

    def test_structures_and_results(self):
        def pairs(a):
            items = []
            for i in tf.range(tf.size(a)):
                for j in tf.range(i):
                    items.append((a[i], {"product": [a[i] * a[j]]}))
            return items

        expected = pairs(VECTOR)
        made = tf.function(pairs, input_signature=[tf.TensorSpec([None], tf.float32)])
        self.assertSame(made(VECTOR), expected)
        self.assertEqual(made(VECTOR[:1]), [])
        self.assertSame(tf.function(lambda a: made(a))(VECTOR), expected)

    def test_stack_and_concat_along_other_axes(self):
        def joined(a):
            items = []
            for i in tf.range(tf.shape(a)[0]):
                items.append(a * tf.cast(i, tf.float32))
            return tf.stack(items, 1), tf.stack(items, axis=-1), tf.concat(items, 0), tf.concat(items, 1), tf.concat(items, axis=-1)

        self.check(joined, ROWS)

    def test_gradients(self):
        def grown(a):
            items = []
            for i in tf.range(tf.shape(a)[0]):
                items.append(a[i] * a[0])
            return tf.stack(items)

        self.checkGradients(grown, ROWS)

    def test_errors(self):
        def mixed(n):
            items = []
            for i in tf.range(n):
                if i > 1:
                    items.append(i)
                else:
                    items.append(tf.cast(i, tf.float32))
            return items

        with self.assertRaisesRegex(TypeError, "'items' must have the same dtype in both branches|dtype"):
            tf.function(mixed)(tf.constant(3))

        def alone(x):
            items = []
            if x > 0:
                items.append(x)
            return items

        with self.assertRaisesRegex(TypeError, "'items' must have the same structure in both branches"):
            tf.function(alone)(tf.constant(3))
        with self.assertRaisesRegex(TypeError, "the length of a list that a loop of a graph makes longer"):
            tf.function(lambda n: sorted(numbers_below(n)))(tf.constant(3))


def numbers_below(n):
    items = []
    for i in tf.range(n):
        items.append(i)
    return items


class Mapping(ArrayCase):
    def test_map_fn(self):
        self.check(lambda a: tf.map_fn(lambda r: r * r + 1, a), ROWS)
        self.check(lambda a: tf.map_fn(lambda r: (r, {"sum": tf.reduce_sum(r)}), a,
                                       fn_output_signature=(tf.float32, {"sum": tf.float32})), ROWS)
        self.check(lambda a, b: tf.map_fn(lambda pair: pair[0] * pair[1], (a, b), fn_output_signature=tf.float32), ROWS, VECTOR)
        self.check(lambda a: tf.map_fn(lambda r: tf.strings.as_string(r), a, fn_output_signature=tf.string), VECTOR)
        self.check(lambda a: tf.vectorized_map(tf.reduce_sum, a), ROWS)
        self.checkGradients(lambda a: tf.map_fn(lambda r: r * r * r, a), ROWS)

    def test_scan_and_folds(self):
        self.check(lambda a: tf.scan(lambda c, e: c * e + 1, a), VECTOR)
        self.check(lambda a: tf.scan(lambda c, e: c + e, a, initializer=tf.zeros([3]), reverse=True), ROWS)
        self.check(lambda a: tf.scan(lambda c, e: (c[0] + e, c[1] * 2), a, initializer=(0., 1.)), VECTOR)
        self.check(lambda a: (tf.foldl(lambda c, e: c * 2 + e, a), tf.foldr(lambda c, e: c * 2 + e, a, initializer=0.)), VECTOR)
        self.checkGradients(lambda a: tf.scan(lambda c, e: c * e + 1, a), ROWS)

    def test_fn_is_traced_and_not_called_for_each_slice(self):
        calls = []
        made = tf.function(lambda a: tf.map_fn(lambda r: calls.append(1) or r + 1., a))
        made(tf.zeros([50]))
        self.assertLessEqual(len(calls), 2)

    def test_nothing_to_map(self):
        made = tf.function(lambda a: tf.map_fn(lambda r: r * tf.ones([2]), a), input_signature=[tf.TensorSpec([None], tf.float32)])
        self.assertEqual(tuple(made(tf.zeros([0])).shape), (0, 2))
        self.assertEqual(tuple(made(tf.zeros([3])).shape), (3, 2))

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "fn returns float32; fn_output_signature is int32"):
            tf.function(lambda a: tf.map_fn(lambda r: r, a, fn_output_signature=tf.int32))(ROWS)
        with self.assertRaisesRegex(ValueError, "elems has a scalar"):
            tf.function(lambda a: tf.map_fn(lambda r: r, a))(tf.constant(1.))
        unlike = tf.function(lambda a, b: tf.map_fn(lambda pair: pair[0] + pair[1], (a, b), fn_output_signature=tf.float32),
                             input_signature=[tf.TensorSpec([None], tf.float32)] * 2)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            unlike(tf.zeros([2]), tf.zeros([3]))


class Sparse(GraphCase):
    ONE = tf.SparseTensor([[0, 1], [1, 0]], [1., 2.], [2, 3])
    OTHER = tf.SparseTensor([[0, 0], [0, 2], [1, 1]], [3., 4., 5.], [2, 3])
    DENSE = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))

    def assertSameSparse(self, one, other):
        self.assertIsInstance(one, tf.SparseTensor)
        self.assertSame((one.indices, one.values, one.dense_shape), (other.indices, other.values, other.dense_shape))

    def test_as_arguments_and_results(self):
        traces = []

        def worked(sparse, dense):
            traces.append(1)
            product = tf.sparse.sparse_dense_matmul(sparse, dense)
            return (tf.sparse.to_dense(sparse), product, tf.sparse.reduce_sum(sparse), tf.sparse.reduce_max(sparse, 1)), (
                sparse, tf.sparse.transpose(sparse), tf.sparse.add(sparse, sparse), tf.sparse.from_dense(dense))

        made = tf.function(worked)
        for sparse in (self.ONE, self.OTHER):
            expected, found = worked(sparse, self.DENSE), made(sparse, self.DENSE)
            self.assertSame(found[0], expected[0])
            for one, other in zip(found[1], expected[1], strict=True):
                self.assertSameSparse(one, other)
        self.assertEqual(len(traces), 3)  # the numbers of values differ; one trace, and two calls of the function itself
        made(tf.SparseTensor([[0, 1]], [1.], [2, 4]), tf.zeros([4, 2]))
        self.assertEqual(len(traces), 4)

    def test_in_branches_and_loops(self):
        @tf.function
        def scaled(sparse, n):
            for _ in tf.range(n):
                sparse = tf.SparseTensor(sparse.indices, sparse.values * 2., sparse.dense_shape)
            if n > 1:
                chosen = sparse
            else:
                chosen = tf.SparseTensor(sparse.indices[:1], sparse.values[:1], sparse.dense_shape)
            return chosen

        self.assertSameSparse(scaled(self.OTHER, tf.constant(2)), self.OTHER.with_values([12., 16., 20.]))
        self.assertSameSparse(scaled(self.OTHER, tf.constant(1)), tf.SparseTensor([[0, 0]], [6.], [2, 3]))

    def test_gradients(self):
        def loss(sparse):
            return tf.reduce_sum(tf.sparse.sparse_dense_matmul(sparse, self.DENSE) ** 2)

        def gradient(sparse, function):
            with tf.GradientTape() as tape:
                tape.watch(sparse.values)
                y = function(sparse)
            return tape.gradient(y, sparse.values)

        expected = gradient(self.OTHER, loss)
        self.assertSame(gradient(self.OTHER, tf.function(loss)), expected)
        self.assertSame(tf.function(lambda sparse: gradient(sparse, loss))(self.OTHER), expected)


class Slices(GraphCase):
    """IndexedSlices."""

    def test_as_arguments_results_branches_and_loops(self):
        traces = []

        @tf.function
        def worked(slices, n):
            traces.append(1)
            doubled = tf.IndexedSlices(slices.values * 2., slices.indices, slices.dense_shape)
            if n > 1:
                chosen = doubled
            else:
                chosen = slices
            for _ in tf.range(n):
                chosen = tf.IndexedSlices(chosen.values + 1., chosen.indices, chosen.dense_shape)
            return tf.cond(n > 2, lambda: chosen, lambda: doubled)

        given = tf.IndexedSlices(tf.constant([[1.], [2.]]), tf.constant([2, 0]), tf.constant([4, 1]))
        for n, values in ((0, [2., 4.]), (2, [2., 4.]), (3, [5., 7.])):
            found = worked(given, tf.constant(n))
            self.assertIsInstance(found, tf.IndexedSlices)
            self.assertEqual((found.values.numpy().reshape(-1).tolist(), found.indices.numpy().tolist()), (values, [2, 0]))
        self.assertEqual(len(traces), 1)


if __name__ == "__main__":
    unittest.main()
