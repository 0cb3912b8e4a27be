"""tf.io: images, records, examples, values in text; thousands of damaged ones."""
import gzip
import os
import random
import tempfile
import unittest
import zlib

import numpy as np

import tapedeck as tf

Dataset = tf.data.Dataset


def mutated(data, draw):
    """The bytes with a few of them changed, removed, doubled or cut off."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        if not data:
            break
        place = draw.randrange(len(data))
        kind = draw.randrange(4)
        if kind == 0:
            data[place] = draw.randrange(256)
        elif kind == 1:
            del data[place:]
        elif kind == 2:
            del data[place:place + draw.randint(1, 8)]
        else:
            data[place:place] = data[:draw.randint(1, 8)]
    return bytes(data)


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.write(data)
        return path


class Images(unittest.TestCase):
    image = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3) * 4

    def test_a_png_is_what_was_encoded(self):
        encoded = tf.io.encode_png(self.image)
        self.assertTrue(encoded.numpy().startswith(b"\x89PNG"))
        np.testing.assert_array_equal(tf.io.decode_png(encoded), self.image)
        np.testing.assert_array_equal(tf.image.decode_image(encoded.numpy()), self.image)
        self.assertEqual(tf.io.decode_png(encoded, channels=4).shape, (4, 5, 4))
        wide = self.image.astype(np.uint16) * 200
        np.testing.assert_array_equal(tf.io.decode_png(tf.io.encode_png(wide), dtype=tf.uint16), wide)
        both = tf.io.encode_png(np.stack([self.image, self.image + 1]))
        np.testing.assert_array_equal(tf.io.decode_png(both[1]), self.image + 1)
        np.testing.assert_allclose(tf.io.decode_image(encoded, dtype=tf.float32), self.image / 255, rtol=1e-6)

    def test_a_jpeg_is_near_what_was_encoded(self):
        image = np.add.outer(np.arange(32), np.arange(24)).astype(np.uint8)[:, :, None] * np.ones(3, np.uint8)
        encoded = tf.io.encode_jpeg(image, quality=98, chroma_downsampling=False)
        self.assertLess(np.abs(tf.io.decode_jpeg(encoded).numpy().astype(int) - image).max(), 6)
        self.assertTrue(tf.io.is_jpeg(encoded))
        self.assertEqual(tf.io.extract_jpeg_shape(encoded).numpy().tolist(), [32, 24, 3])
        self.assertEqual(tf.io.decode_jpeg(encoded, channels=1, ratio=2).shape, (16, 12, 1))
        np.testing.assert_array_equal(tf.io.decode_and_crop_jpeg(encoded, [3, 4, 5, 6]), tf.io.decode_jpeg(encoded)[3:8, 4:10])

    def test_what_is_no_image_is_refused(self):
        for decode in (tf.io.decode_png, tf.io.decode_jpeg, tf.io.decode_bmp, tf.io.decode_image):
            self.assertRaisesRegex(tf.errors.InvalidArgumentError, decode.__name__, decode, b"no image at all")
            self.assertRaises(TypeError, decode, 5)
        self.assertRaises(tf.errors.UnimplementedError, tf.io.decode_image, b"GIF89a....")
        self.assertRaisesRegex(TypeError, "encode_png: image is float32", tf.io.encode_png, np.zeros((2, 2, 3), np.float32))


class Records(Folder):
    def test_records_are_read_as_they_were_written_by_either_compression(self):
        records = [b"", b"one", bytes(range(256)) * 50]
        path = os.path.join(self.folder, "records")
        for compression in ("", "GZIP", "ZLIB"):
            with tf.io.TFRecordWriter(path, compression) as writer:
                for record in records:
                    writer.write(record)
            self.assertEqual(list(tf.python_io.tf_record_iterator(path, compression)), records)
            dataset = tf.data.TFRecordDataset([path, path], compression)
            self.assertEqual([x.numpy() for x in dataset], records * 2)
            self.assertEqual(dataset.element_spec, tf.TensorSpec([], tf.string))
        options = tf.python_io.TFRecordOptions(tf.python_io.TFRecordCompressionType.GZIP)
        self.assertEqual(options.compression_type, "GZIP")
        with self.assertRaises(tf.errors.FailedPreconditionError):
            writer.write(b"late")
        self.assertRaises(tf.errors.NotFoundError, tf.io.TFRecordWriter, os.path.join(self.folder, "no", "folder"))
        self.assertRaises(ValueError, tf.io.TFRecordWriter, path, "BZIP")

    def test_a_damaged_file_names_its_path_record_and_place(self):
        path = os.path.join(self.folder, "records")
        with tf.io.TFRecordWriter(path) as writer:
            for number in range(3):
                writer.write(bytes([number]) * 10)
        with open(path, "rb") as file:
            data = bytearray(file.read())
        data[26 + 12] ^= 1
        path = self.write("damaged", data)
        iterator = iter(tf.data.TFRecordDataset(path).map(lambda x: x))
        next(iterator)
        with self.assertRaisesRegex(tf.errors.DataLossError,
                                    rf"tf_record \(stage 1 of 2\), element 1: {path}: record 1 at byte 26: the checksum"):
            next(iterator)
        with self.assertRaisesRegex(tf.errors.NotFoundError, "no such file"):
            list(tf.data.TFRecordDataset(os.path.join(self.folder, "nowhere")))

    def test_lines_of_several_files_compressed_or_not(self):
        text = b"one\ntwo\r\n\nlast"
        plain, packed = self.write("a.txt", text), self.write("b.gz", gzip.compress(text))
        expected = [b"one", b"two", b"", b"last"]
        self.assertEqual([x.numpy() for x in tf.data.TextLineDataset([plain, plain])], expected * 2)
        self.assertEqual([x.numpy() for x in tf.data.TextLineDataset(packed, "GZIP", buffer_size=3)], expected)
        self.assertEqual([x.numpy() for x in tf.data.TextLineDataset(self.write("c.z", zlib.compress(text)), "ZLIB")], expected)
        self.assertEqual([x.numpy() for x in tf.data.TextLineDataset(Dataset.from_tensor_slices([plain, plain]))], expected * 2)
        several = tf.data.TextLineDataset([plain, plain], num_parallel_reads=2)
        self.assertEqual([x.numpy() for x in several][:4], [b"one", b"one", b"two", b"two"])
        batch, = tf.data.TextLineDataset(plain).batch(4)
        self.assertEqual(batch.numpy().tolist(), expected)
        padded, = Dataset.from_generator(lambda: iter([["a"], ["b", "c"]]), tf.string, [None]).padded_batch(2)
        self.assertEqual(padded.numpy().tolist(), [[b"a", b""], [b"b", b"c"]])

    def test_records_of_one_length_between_header_and_footer(self):
        path = self.write("fixed", b"HEAD" + b"abcdefghi" + b"F")
        dataset = tf.data.FixedLengthRecordDataset([path, path], 3, header_bytes=4, footer_bytes=1)
        self.assertEqual([x.numpy() for x in dataset], [b"abc", b"def", b"ghi"] * 2)
        packed = self.write("packed", gzip.compress(b"HEADabcdefF"))
        self.assertEqual([x.numpy() for x in tf.data.FixedLengthRecordDataset(packed, 3, 4, 1, compression_type="GZIP")],
                         [b"abc", b"def"])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    "10 bytes after its header are not a whole number of records of 4"):
            list(tf.data.FixedLengthRecordDataset(path, 4, 4, 1))

    def test_readers_go_on_where_they_were_saved(self):
        path = self.write("text", b"\n".join(b"line %d" % number for number in range(9)))
        packed = self.write("text.gz", gzip.compress(b"\n".join(b"line %d" % number for number in range(9))))
        records = os.path.join(self.folder, "records")
        with tf.io.TFRecordWriter(records) as writer:
            for number in range(9):
                writer.write(b"%d" % number)
        for dataset in (tf.data.TextLineDataset([path, path]), tf.data.TextLineDataset([packed], "GZIP"),
                        tf.data.TFRecordDataset([records] * 2),
                        tf.data.FixedLengthRecordDataset([path, records], 1),
                        tf.data.TextLineDataset(path).shuffle(4, 1, False).batch(2)):
            whole = [x.numpy().tolist() if x.shape.ndims else x.numpy() for x in dataset]
            for place in range(0, len(whole) + 1, max(1, len(whole) // 12)):
                first, second = iter(dataset), iter(dataset)
                for _ in range(place):
                    next(first)
                second._set_own_state(first._own_state())
                self.assertEqual([x.numpy().tolist() if x.shape.ndims else x.numpy() for x in second], whole[place:])

    def test_files_are_listed_read_and_written(self):
        for name in ("b.txt", "a.txt", "c.bin"):
            self.write(name, name.encode())
        pattern = os.path.join(self.folder, "*.txt")
        names = [os.path.join(self.folder, name).encode() for name in ("a.txt", "b.txt")]
        self.assertEqual([x.numpy() for x in Dataset.list_files(pattern, shuffle=False)], names)
        self.assertEqual(sorted(x.numpy() for x in Dataset.list_files(pattern, seed=2)), names)
        self.assertEqual(tf.io.matching_files([pattern]).numpy().tolist(), names)
        self.assertRaisesRegex(tf.errors.InvalidArgumentError, "no files match", Dataset.list_files, pattern + "x")
        self.assertEqual(tf.io.read_file(names[0]).numpy(), b"a.txt")
        path = os.path.join(self.folder, "new", "file")
        tf.io.write_file(path, tf.constant("text"))
        self.assertEqual(tf.io.read_file(path), b"text")
        self.assertRaises(tf.errors.NotFoundError, tf.io.read_file, path + "x")
        self.assertTrue(tf.io.gfile.exists(path))
        self.assertEqual(tf.io.gfile.listdir(os.path.dirname(path)), ["file"])
        with tf.io.gfile.GFile(path) as file:
            self.assertEqual(file.read(), "text")
        self.assertRaises(tf.errors.AlreadyExistsError, tf.io.gfile.copy, path, path)

    def test_strings_go_through_every_buffer(self):
        words = [b"", b"word", "größe".encode(), b"\xff\x00"] * 5
        dataset = Dataset.from_tensor_slices(words)
        path = os.path.join(self.folder, "cache")
        for made in (dataset, dataset.map(lambda x: x, 2).prefetch(2), dataset.batch(3).unbatch(), dataset.cache(path),
                     dataset.cache(path),
                     dataset.window(3).flat_map(lambda w: w), dataset.map(lambda x: x).batch(7).unbatch()):
            self.assertEqual([x.numpy() for x in made], words)
        self.assertEqual(sorted(x.numpy() for batch in dataset.shuffle(9, seed=1).batch(4) for x in batch), sorted(words))


class Examples(unittest.TestCase):
    def example(self):
        feature = {"bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"a", b"\xff"])),
                   "floats": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5, -2.])),
                   "ints": tf.train.Feature(int64_list=tf.train.Int64List(value=[-1, 2**62, 3]))}
        return tf.train.Example(features=tf.train.Features(feature=feature))

    def test_an_example_has_the_bytes_that_other_programs_read(self):
        small = tf.train.Example()
        small.features.feature["x"].int64_list.value.extend([1, -1])
        small.features.feature["y"].float_list.value.append(0.5)
        # Made with TensorFlow's own message.
        self.assertEqual(small.SerializeToString().hex(),
                         "0a250a140a0178120f1a0d0a0b01ffffffffffffffffff010a0d0a0179120812060a040000003f")
        self.assertEqual(tf.train.Example.FromString(small.SerializeToString()), small)
        self.assertEqual(tf.train.Example.FromString(self.example().SerializeToString()), self.example())
        self.assertIn('key: "ints"', str(self.example()))
        self.assertEqual(self.example().features.feature["floats"].WhichOneof("kind"), "float_list")

    def test_values_of_the_wrong_kind_are_refused(self):
        self.assertRaises(TypeError, tf.train.BytesList, value=["text"])
        self.assertRaises(TypeError, tf.train.Int64List, value=[1.5])
        self.assertRaises(ValueError, tf.train.Int64List, value=[2**63])
        self.assertRaises(TypeError, tf.train.Feature, int64_list=[1])
        self.assertRaises(TypeError, tf.train.Features, feature={"a": 1})

    def test_an_example_is_parsed_into_tensors(self):
        serialized = self.example().SerializeToString()
        parsed = tf.io.parse_single_example(serialized, {
            "bytes": tf.io.FixedLenFeature([2], tf.string), "floats": tf.io.FixedLenFeature([1, 2], tf.float32),
            "ints": tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
            "none": tf.io.FixedLenFeature([2], tf.int64, [7, 8]),
            "empty": tf.io.FixedLenSequenceFeature([], tf.string, allow_missing=True)})
        self.assertEqual(parsed["bytes"].numpy().tolist(), [b"a", b"\xff"])
        self.assertEqual(parsed["floats"].numpy().tolist(), [[1.5, -2.]])
        self.assertEqual(parsed["ints"].numpy().tolist(), [-1, 2**62, 3])
        self.assertEqual(parsed["none"].numpy().tolist(), [7, 8])
        self.assertEqual(parsed["empty"].shape, (0,))

    def test_examples_are_parsed_together_within_a_data_set(self):
        def example(number):
            return tf.train.Example(features=tf.train.Features(feature={
                "x": tf.train.Feature(int64_list=tf.train.Int64List(value=range(number)))})).SerializeToString()
        batch = [example(number) for number in range(3)]
        parsed = tf.io.parse_example(batch, {"x": tf.io.FixedLenSequenceFeature([], tf.int64, True, default_value=9)})
        self.assertEqual(parsed["x"].numpy().tolist(), [[9, 9], [0, 9], [0, 1]])
        dataset = Dataset.from_tensor_slices(batch).skip(1).map(
            lambda x: tf.io.parse_single_example(x, {"x": tf.io.FixedLenFeature([1], tf.int64)}))
        iterator = iter(dataset)
        self.assertEqual(next(iterator)["x"].numpy().tolist(), [0])
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    r"map \(stage 3 of 3\), element 1: .*feature 'x' has 2 values; shape \(1,\)"):
            next(iterator)

    def test_files_of_examples_become_batches_of_features(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "examples")
            records = [tf.train.Example(features=tf.train.Features(feature={
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=[number * factor])) for name,
                factor in (("x", 1), ("y", 10))
            })).SerializeToString() for number in range(5)]
            tf.data.experimental.TFRecordWriter(path).write(Dataset.from_tensor_slices(records))
            features = {name: tf.io.FixedLenFeature([], tf.int64) for name in ("x", "y")}
            make = tf.data.experimental.make_batched_features_dataset
            batches = list(make(path, 3, features, label_key="y", num_epochs=1, shuffle=False))
            self.assertEqual([(x["x"].numpy().tolist(), y.numpy().tolist()) for x, y in batches],
                             [([0, 1, 2], [0, 10, 20]), ([3, 4], [30, 40])])
            self.assertRaisesRegex(ValueError, "label_key is 'z'", make, path, 3, features, label_key="z")

    def test_what_does_not_fit_is_named(self):
        serialized = self.example().SerializeToString()
        for spec, words in [({"gone": tf.io.FixedLenFeature([], tf.int64)}, "feature 'gone' is missing"),
                            ({"ints": tf.io.FixedLenFeature([3], tf.float32)},
                             "feature 'ints' is a int64_list; float32 is expected"),
                            ({"ints": tf.io.FixedLenFeature([2], tf.int64)}, "has 3 values; shape \\(2,\\) needs 2"),
                            ({}, "needs a dict")]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, words):
                tf.io.parse_single_example(serialized, spec)
        with self.assertRaises(tf.errors.UnimplementedError):
            tf.io.parse_single_example(serialized, {"ints": tf.io.VarLenFeature(tf.int64)})

    def test_sequence_examples(self):
        steps = [tf.train.Feature(int64_list=tf.train.Int64List(value=[n, n * n])) for n in range(3)]
        message = tf.train.SequenceExample(
            context=tf.train.Features(feature={"id": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"k"]))}),
            feature_lists=tf.train.FeatureLists(feature_list={"s": tf.train.FeatureList(feature=steps)}))
        context, lists = tf.io.parse_single_sequence_example(
            message.SerializeToString(), {"id": tf.io.FixedLenFeature([], tf.string)},
            {"s": tf.io.FixedLenSequenceFeature([2], tf.int64)})
        self.assertEqual((context["id"].numpy(), lists["s"].numpy().tolist()), (b"k", [[0, 0], [1, 1], [2, 4]]))

    def test_thousands_of_damaged_messages_are_refused_or_read(self):
        draw, good, refused = random.Random(3), self.example().SerializeToString(), 0
        for _ in range(4000):
            try:
                tf.train.Example.FromString(mutated(good, draw)).SerializeToString()
            except (tf.errors.InvalidArgumentError, OverflowError):
                refused += 1
        self.assertTrue(1000 < refused < 4000, refused)


class Values(unittest.TestCase):
    def test_bytes_become_numbers(self):
        data = np.array([1, -2, 300], np.int16)
        np.testing.assert_array_equal(tf.io.decode_raw(data.tobytes(), tf.int16), data)
        np.testing.assert_array_equal(tf.io.decode_raw([data.byteswap().tobytes()] * 2, tf.int16, little_endian=False),
                                      [data, data])
        np.testing.assert_array_equal(tf.io.decode_raw(b"\x01\x02\x03", tf.uint8, fixed_length=4), [1, 2, 3, 0])
        self.assertRaisesRegex(tf.errors.InvalidArgumentError, "a multiple of 4 for float32", tf.io.decode_raw, b"12345",
                               tf.float32)

    def test_a_tensor_goes_through_bytes(self):
        for value in [np.arange(6.).reshape(2, 3), np.float32(1.5), np.zeros((0, 3), np.int8), np.array([True, False]),
                      np.arange(3, dtype=np.uint16),
                      np.array([1.5, 2.5], np.float16)]:
            tensor = tf.constant(value)
            back = tf.io.parse_tensor(tf.io.serialize_tensor(tensor), tensor.dtype)
            self.assertEqual((back.dtype, back.shape), (tensor.dtype, tensor.shape))
            np.testing.assert_array_equal(back, tensor)
        words = tf.constant([["a", ""], ["b", "cc"]])
        self.assertEqual(tf.io.parse_tensor(tf.io.serialize_tensor(words), tf.string).numpy().tolist(), words.numpy().tolist())
        self.assertRaisesRegex(tf.errors.InvalidArgumentError, "out_type is int32", tf.io.parse_tensor, tf.io.serialize_tensor(1.5),
                               tf.int32)

    def test_thousands_of_damaged_tensors_are_refused_or_read(self):
        draw, good = random.Random(4), tf.io.serialize_tensor(np.arange(12.).reshape(3, 4)).numpy()
        for _ in range(3000):
            try:
                tf.io.parse_tensor(mutated(good, draw), tf.float64)
            except (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError):
                pass

    def test_lines_of_values(self):
        a, b, c = tf.io.decode_csv(['1,2.5,"x, ""y"""', ",3,", "7,,z"], [[5], [0.], ["none"]])
        self.assertEqual(a.numpy().tolist(), [1, 5, 7])
        self.assertEqual(b.numpy().tolist(), [2.5, 3., 0.])
        self.assertEqual(c.numpy().tolist(), [b'x, "y"', b"none", b"z"])
        self.assertEqual([int(x) for x in tf.io.decode_csv("4;NA;6", [[0], [9], tf.int64], field_delim=";", na_value="NA")],
                         [4, 9, 6])
        self.assertEqual([int(x) for x in tf.io.decode_csv("1,2,3", [[0], [0]], select_cols=[0, 2])], [1, 3])
        for line, defaults, words in [("1", [[0], [0]], "record 0: 1 fields; 2 are expected"),
                                      ("a", [[0]], "field 0 is not a valid int32: 'a'"),
                                      (",", [tf.int32, [0]], "field 0 is required but missing"), ('"a', [[""]], "has no end"),
                                      ("99999999999", [[0]], "does not fit in int32"),
                                      ('a"b', [[""]], "an unquoted field holds a quote")]:
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, words):
                tf.io.decode_csv(line, defaults)

    def test_thousands_of_damaged_lines_are_refused_or_read(self):
        draw, good, refused = random.Random(5), b'12,"a ""b""",3.5,-7', 0
        for _ in range(4000):
            try:
                tf.io.decode_csv(mutated(good, draw), [[0], [""], [0.], tf.int64])
            except tf.errors.InvalidArgumentError:
                refused += 1
        self.assertTrue(1000 < refused < 4000, refused)


class Csv(Folder):
    text = b'id,name,score\n1,"a\nb",0.5\n2,c,\n3,d,2.5\n'

    def test_records_of_files_become_tuples(self):
        path = self.write("t.csv", self.text)
        dataset = tf.data.experimental.CsvDataset(path, [tf.int32, tf.string, [9.]], header=True)
        self.assertEqual([(int(i), n.numpy(), float(s)) for i, n, s in dataset], [(1, b"a\nb", .5), (2, b"c", 9.), (3, b"d", 2.5)])
        some = tf.data.experimental.CsvDataset([path], [[9.], tf.int32][::-1], header=True, exclude_cols=[1])
        self.assertEqual([(int(i), float(s)) for i, s in some], [(1, .5), (2, 9.), (3, 2.5)])
        bad = tf.data.experimental.CsvDataset(path, [tf.int32, tf.string, tf.float32], header=True)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    f"element 1: {path}: record 2: field 2 is required but missing"):
            list(bad)

    def test_a_file_becomes_batches_of_named_columns(self):
        path = self.write("t.csv", self.text)
        dataset = tf.data.experimental.make_csv_dataset(path, 2, label_name="id", num_epochs=1, shuffle=False)
        first, second = dataset
        self.assertEqual(first[1].numpy().tolist(), [1, 2])
        self.assertEqual(first[0]["name"].numpy().tolist(), [b"a\nb", b"c"])
        self.assertEqual(first[0]["score"].numpy().tolist(), [.5, 0.])
        self.assertEqual(second[0]["score"].numpy().tolist(), [2.5])
        endless = tf.data.experimental.make_csv_dataset(path, 5, select_columns=["score"], shuffle_seed=1)
        self.assertEqual([batch["score"].shape for batch in endless.take(3)], [(5,)] * 3)
        self.assertRaisesRegex(ValueError, "no column 'age'", tf.data.experimental.make_csv_dataset, path, 2, label_name="age")
        self.assertRaisesRegex(ValueError, "no files match", tf.data.experimental.make_csv_dataset, path + "x", 2)


class Texts(Folder):
    def test_a_folder_of_texts_becomes_batches(self):
        for name, text in (("bad/1.txt", b"awful"), ("good/2.txt", b"fine")):
            os.makedirs(os.path.join(self.folder, os.path.dirname(name)))
            self.write(name, text)
        dataset = tf.keras.utils.text_dataset_from_directory(self.folder, shuffle=False, verbose=False)
        texts, labels = next(iter(dataset))
        self.assertEqual((texts.numpy().tolist(), labels.numpy().tolist(), dataset.class_names),
                         ([b"awful", b"fine"], [0, 1], ["bad", "good"]))


if __name__ == "__main__":
    unittest.main()
