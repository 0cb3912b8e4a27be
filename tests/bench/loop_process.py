"""A training loop in a process of its own that writes how long its steps take, for benchmarks that look at it from outside."""
import json
import os
import statistics
import subprocess
import sys
import threading
import time


class LoopProcess:
    """`code` writes a number a line, each for the steps of a window of time; `debug`: one can attach to it."""

    def __init__(self, code, argument, runtime, debug):
        environment = {**os.environ, "XDG_RUNTIME_DIR": runtime}
        environment.pop("TAPEDECK_DEBUG", None)
        if debug:
            environment["TAPEDECK_DEBUG"] = "1"
        self.process = subprocess.Popen([sys.executable, "-c", code, str(argument)], env=environment, stdout=subprocess.PIPE, text=True)
        self._windows = [float(self.process.stdout.readline())]  # it is warm
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._windows.append(float(line))

    def median(self, seconds):
        """Of what the windows say that begin within that time; of three at least."""
        begin = len(self._windows) + 1  # the next one began before
        until = time.monotonic() + seconds
        while time.monotonic() < until or len(self._windows) < begin + 3:
            if self.process.poll() is not None:
                raise RuntimeError("the loop has ended")
            time.sleep(0.01)
        return statistics.median(self._windows[begin:])

    def entry(self, runtime):
        """How to reach it, as its program.json says."""
        programs = os.path.join(runtime, "tapedeck", "programs")
        name = next(name for name in os.listdir(programs) if name.startswith(f"{self.process.pid}-"))
        with open(os.path.join(programs, name, "program.json"), encoding="utf-8") as file:
            return json.load(file)

    def end(self):
        self.process.kill()
        self.process.wait()
