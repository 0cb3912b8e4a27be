"""tf.saved_model when things go wrong: what cannot be saved, what is not a saved model, damage, failing disks, two writers."""
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np

import tapedeck as tf
from campaign import Campaign
from test_saved_models import Network, SavedTest, X


def line_of(text):
    """The number of the line of this file that has the text."""
    with open(__file__, encoding="utf-8") as file:
        return next(number for number, line in enumerate(file, 1) if text in line and "line_of" not in line)


class Line(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(1000, dtype=np.float32))

    @tf.function(input_signature=[tf.TensorSpec([])])
    def f(self, x):
        return tf.reduce_sum(self.w) * x


class Refusals(SavedTest):
    def assert_refused(self, thing, error, pattern):
        with self.assertRaisesRegex(error, pattern):
            self.saved(thing)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "model")))

    def test_calls_of_the_program_are_refused_with_their_line(self):
        module = tf.Module()
        module.f = tf.function(lambda x: tf.py_function(lambda y: y, [x], tf.float32), input_signature=[tf.TensorSpec([])])  # python
        self.assert_refused(module, tf.errors.UnimplementedError,
                            rf"cannot be saved: it calls '.*' \(.*test_saved_trouble.py:{line_of('# python')}\), which needs the program")

        @tf.function(input_signature=[tf.TensorSpec([])])
        def printed(x):
            if x > 0:
                tf.print(x)  # printed here
            return x

        module.f = printed
        self.assert_refused(module, tf.errors.UnimplementedError, rf"it calls 'print' \(.*:{line_of('# printed here')}\)")
        module.f = tf.function(lambda: tf.data.Dataset.range(3).reduce(np.int64(0), lambda a, b: a + b), input_signature=[])
        self.assert_refused(module, tf.errors.UnimplementedError, "cannot be saved: it calls 'iterator'")

    def test_what_could_not_be_loaded_again_leaves_the_older_model(self):
        good = tf.Module()
        good.v = tf.Variable(7.)
        for name in ("itself", "deep", "surrogate"):
            with self.subTest(name):
                module, path = tf.Module(), os.path.join(self.folder, name)
                tf.saved_model.save(good, path)
                module.parts = []
                if name == "itself":
                    module.parts.append(module.parts)
                elif name == "deep":
                    inner = module.parts
                    for _ in range(300):
                        inner.append([])
                        inner = inner[0]
                else:
                    module.parts.append("\ud800")
                with self.assertRaisesRegex(Exception, "that is in itself|nest deeper than 100|not Unicode"):
                    tf.saved_model.save(module, path)
                self.assertEqual(tf.saved_model.load(path).v.numpy(), 7.)

    def test_large_integers_come_back(self):
        module = tf.Module()
        module.numbers = [10**30, -(10**30), 2**63 - 1, -2**63, 2**63]
        self.assertEqual(list(self.saved(module).numbers), list(module.numbers))

    def test_other_files_of_the_folder_stay(self):
        path = os.path.join(self.folder, "shared")
        os.mkdir(path)
        names = ["weights-20261129.safetensors", "weights-epoch_10.safetensors", "weights.new.safetensors", "notes.txt"]
        for name in names:
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write("mine")
        for value in (1., 2.):
            module = tf.Module()
            module.v = tf.Variable(value)
            tf.saved_model.save(module, path)
            found = os.listdir(path)
            self.assertEqual(len(found), len(names) + 2, found)  # the older model's weights are gone
            self.assertLessEqual(set(names), set(found))
        for wrong in ("", "a\0b"):
            with self.assertRaisesRegex(ValueError, "which is no path"):
                tf.saved_model.save(module, wrong)

    def test_variables_that_the_object_does_not_have(self):
        other = tf.Variable(1., name="other")
        module = tf.Module()
        module.f = tf.function(lambda x: x * other, input_signature=[tf.TensorSpec([])])
        self.assert_refused(module, AssertionError, r"Tried to export a function which references an 'untracked' resource: the root\.f "
                            "uses the variable 'other:0'")

    def test_objects_that_cannot_be_saved(self):
        for thing in (3, "text", tf.function(lambda x: x), [tf.Variable(1.)]):
            with self.assertRaisesRegex(ValueError, "Expected an object of type `Trackable`"):
                tf.saved_model.save(thing, self.folder)
        with self.assertRaisesRegex(TypeError, "a saved model's folder is 3; needs a str"):
            tf.saved_model.save(tf.Module(), 3)

    def test_a_function_that_cannot_be_traced_again_is_not_left_out_silently(self):
        module = tf.Module()
        module.f = tf.function(lambda x, y: x + len(y))
        module.f(1., ["a"])
        module.f(tf.constant(2.), object.__new__(type("Sized", (), {"__len__": lambda self: 3})))
        with self.assertWarnsRegex(UserWarning, r"a trace of the root\.f is left out: it takes <Sized object>, which saved models lack"):
            again = self.saved(module)
        self.assertEqual(float(again.f(1., ["a"])), 2)

    def test_what_is_not_a_saved_model(self):
        with self.assertRaisesRegex(tf.errors.NotFoundError, "there is no such folder"):
            tf.saved_model.load(os.path.join(self.folder, "none"))
        with self.assertRaisesRegex(tf.errors.NotFoundError, "is not a saved model"):
            tf.saved_model.load(self.folder)
        self.assertFalse(tf.saved_model.contains_saved_model(self.folder))
        with open(os.path.join(self.folder, "saved_model.pb"), "wb"):
            pass
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "is a SavedModel of TensorFlow, whose graphs name TensorFlow's own "
                                    "kernels.*save the model with Tapedeck, or load its weights"):
            tf.saved_model.load(self.folder)
        tf.saved_model.save(Line(), self.folder)
        self.assertTrue(tf.saved_model.contains_saved_model(self.folder))


class Disks(SavedTest):
    def test_a_failed_save_leaves_the_old_model(self):
        line = Line()
        path = os.path.join(self.folder, "model")
        tf.saved_model.save(line, path)
        files = sorted(os.listdir(path))
        line.w.assign(line.w * 2.)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            for limit in (100, 3000, 4500):  # in the weights, and in the graphs behind them
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
                with self.assertRaises(tf.errors.ResourceExhaustedError):
                    tf.saved_model.save(Big(line) if limit == 4500 else line, path)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        self.assertEqual(sorted(os.listdir(path)), files)
        self.assertEqual(float(tf.saved_model.load(path).f(1.)), 499500)
        tf.saved_model.save(line, path)
        self.assertEqual(len(os.listdir(path)), 2)
        self.assertEqual(float(tf.saved_model.load(path).f(1.)), 999000)

    def test_who_loads_while_others_save_has_one_model(self):
        path = os.path.join(self.folder, "model")
        tf.saved_model.save(Line(), path)
        code = ("import sys, numpy as np, tapedeck as tf\n"
                "sys.path.insert(0, sys.argv[2])\n"
                "from test_saved_trouble import Line\n"
                "line = Line()\n"
                "for k in range(15):\n"
                "    line.w.assign(np.full(1000, float(sys.argv[3]) + k, np.float32))\n"
                "    tf.saved_model.save(line, sys.argv[1])\n")
        writers = [subprocess.Popen([sys.executable, "-B", "-c", code, path, os.path.dirname(os.path.abspath(__file__)), str(k * 100)],
                                    stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) for k in (1, 2)]
        while any(writer.poll() is None for writer in writers):
            found = tf.saved_model.load(path).w.numpy()
            self.assertTrue(np.all(found == found[0]) or found[0] == 0)
        for writer in writers:
            errors = writer.communicate()[1]
            self.assertEqual((writer.returncode, errors), (0, b""))
        self.assertEqual(len(os.listdir(path)), 2)

    def test_a_process_that_is_killed_while_it_saves_leaves_a_whole_model(self):
        path = os.path.join(self.folder, "model")
        kills = Campaign("saved_model_kills", "kills while a process saves", 3, 60, "further random moments")
        chance = kills.random()
        code = ("import itertools, sys, numpy as np, tapedeck as tf\n"
                "sys.path.insert(0, sys.argv[2])\n"
                "from test_saved_trouble import Line\n"
                "line = Line()\n"
                "for k in itertools.count(1):\n"
                "    line.w.assign(np.full(1000, float(k), np.float32))\n"
                "    tf.saved_model.save(line, sys.argv[1])\n"
                "    print(k, flush=True)\n")
        for _ in range(kills.count):
            with subprocess.Popen([sys.executable, "-B", "-c", code, path, os.path.dirname(os.path.abspath(__file__))], text=True,
                                  stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}) as writer:
                for _ in range(chance.randrange(1, 8)):
                    saved = int(writer.stdout.readline())
                time.sleep(chance.random() * .005)
                writer.kill()
                rest = writer.stdout.read().split()
            saved = int(rest[-1]) if rest else saved
            found = tf.saved_model.load(path).w.numpy()
            self.assertIn(found[0], (saved, saved + 1))
            self.assertTrue(np.all(found == found[0]))
        tf.saved_model.save(Line(), path)
        self.assertEqual(len([name for name in os.listdir(path) if name.startswith("weights-")]), 1)

    def test_threads_share_a_loaded_function(self):
        again, wrong = self.saved(Line()), []

        def call(k):
            for _ in range(50):
                if float(again.f(float(k))) != 499500 * k:
                    wrong.append(k)

        threads = [threading.Thread(target=call, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class Big(tf.Module):
    """Its graphs take more bytes than its weights."""

    def __init__(self, line):
        super().__init__()
        self.w = tf.Variable(1.)

        def many(x):
            for _ in range(60):
                x = tf.sin(x) * self.w
            return x

        self.f = tf.function(many, input_signature=[tf.TensorSpec([])])


def crc32c(data):
    table = []
    for number in range(256):
        for _ in range(8):
            number = (number >> 1) ^ (0x82f63b78 if number & 1 else 0)
        table.append(number)
    found = 0xffffffff
    for byte in data:
        found = table[(found ^ byte) & 255] ^ (found >> 8)
    return found ^ 0xffffffff


class Lies(SavedTest):
    """Objects that no save wrote, with checksums that fit."""

    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.folder, "model")
        network = Network()
        network(X)
        network.power(tf.constant(1.))
        network.rows = None
        tf.saved_model.save(network, self.path)
        with open(os.path.join(self.path, "model.json"), encoding="utf-8") as file:
            self.described = json.loads(file.read())

    def write(self, objects):
        rest = {key: value for key, value in self.described.items() if key not in ("format", "version", "crc32c")}
        text = json.dumps({**rest, "objects": objects}, separators=(",", ":"))[1:]
        head = f'{{"format":"tapedeck saved model","version":1,"crc32c":"{crc32c(text.encode()):08x}",\n'
        with open(os.path.join(self.path, "model.json"), "w", encoding="utf-8") as file:
            file.write(head + text)

    def places(self, value, found):
        if isinstance(value, (dict, list)):
            for key in (list(value) if isinstance(value, dict) else range(len(value))):
                found.append((value, key))
                self.places(value[key], found)
        return found

    def test_objects_that_lie_are_refused_or_loaded(self):
        lies = Campaign("saved_objects_lies", "changed descriptions of objects", 150, 5_000, "further random changes")
        chance, refused = lies.random(), 0
        for _ in range(lies.count):
            objects = json.loads(json.dumps(self.described["objects"]))
            places = self.places({"objects": objects}, [])
            container, key = chance.choice(places[1:])
            other, other_key = chance.choice(places)
            container[key] = chance.choice([None, -1, 7, 2**70, "text", [], {}, {"node": 0}, {"list": [1]}, json.loads(json.dumps(
                other[other_key]))])
            self.write(objects)
            try:
                again = tf.saved_model.load(self.path)
                again(tf.constant(X))
            except (tf.errors.OpError, ValueError, TypeError, AttributeError) as error:
                refused += 1
                if not isinstance(error, (TypeError, AttributeError)):
                    self.assertTrue(str(error))
        self.assertGreater(refused, lies.count // 4)
        self.write(self.described["objects"])
        tf.saved_model.load(self.path)(X)


if __name__ == "__main__":
    unittest.main()
