"""What the tests of PyTorch programs share: the interpreter that TAPEDECK_TORCH names, what it has, and how programs run in it."""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = sorted(path for path in (HERE / "programs").glob("*.py") if path.stem != "results")
TORCH = os.environ.get("TAPEDECK_TORCH", "")

_FACTS = """
import importlib.util, json, sys
found = {"python": list(sys.version_info[:2]), "torch": None, "tapedeck": None}
if importlib.util.find_spec("torch"):
    from torch.version import __version__
    found["torch"] = __version__
try:
    import tapedeck
    found["tapedeck"] = tapedeck.__file__
    found["protocol"] = tapedeck._engine.debug.PROTOCOL_VERSION
except ImportError as error:
    found["problem"] = str(error)
print(json.dumps(found))
"""


def environment():
    """One thread, as each op's bits may depend on how many there are, and nothing of the tests' own interpreter."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "TAPEDECK_DEBUG")}
    kept.update(OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1")
    if os.environ.get("TAPEDECK_TORCH_MODULE"):
        kept["PYTHONPATH"] = os.environ["TAPEDECK_TORCH_MODULE"]
    return kept


@functools.cache
def facts():
    done = subprocess.run([TORCH, "-c", _FACTS], capture_output=True, text=True, timeout=120, check=True, env=environment())
    return json.loads(done.stdout)


def needs_torch(test):
    return unittest.skipUnless(TORCH, "TAPEDECK_TORCH names no interpreter that has PyTorch")(test)


def needs_module(test):
    """Of a class of tests that record: Tapedeck's module has to be importable there."""
    return unittest.skipUnless(TORCH and facts()["tapedeck"], "the interpreter that TAPEDECK_TORCH names does not have Tapedeck's module"
                               if TORCH else "TAPEDECK_TORCH names no interpreter that has PyTorch")(test)


class Runs:
    """Programs (paths) that ran in one state, and what they left: `exit`, `out`, `err` by their names. Its folder goes with it."""

    def __init__(self, state, programs=PROGRAMS, **variables):
        self._holder = tempfile.TemporaryDirectory(prefix="td-")
        self.folder = pathlib.Path(self._holder.name)
        done = subprocess.run([TORCH, str(HERE / "run_programs.py"), str(self.folder), state, *map(str, programs)], capture_output=True,
                              text=True, timeout=500, check=False, env={**environment(), **variables})
        assert done.returncode == 0, done.stderr
        self.exit, self.out, self.err = (
            {path.stem: (self.folder / f"{path.stem}.{state}.{ending}").read_text(encoding="utf-8") for path in programs}
            for ending in ("exit", "out", "err"))

    def close(self):
        self._holder.cleanup()


def main():
    """Runs the tests of the program's file. Its exit status is 77 where no interpreter is named and nothing failed: they were skipped."""
    passed = unittest.main(verbosity=2, exit=False).result.wasSuccessful()
    sys.exit(1 if not passed else 0 if TORCH else 77)
