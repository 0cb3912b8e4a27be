"""Checkpoints restored in part, before their objects exist, and with what optimisers keep beside variables."""
import gc
import itertools
import os
import unittest

import numpy as np

import tapedeck as tf
from checkpoint_objects import X, Dense, InFolder, Momentum, Network, values
from tapedeck import tfe


class Deferred(InFolder):
    def saved(self):
        network = Network(3, 2)
        network(X)
        return network, tf.train.Checkpoint(model=network).save(self.path)

    def test_before_the_variables_exist(self):
        network, path = self.saved()
        other = Network(3, 2)
        status = tf.train.Checkpoint(model=other).restore(path)
        status.assert_existing_objects_matched()
        with self.assertRaisesRegex(AssertionError, r"\(root\).model.layers.0.kernel"):
            status.assert_consumed()
        other(X)
        status.assert_consumed()
        self.same(other, network)
        self.assertEqual([layer.initialized for layer in other.layers], [0, 0])  # no initializer ran

    def test_before_the_layers_exist_in_every_order_of_appending(self):
        network, path = self.saved()
        for begin in range(3):
            other = Network(*(3, 2)[:begin])
            status = tf.train.Checkpoint(model=other).restore(path)
            for units in (3, 2)[begin:]:
                other.layers.append(Dense(units))
            other(X)
            status.assert_consumed()
            self.same(other, network)
            del status

    def test_before_the_list_or_the_model_exists(self):
        network, path = self.saved()
        later = tf.Module()
        status = tf.train.Checkpoint(model=later).restore(path)
        later.layers = [Dense(3)]
        later.layers += [Dense(2)]
        Network.__call__(later, X)
        status.assert_consumed()
        self.same(later, network)
        saver = tf.train.Checkpoint()
        status = saver.restore(path)
        saver.model = Network(3, 2)
        saver.model(X)
        status.assert_consumed()
        self.same(saver.model, network)

    def test_the_file_may_be_gone_when_the_variables_come(self):
        network, path = self.saved()
        other = Network(3, 2)
        tf.train.Checkpoint(model=other).restore(path)
        os.remove(path + ".safetensors")
        other(X)
        self.same(other, network)

    def test_lists_dicts_and_tuples_in_every_way_of_filling_them(self):
        def variables():
            return [tf.Variable(float(i)) for i in range(4)]
        path = tf.train.Checkpoint(m={"l": variables()}).save(self.path)
        for fill in (lambda l, new: l.extend(new), lambda l, new: l.__iadd__(new), lambda l, new: l.__setitem__(slice(0, 0), new),
                     lambda l, new: [l.append(each) for each in new], lambda l, new: [l.insert(len(l), each) for each in new],
                     lambda l, new: l.extend(iter(new))):
            holder = {"l": []}
            saver = tf.train.Checkpoint(m=holder)
            saver.restore(path)
            new = [tf.Variable(-1.) for _ in range(4)]
            fill(saver.m["l"], new)
            self.assertEqual([float(each) for each in new], [0., 1., 2., 3.])
        saver = tf.train.Checkpoint()
        saver.restore(path)
        saver.m = {"l": tuple(tf.Variable(-1.) for _ in range(4))}
        self.assertEqual([float(each) for each in saver.m["l"]], [0., 1., 2., 3.])

    def test_a_value_is_restored_once(self):
        network, path = self.saved()
        other = Network(3, 2)
        tf.train.Checkpoint(model=other).restore(path)
        other(X)
        other.layers[0].kernel.assign(tf.zeros([4, 3]))
        other.layers.append(Dense(1))  # the list makes its children known anew
        other.layers.reverse()
        other.layers.reverse()
        self.assertEqual(float(tf.reduce_sum(abs(other.layers[0].kernel))), 0.)
        other.layers[0].kernel = tf.Variable(tf.ones([4, 3]))  # another variable in the place of a restored one
        self.assertEqual(float(tf.reduce_sum(other.layers[0].kernel)), 12.)

    def test_the_newer_of_two_restorations_wins(self):
        network, first = self.saved()
        for variable in network.variables:
            variable.assign_add(tf.ones_like(variable))
        second = tf.train.Checkpoint(model=network).save(self.path)
        for paths, built in itertools.product(((first, second), (second, first)), (0, 1, 2)):
            other = Network(3, 2)
            saver = tf.train.Checkpoint(model=other)
            if built == 2:
                other(X)
            saver.restore(paths[0]).expect_partial()
            if built == 1:
                other.layers[0](X)
            saver.restore(paths[1]).expect_partial()
            other(X)
            wanted = Network(3, 2)
            wanted(X)
            tf.train.Checkpoint(model=wanted).restore(paths[1])
            self.same(other, wanted)

    def test_what_only_the_older_restoration_has_still_comes(self):
        older = tf.train.Checkpoint(a=tf.Variable(1.), b=tf.Variable(1.)).write(self.path + "a")
        newer = tf.train.Checkpoint(a=tf.Variable(2.)).write(self.path + "b")
        saver = tf.train.Checkpoint()
        saver.read(older).expect_partial()
        saver.read(newer).expect_partial()
        saver.a, saver.b = tf.Variable(0.), tf.Variable(0.)
        self.assertEqual((float(saver.a), float(saver.b)), (2., 1.))

    def test_restoring_a_part_again_and_again_keeps_no_files_open(self):
        network, path = self.saved()
        part = tf.Module()
        part.layers = [network.layers[0]]
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(20):
            tf.train.Checkpoint(model=part).restore(path).expect_partial()
        gc.collect()
        self.assertLessEqual(len(os.listdir("/proc/self/fd")), before + 2)

    def test_other_shapes_are_refused_where_the_variable_is_made(self):
        _, path = self.saved()
        other = Network(3, 2)
        status = tf.train.Checkpoint(model=other).restore(path)
        with self.assertRaisesRegex(ValueError, r"\(root\).model.layers.0.kernel has shape \(4, 3\) .* shape \(7, 3\)"):
            other(tf.ones([1, 7]))
        status.expect_partial()


class Part(InFolder):
    def test_a_generator_alone(self):
        generator, discriminator = Network(3, 2), Network(4, 1)
        generator(X), discriminator(X)
        whole = tfe.Checkpoint(generator=generator, discriminator=discriminator).save(self.path)
        other = Network(3, 2)
        status = tfe.Checkpoint(generator=other).restore(whole)
        other(X)
        self.same(other, generator)
        status.assert_existing_objects_matched().assert_nontrivial_match()
        with self.assertRaisesRegex(AssertionError, "discriminator.layers.0.kernel"):
            status.assert_consumed()
        status.expect_partial()

    def test_warnings_name_what_was_never_restored_and_may_be_silenced(self):
        path = tf.train.Checkpoint(a=tf.Variable(1.), b=tf.Variable(2.)).save(self.path)
        with self.assertLogs("tapedeck", "WARNING") as logs:
            tf.train.Checkpoint(a=tf.Variable(0.)).restore(path)
            gc.collect()
        self.assertIn("Value in checkpoint could not be found in the restored object: (root).b", logs.output[1])
        with self.assertNoLogs("tapedeck", "WARNING"):
            tf.train.Checkpoint(a=tf.Variable(0.)).restore(path).expect_partial()
            tf.train.Checkpoint(a=tf.Variable(0.), b=tf.Variable(0.)).restore(path)
            gc.collect()

    def test_statuses(self):
        path = tf.train.Checkpoint(a=tf.Variable(1.)).write(self.path)
        status = tf.train.Checkpoint(z=tf.Variable(1.)).read(path).expect_partial()
        for check in (status.assert_consumed, status.assert_existing_objects_matched, status.assert_nontrivial_match):
            with self.assertRaisesRegex(AssertionError, r"z \(Variable:0\)"):
                check()
        with self.assertRaisesRegex(AssertionError, "Nothing to load"):
            tf.train.Checkpoint().read(path).expect_partial().assert_nontrivial_match()
        none = tf.train.Checkpoint(a=tf.Variable(1.)).restore(None)
        for check in (none.assert_consumed, none.assert_existing_objects_matched, none.assert_nontrivial_match,
                      none.run_restore_ops):
            with self.assertRaisesRegex(AssertionError, "No checkpoint specified"):
                check()
        none.initialize_or_restore()
        status.run_restore_ops(), status.initialize_or_restore()

    def test_a_variable_where_the_file_has_an_object_and_the_other_way_round(self):
        path = tf.train.Checkpoint(a=tf.Variable(1.), b=[tf.Variable(2.)]).write(self.path)
        b = tf.Variable(9.)
        status = tf.train.Checkpoint(a=[tf.Variable(8.)], b=b).read(path).expect_partial()
        self.assertEqual(float(b), 9.)
        with self.assertRaisesRegex(AssertionError, "b .*a/0 "):
            status.assert_existing_objects_matched()


class Slots(InFolder):
    def trained(self, steps=3):
        network, optimizer = Network(3, 2), Momentum()
        self.train(network, optimizer, steps)
        return network, optimizer

    def train(self, network, optimizer, steps):
        def loss():
            return tf.reduce_mean(network(X) ** 2)
        network(X)
        for _ in range(steps):
            optimizer.minimize(loss, network.variables)

    def test_training_goes_on_as_if_it_had_never_stopped_in_every_order(self):
        network, optimizer = self.trained()
        path = tf.train.Checkpoint(model=network, optimizer=optimizer).save(self.path)
        self.train(network, optimizer, 2)

        def build(other, its):
            other(X)

        def slots(other, its):
            self.train(other, its, 1)
        for order in ((), (build,), (build, slots), (slots,)):
            for late in (False, True):  # the optimiser becomes known after the restoration
                other, its = Network(3, 2), Momentum()
                for act in order:
                    act(other, its)
                saver = tf.train.Checkpoint(model=other) if late else tf.train.Checkpoint(model=other, optimizer=its)
                status = saver.restore(path)
                if late:
                    saver.optimizer = its
                self.train(other, its, 2)
                status.assert_consumed()
                self.same(other, network)
                self.assertEqual(int(its.iterations), 5)

    def test_slots_come_before_their_variables(self):
        network, optimizer = self.trained()
        path = tf.train.Checkpoint(model=network, optimizer=optimizer).save(self.path)
        self.train(network, optimizer, 2)
        other, its = Network(3, 2), Momentum()
        self.train(other, its, 1)
        saver = tf.train.Checkpoint(optimizer=its)
        status = saver.restore(path)
        saver.model = other
        status.assert_consumed()
        self.train(other, its, 2)
        self.same(other, network)

    def test_a_slot_that_was_restored_is_not_restored_again(self):
        network, optimizer = self.trained()
        path = tf.train.Checkpoint(model=network, optimizer=optimizer).save(self.path)
        other, its = Network(3), Momentum()
        saver = tf.train.Checkpoint(model=other, optimizer=its)
        saver.restore(path).expect_partial()
        self.train(other, its, 1)
        kept = [slot.numpy() for *_, slot in its._slots()]
        other.layers.append(Dense(2))  # more of the checkpoint is bound
        other(X)
        np.testing.assert_array_equal([slot.numpy() for *_, slot in its._slots()][0], kept[0])

    def test_names_of_slots_and_slots_of_variables_that_are_not_saved(self):
        network, optimizer = self.trained()
        path = tf.train.Checkpoint(first=network.layers[0], optimizer=optimizer).save(self.path)
        names = [name for name, _ in tf.train.list_variables(path)]
        self.assertEqual([name for name in names if "SLOT" in name], ["first/bias/.OPTIMIZER_SLOT/optimizer/momentum",
                                                                     "first/kernel/.OPTIMIZER_SLOT/optimizer/momentum"])

    def test_a_slot_of_another_shape_changes_nothing(self):
        network, optimizer = self.trained()
        path = tf.train.Checkpoint(model=network, optimizer=optimizer).save(self.path)
        other, its = self.trained(1)
        reference = other.layers[0].bias.ref()
        its.momenta[reference] = tf.Variable([1.])
        before = values(other)
        with self.assertRaisesRegex(ValueError, r"optimizer's state 'momentum' for \(root\).model.layers.0.bias has shape \(3,\)"):
            tf.train.Checkpoint(model=other, optimizer=its).restore(path)
        for a, b in zip(values(other), before):
            np.testing.assert_array_equal(a, b)


if __name__ == "__main__":
    unittest.main()
