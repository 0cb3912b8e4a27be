"""The session module: curves of what cells end with, the debug server's endpoint, the kernelspec, Jupyter's start."""

import contextlib
import glob
import importlib.util
import json
import math
import os
import stat
import subprocess
import sys
import tempfile
import types
import unittest

import numpy
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

from tapedeck._session import endpoint as session_endpoint
from tapedeck._session import kernelspec as session_kernelspec
from tapedeck._session.cells import CellWatch, points_of, series_name
from tapedeck.summary import curves

TIMEOUT = 60


class Scalar:
    shape = ()

    def __float__(self):
        return 2.5


class Points(unittest.TestCase):
    def test_lists_and_arrays_of_numbers_are_curves(self):
        self.assertEqual(points_of([1, 2.5, numpy.float32(0.5), Scalar()]), [1.0, 2.5, 0.5, 2.5])
        self.assertEqual(points_of((1.0, 2)), [1.0, 2.0])
        self.assertEqual(points_of(numpy.array([3, 4], dtype="int32")), [3.0, 4.0])
        self.assertTrue(math.isnan(points_of([float("nan"), 1])[0]))

    def test_whatever_else_is_none(self):
        for value in (None, 3, [], [1.0], "ab", ["a", "b"], [1, None], [[1, 2], [3, 4]], (28, 28), [True, False],
                      [1j, 2], numpy.zeros((2, 2)), numpy.array(["a", "b"]), numpy.array([1.0]), {1, 2}, [10**400, 1],
                      [numpy.zeros(2), numpy.zeros(2)]):
            self.assertIsNone(points_of(value), repr(value))

    def test_a_curve_has_the_variables_name_or_the_outputs(self):
        self.assertEqual(series_name("x = [1, 2]\nlosses", 7), "losses")
        self.assertEqual(series_name("losses  # a comment", 7), "losses")
        for code in ("[1, 2]", "a.b", "", "%time x", "x = 1"):
            self.assertEqual(series_name(code, 7), "Out[7]", code)


class FakeDebug:
    def __init__(self):
        self.calls = []

    def attached(self):
        return False  # nobody wants variables to be named

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments))


class Cells(unittest.TestCase):
    def setUp(self):
        self.debug = FakeDebug()
        self.parent = {"metadata": {"cellId": "the-cell"}}
        shell = types.SimpleNamespace(
            execution_count=1,
            kernel=types.SimpleNamespace(get_parent=lambda channel: self.parent, take_count=lambda: None),
            compile=types.SimpleNamespace(get_code_name=lambda raw, code, number: "/tmp/name.py"))
        self.written = set()
        self.watch = CellWatch(shell, self.debug, self.take_written)

    def take_written(self):
        names, self.written = self.written, set()
        return names

    def run_cell(self, code, value, success=True, written=()):
        self.debug.calls.clear()
        self.watch.before(types.SimpleNamespace(raw_cell=code))
        self.written.update(written)
        self.watch.after(types.SimpleNamespace(success=success, result=value, execution_count=4,
                                               info=types.SimpleNamespace(raw_cell=code)))
        return self.debug.calls

    def test_the_server_is_told_of_each_cell(self):
        self.assertEqual(self.run_cell("1", None), [("begin_cell", "the-cell", "/tmp/name.py", 1), ("end_cell", False)])

    def test_a_list_at_the_end_becomes_a_curve_that_restarts_with_its_cell(self):
        self.assertEqual(self.run_cell("losses", [3.0, 1.0])[2:],
                         [("restart_series", "losses"), ("add_scalar", "losses", 0, 3.0, "index"),
                          ("add_scalar", "losses", 1, 1.0, "index")])
        self.assertEqual(self.run_cell("losses", None),
                         [("begin_cell", "the-cell", "/tmp/name.py", 1), ("reopen_series", "losses"), ("end_cell", False),
                          ("restart_series", "losses")])
        self.assertEqual(self.run_cell("losses", None)[1:], [("end_cell", False)])

    def test_a_failed_cell_makes_no_curve(self):
        self.assertEqual(self.run_cell("losses", [1.0, 2.0], success=False)[1:], [("end_cell", True)])

    def test_curves_that_a_cell_wrote_are_open_to_be_drawn_anew_when_it_runs_again(self):
        self.written.add("another cell's thread")
        self.run_cell("train()", None, written=("loss", "accuracy"))
        self.assertEqual(self.run_cell("train()", None, written=("loss", "accuracy"))[1:],
                         [("reopen_series", "accuracy"), ("reopen_series", "loss"), ("end_cell", False)])
        self.assertEqual(self.run_cell("train()", None, written=("loss",))[3:], [("end_cell", False), ("restart_series", "accuracy")])
        self.assertEqual(self.run_cell("1", None)[1:], [("reopen_series", "loss"), ("end_cell", False), ("restart_series", "loss")])
        self.assertEqual(self.run_cell("1", None)[1:], [("end_cell", False)])

    def test_a_run_that_fails_leaves_the_curves_of_the_one_before(self):
        self.run_cell("train()", None, written=("loss",))
        self.assertEqual(self.run_cell("train()", None, success=False)[1:],
                         [("reopen_series", "loss"), ("end_cell", True), ("reopen_series", "loss", False)])
        self.assertEqual(self.run_cell("train()", None)[1:], [("reopen_series", "loss"), ("end_cell", False), ("restart_series", "loss")])

    def test_each_cell_has_its_own_curve_of_a_name(self):
        self.run_cell("train()", None, written=("loss",))
        self.parent["metadata"]["cellId"] = "another"
        self.assertEqual(self.run_cell("one_more()", None, written=("loss",))[1:], [("end_cell", False)])
        self.assertEqual(self.run_cell("1", None)[1:],
                         [("reopen_series", "loss"), ("end_cell", False), ("restart_series", "loss")])

    def test_a_long_list_is_thinned_out(self):
        steps = [call[2] for call in self.run_cell("losses", list(range(50_000))) if call[0] == "add_scalar"]
        self.assertLessEqual(len(steps), curves.MOST_POINTS)
        self.assertEqual(steps[:3], [0, 3, 6])


class Endpoint(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.addCleanup(os.environ.update, {"XDG_RUNTIME_DIR": os.environ.get("XDG_RUNTIME_DIR", "")})
        os.environ["XDG_RUNTIME_DIR"] = self.folder

    def test_beside_the_apps_connection_file(self):
        self.assertEqual(session_endpoint.prepare(os.path.join(self.folder, "connection.json")),
                         f"ipc://{self.folder}/debug")

    def test_in_a_private_folder_named_after_jupyters_kernel(self):
        file = "/somewhere/kernel-1234.json"
        self.assertEqual(session_endpoint.prepare(file), f"ipc://{self.folder}/tapedeck/1234/debug")
        for folder in ("tapedeck", "tapedeck/1234"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(self.folder, folder)).st_mode), 0o700)
        session_endpoint.remove(file)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "tapedeck/1234")))

    def test_a_file_that_names_no_kernel_is_refused(self):
        for name in ("kernel-.json", "kernel-..json", "kernel-...json", "kernel-programs.json"):
            with self.assertRaisesRegex(OSError, "names no kernel"):
                session_endpoint.prepare(f"/somewhere/{name}")
            with self.assertRaisesRegex(OSError, "names no kernel"):
                session_endpoint.remove(f"/somewhere/{name}")
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_others_put_into_the_folder_stays(self):
        file = "/somewhere/kernel-1234.json"
        session_endpoint.prepare(file)
        other = os.path.join(self.folder, "tapedeck/1234/other")
        open(other, "w").close()
        session_endpoint.remove(file)
        self.assertTrue(os.path.exists(other))

    def test_a_path_that_is_too_long_is_refused(self):
        with self.assertRaisesRegex(OSError, "longer than 107 bytes"):
            session_endpoint.prepare(f"/somewhere/kernel-{'x' * 100}.json")


@contextlib.contextmanager
def running_session(specs, **environment):
    """A client of a session that Jupyter starts."""
    manager = KernelManager(kernel_name="tapedeck", kernel_spec_manager=specs)
    manager.start_kernel(env=dict(os.environ, **environment))
    client = manager.client()
    try:
        client.start_channels()
        client.wait_for_ready(TIMEOUT)
        yield client
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


class Completion(unittest.TestCase):
    CODE = "import json\njson.JSONDec"

    def matches(self, specs, cache):
        with running_session(specs, XDG_CACHE_HOME=cache) as client:
            reply = client.complete(self.CODE, len(self.CODE), reply=True, timeout=TIMEOUT)
        return reply["content"]["matches"]

    def test_outlives_a_cache_of_which_a_killed_session_left_parts(self):
        specs = KernelSpecManager(kernel_dirs=[os.path.join(os.environ["TAPEDECK_BUILD_DIR"], "kernelspec")])
        with tempfile.TemporaryDirectory() as cache:
            self.assertIn("JSONDecoder", self.matches(specs, cache))
            files = [os.path.join(folder, name) for folder, _, names in os.walk(cache) for name in names
                     if name.endswith(".pkl")]
            self.assertTrue(files)
            for file in files:
                os.truncate(file, os.path.getsize(file) // 2)
            self.assertIn("JSONDecoder", self.matches(specs, cache))


class MessageSizes(unittest.TestCase):
    CODE = ("import zmq\nfrom ipykernel.kernelapp import IPKernelApp\napp = IPKernelApp.instance()\n"
            "print(*{one.getsockopt(zmq.MAXMSGSIZE) for one in (app.shell_socket, app.control_socket, app.stdin_socket, app.context)})")

    def test_no_socket_takes_messages_of_any_length(self):
        specs = KernelSpecManager(kernel_dirs=[os.path.join(os.environ["TAPEDECK_BUILD_DIR"], "kernelspec")])
        said = []
        with running_session(specs) as client:
            client.execute_interactive(self.CODE, timeout=TIMEOUT, output_hook=lambda message: said.append(
                message["content"].get("text", "")))
        self.assertEqual("".join(said).strip(), str(1 << 30))


class Package(unittest.TestCase):
    def test_the_build_holds_its_bytecode(self):
        package = os.path.dirname(session_endpoint.__file__).removesuffix("/_session")
        modules = glob.glob(os.path.join(package, "**/*.py"), recursive=True)
        self.assertGreater(len(modules), 100)
        self.assertEqual([path for path in modules if not os.path.exists(importlib.util.cache_from_source(path))], [])


class Kernelspec(unittest.TestCase):
    def test_the_builds_kernelspec_is_the_installed_one(self):
        build = os.environ["TAPEDECK_BUILD_DIR"]
        with open(os.path.join(build, "kernelspec/tapedeck/kernel.json"), encoding="utf-8") as file:
            written = json.load(file)
        self.assertEqual(written, session_kernelspec.kernelspec(written["argv"][0], os.path.join(build, "python")))

    def test_jupyter_starts_a_session_with_it(self):
        with tempfile.TemporaryDirectory() as prefix:
            told = subprocess.run([sys.executable, "-m", "tapedeck.session", "--install-kernelspec", "--prefix", prefix],
                                  check=True, capture_output=True, text=True, timeout=TIMEOUT).stdout
            folder = os.path.join(prefix, "share/jupyter/kernels")
            self.assertEqual(told.strip(), f'Installed "Tapedeck (Python)" in {folder}/tapedeck')
            specs = KernelSpecManager(kernel_dirs=[folder])
            texts = []
            with running_session(specs) as client:
                reply = client.execute_interactive(
                    "import gc, sys\nprint('tapedeck._session.app' in sys.modules)\n"
                    # The start passes over the debugger and over garbage; cells do neither.
                    "print('debugpy' in sys.modules, gc.get_freeze_count() > 0, gc.isenabled())", timeout=TIMEOUT,
                    output_hook=lambda message: texts.append(message["content"].get("text", "")))
            self.assertEqual(reply["content"]["status"], "ok")
            self.assertEqual("".join(texts), "True\nFalse True True\n")

    def test_without_ipykernel_it_names_the_package(self):
        source = "import sys; sys.modules['ipykernel'] = None; from tapedeck import session; session.main(['-f', 'x'])"
        ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("Debian's package is python3-ipykernel", ended.stderr)


if __name__ == "__main__":
    unittest.main()
