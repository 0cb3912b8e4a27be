"""What the scripts around the tests do on machines that lack something."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from xml.etree import ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, **environment):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False,
                          env={"HOME": os.environ.get("HOME", "/"), **environment})


class OnADisplay(unittest.TestCase):
    """The folder stands for a machine's programs: first without Xvfb, then with one."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name in ("bash", "env", "basename", "cat", "head", "mktemp", "rm", "setpriv", "sleep"):
            os.symlink(shutil.which(name), os.path.join(self.folder.name, name))

    def install(self, name, text):
        program = pathlib.Path(self.folder.name, name)
        program.write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
        program.chmod(0o755)
        return str(program)

    def test_skips_with_a_sentence_and_finds_what_was_installed_since(self):
        test = self.install("tst_window", 'echo "$1 on $DISPLAY with $(head -c 26 "$XAUTHORITY" | cat -v)"\nexit 5\n')
        command = [str(ROOT / "tests/on_a_display"), test, "oneFunction"]
        without = run(command, PATH=self.folder.name, TMPDIR=self.folder.name)
        self.assertEqual(without.returncode, 77)
        self.assertIn("tst_window needs a display of its own, and Xvfb is not installed", without.stdout)
        ended = os.path.join(self.folder.name, "ended")
        self.install("Xvfb", f'trap "echo > {ended}; exit" TERM\nwhile [ "$1" != -displayfd ]; do shift; done\n'
                             'echo 42 >&"$2"\nwhile :; do sleep 0.01; done\n')
        found = run(command, PATH=self.folder.name, TMPDIR=self.folder.name)
        self.assertEqual((found.returncode, found.stdout),
                         (5, "oneFunction on :42 with M-^?M-^?^@^@^@^@^@^RMIT-MAGIC-COOKIE-1\n"))
        until = time.monotonic() + 60
        while not os.path.exists(ended) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertTrue(os.path.exists(ended))
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("tmp.")], [])

    def test_a_display_that_does_not_start_is_a_failure(self):
        self.install("Xvfb", "echo 'no fonts' >&2\nexit 1\n")
        ended = run([str(ROOT / "tests/on_a_display"), "true"], PATH=self.folder.name, TMPDIR=self.folder.name)
        self.assertEqual((ended.returncode, ended.stderr), (1, "Xvfb did not start: no fonts\n"))


class Desktop(unittest.TestCase):
    """The user's home is a folder of the test's own, the machine's programs are those that the test names."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = pathlib.Path(folder.name, "home")
        self.home.mkdir()
        self.programs = pathlib.Path(folder.name, "bin")
        self.programs.mkdir()
        for name in ("bash", "env", "cp", "mkdir", "touch", "grep", "sed", "dirname"):
            os.symlink(shutil.which(name), self.programs / name)
        # A tree in which the program is built: its first bytes are all that it has of one.
        self.tree = pathlib.Path(folder.name, "tree")
        self.program = self.tree / "build/default/app/tapedeck"
        self.program.parent.mkdir(parents=True)
        self.program.write_bytes(b"\x7fELF\x02\x01\x01\0")
        self.program.chmod(0o755)
        for name in ("run.sh", "resources"):
            os.symlink(ROOT / name, self.tree / name)

    def run_install(self, *command):
        return run([str(word) for word in command], HOME=str(self.home), PATH=str(self.programs))

    def install(self):
        result = self.run_install(self.tree / "run.sh", "--install-desktop")
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_a_double_click_starts_no_script(self):
        script = self.home / "script"
        script.write_text("#!/usr/bin/env bash\n", encoding="utf-8")
        script.chmod(0o755)
        plain = self.home / "plain"
        plain.write_bytes(b"\x7fELF")
        for program in (script, ROOT / "run.sh", plain, self.home, self.home / "missing", "build/default/app/tapedeck"):
            result = self.run_install(ROOT / "resources/desktop/install.sh", program)
            self.assertEqual((result.returncode, result.stdout), (1, ""), program)
            self.assertIn(f"{program} is not the built program", result.stderr)
            self.assertFalse((self.home / ".local").exists(), program)

    def test_traces_open_by_double_click(self):
        said = self.install()
        data = self.home / ".local/share"
        entry = data / "applications/tapedeck.desktop"
        self.assertIn(str(entry), said)
        lines = entry.read_text(encoding="utf-8").splitlines()
        self.assertIn(f'Exec="{self.program}" %F', lines)
        self.assertIn("MimeType=application/x-ipynb+json;application/x-tapedeck-trace;", lines)
        types = ElementTree.parse(data / "mime/packages/tapedeck-mime.xml").getroot()
        self.assertEqual([glob.get("pattern") for glob in types.iter() if glob.tag.endswith("}glob")], ["*.tapetrace"])
        self.assertTrue((data / "icons/hicolor/scalable/apps/tapedeck.svg").is_file())
        # Again: nothing is there twice.
        self.install()
        self.assertEqual((self.home / ".config/mimeapps.list").read_text(encoding="utf-8"),
                         "[Default Applications]\napplication/x-tapedeck-trace=tapedeck.desktop\n")

    def test_the_desktops_own_tools_are_used_where_they_are(self):
        calls = self.home / "calls"
        for name in ("update-mime-database", "update-desktop-database", "xdg-mime"):
            tool = self.programs / name
            tool.write_text(f'#!/usr/bin/env bash\necho "{name} $*" >>"{calls}"\n', encoding="utf-8")
            tool.chmod(0o755)
        self.install()
        data = self.home / ".local/share"
        self.assertEqual(calls.read_text(encoding="utf-8").splitlines(),
                         [f"update-mime-database {data}/mime", f"update-desktop-database -q {data}/applications",
                          "xdg-mime default tapedeck.desktop application/x-tapedeck-trace"])

    def test_a_real_database_of_file_types_knows_traces(self):
        update = shutil.which("update-mime-database")
        if not update:
            self.skipTest("update-mime-database (shared-mime-info) is not installed")
        os.symlink(update, self.programs / "update-mime-database")
        self.install()
        globs = (self.home / ".local/share/mime/globs2").read_text(encoding="utf-8")
        self.assertIn("application/x-tapedeck-trace:*.tapetrace", globs)


class Packages(unittest.TestCase):
    def packages(self, *options):
        """What packages.sh says; its own folder is not the one in which it is called."""
        said = run(["bash", str(ROOT / "resources/packages.sh"), *options], PATH=os.environ["PATH"])
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        return said.stdout.split()

    def test_the_engine_alone_needs_neither_qt_nor_a_display(self):
        engine = self.packages("--engine")
        self.assertGreater(len(engine), 10)
        self.assertIn("g++", engine)
        self.assertEqual([name for name in engine if re.search("qt|gl|imgui|xvfb|font", name)], [])

    def test_being_sourced_it_says_nothing(self):
        said = run(["bash", "-c", f"set -- --engine; . '{ROOT}/resources/packages.sh'; echo ${{#run_packages[@]}}"],
                   PATH=os.environ["PATH"])
        self.assertGreater(int(said.stdout), len(self.packages("--engine")))


class WhatCMakeKeeps(unittest.TestCase):
    """What a machine lacks when CMake configures may be there when the tests run: the list of tests must not depend on it."""

    @classmethod
    def setUpClass(cls):
        build = os.environ.get("TAPEDECK_BUILD_DIR")
        if not build:
            raise unittest.SkipTest("CTest names the build folder in TAPEDECK_BUILD_DIR")
        cls.cache = pathlib.Path(build, "CMakeCache.txt").read_text(encoding="utf-8")
        listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                                timeout=60, check=True).stdout
        cls.tests = {test["name"]: test for test in json.loads(listed)["tests"]}

    def test_window_tests_look_for_their_display_when_they_run(self):
        if "TAPEDECK_WINDOW:BOOL=OFF" in self.cache:
            self.skipTest("the window program is not built here")
        self.assertNotIn("xvfb", self.cache.lower())
        sources = [source.stem for folder in ("app", "notebook", "plots", "views")
                   for source in (ROOT / "tests" / folder).rglob("tst_*.cpp")]
        listed = [self.tests[name] for name in sources if name in self.tests]  # a new file comes with the next build
        self.assertGreater(len(listed), 30)
        for test in listed:
            self.assertEqual(test["command"][0], str(ROOT / "tests/on_a_display"), test["name"])
            self.assertNotIn("DISABLED", [each["name"] for each in test["properties"]], test["name"])

    def test_the_acceptance_programs_are_listed_whether_their_folder_is_known_or_not(self):
        if "python_test_tensor" not in self.tests:
            self.skipTest("the Python module is not built here")
        programs = [name for name in self.tests if name.startswith("program_")]
        self.assertGreater(len(programs), 10)


class CommandLine(unittest.TestCase):
    def setUp(self):
        self.program = pathlib.Path(os.environ.get("TAPEDECK_BUILD_DIR", "nowhere"), "app/tapedeck")
        if not self.program.exists():
            self.skipTest("the window program is not built here")

    def test_help_and_version_need_no_display(self):
        for option, says in (("--help", "Usage: "), ("-h", "Usage: "), ("--version", "Tapedeck ")):
            told = run([str(self.program), option])
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(says, told.stdout)

    def test_attach_takes_a_process_number_alone(self):
        for given in ("abc", "0", "1 2"):
            refused = run([str(self.program), "--attach", *given.split()], QT_QPA_PLATFORM="offscreen")
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(f'"{given}" is not a process ID', refused.stderr)


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


class BuildProgress(unittest.TestCase):
    """build_targets with a ninja of the test's own in front of the real one."""

    def build(self, script, quiet="false", **others):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"ninja": script, **others}.items():
                program = pathlib.Path(folder, name)
                program.write_text("#!/usr/bin/env bash\n" + text, encoding="utf-8")
                program.chmod(0o755)
            done = run(["bash", "-c", f'set -euo pipefail; . "{ROOT}/resources/build.sh"; '
                        f'build_targets somewhere "{folder}/log" {quiet} program; echo built'],
                       PATH=f"{folder}:{os.environ['PATH']}")
            return done, pathlib.Path(folder, "log").read_text(encoding="utf-8")

    def test_says_each_tenth_once(self):
        done, log = self.build('for i in $(seq 40); do echo "@$i/40 Building $i"; done')
        self.assertEqual((done.returncode, done.stdout), (0, "built\n"))
        self.assertEqual(done.stderr.splitlines(), [f"Building Tapedeck: {10 * i} %" for i in range(1, 11)])
        self.assertEqual(len(log.splitlines()), 40)

    def test_is_silent_where_there_is_little_to_do(self):
        done, _ = self.build('echo "@1/2 Building"; echo "@2/2 Linking"')
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_failure_shows_the_compilers_words_alone(self):
        for quiet in ("false", "true"):
            done, _ = self.build('echo "@1/9 Building a"; echo "a.cpp:1: error: no"; exit 1', quiet)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("a.cpp:1: error: no", done.stderr)
            self.assertIn("The build failed", done.stderr)
            self.assertNotIn("Building a", done.stderr)

    def test_a_failure_names_a_full_disk(self):
        for free, named in ((0, True), (300, True), (5000, False)):
            df = f'echo "Filesystem 1024-blocks Used Available Capacity Mounted on"; echo "/dev/a 9 9 {free * 1024} 99% /"'
            done, _ = self.build('echo "ld terminated with signal 7 [Bus error]"; exit 1', df=df)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(f"disk is nearly full: {free} MB are free" in done.stderr, named, done.stderr)

    def test_the_time_left_is_told_in_words(self):
        for seconds, words in ((12, "less than a minute left"), (60, "about 1 min left"), (290, "about 5 min left")):
            done = run(["bash", "-c", f'. "{ROOT}/resources/build.sh"; time_left {seconds}'], PATH=os.environ["PATH"])
            self.assertEqual(done.stdout.strip(), words)


if __name__ == "__main__":
    unittest.main()
