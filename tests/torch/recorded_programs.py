"""Programs whose records a test looks at, in the interpreter that TAPEDECK_TORCH names."""
import json
import subprocess
import textwrap
import unittest

from torch_interpreter import TORCH, environment, needs_module

# Runs programs from standard input, each a line of JSON, [name, program, what comes before recording], in forks of one process: an
# import of PyTorch takes longer than any of them.
RUNNER = """
import io, json, os, sys, threading, traceback, unittest
import torch
from tapedeck import _engine
from tapedeck._session import torch_programs
debug = _engine.debug

def records(**wanted):
    found = json.loads(debug.records_json())
    return [one for one in found if all(one.get(name) == value for name, value in wanted.items())]

def preview(tensor):
    return tensor["preview"].strip("[]")

def asking():
    "A client of this process's own debug server, as a window has one."
    import secrets, tempfile
    from debug_client import Client
    entry = dict(endpoint=f"ipc://{tempfile.mkdtemp(prefix='td-')}/s", key=secrets.token_hex(16),
                 protocol_version=debug.PROTOCOL_VERSION)
    debug.start(entry["endpoint"], entry["key"].encode())
    return Client(entry, 60)

for line in sys.stdin:
    name, program, before = json.loads(line)
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        torch.set_num_threads(1)
        problem = skipped = ""
        try:
            exec(before)
            if not debug.recording():  # which asking() begins, too
                debug.attach(files_are_cells=True)
            torch_programs.install()
            exec(compile(program, name, "exec"), globals())
        except unittest.SkipTest as reason:
            skipped = str(reason)
        except BaseException:
            problem = traceback.format_exc()
        print(json.dumps([name, problem, skipped]), flush=True)
        os._exit(0)
    _, status = os.waitpid(process, 0)
    if status != 0:
        print(json.dumps([name, f"the process ended with status {status}", ""]), flush=True)
"""


@needs_module
class RecordedPrograms(unittest.TestCase):
    maxDiff = None
    modules = ()  # folders of what the programs import

    @classmethod
    def setUpClass(cls):
        variables = environment()
        variables["PYTHONPATH"] = ":".join(filter(None, [variables.get("PYTHONPATH"), *map(str, cls.modules)]))
        cls.runner = subprocess.Popen([TORCH, "-c", RUNNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
        cls.addClassCleanup(cls.end)

    @classmethod
    def end(cls):
        cls.runner.stdin.close()
        cls.runner.stdout.close()
        cls.runner.wait(timeout=60)

    def check(self, program, before=""):
        self.runner.stdin.write(json.dumps([self.id(), textwrap.dedent(program), before]) + "\n")
        self.runner.stdin.flush()
        _, problem, skipped = json.loads(self.runner.stdout.readline())
        self.assertEqual(problem, "")
        if skipped:
            self.skipTest(skipped)
