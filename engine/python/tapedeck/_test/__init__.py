"""tf.test: a function's gradients checked against differences, and questions about the machine."""
