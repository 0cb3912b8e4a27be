"""tf.errors: TensorFlow's classes, each also the built-in exception that fits it."""
import pickle
import unittest

import numpy as np

import tapedeck as tf
from tapedeck import errors


class Errors(unittest.TestCase):
    def test_programs_catch_what_they_know(self):
        for action, classes in (
                (lambda: tf.zeros([2, 3]) + tf.zeros([4]), (errors.InvalidArgumentError, ValueError)),
                (lambda: tf.constant([1]) + tf.constant([1.]), (errors.TypeMismatchError, errors.InvalidArgumentError, TypeError)),
                (lambda: tf.gather([1], [1]), (errors.OutOfRangeError, errors.InvalidArgumentError, IndexError)),
                (lambda: tf.constant([1])[1], (errors.OutOfRangeError, IndexError)),
                (lambda: tf.zeros([10**13]), (errors.ResourceExhaustedError, MemoryError)),
                (lambda: tf.constant(1j, tf.float32), (errors.TypeMismatchError, TypeError)),
                (lambda: tf.constant(1.).gpu(99), (errors.NotFoundError, RuntimeError))):
            for each in classes + (errors.OpError,):
                with self.assertRaises(each):
                    action()

    def test_an_error_shows_its_text_and_code(self):
        with self.assertRaises(errors.OpError) as caught:
            tf.reshape(tf.zeros([2]), [3])
        error = caught.exception
        self.assertEqual(error.message, str(error))
        self.assertIn("reshape", error.message)
        self.assertEqual((error.error_code, error.op, error.node_def), (3, None, None))
        self.assertEqual((errors.CancelledError.error_code, errors.OutOfRangeError.error_code, errors.UnauthenticatedError.error_code),
                         (1, 11, 16))
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(again), str(again)), (errors.InvalidArgumentError, str(error)))

    def test_an_error_is_made_as_tensorflow_makes_it(self):
        error = errors.NotFoundError(None, "an op", "the text")
        self.assertEqual((error.message, str(error), error.op, error.node_def), ("the text", "the text", "an op", None))
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), "the text")
        with self.assertRaisesRegex(RuntimeError, "^the text$"):
            raise error
        self.assertEqual((str(errors.InternalError("alone")), str(errors.InternalError())), ("alone", ""))

    def test_every_class_of_tensorflow_is_there(self):
        for name in ("Cancelled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
                     "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable",
                     "DataLoss", "Unauthenticated"):
            self.assertTrue(issubclass(getattr(tf.errors, name + "Error"), tf.errors.OpError), name)


class Values(unittest.TestCase):
    def test_numpys_functions_give_arrays_and_its_operators_tensors(self):
        tensor, array = tf.constant([1., 4.]), np.array([1., 2.], np.float32)
        for function in (np.sin, np.sqrt, np.sum, np.argmax, np.round):
            self.assertNotIsInstance(function(tensor), tf.Tensor)
            np.testing.assert_allclose(function(tensor), function(tensor.numpy()))
        for result, wanted in ((array + tensor, [2, 6]), (array - tensor, [0, -2]), (tensor * array, [1, 8]), (array / tensor, [1, .5]),
                               (array**tensor, [1, 16]), (array < tensor, [False, True]), (array == tensor, [True, False]),
                               (np.float32(2) ** tensor, [2, 16]), (np.eye(2, dtype=np.float32) @ tf.ones([2, 1]), [[1], [1]])):
            self.assertIsInstance(result, tf.Tensor)
            np.testing.assert_array_equal(result.numpy(), wanted)
        with self.assertRaises(TypeError):
            np.sqrt(array, out=tensor)
        np.testing.assert_array_equal(np.arange(5)[tf.constant([1, 3])], [1, 3])

    def test_control_flow_and_conversions(self):
        steps, x = 0, tf.constant(5.)
        while x > 1:
            x, steps = x / 2, steps + 1
        self.assertEqual((steps, f"{x:.3f}", "yes" if x < 1 else "no"), (3, "0.625", "yes"))
        self.assertEqual([10, 20][tf.constant(1)], 20)
        self.assertEqual(list(range(tf.constant(3))), [0, 1, 2])
        self.assertTrue(4. in tf.constant([1., 4.]))
        with self.assertRaisesRegex(TypeError, "does not support item assignment"):
            tf.constant([1.])[0] = 2.


if __name__ == "__main__":
    unittest.main()
