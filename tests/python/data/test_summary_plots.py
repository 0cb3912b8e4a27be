"""Summaries in a session: scalars are points of live curves, histograms and images show in plots."""
import os
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf
from summary_files import Files, png_pixels
from tapedeck import _engine
from tapedeck.contrib import summary as first
from tapedeck.summary import curves


class Plot(unittest.TestCase):
    """tf.debugging.plot: curves over x values of the program's."""

    def drawn(self, *arguments, **names):
        """What reaches the recorder."""
        calls = []
        with mock.patch.object(_engine.debug, "add_scalar", lambda *point: calls.append(point)), \
                mock.patch.object(_engine.debug, "restart_series", calls.append), \
                mock.patch.object(_engine.debug, "attached", lambda: True):
            tf.debugging.plot(*arguments, **names)
        return calls

    def test_a_list_replaces_the_curve_over_its_x(self):
        self.assertEqual(self.drawn("f", [4., 0., 4.], [-2, 0, 2], x_name="t"),
                         ["f", ("f", -2., 4., "t"), ("f", 0., 0., "t"), ("f", 2., 4., "t")])
        self.assertEqual(self.drawn("f", np.float32([1, 2]), tf.constant([.5, .25])), ["f", ("f", .5, 1., "x"), ("f", .25, 2., "x")])
        self.assertEqual(self.drawn("f", [tf.constant(7.), tf.constant(8.)]), ["f", ("f", 0., 7., "index"), ("f", 1., 8., "index")])

    def test_a_number_is_one_more_point(self):
        self.assertEqual(self.drawn("loss", tf.constant(3.), .125, x_name="rate"), [("loss", .125, 3., "rate")])

    def test_a_long_list_is_thinned_out_evenly(self):
        xs = np.linspace(0, 1, 50_001)
        points = self.drawn("f", xs, xs)[1:]
        self.assertLessEqual(len(points), curves.MOST_POINTS)
        self.assertEqual([point[1] for point in points], xs[::3].tolist())

    def test_what_cannot_be_drawn_is_refused(self):
        for arguments, message in (
                (("", [1.]), "plot: name is ''; must be a non-empty string"),
                (("f", [1., 2.], [1.]), r"plot: x has shape \(1,\) and y \(2,\); must have as many numbers"),
                (("f", [1., 2.], [1., float("nan")]), r"plot: x\[1\] is nan; must be finite"),
                (("f", 1.), "plot: y is one number and there is no x to draw it at"),
                (("f", [[1.]]), "y"),
                (("f", np.zeros((2, 2))), r"plot: y has shape \(2, 2\); must be numbers in a row, or one number")):
            with self.subTest(arguments), self.assertRaisesRegex((ValueError, TypeError), message):
                self.drawn(*arguments)

    def test_without_a_session_nothing_happens(self):
        self.assertIsNone(tf.debugging.plot("f", [1., 2.], [0., 1.]))


class Curves(Files):
    """Scalars are points of live curves, with a writer and without."""

    def curves(self, function):
        found = []
        with mock.patch.object(_engine.debug, "add_scalar", lambda *point: found.append(point)):
            function()
        return found

    def test_points_come_with_a_writer_and_without(self):
        def write():
            tf.summary.scalar("loss", 2., 1)
            with tf.summary.create_file_writer(self.folder).as_default(step=5), tf.name_scope("a"):
                tf.summary.scalar("loss", 3.)
                with tf.summary.record_if(False):
                    tf.summary.scalar("loss", 4.)
            tf.summary.scalar("loss", 5.)  # no step

        self.assertEqual(self.curves(write), [("loss", 1, 2.), ("a/loss", 5, 3.)])

    def test_two_writers_of_one_tag_have_two_curves(self):
        train, validation = (tf.summary.create_file_writer(os.path.join(self.folder, name)) for name in ("train", "validation"))

        def write():
            for writer in (train, validation, train):
                with writer.as_default(step=1):
                    tf.summary.scalar("two writers", 1.)

        self.assertEqual([name for name, _, _ in self.curves(write)], ["two writers", "two writers (validation)", "two writers"])

    def test_the_first_tensorflows_scalars_are_points_too(self):
        def write():
            with first.create_file_writer(self.folder).as_default():
                first.scalar("first", 1., step=2)
                with first.always_record_summaries():
                    first.scalar("first", 3., step=4)

        self.assertEqual(self.curves(write), [("first", 4, 3.)])


class Plots(Files):
    """Histograms and images show in the notebook's plots, with a writer and without, where a session records."""

    def shown(self, function, attached=True, kept=True):
        """What add_histogram and add_images of the session got, PNGs as pixels."""
        import base64
        histograms, images = [], []

        def add_images(name, step, width, height, pngs):
            images.append((name, step, width, height, [png_pixels(base64.b64decode(png)) for png in pngs]))
            return kept

        with mock.patch.multiple(_engine.debug, attached=lambda: attached, add_images=add_images,
                                 add_histogram=lambda *row: histograms.append(row) or kept):
            function()
        return histograms, images

    def test_histograms_come_with_a_writer_and_without(self):
        def write():
            tf.summary.histogram("spread", [0., 1., 2., 2.], 1, buckets=2)
            with tf.summary.create_file_writer(self.folder).as_default(step=5), tf.name_scope("a"):
                tf.summary.histogram("spread", tf.constant([3, 3]), buckets=1)
                with tf.summary.record_if(False):
                    tf.summary.histogram("spread", [4.])
            tf.summary.histogram("spread", [4.])  # no step
            tf.summary.histogram("spread", [], 7)

        self.assertEqual(self.shown(write)[0], [("spread", 1, [0., 1., 2.], [1., 3.], 0), ("a/spread", 5, [3., 3.], [2.], 0)])
        self.assertEqual(len(self.written()), 1)

    def test_what_is_not_finite_is_counted_apart(self):
        def write():
            tf.summary.histogram("some", [0., np.nan, 1., np.inf, 1e301], 1, buckets=1)
            tf.summary.histogram("none", tf.constant([np.nan, -np.inf]), 2)

        self.assertEqual(self.shown(write)[0], [("some", 1, [0., 1.], [2.], 3), ("none", 2, [], [], 2)])

    def test_images_of_a_batch_come_together(self):
        pixels = np.arange(2 * 3 * 4 * 1, dtype=np.uint8).reshape(2, 3, 4, 1)
        (name, step, width, height, made), = self.shown(lambda: tf.summary.image("batch", pixels, 6))[1]
        self.assertEqual((name, step, width, height, len(made)), ("batch", 6, 4, 3, 2))
        np.testing.assert_array_equal(np.stack(made), pixels)
        (_, _, _, _, made), = self.shown(lambda: tf.summary.image("batch", pixels, 6, max_outputs=1))[1]
        self.assertEqual(len(made), 1)

    def test_the_first_tensorflows_come_under_the_name_alone(self):
        def write():
            with first.create_file_writer(self.folder).as_default(), first.always_record_summaries():
                first.histogram("first spread", [1., 2.], step=4)
                first.image("first batch", np.ones([5, 2, 2, 3], np.float32), step=4)

        histograms, images = self.shown(write)
        (name, step, limits, counts, _), = histograms
        self.assertEqual((name, step, len(limits), sum(counts)), ("first_spread", 4, 31, 2))
        (name, step, width, height, made), = images
        self.assertEqual((name, step, width, height, len(made)), ("first_batch", 4, 2, 2, 3))
        self.assertEqual(made[0].min(), 255)

    def test_nothing_is_made_where_nobody_records(self):
        self.assertEqual(self.shown(lambda: tf.summary.histogram("spread", "no numbers", 1), attached=False), ([], []))

    def test_what_is_too_large_is_told(self):
        with self.assertWarnsRegex(UserWarning, "histogram: what 'wide' has at step 3 is too large for Plots"):
            self.shown(lambda: tf.summary.histogram("wide", [1., 2.], 3), kept=False)

    def test_their_names_restart_with_their_cell(self):
        from tapedeck.summary import curves

        curves.take_written()
        self.shown(lambda: (tf.summary.histogram("spread", [1.], 1), tf.summary.image("batch", np.zeros([1, 2, 2, 1]), 1)))
        self.assertEqual(curves.take_written(), {"spread", "batch"})


if __name__ == "__main__":
    unittest.main()
