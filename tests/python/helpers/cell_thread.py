"""A thread that runs code of a cell, for tests of what the debugger looks at."""
import json
import linecache
import threading
import time
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine
from tapedeck._session import console as session_console
from tapedeck._session import frames as session_frames
from tapedeck._session import moments, places

debug = _engine.debug


class CellThread(unittest.TestCase):

    def begin(self, code):
        debug.attach()
        debug.begin_cell("cell-1", "CELL")
        self.names = {"tf": tf, "np": np}
        self.failed = []
        linecache.cache["CELL"] = (len(code), None, code.splitlines(True), "CELL")
        session_frames.session.attach(self.names, {})
        moments.notes.clear()
        moments.note_cell("cell-1")

        def run():
            try:
                exec(compile(code, "CELL", "exec"), self.names)
            except BaseException as error:
                self.failed.append(error)
        self.thread = threading.Thread(target=run, name="user")

    def run_to_its_end(self, code):
        self.begin(code)
        self.thread.start()
        self.thread.join()
        self.assertEqual(self.failed, [])
        self.stop = 0

    def start(self, code, steps):
        self.begin(code)
        debug.gate("pause")
        self.thread.start()
        self.stop = 0
        for step in range(steps):
            if step:
                debug.gate("step_op")
            self.wait()

    def wait(self):
        give_up = time.monotonic() + 120
        while debug.status()["stopped_before"] in (0, self.stop):
            self.assertLess(time.monotonic(), give_up)
            time.sleep(0.002)
        self.stop = debug.status()["stopped_before"]
        moments.frames(self.stop, False, self.thread.ident, 0, 100, 0)  # as the window does at each stop

    def tearDown(self):
        if debug.attached():
            debug.gate("run")
            self.thread.join()
            debug.end_cell()
            debug.stop()
        session_frames.session.forget()
        session_frames.session.attach(None, {})
        moments.notes.clear()
        linecache.cache.pop("CELL", None)

    def thread_now(self):
        return self.thread.ident if self.stop else 0

    def rows(self, moment, kind, frame=0):
        place = places.PastPlace(self.stop, self.thread_now(), frame, kind, "", [], moment)
        return {row["name"]: row for row in place.page(0, 500)[1]}

    def evaluate(self, code, moment, statements=False):
        return session_console.evaluate(self.stop, self.thread_now(), 0, code, statements, moment)

    def assign(self, name, code, kind="locals", frame=0):
        return session_console.assign((self.stop, self.thread.ident, frame, kind, name, ()), code)

    def go_on(self):
        debug.gate("run")
        self.thread.join()
        self.assertEqual(self.failed, [])

    def numbers(self, op):
        """Of the records of that op."""
        return [record["number"] for record in json.loads(debug.records_json()) if record["op"] == op]
