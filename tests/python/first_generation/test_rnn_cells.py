"""TensorFlow 1's cells and loops over sequences against NumPy."""
import unittest

import numpy as np

import tapedeck as tf

cells = tf.nn.rnn_cell


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, c, h, w, b, forget=1.0):
    i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
    c = c * sigmoid(f + forget) + sigmoid(i) * np.tanh(j)
    return c, np.tanh(c) * sigmoid(o)


class Random(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()
        self.rng = np.random.default_rng(2)

    def draw(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def randomize(self, cell):
        for variable in cell.variables:
            variable.assign(self.draw(*variable.shape) * .5)
        return [each.numpy() for each in cell.variables]

    def near(self, found, expected):
        np.testing.assert_allclose(found.numpy(), expected, rtol=2e-5, atol=2e-6)


class Cells(Random):
    def test_basic_lstm(self):
        x, c, h = self.draw(3, 2), self.draw(3, 4), self.draw(3, 4)
        for as_tuple in (True, False):
            cell = cells.BasicLSTMCell(4, forget_bias=.5, state_is_tuple=as_tuple)
            state = cells.LSTMStateTuple(c, h) if as_tuple else tf.constant(np.concatenate([c, h], 1))
            cell(x, state)
            w, b = self.randomize(cell)
            output, after = cell(x, state)
            expected = lstm(x, c, h, w, b, .5)
            self.near(output, expected[1])
            self.near(tf.concat(after, 1) if as_tuple else after, np.concatenate(expected, 1))
            self.assertEqual(cell.state_size, (4, 4) if as_tuple else 8)

    def test_gru_and_basic_rnn(self):
        x, h = self.draw(3, 2), self.draw(3, 4)
        gru, basic = cells.GRUCell(4), cells.BasicRNNCell(4)
        gru(x, h)
        np.testing.assert_array_equal(gru.variables[1].numpy(), np.ones(8))
        gw, gb, cw, cb = self.randomize(gru)
        r, u = np.split(sigmoid(np.concatenate([x, h], 1) @ gw + gb), 2, 1)
        self.near(gru(x, h)[0], u * h + (1 - u) * np.tanh(np.concatenate([x, r * h], 1) @ cw + cb))
        basic(x, h)
        w, b = self.randomize(basic)
        self.near(basic(x, h)[1], np.tanh(np.concatenate([x, h], 1) @ w + b))

    def test_lstm_with_peepholes_projection_and_clips(self):
        x, c, h = self.draw(3, 2), self.draw(3, 4), self.draw(3, 5)
        cell = cells.LSTMCell(4, use_peepholes=True, num_proj=5, cell_clip=.4, proj_clip=.3)
        cell(x, (c, h))
        w, b, wf, wi, wo, projection = self.randomize(cell)
        i, j, f, o = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
        after = np.clip(sigmoid(f + 1 + wf * c) * c + sigmoid(i + wi * c) * np.tanh(j), -.4, .4)
        expected = np.clip(sigmoid(o + wo * after) * np.tanh(after) @ projection, -.3, .3)
        output, state = cell(x, (c, h))
        self.near(output, expected)
        self.near(state.c, after)
        self.assertEqual((cell.state_size, cell.output_size), ((4, 5), 5))

    def test_multi_rnn_cell_passes_outputs_on_and_names_its_scopes(self):
        x = self.draw(3, 2)
        for as_tuple in (True, False):
            cell = cells.MultiRNNCell([cells.GRUCell(4), cells.BasicRNNCell(3)], state_is_tuple=as_tuple)
            state = cell.zero_state(3, tf.float32)
            output, after = cell(x, state)
            first = cell._cells[0](x, np.zeros((3, 4), np.float32))[0]
            self.near(output, cell._cells[1](first, np.zeros((3, 3), np.float32))[0].numpy())
            self.near(tf.concat(after, 1) if as_tuple else after, np.concatenate([first, output], 1))
        with tf.variable_scope("named"):
            cell = cells.MultiRNNCell([cells.BasicLSTMCell(2), cells.BasicLSTMCell(2)])
            cell(x, cell.zero_state(3, tf.float32))
        self.assertEqual([each.name for each in cell.variables],
                         [f"named/multi_rnn_cell/cell_{i}/basic_lstm_cell/{name}:0" for i in (0, 1) for name in ("kernel", "bias")])

    def test_what_does_not_fit_is_refused(self):
        for make, error, text in ((lambda: cells.MultiRNNCell([]), ValueError, "at least one cell"),
                                  (lambda: cells.MultiRNNCell(3), TypeError, "must be a list or tuple, but saw: 3"),
                                  (lambda: cells.MultiRNNCell([cells.LSTMCell(2)], False), ValueError, "state_is_tuple is not set"),
                                  (lambda: cells.DropoutWrapper(3), TypeError, "not a RNNCell"),
                                  (lambda: cells.DropoutWrapper(cells.GRUCell(2), 2.0), ValueError,
                                   "input_keep_prob must be between 0 and 1: 2"),
                                  (lambda: tf.nn.dynamic_rnn(cells.GRUCell(2), self.draw(2, 3, 4)), ValueError,
                                   "you must give a dtype"),
                                  (lambda: tf.nn.dynamic_rnn(3, self.draw(2, 3, 4)), TypeError, "must be an instance of RNNCell"),
                                  (lambda: tf.nn.dynamic_rnn(cells.GRUCell(2), self.draw(2, 3, 4), [1], dtype=tf.float32), ValueError,
                                   r"sequence_length has shape \(1,\); must be a vector, one number for each of 2")):
            with self.assertRaisesRegex(error, text):
                make()


class Wrappers(Random):
    def test_residual_adds_the_inputs(self):
        x, inner = self.draw(3, 4), cells.GRUCell(4)
        cell = cells.ResidualWrapper(inner)
        state = cell.zero_state(3, tf.float32)
        output, after = cell(x, state)
        self.near(output, inner(x, state)[0].numpy() + x)
        self.near(after, inner(x, state)[1].numpy())
        self.near(cells.ResidualWrapper(inner, lambda i, o: tf.constant(i) * 2)(x, state)[0], 2 * x)

    def test_dropout_drops_what_it_says_and_leaves_c_alone(self):
        inner = cells.BasicLSTMCell(200)
        x, state = np.ones((1, 3), np.float32), inner.zero_state(1, tf.float32)
        plain, after = inner(x, state)
        output, _ = cells.DropoutWrapper(inner, output_keep_prob=.5, seed=1)(x, state)
        kept = output.numpy() != 0
        np.testing.assert_allclose(output.numpy()[kept], 2 * plain.numpy()[kept], rtol=1e-5)
        self.assertTrue(40 < kept.sum() < 160)
        _, dropped = cells.DropoutWrapper(inner, state_keep_prob=.5, seed=1)(x, state)
        np.testing.assert_array_equal(dropped.c.numpy(), after.c.numpy())
        self.assertTrue(np.any(dropped.h.numpy() == 0))

    def test_variational_dropout_chooses_once(self):
        class Shows(cells.RNNCell):
            state_size = output_size = 50

            def call(self, inputs, state):
                return inputs, state

        cell = cells.DropoutWrapper(Shows(), input_keep_prob=.5, variational_recurrent=True, input_size=50, dtype=tf.float32)
        outputs, _ = tf.nn.dynamic_rnn(cell, np.ones((1, 4, 50), np.float32), dtype=tf.float32)
        np.testing.assert_array_equal(outputs.numpy(), np.repeat(outputs.numpy()[:, :1], 4, 1))

    def test_a_device_wrapper_runs_the_cell(self):
        inner = cells.GRUCell(2)
        cell = cells.DeviceWrapper(inner, "/cpu:0")
        state = cell.zero_state(3, tf.float32)
        self.near(cell(self.draw(3, 4), state)[0] * 0, np.zeros((3, 2)))
        self.assertEqual((cell.state_size, cell.output_size), (2, 2))


class Loops(Random):
    def test_dynamic_rnn_stops_each_sequence_at_its_length(self):
        x, lengths = self.draw(3, 5, 2), [5, 2, 0]
        cell = cells.BasicLSTMCell(4)
        tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        w, b = self.randomize(cell)
        outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        for example, length in enumerate(lengths):
            c = h = np.zeros((1, 4), np.float32)
            for t in range(length):
                c, h = lstm(x[example:example + 1, t], c, h, w, b)
                self.near(outputs[example, t], h[0])
            np.testing.assert_array_equal(outputs[example, length:].numpy(), np.zeros((5 - length, 4)))
            self.near(state.c[example], c[0])
            self.near(state.h[example], h[0])
        turned, _ = tf.nn.dynamic_rnn(cell, x.swapaxes(0, 1), lengths, dtype=tf.float32, time_major=True)
        np.testing.assert_array_equal(turned.numpy().swapaxes(0, 1), outputs.numpy())
        self.assertEqual([each.name for each in cell.variables], ["rnn/basic_lstm_cell/kernel:0", "rnn/basic_lstm_cell/bias:0"])

    def test_static_rnn_is_the_same_with_lists(self):
        x, cell = self.draw(3, 4, 2), cells.GRUCell(5)
        dynamic, state = tf.nn.dynamic_rnn(cell, x, [4, 1, 2], dtype=tf.float32)
        outputs, last = tf.nn.static_rnn(cell, [x[:, t] for t in range(4)], dtype=tf.float32, sequence_length=[4, 1, 2])
        np.testing.assert_array_equal(np.stack([each.numpy() for each in outputs], 1), dynamic.numpy())
        np.testing.assert_array_equal(last.numpy(), state.numpy())
        again, _ = tf.nn.static_rnn(cell, [x[:, 0]], initial_state=last)
        self.near(again[0], cell(x[:, 0], last)[0].numpy())

    def test_bidirectional_rnn_begins_at_each_sequences_end(self):
        x, lengths = self.draw(3, 4, 2), [4, 2, 1]
        there, back = cells.GRUCell(5), cells.BasicRNNCell(3)
        for time_major in (False, True):
            values = x.swapaxes(0, 1) if time_major else x
            (forward, backward), (_, last) = tf.nn.bidirectional_dynamic_rnn(there, back, values, lengths, dtype=tf.float32,
                                                                             time_major=time_major)
            backward = backward.numpy().swapaxes(0, 1) if time_major else backward.numpy()
            for example, length in enumerate(lengths):
                alone = x[example:example + 1, :length][:, ::-1]
                expected, state = tf.nn.dynamic_rnn(back, alone, dtype=tf.float32)
                np.testing.assert_allclose(backward[example, :length], expected.numpy()[0, ::-1], rtol=1e-5, atol=1e-6)
                self.near(last[example], state.numpy()[0])
                self.assertFalse(np.any(backward[example, length:]))
        both, _, _ = tf.nn.static_bidirectional_rnn(there, back, [x[:, t] for t in range(4)], dtype=tf.float32, sequence_length=lengths)
        np.testing.assert_allclose(np.stack([each.numpy() for each in both], 1)[..., 5:], backward, rtol=1e-5, atol=1e-6)
        self.assertEqual(back.variables[0].name, "bidirectional_rnn/bw/basic_rnn_cell/kernel:0")

    def test_no_steps_give_no_outputs_and_the_first_state(self):
        state = self.draw(2, 3)
        outputs, last = tf.nn.dynamic_rnn(cells.GRUCell(3), np.zeros((2, 0, 4), np.float32), initial_state=state)
        self.assertEqual(tuple(outputs.shape), (2, 0, 3))
        np.testing.assert_array_equal(last.numpy(), state)

    def test_gradients_reach_variables_through_time(self):
        x, cell = self.draw(2, 3, 4), cells.LSTMCell(5, use_peepholes=True)
        tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
        with tf.GradientTape() as tape:
            outputs, _ = tf.nn.dynamic_rnn(cell, x, [3, 1], dtype=tf.float32)
        for gradient in tape.gradient(outputs, cell.trainable_variables):
            self.assertTrue(np.any(gradient.numpy() != 0))


class Contrib(Random):
    def test_the_fused_lstm_is_the_basic_cell_in_a_loop(self):
        x, lengths = self.draw(5, 3, 2), [5, 2, 0]
        fused = tf.contrib.rnn.LSTMBlockFusedCell(4, forget_bias=.5)
        fused(x, dtype=tf.float32)
        self.assertEqual([each.name for each in fused.variables], ["lstm_fused_cell/kernel:0", "lstm_fused_cell/bias:0"])
        cell = cells.BasicLSTMCell(4, forget_bias=.5)
        tf.nn.dynamic_rnn(cell, x, dtype=tf.float32, time_major=True)
        for variable, value in zip(cell.variables, self.randomize(fused)):
            variable.assign(value)
        for given in (None, lengths):
            state = cells.LSTMStateTuple(self.draw(3, 4), self.draw(3, 4))
            expected, last = tf.nn.dynamic_rnn(cell, x, given, state, time_major=True)
            outputs, after = fused(x, state, sequence_length=given)
            self.near(outputs, expected.numpy())
            self.near(after[0], last.c.numpy())
            self.near(after[1], last.h.numpy())
        listed, _ = fused(list(tf.unstack(x)), state, sequence_length=lengths)
        np.testing.assert_array_equal(listed[1].numpy(), outputs[1].numpy())

    def test_stacked_bidirectional_loops_see_both_directions(self):
        x, rnn = self.draw(2, 3, 4), tf.contrib.rnn
        there, back = [cells.GRUCell(3), cells.GRUCell(2)], [cells.GRUCell(3), cells.GRUCell(2)]
        outputs, one, other = rnn.stack_bidirectional_dynamic_rnn(there, back, x, dtype=tf.float32)
        first, _ = tf.nn.bidirectional_dynamic_rnn(there[0], back[0], x, dtype=tf.float32)
        second, states = tf.nn.bidirectional_dynamic_rnn(there[1], back[1], tf.concat(first, 2), dtype=tf.float32)
        np.testing.assert_array_equal(outputs.numpy(), tf.concat(second, 2).numpy())
        np.testing.assert_array_equal(one[1].numpy(), states[0].numpy())
        self.assertEqual(len(other), 2)
        with self.assertRaisesRegex(ValueError, "2 forward and 1 backward cells"):
            rnn.stack_bidirectional_dynamic_rnn(there, back[:1], x, dtype=tf.float32)


if __name__ == "__main__":
    unittest.main()
