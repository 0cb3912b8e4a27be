"""tf.data: data sets and their iterators."""
import atexit as _atexit

from tapedeck import _engine as _engine_module
from tapedeck.data import experimental, folders  # noqa: F401
from tapedeck.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from tapedeck.data.files import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset
from tapedeck.data.iterators import Iterator, NumpyIterator
from tapedeck.data.settings import Options, ThreadingOptions
from tapedeck.data.specs import DatasetSpec

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Dataset", "DatasetSpec", "FixedLengthRecordDataset",
           "Iterator", "NumpyIterator", "Options", "TFRecordDataset", "TextLineDataset", "ThreadingOptions", "experimental"]

# Before the interpreter takes its lock away from threads that may hold it.
_atexit.register(_engine_module.data_stop_threads)
