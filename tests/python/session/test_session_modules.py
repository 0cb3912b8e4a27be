"""A session in a folder that is anybody's: files named like modules of Python, of Tapedeck and of what a session uses run at no time,
and the notebook's own modules are found."""
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

import tapedeck

try:
    from jupyter_client import BlockingKernelClient
    from jupyter_client.connect import write_connection_file
except ImportError:
    raise unittest.SkipTest("needs jupyter_client (Debian's package python3-jupyter-client)") from None

PATIENCE = 120  # seconds: a bound for a hang, not a measurement
PACKAGE = os.path.dirname(os.path.abspath(tapedeck.__file__))
# Beside the standard library: what a session imports, and what it looks for and may not find.
OTHERS = """tapedeck tensorflow numpy scipy ipykernel IPython ipykernel_launcher zmq traitlets tornado jupyter_client jupyter_core comm
    debugpy matplotlib matplotlib_inline psutil jedi parso prompt_toolkit wcwidth pygments PIL pandas decorator pickleshare backcall
    stack_data executing asttokens pure_eval six packaging dateutil nest_asyncio sitecustomize usercustomize appnope trio curio
    pkg_resources setuptools docrepr black absl""".split()


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(temporary.cleanup)
        self.folder = os.path.join(temporary.name, "notebooks")
        os.mkdir(self.folder)
        self.note = os.path.join(temporary.name, "ran.txt")
        for name in [*sys.stdlib_module_names, *OTHERS]:
            self.write(f"{name}.py", f"with open({self.note!r}, 'a') as file:\n    file.write(__name__ + ' ')\n")
        self.write("mine.py", "value = 42\n")
        self.write("program.py", "import mine\nprint('the program has', mine.value)\n")
        self.connection = os.path.join(temporary.name, "kernel-modules.json")
        self.ipython = os.path.join(temporary.name, "ipython")

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def ran(self):
        """What of the folder's files ran."""
        try:
            with open(self.note, encoding="utf-8") as file:
                return sorted(set(file.read().split()))
        except FileNotFoundError:
            return []

    def start(self, *arguments):
        write_connection_file(self.connection, transport="ipc", ip=self.connection + "-k")
        process = subprocess.Popen([sys.executable, *arguments, "-f", self.connection], stdout=subprocess.DEVNULL, cwd=self.folder,
                                   env={**os.environ, "IPYTHONDIR": self.ipython})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.client = BlockingKernelClient(connection_file=self.connection)
        self.client.load_connection_file()
        self.client.start_channels(stdin=False, hb=False)  # see test_session_input.py
        self.addCleanup(self.client.stop_channels)
        self.client.wait_for_ready(PATIENCE)

    def run_cell(self, code, status="ok"):
        """What the cell prints."""
        texts = []

        def hear(message):
            content = message["content"]
            texts.append(content.get("text", "") if message["msg_type"] == "stream" else
                         "\n".join(content["traceback"]) if message["msg_type"] == "error" else "")

        reply = self.client.execute_interactive(code, timeout=PATIENCE, output_hook=hear, stop_on_error=False)
        self.assertEqual(reply["content"]["status"], status, "".join(texts))
        return "".join(texts)

    def check_session(self):
        self.assertEqual(self.ran(), [])
        cell = ("import mine, json, random, time, tapedeck as tf\nfrom tapedeck.keras.datasets import reuters\n"
                "print(mine.value, json.dumps([1]), tf.reduce_sum([1., 2.]).numpy())")
        # Which of two modules an import takes is reported where it isn't the file beside the notebook; once.
        notes = [f"{name}.py beside the notebook was not imported: “{name}” is the module {place}. Rename the file to import it."
                 for name, place in (("json", json.__file__), ("random", random.__file__), ("tapedeck", tapedeck.__file__),
                                     ("time", "which is built into Python"))]
        self.assertEqual(sorted(self.run_cell(cell).splitlines()), ["42 [1] 3.0", *notes])
        self.assertEqual(self.run_cell(cell), "42 [1] 3.0\n")
        self.assertIn("inspect.py beside the notebook was not imported", self.run_cell("from inspect import missing", "error"))
        self.run_cell("def fails():\n    raise ValueError('on purpose')\nfails()", "error")
        self.run_cell("x = tf.constant(1.)\nx")
        self.run_cell("%timeit -n 1 -r 1 x + 1.")
        # Requests that run what the session imports only then.
        for request in (self.client.complete("mine.val"), self.client.complete("import jso"), self.client.inspect("mine.value"),
                        self.client.is_complete("for i in x:"), self.client.history(hist_access_type="tail", n=3),
                        self.client.comm_info()):
            reply = self.client.get_shell_msg(PATIENCE)
            while reply["parent_header"]["msg_id"] != request:
                reply = self.client.get_shell_msg(PATIENCE)
            self.assertIn(reply["content"]["status"], ("ok", "incomplete"))
        # A module that is nowhere else is the notebook's to have; a helper's neighbours import each other.
        self.write("other.py", "import mine\nvalue = mine.value + 1\n")
        self.assertEqual(self.run_cell("import other\nprint(other.value)"), "43\n")
        self.assertEqual(self.ran(), [])


class Session(Folder):
    def test_a_session_imports_nothing_of_its_own_from_the_notebooks_folder(self):
        self.start(os.path.join(PACKAGE, "session.py"))
        self.check_session()

    def test_the_current_folder_is_looked_into_as_it_changes(self):
        self.start(os.path.join(PACKAGE, "session.py"))
        below = os.path.join(self.folder, "below")
        os.mkdir(below)
        self.write(os.path.join("below", "deep.py"), "value = 7\n")
        self.assertEqual(self.run_cell("import os\nos.chdir('below')\nimport deep\nprint(deep.value)"), "7\n")


class Programs(Folder):
    def test_a_program_is_run_beside_other_files_than_where_the_shell_is(self):
        # The program's own folder comes first, as Python has it; the current folder has no say.
        elsewhere = os.path.join(os.path.dirname(self.folder), "elsewhere")
        os.mkdir(elsewhere)
        for name in ("mine.py", "program.py"):
            os.rename(os.path.join(self.folder, name), os.path.join(elsewhere, name))
        for options in (["--as-tensorflow"], ["--trace", os.path.join(elsewhere, "t.tapetrace")]):
            done = subprocess.run([sys.executable, os.path.join(PACKAGE, "__main__.py"), *options, os.path.join(elsewhere, "program.py")],
                                  cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
            self.assertEqual((done.returncode, done.stdout), (0, "the program has 42\n"), done.stderr)
        self.assertEqual(self.ran(), [])


if __name__ == "__main__":
    unittest.main()
