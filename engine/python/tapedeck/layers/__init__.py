"""TensorFlow 1's tf.layers: classes and functions."""
