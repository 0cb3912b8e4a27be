"""tf.version: which TensorFlow this module follows. `tf.__version__` is Tapedeck's own."""
from tapedeck._core.public import public

VERSION = public("version.VERSION", "VERSION")("2.16.0")
GIT_VERSION = COMPILER_VERSION = public("version.GIT_VERSION", "version.COMPILER_VERSION")("tapedeck")
