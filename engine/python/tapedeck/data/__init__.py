"""tf.data: data sets and their iterators."""
import atexit as _atexit

from tapedeck import _engine as _engine_module
from tapedeck.data import dataset, experimental, files, folders, iterators, settings, specs  # noqa: F401

# Before the interpreter takes its lock away from threads that may hold it.
_atexit.register(_engine_module.data_stop_threads)
