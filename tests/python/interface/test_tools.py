"""tf.test's cases, tf.logging, tf.io.gfile and tf.app.flags: what programs have around their tensors."""
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf


class Case(tf.test.TestCase):
    """Its assertions, on what holds and on what does not."""

    def fails(self, pattern, assertion, *args, **kwargs):
        with self.assertRaisesRegex(AssertionError, pattern):
            assertion(*args, **kwargs)

    def test_arrays_and_tensors_are_compared_element_by_element(self):
        x = tf.constant([1., 2.])
        self.assertAllEqual(x, [1, 2])
        self.assertAllEqual([x, x], np.array([[1, 2], [1, 2]]))
        self.assertAllEqual([np.nan], [np.nan])
        self.assertAllEqual(tf.zeros([0, 2]), np.zeros([0, 2]))
        self.fails(r"1 of 2 elements are not equal; the first at \[1\]", self.assertAllEqual, x, [1, 3])
        self.fails(r"\(2,\)", self.assertAllEqual, x, [1, 2, 3])
        self.assertNotAllEqual(x, [1, 3])
        self.fails("all elements are equal", self.assertNotAllEqual, x, [1, 2])

    def test_closeness_goes_into_structures_and_knows_half_precision(self):
        self.assertAllClose(tf.constant(1.), 1 + 5e-7)
        self.fails("not close", self.assertAllClose, 1., 1.1)
        self.assertAllClose({"a": [1., 2.], "b": tf.constant(3.)}, {"a": [1., 2.], "b": 3.})
        self.fails("'b'", self.assertAllClose, {"b": 1.}, {"b": 2.})
        self.assertAllClose([tf.zeros([2]), tf.zeros([3])], [np.zeros(2), np.zeros(3)])
        self.assertAllClose(tf.constant(1., tf.float16), np.float16(1.001))
        self.assertNotAllClose(1., 1.1)
        self.fails("", self.assertNotAllClose, 1., 1.)
        self.assertAllCloseAccordingToType(np.float32(1), np.float32(1 + 1e-4), float_rtol=1e-3)

    def test_bounds_and_sets(self):
        self.assertAllGreater([1, 2], 0)
        self.fails("greater than 1", self.assertAllGreater, [1, 2], 1)
        self.assertAllInSet([1, 2], {1, 2, 3})
        self.assertAllInRange([0., 1.], 0., 1.)
        self.fails("in 0.0", self.assertAllInRange, [0., 1.], 0., 1., open_upper_bound=True)
        self.assertNear(1., 1.05, .1)
        self.fails("differ by more than", self.assertNear, 1., 2., .1)

    def test_errors_are_matched_by_text_or_function(self):
        with self.assertRaisesOpError("matmul"):
            tf.matmul(tf.ones([2, 3]), tf.ones([2, 3]))
        with self.assertRaisesWithPredicateMatch(ValueError, lambda error: "x" in str(error)):
            raise ValueError("x")
        with self.assertRaisesRegex(AssertionError, "was not raised"):
            with self.assertRaisesWithPredicateMatch(ValueError, ""):
                pass

    def test_a_session_evaluates(self):
        with self.test_session() as session:
            self.assertEqual(session.run([tf.constant(1), {"a": tf.constant(2)}]), [1, {"a": 2}])
            with self.assertRaisesRegex(ValueError, "feed_dict needs placeholders"):
                session.run([], feed_dict={1: 2})
        self.assertIsInstance(self.evaluate(tf.Variable(1.)), np.float32)

    def test_each_test_has_a_folder_of_its_own_and_one_seed(self):
        first = tf.random.uniform([3]).numpy()
        folder = self.get_temp_dir()
        self.assertTrue(os.path.isdir(folder))
        self.doCleanups()
        self.assertFalse(os.path.exists(folder))
        self.setUp()
        self.assertAllEqual(tf.random.uniform([3]), first)


class TestPrograms(unittest.TestCase):
    def test_main_runs_the_programs_tests(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "own_test.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write("import tapedeck as tf\nclass T(tf.test.TestCase):\n    def test_x(self):\n"
                           "        self.assertAllEqual(1, 2)\ntf.test.main()\n")
            done = subprocess.run([sys.executable, "-B", path], capture_output=True, text=True, timeout=200, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("1 of 1 elements are not equal", done.stderr)

    def test_unittest_and_absl_are_not_imported_before_a_program_asks_for_them(self):
        code = "import sys, tapedeck; print([n for n in ('unittest', 'absl', 'tapedeck.gfile') if n in sys.modules])"
        done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True, timeout=200, check=True)
        self.assertNotIn("absl", done.stdout)
        self.assertNotIn("unittest", done.stdout)


class Logging(unittest.TestCase):
    def setUp(self):
        before = tf.logging.get_verbosity()
        self.addCleanup(tf.logging.set_verbosity, before)
        self.text = io.StringIO()
        for handler in tf.logging.get_logger().handlers:
            patched = mock.patch.object(handler, "stream", self.text)
            patched.start()
            self.addCleanup(patched.stop)

    def test_messages_below_the_verbosity_are_not_written(self):
        tf.logging.set_verbosity(tf.logging.INFO)
        tf.logging.info("step %d", 3)
        tf.logging.debug("unseen")
        tf.logging.set_verbosity(tf.logging.ERROR)
        tf.logging.warning("unseen too")
        self.assertEqual(self.text.getvalue(), "INFO:tensorflow:step 3\n")

    def test_repeated_messages_are_counted(self):
        tf.logging.set_verbosity(tf.logging.INFO)
        for step in range(7):
            tf.logging.log_every_n(tf.logging.INFO, "every %d", 3, step)
            tf.logging.log_first_n(tf.logging.INFO, "first %d", 2, step)
        self.assertEqual([line.split(":")[-1] for line in self.text.getvalue().splitlines()],
                         ["every 0", "first 0", "first 1", "every 3", "every 6"])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def test_text_and_bytes_are_written_and_read(self):
        with tf.io.gfile.GFile(self.path("a.txt"), "w") as file:
            file.write("é\nzwei\n")
        with tf.gfile.Open(self.path("a.txt")) as file:
            self.assertEqual(file.read(), "é\nzwei\n")
        with tf.gfile.FastGFile(self.path("a.txt"), "rb") as file:
            self.assertEqual((file.read(2), file.tell(), file.size()), (b"\xc3\xa9", 2, 8))
            file.seek(0)
            self.assertEqual(list(file), [b"\xc3\xa9\n", b"zwei\n"])

    def test_files_and_folders_are_made_found_moved_and_removed(self):
        tf.gfile.MakeDirs(self.path("deep", "er"))
        tf.io.gfile.makedirs(self.path("deep", "er"))
        open(self.path("deep", "b"), "w", encoding="utf-8").close()
        tf.gfile.Copy(self.path("deep", "b"), self.path("deep", "a"))
        both = [self.path("deep", "a"), self.path("deep", "b")]
        pattern = self.path("deep", "[ab]")
        lists = ([pattern], {pattern}, np.array([pattern]), iter([pattern]))
        for given in (pattern, pattern.encode(), tf.constant(pattern), *lists):
            self.assertEqual([os.fsdecode(path) for path in tf.gfile.Glob(given)], both, given)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "glob: 3 is not a path"):
            tf.gfile.Glob(3)
        with self.assertRaises(tf.errors.AlreadyExistsError):
            tf.io.gfile.copy(self.path("deep", "b"), self.path("deep", "a"))
        tf.io.gfile.rename(self.path("deep", "a"), self.path("c"))
        self.assertTrue(tf.gfile.Exists(self.path("c")) and not tf.gfile.IsDirectory(self.path("c")))
        self.assertEqual(sorted(tf.gfile.ListDirectory(self.folder)), ["c", "deep"])
        self.assertEqual([names for _, _, names in tf.io.gfile.walk(self.folder)], [["c"], ["b"], []])
        tf.gfile.DeleteRecursively(self.path("deep"))
        self.assertFalse(tf.io.gfile.exists(self.path("deep")))

    def test_what_is_not_there_is_tensorflows_error_with_its_path(self):
        for call in (lambda path: tf.gfile.GFile(path).read(), tf.io.gfile.listdir, tf.io.gfile.remove, tf.io.gfile.rmtree,
                     tf.io.gfile.stat):
            with self.assertRaisesRegex(tf.errors.NotFoundError, "nowhere; No such file"):
                call(self.path("nowhere"))

    def test_a_folder_that_is_there_may_be_made_again(self):
        tf.io.gfile.mkdir(self.folder)
        with self.assertRaises(tf.errors.NotFoundError):
            tf.io.gfile.mkdir(self.path("a", "b"))

    def test_stat_tells_length_time_and_kind(self):
        with tf.io.gfile.GFile(self.path("a"), "w") as file:
            file.write("abc")
        found = tf.io.gfile.stat(self.path("a"))
        self.assertEqual((found.length, found.is_directory, tf.gfile.Stat(self.folder).is_directory), (3, False, True))
        self.assertEqual(found.mtime_nsec, os.stat(self.path("a")).st_mtime_ns)

    def test_a_file_serves_what_its_mode_says(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "mode is 'q'"):
            tf.io.gfile.GFile(self.path("a"), "q")
        with tf.io.gfile.GFile(self.path("a"), "w") as file:
            with self.assertRaisesRegex(tf.errors.PermissionDeniedError, "not open for reading"):
                file.read()
        with tf.io.gfile.GFile(self.path("a")) as file:
            with self.assertRaisesRegex(tf.errors.PermissionDeniedError, "not open for writing"):
                file.write("x")
        with tf.io.gfile.GFile(self.path("a"), "w+") as file:
            file.write("x")
            file.seek(0)
            self.assertEqual(file.read(), "x")


class Compat(unittest.TestCase):
    def test_text_and_bytes_become_each_other(self):
        self.assertEqual((tf.compat.as_bytes("é"), tf.compat.as_text(b"\xc3\xa9"), tf.compat.as_str_any(3)), (b"\xc3\xa9", "é", "3"))
        with self.assertRaisesRegex(TypeError, "as_bytes: 3 is int"):
            tf.compat.as_bytes(3)


if __name__ == "__main__":
    unittest.main()
