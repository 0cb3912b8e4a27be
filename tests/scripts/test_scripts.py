"""What the scripts around the tests do on machines that lack something."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={"HOME": os.environ.get("HOME", "/"), **environment})


class OnADisplay(unittest.TestCase):
    """The folder stands for a machine's programs: first without xvfb-run, then with it."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name in ("bash", "env", "basename"):
            os.symlink(shutil.which(name), os.path.join(self.folder.name, name))

    def test_skips_with_a_sentence_and_finds_what_was_installed_since(self):
        command = [str(ROOT / "tests/on_a_display"), "/somewhere/tst_window", "oneFunction"]
        without = run(command, PATH=self.folder.name)
        self.assertEqual(without.returncode, 77)
        self.assertIn("tst_window needs a display of its own, and xvfb-run is not installed", without.stdout)
        installed = pathlib.Path(self.folder.name, "xvfb-run")
        installed.write_text('#!/usr/bin/env bash\necho "on a display: ${*: -2}"\nexit 5\n', encoding="utf-8")
        installed.chmod(0o755)
        found = run(command, PATH=self.folder.name)
        self.assertEqual((found.returncode, found.stdout), (5, "on a display: /somewhere/tst_window oneFunction\n"))


class RunPrograms(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        pathlib.Path(self.folder.name, "03_some.py").write_text("print('ran')\n", encoding="utf-8")
        self.command = [sys.executable, "-B", str(ROOT / "tests/python/run_programs.py"), "", "03"]

    def test_takes_the_folder_from_the_environment_of_the_moment(self):
        without = run(self.command)
        self.assertEqual(without.returncode, 77)
        self.assertIn("set the environment variable TAPEDECK_PROGRAMS", without.stdout)
        given = run(self.command, TAPEDECK_PROGRAMS=self.folder.name)
        self.assertEqual(given.returncode, 0, given.stdout + given.stderr)
        self.assertIn("1 of 1 programs pass", given.stdout)

    def test_a_program_that_fails_fails(self):
        pathlib.Path(self.folder.name, "03_some.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
        self.assertEqual(run(self.command, TAPEDECK_PROGRAMS=self.folder.name).returncode, 1)


if __name__ == "__main__":
    unittest.main()
