"""Modules know the variables in their attributes."""
import copy
import gc
import pickle
import unittest
import weakref

import tapedeck as tf


class Dense(tf.Module):
    def __init__(self, inputs, outputs, name=None):
        super().__init__(name)
        self.w = tf.Variable(tf.ones([inputs, outputs]), name="w")
        self.b = tf.Variable(tf.zeros([outputs]), name="b")
        self.calls = tf.Variable(0, trainable=False, name="calls")

    @tf.Module.with_name_scope
    def __call__(self, x):
        self.calls.assign_add(1)
        return x @ self.w + self.b


class TwoLayers(tf.Module):
    def __init__(self):
        super().__init__()
        self.layers = [Dense(2, 3, "first"), Dense(3, 1, "second")]
        self.by_name = {"scale": (tf.Variable(2., name="scale"),), 3: self.layers[0]}
        self.again = self.layers[1].w
        self.owner = self  # a circle

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x * self.by_name["scale"][0]


class Module(unittest.TestCase):
    def test_variables_are_found_once_its_own_first(self):
        model = TwoLayers()
        first, second = model.layers
        scale, = model.by_name["scale"]
        wanted = [second.w, scale, first.b, first.calls, first.w, second.b, second.calls]
        self.assertEqual([id(each) for each in model.variables], [id(each) for each in wanted])
        self.assertEqual([each.name for each in model.trainable_variables], ["w:0", "scale:0", "b:0", "w:0", "b:0"])
        self.assertEqual([each.name for each in model.non_trainable_variables], ["calls:0", "calls:0"])
        self.assertEqual([each.name for each in model.submodules], ["first", "second"])
        self.assertIsInstance(model.variables, tuple)

    def test_a_list_that_holds_itself_comes_once(self):
        model, circle = tf.Module(), [tf.Variable(1., name="inside")]
        circle.append({"around": circle})
        model.circle, model.again = circle, [[circle[0]]]
        self.assertEqual([each.name for each in model.variables], ["inside:0"])

    def test_copies_share_what_they_shared(self):
        model = TwoLayers()
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            self.assertEqual([each.name for each in other.variables], [each.name for each in model.variables])
            self.assertTrue(other.owner is other and other.again is other.layers[1].w and other.again is not model.again)

    def test_it_is_freed(self):
        model = TwoLayers()
        gone = weakref.ref(model.layers[0].w)
        del model
        gc.collect()
        self.assertIsNone(gone())

    def test_names(self):
        self.assertEqual((TwoLayers().name, Dense(1, 1).name, Dense(1, 1, "mine").name), ("two_layers", "dense", "mine"))
        for name in ("two words", "", "1st", 3):
            with self.assertRaisesRegex(ValueError, f"Module: name is {name!r}; needs a name"):
                tf.Module(name)
        self.assertEqual(Dense(1, 1, "mine").name_scope.name, "mine/")
        with Dense(1, 1, "mine").name_scope as scope:
            self.assertEqual(scope, "mine/")

    def test_it_is_trained(self):
        model, x = TwoLayers(), tf.constant([[1., 2.], [3., -1.]])
        losses = []
        for _ in range(20):
            with tf.GradientTape() as tape:
                losses.append(tf.reduce_mean((model(x) - [[1.], [2.]])**2))
            gradients = tape.gradient(losses[-1], model.trainable_variables)
            self.assertIsInstance(gradients, tuple)
            for variable, gradient in zip(model.trainable_variables, gradients):
                variable.assign_sub(.002 * gradient)
        self.assertLess(float(losses[-1]), float(losses[0]) / 4)
        self.assertEqual(model.layers[0].calls.numpy(), 20)
        self.assertEqual(Dense.__call__.__name__, "__call__")


if __name__ == "__main__":
    unittest.main()
