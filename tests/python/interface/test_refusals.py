"""Bad arguments of the package's Python functions: each refusal is one of TensorFlow's errors and names the function."""
import inspect
import re
import types
import unittest
import warnings
from unittest import mock

import numpy as np

import tapedeck as tf
from campaign import Campaign
from tapedeck._core import arguments, public

SHAPES = [(), (0,), (1,), (2,), (3,), (2, 2), (2, 3), (0, 3), (3, 0), (1, 3, 3, 2), (2, 2, 2), (1, 1, 1, 1, 1, 2), (3, 3)]
DTYPES = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.uint8, tf.float16, tf.bfloat16, tf.int8]
OTHERS = [0, 1, 2, -1, 3, -7, 2**45, 2**62, -2**63, .5, -1.5, float("nan"), float("inf"), True, None, "SAME", "VALID", "NHWC", "left",
          "ij,jk->ik", [0], [1, 2], [-1], [[1, 1], [0, 0]], [[1, 1]], [], [.5], (2, 3), [2**45], tf.int32, "nonsense", [1, 2, 2, 1], {},
          [None], [[1], [2, 3]], np.ones((2, 2)), np.array([1, 2], np.uint64), 1 + 2j]


def functions():
    """The package's own public functions that tell their name in errors, by their path under tf."""
    found = {}
    for name, value in public.NAMES.items():
        if isinstance(value, types.FunctionType) and hasattr(value, "in_errors"):
            if not value.__name__.startswith(("set_", "get_", "save_")):  # they change what other tests see
                found.setdefault(value, "tf." + name)
    return sorted((path, function) for function, path in found.items())


class Refusals(unittest.TestCase):
    def any_value(self, chance):
        if chance.random() < .5:
            return chance.choice(OTHERS)
        values = np.random.RandomState(chance.randrange(999)).randint(-2, 4, chance.choice(SHAPES))
        tensor = tf.cast(values * chance.choice([1, .5]), chance.choice(DTYPES))
        return tf.transpose(tensor) if chance.random() < .3 else tensor

    def test_any_call_gives_tensors_or_a_refusal_that_names_it(self):
        calls = Campaign("function_refusals", "random calls of the package's functions", 3_000, 30_000,
                         "further random calls of each function")
        chance, known = calls.random(), functions()
        self.assertGreater(len(known), 120)
        chance.shuffle(known)
        refused = 0
        warnings.simplefilter("ignore")  # NumPy's, of what it is asked to convert
        self.addCleanup(warnings.resetwarnings)
        for number in range(calls.count):
            path, function = known[number % len(known)]
            given = {}
            for name, parameter in inspect.signature(function).parameters.items():
                if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or (
                        name == "name" and parameter.default is not parameter.empty):
                    continue
                if parameter.default is parameter.empty or chance.random() < .35:
                    given[name] = self.any_value(chance)
            try:
                function(**given)
            except tf.errors.OpError as error:
                refused += 1
                if function.__module__ != "tapedeck.debugging":  # these say what did not hold
                    self.assertRegex(str(error), r"^[a-z_0-9]+(: |\(\) )", f"{path} {given}")
            except Exception as error:
                raise AssertionError(f"{path} with {given}: an error that is none of the engine's") from error
        self.assertGreater(refused, calls.count // 4)

    def test_what_python_would_refuse_is_named_with_all_arguments(self):
        for call, kind, pattern in (
                (lambda: tf.nn.conv1d(tf.ones([1, 4, 1]), np.ones((2, 1, 1)), "a", "SAME"), TypeError,
                 r"^conv1d: stride: 'a' is not an integer; called with input: float32 \(1, 4, 1\), filters: float64 \(2, 1, 1\), "
                 r"stride: 'a'"),
                (lambda: tf.math.bincount([1], minlength=1 + 2j), TypeError,
                 r"^bincount: minlength: \(1\+2j\) is not an integer; called with arr: \[1\], minlength: \(1\+2j\)"),
                (lambda: tf.sequence_mask([1], float("inf")), TypeError, r"^sequence_mask: maxlen: inf is not an integer; .*maxlen: inf"),
                (lambda: tf.linalg.tensordot([1.], [1.], None), TypeError, r"^tensordot: axes: None is not an integer; .*axes: None"),
                (lambda: tf.math.bincount([1], [1], binary_output=np.ones(2)), ValueError,
                 r"^bincount: binary_output: float64 \(2,\) is neither true nor false"),
                (lambda: tf.signal.frame([1.], 1, 1, axis=[0]), TypeError, r"^frame: axis: \[0\] is not an integer"),
                (lambda: tf.signal.frame([1.], 1, 1, np.ones(2)), ValueError, r"^frame: pad_end: float64 \(2,\) is neither"),
                (lambda: tf.image.resize_with_pad(tf.ones([2, 2, 1]), [], 1), ValueError,
                 r"^resize_with_pad: target_height: \[\] is not a single integer"),
                (lambda: tf.image.resize_with_crop_or_pad(tf.ones([2, 2, 1]), 2, (2, 3)), ValueError,
                 r"^resize_with_crop_or_pad: target_width: \(2, 3\) is not a single integer"),
                (lambda: tf.nn.log_poisson_loss([1.], [1.], np.ones(2)), ValueError,
                 r"^log_poisson_loss: compute_full_loss: float64 \(2,\) is"),
                (lambda: tf.nn.lrn(tf.ones([1, 1, 1, 1]), beta={}), TypeError,
                 r"^local_response_normalization: beta: \{\} is not a number"),
                (lambda: tf.nn.sufficient_statistics([1.], [0], tf.int32), TypeError, "^sufficient_statistics: subtract: y: "),
                (lambda: tf.required_space_to_batch_paddings([0], [1], np.ones((3, 3), int)), ValueError,
                 r"^required_space_to_batch_paddings: input_shape \[0\], block_shape \[1\] and base_paddings \[\[1, 1, 1\]"),
                (lambda: tf.stack(tf.constant(3)), TypeError, "^stack: values: <tf.Tensor.* is not a list of tensors"),
                (lambda: tf.add_n(None), TypeError, "^add_n: inputs: None is not a tensor")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern) as caught:
                call()
            self.assertIsInstance(caught.exception, kind)

    def test_what_an_op_inside_refuses_names_the_function_and_its_arguments(self):
        for call, pattern in (
                (lambda: tf.linalg.logdet([[1]]), r"^logdet: cholesky: input is int32; .*; called with matrix: \[\[1\]\]$"),
                (lambda: tf.boolean_mask({}, [True]),
                 r"^boolean_mask: cannot convert \{\} of type dict .*; called with tensor: \{\}, mask"),
                (lambda: tf.linalg.matvec([[1.]], [1., 2.]),
                 r"^matvec: matmul: a \(1, 1\) and b \(2, 1\): .*; called with a: \[\[1.0\]\], b:"),
                (lambda: tf.nn.conv1d(tf.ones([1, 4, 1]), tf.ones([2, 2, 1]), 1, "SAME"),
                 "^conv1d: conv2d: input .*called with input: float32"),
                (lambda: tf.nn.max_pool2d(tf.ones([1, 2, 2, 1]), 0, 1, "SAME"),
                 "^max_pool2d: max_pool: ksize is 0; .*; called with input: float32")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern) as caught:
                call()
            self.assertEqual(str(caught.exception).count("called with"), 1)

    def test_errors_of_the_engine_carry_the_op_and_the_argument(self):
        for call, kind, op_name, argument in (
                (lambda: tf.exp([1]), TypeError, "exp", "x"), (lambda: tf.gather([1.], 0, axis=5), ValueError, "gather", "axis"),
                (lambda: tf.argmax([1.], axis="x"), TypeError, "argmax", "axis"), (lambda: tf.abs({}), TypeError, "abs", "x"),
                (lambda: tf.add([1.], tf.constant(1)), TypeError, "add", "x"), (lambda: tf.exp(z=1.), TypeError, "exp", None),
                (lambda: tf.matmul([[1.]], [[1., 2.], [3., 4.]]), ValueError, "matmul", None),
                (lambda: tf.gather([1.], 7), IndexError, "gather", None),
                (lambda: tf.broadcast_to(1., [2**40, 2**40]), Exception, "broadcast_to", None),
                (lambda: tf.linalg.logdet([[1]]), TypeError, "cholesky", "input"),  # the function's name is in front of it
                (lambda: tf.constant({}), TypeError, "constant", "value"), (lambda: tf.math.polyval(3, 1.), TypeError, None, None)):
            with self.assertRaises(tf.errors.OpError) as caught:
                call()
            error = caught.exception
            self.assertIsInstance(error, kind)
            self.assertEqual((error.op_name, error.argument), (op_name, argument), str(error))
            self.assertTrue(op_name is None or op_name in str(error).partition(";")[0], str(error))

    def test_who_refused_is_not_read_from_the_text(self):
        def refused(**facts):
            error = tf.errors.InvalidArgumentError("pad: is what the text begins with")
            vars(error).update(facts)
            return error

        for error, begin in ((refused(), "pad: is what"), (refused(op_name="fill"), "pad: pad: is what"),
                             (arguments.of_argument(refused()), "pad: pad: is what"), (refused(op_name="pad"), "pad: is what")):
            with mock.patch("tapedeck._array.shaping.array", side_effect=error), self.assertRaises(tf.errors.OpError) as caught:
                tf.pad([1.], [[1, 1]])
            self.assertIs(caught.exception, error)
            self.assertTrue(str(error).startswith(begin), str(error))

    def test_a_bug_of_the_package_is_not_shown_as_the_users_mistake(self):
        bugs = (AttributeError("'NoneType' object has no attribute 'shape'"), TypeError("unhashable type: 'list'"), KeyError("axis"),
                ValueError("not enough values to unpack"), IndexError("tuple index out of range"), ZeroDivisionError("by zero"))
        for call, patched in ((lambda: tf.pad([1.], [[1, 1]]), "tapedeck._array.shaping.array"),
                              (lambda: tf.nn.conv1d(tf.ones([1, 4, 1]), tf.ones([2, 1, 1]), 1, "SAME"), "tapedeck._nn.images._wide"),
                              (lambda: tf.einsum("ij->i", [[1.]]), "tapedeck._linalg.functions._op"),
                              (lambda: tf.image.resize(tf.ones([2, 2, 1]), [1, 1]), "tapedeck._image.sizes.checked_images")):
            for bug in bugs:
                with mock.patch(patched, side_effect=bug), self.assertRaises(type(bug)) as caught:
                    call()
                self.assertIs(caught.exception, bug)
                self.assertNotIsInstance(bug, tf.errors.OpError)
                self.assertNotIn("called with", str(bug))

    def test_converters_refuse_by_the_arguments_name(self):
        for convert, value, pattern in (
                (arguments.integer, 1.5, "^n: 1.5 is not an integer$"), (arguments.number, "x", "^n: 'x' is not a number$"),
                (arguments.number, [1, 2], r"^n: \[1, 2\] is not a number$"),
                (arguments.flag, np.ones(2), r"^n: float64 \(2,\) is neither"),
                (arguments.sequence, 3, "^n: 3 is not a list$"),
                (arguments.array, [[1], [2, 3]], r"^n: \[\[1\], \[2, 3\]\] is not an array$"),
                (arguments.integers, [.5, 1], "^n: 0.5 is not an integer$"), (arguments.one_integer, [1, 2], "is not a single integer$")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern):
                convert(value, "n")
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"^n is 'b'; must be one of None, 'a', 1$"):
            arguments.one_of("b", "n", (None, "a", 1))
        self.assertEqual(arguments.integers(tf.constant([1, 2]), "n") + arguments.integers(3, "n"), [1, 2, 3])
        self.assertIs(arguments.one_of(None, "n", (None, "a")), None)

    def test_a_function_inside_of_another_is_named_behind_it_and_arguments_come_once(self):
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError,
                                    "^extract_image_patches: extract_patches: padding is 'X'; .*ksizes") as caught:
            tf.image.extract_image_patches(tf.ones([1, 2, 2, 1]), [1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1], "x")
        self.assertEqual(str(caught.exception).count("called with"), 1)

    def test_fractions_are_no_whole_numbers(self):
        images, matrix = tf.ones([1, 4, 1]), np.ones((3, 3))
        for call in (lambda: tf.nn.conv1d(images, np.ones((2, 1, 1)), 1.5, "SAME"), lambda: tf.boolean_mask(matrix, [True] * 3, axis=.7),
                     lambda: tf.sequence_mask([1], 2.5), lambda: tf.repeat(matrix, 2, axis=.5),
                     lambda: tf.dynamic_partition([1], [0], 1.9), lambda: tf.ensure_shape([1.], [1.2]),
                     lambda: tf.reverse_sequence(matrix, [1, 2, 3], seq_axis=1.5, batch_axis=0), lambda: tf.tensordot(matrix, matrix, 1.5),
                     lambda: tf.tensordot(matrix, matrix, [.5, .5]), lambda: tf.math.bincount([1], minlength=3.5),
                     lambda: tf.math.bincount([1], maxlength=1.5), lambda: tf.math.confusion_matrix([0], [0], 1.5),
                     lambda: tf.norm(matrix, axis=[.5, 1.5]), lambda: tf.random.uniform([1], tf.constant(0.), 3.5, tf.int32),
                     lambda: tf.image.random_crop(matrix, [1.5, 1]), lambda: tf.broadcast_static_shape([1.5], [1]),
                     lambda: tf.histogram_fixed_width([1.], [0., 1.], 2.5), lambda: tf.nn.lrn(tf.ones([1, 1, 1, 1]), 1.5),
                     lambda: tf.nn.dropout(matrix, .5, [3.5, 1]), lambda: tf.debugging.assert_rank(matrix, 2.5)):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn("integer", str(caught.exception))

    def test_numpys_lack_of_memory_is_named(self):
        with self.assertRaisesRegex(tf.errors.ResourceExhaustedError, r"^bincount: .*called with arr: int32 \(1099511627776,\)") as caught:
            tf.math.bincount(tf.broadcast_to(1, [2**40]))
        self.assertIsInstance(caught.exception, MemoryError)

    def test_results_of_few_numbers_tell_their_size_where_there_is_no_room(self):
        many, place = 2**42, tf.SparseTensor([[0, 0]], [1.], [2**42, 2])
        for call, text in (
                (lambda: tf.math.bincount([many]), "^bincount: a count of each number from 0 to 4398046511104 needs 16 TiB, the machine"),
                (lambda: tf.math.bincount([2**63 - 1]), "^bincount: a count of each number from 0 to 9223372036854775807 needs 32 EiB"),
                (lambda: tf.math.bincount([[2**62], [1]], axis=-1), "^bincount: 2 rows of a count of each number .* needs 32 EiB"),
                (lambda: tf.math.bincount([1], minlength=many), "^bincount: .* needs 16 TiB"), (lambda: tf.one_hot([0], many), "16 TiB"),
                (lambda: tf.range(many), "^range: .* needs 32 TiB"), (lambda: tf.fill([many], 1.), "^fill: .* needs 16 TiB"),
                (lambda: tf.sequence_mask([1], many), "^sequence_mask: .* needs 32 TiB"),
                (lambda: tf.sparse.to_dense(place), "^to_dense: .* needs 32 TiB"),
                (lambda: tf.sparse.reduce_sum(place, 1), "^reduce_sum: .* needs 16 TiB"),
                (lambda: tf.sparse.matmul(place, [[1.], [2.]]), "^sparse_dense_matmul: .* needs 16 TiB"),
                (lambda: tf.math.unsorted_segment_sum([1.], [0], many), "^unsorted_segment_sum: .* needs 16 TiB"),
                (lambda: tf.math.unsorted_segment_mean([1.], [0], many), "^unsorted_segment_mean: .* needs 16 TiB"),
                (lambda: tf.math.segment_max([1.], [many]), "^segment_max: .* needs 16 TiB"),
                (lambda: tf.scatter_nd([[0]], [1.], [many]), "^scatter_nd: .* needs 16 TiB"),
                (lambda: tf.histogram_fixed_width([1.], [0., 1.], many), "^histogram_fixed_width: .* needs 16 TiB"),
                (lambda: tf.dynamic_partition([1], [0], many), "^dynamic_partition: num_partitions is 4398046511104; at most 16777216"),
                (lambda: tf.split([1.], many), "^split: would make 4398046511104 tensors"),
                (lambda: tf.sparse.split(place, many, 0), "^split: num_split is 4398046511104; at most 16777216"),
                (lambda: tf.keras.metrics.AUC(many), "^AUC: num_thresholds is 4398046511104; at most 16777216"),
                (lambda: tf.keras.metrics.PrecisionAtRecall(.5, many), "num_thresholds is 4398046511104; at most 16777216"),
                (lambda: tf.keras.metrics.MeanIoU(many), "zeros: a tensor of shape .* has more than 2\\^63 elements"),
                (lambda: tf.data.Dataset.range(2).interleave(tf.data.Dataset.from_tensors, many), "^interleave: cycle_length is 4398")):
            with self.subTest(text), self.assertRaisesRegex(tf.errors.ResourceExhaustedError, text) as caught:
                call()
            self.assertIsInstance(caught.exception, MemoryError)

    def test_names_signatures_and_docstrings_stay(self):
        self.assertEqual(list(inspect.signature(tf.pad).parameters),
                         ["tensor", "paddings", "mode", "constant_values", "name"])
        self.assertTrue(re.match("Pads a tensor", tf.pad.__doc__) and tf.pad.__name__ == "pad")
        with self.assertRaisesRegex(TypeError, r"pad\(\) missing 1 required positional argument: 'paddings'"):
            tf.pad([1])


if __name__ == "__main__":
    unittest.main()
