"""Programs that the window can attach to: where they say so, what they record, and what becomes of it when they end or fork."""
import json
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from debug_client import Client

PATIENCE = 120  # seconds: a bound for a hang, not a measurement

LOOP = """
import os, sys, time
import tapedeck as tf

w = tf.Variable([1., 2.], name="w")
x = tf.constant([3., 4.])

def step():
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((w * x - 1.) ** 2)
    w.assign_sub(0.001 * tape.gradient(loss, w))

steps = 0
while not os.path.exists(sys.argv[1] + "/stop"):
    step()
    steps += 1
    if steps == 10 or os.path.exists(sys.argv[1] + "/ask"):
        with open(sys.argv[1] + "/steps.new", "w") as file:
            file.write(str(steps))
        os.replace(sys.argv[1] + "/steps.new", sys.argv[1] + "/steps")
    time.sleep(0.0005)
    if os.path.exists(sys.argv[1] + "/fork") and steps % 20 == 0:
        os.remove(sys.argv[1] + "/fork")
        child = os.fork()
        if child == 0:
            step()
            with open(sys.argv[1] + "/child", "w") as file:
                file.write(str(os.getpid()))
            time.sleep(float(os.environ.get("CHILD_SECONDS", "0")))
            sys.exit(0)
        if "CHILD_SECONDS" not in os.environ:
            os.waitpid(child, 0)
with open(sys.argv[1] + "/result", "w") as file:
    file.write(str(steps))
"""


class Attachable(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="td-")
        self.addCleanup(holder.cleanup)
        self.folder = holder.name
        self.runtime = os.path.join(self.folder, "run")
        os.mkdir(self.runtime, 0o700)
        self.programs = os.path.join(self.runtime, "tapedeck", "programs")

    def path(self, name):
        return os.path.join(self.folder, name)

    def start(self, code=LOOP, name="train.py", debug="1", before=(), **environment):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(code)
        process = subprocess.Popen([sys.executable, *before, self.path(name), self.folder], cwd=self.folder, stderr=subprocess.PIPE,
                                   env={**os.environ, "XDG_RUNTIME_DIR": self.runtime, "TAPEDECK_DEBUG": debug, **environment})

        def end():
            process.kill()
            process.wait()
            process.stderr.close()
        self.addCleanup(end)
        return process

    def wait_for(self, condition, process=None):
        give_up = time.monotonic() + PATIENCE
        while not condition():
            if process is not None and process.poll() is not None:
                self.fail(process.stderr.read().decode())
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.005)

    def entries(self):
        return sorted(os.listdir(self.programs)) if os.path.isdir(self.programs) else []

    def entry(self, process):
        def paths():
            return [os.path.join(self.programs, name, "program.json") for name in self.entries()
                    if name.startswith(f"{process.pid}-")]
        self.wait_for(lambda: any(os.path.exists(path) for path in paths()), process)
        self.wait_for(lambda: os.path.exists(self.path("steps")), process)
        with open(paths()[0], encoding="utf-8") as file:
            return json.load(file)

    def steps(self):
        """How many it has run now."""
        open(self.path("ask"), "w").close()
        before = os.stat(self.path("steps")).st_mtime_ns
        self.wait_for(lambda: os.stat(self.path("steps")).st_mtime_ns != before)
        with open(self.path("steps"), encoding="utf-8") as file:
            return int(file.read())

    def finish(self, process):
        open(self.path("stop"), "w").close()
        self.assertEqual(process.wait(PATIENCE), 0, process.stderr.read())

    def test_its_entry_is_the_users_alone_and_goes_with_it(self):
        process = self.start()
        entry = self.entry(process)
        folder = os.path.dirname(entry["endpoint"].removeprefix("ipc://"))
        for path in (self.programs, folder):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o700, path)
        for name in ("program.json", "debug"):
            self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, name)
        self.assertEqual((entry["pid"], entry["file"], entry["program"], entry["folder"]),
                         (process.pid, self.path("train.py"), [self.path("train.py"), self.folder], self.folder))
        self.assertEqual(len(bytes.fromhex(entry["key"])), 32)
        self.assertLess(abs(entry["started"] - time.time()), 60)
        self.finish(process)
        self.assertEqual(self.entries(), [])

    def test_without_the_switch_nothing_is_served(self):
        process = self.start(debug="0")
        self.wait_for(lambda: os.path.exists(self.path("steps")), process)
        self.assertEqual(self.entries(), [])
        self.finish(process)

    def test_it_records_while_somebody_is_attached_and_only_then(self):
        process = self.start()
        entry = self.entry(process)
        self.steps()
        with Client(entry) as client:
            # Nothing was recorded before: the first record is of this moment.
            status = client.wait_for(lambda status: status["records"] > 100)
            self.assertTrue(status["recording"])
            first = client.ask("get_records", first=1, count=1, with_previews=True)["records"][0]
            self.assertLess(first["number"], 2)
            client.ask("set_gate", command="pause")
            stopped = client.wait_for(lambda status: status["gate"] == "stopped")
            self.assertEqual(stopped["cell"], self.path("train.py"))
            self.assertEqual(stopped["running_cell"], self.path("train.py"))
            # What was made before it was attached to is a leaf: its value is here.
            records = client.ask("get_records", first=1, count=200, with_previews=True)["records"]
            product = next(one for one in records if one["op"] == "multiply" and not one["backward"])
            data = next(one for one in product["inputs"] if one["preview"] == "[3. 4.]")
            tile = client.ask("get_tile", tensor=data["id"], reshape=None, slice=None, row=0, column=0, rows=1, columns=2,
                              row_step=1, column_step=1, cell="mean")
            self.assertEqual(struct.unpack("<2d", tile["values"]), (3., 4.))
        # No client waits for one that has gone.
        before = self.steps()
        self.wait_for(lambda: self.steps() > before + 50, process)
        with Client(entry) as again:
            known = again.ask("get_status")["records"]
            again.wait_for(lambda status: status["records"] > known + 50)
            # The data comes again, as a leaf of this recording.
            newest = again.ask("get_records", first=known + 1, count=50, with_previews=True)["records"]
            self.assertIn("[3. 4.]", [one["preview"] for record in newest for one in record["inputs"]])
        self.finish(process)

    def test_who_attaches_and_goes_does_not_end_a_trace(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(LOOP)
        process = subprocess.Popen([sys.executable, "-m", "tapedeck", "--trace", self.path("run.tapetrace"), "train.py", self.folder],
                                   cwd=self.folder, stderr=subprocess.PIPE,
                                   env={**os.environ, "XDG_RUNTIME_DIR": self.runtime, "TAPEDECK_DEBUG": "1"})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        entry = self.entry(process)
        with Client(entry) as client:
            client.ask("set_gate", command="pause")
            known = client.wait_for(lambda status: status["gate"] == "stopped")["records"]
        before = self.steps()
        self.wait_for(lambda: self.steps() > before + 200, process)
        open(self.path("stop"), "w").close()
        said = process.communicate(timeout=PATIENCE)[1].decode()
        self.assertEqual(process.returncode, 0, said)
        records = int(re.search(r": ([0-9,]+) records", said)[1].replace(",", ""))
        self.assertGreater(records, known + 5 * 200)

    def test_breakpoints_of_who_is_gone_stop_nobody(self):
        process = self.start()
        entry = self.entry(process)
        breakpoint = dict(id=1, kind="line", cell=self.path("train.py"), line=10, target="", condition="", from_hit=1,
                          enabled=True, once=False, action="stop", text="")
        with Client(entry) as client:
            client.ask("set_breakpoints", breakpoints=[breakpoint], labels=[])
            stopped = client.wait_for(lambda status: status["gate"] == "stopped")
            self.assertEqual((stopped["line"], stopped["stop_breakpoints"]), (10, [1]))
        self.steps()  # it goes on as soon as the server has seen that the client is gone
        with Client(entry) as client:
            known = client.ask("get_status")["records"]
            client.wait_for(lambda status: status["records"] > known + 100)
        self.finish(process)

    def test_a_forked_child_is_another_program(self):
        process = self.start(CHILD_SECONDS="30")
        entry = self.entry(process)
        with Client(entry) as client:
            client.wait_for(lambda status: status["records"] > 20)
            open(self.path("fork"), "w").close()
            client.wait_for(lambda status: os.path.exists(self.path("child")) and
                            any(kind == "failure" for kind, _, _ in client.unasked))
            sentence = next(body["reason"] for kind, _, body in client.unasked if kind == "failure")
            self.assertIn("made a copy of itself (fork)", sentence)
            self.wait_for(lambda: os.path.getsize(self.path("child")) > 0)
            with open(self.path("child"), encoding="utf-8") as file:
                child = int(file.read())
            # The sockets of its parent are not the child's.
            inodes = {os.readlink(f"/proc/{child}/fd/{name}") for name in os.listdir(f"/proc/{child}/fd")}
            with open(f"/proc/{child}/net/unix", encoding="utf-8") as file:
                ours = {f"socket:[{line.split()[6]}]" for line in file if line.rstrip().endswith(entry["endpoint"][6:])}
            self.assertTrue(ours)
            self.assertEqual(inodes & ours, set())
            known = client.ask("get_status")["records"]
            client.wait_for(lambda status: status["records"] > known + 50)
        os.kill(child, signal.SIGTERM)
        self.assertEqual(len(self.entries()), 1)
        self.finish(process)

    def test_a_child_that_ends_leaves_its_parents_entry(self):
        process = self.start()
        entry = self.entry(process)
        open(self.path("fork"), "w").close()
        self.wait_for(lambda: os.path.exists(self.path("child")), process)
        before = self.steps()
        self.wait_for(lambda: self.steps() > before + 20, process)
        self.assertEqual(len(self.entries()), 1)
        with Client(entry) as client:
            client.wait_for(lambda status: status["records"] > 20)
        self.finish(process)

    def test_folders_that_others_could_have_made_are_left_alone(self):
        entry = os.path.join(self.programs, f"{os.getpid()}-1")
        os.makedirs(entry, 0o700)
        linked = os.path.join(self.folder, "elsewhere")
        os.makedirs(os.path.join(linked, f"{os.getpid()}-1"), 0o700)
        for folder in (os.path.dirname(self.programs), self.programs, linked):
            os.chmod(folder, 0o700)
        code = "from tapedeck._session import attachable\nattachable.remove_stale()"

        def remove():
            self.assertEqual(self.start(code, debug="0").wait(PATIENCE), 0)

        os.chmod(self.programs, 0o755)
        remove()
        self.assertEqual(os.listdir(self.programs), [os.path.basename(entry)])
        os.chmod(self.programs, 0o700)
        remove()
        self.assertEqual(os.listdir(self.programs), [])
        os.rmdir(self.programs)
        os.symlink(linked, self.programs)
        remove()
        self.assertEqual(os.listdir(linked), [os.path.basename(entry)])

    def test_nothing_is_removed_through_a_link(self):
        code = "from tapedeck._session import attachable\nattachable.remove_stale()"
        gone = "4999999-17"
        for level in range(3):
            with self.subTest(level=level):
                linked, shared = self.path(f"linked{level}"), self.path(f"shared{level}")
                os.makedirs(os.path.join(linked, "programs", gone), 0o700)
                for folder in (linked, os.path.join(linked, "programs")):
                    os.chmod(folder, 0o700)
                open(os.path.join(linked, "programs", gone, "debug"), "w").close()
                names = ["tapedeck", "programs", gone]
                os.makedirs(os.path.join(shared, *names[:level]), 0o700)
                os.symlink(os.path.join(linked, *names[1:level + 1]), os.path.join(shared, *names[:level + 1]))
                self.assertEqual(self.start(code, debug="0", XDG_RUNTIME_DIR=shared).wait(PATIENCE), 0)
                self.assertTrue(os.path.exists(os.path.join(linked, "programs", gone, "debug")))

    def test_only_files_of_an_entry_are_removed(self):
        code = "from tapedeck._session import attachable\nattachable.remove_stale()"
        kept = {"4999999-17": ["mine"], "04999999-17": ["debug"], "+4999999-17": ["debug"], "\u0664-17": ["debug"]}
        for name in kept:
            os.makedirs(os.path.join(self.programs, name), 0o700)
            open(os.path.join(self.programs, name, "debug"), "w").close()
        open(os.path.join(self.programs, "4999999-17", "mine"), "w").close()
        for folder in (os.path.dirname(self.programs), self.programs):
            os.chmod(folder, 0o700)
        self.assertEqual(self.start(code, debug="0").wait(PATIENCE), 0)
        self.assertEqual({name: os.listdir(os.path.join(self.programs, name)) for name in self.entries()}, kept)

    def test_where_the_name_is_taken_it_is_found_in_the_cache_folder(self):
        """The app looks there too: tests/kernel/tst_program_list.cpp."""
        os.symlink(self.folder, os.path.join(self.runtime, "tapedeck"))
        cache = self.path("cache")
        code = "from tapedeck._session import endpoint\nplaces = endpoint.base_folders()\n" \
               "endpoint.base_folders = lambda: [places[0], places[-1]]\n" \
               "from tapedeck._session import attachable\nattachable.start()\nprint(attachable._entry.folder, flush=True)\ninput()\n"
        process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "XDG_RUNTIME_DIR": self.runtime, "XDG_CACHE_HOME": cache, "TAPEDECK_DEBUG": "0"})
        folder = process.stdout.readline().strip()
        self.assertEqual(os.path.dirname(folder), os.path.join(cache, "tapedeck", "run", "programs"))
        self.assertEqual(sorted(os.listdir(folder)), ["debug", "program.json"])
        process.communicate("\n", timeout=PATIENCE)
        self.assertFalse(os.path.exists(folder))

    def test_entries_of_dead_programs_are_cleaned_up(self):
        killed = self.start()
        self.entry(killed)
        killed.kill()
        killed.wait()
        self.assertEqual(len(self.entries()), 1)
        # A process id that is reused by a later process is recognised by its start time.
        os.mkdir(os.path.join(self.programs, f"{os.getpid()}-1"), 0o700)
        process = self.start(name="other.py")
        self.entry(process)
        self.assertEqual([name.partition("-")[0] for name in self.entries()], [str(process.pid)])
        self.finish(process)

    def test_a_folder_that_is_not_the_users_is_refused_by_name(self):
        with open(os.path.join(self.runtime, "tapedeck"), "w", encoding="utf-8") as file:
            file.write("no folder")
        blocked = os.path.join(self.folder, "tmp")
        os.mkdir(blocked)
        with open(os.path.join(blocked, f"tapedeck-{os.geteuid()}"), "w", encoding="utf-8") as file:
            file.write("no folder")
        code = "from tapedeck._session import endpoint as session_endpoint\n" \
               "session_endpoint.base_folders = lambda original=session_endpoint.base_folders: original()[:2]\n" \
               "from tapedeck._session import attachable\nattachable.start()\nimport tapedeck as tf\nprint(tf.constant(1.) + 1.)\n"
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                env={**os.environ, "XDG_RUNTIME_DIR": self.runtime, "TMPDIR": blocked, "TAPEDECK_DEBUG": "0"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("no window can attach to this program (TAPEDECK_DEBUG=1): no folder for the debug server's socket",
                      result.stderr)

    def test_a_program_of_tensorflow_is_told_by_its_own_file(self):
        with open(self.path("train.py"), "w", encoding="utf-8") as file:
            file.write(LOOP.replace("import tapedeck as tf", "import tensorflow as tf"))
        process = subprocess.Popen([sys.executable, "-m", "tapedeck", "--as-tensorflow", "train.py", self.folder], cwd=self.folder,
                                   env={**os.environ, "XDG_RUNTIME_DIR": self.runtime, "TAPEDECK_DEBUG": "1"})
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        entry = self.entry(process)
        self.assertEqual((entry["file"], entry["program"]), (self.path("train.py"), ["train.py", self.folder]))
        open(self.path("stop"), "w").close()
        self.assertEqual(process.wait(PATIENCE), 0)


if __name__ == "__main__":
    unittest.main()
