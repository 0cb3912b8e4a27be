"""The acceptance programs have no fault, and Health finds none; their folder comes in the environment variable TAPEDECK_PROGRAMS."""
import contextlib
import glob
import io
import os
import runpy
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from health_programs import HealthOfPrograms
from run_programs import DUE

from tapedeck import _engine

FOLDER = os.environ.get("TAPEDECK_PROGRAMS", "")


class HealthOfAcceptancePrograms(HealthOfPrograms):
    @unittest.skipUnless(FOLDER, "the folder of the acceptance programs is not given; set the environment variable TAPEDECK_PROGRAMS")
    def test_none_has_a_finding(self):
        steps = 0
        for number in DUE:
            (path,) = glob.glob(os.path.join(FOLDER, f"{number}_*.py"))
            with self.subTest(program=os.path.basename(path)):
                _engine.debug.stop()
                _engine.debug.attach()
                home = os.getcwd()
                with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
                    os.chdir(folder)
                    self.addCleanup(os.chdir, home)
                    runpy.run_path(path, run_name="__main__")
                    os.chdir(home)
                steps += _engine.debug.health()["steps"]
                self.assertEqual([(each["rule"], each["sentence"]) for each in self.findings(24)], [])
        self.assertGreater(steps, 100)  # some of them train


if __name__ == "__main__":
    unittest.main()
