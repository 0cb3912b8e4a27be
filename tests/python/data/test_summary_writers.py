"""Writers of summaries: their files' names, when what waits is written, threads, ends of programs, and damaged files."""
import os
import subprocess
import sys
import threading
import time
import unittest

import event_reader

import tapedeck as tf
from summary_files import Files
from tapedeck.contrib import summary as first


class Writers(Files):
    def test_files_have_names_that_tensorboard_finds_and_no_two_the_same(self):
        paths = [tf.summary.create_file_writer(os.path.join(self.folder, "deep", "er"),
                                               filename_suffix=".mine").path for _ in range(3)]
        self.assertEqual(len(set(paths)), 3)
        for path in paths:
            self.assertRegex(os.path.basename(path), r"^events\.out\.tfevents\.\d{10}\..*\.mine$")
            self.assertEqual(event_reader.events_of_file(path)[0].version, b"brain.Event:2")

    def test_without_a_queue_each_event_is_in_the_file_at_once(self):
        with tf.summary.create_file_writer(self.folder, max_queue=0).as_default(step=0):
            for count in range(1, 4):
                tf.summary.scalar("s", 1.)
                self.assertEqual(len(self.written()), count)

    def test_a_full_queue_is_handed_over_and_a_flush_does_it_before(self):
        writer = tf.summary.create_file_writer(self.folder, max_queue=4)
        with writer.as_default(step=0):
            for _ in range(5):
                tf.summary.scalar("s", 1.)
            self.assertEqual(len(self.written()), 5)
            tf.summary.scalar("s", 1.)
            tf.summary.flush()
            self.assertEqual(len(self.written()), 6)
            tf.summary.scalar("s", 1.)
            tf.summary.flush(writer)
            self.assertEqual(len(self.written()), 7)
        writer.close()
        writer.close()
        writer.flush()
        with self.assertRaisesRegex(RuntimeError, "is already closed"):
            writer.as_default()
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, "is closed"):
            writer.add(0, b"")

    def test_what_waits_is_written_by_itself_in_time(self):
        with tf.summary.create_file_writer(self.folder, flush_millis=1).as_default(step=0):
            tf.summary.scalar("s", 1.)
            deadline = time.monotonic() + 120
            while not self.written() and time.monotonic() < deadline:
                pass
            self.assertEqual(len(self.written()), 1)

    def test_a_program_that_ends_leaves_nothing_behind(self):
        code = f"import tapedeck as tf\nw = tf.summary.create_file_writer({self.folder!r})\nw.set_as_default(step=1)\n" \
               "for i in range(7): tf.summary.scalar('s', i)\n"
        subprocess.run([sys.executable, "-B", "-c", code], check=True, timeout=200)
        self.assertEqual([float(value.tensor) for _, value in self.written()], list(range(7)))

    def test_threads_may_share_a_writer(self):
        writer = tf.summary.create_file_writer(self.folder, max_queue=3)

        def write(number):
            with writer.as_default():
                for step in range(200):
                    tf.summary.scalar(f"of {number}", step, step=step)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        writer.close()
        for number in range(4):
            self.assertEqual([step for step, value in self.written() if value.tag == f"of {number}"], list(range(200)))

    def test_folders_that_cannot_be_made_are_named(self):
        file = os.path.join(self.folder, "file")
        open(file, "w", encoding="utf-8").close()
        with self.assertRaisesRegex(tf.errors.FailedPreconditionError, f"create_file_writer: {file} is not a folder"):
            tf.summary.create_file_writer(file)
        with self.assertRaisesRegex(tf.errors.OpError, "create_file_writer: .*file/inside"):
            tf.summary.create_file_writer(os.path.join(file, "inside"))
        with self.assertRaisesRegex(tf.errors.NotFoundError, "a/b"):
            first.create_file_writer(os.path.join(self.folder, "a", "b"))
        with self.assertRaisesRegex(ValueError, "logdir is None"):
            tf.summary.create_file_writer(None)
        with self.assertRaisesRegex(ValueError, "max_queue is -1"):
            tf.summary.create_file_writer(self.folder, max_queue=-1)

    def test_the_reader_of_these_tests_notices_every_damaged_byte(self):
        writer = tf.summary.create_file_writer(self.folder)
        with writer.as_default(step=0):
            tf.summary.scalar("s", 1.)
        writer.close()
        with open(writer.path, "rb") as file:
            whole = file.read()
        self.assertEqual(len(list(event_reader.records(whole))), 2)
        for place in range(len(whole)):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << place % 8
            with self.assertRaises(ValueError):
                list(event_reader.records(bytes(damaged)))
        frame = 16 + len(next(event_reader.records(whole)))
        for length in range(1, len(whole)):
            if length != frame:
                with self.assertRaises(ValueError):
                    list(event_reader.records(whole[:length]))


if __name__ == "__main__":
    unittest.main()
