"""TensorFlow's tf.keras."""
