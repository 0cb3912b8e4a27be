"""tf.sparse's functions against the same on whole tensors, and their gradients against finite differences."""
import unittest

import numpy as np
import tapedeck as tf

sparse = tf.sparse


def random_sparse(seed, shape, count=None, dtype=np.float64, sort=True, twice=False):
    """(a SparseTensor, its places, its values, the whole array); twice: one place has two values."""
    rng = np.random.RandomState(seed)
    size = int(np.prod(shape))
    numbers = rng.choice(size, size // 2 if count is None else count, replace=False)
    numbers = np.sort(numbers) if sort else numbers
    if twice:
        numbers = np.append(numbers, numbers[:1])
    places = np.stack(np.unravel_index(numbers, shape), 1).astype(np.int64).reshape(len(numbers), len(shape))
    values = (rng.randint(1, 9, len(numbers)) if np.dtype(dtype).kind == "i" else rng.randn(len(numbers))).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.randn(len(numbers)).astype(dtype)
    whole = np.zeros(shape, dtype)
    np.add.at(whole, tuple(places.T), values)
    return tf.SparseTensor(places, values, shape), places, values, whole


def whole_of(tensor):
    """The SparseTensor as a whole array, values at one place added; its values must be in row-major order."""
    found = np.zeros(tuple(tensor.shape), tensor.dtype.as_numpy_dtype)
    if not found.ndim:
        return found + tensor.values.numpy().sum()
    np.add.at(found, tuple(tensor.indices.numpy().T), tensor.values.numpy())
    return found


class AgainstWholeTensors(unittest.TestCase):
    def same(self, tensor, whole, ordered=True):
        self.assertIsInstance(tensor, tf.SparseTensor)
        self.assertEqual(tuple(tensor.shape), np.shape(whole))
        np.testing.assert_allclose(whole_of(tensor), whole, rtol=1e-12)
        places = tensor.indices.numpy()
        if ordered and len(places):
            self.assertEqual(places.tolist(), sorted(places.tolist()))

    def gradients(self, function, *values):
        """Checks the gradients of a real function's sum, weighed by place, beside central differences."""
        def total(*given):
            result = function(*given)
            result = result.values if isinstance(result, tf.SparseTensor) else result
            return tf.reduce_sum(result * np.cos(np.arange(1, result.shape.num_elements() + 1)).reshape(tuple(result.shape)))

        tensors = [tf.constant(value) for value in values]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            y = total(*tensors)
        for place, (value, found) in enumerate(zip(values, tape.gradient(y, tensors))):
            wanted = np.zeros_like(value)
            for index in np.ndindex(value.shape):
                moved = []
                for step in (1e-6, -1e-6):
                    other = value.copy()
                    other[index] += step
                    moved.append(float(total(*(other if number == place else each for number, each in enumerate(values)))))
                wanted[index] = (moved[0] - moved[1]) / 2e-6
            np.testing.assert_allclose(tf.convert_to_tensor(found), wanted, rtol=1e-6, atol=1e-7)

    def test_products_with_matrices(self):
        rng = np.random.RandomState(0)
        for dtype in (np.float64, np.complex128, np.int32):
            for adjoint_a in (False, True):
                for adjoint_b in (False, True):
                    a, places, values, whole = random_sparse(1, (3, 5), dtype=dtype, sort=False, twice=True)
                    inner = 3 if adjoint_a else 5
                    b = (rng.randn(*((4, inner) if adjoint_b else (inner, 4))) * 4).astype(dtype)
                    if dtype == np.complex128:
                        b = b + 1j * rng.randn(*b.shape)
                    wanted = (whole.conj().T if adjoint_a else whole) @ (b.conj().T if adjoint_b else b)
                    np.testing.assert_allclose(sparse.sparse_dense_matmul(a, b, adjoint_a, adjoint_b), wanted, rtol=1e-12)
                    turned = (b.conj().T if adjoint_b else b).conj().T @ (whole.conj().T if adjoint_a else whole).conj().T
                    np.testing.assert_allclose(sparse.sparse_dense_matmul(b, a, not adjoint_b, not adjoint_a), turned, rtol=1e-12)
                    if dtype == np.float64:
                        self.gradients(lambda v, m: sparse.sparse_dense_matmul(tf.SparseTensor(places, v, (3, 5)), m, adjoint_a, adjoint_b),
                                       values, b)
        self.assertIs(tf.sparse_tensor_dense_matmul, sparse.matmul)
        empty = tf.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0]), [2, 3])
        np.testing.assert_array_equal(sparse.matmul(empty, np.ones((3, 2))), np.zeros((2, 2)))
        self.assertEqual(sparse.matmul(empty, np.ones((3, 0))).shape, (2, 0))

    def test_wide_products_are_computed_in_blocks(self):
        from tapedeck._sparse import arithmetic
        block, arithmetic._BLOCK = arithmetic._BLOCK, 20
        try:
            a, _, _, whole = random_sparse(2, (4, 3))
            b = np.random.RandomState(3).randn(3, 11)
            np.testing.assert_allclose(sparse.sparse_dense_matmul(a, b), whole @ b)
        finally:
            arithmetic._BLOCK = block

    def test_sums(self):
        a, places, values, whole = random_sparse(4, (3, 4), twice=True)
        b, others, more, second = random_sparse(5, (3, 4))
        self.same(sparse.add(a, b), whole + second)
        dense = np.random.RandomState(6).randn(3, 4)
        np.testing.assert_allclose(sparse.add(a, dense), whole + dense)
        np.testing.assert_allclose(sparse.add(dense, a), whole + dense)
        self.gradients(lambda v, w: sparse.add(tf.SparseTensor(places, v, (3, 4)), tf.SparseTensor(others, w, (3, 4))), values, more)
        self.gradients(lambda v, d: sparse.add(tf.SparseTensor(places, v, (3, 4)), d), values, dense)
        x, y = tf.SparseTensor([[0], [1]], [1., .25], [3]), tf.SparseTensor([[0], [2]], [-1., 2.], [3])
        self.assertEqual(sparse.add(x, y).indices.numpy().tolist(), [[0], [1], [2]])
        self.assertEqual(sparse.add(x, y, .5).indices.numpy().tolist(), [[2]])
        self.assertEqual(tf.sparse_add(x, y, thresh=.1).indices.numpy().tolist(), [[1], [2]])
        empty = tf.SparseTensor(np.zeros([0, 1], np.int64), np.zeros([0], np.float32), [3])
        np.testing.assert_array_equal(sparse.add(empty, [1., 2., 3.]), [1, 2, 3])

    def test_extremes_of_two(self):
        a, _, _, whole = random_sparse(7, (3, 4))
        b, _, _, second = random_sparse(8, (3, 4))
        self.same(sparse.maximum(a, b), np.maximum(whole, second))
        self.same(sparse.minimum(a, b), np.minimum(whole, second))

    def test_reductions(self):
        shape = (2, 3, 4)
        a, places, values, whole = random_sparse(9, shape, sort=False, twice=True)
        for axis in (None, 0, 1, -1, [0, 2], [1, -1], [0, 1, 2], []):
            over = None if axis is None else tuple(np.atleast_1d(np.array(axis, int)) % 3)
            for keepdims in (False, True):
                wanted = whole.sum(over, keepdims=keepdims) if over != () else whole
                with self.subTest(axis=axis, keepdims=keepdims):
                    np.testing.assert_allclose(sparse.reduce_sum(a, axis, keepdims), wanted, atol=1e-12)
                    self.same(sparse.reduce_sum(a, axis, keepdims, output_is_sparse=True), wanted)
                    self.gradients(lambda v: sparse.reduce_sum(tf.SparseTensor(places, v, shape), axis, keepdims), values)
        x = tf.SparseTensor([[0, 0], [0, 1], [2, 1]], [-5, -3, 7], [3, 2])
        self.assertEqual(sparse.reduce_max(x, 1).numpy().tolist(), [-3, 0, 7])
        self.assertEqual(sparse.reduce_max(x, 0, keepdims=True).numpy().tolist(), [[-5, 7]])
        self.assertEqual(int(sparse.reduce_max(x)), 7)
        self.assertEqual(tf.sparse_reduce_sum(x, reduction_axes=[0], keep_dims=True).numpy().tolist(), [[-5, 4]])
        self.assertEqual(sparse.reduce_max(x, 1, output_is_sparse=True).indices.numpy().tolist(), [[0], [2]])

    def test_softmax_of_what_is_stored(self):
        for shape in ((3, 4), (2, 3, 4)):
            a, places, values, whole = random_sparse(10, shape, sort=False)
            stored = np.zeros(shape, bool)
            stored[tuple(places.T)] = True
            powers = np.where(stored, np.exp(whole), 0)
            total = powers.sum(-1, keepdims=True)
            self.same(sparse.softmax(a), np.divide(powers, total, out=np.zeros_like(powers), where=total > 0), ordered=False)
            self.gradients(lambda v: sparse.softmax(tf.SparseTensor(places, v, shape)), values)
        large = sparse.softmax(tf.SparseTensor([[0, 0], [0, 1]], [1000., 1000.], [1, 3]))
        self.assertEqual(large.values.numpy().tolist(), [.5, .5])

    def test_orders_and_shapes(self):
        shape = (2, 3, 4)
        a, places, values, whole = random_sparse(11, shape, sort=False)
        self.same(sparse.reorder(a), whole)
        for perm in (None, [0, 1, 2], [2, 0, 1], (1, 2, 0)):
            self.same(sparse.transpose(a, perm), np.transpose(whole, perm))
            self.gradients(lambda v: sparse.transpose(tf.SparseTensor(places, v, shape), perm), values)
        for wanted in ((24,), (4, 6), (2, -1), (-1, 3, 2, 1), [3, 8]):
            self.same(sparse.reshape(a, wanted), whole.reshape(wanted), ordered=False)
            self.gradients(lambda v: sparse.reshape(tf.SparseTensor(places, v, shape), wanted), values)
        for axis in (None, 0, 1, 3, -1, -4):
            self.same(sparse.expand_dims(a, axis), np.expand_dims(whole, -1 if axis is None else axis), ordered=False)
        scalar = tf.SparseTensor(np.zeros([1, 0], np.int64), [3.], np.zeros([0], np.int64))
        self.assertEqual(sparse.reshape(scalar, [1, 1]).indices.numpy().tolist(), [[0, 0]])
        self.assertEqual(sparse.reshape(tf.SparseTensor([[0]], [1.], [1]), []).shape, ())
        self.assertEqual(float(sparse.reduce_sum(scalar)), 3.)
        self.same(sparse.reorder(scalar), np.array(3.))

    def test_parts(self):
        shape = (4, 5)
        a, places, values, whole = random_sparse(12, shape)
        for start, size in (([0, 0], [4, 5]), ([1, 2], [2, 2]), ([3, 4], [9, 9]), ([4, 0], [1, 1]), ([1, 1], [0, 3])):
            self.same(sparse.slice(a, start, size), whole[start[0]:start[0] + size[0], start[1]:start[1] + size[1]])
            self.gradients(lambda v: sparse.slice(tf.SparseTensor(places, v, shape), start, size), values)
        for axis, count in ((0, 2), (1, 2), (-1, 5), (0, 3)):
            for part, wanted in zip(sparse.split(a, count, axis), np.array_split(whole, count, axis)):
                self.same(part, wanted)
        kept = values > 0
        self.same(sparse.retain(a, kept), np.maximum(whole, 0))
        self.gradients(lambda v: sparse.retain(tf.SparseTensor(places, v, shape), kept), values)
        rows = sparse.mask(tf.IndexedSlices(tf.constant([[1.], [2.], [3.]]), tf.constant([4, 0, 7]), tf.constant([9, 1])), [0, 9])
        self.assertEqual((rows.indices.numpy().tolist(), rows.values.numpy().tolist()), ([4, 7], [[1.], [3.]]))

    def test_several_as_one(self):
        a, places, values, whole = random_sparse(13, (2, 3), sort=False)
        b, others, more, second = random_sparse(14, (2, 4), sort=False)
        self.same(sparse.concat(1, [a, b]), np.concatenate([whole, second], 1))
        self.same(sparse.concat(-2, [a, a, a]), np.concatenate([whole] * 3, 0))
        self.same(sparse.concat(0, [a]), whole)
        self.same(tf.sparse_concat(concat_dim=0, sp_inputs=[a, b], expand_nonconcat_dim=True),
                  np.concatenate([np.pad(whole, [(0, 0), (0, 1)]), second], 0))
        self.gradients(lambda v, w: sparse.concat(1, [tf.SparseTensor(places, v, (2, 3)), tf.SparseTensor(others, w, (2, 4))]),
                       values, more)

    def test_functions_of_the_values(self):
        a, places, values, whole = random_sparse(15, (3, 4))
        self.same(sparse.map_values(tf.square, a), whole**2)
        self.same(sparse.map_values(tf.multiply, a, y=a), whole**2)
        self.same(sparse.map_values(tf.add, a, a.with_values(values * 2)), whole * 3)
        self.same(a.with_values(values + 1), np.where(whole != 0, whole + 1, 0))
        dense = np.random.RandomState(16).rand(4) + 1
        self.same(a * dense, whole * dense)
        self.same(tf.constant(dense) * a, whole * dense)
        self.same(a / dense, whole / dense)
        self.same(a * 2, whole * 2)
        self.same(2. * a, whole * 2)
        self.gradients(lambda v, d: tf.SparseTensor(places, v, (3, 4)) * d, values, dense)
        self.gradients(lambda v, d: tf.SparseTensor(places, v, (3, 4)) / d, values, dense)

    def test_rows_without_values_are_filled(self):
        a = tf.SparseTensor([[3, 1], [0, 2], [0, 0]], [1., 2., 3.], [5, 3])
        filled, empty = sparse.fill_empty_rows(a, -1.)
        self.assertEqual((filled.indices.numpy().tolist(), filled.values.numpy().tolist(), tuple(filled.shape)),
                         ([[0, 2], [0, 0], [1, 0], [2, 0], [3, 1], [4, 0]], [2., 3., -1., -1., 1., -1.], (5, 3)))
        self.assertEqual(empty.numpy().tolist(), [False, True, True, False, True])
        self.assertEqual(sparse.fill_empty_rows(tf.SparseTensor([[0, 0]], ["a"], [2, 1]), "b")[0].values.numpy().tolist(), [b"a", b"b"])
        self.gradients(lambda v, d: sparse.fill_empty_rows(tf.SparseTensor([[3, 1], [0, 2]], v, [5, 3]), d)[0],
                       np.array([1., 2.]), np.array(.5))
        whole = sparse.fill_empty_rows(tf.SparseTensor([[0, 0]], [1.], [1, 1]), 0.)
        self.assertEqual(whole[1].numpy().tolist(), [False])

    def test_identities_and_larger_tensors(self):
        self.same(sparse.eye(3), np.eye(3))
        self.same(sparse.eye(2, 4, tf.int64), np.eye(2, 4))
        self.assertEqual(sparse.eye(2, dtype=tf.float64).dtype, tf.float64)
        a = tf.SparseTensor([[0, 1], [2, 0]], [1., 2.], [5, 4])
        self.assertEqual(tuple(sparse.reset_shape(a).shape), (3, 2))
        self.assertEqual(tuple(sparse.reset_shape(a, [6, 4]).shape), (6, 4))

    def test_a_shape_of_more_elements_than_numbers_count(self):
        wide = [2**40, 2**40]
        a, b = tf.SparseTensor([[1, 5], [2**39, 7]], [1., 2.], wide), tf.SparseTensor([[1, 5]], [3.], wide)
        self.assertEqual(sparse.add(a, b).values.numpy().tolist(), [4., 2.])
        self.assertEqual(sparse.transpose(a).indices.numpy().tolist(), [[5, 1], [7, 2**39]])
        self.assertEqual(sparse.softmax(a).values.numpy().tolist(), [1., 1.])
        self.assertEqual(sparse.slice(a, [0, 0], [2, 9]).values.numpy().tolist(), [1.])
        for call, text in ((lambda: sparse.reduce_sum(a, 0), "reduce_sum: a result of shape .* needs .* TiB"),
                           (lambda: sparse.to_dense(a), r"to_dense: fill: a tensor of shape .* has more than 2\^63 elements")):
            with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, text):
                call()
        with self.assertRaisesRegex(ValueError, "reshape: sp_input has shape"):
            sparse.reshape(a, [-1])


class Lookup(unittest.TestCase):
    def test_rows_are_summed_by_weights(self):
        rng = np.random.RandomState(17)
        table, numbers, shares = rng.randn(6, 3), np.array([0, 5, 2, 2, 1]), rng.rand(5) + .5
        places = [[0, 0], [0, 3], [2, 0], [2, 1], [3, 0]]
        ids = tf.SparseTensor(places, numbers, [5, 4])
        matrix = np.zeros((5, 5))
        matrix[[0, 0, 2, 2, 3], range(5)] = 1

        def wanted(weights, combiner):
            rows = matrix @ (table[numbers] * weights[:, None])
            by = {"sum": np.ones(5), "mean": matrix @ weights, "sqrtn": np.sqrt(matrix @ weights**2)}[combiner]
            return np.divide(rows, by[:, None], out=np.zeros_like(rows), where=by[:, None] > 0)

        for combiner in ("sum", "mean", "sqrtn"):
            for weights in (None, shares):
                given = None if weights is None else tf.SparseTensor(places, weights, [5, 4])
                found = tf.nn.embedding_lookup_sparse(table, ids, given, combiner)
                np.testing.assert_allclose(found, wanted(np.ones(5) if weights is None else weights, combiner), rtol=1e-12)
                np.testing.assert_allclose(tf.nn.embedding_lookup_sparse([table[::2], table[1::2]], ids, given, combiner), found)
        np.testing.assert_allclose(tf.nn.embedding_lookup_sparse(table, ids, None), wanted(np.ones(5), "mean"))
        AgainstWholeTensors().gradients(lambda t, w: tf.nn.embedding_lookup_sparse(t, ids, tf.SparseTensor(places, w, [5, 4]), "sqrtn"),
                                        table, shares)
        variable = tf.Variable(table)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup_sparse(variable, ids, None, "sum"))
        self.assertIsInstance(tape.gradient(loss, variable), tf.IndexedSlices)


class Refusals(unittest.TestCase):
    def test_wrong_arguments_are_named(self):
        a = tf.SparseTensor([[0, 1], [1, 0]], [1., 2.], [2, 2])
        for call, kind, text in (
                (lambda: sparse.matmul(a, a), TypeError, "sparse_dense_matmul: of sp_a and b both are sparse"),
                (lambda: sparse.matmul([[1.]], [[1.]]), TypeError, "sparse_dense_matmul: of sp_a and b neither is sparse"),
                (lambda: sparse.matmul(a, [1., 2.]), ValueError, "sparse_dense_matmul: b has 1 axes; needs 2"),
                (lambda: sparse.matmul(a, [[1.]]), ValueError, r"a \(2, 2\) and b \(1, 1\): the inner extents 2 and 1 differ"),
                (lambda: sparse.matmul(a, [[1], [2]]), TypeError, "sparse_dense_matmul: .*"),
                (lambda: sparse.add(1, 2), TypeError, "add: neither a nor b is sparse"),
                (lambda: sparse.add(a, sparse.eye(3)), ValueError, r"add: the shapes \(2, 2\) and \(3, 3\) differ"),
                (lambda: sparse.add(a, [1.]), ValueError, r"add: the shapes \(2, 2\) and \(1,\) differ"),
                (lambda: sparse.reduce_sum(3), TypeError, "reduce_sum: sp_input is a int; needs a tf.SparseTensor"),
                (lambda: sparse.reduce_sum(a, 2), ValueError, "reduce_sum: axis is 2; the tensor has 2 axes"),
                (lambda: sparse.reduce_sum(a, "x"), TypeError, "reduce_sum: axis: 'x' is not an integer"),
                (lambda: sparse.softmax(tf.SparseTensor([[0]], [1.], [1])), ValueError, "softmax: sp_input has 1 axes; needs at least 2"),
                (lambda: sparse.softmax(tf.SparseTensor([[0, 0]], [1], [1, 1])), TypeError, "softmax: sp_input is int32"),
                (lambda: sparse.transpose(a, [0, 0]), ValueError, r"transpose: perm is \[0, 0\]"),
                (lambda: sparse.reshape(a, [3]), ValueError, r"reshape: sp_input has shape \[2, 2\], 4 elements; shape is \[3\]"),
                (lambda: sparse.reshape(a, [-1, -1]), ValueError, "reshape: "),
                (lambda: sparse.reshape(a, [0, -1]), ValueError, "reshape: "),
                (lambda: sparse.slice(a, [0], [1, 1]), ValueError, r"slice: start is \[0\]; the tensor has 2 axes"),
                (lambda: sparse.slice(a, [0, -1], [1, 1]), ValueError, "slice: .* must not be below 0"),
                (lambda: sparse.split(a, 3, 0), ValueError, "split: num_split is 3; the axis 0 has extent 2"),
                (lambda: sparse.split(a, None, 0), TypeError, "split: num_split: None is not an integer"),
                (lambda: sparse.concat(0, []), ValueError, "concat: sp_inputs is empty"),
                (lambda: sparse.concat(0, [a, 3]), TypeError, r"concat: sp_inputs\[1\] is a int"),
                (lambda: sparse.concat(0, [a, sparse.eye(3)]), ValueError, r"concat: sp_inputs have the shapes \[\[2, 2\], \[3, 3\]\]"),
                (lambda: sparse.concat(0), TypeError, r"concat: sp_inputs: None is not a list"),
                (lambda: sparse.retain(a, [True]), ValueError, r"retain: to_retain has shape \(1,\); sp_input has 2 values"),
                (lambda: sparse.retain(a, [1, 0]), TypeError, "retain: to_retain is int64; needs bools"),
                (lambda: sparse.mask(a, [0]), TypeError, "mask: a is a SparseTensor; needs a tf.IndexedSlices"),
                (lambda: sparse.expand_dims(a, 4), ValueError, "expand_dims: axis is 4"),
                (lambda: sparse.reset_shape(a, [1, 2]), ValueError, r"reset_shape: new_shape is \[1, 2\]"),
                (lambda: sparse.fill_empty_rows(tf.SparseTensor([[0]], [1.], [1]), 0.), ValueError, "fill_empty_rows: sp_input has 1 axes"),
                (lambda: sparse.fill_empty_rows(a, "x"), TypeError, "fill_empty_rows: .*'x'"),
                (lambda: sparse.eye(-1), ValueError, "eye: num_rows is -1"),
                (lambda: sparse.map_values(tf.square, 3), ValueError, "map_values: none of the arguments is a tf.SparseTensor"),
                (lambda: sparse.map_values(3, a), TypeError, "map_values: op is 3; needs a function"),
                (lambda: sparse.map_values(tf.add, a, sparse.eye(2)), ValueError, "map_values: .* at different places"),
                (lambda: sparse.map_values(tf.reduce_sum, a), ValueError, r"map_values: op returned shape \(\); needs \(2,\)"),
                (lambda: a * [1., 2., 3.], ValueError, r"SparseTensor: \[1.0, 2.0, 3.0\] does not broadcast to dense_shape \[2, 2\]"),
                (lambda: tf.nn.embedding_lookup_sparse([[1.]], a, None), TypeError, "sp_ids is float32; needs integers"),
                (lambda: tf.nn.embedding_lookup_sparse([[1.]], tf.SparseTensor([[0, 0]], [0], [1, 1]), None, "max"), ValueError,
                 "embedding_lookup_sparse: combiner is 'max'; must be one of 'mean', 'sqrtn', 'sum'"),
                (lambda: tf.nn.embedding_lookup_sparse([[1.]], tf.SparseTensor([[0, 0]], [0], [1, 1]), a), ValueError, "different places")):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                call()
        with self.assertRaises(TypeError):
            a * "x"


if __name__ == "__main__":
    unittest.main()
