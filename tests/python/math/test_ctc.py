"""tf.nn.ctc_loss against the sum over every alignment, and its gradient against differences."""
import itertools
import unittest

import numpy as np
import tapedeck as tf


def collapsed(path, blank):
    """Repeats merged, then blanks left out."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def by_all_paths(logits, labels, blank):
    """Minus the logarithm of the summed probabilities of all paths that read as the labels. logits: (frames, labels)."""
    probabilities = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    total = 0.
    for path in itertools.product(range(logits.shape[1]), repeat=len(logits)):
        if collapsed(path, blank) == list(labels):
            total += np.prod([probabilities[t, label] for t, label in enumerate(path)])
    return -np.log(total) if total else np.inf


class Loss(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(5)
        self.logits = random.normal(size=(5, 4, 3))
        self.labels = np.array([[1, 2, 0], [1, 1, 0], [2, 0, 0], [1, 2, 1]])
        self.label_length, self.logit_length = np.array([2, 2, 0, 3]), np.array([5, 4, 3, 5])

    def test_it_is_the_sum_over_all_alignments(self):
        for dtype in (np.float32, np.float64):
            loss = tf.nn.ctc_loss(self.labels, self.logits.astype(dtype), self.label_length, self.logit_length)
            expected = [by_all_paths(self.logits[:frames, i], self.labels[i, :count], 0)
                        for i, (count, frames) in enumerate(zip(self.label_length, self.logit_length))]
            self.assertEqual(loss.dtype, dtype)
            np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-5 if dtype is np.float32 else 1e-12)

    def test_another_blank_and_another_order_of_axes(self):
        labels = np.array([[0, 1], [1, 1]])
        loss = tf.nn.ctc_loss(labels, np.swapaxes(self.logits[:, :2], 0, 1), [2, 2], [5, 4], logits_time_major=False, blank_index=-1)
        expected = [by_all_paths(self.logits[:frames, i], labels[i], 2) for i, frames in enumerate((5, 4))]
        np.testing.assert_allclose(loss.numpy(), expected, rtol=1e-12)

    def test_labels_that_do_not_fit_are_impossible(self):
        loss = tf.nn.ctc_loss([[1, 1], [1, 2], [1, 1]], self.logits[:, :3], [2, 2, 0], [2, 2, 0])
        self.assertEqual(loss[0].numpy(), np.inf)  # two equal labels need a blank between them
        np.testing.assert_allclose(loss[1].numpy(), by_all_paths(self.logits[:2, 1], [1, 2], 0), rtol=1e-12)
        self.assertEqual(loss[2].numpy(), 0.)

    def test_the_gradient_agrees_with_differences(self):
        x = tf.constant(self.logits)
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.nn.ctc_loss(self.labels, x, self.label_length, self.logit_length) * [1., 2., 3., 4.])
        gradient = tape.gradient(loss, x).numpy()
        for place in itertools.product(range(5), range(4), range(3)):
            step = np.zeros_like(self.logits)
            step[place] = 1e-6
            ends = [tf.reduce_sum(tf.nn.ctc_loss(self.labels, self.logits + sign * step, self.label_length, self.logit_length)
                                  * [1., 2., 3., 4.]).numpy() for sign in (1, -1)]
            self.assertAlmostEqual(gradient[place], (ends[0] - ends[1]) / 2e-6, places=6)

    def test_refusals_name_argument_and_values(self):
        for changes, pattern in (({"labels": self.labels[:2]}, r"labels is int64 \(2, 3\)"),
                                 ({"label_length": [9, 0, 0, 0]}, "label_length is"),
                                 ({"logit_length": [1]}, "logit_length is"), ({"blank_index": 3}, "blank_index is 3"),
                                 ({"labels": self.labels + 2}, r"labels holds 3 to 4; must be in \[0, 3\)"),
                                 ({"logits": self.logits[0]}, "logits has shape")):
            arguments = {"labels": self.labels, "logits": self.logits, "label_length": self.label_length,
                         "logit_length": self.logit_length, **changes}
            with self.assertRaisesRegex(ValueError, "ctc_loss: " + pattern):
                tf.nn.ctc_loss(**arguments)
        with self.assertRaisesRegex(TypeError, "logits is int64"):
            tf.nn.ctc_loss(self.labels, np.zeros((5, 4, 3), int), self.label_length, self.logit_length)


if __name__ == "__main__":
    unittest.main()
