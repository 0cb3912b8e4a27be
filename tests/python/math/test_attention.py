"""Attention: the op and the layers against NumPy."""
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine

L = tf.keras.layers
attention = _engine.op_function("attention")


def softmax(logits):
    e = np.exp(logits - logits.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def by_hand(q, k, v, may=None, scale=None):
    logits = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -.5 if scale is None else scale)
    if may is not None:
        logits = np.where(may, logits, logits - 1e9)
    weights = softmax(logits)
    return weights @ v, weights


class Random(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()
        self.rng = np.random.default_rng(5)

    def draw(self, *shape):
        return self.rng.standard_normal(shape)

    def randomize(self, layer):
        layer.set_weights([self.draw(*each.shape) * .5 for each in layer.get_weights()])
        return layer.get_weights()

    def agree(self, found, expected, tolerance=1e-10):
        for one, other in zip(found, expected):
            np.testing.assert_allclose(np.asarray(one), other, rtol=tolerance, atol=tolerance)


class Op(Random):
    def test_views_of_heads_are_read_where_they_lie_and_come_back_beside_each_other(self):
        q, k, v = (tf.constant(self.draw(2, 6, 3, 4)) for _ in range(3))
        heads = [tf.transpose(each, [0, 2, 1, 3]) for each in (q, k, v)]
        with tf.GradientTape() as tape:
            tape.watch([q, k, v])
            out, weights = attention(*(tf.transpose(each, [0, 2, 1, 3]) for each in (q, k, v)), [])
        self.agree((out, weights), by_hand(*(each.numpy() for each in heads)))
        with tf.GradientTape() as other:
            other.watch([q, k, v])
            logits = tf.matmul(*(tf.transpose(each, [0, 2, 1, 3]) for each in (q, k)), transpose_b=True) / 2
            composed = tf.matmul(tf.nn.softmax(logits), tf.transpose(v, [0, 2, 1, 3]))
        upstream = self.draw(2, 3, 6, 4)
        self.agree(tape.gradient(out, [q, k, v], upstream),
                   [each.numpy() for each in other.gradient(composed, [q, k, v], upstream)])

    def test_masks_causality_and_scale(self):
        q, k, v = self.draw(2, 3, 5, 4), self.draw(2, 3, 6, 4), self.draw(2, 3, 6, 7)
        may, lower = self.rng.random((2, 1, 5, 6)) > .4, np.tri(5, 6, dtype=bool)
        added = self.draw(5, 6)
        self.agree(attention(q, k, v, [may], scale=.3), by_hand(q, k, v, may, .3))
        self.agree(attention(q, k, v, [], causal=True), by_hand(q, k, v, lower))
        self.agree(attention(q, k, v, [may], causal=True), by_hand(q, k, v, may & lower), 1e-7)
        with_logits = softmax(q @ np.swapaxes(k, -1, -2) / 2 + added)
        self.agree(attention(q, k, v, [added]), (with_logits @ v, with_logits))
        self.agree(attention(q, k, v, [np.arange(6) < 4]), by_hand(q, k, v, np.arange(6) < 4))

    def test_a_query_that_may_attend_to_nothing_has_the_weights_of_rounded_logits_and_no_nan(self):
        q, k = self.draw(1, 2, 3), self.draw(1, 4, 3)
        for dtype, tolerance in ((np.float64, 1e-6), (np.float32, None)):
            may = np.array([[False] * 4, [True] * 4])
            weights = attention(q.astype(dtype), k.astype(dtype), k.astype(dtype), [may])[1].numpy()
            expected = np.full(4, .25) if tolerance is None else by_hand(q, k, k)[1][0, 0]  # float32 has no digits left of them
            np.testing.assert_allclose(weights[0, 0], expected, atol=1e-6)

    def test_one_large_matrix_and_many_small_ones_have_the_same_bits_for_any_number_of_threads(self):
        before = tf.config.threading.get_intra_op_parallelism_threads()
        try:
            for shape in ((1, 300, 64), (37, 20, 8)):
                q, k, v = (tf.constant(self.draw(*shape).astype(np.float32)) for _ in range(3))
                results = []
                for count in (1, 2, 3):
                    tf.config.threading.set_intra_op_parallelism_threads(count)
                    with tf.GradientTape() as tape:
                        tape.watch([q, k, v])
                        out, weights = attention(q, k, v, [])
                    gradients = tape.gradient(out, [q, k, v])
                    results.append([each.numpy().tobytes() for each in (out, weights, *gradients)])
                self.assertEqual(results[0], results[1])
                self.assertEqual(results[0], results[2])
        finally:
            tf.config.threading.set_intra_op_parallelism_threads(before)

    def test_no_queries_no_keys_no_batch(self):
        for shape in ((0, 2, 3), (2, 0, 3)):
            out, weights = attention(np.zeros(shape, np.float32), np.zeros((shape[0], 4, 3), np.float32),
                                     np.zeros((shape[0], 4, 5), np.float32), [])
            self.assertEqual((tuple(out.shape), tuple(weights.shape)), ((*shape[:2], 5), (*shape[:2], 4)))
        out, weights = attention(np.ones((2, 3, 4)), np.ones((2, 0, 4)), np.ones((2, 0, 5)), [])
        np.testing.assert_array_equal(out.numpy(), np.zeros((2, 3, 5)))

    def test_errors_name_the_argument_and_the_shapes(self):
        z = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
        for arguments, text in (
                ((z(2, 3, 4), z(2, 5, 6), z(2, 5, 6), []),
                 r"attention: query \(2, 3, 4\) and key \(2, 5, 6\) differ in their last axis"),
                ((z(2, 3, 4), z(2, 5, 4), z(2, 6, 4), []),
                 r"attention: key \(2, 5, 4\) and value \(2, 6, 4\) differ in the number of keys"),
                ((z(3, 3, 4), z(2, 5, 4), z(2, 5, 4), []), "differ in their leading axes"),
                ((z(3), z(3), z(3), []), r"attention: query has shape \(3,\); needs at least 2 axes"),
                ((z(2, 3, 4), z(2, 5, 4), z(2, 5, 4), [np.ones((2, 3, 4), bool)]),
                 r"attention: mask \(2, 3, 4\) does not broadcast to the logits \(2, 3, 5\)")):
            with self.assertRaisesRegex(ValueError, text):
                attention(*arguments)


class Layers(Random):
    def test_multi_head_attention_agrees_with_numpy(self):
        x, z = self.draw(2, 5, 6), self.draw(2, 4, 3)
        may = self.rng.random((2, 5, 4)) > .3
        may[..., 0] = True
        layer = L.MultiHeadAttention(3, 4, value_dim=2, output_shape=7, dtype="float64")
        layer(x, z)
        qk, qb, kk, kb, vk, vb, ok, ob = self.randomize(layer)
        self.assertEqual([each.shape for each in layer.weights],
                         [(6, 3, 4), (3, 4), (3, 3, 4), (3, 4), (3, 3, 2), (3, 2), (3, 2, 7), (7,)])
        q, k, v = (np.einsum("btd,dnh->bnth", a, w) + b[:, None] for a, w, b in ((x, qk, qb), (z, kk, kb), (z, vk, vb)))
        for mask in (None, may):
            heads, weights = by_hand(q, k, v, None if mask is None else mask[:, None])
            expected = np.einsum("bnth,nhd->btd", heads, ok) + ob
            found, scores = layer(x, z, attention_mask=mask, return_attention_scores=True)
            self.agree((found, scores), (expected, weights))
            np.testing.assert_array_equal(layer(x, z, attention_mask=mask).numpy(), found.numpy())
        causal = by_hand(q, k, v, np.tri(5, 4, dtype=bool))[1]
        self.agree([layer(x, z, use_causal_mask=True, return_attention_scores=True)[1]], [causal])

    def test_its_gradients_agree_with_differences(self):
        x = tf.constant(self.draw(2, 4, 3))
        layer = L.MultiHeadAttention(2, 3, dtype="float64")
        layer(x, x)
        self.randomize(layer)
        loss = lambda: tf.reduce_sum(tf.sin(layer(x, x, use_causal_mask=True)))  # noqa: E731
        with tf.GradientTape() as tape:
            value = loss()
        for variable, gradient in zip(layer.weights, tape.gradient(value, layer.trainable_weights)):
            point, direction, sides = variable.numpy(), self.draw(*variable.shape), []
            for step in (1e-6, -1e-6):
                variable.assign(point + step * direction)
                sides.append(float(loss()))
            variable.assign(point)
            self.assertAlmostEqual((sides[0] - sides[1]) / 2e-6, float(np.sum(gradient.numpy() * direction)), 7, variable.name)

    def test_several_attended_axes_and_further_batches(self):
        x = self.draw(2, 3, 4, 5)
        for axes in ((1, 2), (2,), (1,)):
            layer = L.MultiHeadAttention(1, 5, attention_axes=axes, use_bias=False, dtype="float64")
            found, scores = layer(x, x, return_attention_scores=True)
            wq, wk, wv, wo = (each.reshape(5, 5) for each in layer.get_weights())
            if axes == (1, 2):
                flat = x.reshape(2, 12, 5)
                expected, weights = by_hand(flat @ wq, flat @ wk, flat @ wv)
                expected, weights = expected.reshape(x.shape), weights.reshape(2, 1, 3, 4, 3, 4)
            elif axes == (2,):
                expected, weights = by_hand(x @ wq, x @ wk, x @ wv)
                weights = weights[:, :, None]
            else:
                moved = x.swapaxes(1, 2)
                expected, weights = by_hand(moved @ wq, moved @ wk, moved @ wv)
                expected, weights = expected.swapaxes(1, 2), weights[:, :, None]
            self.agree((found, scores), (expected @ wo, weights))

    def test_masks_of_the_tensors_count(self):
        numbers = np.array([[1, 2, 3, 0], [4, 0, 0, 0]])
        embedded = L.Embedding(5, 6, mask_zero=True)(numbers)
        layer = L.MultiHeadAttention(2, 3)
        found, scores = layer(embedded, embedded, return_attention_scores=True)
        self.assertEqual(float(tf.reduce_sum(scores[1, :, 0, 1:])), 0)
        other = L.GlobalAveragePooling1D()(found)
        np.testing.assert_allclose(other.numpy()[1], found.numpy()[1, 0], rtol=1e-5)

    def test_dropout_is_of_the_weights_and_in_training_alone(self):
        x = np.ones((2, 50, 3), np.float32)
        layer = L.MultiHeadAttention(2, 3, dropout=.5, seed=1)
        plain = layer(x, x).numpy()
        np.testing.assert_array_equal(layer(x, x).numpy(), plain)
        trained = layer(x, x, training=True).numpy()
        self.assertGreater(np.ptp(trained[:, :, 0]), 1e-3)
        self.assertLess(np.ptp(plain[:, :, 0]), 1e-6)

    def test_grouped_queries_share_keys(self):
        x = self.draw(2, 4, 6)
        layer = L.GroupQueryAttention(3, 4, 2, dtype="float64")
        layer(x, x)
        qk, qb, kk, kb, vk, vb, ok, ob = self.randomize(layer)
        q, k, v = (np.einsum("btd,dnh->bnth", x, w) + b[:, None] for w, b in ((qk, qb), (kk, kb), (vk, vb)))
        heads, weights = by_hand(q, np.repeat(k, 2, 1), np.repeat(v, 2, 1))
        found, scores = layer(x, x, return_attention_scores=True)
        self.agree((found, scores), (np.einsum("bnth,nhd->btd", heads, ok) + ob, weights))
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(x, x) ** 2)
        for gradient in tape.gradient(loss, layer.trainable_weights):
            self.assertTrue(np.all(np.isfinite(gradient.numpy())))
        with self.assertRaisesRegex(ValueError, "num_query_heads=3, num_key_value_heads=2"):
            L.GroupQueryAttention(3, 3, 2)

    def test_attention_and_additive_attention_agree_with_numpy(self):
        q, v, k = self.draw(2, 3, 4), self.draw(2, 5, 4), self.draw(2, 5, 4)
        q_mask, v_mask = np.array([[1, 1, 0], [1, 0, 1]], bool), np.array([[1, 1, 0, 1, 1], [1, 0, 0, 0, 1]], bool)
        dot, scaled = L.Attention(dtype="float64"), L.Attention(use_scale=True, dtype="float64")
        sums, added = L.Attention(score_mode="concat", dtype="float64"), L.AdditiveAttention(dtype="float64")
        together = np.tanh(q[:, :, None] + k[:, None])
        for layer in (dot, scaled, sums, added):
            layer([q, v, k])
            weights = self.randomize(layer)
            logits = {dot: lambda: q @ k.swapaxes(1, 2), scaled: lambda: q @ k.swapaxes(1, 2) * weights[0],
                      sums: lambda: together.sum(-1) * weights[0], added: lambda: (together * weights[0]).sum(-1)}[layer]()
            scores = softmax(np.where(v_mask[:, None], logits, -np.inf))
            found = layer([q, v, k], mask=[q_mask, v_mask], return_attention_scores=True)
            self.agree(found, (np.where(q_mask[..., None], scores @ v, 0), scores))
            lower = np.tri(3, 5, dtype=bool)
            self.agree([layer([q, v, k], use_causal_mask=True)], [softmax(np.where(lower, logits, -np.inf)) @ v])

    def test_what_does_not_fit_is_refused(self):
        with self.assertRaisesRegex(ValueError, "must be called on a list of inputs"):
            L.Attention()(np.zeros((2, 3, 4)))
        with self.assertRaisesRegex(ValueError, "length 2 or 3.*Received length: 1"):
            L.Attention()([np.zeros((2, 3, 4))])
        with self.assertRaisesRegex(ValueError, "score_mode=cosine"):
            L.Attention(score_mode="cosine")
        with self.assertRaisesRegex(ValueError, "`num_heads`, expected a positive integer. Received: num_heads=0"):
            L.MultiHeadAttention(0, 3)
        with self.assertRaisesRegex(ValueError, "dropout is 2; needs a number from 0 to 1"):
            L.MultiHeadAttention(1, 3, dropout=2)

    def test_configs_and_functional_models_give_the_same_layer(self):
        inputs = tf.keras.Input((4, 6))
        x = L.MultiHeadAttention(2, 3, value_dim=4, attention_axes=(1,), kernel_initializer="he_normal")(inputs, inputs)
        x = L.GroupQueryAttention(3, 4, 2)(x, x)
        x = L.Attention(use_scale=True)([x, inputs])
        model = tf.keras.Model(inputs, L.AdditiveAttention()([x, inputs]))
        self.assertEqual(tuple(model.output_shape), (None, 4, 6))
        again = type(model).from_config(model.get_config())
        values = self.draw(2, 4, 6).astype(np.float32)
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(model(values).numpy(), again(values).numpy())


if __name__ == "__main__":
    unittest.main()
