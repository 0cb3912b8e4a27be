"""Archives of arrays by others than NumPy: they run nothing, change nothing, take no memory that they do not fill, and each is refused
by its name."""
import io
import os
import pickle
import random
import resource
import struct
import tempfile
import unittest
import zipfile
from unittest import mock

import numpy as np

import tapedeck as tf
from tapedeck._checkpoint.npz import Archive, array_of_lists
from tapedeck._checkpoint.pickled_lists import rows_of

# What NumPy writes of an array of one list, in pieces: an empty array, its class called; a dtype, its class called; their states.
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n"
EMPTY = RECONSTRUCT + b"cnumpy\nndarray\nK\x00\x85C\x01b\x87R"
DTYPE = b"cnumpy\ndtype\nX\x02\x00\x00\x00O8\x89\x88\x87R"
DEFAULT = b"(K\x03X\x01\x00\x00\x00|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?tb"


def pickled(rows=b"](](K\x01K\x02ee", shape=b"K\x01\x85", dtype=DTYPE + DEFAULT, empty=EMPTY):
    return b"\x80\x03" + empty + b"(K\x01" + shape + dtype + b"\x89" + rows + b"tb."


def npy(data, descr="'|O'", shape="(1,)", order="False"):
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1") + data


class Lists(unittest.TestCase):
    def check(self, data, pattern, count=1):
        with self.assertRaisesRegex(ValueError, pattern):
            rows_of(data, count)

    def test_lists_of_numbers_are_what_numpy_wrote_with_each_protocol(self):
        for rows in ([[1, 2], [3, 70000, -5]], [[1, 2], [3, 4]], [], [[]], [[1.5, True, 2**40, -2**60, 300]] * 3,
                     [[i % 999 for i in range(2500)] for _ in range(1200)]):
            for protocol in range(2, 6):
                found = rows_of(pickle.dumps(array_of_lists(rows), protocol), len(rows))
                self.assertEqual(found, rows)
                self.assertEqual([list(map(type, row)) for row in found], [list(map(type, row)) for row in rows])
        self.assertEqual(rows_of(pickled(), 1), [[1, 2]])
        python2 = b"\x80\x02" + RECONSTRUCT + b"cnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K\x01\x85" + \
            DTYPE.replace(b"X\x02\x00\x00\x00O8\x89\x88", b"U\x02O8K\x00K\x01").replace(b"X", b"U") + \
            DEFAULT.replace(b"X\x01\x00\x00\x00|", b"U\x01|") + b"\x89](](K\x01K\x02eetb."
        self.assertEqual(rows_of(python2, 1), [[1, 2]])

    def test_a_dtypes_state_is_that_of_objects(self):
        for state, pattern in (
                (DEFAULT.replace(b"K?t", b"K\x00t"), "its dtype has another state"),  # without its flags objects are not counted
                (DEFAULT.replace(b"J\xff\xff\xff\xffJ", b"J\x00\x00\x00\x7fJ"), "another state"),
                (DEFAULT.replace(b"NNN", b"])]"), "another state"),
                (DEFAULT.replace(b"K\x03", b"G@\x08" + bytes(6)), "another state"),  # 3.0 == 3
                (DEFAULT.replace(b"K\x03", b"\x88"), "another state"),
                (b"Nb", "another state"), (b"(tb", "another state"), (b"]b", "another state"), (b"N" + DTYPE + b"\x86b", "state")):
            self.check(pickled(dtype=DTYPE + state), pattern)
        for name in (b"O\xff", b"f8", b"V8", b"O8,f8"):
            text = b"X" + struct.pack("<I", len(name)) + name
            self.check(pickled(dtype=DTYPE.replace(b"X\x02\x00\x00\x00O8", text) + DEFAULT), "dtype|UTF-8")
        self.check(pickled(dtype=b"cnumpy\ndtype\n" + DTYPE[len(b"cnumpy\ndtype\n"):].replace(b"X\x02\x00\x00\x00O8", b"]") + DEFAULT),
                   "another dtype")
        self.check(pickled(dtype=b"N"), "its array's dtype is none")

    def test_nothing_is_called_or_changed_but_what_an_array_is_made_of(self):
        for data, pattern in (
                (b"\x80\x03cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.", "it holds posix.system, and may hold lists and numbers only"),
                (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "it holds builtins.eval"),
                (b"\x80\x03cnumpy.core.multiarray\nscalar\n.", "it holds numpy.core.multiarray.scalar"),
                (b"\x80\x04]\x8c\x04eval\x93.", "the name of a class is not a string"),
                (b"\x80\x03cnumpy\nndarray\nK\x05\x85R.", "it holds ndarray with 1 arguments"),
                (b"\x80\x03cnumpy\nndarray\n)\x81.", r"byte \d+ is an instruction of pickle \(b'\\x81'\) that lists of numbers do not"),
                (b"\x80\x03cnumpy\nndarray\n}b.", r"b'}'"), (b"\x80\x02(inumpy\nndarray\n.", r"b'i'"),
                (b"\x80\x02\x82\x01.", r"b'\\x82'"),
                (b"\x80\x02P1\n.", r"b'P'"), (b"\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f.", r"b'\\x96'"),
                (b"\x80\x05\x97.", r"b'\\x97'"),
                (b"\x80\x03cnumpy\nndarray\nNb.", "changes a name"), (b"\x80\x03]Nb.", "changes a list"),
                (b"\x80\x03K\x01)R.", "calls a int"),
                (b"\x80\x03]R.", "no operand"), (b"\x80\x03]]R.", "calls a list"),
                (b"\x80\x03c_codecs\nencode\nX\x01\x00\x00\x00aX\x04\x00\x00\x00zlib\x86R.", "another codec"),
                (b"\x80\x03c_codecs\nencode\n]X\x06\x00\x00\x00latin1\x86R.", "another codec"),
                (b"\x80\x03" + RECONSTRUCT + b"cnumpy\ndtype\nK\x00\x85C\x01b\x87R.", "an array of another class"),
                (b"\x80\x03" + RECONSTRUCT + b"cnumpy\nndarray\nK\x00C\x01b\x87R.", "an array of another class"),
                (pickled(empty=EMPTY + b"0"), r"b'0'"),
                (pickled()[:-1] + b"(K\x01K\x01\x85" + DTYPE + DEFAULT + b"\x89]tb.", "changes a array"),  # a second state
                (pickled()[:-2] + b"Nb.", "changes a tuple"), (b"\x80\x03" + EMPTY + b"Nb.", "state has not 5 parts"),
                (pickled() + b"x", "1 extra bytes follow its end")):
            self.check(data, pattern)

    def test_an_array_of_anything_else_is_refused(self):
        for rows, pattern in ((b"]K\x05a", "an element is a int, not a list"), (b"]]Naa", "a list holds a NoneType"),
                              (b"]]]aa", "a list holds a list"), (b"]" + EMPTY + b"a", "an element is a array"),
                              (b"]]cnumpy\nndarray\naa", "a list holds a _Name"), (b"](K\x01ta", "an element is a tuple"),
                              (b"]]X\x01\x00\x00\x00xaa", "a list holds a str"), (b"N", "no shape and list"),
                              (b"]", "says 1 lists; it holds 0"), (b"]q\x01]ah\x01a", "holds 2|says 1")):
            self.check(pickled(rows), pattern)
        self.check(pickled(shape=b"K\x02\x85"), r"says 1 lists; it holds 1 of shape \(2,\)")
        self.check(pickled(shape=b"J\xff\xff\xff\xff\x85"), "says 1 lists")
        self.check(pickled(shape=b"N"), "no shape and list")
        self.check(pickled(), "says 2 lists; it holds 1", 2)
        self.check(b"\x80\x03]q\x00h\x00a.", "it is a list, not an array")
        self.check(b"\x80\x03" + EMPTY + b".", "it is a array, not an array")

    def test_sizes_are_compared_with_the_file_before_memory_is_asked_for(self):
        for data, pattern in (
                (b"\x80\x03X\xff\xff\xff\xff", "a text of 4294967295 bytes"), (b"\x80\x03B\xff\xff\xff\x7f", "a text of 2147483647 bytes"),
                (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f", r"b'\\x8d'"), (b"\x80\x04\x8e" + b"\xff" * 8, r"b'\\x8e'"),
                (b"\x80\x03\x8b\xff\xff\xff\x7f", r"b'\\x8b'"), (b"\x80\x03\x8a\xff", "a number of 255 bytes"),
                (b"\x80\x04\x95\xff\xff\xff\xff\xff\xff\xff\x7f.", "ends too early"),
                (b"\x80\x03" + b"(" * 10**6, "nested more than 8 deep"), (b"\x80\x03" + b"]" * 10**6, "more lists than its shape says"),
                (b"\x80\x03" + b")" * 100, "more lists"), (b"\x80\x03N" + b"\x85" * 10**6 + b".", "more lists"),
                (b"\x80\x04N" + b"\x94" * 10**6, "keeps more values than its shape says"),
                (b"\x80\x09", "a pickle of version 9"), (b"", "ends within an instruction"),
                (b"c" + b"a" * 10**6, "begins no class's name")):
            self.check(data, pattern)
        self.check(b"\x80\x03]r\xff\xff\xff\x7f.", "it is a list, not an array")  # a place far away takes no memory
        many = pickled(b"](" + b"](" + b"K\x01" * 500 + b"eq\x01" + b"h\x01" * 999 + b"e", b"M\xe8\x03\x85")
        self.check(many, "repeat each other", 1000)
        self.check(pickled(), "at most 1048576 are read", 2**40)

    def test_every_cut_off_and_changed_pickle_is_refused_or_read(self):
        for protocol in range(2, 6):
            whole = pickle.dumps(array_of_lists([[1, 2, 300], [70000], []]), protocol)
            for length in range(len(whole)):
                with self.assertRaises(ValueError):
                    rows_of(whole[:length], 3)
            draw = random.Random(protocol)
            read = 0
            for _ in range(4000):
                data = bytearray(whole)
                for _ in range(draw.randint(1, 3)):
                    data[draw.randrange(len(data))] = draw.choice([draw.randrange(256), *b"()]abcehjlqrtRN.\x85\x86\x87\x93\x94"])
                try:
                    rows = rows_of(bytes(data), 3)
                except ValueError:
                    continue
                read += 1
                self.assertEqual({type(row) for row in rows}, {list})
                self.assertLessEqual({type(each) for row in rows for each in row}, {int, float, bool})
            self.assertGreater(read, 0)  # those that change a number


class Archives(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = os.path.join(temporary.name, "a.npz")
        environment = mock.patch.dict(os.environ, {"TAPEDECK_DATASETS": temporary.name})
        environment.start()
        self.addCleanup(environment.stop)

    def write(self, data, method=zipfile.ZIP_STORED):
        with zipfile.ZipFile(self.path, "w", method) as file:
            file.writestr("x.npy", data)

    def read(self):
        with Archive(self.path) as file:
            return file.read("x")

    def check(self, data, pattern, method=zipfile.ZIP_STORED):
        self.write(data, method)
        with self.assertRaisesRegex(ValueError, f"^{self.path}: x.npy: .*{pattern}"):
            self.read()

    def test_arrays_are_what_numpy_wrote(self):
        for array in (np.asfortranarray(np.arange(6.).reshape(2, 3)), np.array(["x", "äö"]), np.array([True, False]), np.zeros((0, 3)),
                      np.float32(3), np.array([b"ab"]), np.arange(5, dtype=">i4"), np.array([1 + 2j]), np.array([], "U1")):
            for save in (np.savez, np.savez_compressed):
                save(self.path, x=array)
                found = self.read()
                np.testing.assert_array_equal(found, array)
                self.assertEqual((found.dtype, found.shape), (array.dtype, array.shape))
        np.savez(self.path, x=array_of_lists([[1], [2]]))
        self.assertEqual(self.read().tolist(), [[1], [2]])

    def test_headers_that_lie_are_refused(self):
        for data, pattern in (
                (b"", "begins with nothing"), (b"\x93NUMPY\x09\x00" + bytes(200), "begins with 934e554d5059"),
                (npy(bytes(16), "'<f8'", "(1099511627776,)"), r"shape \(1099511627776,\) of float64 needs 8796093022208 bytes; 16 are"),
                (npy(bytes(16), "'<f8'", "(3,)"), "needs 24 bytes; 16 are there"), (npy(bytes(16), "'<f8'", "(1,)"), "needs 8 bytes; 16"),
                (npy(b"", "'<f8'", f"(0, {10**19 - 1})"), "shape is none of an array"),
                (npy(b"", "'<f8'", "(1," * 40 + ")"), "header is none"),
                (npy(bytes(8), "'<f8'", "(" + "1," * 40 + ")"), "shape is none of an array"),
                (npy(bytes(8), "'<f8'", "(-1,)"), "its header is none of an array of numbers"),
                (npy(bytes(8), "'V8'", "(1,)"), "its header is none"), (npy(bytes(8), "[('a', '|O')]", "(1,)"), "its header is none"),
                (npy(bytes(8), "('<f8', (9999999,))", "(1,)"), "its header is none"), (npy(bytes(8), "'U0'", "(1,)"), "of no bytes"),
                (npy(bytes(8), "'f3'", "(1,)"), "the dtype 'f3', which NumPy does not have"),
                (npy(bytes(8), "'S999999999'", "(1,)"), "needs 999999999 bytes; 8 are there"),
                (npy(bytes(8), "__import__('os').abort()", "(1,)"), "its header is none"),
                (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b"(" * 1000, "its header would have 4294967295 bytes"),
                (b"\x93NUMPY\x01\x00\x10\x27" + b"(" * 10_000, "its header is none"), (npy(b"", "'|O'", "(1, 1)"), "they have one axis"),
                (npy(pickled(), shape="(1099511627776,)"), "at most 1048576 are read"),
                (npy(b"\x02", "'|b1'"), "a bool is neither 0 nor 1"),
                (npy(b"\xff" * 4, "'<U1'"), "a string holds an invalid code point")):
            self.check(data, pattern)
        self.check(npy(bytes(8), "'<f8'"), "compressed by method 12", zipfile.ZIP_BZIP2)
        self.check(npy(bytes(8), "'<f8'"), "compressed by method 14", zipfile.ZIP_LZMA)

    def test_a_small_file_of_a_large_array_takes_no_memory(self):
        self.write(npy(bytes(16), "'<f8'", "(2,)"))
        with open(self.path, "rb") as file:
            data = bytearray(file.read())
        at = data.index(b"PK\x01\x02")
        data[at + 24:at + 28] = struct.pack("<I", 1 << 31)  # the size that the directory tells of
        with open(self.path, "wb") as file:
            file.write(data)
        limits = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), limits[1]))
        try:
            self.assertRaisesRegex(ValueError, "2147483648 bytes cannot be packed into 144", self.read)
            with zipfile.ZipFile(self.path, "w", zipfile.ZIP_DEFLATED) as file, file.open("x.npy", "w", force_zip64=True) as member:
                member.write(npy(b"", "'|u1'", f"({1 << 29},)"))
                for _ in range(1 << 9):
                    member.write(bytes(1 << 20))
            self.assertLess(os.path.getsize(self.path), 1 << 20)
            self.assertRaisesRegex(ValueError, f"{self.path}: x.npy: .*(memory|allocate)", self.read)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)

    def test_every_cut_off_and_changed_archive_is_refused_or_read(self):
        buffer = io.BytesIO()
        np.savez_compressed(buffer, x=array_of_lists([[1, 2], [3]]), y=np.arange(9.))
        good = buffer.getvalue()
        draw = random.Random(0)
        for trial in range(len(good) + 1500):
            data = bytearray(good[:trial])
            if trial >= len(good):
                data = bytearray(good)
                for _ in range(draw.randint(1, 3)):
                    data[draw.randrange(len(data))] = draw.randrange(256)
            with open(self.path, "wb") as file:
                file.write(data)
            for name in ("x", "y"):
                try:
                    with Archive(self.path) as archive:
                        archive.read(name)
                except ValueError as error:
                    self.assertIn(self.path, str(error))

    def test_folders_and_pipes_are_no_archives(self):
        os.mkfifo(self.path)
        self.assertRaisesRegex(ValueError, f"{self.path}: is not a file", Archive, self.path)
        self.assertRaisesRegex(ValueError, "is not a file", Archive, os.path.dirname(self.path))
        self.assertRaises(FileNotFoundError, Archive, self.path + ".not")

    def test_weights_are_read_with_the_same_care(self):
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, name="only")])
        model(tf.zeros([1, 3]))
        np.savez(self.path, **{"sequential/only/kernel": array_of_lists([[1], [2]]), "sequential/only/bias": np.zeros(2)})
        with self.assertRaisesRegex(ValueError, f"{self.path}: sequential/only/kernel.npy: it holds lists, where numbers are needed"):
            model.load_weights(self.path)
        self.write(npy(bytes(8), "'<f8'", "(1099511627776,)"))
        with self.assertRaisesRegex(ValueError, f"{self.path}: x.npy: .*8 are there"):
            model.load_weights(self.path)
        with open(self.path, "wb") as file:
            file.write(b"no archive")
        with self.assertRaisesRegex(ValueError, f"{self.path}: not a whole .npz file"):
            model.load_weights(self.path)
        with self.assertRaises(FileNotFoundError):
            model.load_weights(self.path.replace("a.npz", "none.npz"))

    def test_data_sets_need_a_target_for_each_input_and_lists_of_words(self):
        folder = os.path.dirname(self.path)
        np.savez(os.path.join(folder, "boston_housing.npz"), x=np.zeros((3, 2)), y=np.zeros(2))
        self.assertRaisesRegex(ValueError, r"inputs of shape \(3, 2\) and targets of shape \(2,\)",
                               tf.keras.datasets.boston_housing.load_data)
        np.savez(os.path.join(folder, "reuters.npz"), x=np.zeros(3), y=np.zeros(3))
        self.assertRaisesRegex(ValueError, "needs lists of word numbers", tf.keras.datasets.reuters.load_data)
        rows = array_of_lists([[1, 2], [3, 4], [5, 6]])
        np.savez(os.path.join(folder, "reuters.npz"), x=rows, y=np.arange(3))
        (x, _), _ = tf.keras.datasets.reuters.load_data(test_split=0)
        self.assertEqual(sorted(x.tolist()), [[1, 4, 5], [1, 6, 7], [1, 8, 9]])  # lists of one length stay lists
        for text in ("[" * 100_000, "[1]", '{"a": "b"}', '{"a"', "\x00"):
            with open(os.path.join(folder, "reuters_word_index.json"), "w", encoding="utf-8") as file:
                file.write(text)
            self.assertRaisesRegex(ValueError, "reuters_word_index.json: (no JSON|holds no object)",
                                   tf.keras.datasets.reuters.get_word_index)


if __name__ == "__main__":
    unittest.main()
