"""tf.io: files, records, images and the messages in records. Most functions are listed in the files beside this one."""
from tapedeck import gfile
from tapedeck.io import csv, examples, files, images, numbers  # noqa: F401
from tapedeck.io.features import FixedLenFeature, FixedLenSequenceFeature, VarLenFeature
from tapedeck.io.records import TFRecordOptions, TFRecordWriter, tf_record_iterator

__all__ = ["FixedLenFeature", "FixedLenSequenceFeature", "TFRecordOptions", "TFRecordWriter", "VarLenFeature", "gfile",
           "tf_record_iterator"]
