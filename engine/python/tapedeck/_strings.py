"""tf.strings: what the registry's ops on strings do not say by themselves. The others, strings.join among them, are ops."""
import numpy as np

from tapedeck import _engine
from tapedeck._engine import InvalidArgumentError
from tapedeck._core.arguments import text
from tapedeck._core.host_ops import Known, needs_values, shape_of
from tapedeck._core.printing import tensor_text
from tapedeck._core.public import public


@public("strings.split")
def split(input=None, sep=None, maxsplit=-1, name=None, source=None):
    """Splits a string into words.

    input: a string scalar (source in TensorFlow 1); sep: what parts the words, None or "" for runs of white space; maxsplit:
    how many cuts at most, -1 for all.
    Returns: string, (number of words,).
    Errors: UnimplementedError for more than one string, which would need ragged tensors.
    """
    values = _engine.convert_to_tensor(source if input is None else input, "string", None)
    return _engine.op_function("string_split")(values, sep=sep or "", maxsplit=maxsplit)


@public("strings.format")
@needs_values("inputs", known=lambda **_: Known("string", []))
def format(template, inputs, placeholder="{}", summarize=3, name=None):
    """A string scalar: the template with tensors, as tf.print writes them, in the places of its placeholders.

    template: a str; inputs: a tensor, or a list of as many as there are placeholders; summarize: how many elements are shown
    from either end of each axis, -1 for all.
    Errors: InvalidArgumentError (a ValueError) where their numbers differ, and for an empty placeholder; TypeError for a template that
    is not a string.
    """
    template, placeholder = text(template, "strings.format: template"), text(placeholder, "strings.format: placeholder")
    if not placeholder:
        raise InvalidArgumentError("strings.format: placeholder is empty")
    values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise InvalidArgumentError(f"strings.format: template {template!r} has {len(parts) - 1} placeholders, inputs has "
                                   f"{len(values)} tensors")
    texts = [tensor_text(_engine.convert_to_tensor(value, None, None), summarize) for value in values]
    return _engine.constant(parts[0] + "".join(text + part for text, part in zip(texts, parts[1:])), None, None)


def _of_its_shape(input, **_):
    return Known("string", shape_of(input))


def _in_case(op, change, texts, encoding):
    if encoding != "utf-8":
        return _engine.op_function(op)(texts, encoding)
    texts = _engine.convert_to_tensor(texts, "string", None)
    changed = np.empty(tuple(texts.shape), object)
    changed.reshape(-1)[:] = [change(each.decode("utf-8", "replace")).encode() for each in np.asarray(texts.numpy(), object).reshape(-1)]
    return _engine.constant(changed, "string", None)


@public("strings.lower", row="string_lower")
@needs_values("input", known=_of_its_shape)
def lower(input, encoding="", name=None):
    """Converts upper-case letters to lower case. encoding may be "utf-8": the letters of Unicode; bytes that are not UTF-8 become
    U+FFFD then."""
    return _in_case("string_lower", str.lower, input, encoding)


@public("strings.upper", row="string_upper")
@needs_values("input", known=_of_its_shape)
def upper(input, encoding="", name=None):
    """Converts lower-case letters to upper case. encoding may be "utf-8": the letters of Unicode, two for one where it is written so,
    as SS for ß; bytes that are not UTF-8 become U+FFFD then."""
    return _in_case("string_upper", str.upper, input, encoding)
