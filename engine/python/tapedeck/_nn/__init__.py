"""Neural networks' functions: tf.nn."""
