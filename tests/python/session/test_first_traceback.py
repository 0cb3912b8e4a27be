"""What formats tracebacks is there before the first exception, and never from the notebook's folder."""
import subprocess
import sys
import tempfile
import textwrap
import unittest

PROGRAM = """
import asyncio, sys, types
from tapedeck._session import first_traceback

async def idle(prepared):
    prepare = []
    shell = types.SimpleNamespace(events=types.SimpleNamespace(register=lambda event, what: prepare.append(what)))
    loads = first_traceback.FirstTraceback(shell)
    assert "stack_data" not in sys.modules and not prepared.intersection(sys.modules)
    prepare[0](None)
    for _ in range(2000):
        if not loads._pieces:
            return
        await asyncio.sleep(0.01)
    sys.exit("it does not end")
"""


def run(program, folder):
    return subprocess.run([sys.executable, "-c", textwrap.dedent(PROGRAM) + textwrap.dedent(program)], cwd=folder, capture_output=True,
                          text=True, check=False)


class FirstTracebackTest(unittest.TestCase):
    def test_after_a_cell_the_modules_are_loaded_while_nothing_runs(self):
        try:
            import stack_data  # noqa: F401 (IPython from 8 on has it)
        except ImportError:
            self.skipTest("IPython's stack_data is not installed")
        with tempfile.TemporaryDirectory() as folder:
            ran = run("""
                wanted = {"executing", "pygments.lexers.python", "pygments.formatters.terminal256"}
                asyncio.run(idle(wanted))
                assert "stack_data" in sys.modules and wanted <= set(sys.modules), wanted - set(sys.modules)
                """, folder)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_file_beside_the_notebook_is_not_taken_for_a_package(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/no_such_package.py", "w", encoding="utf-8") as file:
                file.write("print('ran')")
            ran = run("""
                sys.path = [*filter(None, sys.path), ""]
                first_traceback._MODULES = ("no_such_package", "executing")
                asyncio.run(idle(set()))
                assert "no_such_package" not in sys.modules
                import no_such_package
                """, folder)
        self.assertEqual((ran.returncode, ran.stderr, ran.stdout), (0, "", "ran\n"))


if __name__ == "__main__":
    unittest.main()
