"""Linear algebra: tf.linalg."""
