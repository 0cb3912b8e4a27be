"""tf.version: which TensorFlow this module follows. `tf.__version__` is Tapedeck's own."""
VERSION = "2.16.0"
GIT_VERSION = COMPILER_VERSION = "tapedeck"
