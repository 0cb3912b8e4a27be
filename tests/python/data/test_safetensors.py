"""Files of tensors are safetensors files, whole or not there, and damaged ones are refused."""
import json
import os
import re
import random
import resource
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import tapedeck as tf
from campaign import Campaign
from tapedeck._checkpoint import files as checkpoint
import safetensors_parser

DTYPES = [getattr(tf, name) for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                         "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
          if hasattr(tf, name)]
SHAPES = [(), (1,), (3, 5), (0, 4), (7, 1, 3)]


def values_of(dtype, shape, seed=0):
    numbers = np.random.RandomState(seed).randint(0, 100, shape)
    if dtype == tf.bool:
        numbers = numbers % 2 == 1
    return tf.cast(tf.constant(numbers), dtype)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name="file"):
        return os.path.join(self.folder, name)


class RoundTrip(InFolder):
    def test_every_dtype_and_shape_comes_back_and_another_reader_reads_the_same(self):
        tensors = {f"{dtype.name}/{shape}": values_of(dtype, shape) for dtype in DTYPES for shape in SHAPES}
        path = checkpoint.write_tensors(self.path(), tensors, {"made by": "a test", "ünï": "コード\n\"'\\"})
        self.assertEqual(path, self.path("file.safetensors"))
        back = checkpoint.read_tensors(self.path())
        self.assertEqual(set(back), set(tensors))
        theirs, metadata = safetensors_parser.parse(path)
        for name, tensor in tensors.items():
            self.assertEqual((back[name].dtype, back[name].shape), (tensor.dtype, tensor.shape))
            np.testing.assert_array_equal(back[name].numpy(), tensor.numpy())
            if "complex128" not in name:
                np.testing.assert_array_equal(theirs[name], tensor.numpy())
                self.assertEqual(theirs[name].shape, tuple(tensor.shape))
        self.assertEqual(checkpoint.read_metadata(self.path())["ünï"], "コード\n\"'\\")
        self.assertEqual(metadata["made by"], "a test")

    def test_what_another_tool_wrote_is_read(self):
        body = np.arange(6, dtype="<f4").tobytes() + b"\1\0"
        header = {"__metadata__": {"format": "pt"}, "b": {"dtype": "BOOL", "shape": [2], "data_offsets": [24, 26]},
                  "w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
        safetensors_parser.write(self.path("model.safetensors"), json.dumps(header), body)
        back = checkpoint.read_tensors(self.path("model"))
        np.testing.assert_array_equal(back["w"].numpy(), [[0, 1, 2], [3, 4, 5]])
        self.assertEqual(back["b"].numpy().tolist(), [True, False])
        os.rename(self.path("model.safetensors"), self.path("model.bin"))
        self.assertEqual(set(checkpoint.read_tensors(self.path("model.bin"))), {"w", "b"})

    def test_values_that_do_not_lie_in_a_row_are_written_in_order(self):
        x = tf.constant(np.arange(24.).reshape(2, 3, 4))
        checkpoint.write_tensors(self.path(), {"t": tf.transpose(x, [2, 0, 1]), "part": x[:, 1:, ::2]})
        back = checkpoint.read_tensors(self.path())
        np.testing.assert_array_equal(back["t"].numpy(), x.numpy().transpose(2, 0, 1))
        np.testing.assert_array_equal(back["part"].numpy(), x.numpy()[:, 1:, ::2])

    def test_nan_infinities_and_signed_zeros_keep_their_bits(self):
        bits = np.array([0x7fc00001, 0xff800000, 0x80000000, 1], np.uint32)
        checkpoint.write_tensors(self.path(), {"x": tf.constant(bits.view(np.float32))})
        np.testing.assert_array_equal(checkpoint.read_tensors(self.path())["x"].numpy().view(np.uint32), bits)

    def test_an_empty_file_and_a_thousand_small_tensors(self):
        checkpoint.write_tensors(self.path("none"), {})
        self.assertEqual(checkpoint.read_tensors(self.path("none")), {})
        checkpoint.write_tensors(self.path(), {f"t{i}": tf.fill([i % 7], i) for i in range(1000)})
        back = checkpoint.read_tensors(self.path())
        self.assertTrue(all((back[f"t{i}"].numpy() == np.full(i % 7, i)).all() for i in range(1000)))
        safetensors_parser.parse(self.path("file.safetensors"))

    def test_strings_come_back(self):
        texts = [[b"a", "ü".encode()], [b"", b"\0\xff" * 100]]
        checkpoint.write_tensors(self.path(), {"s": tf.constant(texts), "one": tf.constant("only"), "w": tf.ones([2])})
        back = checkpoint.read_tensors(self.path())
        self.assertEqual((back["s"].dtype, back["s"].numpy().tolist(), back["one"].numpy()), (tf.string, texts, b"only"))

    def test_the_file_that_is_open_stays_readable_when_it_is_replaced(self):
        checkpoint.write_tensors(self.path(), {"x": tf.ones([1000])})
        file = checkpoint.TensorFile(self.path())
        checkpoint.write_tensors(self.path(), {"x": tf.zeros([1000])})
        os.remove(self.path("file.safetensors"))
        self.assertEqual(float(tf.reduce_sum(file.read("x"))), 1000)


class Refusals(InFolder):
    def refused(self, error, words, header, body=b""):
        path = self.path("bad.safetensors")
        safetensors_parser.write(path, header if isinstance(header, (str, bytes)) else json.dumps(header), body)
        with self.assertRaisesRegex(error, words) as caught:
            checkpoint.read_tensors(path)
        self.assertIn(path, str(caught.exception))

    def entry(self, dtype="F32", shape=(1,), offsets=(0, 4)):
        return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}

    def test_each_wrong_header_is_named(self):
        lost = tf.errors.DataLossError
        four = b"\0" * 4
        self.refused(lost, "its bytes end at 8, but the file has only 4; it was cut short",
                     {"w": self.entry(shape=[2], offsets=[0, 8])}, four)
        self.refused(lost, r"the shape \(3,\) of F32 needs 12 bytes; it has 4", {"w": self.entry(shape=[3])}, four)
        self.refused(lost, "end at 0, before they begin at 4", {"w": self.entry(shape=[0], offsets=[4, 0])}, four)
        self.refused(lost, "begin at 4; those before it end at 0", {"w": self.entry(shape=[1], offsets=[4, 8])}, four * 2)
        self.refused(lost, "begin at 2; those before it end at 4", {"v": self.entry(), "w": self.entry(offsets=[2, 6])}, four * 2)
        self.refused(lost, "the tensors' bytes end at 4; the file has 8", {"w": self.entry()}, four * 2)
        self.refused(lost, "no dtype F99", {"w": self.entry("F99")}, four)
        self.refused(lost, "has no whole number of bytes", {"w": self.entry(shape=[2**40, 2**40])}, four)
        self.refused(lost, "has no whole number of bytes", {"w": self.entry("F4", [3], [0, 1])}, b"\0")
        self.refused(lost, "holds -1, which does not belong", {"w": self.entry(shape=[-1])}, four)
        self.refused(lost, "holds 1.5", {"w": self.entry(shape=[1.5])}, four)
        self.refused(lost, r"holds 1e\+300|holds 1e300", '{"w":{"dtype":"F32","shape":[1e300],"data_offsets":[0,4]}}', four)
        self.refused(lost, "holds 184467440737095516160",
                     '{"w":{"dtype":"F32","shape":[184467440737095516160],"data_offsets":[0,4]}}', four)
        self.refused(lost, "data_offsets needs two numbers", {"w": self.entry(offsets=[0])}, four)
        self.refused(lost, "holds 4", {"w": self.entry(offsets=[0, 4, 4])}, four)
        self.refused(lost, "only 2 of them", {"w": {"dtype": "F32", "shape": []}}, four)
        self.refused(lost, "unknown key \"extra\"", {"w": {**self.entry(), "extra": 1}}, four)
        self.refused(lost, "name \"w\" occurs twice", '{"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"w":{}}', four)
        self.refused(lost, "key \"a\" occurs twice", '{"__metadata__":{"a":"1","a":"2"}}')
        self.refused(lost, "must be a text", {"__metadata__": {"a": 1}})
        self.refused(lost, "must be an object", {"w": 3})
        self.refused(lost, "is not JSON at byte", '{"w":')
        self.refused(lost, "is not JSON", b'{"\xff\xfe":{}}')
        self.refused(lost, "does not begin with {", "[1]")
        self.refused(lost, "does not begin with {", "")
        self.refused(lost, "must be an object", '{"a":' + "[" * 100000)
        self.refused(lost, "does not belong|an object", '{"a":{"dtype":' + '{"a":' * 100000)
        self.refused(lost, "element 2 of BOOL is 7", {"w": self.entry("BOOL", [4])}, b"\0\1\7\0")
        self.refused(tf.errors.UnimplementedError, "no dtype F8_E4M3", {"w": self.entry("F8_E4M3", [4])}, four)
        self.refused(tf.errors.UnimplementedError, "40 axes; tensors have at most 32", {"w": self.entry(shape=[1] * 40)}, four)

    def test_files_that_are_too_short_or_claim_too_much(self):
        for data, words in ((b"", "has only 0 bytes"), (b"\1\2\3", "has only 3 bytes"),
                            (b"\xff" * 16, "would have 18446744073709551615 bytes"),
                            ((1000).to_bytes(8, "little") + b"{}", "the header has 1000 bytes, but the file only 2")):
            with open(self.path("bad.safetensors"), "wb") as file:
                file.write(data)
            with self.assertRaisesRegex(tf.errors.DataLossError, words):
                checkpoint.read_tensors(self.path("bad"))

    def test_what_is_no_checkpoint_says_so(self):
        with self.assertRaisesRegex(tf.errors.NotFoundError, "there is no checkpoint"):
            checkpoint.read_tensors(self.path("nothing"))
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "does not read or write HDF5"):
            checkpoint.read_tensors(self.path("weights.h5"))
        open(self.path("old.index"), "wb").close()
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "TensorFlow's own format"):
            checkpoint.read_tensors(self.path("old"))
        os.mkdir(self.path("folder.safetensors"))
        with self.assertRaises(tf.errors.NotFoundError):
            checkpoint.read_tensors(self.path("folder"))
        os.mkfifo(self.path("pipe"))
        with self.assertRaises(tf.errors.FailedPreconditionError):
            tf._engine.SafetensorsFile(self.path("pipe"))

    def test_metadata_about_strings_and_complex_numbers_is_checked(self):
        four = {"w": self.entry("U8", [4])}
        for key, value in (("tapedeck.strings", '{"v": []}'), ("tapedeck.strings", '{"w": [-1]}'),
                           ("tapedeck.strings", '{"w": [4611686018427387905]}'),
                           ("tapedeck.strings", '{"w": 3}'), ("tapedeck.strings", "[" * 100000), ("tapedeck.strings", "[]"),
                           ("tapedeck.strings", '{"w": [1]}'), ("tapedeck.complex128", '["w"]'), ("tapedeck.complex128", '[{}]'),
                           ("tapedeck.complex128", "nonsense"), ("tapedeck.strings", '{"w": [1' + "0" * 5000 + "]}")):
            self.refused(tf.errors.DataLossError, "tensor 'w'|metadata tapedeck", {"__metadata__": {key: value}, **four}, b"\0" * 4)

    def test_what_cannot_be_written_is_named_before_anything_is(self):
        for tensors, metadata, error, words in (({"w": 3.}, {}, TypeError, "'w' is 3.0; needs a tensor"),
                                                ({3: tf.ones([])}, {}, ValueError, "name is 3"),
                                                ({"\ud800": tf.ones([])}, {}, ValueError, "needs a string in UTF-8"),
                                                ({"__metadata__": tf.ones([])}, {}, ValueError, "the format reserves that name"),
                                                ({}, {"a": 1}, ValueError, "value of metadata is 1")):
            with self.assertRaisesRegex(error, words):
                checkpoint.write_tensors(self.path(), tensors, metadata)
        self.assertEqual(os.listdir(self.folder), [])


class Writing(InFolder):
    def test_folders_are_made_and_rights_are_the_umasks(self):
        before = os.umask(0o027)
        try:
            path = checkpoint.write_tensors(self.path("a/b/c/file"), {"x": tf.ones([])})
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
        self.assertEqual(os.listdir(self.path("a/b/c")), ["file.safetensors"])

    def test_a_file_in_the_folders_place_and_a_folder_in_the_files(self):
        open(self.path("file"), "w").close()
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "not a folder"):
            checkpoint.write_tensors(self.path("file/x"), {"x": tf.ones([])})
        os.mkdir(self.path("x.safetensors"))
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "it is a folder"):
            checkpoint.write_tensors(self.path("x"), {"x": tf.ones([])})
        with self.assertRaisesRegex(ValueError, "too long"):
            checkpoint.write_tensors(self.path("n" * 250), {"x": tf.ones([])})
        self.assertEqual(sorted(os.listdir(self.folder)), ["file", "x.safetensors"])

    def in_child(self, program, **kwargs):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.run([sys.executable, "-B", "-c", program, self.folder], capture_output=True, text=True, timeout=200,
                              env=environment, check=False, **kwargs)

    def test_a_full_disk_is_a_sentence_and_nothing_is_lost(self):
        checkpoint.write_tensors(self.path(), {"x": tf.ones([1000])})
        done = self.in_child("""
import resource, sys
import tapedeck as tf
from tapedeck._checkpoint import files as checkpoint
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    checkpoint.write_tensors(sys.argv[1] + "/file", {"x": tf.zeros([1_000_000])})
except tf.errors.ResourceExhaustedError as error:
    print(error)
""")
        self.assertIn("the file would be larger than this process may write", done.stdout, done.stderr)
        self.assertEqual(float(tf.reduce_sum(checkpoint.read_tensors(self.path())["x"])), 1000)
        self.assertEqual(os.listdir(self.folder), ["file.safetensors"])

    def test_a_folder_that_nobody_may_write_to(self):
        checkpoint.write_tensors(self.path(), {"x": tf.ones([3])})
        os.chmod(self.folder, 0o555)
        done = self.in_child("""
import os, sys
import tapedeck as tf
from tapedeck._checkpoint import files as checkpoint
if os.geteuid() == 0:
    os.setgroups([])
    os.setresuid(65534, 65534, 65534)
for name in ("/file", "/below/file"):
    try:
        checkpoint.write_tensors(sys.argv[1] + name, {"x": tf.zeros([10])})
    except tf.errors.PermissionDeniedError as error:
        print(error)
""")
        os.chmod(self.folder, 0o755)
        self.assertEqual(done.stdout.count("permission denied"), 2, done.stderr)
        self.assertEqual(os.listdir(self.folder), ["file.safetensors"])

    def test_what_dead_writers_left_is_removed_and_what_living_ones_write_is_not(self):
        open(self.path(".file.safetensors.999999-0.writing"), "wb").close()
        open(self.path(".old.safetensors.999999-0.writing"), "wb").close()
        os.utime(self.path(".old.safetensors.999999-0.writing"), (0, time.time() - 4000))
        for name in (".other.safetensors.999999-0.writing", ".file.safetensors.mine.writing", "file.safetensors.1-1.writing"):
            open(self.path(name), "wb").close()
        import fcntl
        with open(self.path(".file.safetensors.999999-1.writing"), "wb") as living:
            fcntl.flock(living, fcntl.LOCK_EX)
            checkpoint.write_tensors(self.path(), {"x": tf.ones([])})
            self.assertEqual(sorted(os.listdir(self.folder)),
                             [".file.safetensors.999999-1.writing", ".file.safetensors.mine.writing",
                              ".other.safetensors.999999-0.writing", "file.safetensors", "file.safetensors.1-1.writing"])

    def test_writers_of_one_place_do_not_disturb_each_other(self):
        problems, stop = [], threading.Event()

        def write(value):
            try:
                for _ in range(15):
                    checkpoint.write_tensors(self.path(), {"x": tf.fill([50_000], value), "y": tf.fill([3], value)})
            except BaseException as error:
                problems.append(error)

        def read():
            while not stop.is_set():
                try:
                    back = checkpoint.read_tensors(self.path())
                except tf.errors.NotFoundError:
                    continue
                values = set(back["x"].numpy().tolist()) | set(back["y"].numpy().tolist())
                if len(values) != 1:
                    problems.append(values)

        reader = threading.Thread(target=read)
        reader.start()
        writers = [threading.Thread(target=write, args=(float(i),)) for i in range(4)]
        for thread in writers:
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        reader.join()
        self.assertEqual(problems, [])
        self.assertEqual(os.listdir(self.folder), ["file.safetensors"])

    @unittest.skipIf(re.search("lib[at]san", os.environ.get("LD_PRELOAD", "")), "sanitizers take memory of their own")
    def test_saving_takes_no_second_copy_of_the_values(self):
        done = self.in_child("""
import resource, sys
import tapedeck as tf
from tapedeck._checkpoint import files as checkpoint
values = {f"x{i}": tf.zeros([4 << 20]) + 1. for i in range(8)}  # 128 MB
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KB
checkpoint.write_tensors(sys.argv[1] + "/small", {"x": tf.zeros([10])})
before = peak()
checkpoint.write_tensors(sys.argv[1] + "/file", values)
print(peak() - before)
""")
        self.assertLess(int(done.stdout), 24 << 10, done.stderr)

    def test_other_threads_run_while_a_file_is_written(self):
        values = {f"x{i}": tf.zeros([4 << 20]) for i in range(8)}
        writing, turns = threading.Event(), 0
        thread = threading.Thread(target=lambda: (writing.set(), checkpoint.write_tensors(self.path(), values)))
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # nothing but the writer's own release of the lock lets this thread run
        try:
            thread.start()
            writing.wait()
            while thread.is_alive() and turns < 1000:
                turns += 1
                threading.Event().wait(0)
        finally:
            sys.setswitchinterval(interval)
        thread.join()
        self.assertGreater(turns, 1)


class Damaged(InFolder):
    def test_damaged_files_give_an_error_or_right_tensors_and_no_wild_allocation(self):
        """In a child process whose memory is limited, so that an allocation of what a file claims would fail."""
        files = Campaign("python_safetensors_damage", "damaged files", 1_500, 5_000, "further random damage of the same kinds")
        done = subprocess.run([sys.executable, "-B", os.path.abspath(__file__), "--damage", self.folder, str(files.count), str(files.seed)],
                              text=True, capture_output=True, timeout=200, check=False,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-2000:])
        read, refused = map(int, done.stdout.split()[-2:])
        self.assertEqual(read + refused, files.count)
        self.assertGreater(refused, files.count // 2)
        self.assertGreater(read, files.count // 50)  # bytes of values, which may be anything


def damaged(data, generator):
    """The bytes, changed, cut, or put together anew."""
    data = bytearray(data)
    header = 8 + int.from_bytes(data[:8], "little")
    kind = generator.randrange(8)
    if kind == 0:
        del data[generator.randrange(len(data)):]
    elif kind == 1:
        data[generator.randrange(8)] = generator.randrange(256)
    elif kind == 2:
        begin = generator.randrange(len(data))
        data[begin:begin] = generator.randbytes(generator.randrange(1, 20))
    elif kind == 3:
        begin = generator.randrange(len(data))
        del data[begin:begin + generator.randrange(1, 30)]
    elif kind == 4:  # a number of the header becomes another one
        digits = [i for i in range(8, header) if chr(data[i]).isdigit()]
        place = generator.choice(digits)
        data[place:place + 1] = generator.choice([b"-1", b"9" * 18, b"18446744073709551615", b"1e9", b"4294967296", b"0", b"\"a\"",
                                                  b"null"])
        data[:8] = (header - 8 + generator.randrange(20)).to_bytes(8, "little") if generator.random() < .3 else data[:8]
    else:
        for _ in range(generator.randrange(1, 6)):
            place = generator.randrange(header if kind == 6 else 8, len(data) if kind < 7 else header)
            data[place] = generator.randrange(256)
    return bytes(data)


def damage(folder, count, seed):
    path = os.path.join(folder, "file.safetensors")
    tensors = {"layer/kernel": values_of(tf.float32, (5, 4)), "layer/bias": values_of(tf.float64, (4,)),
               "flags": values_of(tf.bool, (9,)), "step": tf.constant(7, tf.int64), "none": tf.zeros([0, 3])}
    checkpoint.write_tensors(path, tensors, {"a": "b"})
    with open(path, "rb") as file:
        whole = file.read()
    checkpoint.read_tensors(path)
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (256 << 20),) * 2)
    generator, read, refused = random.Random(seed), 0, 0
    for _ in range(count):
        with open(path, "wb") as file:
            file.write(damaged(whole, generator))
        try:
            back = checkpoint.read_tensors(path)
        except (tf.errors.DataLossError, tf.errors.UnimplementedError):
            refused += 1
        else:
            assert sum(each.numpy().nbytes for each in back.values()) < 1000
            read += 1
    print(read, refused)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--damage"]:
        damage(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        unittest.main()
