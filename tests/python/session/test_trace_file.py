"""tf.debugging.save_trace and python3 -m tapedeck --trace write trace files."""
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import unittest

import tapedeck as tf
from tapedeck import _engine

PROGRAM = """
    import sys
    import tapedeck as tf
    x = tf.Variable([1., 2.], name="x")
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(x * x)
    x.assign_sub(0.1 * tape.gradient(y, x))
    print("ran", sys.argv[1:])
"""


def facts(path):
    """What the file says of itself."""
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return dict(database.execute("SELECT name, value FROM about"))
    finally:
        database.close()


class SaveTrace(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "run.tapetrace")

    def test_what_was_recorded_is_saved(self):
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)
        before = _engine.debug.record_count()
        tf.reduce_sum(tf.ones([300, 200]) * 2.)
        saved = tf.debugging.save_trace(self.path)
        self.assertEqual(saved["path"], os.path.realpath(self.path))
        self.assertEqual(saved["bytes"], os.path.getsize(self.path))
        self.assertEqual(saved["records"], _engine.debug.record_count())
        self.assertGreater(saved["records"], before)
        self.assertEqual(facts(self.path)["newest_record"], saved["records"])
        self.assertEqual(os.stat(self.path).st_mode & 0o777, 0o600)

    def test_where_nothing_records_it_says_so(self):
        with self.assertRaisesRegex(ValueError, "nothing records"):
            tf.debugging.save_trace(self.path)
        self.assertFalse(os.path.exists(self.path))

    def test_a_path_that_cannot_be_written_is_named(self):
        _engine.debug.attach()
        self.addCleanup(_engine.debug.stop)
        path = os.path.join(self.folder.name, "nowhere", "run.tapetrace")
        with self.assertRaisesRegex(OSError, f"The trace cannot be saved as {path}: No such file or directory."):
            tf.debugging.save_trace(path)
        with self.assertRaisesRegex(TypeError, "path"):
            tf.debugging.save_trace(3)


class TraceOption(unittest.TestCase):
    def run_program(self, text, *options, arguments=(), trace="run.tapetrace"):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program.py")
            with open(program, "w", encoding="utf-8") as file:
                file.write(textwrap.dedent(text))
            path = os.path.join(folder, trace)
            done = subprocess.run([sys.executable, "-B", "-m", "tapedeck", "--trace", path, *options, program, *arguments],
                                  capture_output=True, text=True, timeout=200, check=False, cwd=folder)
            return done, facts(path) if os.path.exists(path) else None

    def test_a_program_leaves_its_trace(self):
        done, about = self.run_program(PROGRAM, arguments=["--steps", "3"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "ran ['--steps', '3']\n")
        self.assertGreater(about["newest_record"], 4)
        self.assertRegex(done.stderr, r"^Trace file .*run\.tapetrace: \d+ records, \d+\.\d MB\.\n$")

    def test_an_exception_and_an_exit_leave_it_too(self):
        done, about = self.run_program(PROGRAM + "    raise KeyError('lost')\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn("KeyError: 'lost'", done.stderr)
        self.assertGreater(about["newest_record"], 4)
        done, about = self.run_program(PROGRAM + "    sys.exit(7)\n")
        self.assertEqual(done.returncode, 7)
        self.assertGreater(about["newest_record"], 4)

    def test_a_program_of_tensorflow_leaves_it(self):
        done, about = self.run_program(PROGRAM.replace("import tapedeck as tf", "import tensorflow as tf"), "--as-tensorflow")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(about["newest_record"], 4)

    def test_a_program_that_ends_the_recording_is_told_of(self):
        done, about = self.run_program(PROGRAM + """
    from tapedeck import _engine
    _engine.debug.stop()
""")
        self.assertEqual((done.returncode, about), (0, None), done.stderr)
        self.assertRegex(done.stderr, r"^The trace cannot be saved as .*: the program has ended the recording\.\n$")

    def test_a_child_that_is_forked_does_not_write_it(self):
        done, about = self.run_program(PROGRAM + """
    import os
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
""")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("Trace file"), 1)
        self.assertGreater(about["newest_record"], 4)

    def test_where_it_cannot_be_written_the_program_does_not_run(self):
        done, about = self.run_program(PROGRAM, trace="nowhere/run.tapetrace")
        self.assertEqual((done.returncode, done.stdout, about), (2, "", None))
        self.assertRegex(done.stderr, r"^The trace cannot be saved as .*/nowhere/run\.tapetrace: there is no folder .*/nowhere\. "
                                      r"The program was not run\.\n$")

    def test_it_replaces_nothing_but_a_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            program, other, trace = (os.path.join(folder, name) for name in ("train.py", "other.txt", "run.trace"))
            texts = {program: "print('it runs')", other: "precious"}
            for path, text in texts.items():
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)

            def run(*arguments):
                return subprocess.run([sys.executable, "-B", "-m", "tapedeck", *arguments], capture_output=True, text=True, timeout=200,
                                      check=False, cwd=folder)

            swapped = run("--trace", "train.py", "run.trace")
            self.assertEqual((swapped.returncode, swapped.stderr), (1, "There is no file run.trace.\n"))
            for place in ("train.py", "other.txt"):
                done = run("--trace", place, "train.py")
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn("there is a file with something else than a trace, which would be lost. The program was not run.",
                              done.stderr)
            for path, text in texts.items():
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), text)
            for _ in range(2):  # the second one replaces the first one's
                self.assertEqual(run("--trace", "run.trace", "train.py").returncode, 0)
            self.assertTrue(os.path.getsize(trace) > 1000)

    def test_what_the_program_raises_is_shown_as_python_shows_it(self):
        with tempfile.TemporaryDirectory() as folder:
            for text in ("def f():\n    raise KeyError(7)\n\n\nf()\n", "x = = 1\n", "import sys\nsys.exit('gone')\n"):
                path = os.path.join(folder, "program.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                plain, traced = (subprocess.run([sys.executable, "-B", *options, "program.py"], capture_output=True, text=True, timeout=200,
                                                check=False, cwd=folder)
                                 for options in ((), ("-m", "tapedeck")))
                self.assertEqual((traced.returncode, traced.stderr), (plain.returncode, plain.stderr))

    def test_without_a_program_it_asks_for_one(self):
        for arguments in (["--trace"], ["--trace", "x"], ["--trace", "x", "--trace", "y", "z.py"], [], ["--other", "z.py"]):
            done = subprocess.run([sys.executable, "-B", "-m", "tapedeck", *arguments], capture_output=True, text=True, timeout=200,
                                  check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn("Which program?", done.stderr)


if __name__ == "__main__":
    unittest.main()
