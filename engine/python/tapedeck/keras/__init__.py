"""TensorFlow's tf.keras."""
__version__ = "3.3.3"  # which Keras this module follows; TensorFlow's own version is tf.version.VERSION
