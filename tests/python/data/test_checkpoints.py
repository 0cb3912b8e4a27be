"""What objects hold comes back from a checkpoint by structure, all of it or nothing."""
import gc
import json
import os
import unittest

import numpy as np

import tapedeck as tf
from checkpoint_objects import X, Counter, Dense, InFolder, Momentum, Network, values
from tapedeck._checkpoint import weights
from tapedeck._core.trackable import Trackable
import safetensors_parser


class RoundTrip(InFolder):
    def test_every_dtype_and_shape(self):
        names = [name for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
                                   "bfloat16", "float32", "float64", "complex64", "complex128") if hasattr(tf, name)]
        numbers = {f"{name}_{i}": tf.cast(tf.constant(np.random.RandomState(i).randint(0, 2, shape)), name)
                   for name in names for i, shape in enumerate([(), (3,), (0, 2), (2, 1, 3)])}
        path = tf.train.Checkpoint(all={name: tf.Variable(value) for name, value in numbers.items()}).save(self.path)
        back = {name: tf.Variable(tf.zeros_like(value)) for name, value in numbers.items()}
        tf.train.Checkpoint(all=back).restore(path).assert_consumed()
        for name, value in numbers.items():
            np.testing.assert_array_equal(back[name].numpy(), value.numpy())

    def test_strings(self):
        text = tf.Variable([["a", "b\0"], ["", "ü"]])
        path = tf.train.Checkpoint(text=text).save(self.path)
        other = tf.Variable([["", ""], ["", ""]])
        tf.train.Checkpoint(text=other).restore(path).assert_consumed()
        self.assertEqual(other.numpy().tolist(), text.numpy().tolist())

    def test_save_numbers_checkpoints_and_returns_what_restore_takes(self):
        v = tf.Variable(1.)
        saver = tf.train.Checkpoint(v=v)
        self.assertEqual(saver.save(self.path), self.path + "-1")
        v.assign(2.)
        self.assertEqual(saver.save(self.path), self.path + "-2")
        self.assertEqual((int(saver.save_counter), saver.save_counter.dtype), (2, tf.int64))
        self.assertEqual(sorted(os.listdir(self.folder)), ["checkpoint", "ckpt-1.safetensors", "ckpt-2.safetensors"])
        self.assertEqual(tf.train.latest_checkpoint(self.folder), self.path + "-2")
        other = tf.train.Checkpoint(v=tf.Variable(0.))
        other.restore(self.path + "-1.safetensors").assert_consumed()
        self.assertEqual((float(other.v), int(other.save_counter)), (1., 1))
        self.assertEqual(other.save(self.path), self.path + "-2")

    def test_write_and_read_do_not_count(self):
        saver = tf.train.Checkpoint(v=tf.Variable(1.))
        self.assertEqual(saver.write(self.path), self.path)
        self.assertEqual(os.listdir(self.folder), ["ckpt.safetensors"])
        other = tf.train.Checkpoint(v=tf.Variable(0.))
        other.read(self.path).assert_consumed()
        self.assertEqual(float(other.v), 1.)

    def test_other_tools_read_the_weights_under_readable_names(self):
        network = Network(3, 2)
        network(X)
        odd = {"a/b": tf.Variable(1.), "a.b": tf.Variable(2.), ".": tf.Variable(3.)}
        path = tf.train.Checkpoint(model=network, odd=odd).save(self.path)
        tensors, metadata = safetensors_parser.parse(path + ".safetensors")
        self.assertEqual(set(tensors), {"model/layers/0/kernel", "model/layers/0/bias", "model/layers/1/kernel",
                                        "model/layers/1/bias", "odd/a.Sb", "odd/a..b", "odd/..", "save_counter"})
        np.testing.assert_array_equal(tensors["model/layers/1/kernel"], network.layers[1].kernel.numpy())
        self.assertEqual(json.loads(metadata["tapedeck.object_graph"])["version"], 1)

    def test_an_object_in_two_places_is_saved_once_and_stays_one(self):
        shared = Dense(3)
        shared(X)
        one = tf.train.Checkpoint(a=shared, b=[shared, {"again": shared.kernel}])
        path = one.save(self.path)
        self.assertEqual([name for name, _ in tf.train.list_variables(path)], ["a/bias", "a/kernel", "save_counter"])
        other = Dense(3)
        tf.train.Checkpoint(b=[other]).restore(path).assert_existing_objects_matched()
        self.assertEqual(other(X).numpy().tolist(), shared(X).numpy().tolist())

    def test_two_objects_where_the_file_has_one_get_the_first_alone(self):
        shared = tf.Variable(5.)
        path = tf.train.Checkpoint(a=shared, b=shared).save(self.path)
        a, b = tf.Variable(0.), tf.Variable(1.)
        status = tf.train.Checkpoint(a=a, b=b).restore(path)
        self.assertEqual((float(a), float(b)), (5., 1.))
        with self.assertRaisesRegex(AssertionError, "1 Python objects that were not bound .* b "):
            status.assert_existing_objects_matched()

    def test_circles(self):
        def ring():
            first, second = tf.Module(), tf.Module()
            first.next, second.next, first.itself = second, first, first
            first.v, second.v = tf.Variable(0.), tf.Variable(0.)
            first.list = [first, [second]]
            first.list.append(first.list)
            return first
        saved = ring()
        saved.v.assign(1.), saved.next.v.assign(2.)
        path = tf.train.Checkpoint(ring=saved).save(self.path)
        other = ring()
        tf.train.Checkpoint(ring=other).restore(path).assert_consumed()
        self.assertEqual((float(other.v), float(other.next.v)), (1., 2.))

    def test_an_objects_own_state(self):
        counter = Counter()
        next(counter), next(counter)
        path = tf.train.Checkpoint(counter=counter).save(self.path)
        other = Counter()
        tf.train.Checkpoint(counter=other).restore(path).assert_consumed()
        self.assertEqual((other.place, other.buffer.tolist()), (2, [3., 3.]))
        self.assertEqual(tf.train.load_variable(path, "counter/.ATTRIBUTES/buffer").tolist(), [3., 3.])

    def test_state_that_cannot_be_saved_is_named(self):
        class Odd(Trackable):
            def _own_state(self):
                return {"set": {1, 2}}
        with self.assertRaisesRegex(TypeError, "state 'set' of a/b, a Odd, cannot be saved"):
            tf.train.Checkpoint(a={"b": Odd()}).save(self.path)
        self.assertEqual(os.listdir(self.folder), [])

    def test_python_state(self):
        class Log(tf.train.experimental.PythonState):
            lines = []

            def serialize(self):
                return json.dumps(self.lines)

            def deserialize(self, text):
                self.lines = json.loads(text)
        log = Log()
        log.lines = ["a", 3]
        path = tf.train.Checkpoint(log=log).save(self.path)
        other = Log()
        tf.train.Checkpoint(log=other).restore(path).assert_consumed()
        self.assertEqual(other.lines, ["a", 3])

    def test_a_root_of_ones_own(self):
        network = Network(3)
        network(X)
        saver = tf.train.Checkpoint(network, step=tf.Variable(4))
        path = saver.save(self.path)
        self.assertEqual([name for name, _ in tf.train.list_variables(path)],
                         ["layers/0/bias", "layers/0/kernel", "save_counter", "step"])
        other = Network(3)
        back = tf.train.Checkpoint(other, step=tf.Variable(0))
        status = back.restore(path)
        self.assertEqual((int(back.step), int(back.save_counter)), (4, 1))
        other(X)
        status.assert_consumed()
        self.same(other, network)
        with self.assertRaisesRegex(ValueError, "root.layers already exists"):
            tf.train.Checkpoint(other, layers=tf.Variable(1.))

    def test_what_cannot_be_saved_is_refused_at_once(self):
        for value in (3, "text", np.zeros(3), None, tf.zeros([2])):
            with self.assertRaisesRegex(ValueError, "was expecting x to be a trackable object"):
                tf.train.Checkpoint(x=value)
        with self.assertRaisesRegex(ValueError, "was expecting root"):
            tf.train.Checkpoint(3)
        with self.assertRaisesRegex(ValueError, "two keys whose text is '1'"):
            tf.train.Checkpoint(x={1: tf.Variable(1.), "1": tf.Variable(2.)}).save(self.path)

    def test_a_save_that_fails_is_not_counted(self):
        saver = tf.train.Checkpoint(v=tf.Variable(1.))
        open(os.path.join(self.folder, "file"), "w").close()
        with self.assertRaises(tf.errors.FailedPreconditionError):
            saver.save(os.path.join(self.folder, "file", "x"))
        self.assertEqual(int(saver.save_counter), 0)

    def test_saving_is_seen_by_no_tape(self):
        v = tf.Variable(3.)
        with tf.GradientTape() as tape:
            tf.train.Checkpoint(v=v).save(self.path)
            self.assertEqual(tape.watched_variables(), ())


class AllOrNothing(InFolder):
    def test_one_wrong_shape_and_nothing_changes(self):
        path = tf.train.Checkpoint(a=tf.Variable(1.), b=tf.Variable([1., 2.]), c=Counter()).save(self.path)
        a, b, counter = tf.Variable(5.), tf.Variable([5.]), Counter()
        next(counter)
        saver = tf.train.Checkpoint(a=a, b=b, c=counter)
        with self.assertNoLogs("tapedeck", "WARNING"):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                        r"\(root\).b has shape \(2,\) and dtype float32 .* Variable:0 has shape \(1,\)"):
                saver.restore(path)
            gc.collect()
        self.assertEqual((float(a), b.numpy().tolist(), counter.place), (5., [5.], 1))
        with self.assertRaisesRegex(ValueError, "dtype float32 in the checkpoint; .* dtype float64"):
            tf.train.Checkpoint(a=tf.Variable(1., dtype=tf.float64)).restore(path)
        saver.later = tf.Variable(1.)  # the refused restoration is forgotten
        self.assertEqual(saver._bindings(), [])

    def test_an_object_that_refuses_its_state(self):
        path = tf.train.Checkpoint(a=tf.Variable(1.), b=Counter(), c=Counter()).save(self.path)
        a, b, c = tf.Variable(5.), Counter(), Counter()
        next(b)
        c.refuses = True
        with self.assertRaisesRegex(ValueError, "does not take that"):
            tf.train.Checkpoint(a=a, b=b, c=c).restore(path)
        self.assertEqual((float(a), b.place), (5., 1))

    def test_a_file_that_is_cut_short_anywhere(self):
        network = Network(3, 2)
        network(X)
        path = tf.train.Checkpoint(model=network).save(self.path)
        with open(path + ".safetensors", "rb") as file:
            data = file.read()
        other = Network(3, 2)
        other(X)
        before = values(other)
        for length in range(0, len(data), 7):
            with open(path + ".safetensors", "wb") as file:
                file.write(data[:length])
            with self.assertRaises(tf.errors.DataLossError):
                tf.train.Checkpoint(model=other).restore(path)
        for a, b in zip(values(other), before):
            np.testing.assert_array_equal(a, b)

    def test_what_is_no_checkpoint(self):
        saver = tf.train.Checkpoint(v=tf.Variable(1.))
        with self.assertRaisesRegex(tf.errors.NotFoundError, "Error when restoring .* You may be missing the checkpoint suffix"):
            saver.restore(self.path)
        for ending in (".index", ".data-00000-of-00001"):
            open(self.path + "-1" + ending, "wb").close()
        with self.assertRaisesRegex(tf.errors.UnimplementedError, "TensorFlow's own format"):
            saver.restore(self.path + "-1")


class Weights(InFolder):
    def test_weights_of_a_layer_alone(self):
        network = Network(3, 2)
        network(X)
        network.optimizer = Momentum()
        network.optimizer.apply(values(network)[:1], [network.layers[0].bias])
        weights.save_weights(self.path, network, without=("optimizer",))
        self.assertEqual([name for name, _ in tf.train.list_variables(self.path)],
                         ["layers/0/bias", "layers/0/kernel", "layers/1/bias", "layers/1/kernel"])
        other = Network(3, 2)
        status = weights.load_weights(self.path, other)
        other(X)
        status.assert_consumed()
        np.testing.assert_array_equal(other(X), network(X))

    def test_a_file_of_another_tool_gives_values_by_name(self):
        kernel = np.arange(6, dtype="<f4")
        header = {"model/w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
        safetensors_parser.write(self.path + ".safetensors", json.dumps(header), kernel.tobytes())
        w = tf.Variable(tf.zeros([2, 3]), name="model/w")
        status = tf.train.Checkpoint(any=w).restore(self.path)
        self.assertEqual(w.numpy().ravel().tolist(), kernel.tolist())
        status.assert_consumed()
        by_place = tf.train.Checkpoint(model={"w": tf.Variable(tf.zeros([2, 3]))})
        by_place.restore(self.path).assert_existing_objects_matched()
        self.assertEqual(by_place.model["w"].numpy().ravel().tolist(), kernel.tolist())
        with self.assertRaisesRegex(AssertionError, "Object not restored: more"):
            tf.train.Checkpoint(any=w, more=tf.Variable(1.)).restore(self.path).assert_consumed()
        with self.assertRaisesRegex(ValueError, r"model/w has shape \(2, 3\)"):
            tf.train.Checkpoint(any=tf.Variable(tf.zeros([3, 2]), name="model/w")).restore(self.path)


if __name__ == "__main__":
    unittest.main()
