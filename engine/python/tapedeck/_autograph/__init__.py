"""tf.autograph: Python functions whose control flow depends on tensors, as graphs have them."""
