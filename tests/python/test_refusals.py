"""Bad arguments of the package's Python functions: each refusal is one of TensorFlow's errors and names the function."""
import inspect
import os
import random
import re
import types
import unittest
import warnings

import numpy as np

import tapedeck as tf
from tapedeck import namespaces

SEED = int(os.environ.get("TAPEDECK_FUZZ_SEED", "20180403"))
CALLS = int(os.environ.get("TAPEDECK_FUZZ_CALLS", "3000"))
MODULES = ("tapedeck.nn", "tapedeck.linalg", "tapedeck.random", "tapedeck.shaping", "tapedeck.blocks", "tapedeck.casts",
           "tapedeck.matrices", "tapedeck.reductions", "tapedeck.segments", "tapedeck.selections",
           "tapedeck.debugging", "tapedeck.nn_images")
SHAPES = [(), (0,), (1,), (2,), (3,), (2, 2), (2, 3), (0, 3), (3, 0), (1, 3, 3, 2), (2, 2, 2), (1, 1, 1, 1, 1, 2), (3, 3)]
DTYPES = [tf.float32, tf.float64, tf.int32, tf.int64, tf.bool, tf.uint8, tf.float16, tf.bfloat16, tf.int8]
OTHERS = [0, 1, 2, -1, 3, -7, 2**45, 2**62, -2**63, .5, -1.5, float("nan"), float("inf"), True, None, "SAME", "VALID", "NHWC", "left",
          "ij,jk->ik", [0], [1, 2], [-1], [[1, 1], [0, 0]], [[1, 1]], [], [.5], (2, 3), [2**45], tf.int32, "nonsense", [1, 2, 2, 1], {},
          [None], [[1], [2, 3]], np.ones((2, 2)), np.array([1, 2], np.uint64), 1 + 2j]


def functions():
    """The package's own public functions by their path under tf."""
    found = {}
    for module in namespaces.public_modules():
        for name, value in vars(module).items():
            if not name.startswith("_") and isinstance(value, types.FunctionType) and value.__module__ in MODULES:
                if not name.startswith(("set_", "get_")):  # they change what other tests see
                    found.setdefault(value, module.__name__.replace("tapedeck", "tf") + "." + name)
    return sorted((path, function) for function, path in found.items())


class Refusals(unittest.TestCase):
    def any_value(self, chance):
        if chance.random() < .5:
            return chance.choice(OTHERS)
        values = np.random.RandomState(chance.randrange(999)).randint(-2, 4, chance.choice(SHAPES))
        tensor = tf.cast(values * chance.choice([1, .5]), chance.choice(DTYPES))
        return tf.transpose(tensor) if chance.random() < .3 else tensor

    def test_any_call_gives_tensors_or_a_refusal_that_names_it(self):
        print(f"TAPEDECK_FUZZ_SEED={SEED} TAPEDECK_FUZZ_CALLS={CALLS}")
        chance, known = random.Random(SEED), functions()
        self.assertGreater(len(known), 120)
        refused = 0
        warnings.simplefilter("ignore")  # NumPy's, of what it is asked to convert
        self.addCleanup(warnings.resetwarnings)
        for _ in range(CALLS):
            path, function = chance.choice(known)
            given = {}
            for name, parameter in inspect.signature(function).parameters.items():
                if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name == "name":
                    continue
                if parameter.default is parameter.empty or chance.random() < .35:
                    given[name] = self.any_value(chance)
            try:
                function(**given)
            except tf.errors.OpError as error:
                refused += 1
                if function.__module__ != "tapedeck.debugging":  # these say what did not hold
                    self.assertRegex(str(error), r"^[a-z_0-9]+(: |\(\) )", f"{path} {given}")
            except (TypeError, ValueError) as error:
                refused += 1
                self.assertTrue(str(error).startswith(function.__name__), f"{path} {given}: {error!r}")
        self.assertGreater(refused, CALLS // 4)

    def test_pythons_own_refusals_are_named_with_all_arguments(self):
        for call, kind, pattern in (
                (lambda: tf.nn.conv1d(tf.ones([1, 4, 1]), np.ones((2, 1, 1)), "a", "SAME"), ValueError,
                 r"^conv1d: invalid literal for int\(\).*called with input: float32 \(1, 4, 1\), filters: float64 \(2, 1, 1\), stride: 'a'"),
                (lambda: tf.math.bincount([1], minlength=1 + 2j), TypeError, r"^bincount: .*arr: \[1\], minlength: \(1\+2j\)"),
                (lambda: tf.sequence_mask([1], float("inf")), ValueError, r"^sequence_mask: .*infinity.*maxlen: inf"),
                (lambda: tf.linalg.tensordot([1.], [1.], None), TypeError, r"^tensordot: .*axes: None"),
                (lambda: tf.stack(tf.constant(3)), TypeError, "^stack: values: <tf.Tensor.* is no list of tensors"),
                (lambda: tf.add_n(None), TypeError, "^add_n: inputs: None is not a tensor")):
            with self.assertRaisesRegex(tf.errors.InvalidArgumentError, pattern) as caught:
                call()
            self.assertIsInstance(caught.exception, kind)

    def test_names_signatures_and_docstrings_stay(self):
        self.assertEqual(list(inspect.signature(tf.pad).parameters),
                         ["tensor", "paddings", "mode", "constant_values", "name"])
        self.assertTrue(re.match("Puts a border", tf.pad.__doc__) and tf.pad.__name__ == "pad")
        with self.assertRaisesRegex(TypeError, r"pad\(\) missing 1 required positional argument: 'paddings'"):
            tf.pad([1])


if __name__ == "__main__":
    unittest.main()
