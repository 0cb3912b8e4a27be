"""The registry's row is an op's Python function: a function written in Python replaces it only for what a row cannot say."""
import inspect
import types
import unittest

import tapedeck as tf
from tapedeck import _engine
from tapedeck._core import public

# What each does that its row does not. Other names, TensorFlow 1's and arguments that change nothing are no reason: the row has them.
REASONS = {
    "range": "the dtype is the widest of its arguments'",
    "space_to_batch_nd": "pairs, and arrays of integers", "batch_to_space_nd": "pairs, and arrays of integers",
    "linalg.einsum": "inputs come one by one", "losses.mean_squared_error": "weights, scope and reduction",
    "nn.conv2d": "paddings in pairs, and defaults for None", "nn.conv2d_backprop_input": "paddings in pairs, and defaults for None",
    "nn.conv2d_backprop_filter": "paddings in pairs, and defaults for None",
    "nn.depthwise_conv2d_native": "paddings in pairs, and defaults for None",
    "nn.depthwise_conv2d_backprop_input": "paddings in pairs, and defaults for None",
    "nn.depthwise_conv2d_backprop_filter": "paddings in pairs, and defaults for None",
    "nn.max_pool": "volumes and rows, too", "nn.avg_pool": "volumes and rows, too",
    "nn.max_pool2d": "paddings in pairs, and defaults for None", "nn.avg_pool2d": "paddings in pairs, and defaults for None",
    "nn.swish": "beta may be a tensor", "nn.leaky_relu": "integers become float32",
    "nn.moments": "`name` may be in the place of keepdims", "nn.in_top_k": "either order of its first two arguments",
    "nn.softmax_cross_entropy_with_logits": "labels are cast to the dtype of logits",
    "random.uniform": "limits may be tensors", "random.normal": "mean and stddev may be tensors",
    "random.truncated_normal": "mean and stddev may be tensors",
    "strings.lower": "Unicode's letters", "strings.upper": "Unicode's letters",
}


def in_front():
    """Python functions that have a name of an op's function, and the op."""
    return {public.NAMES[name]: row.__self__.op_name for name, row in _engine.op_functions.items()
            if isinstance(public.NAMES.get(name), types.FunctionType)}


class RowsBehindFunctions(unittest.TestCase):
    def test_each_has_its_reason(self):
        listed = {public.NAMES[name]: name for name in REASONS}
        self.assertEqual(len(listed), len(REASONS))
        found = in_front()
        self.assertEqual(sorted(op for function, op in found.items() if function not in listed), [], "in front of a row without a reason")
        self.assertEqual(sorted(name for function, name in listed.items() if function not in found), [], "no longer in front of a row")

    def test_each_leaves_documentation_to_the_row(self):
        for function, op in in_front().items():
            self.assertEqual(function.row, op)
            own, _, rows = function.__doc__.partition(f"\n\nThe op {op}: ")
            self.assertEqual(rows, _engine.op_function(op).__doc__)
            self.assertNotRegex(own, r"(Returns|Errors):", f"{op}: the row says that")

    def test_rows_take_name_where_tensorflow_has_them(self):
        matrix = tf.linalg.diag([1., 2.], "d", 1)
        self.assertEqual(matrix.numpy().tolist(), [[0, 1, 0], [0, 0, 2], [0, 0, 0]])
        self.assertEqual(tf.linalg.diag_part(matrix, "p", 1).numpy().tolist(), [1, 2])
        self.assertEqual(tf.linalg.set_diag(matrix, [5., 6.], name="s", k=1).numpy().tolist()[0], [0, 5, 0])
        self.assertEqual(tf.linalg.pinv([[2.]], None, True, name="i").numpy(), [[.5]])
        self.assertEqual(str(inspect.signature(tf.linalg.set_diag)), "(input, diagonal, name=None, k=0, align='RIGHT_LEFT')")
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"^matrix_set_diag\(\) takes at most 5 arguments"):
            tf.linalg.set_diag(matrix, [5., 6.], "s", 1, "LEFT_LEFT", 3)
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"^matrix_diag\(\) got several values for argument 'name'"):
            tf.linalg.diag([1.], "d", name="e")
        with self.assertRaisesRegex(tf.errors.InvalidArgumentError, r"^pinv\(\) got several values for argument 'validate_args'"):
            tf.linalg.pinv([[2.]], None, True, validate_args=False)


if __name__ == "__main__":
    unittest.main()
