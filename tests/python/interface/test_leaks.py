"""Values of wrong kinds: what the package says of them names the function or the argument, not the package's own insides."""
import contextlib
import enum
import inspect
import io
import os
import sys
import tempfile
import traceback
import unittest
import warnings

import numpy as np

import tapedeck as tf
from campaign import Campaign
from tapedeck import _engine
from tapedeck._core.missing import MissingName
from tapedeck._core.public import NAMESPACES

# What Python raises where code comes upon a value that it did not expect.
INSIDES = (AttributeError, KeyError, IndexError, NameError, ZeroDivisionError, RecursionError, AssertionError, StopIteration, SystemError)
# Parts of names: they end the program, read data sets from a network, or change what other calls see; the report is made by lockstep().
LEFT_OUT = ("app.run", "test.main", "tfe.run", "_behavior", "datasets.", "set_", "config.", "enable_", "disable_", "lockstep",
            "LockstepReport", "load_trace", "save_trace")


class Other:
    """A thing that no function knows."""


VALUES = [3, 1.5, "x", b"x", None, [], (), {}, [1, 2], ["a"], [None], {"a": 1}, Other(), lambda x: x, int, tf.constant([1., 2.]),
          tf.constant(3), tf.constant("a"), tf.Variable([1., 2.]), np.ones((2, 2)), np.array(3), np.array(["a"]), True, -1, 2**40,
          "float32", tf.float32, tf.TensorShape([None, 2]), 1j, float("nan"), [[1], [2, 3]], (1, 2, 3), slice(1),
          tf.data.Dataset.range(3), tf.keras.layers.Dense(2), tf.SparseTensor([[0]], [1.], [2]), tf.keras.Input((2,)),
          tf.IndexedSlices(tf.ones([1]), [0]), range(3), {1}, "accuracy"]


def public_things():
    """(path under tf, function or class) of all."""
    found = {}
    for path, module in sorted(NAMESPACES.items()):
        for name in module.__all__:
            full, value = f"{path}.{name}".lstrip("."), getattr(module, name)
            is_enum = isinstance(value, type) and issubclass(value, enum.Enum)  # Python's own way to make one
            if callable(value) and not is_enum and not any(part in full for part in LEFT_OUT):
                found.setdefault(id(value), (full, value))
    return sorted(found.values(), key=lambda each: each[0])


def any_arguments(value, chance):
    """(positional, by name) for a call."""
    try:
        parameters = [each for each in inspect.signature(value).parameters.values() if each.name != "self"]
    except (TypeError, ValueError):
        return [chance.choice(VALUES) for _ in range(chance.randrange(4))], {}
    given = {each.name: chance.choice(VALUES) for each in parameters if each.kind in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY)
             and (each.default is each.empty or chance.random() < .3)}
    rest = any(each.kind is each.VAR_POSITIONAL for each in parameters) and not any(
        each.kind is each.POSITIONAL_OR_KEYWORD for each in parameters)
    return [chance.choice(VALUES) for _ in range(chance.randrange(3) if rest else 0)], given


class Leaks(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.chdir, os.getcwd())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        os.chdir(folder.name)
        warnings.simplefilter("ignore")
        self.addCleanup(warnings.resetwarnings)

    def call(self, value, args, kwargs):
        """None, or what tells of the package's insides."""
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                result = value(*args, **kwargs)
                if isinstance(result, contextlib._GeneratorContextManager):
                    with result:
                        pass
        except (_engine.OpError, MissingName):
            return None
        except INSIDES as error:
            places = [each for each in traceback.extract_tb(error.__traceback__) if "tapedeck" in each.filename]
            return f"{type(error).__name__}: {error} (at {places[-1].filename}:{places[-1].lineno})" if places else None
        except (Exception, SystemExit):
            return None
        return None

    def test_no_call_tells_of_the_packages_insides(self):
        calls = Campaign("function_leaks", "random calls of each", 6, 60, "further random calls of each")
        chance, things = calls.random(), public_things()
        self.assertGreater(len(things), 1200)
        self.addCleanup(setattr, sys, "stdin", sys.stdin)
        sys.stdin = io.StringIO()
        leaks = {}
        for path, value in things:
            for _ in range(calls.count):
                args, kwargs = any_arguments(value, chance)
                found = self.call(value, args, kwargs)
                if found:
                    leaks.setdefault(found.rpartition(" (at")[2], f"tf.{path}(*{args}, **{kwargs}): {found}")
        self.assertEqual(list(leaks.values()), [])

    def test_what_was_given_is_named(self):
        for call, text in (
                (lambda: tf.data.get_output_types(3), "get_output_types: dataset_or_iterator: 3 is neither a data set nor an iterator"),
                (lambda: tf.data.get_output_shapes("x"), "get_output_shapes: dataset_or_iterator: 'x' is neither"),
                (lambda: tf.data.get_output_classes(None), "get_output_classes: dataset_or_iterator: None is neither"),
                (lambda: tf.data.experimental.get_structure([]), r"get_structure: dataset_or_iterator: \[\] is neither"),
                (lambda: tf.data.experimental.cardinality(3), "cardinality: 3 is not a Dataset"),
                (lambda: tf.data.experimental.at(3, 0), "at: 3 is not a Dataset"),
                (lambda: tf.data.experimental.get_next_as_optional(3), "get_next_as_optional: iterator: 3 is not an iterator"),
                (lambda: tf.strings.format(1, 2), "strings.format: template: 1 is not a string"),
                (lambda: tf.strings.format("{}", 2, placeholder=3), "strings.format: placeholder: 3 is not a string"),
                (lambda: tf.print(1, sep=3), "print: sep is 3; needs a string"),
                (lambda: tf.keras.backend.int_shape(3), "int_shape: x: 3 is not a tensor"),
                (lambda: tf.keras.backend.update([1.], 2.), r"update: x: \[1.0\] is not a variable"),
                (lambda: tf.keras.models.save_model(3, "x"), "save_model: model: 3 is not a model"),
                (lambda: tf.keras.metrics.Mean(name=[1]), r"Mean: name is \[1\]; needs a string"),
                (lambda: tf.keras.callbacks.EarlyStopping(monitor=3), "EarlyStopping: monitor is 3; needs the name of a metric"),
                (lambda: tf.keras.callbacks.CallbackList([3]), "CallbackList: callbacks: 3 is not a Callback"),
                (lambda: tf.keras.activations.sparsemax(1.), r"sparsemax: axis is -1; x has shape \(\)"),
                (lambda: tf.keras.utils.to_categorical([5], 2), "to_categorical: x has the class 5; num_classes is 2"),
                (lambda: tf.keras.layers.Dense(1, dtype={}), r"Dense: dtype is \{\}; needs a dtype"),
                (lambda: tf.GradientTape().batch_jacobian(tf.ones([1]), [1]), r"batch_jacobian: source: \[1\] is not a tensor"),
                (lambda: tf.TensorSpec.from_tensor([1]), r"TensorSpec.from_tensor: tensor: \[1\] is not a tensor"),
                (lambda: tf.keras.layers.LSTM(1, name="l")(3.), "l: sequences: 3.0 is not a tensor|expected min_ndim=3"),
                (lambda: tf.keras.layers.LSTM(1, name="l").build([2]), "expected min_ndim=3, found ndim=1"),
                (lambda: tf.nn.rnn_cell.LSTMCell(1)(tf.constant(1.), 3), r"inputs have shape \(\); needs \(batch, values\)"),
                (lambda: tf.keras.layers.Normalization().adapt([]), r"adapt: data has shape \(0, 1\), which holds no values"),
                (lambda: tf.keras.metrics.Mean().merge_state([3]), "merge_state: metrics: 3 is not a metric"),
                (lambda: tf.keras.optimizers.SGD().add_variable([1], "twos"), "initializer is 'twos'; must be one of 'zeros', 'ones'"),
                (lambda: tf.keras.optimizers.SGD().add_slot(3, "m"), "reference_variable: 3 is not a variable"),
                (lambda: tf.keras.optimizers.SGD().assign(3, 4), "assign: variable: 3 is not a variable"),
                (lambda: tf.summary.flush(3), "flush: writer: 3 is not a summary writer")):
            with self.subTest(text), self.assertRaisesRegex((TypeError, ValueError, IndexError), text):
                call()

    def test_no_number_is_taken_for_an_open_file(self):
        with open("file", "w+") as file:
            for call in (tf.io.gfile.exists, tf.io.gfile.isdir, tf.io.gfile.listdir, tf.io.gfile.stat, tf.io.gfile.glob,
                         tf.io.gfile.remove, tf.io.gfile.rmtree, tf.io.gfile.walk, tf.io.gfile.GFile, tf.io.gfile.makedirs,
                         lambda number: tf.io.gfile.copy(number, "other"), lambda number: tf.io.gfile.copy("file", number),
                         lambda number: tf.io.gfile.rename(number, "other"), tf.io.read_file,
                         lambda number: tf.io.write_file(number, "x")):
                with self.assertRaisesRegex(TypeError, "path"):
                    call(file.fileno())
            os.fstat(file.fileno())  # it is still open
        self.assertTrue(tf.io.gfile.exists(tf.constant("file")) and tf.io.gfile.exists(b"file"))

    def test_what_stands_for_a_tensor_of_a_model_is_no_tensor(self):
        symbol, variable = tf.keras.Input((2,)), tf.Variable(1.)
        for call in (lambda: tf.io.encode_png(symbol), lambda: tf.io.encode_jpeg(symbol),
                     lambda: list(tf.data.Dataset.range(2).batch(1).padded_batch(2, padding_values=symbol)),
                     lambda: tf.autodiff.ForwardAccumulator([variable], [symbol]), lambda: tf.explain_no_gradient(symbol, symbol)):
            with self.assertRaises((TypeError, ValueError)):
                call()


if __name__ == "__main__":
    unittest.main()
