"""tf.summary and tf.contrib.summary: the contents of TensorBoard's files, by the tests' own reader and by TensorBoard's."""
import io
import struct
import threading
import time
import unittest
import wave

import event_reader
import numpy as np

import tapedeck as tf
from summary_files import Files, png_pixels
from tapedeck import _engine
from tapedeck.contrib import summary as first


class Second(Files):
    """TensorFlow 2's tf.summary."""

    def test_a_scalar_is_a_float_at_its_step(self):
        before = time.time()
        with tf.summary.create_file_writer(self.folder).as_default():
            self.assertTrue(tf.summary.scalar("loss", tf.constant(2.5), step=7, description="of *training*"))
        step, value = self.value()
        self.assertEqual((step, value.tag, value.plugin, value.description), (7, "loss", "scalars", "of *training*"))
        self.assertEqual((value.tensor.dtype, value.tensor.shape, float(value.tensor)), (np.float32, (), 2.5))
        self.assertTrue(before <= event_reader.events(self.folder)[0].wall_time <= time.time())

    def test_scopes_stand_in_front_of_tags(self):
        with tf.summary.create_file_writer(self.folder).as_default(step=1), tf.name_scope("outer"), tf.name_scope("inner"):
            tf.summary.scalar("loss", 1.)
            with tf.summary.experimental.summary_scope("own name") as (tag, scope):
                self.assertEqual((tag, scope), ("outer/inner/own name", "outer/inner/ownname/"))
            tf.summary.write("as it is", tf.constant([1, 2]), metadata=b"")
        self.assertEqual([value.tag for _, value in self.written()], ["outer/inner/loss", "as it is"])

    def test_the_step_is_the_argument_or_the_default_one_of_the_thread(self):
        writer = tf.summary.create_file_writer(self.folder)
        self.assertIsNone(tf.summary.experimental.get_step())
        with writer.as_default(step=tf.Variable(3, dtype=tf.int64)):
            tf.summary.scalar("a", 1.)
            tf.summary.experimental.set_step(5)
            tf.summary.scalar("b", 1.)
            tf.summary.scalar("c", 1., step=-9)
            threading.Thread(target=lambda: self.assertIsNone(tf.summary.experimental.get_step())).start()
        self.assertIsNone(tf.summary.experimental.get_step())
        with writer.as_default(), self.assertRaisesRegex(ValueError, "scalar: No step set"):
            tf.summary.scalar("d", 1.)
        self.assertEqual([step for step, _ in self.written()], [3, 5, -9])

    def test_nothing_is_written_without_a_writer_or_where_the_condition_does_not_hold(self):
        self.assertFalse(tf.summary.should_record_summaries())
        self.assertFalse(tf.summary.histogram("h", [1.], step=1))
        wanted = tf.Variable(False)
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            self.assertTrue(tf.summary.should_record_summaries())
            with tf.summary.record_if(False):
                self.assertFalse(tf.summary.scalar("no", 1.))
                with tf.summary.record_if(lambda: wanted):
                    self.assertFalse(tf.summary.scalar("no", 1.))
                    wanted.assign(True)
                    self.assertTrue(tf.summary.scalar("yes", 1.))
                self.assertFalse(tf.summary.should_record_summaries())
        self.assertEqual([value.tag for _, value in self.written()], ["yes"])

    def test_histograms_count_what_numpy_counts(self):
        values = np.random.RandomState(0).randn(1000)
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            for data, buckets in [(values, None), (values.reshape(10, 100), 7), (np.arange(9), 4), ([2.5] * 6, 3), ([], 2)]:
                tf.summary.histogram("h", data, buckets=buckets)
        for (_, value), (data, buckets) in zip(self.written(), [(values, 30), (values, 7), (np.arange(9), 4)]):
            counts, limits = np.histogram(data, buckets)
            self.assertEqual((value.plugin, value.tensor.dtype), ("histograms", np.float64))
            np.testing.assert_array_equal(value.tensor[:, 2], counts)
            np.testing.assert_allclose(value.tensor[:, 0], limits[:-1])
            np.testing.assert_allclose(value.tensor[:, 1], limits[1:])
        np.testing.assert_array_equal(self.written()[3][1].tensor, [[2.5, 2.5, 0], [2.5, 2.5, 0], [2.5, 2.5, 6]])
        np.testing.assert_array_equal(self.written()[4][1].tensor, np.zeros((2, 3)))
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            with self.assertRaisesRegex(ValueError, "element 1 is nan; needs finite numbers"):
                tf.summary.histogram("h", [1., np.nan])

    def test_images_are_pngs_behind_their_extent(self):
        whole = np.random.RandomState(0).randint(0, 256, (3, 4, 5, 3)).astype(np.uint8)
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            tf.summary.image("bytes", whole, max_outputs=2)
            tf.summary.image("reals", np.array([[[[0.], [.5]], [[1.], [7.]]]], np.float32))
            for channels in (1, 2, 4):
                tf.summary.image("channels", whole[:1, :, :, :1].repeat(channels, 3))
        found = [value for _, value in self.written()]
        self.assertEqual([bytes(each) for each in found[0].tensor[:2]], [b"5", b"4"])
        for place in range(2):
            np.testing.assert_array_equal(png_pixels(found[0].tensor[2 + place]), whole[place])
        self.assertEqual((len(found[0].tensor), found[0].plugin), (4, "images"))
        np.testing.assert_array_equal(png_pixels(found[1].tensor[2])[..., 0], [[0, 127], [255, 255]])
        self.assertEqual([png_pixels(each.tensor[2]).shape[2] for each in found[2:]], [1, 2, 4])
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            for shape in [(4, 5, 3), (1, 4, 5, 5)]:
                with self.assertRaisesRegex(ValueError, r"image: data has shape .*; needs \(batch, height, width, channels\)"):
                    tf.summary.image("i", np.zeros(shape))
            with self.assertRaisesRegex(ValueError, "max_outputs is -1"):
                tf.summary.image("i", whole, max_outputs=-1)

    def test_sound_is_wav_of_sixteen_bits(self):
        samples = np.stack([np.sin(np.arange(50.) / 5), np.full(50, 2.)])[..., None].repeat(2, 2)
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            tf.summary.audio("a", samples, 8000)
            with self.assertRaisesRegex(ValueError, "encoding is 'mp3'"):
                tf.summary.audio("a", samples, 8000, encoding="mp3")
            with self.assertRaisesRegex(ValueError, r"shape \(2, 50\); needs \(batch, frames, channels\)"):
                tf.summary.audio("a", samples[..., 0], 8000)
        value = self.value()[1]
        self.assertEqual((value.plugin, value.content, value.tensor.shape), ("audio", b"\x10\x0b", (2, 2)))
        for data, expected in zip(value.tensor[:, 0], samples):
            sound = wave.open(io.BytesIO(data))
            self.assertEqual((sound.getframerate(), sound.getnchannels(), sound.getsampwidth(), sound.getnframes()),
                             (8000, 2, 2, 50))
            heard = np.frombuffer(sound.readframes(50), "<i2").reshape(50, 2) / 32768
            np.testing.assert_allclose(heard, np.clip(expected, -1, 32767 / 32768), atol=1 / 65536)

    def test_texts_are_kept_as_they_are(self):
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            for data in ("one ä", ["a", b"b"], np.array([["x"], ["y"]])):
                tf.summary.text("t", data)
            with self.assertRaisesRegex(TypeError, "text: data holds 3; needs strings"):
                tf.summary.text("t", [3])
        found = [value.tensor.tolist() for _, value in self.written()]
        self.assertEqual(found, ["one ä".encode(), [b"a", b"b"], [[b"x"], [b"y"]]])
        self.assertEqual(self.written()[0][1].plugin, "text")

    def test_tensors_of_every_dtype_are_written_whole(self):
        class Metadata:
            def SerializeToString(self):
                return _engine.events.metadata("own", "content", "", 0)

        arrays = [np.arange(6).reshape(2, 3).astype(kind) for kind in
                  "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 bool".split()]
        with tf.summary.create_file_writer(self.folder).as_default(step=0):
            for array in arrays:
                tf.summary.write("w", tf.transpose(tf.constant(array)), metadata=Metadata())
            tf.summary.write("w", lambda: tf.constant(3))
            tf.summary.write("w", ["text"])
        found = [value for _, value in self.written()]
        for value, array in zip(found, arrays):
            self.assertEqual((value.tensor.dtype, value.plugin, value.content), (array.dtype, "own", b"content"))
            np.testing.assert_array_equal(value.tensor, array.T)
        self.assertEqual((found[-2].tensor.tolist(), found[-1].tensor.tolist()), (3, [b"text"]))

    def test_what_comes_as_bytes_goes_into_the_file(self):
        summary = event_reader.fields  # its own reader finds it again
        value = _engine.events.scalar_value("raw", 1.5)
        with tf.summary.create_file_writer(self.folder).as_default(step=4):
            self.assertTrue(tf.summary.experimental.write_raw_pb(b"\x0a" + bytes([len(value)]) + value))
            self.assertTrue(tf.summary.graph(b"graph"))
            with self.assertRaisesRegex(TypeError, "needs the bytes of a GraphDef"):
                tf.summary.graph(3)
            with self.assertRaisesRegex(TypeError, "needs the bytes of a Summary"):
                tf.summary.experimental.write_raw_pb(3)
        raw, graph = event_reader.events(self.folder)
        self.assertEqual((raw.step, raw.values[0].tag, raw.values[0].simple, graph.graph), (4, "raw", 1.5, b"graph"))
        self.assertEqual(summary(value)[0], (1, b"raw"))

    def test_shapes_that_are_no_scalar_are_refused(self):
        with self.assertRaisesRegex(ValueError, r"scalar: data has shape \(2,\); needs a scalar"):
            tf.summary.scalar("s", [1., 2.], step=1)

    def test_a_writer_of_nothing_leaves_the_other_one(self):
        with tf.summary.create_file_writer(self.folder).as_default(step=0), tf.summary.create_noop_writer().as_default():
            tf.summary.scalar("s", 1.)
        self.assertEqual(self.value()[1].tag, "s")

    def test_profiling_says_nothing_and_does_nothing(self):
        tf.summary.trace_on()
        tf.summary.trace_export("x", step=0)
        tf.summary.trace_off()


    def test_what_writes_summaries_of_graphs_names_what_to_use(self):
        for name in ("FileWriterCache", "tensor_summary"):
            with self.assertRaisesRegex(AttributeError, f"tf.summary.{name} is not compatible with eager execution.*tf.contrib.summary"):
                getattr(tf.summary, name)
        with self.assertRaisesRegex(RuntimeError, "tf.summary.FileWriter is not compatible with eager.*tf.contrib.summary"):
            tf.summary.FileWriter("logs")
        with self.assertRaisesRegex(AttributeError, "no attribute 'nothing'"):
            tf.summary.nothing


class First(Files):
    """TensorFlow 1's tf.contrib.summary."""

    def recording(self):
        return first.create_summary_file_writer(self.folder, max_queue=0, name="t").as_default()

    def test_nothing_is_recorded_unless_a_context_says_so(self):
        self.assertFalse(first.should_record_summaries())
        with self.recording():
            self.assertFalse(first.scalar("s", 1., step=1))
            with first.always_record_summaries():
                self.assertTrue(first.should_record_summaries())
                self.assertTrue(first.scalar("s", 2., step=1))
                with first.never_record_summaries():
                    self.assertFalse(first.scalar("s", 3., step=1))
        self.assertEqual([value.simple for _, value in self.written()], [2.])

    def test_every_so_many_steps_are_recorded(self):
        step = tf.Variable(0, dtype=tf.int64)
        with self.recording(), first.record_summaries_every_n_global_steps(3, step):
            for number in range(8):
                step.assign(number)
                first.scalar("s", number, step=step)
        self.assertEqual([(step, value.simple) for step, value in self.written()], [(0, 0.), (3, 3.), (6, 6.)])
        with self.assertRaisesRegex(ValueError, "n is 0"):
            first.record_summaries_every_n_global_steps(0)

    def test_tags_have_scopes_families_and_letters_of_tensorflows(self):
        with self.recording(), first.always_record_summaries():
            first.scalar("has space", 1., step=0)
            with tf.name_scope("outer"):
                first.scalar("s", 1., step=0)
                first.scalar("s", 1., family="fam", step=0)
        self.assertEqual([value.tag for _, value in self.written()], ["has_space", "outer/s", "fam/outer/fam/s"])

    def test_histograms_widen_away_from_zero(self):
        values = np.concatenate([np.random.RandomState(1).randn(500), [0., 1e-20, -1e25, 3.]])
        with self.recording(), first.always_record_summaries():
            first.histogram("h", values, step=2)
            first.histogram("whole", np.array([[1, 2], [2, -3]]), step=2)
            first.histogram("none", np.zeros(0), step=2)
            with self.assertRaisesRegex(ValueError, "element 0 is inf"):
                first.histogram("h", [np.inf], step=2)
        found = [value.histogram for _, value in self.written()]
        for each, data in [(found[0], values), (found[1], np.array([1., 2, 2, -3]))]:
            limits, counts = (np.frombuffer(each[number], "<f8") for number in (6, 7))
            np.testing.assert_allclose([each[number] for number in range(1, 6)],
                                       [data.min(), data.max(), data.size, data.sum(), (data**2).sum()])
            self.assertTrue((np.diff(limits) > 0).all())
            below = [(data < limit).sum() for limit in limits]
            np.testing.assert_array_equal(np.cumsum(counts)[:-1], below[:-1])
            self.assertEqual(counts.sum(), data.size)
            self.assertFalse(((counts[1:] == 0) & (counts[:-1] == 0)).any())
            inner = limits[(limits > 1e-3) & (limits < 1.)]
            self.assertTrue((inner[1:] / inner[:-1] > 1.0999).all())
        self.assertEqual(found[2][3], 0.)

    def test_images_are_stretched_as_the_first_tensorflow_does(self):
        positive = np.array([[[[0.], [1.]], [[2.], [4.]]]])
        signed = np.array([[[[-4.], [0.]], [[2.], [np.nan]]]])
        with self.recording(), first.always_record_summaries():
            first.image("i", positive, step=1)
            first.image("i", signed, max_images=1, step=1)
            first.image("i", signed.repeat(3, 3), bad_color=[1, 2, 3], step=1)
            first.image("i", positive.astype(np.uint8).repeat(5, 0), max_images=2, step=1)
        found = self.written()
        self.assertEqual([value.tag for _, value in found], ["i/image/0", "i/image", "i/image/0", "i/image/0", "i/image/1"])
        pixels = [png_pixels(value.image[4]) for _, value in found]
        self.assertEqual([found[0][1].image[number] for number in (1, 2, 3)], [2, 2, 1])
        self.assertEqual(pixels[0][..., 0].tolist(), [[0, 63], [127, 255]])
        self.assertEqual(pixels[1][..., 0].tolist(), [[1, 128], [191, 255]])
        self.assertEqual(pixels[2][1, 1].tolist(), [1, 2, 3])
        self.assertEqual(pixels[3][..., 0].tolist(), [[0, 1], [2, 4]])

    def test_sound_and_tensors_have_values_of_their_own(self):
        with self.recording(), first.always_record_summaries():
            first.audio("a", np.zeros((3, 10)), 8000., 2, step=1)
            first.audio("a", np.zeros((1, 10, 2)), 8000., 1, step=1)
            first.generic("g", tf.constant([[1, 2]]), "", step=1)
        found = [value for _, value in self.written()]
        self.assertEqual([value.tag for value in found], ["a/audio/0", "a/audio/1", "a/audio", "g"])
        self.assertEqual([found[2].audio[number] for number in (1, 2, 3, 5)], [8000., 2, 10, b"audio/wav"])
        self.assertEqual(wave.open(io.BytesIO(found[0].audio[4])).getnframes(), 10)
        self.assertEqual(found[3].tensor.tolist(), [[1, 2]])

    def test_events_of_others_are_taken_in(self):
        value = _engine.events.scalar_value("raw", 1.5)
        event = b"\x09" + struct.pack("<d", 3.) + b"\x10\x05\x2a" + bytes([len(value) + 2]) + b"\x0a" + bytes([len(value)]) + value
        with self.recording():
            first.import_event(event)
            first.graph(b"graph", step=3)
        found = event_reader.events(self.folder)
        self.assertEqual((found[0].wall_time, found[0].step, found[0].values[0].simple), (3., 5, 1.5))
        self.assertEqual((found[1].graph, found[1].step), (b"graph", 3))

    def test_what_graphs_alone_have_says_so(self):
        first.initialize()
        for function in (first.all_summary_ops, first.summary_writer_initializer_op):
            with self.assertRaisesRegex(RuntimeError, "only supported in graph mode"):
                function()
        self.assertEqual((first.eval_dir("m"), first.eval_dir("m", "x")), ("m/eval", "m/eval_x"))
        with first.create_file_writer(None).as_default():
            pass


def tensorboard_reader():
    """TensorBoard's own reader, or None."""
    try:
        from tensorboard.backend.event_processing import event_accumulator
    except ImportError:
        return None
    return event_accumulator


@unittest.skipUnless(tensorboard_reader(), "needs tensorboard: pip install tensorboard")
class TensorBoard(Files):
    def test_tensorboards_own_reader_finds_what_was_written(self):
        with tf.summary.create_file_writer(self.folder).as_default(step=3):
            tf.summary.scalar("s", 1.5)
            tf.summary.histogram("h", [1., 2.])
            tf.summary.image("i", np.zeros((1, 2, 3, 1)))
            tf.summary.text("t", "text")
        with first.create_file_writer(self.folder).as_default(), first.always_record_summaries():
            first.scalar("first s", 2.5, step=4)
            first.histogram("first h", [1., 2.], step=4)
            first.image("first i", np.zeros((1, 2, 3, 1)), step=4)
        reader = tensorboard_reader().EventAccumulator(self.folder)
        reader.Reload()
        tags = reader.Tags()
        self.assertEqual(tags["tensors"], ["s", "h", "i", "t"])
        self.assertEqual((tags["scalars"], tags["histograms"], tags["images"]), (["first_s"], ["first_h"], ["first_i/image/0"]))
        self.assertEqual([(each.step, each.value) for each in reader.Scalars("first_s")], [(4, 2.5)])
        self.assertEqual(reader.Histograms("first_h")[0].histogram_value.num, 2)
        self.assertEqual((reader.Images("first_i/image/0")[0].width, reader.SummaryMetadata("h").plugin_data.plugin_name),
                         (3, "histograms"))


if __name__ == "__main__":
    unittest.main()
