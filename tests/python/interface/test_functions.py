"""How the registry's functions are called: arguments, keywords, TensorFlow 1's spellings, errors, stubs."""
import ast
import inspect
import os
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import _engine, tfe
from tapedeck._core import namespaces

matrix = np.arange(6, dtype=np.float32).reshape(2, 3)


class Calls(unittest.TestCase):
    def test_keywords_positions_and_name(self):
        a = tf.constant(matrix)
        wanted = matrix @ matrix.T
        for result in (tf.matmul(a, a, transpose_b=True), tf.matmul(a, b=a, transpose_b=True, name="product"),
                       tf.matmul(b=a, a=a, transpose_a=False, transpose_b=True), tf.linalg.matmul(a, a, False, True)):
            np.testing.assert_allclose(result.numpy(), wanted)
        np.testing.assert_array_equal(tf.add([1, 2], [3, 4]).numpy(), [4, 6])

    def test_numbers_take_the_tensors_dtype_wherever_they_stand(self):
        doubles = tf.constant([1., 2.], dtype=tf.float64)
        self.assertEqual(tf.maximum(0, doubles).dtype, tf.float64)
        self.assertEqual(tf.maximum(doubles, 1.5).dtype, tf.float64)
        self.assertEqual(tf.maximum(np.float64(1), [1., 2.]).dtype, tf.float64)
        self.assertEqual(tf.maximum(1, 2.5).dtype, tf.float32)
        self.assertEqual(tf.pow(doubles, 2).dtype, tf.float64)

    def test_reductions_take_both_generations_of_names(self):
        a = tf.constant(matrix)
        for result in (tf.reduce_sum(a, axis=1, keepdims=True), tf.reduce_sum(a, 1, True),
                       tf.reduce_sum(a, reduction_indices=[1], keep_dims=True),
                       tf.reduce_sum(a, axis=np.int64(1), keepdims=np.bool_(True)),
                       tf.reduce_sum(a, axis=tf.constant([1]), keepdims=True), tf.reduce_sum(a, (-1,), keepdims=1)):
            np.testing.assert_allclose(result.numpy(), matrix.sum(1, keepdims=True))
        self.assertEqual(tf.expand_dims(a, dim=0).shape, (1, 2, 3))

    def test_shapes_come_as_lists_tuples_integers_and_tensors(self):
        for shape in ([6], (6,), 6, tf.constant([6]), np.array([6]), tf.constant(matrix[0]).shape + (2,)):
            wanted = 6 if not isinstance(shape, tf.TensorShape) else 2
            self.assertEqual(tf.reshape(tf.constant(matrix), shape).shape[-1], wanted)
        self.assertEqual(tf.zeros(shape=(2)).shape, (2,))
        self.assertEqual(tf.ones([], dtype=tf.int64).dtype, tf.int64)
        self.assertEqual(tf.zeros([2], np.float64).dtype, tf.float64)

    def test_lists_of_tensors(self):
        a = tf.constant(matrix)
        np.testing.assert_array_equal(tf.concat([a, matrix], 0).numpy(), np.concatenate([matrix, matrix]))
        np.testing.assert_array_equal(tf.concat(values=(a, a * 2), axis=1).numpy(), np.concatenate([matrix, matrix * 2], 1))
        np.testing.assert_array_equal(tf.stack([a, a]).numpy(), np.stack([matrix, matrix]))
        np.testing.assert_array_equal(tf.stack([1., tf.constant(2.)]).numpy(), [1, 2])

    def test_many_outputs_are_lists(self):
        parts = tf.unstack(tf.constant(matrix))
        self.assertIsInstance(parts, list)
        np.testing.assert_array_equal(parts[1].numpy(), matrix[1])
        self.assertEqual(len(tf.unstack(tf.constant(matrix[:1]))), 1)

    def test_likenesses_take_the_names_of_both_generations(self):
        for function, value in ((tf.zeros_like, 0), (tf.ones_like, 1)):
            for result in (function(input=[[2., 3.]]), function(tensor=[[2., 3.]], dtype=None, optimize=True)):
                self.assertEqual((result.numpy().tolist(), result.dtype), ([[value, value]], tf.float32))
            self.assertEqual(function(tensor=[2.], dtype=tf.int8).dtype, tf.int8)


class CallErrors(unittest.TestCase):
    def test_wrong_arguments_are_named(self):
        a = tf.constant(matrix)
        for action, pattern in (
                (lambda: tf.matmul(a), r"matmul\(\) is missing argument 'b'; it takes \(a, b, transpose_a=False"),
                (lambda: tf.matmul(a, a, transpose_c=True), r"matmul\(\) has no argument 'transpose_c'; it takes \(a, b"),
                (lambda: tf.matmul(a, a, a=a), r"matmul\(\) got several values for argument 'a'"),
                (lambda: tf.reduce_sum(a, axis=0, reduction_indices=0), "several values"),
                (lambda: tf.exp(a, None, None, None), r"exp\(\) takes at most 2 arguments \(.*\), 4 were given"),
                (lambda: tf.reduce_sum(a, axis="x"), "reduce_sum: axis: 'x' is neither an integer nor a list"),
                (lambda: tf.reduce_sum(a, axis=1.5), "reduce_sum: axis: 1.5 is neither"),
                (lambda: tf.cast(a, "no dtype"), "cast: dtype: .*'no dtype' is not one of"),
                (lambda: tf.cast(a, None), "cast: dtype: None is not a dtype"),
                (lambda: tf.exp("text"), "exp: .* is string; needs"),
                (lambda: tf.matmul(a, None), "matmul: b: None is not a tensor"),
                (lambda: tf.stack([a, "text"]), "stack: .*cannot convert 'text' to float32")):
            with self.assertRaisesRegex(TypeError, pattern):
                action()

    def test_engine_errors_have_tensorflows_classes_and_pythons(self):
        with self.assertRaisesRegex(ValueError, r"matmul: .*\(2, 3\)"):
            tf.matmul(matrix, matrix)
        with self.assertRaises(tf.errors.InvalidArgumentError):
            tf.matmul(matrix, matrix)
        bases = {"InvalidArgumentError": ValueError, "TypeMismatchError": TypeError, "OutOfRangeError": IndexError,
                 "ResourceExhaustedError": MemoryError, "NotFoundError": RuntimeError,
                 "UnimplementedError": NotImplementedError, "FailedPreconditionError": RuntimeError}
        for name, base in bases.items():
            error = getattr(tf.errors, name)
            self.assertTrue(issubclass(error, base) and issubclass(error, tf.errors.OpError), name)
            self.assertEqual(error.__module__, "tapedeck.errors")
        with self.assertRaises(MemoryError) as caught:
            tf.zeros([2**20, 2**20, 2**10])
        self.assertIn("zeros", str(caught.exception))

    def test_an_exception_of_a_users_function_travels_unchanged(self):
        class Mine(Exception):
            pass

        def raising(*arguments, **keywords):
            raise Mine("text")

        @tf.custom_gradient
        def forward(x):
            return raising()

        @tf.custom_gradient
        def backward(x):
            return x * 2., raising

        with self.assertRaisesRegex(Mine, "^text$"):
            forward(1.)
        with self.assertRaisesRegex(Mine, "^text$"):
            tfe.gradients_function(backward)(1.)
        with self.assertRaisesRegex(Mine, "^text$"):
            tfe.gradients_function(raising)(1.)
        self.assertEqual(float(tfe.gradients_function(lambda x: x * x)(3.)[0]), 6.)


class Documentation(unittest.TestCase):
    def functions(self):
        def is_function(value):
            return isinstance(value, type(lambda: 0)) or isinstance(getattr(value, "__self__", None), type(tf.matmul.__self__))

        for module in namespaces.public_modules():
            for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
                if is_function(getattr(module, name)):
                    yield module, name, getattr(module, name)

    def test_every_public_function_has_a_docstring_and_a_signature(self):
        count = 0
        for _, name, function in self.functions():
            self.assertTrue((function.__doc__ or "").strip(), name)
            inspect.signature(function)
            count += 1
        self.assertGreater(count, 80)
        self.assertEqual(str(inspect.signature(tf.matmul)).split(", ")[:2], ["(a", "b"])
        self.assertTrue(tf.matmul.__text_signature__.endswith("name=None)"))

    def test_docstrings_tell_the_result_and_the_errors(self):
        told = 0
        for module, name, function in self.functions():
            if module in (tf.nn, tf.linalg, tf.math) or (module is tf.debugging and name.startswith("assert_")):
                told += 1
                for word in ("Return", "Error"):
                    self.assertIn(word, function.__doc__, f"{module.__name__}.{name}")
        self.assertGreater(told, 250)

    def test_every_public_function_stands_in_the_stub_with_its_docstring(self):
        folder = os.path.join(os.environ["TAPEDECK_BUILD_DIR"], "python", "tapedeck")
        self.assertTrue(os.path.exists(os.path.join(folder, "py.typed")))
        stubs = {}
        for module, name, function in self.functions():
            parts = module.__name__.split(".")[1:]
            path = os.path.join(folder, *parts, "__init__.pyi") if hasattr(module, "__path__") else os.path.join(folder, *parts) + ".pyi"
            if path not in stubs:
                with open(path, encoding="utf-8") as file:
                    tree = ast.parse(file.read())
                stubs[path] = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
            self.assertIn(name, stubs[path], path)
            self.assertEqual(ast.get_docstring(stubs[path][name]), inspect.cleandoc(function.__doc__), name)
        self.assertIn(os.path.join(folder, "__init__.pyi"), stubs)
        with open(os.path.join(folder, "_engine.pyi"), encoding="utf-8") as file:
            classes = {node.name: node for node in ast.parse(file.read()).body if isinstance(node, ast.ClassDef)}
        members = {node.name for node in classes["Tensor"].body if isinstance(node, ast.FunctionDef)}
        self.assertLessEqual({"numpy", "shape", "dtype", "__add__", "__getitem__", "__dlpack__"}, members)

    def test_the_stub_of_svd_says_what_it_returns_without_vectors(self):
        path = os.path.join(os.environ["TAPEDECK_BUILD_DIR"], "python", "tapedeck", "linalg.pyi")
        with open(path, encoding="utf-8") as file:
            forms = [node for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef) and node.name == "svd"]
        found, three = [], "_tuple[Tensor, Tensor, Tensor]"
        for form in forms:
            arguments = {a.arg: a.annotation for a in form.args.args + form.args.kwonlyargs}
            found.append((ast.unparse(arguments["compute_uv"]), ast.unparse(form.returns)))
            self.assertEqual([ast.unparse(d) for d in form.decorator_list], ["overload"])
        self.assertEqual(found, [("Literal[True]", three), ("Literal[False]", "Tensor"), ("Literal[False]", "Tensor"),
                                 ("_bool", f"Tensor | {three}")])

    def test_every_name_of_the_registry_is_reachable(self):
        for name, function in _engine.op_functions.items():
            found = tf
            for part in name.split("."):
                found = getattr(found, part)
            self.assertTrue(callable(found), name)
            if isinstance(found, type(function)):
                self.assertEqual(found.__self__.op_name, function.__self__.op_name)
        from tapedeck.math import log
        self.assertIs(log, tf.math.log)
        self.assertEqual(repr(tf.matmul), "<built-in function matmul>")


if __name__ == "__main__":
    unittest.main()
