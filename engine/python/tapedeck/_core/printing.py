"""tf.print."""
import pprint
import sys

import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError, TypeMismatchError
from tapedeck._core import dtypes, nest
from tapedeck._core.public import public
from tapedeck._core.refusals import shown


def _real_text(value):
    """The shorter of two lengths that reads back as the same number."""
    wide = isinstance(value, np.float64)
    kind, digits = (np.float64, (15, 17)) if wide else (np.float32, (6, 9))
    value = kind(value)
    text = f"{value:.{digits[0]}g}"
    return text if kind(text) == value or np.isnan(value) else f"{value:.{digits[1]}g}"


# As in C: what is not printed by its octal number.
_ESCAPES = {**{code: f"\\{code:03o}" for code in (*range(32), 127)},
            **{ord(each): "\\" + name for each, name in zip("\n\r\t\"'\\", "nrt\"'\\")}}


def _element_text(value):
    if isinstance(value, bytes):
        return f'"{value.decode("utf-8", "backslashreplace").translate(_ESCAPES)}"'
    if isinstance(value, np.complexfloating):
        return f"({_real_text(value.real)},{_real_text(value.imag)})"
    if isinstance(value, np.floating):
        return _real_text(value)
    return str(int(value))  # bool too is a number here


def _array_text(array, most, axis=0, axes=None):
    """Rows in brackets, the first and the last `most` of each axis; a blank line between matrices."""
    axes = array.ndim if axes is None else axes
    if axis == axes:
        return _element_text(array if axes else array[()])
    between = " " if axis == axes - 1 else "\n" * (axes - axis - 1) + " " * (axis + 1)
    count = len(array)
    shown = range(count) if most < 0 or count <= 2 * most else [*range(most), None, *range(count - most, count)]
    return "[" + between.join("..." if number is None else _array_text(array[number], most, axis + 1, axes)
                              for number in shown) + "]"


def _is_tensor_like(value):
    return isinstance(value, (_engine.Tensor, _engine.Variable))


@public("strings.tensor_text")
def tensor_text(tensor, most):
    """A tensor's values as TensorFlow's kernels print them."""
    return _array_text(np.asarray(tensor), most)


def _text(value, most):
    """One argument: a string as it is, others as Python shows them, with tensors' values inside."""
    if isinstance(value, str):
        return value
    leaves = nest.flatten(value)
    tensors = [isinstance(leaf, (_engine.Tensor, _engine.Variable)) for leaf in leaves]
    place = "{}"  # placeholder of a tensor while the structure is laid out
    while place in pprint.pformat([leaf for leaf, is_tensor in zip(leaves, tensors) if not is_tensor]):
        place = "{" + place + "}"
    layout = pprint.pformat(nest.pack_sequence_as(
        value, [place if is_tensor else leaf for leaf, is_tensor in zip(leaves, tensors)]))
    parts = layout.replace(repr(place), place).split(place)
    shown = [tensor_text(leaf, most) for leaf, is_tensor in zip(leaves, tensors) if is_tensor]
    return parts[0] + "".join(text + part for text, part in zip(shown, parts[1:]))


@public("Print")
def print_data(input_, data, message=None, first_n=None, summarize=None, name=None):
    """TensorFlow 1's tf.Print: writes message and the values in data to sys.stderr. Returns: input_; gradients flow through it.

    data: a list of tensors; summarize: how many elements of each are shown, 3 where it is None; -1 for all; first_n changes
    nothing: each call prints.
    """
    if _engine.is_tracing():
        _engine.graph_host_call("Print", lambda tensors: print_data(0, tensors, message, first_n, summarize),
                                [_engine.convert_to_tensor(value) for value in data])
        return _engine.op_function("identity")(input_)
    most = 3 if summarize is None else summarize
    parts = []
    for value in data:
        elements = np.asarray(_engine.convert_to_tensor(value)).reshape(-1)
        shown = elements if most < 0 else elements[:most]
        more = "..." if len(shown) < len(elements) else ""
        parts.append(" ".join(element.decode("utf-8", "replace") if isinstance(element, bytes) else _element_text(element)
                              for element in shown) + more)
    sys.stderr.write((message or "") + "".join(f"[{part}]" for part in parts) + "\n")
    return _engine.op_function("identity")(input_)


@public("print")
def print(*inputs, output_stream=None, summarize=3, sep=" ", end="\n", name=None):
    """Prints values, tensors as TensorFlow does: tf.print("x:", x). Strings in tensors are quoted, except a single one.

    inputs: strings, tensors, nested structures of tensors, any Python values; output_stream: where to: None for
    sys.stderr, a stream such as sys.stdout, or "file://" and the path of a file, to which it is appended; summarize: how
    many elements are shown from either end of each axis, -1 for all; sep: between the inputs; end: after them.
    Returns: None.
    Errors: InvalidArgumentError (a ValueError) for another output_stream, or a summarize below -1.
    """
    if summarize is None:
        summarize = 3
    if isinstance(summarize, bool) or not isinstance(summarize, (int, np.integer)) or summarize < -1:
        raise InvalidArgumentError(f"print: summarize is {summarize!r}; needs an integer of at least -1")
    for name, value in (("sep", sep), ("end", end)):
        if not isinstance(value, str):
            raise TypeMismatchError(f"print: {name} is {shown(value)}; needs a string")
    leaves = nest.flatten(list(inputs))
    places = [place for place, leaf in enumerate(leaves) if _is_tensor_like(leaf)]
    if _engine.is_tracing():
        def print_values(tensors):
            values = list(leaves)
            for place, value in zip(places, tensors):
                values[place] = value
            print(*nest.pack_sequence_as(list(inputs), values), output_stream=output_stream, summarize=summarize, sep=sep, end=end)

        _engine.graph_host_call("print", print_values, [leaves[place] for place in places])
        return None
    if len(inputs) == 1 and getattr(inputs[0], "dtype", None) == dtypes.string and not inputs[0].ndim:
        text = inputs[0].numpy().decode("utf-8", "backslashreplace") + end  # a lone string needs no quotes
    else:
        text = sep.join(_text(value, summarize) for value in inputs) + end
    stream = sys.stderr if output_stream is None else output_stream
    if hasattr(stream, "write"):
        stream.write(text)
    elif isinstance(stream, str) and stream.startswith("file://"):
        with open(stream[len("file://"):], "a", encoding="utf-8") as file:
            file.write(text)
    else:
        raise InvalidArgumentError(f"print: output_stream is {stream!r}; needs a stream, or 'file://' and a path")
