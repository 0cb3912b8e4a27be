"""tf.sparse: tensors of which only some elements are stored, by their places."""
