"""Lines of comma-separated values as tensors."""
import numpy as np

from tapedeck import _engine
from tapedeck._core import dtypes
from tapedeck._core.host_ops import host_op, Known, shape_of
from tapedeck._core.public import public
from tapedeck.io.files import bytes_of

_CONVERSIONS = {"float32": float, "float64": float, "int32": int, "int64": int}


def split_line(line, delimiter, quotes, where):
    """The fields of a line, as text. RFC 4180: quoted fields hold delimiters, and quotes twice. InvalidArgumentError naming
    `where`."""
    line = line.rstrip("\r\n")
    fields, at, end = [], 0, len(line)
    while True:
        if quotes and at < end and line[at] == '"':
            text, at = _quoted(line, at + 1, where)
            if at < end and line[at] != delimiter:
                raise _engine.InvalidArgumentError(f"{where}: a quoted field is followed by {line[at]!r} at position {at}")
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            text, at = line[at:stop], stop
            if quotes and '"' in text:
                raise _engine.InvalidArgumentError(f"{where}: an unquoted field holds a quote: {text!r}")
        fields.append(text)
        if at >= end:
            return fields
        at += 1


def _quoted(line, at, where):
    """(text, the position after its last quote)."""
    text = []
    while True:
        stop = line.find('"', at)
        if stop < 0:
            raise _engine.InvalidArgumentError(f"{where}: a quoted field has no end: {line!r}")
        text.append(line[at:stop])
        if line[stop + 1:stop + 2] != '"':
            return "".join(text), stop + 1
        text.append('"')
        at = stop + 2


class Columns:
    """What the fields of a line become. record_defaults: for each column a value for empty fields, in a list or an array, or a
    dtype where it must be there."""

    def __init__(self, function, record_defaults):
        self.function, self.dtypes, self.defaults = function, [], []
        for number, default in enumerate(record_defaults):
            if isinstance(default, (dtypes.DType, type)):
                dtype, values = dtypes.as_dtype(default), []
            else:
                dtype, values = self._default(default)
            if dtype.name not in (*_CONVERSIONS, "string"):
                raise _engine.InvalidArgumentError(
                    f"{function}: record_defaults[{number}] is {dtype.name}; needs float32, float64, int32, "
                    "int64 or string")
            if len(values) > 1:
                raise _engine.InvalidArgumentError(
                    f"{function}: record_defaults[{number}] has {len(values)} values; needs one at most")
            self.dtypes.append(dtype)
            self.defaults.append(values[0] if values else None)

    @staticmethod
    def _default(default):
        if isinstance(default, (list, tuple)) and default and isinstance(default[0], (str, bytes)) or isinstance(default,
                                                                                                                 (str, bytes)):
            values = [default] if isinstance(default, (str, bytes)) else list(default)
            return dtypes.string, [value.decode() if isinstance(value, bytes) else value for value in values]
        tensor = default if isinstance(default, _engine.Tensor) else _engine.convert_to_tensor(default)
        values = np.ravel(tensor.numpy()).tolist()
        return tensor.dtype, [value.decode() if isinstance(value, bytes) else value for value in values]

    def convert(self, fields, na_value, where):
        """The columns' values, in Python's numbers and text."""
        if len(fields) != len(self.dtypes):
            raise _engine.InvalidArgumentError(f"{where}: {len(fields)} fields; {len(self.dtypes)} are expected")
        return [self._value(number, text, na_value, where) for number, text in enumerate(fields)]

    def _value(self, number, text, na_value, where):
        dtype = self.dtypes[number]
        if text == "" or text == na_value:
            if self.defaults[number] is None:
                raise _engine.InvalidArgumentError(f"{where}: field {number} is required but missing")
            return self.defaults[number]
        if dtype == dtypes.string:
            return text
        try:
            value = _CONVERSIONS[dtype.name](text.strip())
        except ValueError:
            raise _engine.InvalidArgumentError(f"{where}: field {number} is not a valid {dtype.name}: {text!r}") from None
        if dtype.is_integer and not dtype.min <= value <= dtype.max:
            raise _engine.InvalidArgumentError(f"{where}: field {number} does not fit in {dtype.name}: {text}")
        return value

    def tensor(self, number, values, shape):
        """The values of a column as a tensor."""
        dtype = self.dtypes[number]
        if dtype == dtypes.string:
            array = np.empty(len(values), object)
            array[:] = [value.encode() for value in values]
            return _engine.convert_to_tensor(array.reshape(shape).tolist() if shape else array[0], dtype)
        return _engine.convert_to_tensor(np.array(values, dtype.as_numpy_dtype).reshape(shape), dtype)


def checked_delimiter(function, delimiter):
    """A single character that is not a quote or the end of a line."""
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise _engine.InvalidArgumentError(
            f"{function}: field_delim is {delimiter!r}; needs one character, no quote and no line end")
    return delimiter


def _known_columns(records, record_defaults, **_):
    return [Known(dtype, shape_of(records)) for dtype in Columns("decode_csv", record_defaults).dtypes]


@public("decode_csv", "io.decode_csv")
@host_op(_known_columns)
def decode_csv(records, record_defaults, field_delim=",", use_quote_delim=True, na_value="", select_cols=None, name=None):
    """The columns of lines of comma-separated values (RFC 4180): a list of tensors of records' shape.

    records: a line, or a string tensor of lines; record_defaults: for each column a list with the value of empty fields, or an
    empty list or a dtype where there must be one; their dtypes (float32, float64, int32, int64, string) are the columns'.
    field_delim: a character; use_quote_delim: fields may be quoted; na_value: a text that also means an empty field;
    select_cols: numbers of the columns that are wanted, growing. Errors: InvalidArgumentError for lines that do not fit.
    """
    columns = Columns("decode_csv", record_defaults)
    checked_delimiter("decode_csv", field_delim)
    if isinstance(records, _engine.Tensor):
        records = records.numpy()
    items = np.asarray(records, object)
    rows = []
    for number, record in enumerate(items.reshape(-1)):
        where = f"decode_csv: record {number}"
        try:
            line = bytes_of(record, "decode_csv").decode()
        except UnicodeDecodeError as error:
            raise _engine.InvalidArgumentError(f"{where}: no UTF-8: {error}") from None
        rows.append(columns.convert(selected(split_line(line, field_delim, use_quote_delim, where), select_cols, where), na_value,
                                    where))
    return [columns.tensor(number, [row[number] for row in rows], items.shape) for number in range(len(columns.dtypes))]


def selected(fields, select_cols, where):
    """The fields of these numbers; all for None."""
    if select_cols is None:
        return fields
    if any(not 0 <= column < len(fields) for column in select_cols):
        raise _engine.InvalidArgumentError(f"{where}: {len(fields)} fields; select_cols is {list(select_cols)}")
    return [fields[column] for column in select_cols]
