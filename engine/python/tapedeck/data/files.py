"""Data sets of files: lines, records, values."""
import collections

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.arguments import text
from tapedeck._core.public import public
from tapedeck.data.arguments import AUTOTUNE, number
from tapedeck.data.dataset import DatasetV2
from tapedeck.data.functions import runs_eagerly
from tapedeck.data.specs import TensorSpec
from tapedeck.io.csv import checked_delimiter, Columns, selected, split_line
from tapedeck.io.files import matching
from tapedeck.io.records import paths_of, TFRecordOptions

_LINES, _FIXED_LENGTH, _RECORDS = range(3)
_BUFFER = 256 * 1024


def _stage(paths, kind, compression_type, buffer_size, function, record_bytes=0, header_bytes=0, footer_bytes=0):
    if isinstance(compression_type, _engine.Tensor):
        compression_type = text(compression_type, f"{function}: compression_type")
    buffer_size = number(buffer_size, function, "buffer_size", 0) if buffer_size is not None else 0
    compression = TFRecordOptions.get_compression_type_string(compression_type)
    return _engine.data_from_files(paths, kind, compression, buffer_size or _BUFFER, record_bytes, header_bytes, footer_bytes)


class _FileDataset(DatasetV2):
    """A data set of files, whose names may come from a data set."""

    _function = ""

    def __init__(self, filenames, num_parallel_reads, stage):
        spec = TensorSpec((), dtypes.string)
        if not isinstance(filenames, DatasetV2) and num_parallel_reads is None:
            super().__init__(stage(paths_of(filenames, self._function)), spec)
            return
        names = filenames if isinstance(filenames, DatasetV2) else DatasetV2.from_tensor_slices(
            [path.encode() for path in paths_of(filenames, self._function)])
        cycle = 1 if num_parallel_reads is None else number(num_parallel_reads, self._function, "num_parallel_reads", AUTOTUNE)
        made = names.interleave(runs_eagerly(lambda name: DatasetV2(stage(paths_of(name, self._function)), spec)),
                                4 if cycle == AUTOTUNE else cycle, 1,
                                None if num_parallel_reads is None else AUTOTUNE)
        super().__init__(made._stage, spec)


@public("data.TextLineDataset", "contrib.data.TextLineDataset")
class TextLineDataset(_FileDataset):
    """The lines of files, as strings without their ends.

    filenames: a path, several, or a data set of them; compression_type: "", "GZIP" or "ZLIB"; buffer_size: bytes that are read at
    once; num_parallel_reads: how many files are read at once, a line of each in turn. Errors come when the file is reached:
    NotFoundError where there is none, DataLossError where it is damaged.
    """

    _function = "TextLineDataset"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        super().__init__(filenames, num_parallel_reads,
                         lambda paths: _stage(paths, _LINES, compression_type, buffer_size, self._function))


@public("data.TFRecordDataset", "contrib.data.TFRecordDataset")
class TFRecordDataset(_FileDataset):
    """The records of files, as strings. The arguments and errors are TextLineDataset's."""

    _function = "TFRecordDataset"

    def __init__(self, filenames, compression_type=None, buffer_size=None, num_parallel_reads=None, name=None):
        super().__init__(filenames, num_parallel_reads,
                         lambda paths: _stage(paths, _RECORDS, compression_type, buffer_size, self._function))


@public("data.FixedLengthRecordDataset", "contrib.data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(_FileDataset):
    """The records of record_bytes bytes of files, as strings, after header_bytes and before footer_bytes that are passed over.
    InvalidArgumentError where a file has another length. The other arguments and errors are TextLineDataset's."""

    _function = "FixedLengthRecordDataset"

    def __init__(self, filenames, record_bytes, header_bytes=None, footer_bytes=None, buffer_size=None, compression_type=None,
                 num_parallel_reads=None, name=None):
        sizes = (number(record_bytes, self._function, "record_bytes", 1),
                 number(header_bytes or 0, self._function, "header_bytes", 0),
                 number(footer_bytes or 0, self._function, "footer_bytes", 0))
        super().__init__(filenames, num_parallel_reads,
                         lambda paths: _stage(paths, _FIXED_LENGTH, compression_type, buffer_size, self._function, *sizes))


def _records(lines, where):
    """(number, text) of each record: lines joined where a quoted field holds their ends."""
    iterator, record, count = lines._stage.iterate(False), None, 0
    while (leaves := iterator.next()) is not None:
        try:
            line = leaves[0].numpy().decode()
        except UnicodeDecodeError as error:
            raise _engine.InvalidArgumentError(f"{where}: record {count}: no UTF-8: {error}") from None
        record = line if record is None else f"{record}\n{line}"
        if record.count('"') % 2 == 0:
            yield count, record
            record, count = None, count + 1
    if record is not None:
        yield count, record


@public("data.experimental.CsvDataset", "contrib.data.CsvDataset")
class CsvDataset(DatasetV2):
    """The records of files of comma-separated values (RFC 4180), as tuples of scalars.

    filenames: a path or several; header: whether a first line of each file is passed over; exclude_cols: the columns that are left
    out. The other arguments and the errors are tf.io.decode_csv's.
    """

    def __init__(self, filenames, record_defaults, compression_type=None, buffer_size=None, header=False, field_delim=",",
                 use_quote_delim=True, na_value="", select_cols=None, exclude_cols=None):
        columns = Columns("CsvDataset", record_defaults)
        checked_delimiter("CsvDataset", field_delim)
        paths = paths_of(filenames, "CsvDataset")

        def chosen(fields, where):
            if exclude_cols is not None:
                return [field for column, field in enumerate(fields) if column not in exclude_cols]
            return selected(fields, select_cols, where)

        def run():
            for path in paths:
                for count, record in _records(TextLineDataset(path, compression_type, buffer_size), path):
                    if header and count == 0:
                        continue
                    where = f"{path}: record {count}"
                    fields = chosen(split_line(record, field_delim, use_quote_delim, where), where)
                    values = columns.convert(fields, na_value, where)
                    yield [columns.tensor(column, [value], ()) for column, value in enumerate(values)]

        spec = tuple(TensorSpec((), dtype) for dtype in columns.dtypes)
        super().__init__(_engine.data_from_generator(run), spec)


def _column_dtype(texts):
    """The default of a column, by the narrowest dtype that all its first values have."""
    for kind, dtype, zero in ((int, dtypes.int32, 0), (int, dtypes.int64, 0), (float, dtypes.float32, 0.)):
        try:
            found = [kind(text) for text in texts if text]
        except ValueError:
            continue
        if kind is float or all(dtype.min <= value <= dtype.max for value in found):
            return _engine.convert_to_tensor(zero, dtype)
    return ""


@public("data.experimental.make_csv_dataset", "contrib.data.make_csv_dataset")
def make_csv_dataset(file_pattern, batch_size, column_names=None, column_defaults=None, label_name=None, select_columns=None,
                     field_delim=",", use_quote_delim=True, na_value="", header=True, num_epochs=None, shuffle=True,
                     shuffle_buffer_size=10000, shuffle_seed=None, prefetch_buffer_size=None, num_parallel_reads=None, sloppy=False,
                     num_rows_for_inference=100, compression_type=None, ignore_errors=False, encoding="utf-8"):
    """Batches of the records of CSV files: OrderedDicts of tensors by the columns' names, with label_name (that dict without it,
    the label).

    file_pattern: a path, a pattern, or several; column_names: those of the first file's header unless given; column_defaults: as
    decode_csv's record_defaults, seen from the first num_rows_for_inference records unless given; select_columns: names or numbers;
    num_epochs: None for ever. Errors: ValueError for no file and for unknown names.
    """
    paths = matching(file_pattern)
    if not paths:
        raise ValueError(f"make_csv_dataset: no files match the pattern {file_pattern!r}")
    rows = _first_rows(paths[0], field_delim, use_quote_delim, compression_type, num_rows_for_inference)
    names = list(column_names) if column_names is not None else rows[0]
    if len(set(names)) != len(names):
        raise ValueError(f"make_csv_dataset: column_names has a name twice: {names}")
    columns = list(range(len(names))) if select_columns is None else sorted(
        each if isinstance(each, int) else _position(names, each) for each in select_columns)
    if column_defaults is None:
        body = rows[1:] if header else rows
        column_defaults = [_column_dtype([row[column] for row in body if column < len(row) and row[column] != na_value])
                           for column in columns]
    chosen = [names[column] for column in columns]
    if label_name is not None:
        _position(chosen, label_name)
    dataset = CsvDataset(paths, column_defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, columns)
    dataset = dataset.ignore_errors() if ignore_errors else dataset

    def named(*values):
        features = collections.OrderedDict(zip(chosen, values))
        return features if label_name is None else (features, features.pop(label_name))

    dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed) if shuffle else dataset
    dataset = dataset.repeat(num_epochs).batch(batch_size, drop_remainder=num_epochs is None).map(named)
    return dataset.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _position(names, name):
    if name not in names:
        raise ValueError(f"make_csv_dataset: there is no column {name!r}; the columns are {names}")
    return names.index(name)


def _first_rows(path, delimiter, quotes, compression_type, count):
    rows = []
    for number_of_row, record in _records(TextLineDataset(path, compression_type), path):
        rows.append(split_line(record, delimiter, quotes, f"{path}: record {number_of_row}"))
        if len(rows) > count:
            break
    if not rows:
        raise ValueError(f"make_csv_dataset: {path} has no line")
    return rows
