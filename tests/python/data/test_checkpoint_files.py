"""Checkpoints in folders: which is the latest, which stay, their contents, and variables saved by name."""
import os
import pathlib
import tempfile
import unittest
from unittest import mock

import numpy as np

import tapedeck as tf
from tapedeck import tfe


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(folder.name, "ckpt")

    def files(self):
        return sorted(name for name in os.listdir(self.folder) if name != "checkpoint")

    def text(self):
        with open(os.path.join(self.folder, "checkpoint"), encoding="utf-8") as file:
            return file.read()


class Manager(InFolder):
    def manager(self, max_to_keep=2, saver=None, **kwargs):
        saver = saver or tf.train.Checkpoint(v=tf.Variable(1.))
        return tf.train.CheckpointManager(saver, self.folder, max_to_keep, **kwargs)

    def test_the_oldest_go(self):
        manager = self.manager()
        self.assertEqual((manager.latest_checkpoint, manager.checkpoints), (None, []))
        paths = [manager.save() for _ in range(4)]
        self.assertEqual(paths, [f"{self.path}-{i}" for i in range(1, 5)])
        self.assertEqual((manager.checkpoints, manager.latest_checkpoint), (paths[2:], paths[3]))
        self.assertEqual(self.files(), ["ckpt-3.safetensors", "ckpt-4.safetensors"])
        self.assertEqual(tf.train.latest_checkpoint(self.folder), paths[3])
        found = tf.train.get_checkpoint_state(self.folder)
        self.assertEqual((found.model_checkpoint_path, found.all_model_checkpoint_paths), (paths[3], paths[2:]))
        self.assertEqual(len(found.all_model_checkpoint_timestamps), 2)
        self.assertIn('model_checkpoint_path: "ckpt-4"\nall_model_checkpoint_paths: "ckpt-3"\n', self.text())

    def test_another_manager_goes_on_with_what_is_there(self):
        first = self.manager()
        first.save(), first.save()
        second = self.manager(saver=first.checkpoint)
        self.assertEqual((second.checkpoints, second.latest_checkpoint), (first.checkpoints, first.latest_checkpoint))
        second.save()
        self.assertEqual(self.files(), ["ckpt-2.safetensors", "ckpt-3.safetensors"])

    def test_all_stay_without_a_number(self):
        manager = self.manager(None)
        for _ in range(7):
            manager.save()
        self.assertEqual(len(self.files()), 7)

    def test_one_in_so_many_hours_stays(self):
        now = [1e9]
        with mock.patch("time.time", lambda: now[0]):
            manager = self.manager(1, keep_checkpoint_every_n_hours=2)
            for _ in range(6):
                manager.save()
                now[0] += 3600
            self.assertEqual(self.files(), [f"ckpt-{i}.safetensors" for i in (3, 5, 6)])
            self.assertEqual(manager.checkpoints, [self.path + "-6"])
            again = self.manager(1, keep_checkpoint_every_n_hours=2, saver=manager.checkpoint)
            again.save()
            self.assertEqual(self.files(), [f"ckpt-{i}.safetensors" for i in (3, 5, 7)])

    def test_intervals_of_steps(self):
        step = tf.Variable(0, dtype=tf.int64)
        manager = self.manager(None, step_counter=step, checkpoint_interval=10)
        saved = []
        for _ in range(35):
            saved.append(manager.save() is not None)
            step.assign_add(1)
        self.assertEqual([i for i, each in enumerate(saved) if each], [0, 10, 20, 30])
        self.assertIsNotNone(manager.save(check_interval=False))
        self.assertIsNone(manager.save(check_interval=False))  # the same step

    def test_numbers_of_ones_own(self):
        manager = self.manager(None)
        self.assertEqual(manager.save(checkpoint_number=tf.Variable(77)), self.path + "-77")
        self.assertEqual((manager.save(checkpoint_number=5), int(manager.checkpoint.save_counter)), (self.path + "-5", 2))

    def test_restore_or_initialize(self):
        called = []
        manager = self.manager(init_fn=lambda: called.append(1))
        self.assertIsNone(manager.restore_or_initialize())
        self.assertEqual(called, [1])
        manager.save()
        v = tf.Variable(0.)
        again = self.manager(saver=tf.train.Checkpoint(v=v), init_fn=lambda: called.append(2))
        self.assertEqual((again.restore_or_initialize(), float(v), called), (self.path + "-1", 1., [1]))
        manager.sync()

    def test_wrong_arguments(self):
        for number in (0, -1):
            with self.assertRaisesRegex(ValueError, f"positive integer or `None` for `max_to_keep`, got {number}"):
                self.manager(number)
        with self.assertRaisesRegex(ValueError, "`step_counter` should be passed"):
            self.manager(checkpoint_interval=3)

    def test_the_folder_may_be_moved(self):
        self.manager().save()
        elsewhere = os.path.join(self.folder, "elsewhere")
        os.mkdir(elsewhere)
        for name in ("checkpoint", "ckpt-1.safetensors"):
            os.rename(os.path.join(self.folder, name), os.path.join(elsewhere, name))
        self.assertEqual(tf.train.latest_checkpoint(elsewhere), os.path.join(elsewhere, "ckpt-1"))


class State(InFolder):
    def write(self, text):
        with open(os.path.join(self.folder, "checkpoint"), "w", encoding="utf-8") as file:
            file.write(text)

    def test_what_tensorflow_writes_is_read(self):
        self.write('model_checkpoint_path: "a\\303\\274\\"-2"\nall_model_checkpoint_paths: "/abs/a-1"\n'
                   "all_model_checkpoint_paths: 'b\\x41'\n"
                   "all_model_checkpoint_timestamps: 1700000000.25\nall_model_checkpoint_timestamps: 1.5e9  # a remark\n"
                   "last_preserved_timestamp: 12\n")
        found = tf.train.get_checkpoint_state(self.folder)
        self.assertEqual(found.model_checkpoint_path, os.path.join(self.folder, 'aü"-2'))
        self.assertEqual(found.all_model_checkpoint_paths, ["/abs/a-1", os.path.join(self.folder, "bA")])
        self.assertEqual((found.all_model_checkpoint_timestamps, found.last_preserved_timestamp), ([1700000000.25, 1.5e9], 12))

    def test_paths_of_any_letters_come_back(self):
        path = os.path.join(self.folder, "ü\"'\\\n\t x")
        tf.train.update_checkpoint_state(self.folder, path, [path])
        self.assertEqual(tf.train.get_checkpoint_state(self.folder).model_checkpoint_path, path)
        self.assertIn('/ü\\"\\\'\\\\\\n\\t x"\n', self.text())
        odd = os.path.join(self.folder, os.fsdecode(b"\xff\xfe"))
        saved = tf.train.Checkpoint(v=tf.Variable(2.)).save(odd)
        v = tf.Variable(0.)
        tf.train.Checkpoint(v=v).restore(tf.train.latest_checkpoint(self.folder)).assert_consumed()
        self.assertEqual((saved, float(v)), (odd + "-1", 2.))
        with self.assertRaises(tf.errors.NotFoundError):
            tf.train.Checkpoint(v=v).restore(odd)

    def test_nothing_there_and_nothing_readable(self):
        self.assertIsNone(tf.train.get_checkpoint_state(self.folder))
        self.assertIsNone(tf.train.latest_checkpoint(os.path.join(self.folder, "none")))
        for text in ("nonsense", "model_checkpoint_path: 3", 'unknown: "x"', 'model_checkpoint_path: "x', "\0\0",
                     "last_preserved_timestamp: 1.2.3"):
            self.write(text)
            with self.assertLogs("tapedeck", "WARNING"):
                self.assertIsNone(tf.train.get_checkpoint_state(self.folder))
        self.write("last_preserved_timestamp: 3\n")
        with self.assertRaisesRegex(ValueError, "Invalid checkpoint state"):
            tf.train.get_checkpoint_state(self.folder)

    def test_a_checkpoint_that_is_gone_is_not_the_latest(self):
        path = tf.train.Checkpoint(v=tf.Variable(1.)).save(self.path)
        self.assertTrue(tf.train.checkpoint_exists(path))
        self.assertEqual(len(tf.train.get_checkpoint_mtimes([path, self.path])), 1)
        tf.train.remove_checkpoint(path)
        with self.assertLogs("tapedeck", "WARNING"):
            self.assertIsNone(tf.train.latest_checkpoint(self.folder))
        self.assertFalse(tf.train.checkpoint_exists(path))

    def test_relative_paths(self):
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            self.assertEqual(tf.train.Checkpoint(v=tf.Variable(1.)).save("x"), "x-1")
            self.assertEqual((tf.train.latest_checkpoint("."), tf.train.latest_checkpoint("")), ("./x-1", "x-1"))
            self.assertEqual(tf.train.Checkpoint(v=tf.Variable(1.)).save("sub/x"), "sub/x-1")
            self.assertEqual(tf.train.latest_checkpoint("sub"), "sub/x-1")
        finally:
            os.chdir(before)

    def test_what_is_no_path(self):
        saver = tf.train.Checkpoint(v=tf.Variable(1.))
        for call in (saver.save, saver.restore, saver.write, tf.train.latest_checkpoint, tf.train.list_variables,
                     tfe.Saver([saver.v]).save, lambda path: tf.train.CheckpointManager(saver, path, 1)):
            with self.assertRaisesRegex(TypeError, "a checkpoint's path is 3.5; needs a str, bytes or a pathlib.Path"):
                call(3.5)
        path = pathlib.Path(self.folder) / "x"
        self.assertEqual(saver.save(path), str(path) + "-1")
        saver.restore(str(path).encode() + b"-1").assert_consumed()

    def test_conflicts(self):
        with self.assertRaisesRegex(RuntimeError, "conflicts with path used for checkpoint state"):
            tf.train.update_checkpoint_state(self.folder, os.path.join(self.folder, "checkpoint"))
        with self.assertRaisesRegex(ValueError, "timestamps, if provided, must match"):
            tf.train.update_checkpoint_state(self.folder, "a", ["a"], all_model_checkpoint_timestamps=[1., 2.])


class Reader(InFolder):
    def test_tensors_by_name(self):
        w = tf.Variable([[1., 2.]], name="w")
        path = tf.train.Checkpoint(model={"w": w}, n=tf.Variable(3, dtype=tf.int16)).save(self.path)
        self.assertEqual(tf.train.list_variables(path), [("model/w", [1, 2]), ("n", []), ("save_counter", [])])
        self.assertEqual(tf.train.list_variables(self.folder), tf.train.list_variables(path))
        reader = tf.train.load_checkpoint(self.folder)
        self.assertEqual(reader.get_variable_to_shape_map()["model/w"], [1, 2])
        self.assertEqual(reader.get_variable_to_dtype_map()["n"], tf.int16)
        self.assertTrue(reader.has_tensor("n") and not reader.has_tensor("m"))
        self.assertIn(b"model/w (float32) [1, 2]", reader.debug_string())
        for name in ("model/w", "model/w/.ATTRIBUTES/VARIABLE_VALUE"):
            value = tf.train.load_variable(path, name)
            self.assertEqual((type(value), value.tolist()), (np.ndarray, [[1., 2.]]))
        with self.assertRaisesRegex(tf.errors.NotFoundError, "Key m not found in checkpoint"):
            reader.get_tensor("m")
        os.remove(os.path.join(self.folder, "checkpoint"))
        with self.assertRaisesRegex(ValueError, "Couldn't find 'checkpoint' file or checkpoints in given directory"):
            tf.train.load_checkpoint(self.folder)


class Names(InFolder):
    def setUp(self):
        super().setUp()
        self.v1, self.v2 = tf.Variable(1., name="v1"), tf.Variable([2.], name="scope/v2")

    def change(self):
        self.v1.assign(-1.), self.v2.assign([-1.])

    def values(self):
        return float(self.v1), float(self.v2[0])

    def test_a_list_of_variables(self):
        saver = tfe.Saver([self.v1, self.v2, self.v1])
        self.assertEqual(saver.save(self.path), self.path)
        self.assertEqual(tf.train.list_variables(self.path), [("scope/v2", [1]), ("v1", [])])
        self.change()
        saver.restore(self.path)
        self.assertEqual(self.values(), (1., 2.))
        self.assertEqual(saver.save(self.path, global_step=tf.Variable(7)), self.path + "-7")
        self.assertEqual(tf.train.latest_checkpoint(self.folder), self.path + "-7")

    def test_a_dict_and_names_that_are_not_there(self):
        saver = tfe.Saver({"ckpt/v1": self.v1, "ckpt/v2": self.v2})
        saver.save(self.path)
        self.change()
        with self.assertRaisesRegex(tf.errors.NotFoundError, "not found in checkpoint"):
            tfe.Saver([self.v1]).restore(self.path)
        self.assertEqual(self.values(), (-1., -1.))
        saver.restore(self.path)
        self.assertEqual(self.values(), (1., 2.))

    def test_variables_get_their_values_when_they_are_made(self):
        tfe.Saver({"ckpt/v1": self.v1, "scope/v2": self.v2}).save(self.path)
        with tfe.restore_variables_on_create(self.path, lambda name: {"v3": "ckpt/v1"}.get(name, name)):
            v3 = tf.Variable(0., name="v3")
            with tf.name_scope("scope"):
                v2, again = tf.Variable([0.], name="v2"), tf.Variable([5.], name="v2")
            with self.assertRaisesRegex(tf.errors.NotFoundError, "v4 not found in checkpoint"):
                tf.Variable(0., name="v4")
            with self.assertRaisesRegex(ValueError, r"ckpt/v1 has shape \(\) .* the variable ckpt/v1 has shape \(3,\)"):
                with tfe.restore_variables_on_create(self.path):
                    tf.Variable([1., 2., 3.], name="ckpt/v1")
        self.assertEqual((float(v3), float(v2[0]), float(again[0])), (1., 2., 5.))
        self.assertEqual(float(tf.Variable(0., name="v4")), 0.)
        with tfe.restore_variables_on_create(None):
            self.assertEqual(float(tf.Variable(4., name="v1")), 4.)
        with self.assertRaisesRegex(ValueError, "map_func must be callable"):
            with tfe.restore_variables_on_create(self.path, 3):
                pass

    def test_variables_that_are_made_after_the_saver_are_saved(self):
        variables = [self.v1]
        saver = tfe.Saver(variables)
        variables.append(self.v2)
        saver.save(self.path)
        self.assertEqual([name for name, _ in tf.train.list_variables(self.path)], ["scope/v2", "v1"])

    def test_the_last_ones_stay(self):
        saver = tf.train.Saver([self.v1], max_to_keep=2)
        paths = [saver.save(None, self.path, global_step=i) for i in range(4)]
        self.assertEqual((saver.last_checkpoints, self.files()), (paths[2:], ["ckpt-2.safetensors", "ckpt-3.safetensors"]))
        other = tf.train.Saver([self.v1], max_to_keep=2)
        other.recover_last_checkpoints(paths)
        other.save(None, self.path, global_step=9)
        self.assertEqual(self.files(), ["ckpt-3.safetensors", "ckpt-9.safetensors"])
        self.assertEqual(tf.train.get_checkpoint_state(self.folder).all_model_checkpoint_paths, [paths[3], self.path + "-9"])
        padded = tf.train.Saver([self.v1], pad_step_number=True)
        self.assertEqual(padded.save(None, self.path, global_step=3, write_state=False), self.path + "-00000003")

    def test_wrong_arguments(self):
        with self.assertRaisesRegex(RuntimeError, "must specify a list or dict of variables"):
            tf.train.Saver()
        with self.assertRaisesRegex(ValueError, "At least two variables have the same name: v1"):
            tfe.Saver([self.v1, tf.Variable(2., name="v1")]).save(self.path)
        with self.assertRaisesRegex(TypeError, "Variable to save is not a Variable: 3"):
            tfe.Saver([3]).save(self.path)
        with self.assertRaisesRegex(ValueError, "No variables to save"):
            tfe.Saver([]).save(self.path)
        saver = tf.train.Saver([self.v1])
        with self.assertRaisesRegex(ValueError, "Can't load save_path when it is None"):
            saver.restore(None, None)
        with self.assertRaisesRegex(ValueError, "not a valid checkpoint"):
            saver.restore(None, self.path)
        with self.assertRaisesRegex(ValueError, "is a folder"):
            saver.save(None, self.folder + "/")

    def test_a_wrong_shape_changes_nothing_unless_reshaped(self):
        tfe.Saver([self.v1, self.v2]).save(self.path)
        v1, v2 = tf.Variable(0., name="v1"), tf.Variable([[0.]], name="scope/v2")
        with self.assertRaisesRegex(ValueError, r"scope/v2 has shape \(1,\) .* has shape \(1, 1\)"):
            tf.train.Saver([v1, v2]).restore(None, self.path)
        self.assertEqual(float(v1), 0.)
        tf.train.Saver([v1, v2], reshape=True).restore(None, self.path)
        self.assertEqual(v2.numpy().tolist(), [[2.]])

    def test_by_name_out_of_a_checkpoint_of_objects_and_the_other_way_round(self):
        path = tf.train.Checkpoint(any=[self.v1, {"x": self.v2}]).save(self.path)
        self.change()
        tfe.Saver([self.v1, self.v2]).restore(path)
        self.assertEqual(self.values(), (1., 2.))
        with tfe.restore_variables_on_create(path):
            self.assertEqual(float(tf.Variable(0., name="v1")), 1.)
        names = tfe.Saver([self.v1, self.v2]).save(self.path)
        self.change()
        status = tf.train.Checkpoint(other=self.v2, one=self.v1).restore(names)
        status.assert_consumed()
        self.assertEqual(self.values(), (1., 2.))


if __name__ == "__main__":
    unittest.main()
