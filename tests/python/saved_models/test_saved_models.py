"""tf.saved_model: what a module has when it is loaded again: values, gradients, functions, objects."""
import collections
import os
import unittest

import numpy as np

import tapedeck as tf
from checkpoint_objects import InFolder

MATRIX = tf.TensorSpec([None, 2], tf.float32)
X = np.array([[1, 2], [.5, -1], [0, 3]], np.float32)


class Network(tf.Module):
    """A function with a branch, a loop, an array, a gradient of its own, and variables shared with another function."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[2., -1], [.25, 3]], name="w")
        self.parts = [tf.Variable(1., name="first"), {"deep": tf.Variable([1., 2], trainable=False, name="deep")}]
        self.again = self.w
        self.calls = tf.Variable(0, trainable=False)

    @tf.function(input_signature=[MATRIX])
    def __call__(self, x):
        self.calls.assign_add(1)
        y = tf.matmul(x, self.w) + self.parts[1]["deep"]
        if tf.reduce_sum(y) > 0:
            y *= self.parts[0]
        else:
            y = tf.exp(y)
        while tf.reduce_max(tf.abs(y)) < 100.:
            y = y * 2. + self.parts[0]
        return y

    @tf.function(input_signature=[MATRIX])
    def rows(self, x):
        made = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.shape(x)[0]):
            made = made.write(i, tf.tanh(x[i] * self.w[0]))
        return {"rows": made.stack(), "count": tf.shape(x)[0]}

    @tf.function(input_signature=[MATRIX])
    def slope(self, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.matmul(x, self.w) ** 3)
        return tape.gradient(y, x)

    @tf.function
    def power(self, x, exponent=2, *, negative=False):
        y = tf.reduce_sum(self.w) * x ** exponent
        return -y if negative else y


class SavedTest(InFolder):
    def saved(self, thing, **kwargs):
        """The object as it is when it was saved and loaded."""
        path = os.path.join(self.folder, "model")
        tf.saved_model.save(thing, path, **kwargs)
        return tf.saved_model.load(path)

    def assert_same(self, a, b):
        a, b = tf.nest.flatten(a), tf.nest.flatten(b)
        self.assertEqual(len(a), len(b))
        for one, other in zip(a, b):
            if one is None or other is None:
                self.assertIs(one, other)
                continue
            self.assertEqual((one.dtype, one.shape), (other.dtype, other.shape))
            if one.dtype == tf.string:
                self.assertEqual(np.array(one.numpy()).tolist(), np.array(other.numpy()).tolist())
            else:
                self.assertEqual(one.numpy().tobytes(), other.numpy().tobytes())


class Modules(SavedTest):
    def test_values_and_gradients_are_the_same_bits(self):
        network = Network()
        again = self.saved(network)
        for x in (X, X[:1], -X):
            def gradients(model, x=x):
                with tf.GradientTape() as tape:
                    results = [model(tf.constant(x)), model.rows(x)["rows"], model.slope(x)]
                    loss = tf.add_n([tf.reduce_sum(tf.sin(each)) for each in results])
                found = tape.gradient(loss, [model.w, model.parts[0]])
                return results, found

            self.assert_same(gradients(network), gradients(again))
        self.assert_same(network.calls, again.calls)
        self.assertEqual(again.rows(X)["count"].numpy(), 3)

    def test_gradients_of_the_second_order(self):
        class Cubic(tf.Module):
            def __init__(self):
                super().__init__()
                self.v = tf.Variable([.5, -2.])

            @tf.function(input_signature=[tf.TensorSpec([None])])
            def f(self, x):
                return tf.reduce_sum(tf.exp(x * self.v) * self.v ** 3)

        cubic = Cubic()

        def second(model):
            with tf.GradientTape() as outer:
                with tf.GradientTape() as tape:
                    y = model.f(tf.constant([1., .25]))
                first = tape.gradient(y, model.v)
            return y, first, outer.gradient(first, model.v)

        self.assert_same(second(cubic), second(self.saved(cubic)))

    def test_variables_are_shared_as_they_were(self):
        again = self.saved(Network())
        self.assertIs(again.again, again.w)
        self.assertEqual(again.w.name, "w:0")
        self.assertFalse(again.parts[1]["deep"].trainable)
        self.assertTrue(again.parts[0].trainable)
        self.assertEqual(len(again.variables), 4)
        self.assertEqual(len(again.trainable_variables), 2)
        before = again(X)
        again.w.assign(again.w * 2)
        self.assertFalse(np.array_equal(before, again(X)))

    def test_variables_that_a_first_call_makes(self):
        class Late(tf.Module):
            def __init__(self):
                super().__init__()
                self.b = None

            @tf.function(input_signature=[tf.TensorSpec([])])
            def f(self, x):
                if self.b is None:
                    self.b = tf.Variable(3., name="late")
                return x * self.b

        again = self.saved(Late())  # never called: saving traces it
        with tf.GradientTape() as tape:
            y = again.f(2.)
        self.assertEqual((float(y), float(tape.gradient(y, again.b)), again.b.name), (6, 2, "late:0"))

    def test_loaded_variables_are_trained(self):
        again = self.saved(Network())
        optimizer = tf.keras.optimizers.Adam(.1)
        before = float(tf.reduce_sum(again.slope(X) ** 2))
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(again.slope(X) ** 2)
            optimizer.apply_gradients([(tape.gradient(loss, again.w), again.w)])
        self.assertLess(float(loss), before)

    def test_python_values_choose_the_trace(self):
        network = Network()
        x = tf.constant(3.)
        expected = network.power(x), network.power(x, 3), network.power(x, negative=True)
        again = self.saved(network)
        self.assert_same(expected, (again.power(x), again.power(x, exponent=3), again.power(x, negative=True)))
        self.assert_same(expected[0], again.power(3.))  # becomes a tensor, as nothing else fits
        with self.assertRaisesRegex(ValueError, r"(?s)Could not find matching concrete function to call loaded from the SavedModel. Got:\n"
                                    r"  Positional arguments \(2 total\):.*\* 5.*3 option\(s\):.*Option 1:.*TensorSpec\(shape=\(\)"):
            again.power(x, 5)
        with self.assertRaisesRegex(TypeError, r"power\(\) got an unexpected keyword argument 'y'"):
            again.power(x, y=1)
        with self.assertRaisesRegex(ValueError, "Could not find matching concrete function"):
            again(np.ones((2, 3), np.float32))
        with self.assertRaisesRegex(ValueError, "Could not find matching concrete function"):
            again(tf.ones([2, 2], tf.float64))

    def test_functions_without_traces_say_so(self):
        module = tf.Module()
        module.f = tf.function(lambda x: x)
        with self.assertRaisesRegex(ValueError, "Found zero restored functions for caller function"):
            self.saved(module).f(1.)

    def test_saved_again_it_is_the_same(self):
        network = Network()
        expected = network(X), network.rows(X), network.slope(X), network.power(tf.constant(2.))
        again = self.saved(self.saved(network))
        self.assert_same(expected, (again(X), again.rows(X), again.slope(X), again.power(tf.constant(2.))))
        self.assertEqual(int(again.calls), 2)
        self.assertIs(again.again, again.w)

    def test_saving_traces_nothing_twice_and_changes_nothing(self):
        network = Network()
        network(X)
        count = network.__call__.experimental_get_tracing_count()
        self.saved(network)
        self.assertEqual(network.__call__.experimental_get_tracing_count(), count)
        self.assertEqual(int(network.calls), 1)

    def test_loaded_functions_are_part_of_other_functions(self):
        network = Network()
        again = self.saved(network)

        @tf.function
        def twice(x, model):
            return model(model(x)) + model.slope(x)

        self.assert_same(twice(tf.constant(X), network), twice(tf.constant(X), again))

    def test_structures_of_arguments_and_results(self):
        point = collections.namedtuple("point", "x y")

        class Structures(tf.Module):
            @tf.function
            def f(self, pair, by_name):
                return point(pair[0] + pair[1], [by_name["a"], None]), {"z": by_name["b"] * 2, "a": (pair[0],)}

        module = Structures()
        arguments = (tf.constant(1.), tf.constant(2.)), {"b": tf.constant([1, 2]), "a": tf.constant("text")}
        expected = module.f(*arguments)
        got = self.saved(module).f(*arguments)
        self.assert_same(expected, got)
        self.assertEqual(got[0]._fields, ("x", "y"))
        self.assertIsNone(got[0].y[1])
        self.assertEqual(list(got[1]["a"])[0].numpy(), 1)

    def test_all_dtypes_of_variables_constants_and_arguments(self):
        values = [tf.constant([1, 0, 1], dtype) for dtype in (
            tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64,
            tf.uint64)]
        values += [tf.constant([True, False]), tf.constant([b"a\xff", "ü"]), tf.constant([1 + 2j, -.5j], tf.complex64),
                   tf.constant([1 + 2j, -.5j], tf.complex128), tf.constant([], tf.float32), tf.constant(np.nan), tf.constant(-0.)]

        class All(tf.Module):
            def __init__(self):
                super().__init__()
                self.all = [tf.Variable(value) for value in values]

            @tf.function
            def f(self, given):
                return [tf.identity(value) for value in values], [variable.read_value() for variable in self.all], given

        module = All()
        expected = module.f(values)
        again = self.saved(module)
        self.assert_same(expected, again.f(values))
        self.assert_same(values, [each.read_value() for each in again.all])

    def test_sparse_tensors_come_and_go(self):
        class Sparse(tf.Module):
            @tf.function
            def f(self, x):
                return x.with_values(x.values * 2.)

        module = Sparse()
        x = tf.SparseTensor([[0, 1], [2, 0]], [1., 3.], [3, 2])
        expected = tf.sparse.to_dense(module.f(x))
        self.assert_same(expected, tf.sparse.to_dense(self.saved(module).f(x)))

    def test_custom_gradients_and_random_numbers(self):
        @tf.custom_gradient
        def clipped(x):
            return x * 2., lambda dy: tf.clip_by_value(dy, -1., 1.) * 10.

        class Noisy(tf.Module):
            def __init__(self):
                super().__init__()
                self.v = tf.Variable([1., 2.])

            @tf.function(input_signature=[])
            def f(self):
                return tf.reduce_sum(clipped(self.v) * 5.)

            @tf.function(input_signature=[])
            def noise(self):
                return tf.random.normal([3]), tf.random.stateless_normal([3], [1, 2])

        module = Noisy()
        again = self.saved(module)
        with tf.GradientTape() as tape:
            y = again.f()
        self.assertEqual(tape.gradient(y, again.v).numpy().tolist(), [10, 10])
        first, second = again.noise(), again.noise()
        self.assertFalse(np.array_equal(first[0], second[0]))
        self.assert_same(first[1], module.noise()[1])

    def test_variables_that_grow_keep_their_open_shape(self):
        module = tf.Module()
        module.v = tf.Variable([[1., 2]], shape=[None, 2])
        again = self.saved(module)
        self.assertEqual(again.v.shape.as_list(), [None, 2])
        again.v.assign(tf.ones([3, 2]))
        with self.assertRaises(ValueError):
            again.v.assign(tf.ones([3, 3]))

    def test_objects_lists_dicts_and_tuples(self):
        module, inner = tf.Module(), tf.Module()
        inner.v, inner.up = tf.Variable(1.), module
        module.all = [inner, ("text", tf.Variable(2.)), {"a": 1, "b": [None, 2.5, inner]}]
        module.plain = 3  # not saved, as in TensorFlow
        again = self.saved(module)
        self.assertIs(again.all[0].up, again)
        self.assertIs(again.all[2]["b"][2], again.all[0])
        self.assertEqual(again.all[1][0], "text")
        self.assertEqual(list(again.all[2]["b"][:2]), [None, 2.5])
        self.assertFalse(hasattr(again, "plain"))
        with self.assertRaisesRegex(AttributeError, "has no attribute 'plain'; it has all, signatures"):
            again.plain
        with self.assertRaises(TypeError):
            again(1)
        module.all.append(object())
        with self.assertWarnsRegex(UserWarning, r"the root.all\[3\] is left out: it is <object object at .*> of type object"):
            again = self.saved(module)
        self.assertRegex(repr(again.all[3]), "<object object at")


    def test_a_training_step_is_saved(self):
        class Trained(tf.Module):
            def __init__(self):
                super().__init__()
                self.w, self.momentum = tf.Variable([1., -2.]), tf.Variable([0., 0.], trainable=False)

            @tf.function(input_signature=[tf.TensorSpec([2])])
            def step(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum((self.w * x - 1.) ** 2)
                self.momentum.assign(self.momentum * .9 + tape.gradient(loss, self.w))
                self.w.assign_sub(self.momentum * .01)
                return loss

        module, x = Trained(), tf.constant([.5, 2.])
        module.step(x)
        again = self.saved(module)
        for _ in range(3):
            self.assert_same(module.step(x), again.step(x))
        self.assert_same(module.w.read_value(), again.w.read_value())


class Signatures(SavedTest):
    def test_the_only_function_is_the_default_signature(self):
        class Line(tf.Module):
            def __init__(self):
                super().__init__()
                self.w = tf.Variable(2.)

            @tf.function(input_signature=[tf.TensorSpec([None], name="x"), tf.TensorSpec([], tf.float32)])
            def f(self, x, b):
                return x * self.w + b

        again = self.saved(Line())
        self.assertEqual(list(again.signatures), ["serving_default"])
        serve = again.signatures[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
        x, b = tf.constant([1., 2.]), tf.constant(.5)
        self.assertEqual(serve(x=x, b=b)["output_0"].numpy().tolist(), [2.5, 4.5])
        self.assertEqual(serve.structured_input_signature, ((), {"x": tf.TensorSpec([None], name="x"), "b": tf.TensorSpec([], name="b")}))
        self.assertEqual(serve.structured_outputs, {"output_0": tf.TensorSpec([None], name="output_0")})
        with self.assertRaisesRegex(TypeError, r"signature_wrapper\(\*, x, b\) takes 0 positional arguments, got 1\."):
            serve(x)
        with self.assertRaisesRegex(TypeError, r"signature_wrapper\(\*, x, b\) missing required arguments: b\."):
            serve(x=x)
        with self.assertRaisesRegex(TypeError, r"signature_wrapper\(\*, x, b\) got unexpected keyword arguments: y\."):
            serve(x=x, b=b, y=b)
        with self.assertRaisesRegex(TypeError, r"expected argument #1\(zero-based\) to be a Tensor; got int \(1\)\."):
            serve(x=x, b=1)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, "float64"):
            serve(x=tf.constant([1.], tf.float64), b=b)
        with tf.GradientTape() as tape:
            y = serve(x=x, b=b)["output_0"]
        self.assertEqual(float(tape.gradient(y, again.w)), 3)

    def test_signatures_that_are_given(self):
        network = Network()

        @tf.function(input_signature=[tf.TensorSpec([None, 2], name="rows")])
        def named(x):
            return {"b": tf.reduce_sum(x), "a": tf.matmul(x, network.w)}

        again = self.saved(network, signatures={"named": named, "rows": network.rows,
                                                "concrete": network.power.get_concrete_function(tf.TensorSpec([], name="base"), 3)})
        self.assertEqual(sorted(again.signatures), ["concrete", "named", "rows"])
        got = again.signatures["named"](rows=tf.constant(X))
        self.assert_same([got["a"], got["b"]], [named(X)["a"], named(X)["b"]])
        self.assert_same(again.signatures["rows"](x=tf.constant(X))["rows"], network.rows(X)["rows"])
        self.assert_same(again.signatures["concrete"](base=tf.constant(2.))["output_0"], network.power(tf.constant(2.), 3))
        once_more = self.saved(again, signatures=again.signatures)
        self.assert_same(once_more.signatures["named"](rows=tf.constant(X))["a"], got["a"])
        self.assertEqual(sorted(self.saved(once_more).signatures), ["concrete", "named", "rows"])

    def test_what_cannot_be_a_signature(self):
        module = tf.Module()
        with self.assertRaisesRegex(ValueError, "Expected a TensorFlow function for which to generate a signature, but got"):
            self.saved(module, signatures=tf.function(lambda x: x))
        nested = tf.function(lambda x: {"a": [x]}, input_signature=[tf.TensorSpec([])])
        with self.assertRaisesRegex(ValueError, "Got a non-Tensor value .* for key 'a' in the output of the function"):
            self.saved(module, signatures=nested)
        with self.assertRaisesRegex(ValueError, "Got a dictionary with a non-string key 1 in the output"):
            self.saved(module, signatures=tf.function(lambda x: {1: x}, input_signature=[tf.TensorSpec([])]))
        same = tf.function(lambda x, y: x, input_signature=[tf.TensorSpec([], name="x"), tf.TensorSpec([], name="x")])
        with self.assertRaisesRegex(ValueError, "non-unique argument names for SavedModel signature 'serving_default': x, x"):
            self.saved(module, signatures=same)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "model")))


if __name__ == "__main__":
    unittest.main()
