"""Assertions about values, and runs that are compared: tf.debugging."""
