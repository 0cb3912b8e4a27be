"""Record files (TFRecord)."""
import os

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.io.files import path_of


@public("python_io.TFRecordCompressionType")
class TFRecordCompressionType:
    """TensorFlow 1's numbers of the compressions."""

    NONE, ZLIB, GZIP = 0, 1, 2


_NAMES = {TFRecordCompressionType.NONE: "", TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP",
          None: "", "": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


@public("io.TFRecordOptions", "python_io.TFRecordOptions")
class TFRecordOptions:
    """How a record file is compressed. compression_type: "", "ZLIB", "GZIP", or TFRecordCompressionType's numbers;
    compression_level: zlib's, -1 to 9. The others are TensorFlow's settings of zlib's buffers, and have no effect."""

    compression_type_map = {number: _NAMES[number] for number in (0, 1, 2)}

    def __init__(self, compression_type=None, flush_mode=None, input_buffer_size=None, output_buffer_size=None, window_bits=None,
                 compression_level=None, compression_method=None, mem_level=None, compression_strategy=None):
        self.compression_type = self.get_compression_type_string(compression_type)
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options):
        """The name of the compression of options, of a name, or of a number. ValueError for others."""
        if isinstance(options, TFRecordOptions):
            return options.compression_type
        if options not in _NAMES:
            raise ValueError(f"TFRecordOptions: compression_type is {options!r}; must be '', 'ZLIB' or 'GZIP'")
        return _NAMES[options]


@public("io.TFRecordWriter", "python_io.TFRecordWriter")
class TFRecordWriter:
    """Writes a record file anew: write(bytes), flush(), close(); closes at the end of a `with`.

    path: the file's. options: a TFRecordOptions, or the name of a compression. Errors: NotFoundError where there is no such folder;
    FailedPreconditionError where the file cannot be written, or is closed.
    """

    def __init__(self, path, options=None):
        level = getattr(options, "compression_level", None)
        self._writer = _engine.RecordWriter(path_of(path), TFRecordOptions.get_compression_type_string(options),
                                            -1 if level is None else int(level))

    def write(self, record):
        """A record: bytes, or a string tensor. TypeError for text."""
        self._writer.write(record.numpy() if isinstance(record, _engine.Tensor) else record)

    def flush(self):
        """What was written can be read by other programs."""
        self._writer.flush()

    def close(self):
        """Writes what is left and closes the file."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


@public("io.tf_record_iterator", "python_io.tf_record_iterator")
def tf_record_iterator(path, options=None):
    """The records of a file, as bytes: a generator. NotFoundError where there is none; DataLossError where it is damaged."""
    reader = _engine.RecordReader(path_of(path), TFRecordOptions.get_compression_type_string(options))

    def records():
        while (record := reader.next()) is not None:
            yield record
    return records()


def paths_of(filenames, function):
    """File names as a list of paths: a name, a list, or a string tensor."""
    if isinstance(filenames, _engine.Tensor):
        filenames = filenames.numpy()
        filenames = [filenames] if isinstance(filenames, bytes) else filenames.reshape(-1).tolist()
    elif isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    try:
        return [path_of(each) for each in filenames]
    except TypeError:
        raise TypeError(f"{function}: filenames is {filenames!r}; needs paths") from None
