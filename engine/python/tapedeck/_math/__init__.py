"""Sums, segments and parts of numbers: tf.math."""
