"""Modules in other Python environments: what an interpreter is asked, the wheel, and what run.sh refuses."""
import base64
import csv
import hashlib
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = ROOT / "engine/python/tapedeck/_session/environment.py"


def run(*command, **environment):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False,
                          env={"HOME": os.environ.get("HOME", "/"), "PATH": os.environ["PATH"], **environment})


def load_wheel_module():
    spec = importlib.util.spec_from_file_location("wheel_of_tapedeck", ROOT / "resources/environment/wheel.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()

    def interpreter(self, text):
        """An environment whose interpreter is this script."""
        path = self.folder / "environment/bin/python3"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def answering(self, **facts):
        answer = {"interpreter": "", "python": "3.12.1", "headers": "/nowhere/include", "has_headers": True,
                  "packages": {"numpy": "2.0"}, **facts}
        script = self.folder / "answer.py"
        script.write_text(f"import json\nprint(json.dumps({answer!r}))\n", encoding="utf-8")
        # The program of `-c` asks sys.executable for the probe: both are this script.
        return self.interpreter(f'shift_to={script}\ncase "$1" in -c) exec {sys.executable} -c "$2" "$shift_to";; '
                                f'esac\nexec {sys.executable} "$shift_to"\n')


class Probe(Folder):
    def test_versions_are_found_without_an_import(self):
        site = self.folder / "site"
        for name, version in (("torch", "2.7.1+cpu"), ("ipykernel", "6.29.5"), ("tapedeck", "9.8.7")):
            (site / name).mkdir(parents=True)
            (site / name / "__init__.py").write_text("raise SystemExit('it was imported')\n", encoding="utf-8")
            information = site / f"{name}-{version}.dist-info"
            information.mkdir()
            (information / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", encoding="utf-8")
        (site / "tapedeck/_fingerprint").write_text("0123456789abcdef\n", encoding="utf-8")
        found = json.loads(run(sys.executable, PROBE, PYTHONPATH=str(site)).stdout)
        self.assertEqual(found["packages"]["torch"], "2.7.1+cpu")
        self.assertEqual(found["packages"]["ipykernel"], "6.29.5")
        self.assertEqual((found["module"], found["fingerprint"]), (str(site / "tapedeck"), "0123456789abcdef"))
        self.assertEqual(found["python"], "{}.{}.{}".format(*sys.version_info[:3]))

    def test_what_is_missing_is_none(self):
        found = json.loads(run(sys.executable, "-S", "-I", PROBE).stdout)
        self.assertIsNone(found["packages"]["torch"])
        self.assertNotIn("module", found)

    def test_a_file_of_that_name_in_the_current_folder_is_no_package(self):
        (self.folder / "torch.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
        said = subprocess.run([sys.executable, "-S", PROBE], capture_output=True, text=True, check=True, cwd=self.folder,
                              env={"PATH": os.environ["PATH"]}).stdout
        self.assertIsNone(json.loads(said)["packages"]["torch"])


class InstallInto(Folder):
    def refusal(self, *arguments):
        result = run(ROOT / "run.sh", "--install-into", *arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
        return result.stderr.strip()

    def test_what_is_no_environment_is_named(self):
        self.assertEqual(self.refusal(), "Into which environment? ./run.sh --install-into FOLDER")
        self.assertEqual(self.refusal(self.folder / "missing"), f"There is no environment {self.folder / 'missing'}.")
        self.assertIn("has neither bin/python3 nor bin/python", self.refusal(self.folder))
        self.interpreter("exit 1\n")
        self.assertIn("environment/bin/python3 does not run as Python.", self.refusal(self.folder / "environment"))

    def test_what_the_build_needs_is_named(self):
        self.answering(python="3.9.18")
        self.assertIn("is Python 3.9.18; Tapedeck's module needs Python 3.10 or newer.", self.refusal(self.folder / "environment"))
        self.answering(has_headers=False)
        self.assertIn("has no header Python.h in /nowhere/include, so nothing can be built for it. Debian's package is python3.12-dev",
                      self.refusal(self.folder / "environment"))
        path = self.answering(packages={"numpy": None})
        self.assertIn(f"Install it: {path} -m pip install numpy", self.refusal(self.folder / "environment"))

    def test_a_program_in_an_environment_without_the_module_is_refused_with_the_command(self):
        self.answering()
        environment = self.folder / "environment"
        for mode in (["--trace", self.folder / "a.tapetrace"], ["--python"], ["--tensorflow"]):
            result = run(ROOT / "run.sh", *mode, "--env", environment, "program.py")
            self.assertEqual(result.returncode, 2)
            self.assertIn(f"run.sh --install-into {environment}", result.stderr)

    def test_an_option_env_behind_the_program_is_the_programs_own(self):
        environments = self.folder / "resources/environment"
        environments.mkdir(parents=True)
        shutil.copy(ROOT / "run.sh", self.folder)
        (self.folder / "resources/packages.sh").touch()
        (self.folder / "resources/build.sh").write_text("mark() { echo own Python; exit 0; }\n", encoding="utf-8")
        (environments / "run_in").write_text("#!/bin/sh\necho environment\n", encoding="utf-8")
        (environments / "run_in").chmod(0o755)
        for mode in (["--python"], ["--tensorflow"], ["--trace", "a.tapetrace"]):
            for options, where in ((["program.py", "--env", "prod"], "own Python\n"), (["--env", "folder", "program.py"], "environment\n")):
                with self.subTest(mode=mode[0], options=options):
                    self.assertEqual(run(self.folder / "run.sh", *mode, *options).stdout, where)


class Installed(Folder):
    """The whole way of --install-into, with programs in place of CMake and Ninja which make a package of two files."""

    FAKES = {
        "dpkg-query": 'for each; do [ "${each#-}" != "$each" ] || echo installed; done\n',
        "cmake": 'while [ $# -gt 0 ]; do [ "$1" = -B ] && folder=$2; shift; done\n'
                 'touch "$folder/build.ninja"; echo CMAKE_PROJECT_VERSION:STATIC=4.5.6 >"$folder/CMakeCache.txt"\n',
        "ninja": 'mkdir -p "$2/python/tapedeck"; echo "@1/1 Building"\necho "__version__ = \'4.5.6\'" >"$2/python/tapedeck/__init__.py"\n'
                 'cat "$FINGERPRINT" >"$2/python/tapedeck/_fingerprint"\n'}

    def setUp(self):
        super().setUp()
        if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
            self.skipTest("this Python has no headers")
        self.environment = self.folder / "venv"
        made = run(sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", self.environment)
        if made.returncode != 0:
            self.skipTest(f"no venv can be made: {made.stderr}")
        self.fakes = self.folder / "fakes"
        self.fakes.mkdir()
        for name, text in self.FAKES.items():
            (self.fakes / name).write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
            (self.fakes / name).chmod(0o755)
        self.fingerprint = self.folder / "fingerprint"
        self.interpreter = self.environment / "bin/python3"
        digest = hashlib.sha256(str(self.interpreter).encode()).hexdigest()[:12]
        self.addCleanup(shutil.rmtree, ROOT / "build" / f"env-{digest}", ignore_errors=True)

    def install(self, fingerprint):
        self.fingerprint.write_text(fingerprint + "\n", encoding="utf-8")
        result = run(ROOT / "run.sh", "--install-into", self.environment, PATH=f"{self.fakes}:{os.environ['PATH']}",
                     FINGERPRINT=str(self.fingerprint), PIP_BREAK_SYSTEM_PACKAGES="1")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stderr.splitlines()[-1]

    def test_it_is_installed_then_up_to_date_then_replaced(self):
        done = f"Tapedeck's module 4.5.6 is installed in {self.environment}."
        self.assertEqual(self.install("aaaa"), done)
        found = json.loads(run(self.interpreter, PROBE).stdout)
        self.assertEqual((found["packages"]["tapedeck"], found["fingerprint"]), ("4.5.6", "aaaa"))
        self.assertTrue(found["module"].startswith(str(self.environment)), found["module"])
        self.assertEqual(self.install("aaaa"), f"Tapedeck's module 4.5.6 in {self.environment} is up to date.")
        self.assertEqual(self.install("bbbb"), done)
        self.assertEqual(json.loads(run(self.interpreter, PROBE).stdout)["fingerprint"], "bbbb")
        # A program runs with it, by the environment's name alone.
        program = self.folder / "program.py"
        program.write_text("import sys, tapedeck\nprint(tapedeck.__version__, sys.prefix)\n", encoding="utf-8")
        result = run(ROOT / "run.sh", "--python", "--env", self.environment, program)
        self.assertEqual(result.stdout, f"4.5.6 {self.environment}\n", result.stderr)


class Wheel(Folder):
    """Of a small package in place of the built one; `unpack` is what happens without pip."""

    def setUp(self):
        super().setUp()
        self.wheel = load_wheel_module()
        self.package = self.folder / "tapedeck"
        (self.package / "data/__pycache__").mkdir(parents=True)
        (self.package / "__init__.py").write_text("__version__ = '1.2'\n", encoding="utf-8")
        (self.package / "data/__init__.py").write_text("", encoding="utf-8")
        (self.package / "data/__pycache__/x.pyc").write_bytes(b"made by a run")
        (self.package / "_engine.so").write_bytes(b"\x7fELF")
        os.symlink(self.package / "__init__.py", self.package / "linked.py")
        self.site = self.folder / "site"
        self.site.mkdir()

    def make(self, version="1.2"):
        return self.wheel.make_wheel(str(self.package), version, str(self.folder / "wheels"))

    def test_the_record_has_every_file_with_its_hash(self):
        path = self.make()
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            rows = list(csv.reader(archive.read("tapedeck-1.2.dist-info/RECORD").decode().splitlines()))
            self.assertEqual([row[0] for row in rows], names)
            self.assertFalse([name for name in names if "__pycache__" in name])
            for name, digest, size in rows[:-1]:
                data = archive.read(name)
                self.assertEqual(int(size), len(data))
                self.assertEqual(digest, "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode())
            self.assertEqual(archive.read("tapedeck/linked.py"), b"__version__ = '1.2'\n")
            self.assertIn(f"Tag: {self.wheel.tag()}", archive.read("tapedeck-1.2.dist-info/WHEEL").decode())
        self.assertIn(sysconfig.get_config_var("SOABI").split("-")[1], path)
        self.assertEqual(pathlib.Path(path).read_bytes(), pathlib.Path(self.make()).read_bytes())

    def test_without_pip_it_is_unpacked_and_pip_can_remove_it(self):
        self.wheel.unpack(self.make(), str(self.site))
        self.assertTrue(os.access(self.site / "tapedeck/_engine.so", os.X_OK))
        seen = run(sys.executable, "-c", "import tapedeck, importlib.metadata as m; print(tapedeck.__version__, m.version('tapedeck'))",
                   PYTHONPATH=str(self.site))
        self.assertEqual(seen.stdout, "1.2 1.2\n", seen.stderr)
        if importlib.util.find_spec("pip") is None:
            self.skipTest("this Python has no pip")
        target = {"PYTHONPATH": str(self.site), "PIP_BREAK_SYSTEM_PACKAGES": "1"}
        listed = run(sys.executable, "-m", "pip", "show", "-f", "tapedeck", **target)
        self.assertIn("Version: 1.2", listed.stdout, listed.stderr)
        self.assertIn("tapedeck/_engine.so", listed.stdout)

    def test_a_newer_one_replaces_all_that_the_older_had_and_nothing_else(self):
        self.wheel.unpack(self.make(), str(self.site))
        (self.site / "tapedeck/data/__pycache__").mkdir()
        (self.site / "tapedeck/data/__pycache__/__init__.pyc").write_bytes(b"made by a run")
        (self.site / "neighbour.py").write_text("", encoding="utf-8")
        for name in ("data/__init__.py", "linked.py"):
            (self.package / name).unlink()
        self.wheel.unpack(self.make("1.3"), str(self.site))
        self.assertEqual(sorted(path.name for path in self.site.iterdir()), ["neighbour.py", "tapedeck", "tapedeck-1.3.dist-info"])
        self.assertEqual(sorted(path.name for path in (self.site / "tapedeck").iterdir()), ["__init__.py", "_engine.so"])

    def test_a_record_that_names_files_elsewhere_removes_none_of_them(self):
        self.wheel.unpack(self.make(), str(self.site))
        outside = self.folder / "outside"
        outside.write_text("mine", encoding="utf-8")
        with open(self.site / "tapedeck-1.2.dist-info/RECORD", "a", encoding="utf-8") as record:
            record.write(f"../outside,,\n{outside},,\n")
        self.wheel.unpack(self.make("1.3"), str(self.site))
        self.assertEqual(outside.read_text(encoding="utf-8"), "mine")


if __name__ == "__main__":
    unittest.main()
