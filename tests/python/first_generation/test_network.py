"""tfe.Network and tfe.Sequential name, share, save and restore variables as TensorFlow 1.5 did."""
import gc
import os
import tempfile
import unittest

import numpy as np
import tapedeck as tf
from tapedeck import tfe

ONE = tf.constant([[1.]])


class Single(tfe.Network):
    def __init__(self, name=None):
        super().__init__(name=name)
        self.l1 = self.track_layer(tf.layers.Dense(1, use_bias=False))

    def call(self, x):
        return self.l1(x)


class Pair(tfe.Network):
    """Two networks; those that are given are shared."""

    def __init__(self, first=None, second=None, name=None):
        super().__init__(name=name)
        self.first = self.track_layer(first or Single())
        self.second = self.track_layer(second or Single())

    def call(self, x):
        return self.second(self.first(x))


def names(network):
    return [variable.name for variable in network.variables]


class Names(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()

    def test_layers_that_come_with_the_data_have_names_of_their_own(self):
        class Growing(tfe.Network):
            def __init__(self):
                super().__init__(name="growing")
                self.chain = []

            def call(self, x):
                count = int(tf.reduce_max(x))
                while len(self.chain) < count:
                    self.chain.append(self.track_layer(tf.layers.Dense(3, use_bias=False)))
                for layer in self.chain[:count]:
                    x = layer(x)
                return x

        network = Growing()
        for count in 1, 3, 2, 4:
            network(tf.fill([1, 3], float(count)))
        self.assertEqual([variable.name for variable in network.variables],
                         [f"growing/dense{suffix}/kernel:0" for suffix in ("", "_1", "_2", "_3")])

    def test_variables_are_named_by_the_network_whatever_was_made_before(self):
        tf.layers.Dense(1)
        one, two = Single(), Single()
        one(ONE), two(ONE)
        self.assertEqual((names(one), names(two)), (["single/dense/kernel:0"], ["single_1/dense/kernel:0"]))
        self.assertEqual((one.name, two.name, one.l1.name, two.l1.name), ("single", "single_1", "dense", "dense"))

    def test_an_anonymous_network_has_its_name_when_it_is_called(self):
        network = Single()
        with self.assertRaisesRegex(ValueError, "does not yet have a final name"):
            network.name
        network(ONE)
        self.assertEqual(network.name, "single")
        self.assertEqual(Single(name="given").name, "given")

    def test_networks_inside_are_named_in_the_outer_one(self):
        one, two = Pair(), Pair(name="whole")
        one(ONE), two(ONE)
        self.assertEqual(names(one), ["pair/single/dense/kernel:0", "pair/single_1/dense/kernel:0"])
        self.assertEqual(names(two), ["whole/single/dense/kernel:0", "whole/single_1/dense/kernel:0"])
        self.assertEqual((one.first.name, one.second.name), ("single", "single_1"))

    def test_layers_and_networks_of_one_class_name_are_counted_together(self):
        class Dense(tfe.Network):
            def __init__(self):
                super().__init__()
                self.only = self.track_layer(tf.layers.Dense(1, use_bias=False))

            def call(self, x):
                return self.only(x)

        class Mixed(tfe.Network):
            def __init__(self):
                super().__init__()
                self.all = [self.track_layer(each) for each in (tf.layers.Dense(1, use_bias=False), Dense(),
                                                                tf.layers.Dense(1, use_bias=False))]

            def call(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x

        network = Mixed()
        network(ONE)
        self.assertEqual(names(network), ["mixed/dense/kernel:0", "mixed/dense_1/dense/kernel:0", "mixed/dense_2/kernel:0"])

    def test_explicit_names_stay(self):
        network = tfe.Sequential([tf.layers.Dense(1, use_bias=False, name="explicit"), Single(name="inner")], name="outer")
        network(ONE)
        self.assertEqual(names(network), ["outer/explicit/kernel:0", "outer/inner/dense/kernel:0"])
        same = Pair(Single(name="same"), name="same")  # unique in its parent
        same(ONE)
        self.assertEqual(names(same)[0], "same/same/dense/kernel:0")

    def test_shared_networks_keep_the_names_of_their_first_parent(self):
        one = Pair()
        one(ONE)
        two = Pair(first=one.first)
        two(ONE)
        three = Pair(second=one.second, name="third")
        three(ONE)
        self.assertEqual(names(two), ["pair/single/dense/kernel:0", "pair_1/single/dense/kernel:0"])
        self.assertEqual(names(three), ["third/single/dense/kernel:0", "pair/single_1/dense/kernel:0"])
        self.assertIs(two.variables[0], one.variables[0])

    def test_the_first_parent_counts_not_the_first_call(self):
        class First(Pair):
            pass

        shared = Single()
        first, second = First(first=shared), Pair(first=shared)
        second(ONE), first(ONE)
        self.assertEqual(names(first), ["first/single/dense/kernel:0", "first/single_1/dense/kernel:0"])
        self.assertEqual(names(second), ["first/single/dense/kernel:0", "pair/single/dense/kernel:0"])
        layer = tf.layers.Dense(1, use_bias=False)
        one, two = tfe.Sequential([layer], name="one"), tfe.Sequential([layer, tf.layers.Dense(1, use_bias=False)], name="two")
        two(ONE), one(ONE)
        self.assertEqual((names(one), names(two)), (["one/dense/kernel:0"], ["one/dense/kernel:0", "two/dense/kernel:0"]))

    def test_layers_that_were_built_keep_their_names(self):
        layer = tf.layers.Dense(1, use_bias=False)
        layer(ONE)
        network = tfe.Sequential([layer, tf.layers.Dense(1, use_bias=False)], name="holds_built")
        network(ONE)
        self.assertEqual(names(network), ["dense/kernel:0", "holds_built/dense/kernel:0"])

    def test_keras_layers_are_named_alike(self):
        tf.keras.layers.Dense(1)
        network = tfe.Sequential([tf.keras.layers.Dense(1, use_bias=False), tf.keras.layers.Dense(1, use_bias=False, name="last")])
        network(ONE)
        self.assertEqual(names(network), ["sequential/dense/kernel:0", "sequential/last/kernel:0"])

    def test_variable_scopes_around_stand_in_front(self):
        before = Single()
        before(ONE)
        with tf.variable_scope("outside"):
            inside = Single()
        inside(ONE)
        after = Single()
        after(ONE)
        self.assertEqual([names(each)[0] for each in (before, inside, after)],
                         ["single/dense/kernel:0", "outside/single/dense/kernel:0", "single_1/dense/kernel:0"])
        self.assertEqual(inside.name, "outside/single")
        seen = []

        def watching(getter, name, *args, **kwargs):
            seen.append(name)
            return getter(name, *args, **kwargs)

        with tf.variable_scope("", custom_getter=watching):
            Single(name="watched")(ONE)
        self.assertEqual(seen, ["watched/dense/kernel"])

    def test_names_are_not_given_twice(self):
        Single(name="foo")(ONE)
        with self.assertRaisesRegex(ValueError, "named 'foo' already exists"):
            Single(name="foo")(ONE)
        with tf.variable_scope("taken"):
            pass
        with self.assertRaisesRegex(ValueError, "or a variable_scope was created with this name"):
            Single(name="taken")(ONE)
        with self.assertRaisesRegex(ValueError, "two Layers with the name 'twin'"):
            Pair(Single(name="twin"), Single(name="twin"))
        with self.assertRaisesRegex(ValueError, "not allowed in Network names"):
            Single(name="a/b")
        with tf.variable_scope("some") as scope, self.assertRaisesRegex(ValueError, "not valid Network names"):
            Single(name=scope)

    def test_records_carry_the_networks_scope(self):
        seen = []

        class Looking(tf.keras.layers.Layer):
            def call(self, x):
                with tf.name_scope("here") as whole:
                    seen.append(whole)
                return x

        tfe.Sequential([Looking(name="looking")], name="net")(ONE)
        self.assertEqual(seen, ["net/looking/here/"])


class Layers(unittest.TestCase):
    def test_layers_are_found_by_name_and_index(self):
        network = Pair()
        self.assertIs(network.get_layer(index=1), network.second)
        self.assertIs(network.get_layer(name="single_1"), network.second)
        self.assertEqual(network.layers, [network.first, network.second])
        for arguments, text in (({"index": 2}, "only has 2 layers"), ({"name": "x"}, "No such layer: x"), ({}, "Provide either"),
                                ({"name": "single", "index": 0}, "Exactly one of")):
            with self.assertRaisesRegex(ValueError, text):
                network.get_layer(**arguments)

    def test_it_is_always_trainable_and_makes_no_variables(self):
        network = tfe.Network()
        self.assertTrue(network.trainable)
        with self.assertRaisesRegex(AttributeError, "cannot mark Network as not trainable"):
            network.trainable = False
        with self.assertRaisesRegex(RuntimeError, "add_variable not supported"):
            network.add_variable("v", [1])

    def test_what_was_not_made_rightly_is_told(self):
        class NoInit(tfe.Network):
            def __init__(self):
                self.layer = self.track_layer(tf.layers.Dense(1))

        with self.assertRaisesRegex(RuntimeError, "Need to call Network.__init__ before adding layers"):
            NoInit()
        with self.assertRaisesRegex(TypeError, "not a tf.layers.Layer"):
            tfe.Network().track_layer(3)

    def test_losses_of_regularizers_are_those_of_its_layers(self):
        network = tfe.Sequential([tf.layers.Dense(1, use_bias=False, kernel_regularizer=lambda w: tf.reduce_sum(w) * 2.)])
        network(ONE)
        network.variables[0].assign([[4.]])
        self.assertEqual([float(loss) for loss in network.losses], [8.])

    def test_training_makes_the_loss_small(self):
        tf.set_random_seed(4)
        network = tfe.Sequential([tf.layers.Dense(8, activation=tf.nn.tanh), tf.layers.Dense(1)])
        x = np.linspace(-1, 1, 32, dtype=np.float32)[:, None]
        y, optimizer = x ** 2, tf.train.AdamOptimizer(.05)

        def loss():
            return tf.reduce_mean(tf.square(network(tf.constant(x)) - y))

        for _ in range(150):
            optimizer.minimize(loss)
        self.assertLess(float(loss()), 2e-3)

    def test_a_dropped_network_leaves_no_cycle(self):
        Pair()(ONE)
        gc.collect()
        gc.disable()
        try:
            network = tfe.Sequential([lambda x: x * 2.])
            network(ONE)
            del network
            self.assertEqual(gc.collect(), 0)
        finally:
            gc.enable()


class Sequential(unittest.TestCase):
    def test_layers_are_added_after_calls(self):
        network = tfe.Sequential([tf.layers.Dense(1, use_bias=False)])
        network(ONE)
        network.get_layer(index=0).variables[0].assign([[3.]])
        network.add(tf.layers.Dense(1, use_bias=False))
        network(ONE)
        network.get_layer(index=1).variables[0].assign([[11.]])
        self.assertEqual(float(network(tf.constant([[7.]]))), 231.)

    def test_functions_stand_among_them_and_training_goes_to_who_takes_it(self):
        def add_training(x, training=None):
            return x if training is None else x + 1 if training else x - 1

        network = tfe.Sequential([add_training, lambda x: 2 * x])
        two = tf.constant(2)
        self.assertEqual([int(network(two)), int(network(two, training=False)), int(network(two, training=True))], [4, 2, 6])
        self.assertEqual(float(tfe.Sequential([tf.nn.relu, tf.negative])(tf.constant(2.))), -2.)
        dropout = tfe.Sequential([tf.layers.Dropout(.5)])
        ones = tf.ones([100])
        self.assertEqual(set(np.unique(dropout(ones, training=True))), {0., 2.})
        np.testing.assert_array_equal(dropout(ones), ones)
        with self.assertRaisesRegex(TypeError, "takes only tf.layers.Layer objects or callables"):
            network.add(3)


class Checkpoints(unittest.TestCase):
    def setUp(self):
        tf.keras.backend.clear_session()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def save(self, network, values, **arguments):
        network(ONE)
        for variable, value in zip(network.variables, values):
            variable.assign([[value]])
        return tfe.save_network_checkpoint(network, self.folder, **arguments)

    def values(self, network):
        return [float(variable) for variable in network.variables]

    def test_what_is_there_is_restored_at_once(self):
        network = Single(name="abcd")
        with self.assertRaisesRegex(ValueError, "Attempt to save the Network before it was first called"):
            tfe.save_network_checkpoint(network, self.folder)
        path = self.save(network, [17.])
        self.assertEqual(path, os.path.join(self.folder, "abcd"))
        for where in (self.folder, path):
            network.variables[0].assign([[1.]])
            tfe.restore_network_checkpoint(network, where)
            self.assertEqual(self.values(network), [17.])
        self.assertTrue(self.save(network, [18.], global_step=10).endswith("abcd-10"))

    def test_what_comes_later_is_restored_then(self):
        path = self.save(Single(), [17.])
        later = Single()
        tfe.restore_network_checkpoint(later, path)
        self.assertEqual(float(later(tf.constant([[2.]]))), 34.)
        keras = tfe.Sequential([tf.keras.layers.Dense(1, use_bias=False)])
        tfe.restore_network_checkpoint(keras, path)
        self.assertEqual(float(keras(tf.constant([[2.]]))), 34.)

    def test_the_last_restore_counts_in_parts_and_in_whole(self):
        whole, part = self.save(Pair(name="whole"), [15., 16.]), self.save(Single(name="part"), [5.])
        one = Pair()
        tfe.restore_network_checkpoint(one, whole)
        tfe.restore_network_checkpoint(one.first, part)
        tfe.restore_network_checkpoint(one.first, part)
        one(ONE)
        self.assertEqual(self.values(one), [5., 16.])
        two = Pair()
        tfe.restore_network_checkpoint(two.first, part)
        tfe.restore_network_checkpoint(two, whole)
        two(ONE)
        self.assertEqual(self.values(two), [15., 16.])
        tfe.restore_network_checkpoint(two.second, part)
        self.assertEqual(self.values(two), [15., 5.])
        with self.assertRaisesRegex(tf.errors.NotFoundError, "not found in checkpoint"):
            tfe.restore_network_checkpoint(two, part)

    def test_a_shared_layer_that_comes_later_is_restored_by_its_own_name(self):
        class User(tfe.Network):
            def __init__(self, shared):
                super().__init__()
                self.first = self.track_layer(shared)
                self.second = self.track_layer(tf.layers.Dense(1, use_bias=False, name="second"))

            def call(self, x):
                return self.second(self.first(x))

        mapping = {"pair/single/dense/kernel": "owner/dense/kernel", "pair/single_1/dense/kernel": "second/kernel"}
        path = self.save(Pair(), [5., 6.], map_func=mapping.get)
        owner = Single(name="owner")
        user = User(owner.l1)
        tfe.restore_network_checkpoint(user, path)
        self.assertEqual(owner.variables, [])
        user(ONE)
        self.assertEqual((self.values(user), self.values(owner)), ([5., 6.], [5.]))
        owner = Single()
        user = User(owner.l1)
        del owner
        gc.collect()
        with self.assertRaisesRegex(ValueError, "garbage collected"):
            tfe.restore_network_checkpoint(user, path)

    def test_names_that_collide_are_refused(self):
        pair = Pair()
        with self.assertRaisesRegex(ValueError, "The map_func passed to save_network_checkpoint for the Network 'pair' resulted in "
                                                "two variables named 'foo'"):
            self.save(pair, [2., 3.], map_func=lambda name: "foo")
        path = tfe.save_network_checkpoint(pair.first, self.folder, map_func=lambda name: "foo")
        later, there = Pair(), Pair()
        tfe.restore_network_checkpoint(later, path, map_func=lambda name: "foo")
        words = "The map_func passed to restore_network_checkpoint for the Network 'pair_{}' resulted in two variables named 'foo'"
        with self.assertRaisesRegex(ValueError, words.format(1)):
            later(ONE)
        there(ONE)
        with self.assertRaisesRegex(ValueError, words.format(2)):
            tfe.restore_network_checkpoint(there, path, map_func=lambda name: "foo")
        built = tf.layers.Dense(1, name="dense", use_bias=False)
        built(ONE)
        network = tfe.Sequential([built, tf.layers.Dense(1, use_bias=False)])
        with self.assertRaisesRegex(ValueError, "default checkpoint variable name mapping strategy for Network 'sequential' "
                                                "resulted in a naming conflict"):
            self.save(network, [1., 2.])

    def test_the_variable_scope_around_is_stripped(self):
        with tf.variable_scope("scope1"), tf.variable_scope("scope2"):
            network = Single()
        path = self.save(network, [42.])
        self.assertTrue(path.endswith("scope1_scope2_single"))
        other = Single()
        tfe.restore_network_checkpoint(other, path)
        other(ONE)
        self.assertEqual(self.values(other), [42.])


if __name__ == "__main__":
    unittest.main()
