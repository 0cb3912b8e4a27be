"""Recurrent layers and cells against loops of NumPy, the one op against the cells' loop, and what layers do with masks and states."""
import os
import tempfile
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine

L = tf.keras.layers


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm_step(x, states, w):
    i, f, g, o = np.split(x @ w[0] + states[0] @ w[1] + w[2], 4, -1)
    c = sigmoid(f) * states[1] + sigmoid(i) * np.tanh(g)
    return [sigmoid(o) * np.tanh(c), c]


def gru_step(x, states, w):
    h = states[0]
    if w[2].ndim == 2:
        (xz, xr, xh), (hz, hr, hh) = np.split(x @ w[0] + w[2][0], 3, -1), np.split(h @ w[1] + w[2][1], 3, -1)
        candidate = np.tanh(xh + sigmoid(xr + hr) * hh)
    else:
        (xz, xr, xh), (uz, ur, uh) = np.split(x @ w[0] + w[2], 3, -1), np.split(w[1], 3, -1)
        hz, hr = h @ uz, h @ ur
        candidate = np.tanh(xh + (sigmoid(xr + hr) * h) @ uh)
    z = sigmoid(xz + hz)
    return [z * h + (1 - z) * candidate]


def rnn_step(x, states, w):
    return [np.tanh(x @ w[0] + states[0] @ w[1] + w[2])]


def relu_step(x, states, w):
    return [np.maximum(x @ w[0] + states[0] @ w[1] + w[2], 0)]


# name → layer, cell, their arguments, one step of NumPy, how many states
KINDS = {
    "lstm": (L.LSTM, L.LSTMCell, {}, lstm_step, 2),
    "gru": (L.GRU, L.GRUCell, {}, gru_step, 1),
    "gru before": (L.GRU, L.GRUCell, {"reset_after": False}, gru_step, 1),
    "simple": (L.SimpleRNN, L.SimpleRNNCell, {}, rnn_step, 1),
    "relu": (L.SimpleRNN, L.SimpleRNNCell, {"activation": "relu"}, relu_step, 1),
}


def by_hand(step, x, states, weights, mask=None, back=False, zeros=False):
    """(outputs in the order of the steps, last states)."""
    times = range(x.shape[1])
    outputs, before = [], np.zeros_like(states[0])
    for t in reversed(times) if back else times:
        runs = np.ones((len(x), 1), bool) if mask is None else mask[:, t:t + 1]
        after = step(x[:, t], states, weights)
        before = np.where(runs, after[0], 0 if zeros else before)
        states = [np.where(runs, new, old) for new, old in zip(after, states)]
        outputs.append(before)
    return np.stack(outputs, 1), states


class Random(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()
        self.rng = np.random.default_rng(3)

    def draw(self, *shape):
        return self.rng.standard_normal(shape)

    def randomize(self, layer):
        layer.set_weights([self.draw(*each.shape) * .5 for each in layer.get_weights()])
        return layer.get_weights()


class Layers(Random):
    def test_layers_agree_with_a_loop_of_numpy_for_all_masks_and_directions(self):
        x, mask = self.draw(5, 4, 3), self.rng.random((5, 4)) > .4
        mask[0], mask[1, 0] = False, False
        for name, (layer_class, _, arguments, step, count) in KINDS.items():
            for back, zeros in ((False, False), (True, True), (True, False)):
                layer = layer_class(6, return_sequences=True, return_state=True, go_backwards=back, zero_output_for_mask=zeros,
                                    dtype="float64", **arguments)
                layer(x)
                weights = self.randomize(layer)
                for given in (None, mask):
                    for states in ([np.zeros((5, 6))] * count, [self.draw(5, 6) for _ in range(count)]):
                        with self.subTest(name, back=back, zeros=zeros, mask=given is not None):
                            outputs, last = by_hand(step, x, states, weights, given, back, zeros)
                            found = layer(x, initial_state=states, mask=given)
                            np.testing.assert_allclose(found[0].numpy(), outputs, rtol=1e-10, atol=1e-12)
                            for state, expected in zip(found[1:], last):
                                np.testing.assert_allclose(state.numpy(), expected, rtol=1e-10, atol=1e-12)
                            layer.return_sequences = False
                            np.testing.assert_allclose(layer(x, initial_state=states, mask=given)[0].numpy(), outputs[:, -1],
                                                       rtol=1e-10, atol=1e-12)
                            layer.return_sequences = True

    def test_the_one_op_has_the_numbers_of_the_cells_loop_and_their_gradients(self):
        x, mask = tf.constant(self.draw(17, 3, 4)), self.rng.random((17, 3)) > .3
        for name, (layer_class, cell_class, arguments, _, _) in KINDS.items():
            with self.subTest(name):
                fused = layer_class(5, return_sequences=True, dtype="float64", **arguments)
                loop = L.RNN(cell_class(5, dtype="float64", **arguments), return_sequences=True, dtype="float64")
                results = []
                for layer in (fused, loop):
                    layer(x)
                    layer.set_weights(self.randomize(fused) if layer is fused else fused.get_weights())
                    with tf.GradientTape() as tape:
                        tape.watch(x)
                        loss = tf.reduce_sum(layer(x, mask=mask) ** 3)
                    results.append([loss, *tape.gradient(loss, [x, *layer.trainable_weights])])
                for one, other in zip(*results):
                    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-9, atol=1e-11)

    def test_gradients_agree_with_differences(self):
        x = self.draw(2, 3, 2)
        for name, (layer_class, _, arguments, _, _) in KINDS.items():
            if name == "relu":
                continue
            layer = layer_class(3, dtype="float64", **arguments)
            layer(x)
            self.randomize(layer)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sin(layer(x)))
            for variable, gradient in zip(layer.trainable_weights, tape.gradient(loss, layer.trainable_weights)):
                value = variable.numpy()
                direction = self.draw(*value.shape)
                sides = []
                for step in (1e-6, -1e-6):
                    variable.assign(value + step * direction)
                    sides.append(float(tf.reduce_sum(tf.sin(layer(x)))))
                variable.assign(value)
                self.assertAlmostEqual((sides[0] - sides[1]) / 2e-6, float(np.sum(gradient.numpy() * direction)), 7, name)

    def test_other_activations_and_no_bias_agree_with_numpy(self):
        x = self.draw(2, 3, 4)
        layer = L.LSTM(3, activation="relu", recurrent_activation="hard_sigmoid", use_bias=False, dtype="float64")
        layer(x)
        kernel, recurrent = self.randomize(layer)
        h = c = np.zeros((2, 3))
        for t in range(3):
            i, f, g, o = np.split(x[:, t] @ kernel + h @ recurrent, 4, -1)
            gate = lambda v: np.clip(v / 6 + .5, 0, 1)  # noqa: E731
            c = gate(f) * c + gate(i) * np.maximum(g, 0)
            h = gate(o) * np.maximum(c, 0)
        np.testing.assert_allclose(layer(x).numpy(), h, rtol=1e-12, atol=1e-13)
        self.assertEqual(len(layer.weights), 2)

    def test_sequences_of_length_1_and_0_and_empty_batches(self):
        for name, (layer_class, cell_class, arguments, step, count) in KINDS.items():
            for layer in (layer_class(3, return_sequences=True, return_state=True, dtype="float64", **arguments),
                          L.RNN(cell_class(3, dtype="float64", **arguments), True, True, dtype="float64")):
                x = self.draw(2, 1, 4)
                outputs = layer(x)
                weights = self.randomize(layer)
                expected, last = by_hand(step, x, [np.zeros((2, 3))] * count, weights)
                np.testing.assert_allclose(layer(x)[0].numpy(), expected, rtol=1e-12)
                self.assertEqual([tuple(each.shape) for each in layer(x[:0])], [(0, 1, 3)] + [(0, 3)] * count, name)
                outputs = layer(x[:, :0])
                self.assertEqual(tuple(outputs[0].shape), (2, 0, 3))
                self.assertFalse(np.any(outputs[1].numpy()))

    def test_time_major_is_the_same_with_the_axes_changed(self):
        x, mask = self.draw(4, 3, 2).astype(np.float32), self.rng.random((4, 3)) > .3
        for layer_class, cell_class, arguments, _, _ in KINDS.values():
            plain = layer_class(5, return_sequences=True, **arguments)
            expected = plain(x, mask=mask).numpy()
            for other in (layer_class(5, return_sequences=True, time_major=True, **arguments),
                          L.RNN(cell_class(5, **arguments), return_sequences=True, time_major=True)):
                other(x.swapaxes(0, 1))
                other.set_weights(plain.get_weights())
                turned = other(x.swapaxes(0, 1), mask=mask.T).numpy().swapaxes(0, 1)
                np.testing.assert_allclose(turned, expected, rtol=2e-5, atol=1e-6)

    def test_the_same_bits_for_any_number_of_threads(self):
        x = tf.constant(self.draw(40, 6, 9).astype(np.float32))
        layer = L.LSTM(32, return_sequences=True)
        layer(x)
        results = []
        threads = tf.config.threading.get_intra_op_parallelism_threads()
        try:
            for count in (1, 2, 3):
                tf.config.threading.set_intra_op_parallelism_threads(count)
                with tf.GradientTape() as tape:
                    outputs = layer(x)
                gradients = tape.gradient(outputs, layer.trainable_weights)
                results.append([outputs.numpy().tobytes(), *(each.numpy().tobytes() for each in gradients)])
        finally:
            tf.config.threading.set_intra_op_parallelism_threads(threads)
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])


class States(Random):
    def test_a_stateful_layer_goes_on_where_the_batch_before_ended(self):
        x = self.draw(3, 6, 2)
        for name, (layer_class, cell_class, arguments, _, _) in KINDS.items():
            for layer in (layer_class(4, stateful=True, dtype="float64", **arguments),
                          L.RNN(cell_class(4, dtype="float64", **arguments), stateful=True, dtype="float64")):
                whole = layer(x).numpy()
                layer.reset_states()
                layer(x[:, :2])
                np.testing.assert_allclose(layer(x[:, 2:]).numpy(), whole, rtol=1e-12, err_msg=name)
                with self.assertRaisesRegex(ValueError, "the batch size of the input sequences must be the same.*\n.*3\n.*2"):
                    layer(x[:2])

    def test_what_a_stateful_layer_keeps_is_in_checkpoints_and_no_weight(self):
        x = self.draw(3, 4, 2)
        with tempfile.TemporaryDirectory() as folder:
            for make in (lambda: L.LSTM(4, stateful=True, dtype="float64"),
                         lambda: L.RNN([L.LSTMCell(4, dtype="float64"), L.GRUCell(3, dtype="float64")], stateful=True,
                                       dtype="float64")):
                layer = make()
                self.assertIsNone(layer.states)
                layer(x)
                kept = tf.nest.flatten(layer.states)
                self.assertTrue(all(isinstance(state, tf.Variable) and not state.trainable for state in kept))
                self.assertFalse({id(state) for state in kept} & {id(weight) for weight in layer.weights})
                path = tf.train.Checkpoint(layer=layer).save(os.path.join(folder, "layer"))
                wanted = layer(x).numpy()
                again = make()
                status = tf.train.Checkpoint(layer=again).restore(path)  # before there is any variable
                np.testing.assert_array_equal(again(x), wanted)
                status.assert_consumed()
                layer.reset_states()
                self.assertFalse(any(np.any(state) for state in kept))
                layer(x[:2])  # another batch size, as it begins anew
                self.assertEqual(tf.nest.flatten(layer.states)[0].shape, (2, 4))

    def test_the_number_of_initial_states_is_checked(self):
        with self.assertRaisesRegex(ValueError, "initial_state has 1 tensors; its cell has 2 states"):
            L.LSTM(3)(self.draw(2, 3, 4), initial_state=[np.zeros((2, 3))])

    def test_initial_states_may_come_in_the_list_of_inputs(self):
        x, h, c = self.draw(2, 3, 4), self.draw(2, 5), self.draw(2, 5)
        layer = L.LSTM(5, dtype="float64")
        np.testing.assert_array_equal(layer([tf.constant(x), tf.constant(h), tf.constant(c)]).numpy(),
                                      layer(x, initial_state=[h, c]).numpy())

    def test_gradients_reach_the_initial_state(self):
        x, h, c = (tf.constant(each) for each in (self.draw(2, 3, 4), self.draw(2, 5), self.draw(2, 5)))
        layer = L.LSTM(5, dtype="float64")
        with tf.GradientTape() as tape:
            tape.watch([h, c])
            outputs = layer(x, initial_state=[h, c])
        for gradient in tape.gradient(outputs, [h, c]):
            self.assertTrue(np.all(gradient.numpy() != 0))


class Cells(Random):
    def test_stacked_cells_are_layers_on_top_of_each_other(self):
        x = self.draw(3, 4, 2)
        stack = L.RNN([L.LSTMCell(5, dtype="float64"), L.GRUCell(4, dtype="float64")], return_state=True, dtype="float64")
        output, lstm, gru = stack(x)
        one, two = L.LSTM(5, return_sequences=True, return_state=True, dtype="float64"), L.GRU(4, dtype="float64")
        two(one(x)[0])
        one.set_weights(stack.get_weights()[:3])
        two.set_weights(stack.get_weights()[3:])
        sequence, h, c = one(x)
        np.testing.assert_allclose(output.numpy(), two(sequence).numpy(), rtol=1e-10)
        np.testing.assert_allclose(lstm[1].numpy(), c.numpy(), rtol=1e-10)
        np.testing.assert_array_equal(gru.numpy(), output.numpy())
        self.assertEqual(stack.cell.state_size, [[5, 5], 4])

    def test_a_cell_that_is_no_layer_will_do(self):
        class Sums:
            state_size = output_size = 2

            def call(self, inputs, states, constants=()):
                total = states[0] + inputs + sum(constants)
                return total, [total]

        x = self.draw(3, 4, 2).astype(np.float32)
        layer = L.RNN(Sums(), return_sequences=True)
        np.testing.assert_allclose(layer(x).numpy(), np.cumsum(x, 1), rtol=1e-5)
        np.testing.assert_allclose(layer(x, constants=[tf.ones([2])]).numpy(), np.cumsum(x + 1, 1), rtol=1e-5)

    def test_what_is_no_cell_is_refused(self):
        with self.assertRaisesRegex(ValueError, "Argument `cell` should have a `call` method. Received: cell=3"):
            L.RNN(3)
        with self.assertRaisesRegex(ValueError, "should have a `state_size` attribute"):
            L.RNN(L.Dense(3))
        with self.assertRaisesRegex(ValueError, "Received an invalid value for `units`.*units=-1 of LSTMCell"):
            L.LSTM(-1)

    def test_dropout_chooses_once_for_a_sequence_and_in_training_alone(self):
        class Shows(L.SimpleRNNCell):
            def call(self, sequence, states, training=False):
                return self._disturbed(sequence, states[0], training)[0], states

        x = np.ones((2, 5, 8), np.float32)
        layer = L.RNN(Shows(8, dropout=.5, seed=1), return_sequences=True)
        np.testing.assert_array_equal(layer(x).numpy(), x)
        shown = layer(x, training=True).numpy()
        np.testing.assert_array_equal(shown, np.repeat(shown[:, :1], 5, 1))
        self.assertEqual(set(np.unique(shown)), {0, 2})

    def test_dropout_of_the_one_op_is_that_of_its_inputs(self):
        x = self.draw(3, 4, 6)
        layer = L.LSTM(5, dropout=.5, seed=4, dtype="float64")
        layer(x)
        layer.cell.get_dropout_mask(tf.constant(x[:, 0]))
        choices = layer.cell._input_mask.numpy()
        expected, _ = by_hand(lstm_step, x * choices[:, None], [np.zeros((3, 5))] * 2, layer.get_weights())
        np.testing.assert_allclose(layer(x, training=True).numpy(), expected[:, -1], rtol=1e-10)
        self.assertIsNone(layer.cell._input_mask)

    def test_recurrent_dropout_trains_and_leaves_prediction_alone(self):
        x = self.draw(3, 4, 6).astype(np.float32)
        layer = L.GRU(5, recurrent_dropout=.5)
        plain = layer(x).numpy()
        self.assertTrue(np.any(layer(x, training=True).numpy() != plain))
        np.testing.assert_array_equal(layer(x).numpy(), plain)


class Wrappers(Random):
    def test_bidirectional_merges_both_directions(self):
        x, mask = self.draw(3, 4, 2), np.array([[1, 1, 0, 1], [0, 1, 1, 1], [1, 1, 1, 1]], bool)
        for mode, merge in (("concat", lambda a, b: np.concatenate([a, b], -1)), ("sum", np.add), ("mul", np.multiply),
                            ("ave", lambda a, b: (a + b) / 2), (None, lambda a, b: (a, b))):
            layer = L.Bidirectional(L.LSTM(3, return_sequences=True, return_state=True, dtype="float64"), merge_mode=mode,
                                    dtype="float64")
            layer(x)
            weights = self.randomize(layer)
            found = layer(x, mask=mask)
            zeros = [np.zeros((3, 3))] * 2
            forward, there = by_hand(lstm_step, x, zeros, weights[:3], mask, zeros=True)
            backward, back = by_hand(lstm_step, x, zeros, weights[3:], mask, True, True)
            expected = merge(forward, backward[:, ::-1])
            outputs = found[:2] if mode is None else found[:1]
            for output, each in zip(outputs, expected if mode is None else [expected]):
                np.testing.assert_allclose(output.numpy(), each, rtol=1e-10, atol=1e-13)
            for state, each in zip(found[len(outputs):], there + back):
                np.testing.assert_allclose(state.numpy(), each, rtol=1e-10)

    def test_bidirectional_refuses_what_does_not_fit(self):
        with self.assertRaisesRegex(ValueError, "Invalid merge mode. Received: max"):
            L.Bidirectional(L.LSTM(3), merge_mode="max")
        with self.assertRaisesRegex(ValueError, "different `go_backwards` value"):
            L.Bidirectional(L.LSTM(3), backward_layer=L.LSTM(3))
        with self.assertRaisesRegex(ValueError, 'same value for attribute "return_state"'):
            L.Bidirectional(L.LSTM(3), backward_layer=L.LSTM(3, go_backwards=True, return_state=True))

    def test_time_distributed_is_the_layer_at_each_step(self):
        x = self.draw(2, 3, 5, 5, 2).astype(np.float32)
        layer = L.TimeDistributed(L.Conv2D(4, 3))
        found = layer(x)
        self.assertEqual(tuple(found.shape), (2, 3, 3, 3, 4))
        for t in range(3):
            np.testing.assert_allclose(found[:, t].numpy(), layer.layer(x[:, t]).numpy(), rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ValueError, r"at least 3 dimensions, received: \(2, 3\)"):
            L.TimeDistributed(L.Dense(4))(x[:, :, 0, 0, 0])
        with self.assertRaisesRegex(ValueError, r"mask.*shape \(2, 4\).*incompatible"):
            layer(x, mask=np.ones((2, 4), bool))


class InModels(Random):
    def test_masks_of_embeddings_reach_the_layer_and_what_follows(self):
        numbers = np.array([[1, 2, 0, 0], [3, 0, 0, 0]])
        embedding, lstm = L.Embedding(5, 3, mask_zero=True), L.LSTM(4)
        found = lstm(embedding(numbers))
        np.testing.assert_allclose(found.numpy(), lstm(embedding(numbers), mask=numbers != 0).numpy(), rtol=1e-6)
        alone = lstm(embedding(numbers[:, :1]))
        np.testing.assert_allclose(found.numpy()[1], alone.numpy()[1], rtol=1e-5)

    def test_functional_models_and_configs_give_the_same_layer(self):
        inputs = tf.keras.Input((4, 3))
        x = L.Bidirectional(L.GRU(5, return_sequences=True))(inputs)
        x = L.TimeDistributed(L.Dense(6))(x)
        x = L.RNN([L.LSTMCell(4), L.SimpleRNNCell(3)], return_sequences=True)(x)
        model = tf.keras.Model(inputs, L.LSTM(2, unit_forget_bias=False)(x))
        self.assertEqual(tuple(model.output_shape), (None, 2))
        again = type(model).from_config(model.get_config())
        values = self.draw(2, 4, 3).astype(np.float32)
        again.set_weights(model.get_weights())
        np.testing.assert_array_equal(model(values).numpy(), again(values).numpy())

    def test_variables_are_named_as_keras_names_them(self):
        layer = L.LSTM(2)
        layer(np.zeros((1, 2, 3), np.float32))
        self.assertEqual([each.name for each in layer.weights],
                         ["lstm/lstm_cell/kernel:0", "lstm/lstm_cell/recurrent_kernel:0", "lstm/lstm_cell/bias:0"])
        np.testing.assert_array_equal(layer.weights[2].numpy(), [0, 0, 1, 1, 0, 0, 0, 0])
        self.assertEqual([tuple(each.shape) for each in layer.weights], [(3, 8), (2, 8), (8,)])

    def test_configs_hold_what_the_layer_was_made_with(self):
        layer = L.GRU(3, activation="relu", reset_after=False, dropout=.25, return_sequences=True, kernel_regularizer="l2")
        again = L.GRU.from_config(layer.get_config())
        self.assertEqual(again.get_config(), layer.get_config())
        self.assertEqual((again.units, again.dropout, again.reset_after, again.return_sequences), (3, .25, False, True))


class Ops(Random):
    def test_errors_name_the_op_the_argument_and_the_shapes(self):
        lstm, gru, rnn = (_engine.op_function(name) for name in ("lstm", "gru", "simple_rnn"))
        z = lambda *shape: np.zeros(shape, np.float32)  # noqa: E731
        good = [z(2, 3, 4), z(2, 5), z(2, 5), z(4, 20), z(5, 20), z(20)]
        for place, value, text in ((0, z(2, 3), r"lstm: x has shape \(2, 3\); needs 3 axes, batch, time and inputs"),
                                   (1, z(3, 5), r"lstm: initial_h has shape \(3, 5\); needs \(batch, units\) = \(2, 5\)"),
                                   (3, z(3, 20), r"lstm: kernel has shape \(3, 20\); needs \(inputs, 4·units\) = \(4, 20\)"),
                                   (4, z(5, 15),
                                    r"lstm: recurrent_kernel has shape \(5, 15\); needs \(units, 4·units\) with the 5 units"),
                                   (5, z(5), r"lstm: bias has shape \(5,\); needs \(4·units,\) = \(20,\)")):
            inputs = list(good)
            inputs[place] = value
            with self.assertRaisesRegex(ValueError, text):
                lstm(*inputs, [])
        with self.assertRaisesRegex(ValueError, r"lstm: mask\[0\] has shape \(2, 4\); needs \(batch, time\) = \(2, 3\)"):
            lstm(*good, [np.ones((2, 4), bool)])
        with self.assertRaisesRegex(ValueError, "lstm: got 2 masks; takes one at most"):
            lstm(*good, [np.ones((2, 3), bool)] * 2)
        with self.assertRaisesRegex(ValueError, "simple_rnn: activation is 'selu'; needs tanh or relu"):
            rnn(z(2, 3, 4), z(2, 5), z(4, 5), z(5, 5), z(5), [], activation="selu")
        with self.assertRaisesRegex(ValueError, r"gru: bias has shape \(15,\); needs \(2, 3·units\)"):
            gru(z(2, 3, 4), z(2, 5), z(4, 15), z(5, 15), z(15), [])


if __name__ == "__main__":
    unittest.main()
