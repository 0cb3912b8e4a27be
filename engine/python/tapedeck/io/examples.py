"""tf.train.Example and what it is made of: messages of named features, as record files hold them.

Source: the messages' definitions in TensorFlow's example.proto and feature.proto, and wire.py's.
"""
import struct

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.io import wire


class _Message:
    """A message: SerializeToString(), FromString(), comparison."""

    def SerializeToString(self, deterministic=None):
        """The message's bytes. The features are in the order of their names."""
        return self._bytes()

    @classmethod
    def FromString(cls, s):
        """The message of these bytes. InvalidArgumentError where they are none."""
        message = cls()
        message.ParseFromString(s)
        return message

    def ParseFromString(self, serialized):
        """Makes this the message of these bytes; returns their number."""
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized):
        """Adds what these bytes hold; returns their number."""
        data = bytes(serialized)
        try:
            self._merge(data)
        except wire.WireError as error:
            raise _engine.InvalidArgumentError(f"{type(self).__name__}: could not parse {len(data)} bytes: {error}") from None
        return len(data)

    def Clear(self):
        """Makes it empty."""
        self.__init__()

    def CopyFrom(self, other_msg):
        """Makes this a copy of the other."""
        self.ParseFromString(other_msg.SerializeToString())

    def ByteSize(self):
        """How many bytes it has."""
        return len(self._bytes())

    def __eq__(self, other):
        return type(other) is type(self) and self._bytes() == other._bytes()

    __hash__ = None

    def __repr__(self):
        return "\n".join(self._lines()) + "\n"


class _List(_Message):
    """A list of values: `value`, a Python list."""

    def __init__(self, value=()):
        self.value = [self._checked(each) for each in value]

    def _lines(self):
        return [f"value: {self._shown(each)}" for each in self.value]

    def __len__(self):
        return len(self.value)


def _quoted(value):
    return '"' + repr(value)[2:-1].replace('"', '\\"') + '"'


@public("train.BytesList")
class BytesList(_List):
    """value: a list of bytes. TypeError for other values."""

    @staticmethod
    def _checked(value):
        if isinstance(value, _engine.Tensor):
            value = value.numpy()
        if not isinstance(value, (bytes, bytearray)):
            raise TypeError(f"BytesList: value holds {value!r}; needs bytes")
        return bytes(value)

    _shown = staticmethod(_quoted)

    def _bytes(self):
        return b"".join(wire.field(1, self._checked(each)) for each in self.value)

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number == 1:
                wire.require(kind, wire.BYTES)
                self.value.append(value)


@public("train.FloatList")
class FloatList(_List):
    """value: a list of numbers, float32 in the message."""

    @staticmethod
    def _checked(value):
        return struct.unpack("<f", struct.pack("<f", float(value)))[0]

    _shown = staticmethod(repr)

    def _bytes(self):
        return wire.field(1, struct.pack(f"<{len(self.value)}f", *map(float, self.value))) if self.value else b""

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number == 1:
                if kind not in (wire.BYTES, wire.FIXED32):
                    wire.require(kind, wire.BYTES)
                self.value += wire.packed_floats(value)


@public("train.Int64List")
class Int64List(_List):
    """value: a list of integers of 64 bits. TypeError and ValueError for others."""

    @staticmethod
    def _checked(value):
        if isinstance(value, float) or not hasattr(value, "__index__"):
            raise TypeError(f"Int64List: value holds {value!r}; needs integers")
        number = value.__index__()
        if not -2**63 <= number < 2**63:
            raise ValueError(f"Int64List: value holds {number}; needs 64 bits")
        return number

    _shown = staticmethod(repr)

    def _bytes(self):
        return wire.field(1, b"".join(wire.varint(self._checked(each)) for each in self.value)) if self.value else b""

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number == 1:
                numbers = [value] if kind == wire.VARINT else wire.packed_varints(value) if kind == wire.BYTES else None
                if numbers is None:
                    wire.require(kind, wire.BYTES)
                self.value += map(wire.signed, numbers)


_KINDS = {"bytes_list": (1, BytesList), "float_list": (2, FloatList), "int64_list": (3, Int64List)}
_BY_NUMBER = {number: (name, kind) for name, (number, kind) in _KINDS.items()}


@public("train.Feature")
class Feature(_Message):
    """One of bytes_list, float_list and int64_list."""

    def __init__(self, bytes_list=None, float_list=None, int64_list=None):
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        self._kind = self._list = None
        for name, value in given.items():
            if value is not None:
                if not isinstance(value, _KINDS[name][1]):
                    raise TypeError(f"Feature: {name} is {value!r}; needs a {_KINDS[name][1].__name__}")
                self._kind, self._list = name, value

    def WhichOneof(self, oneof_group):
        """The name of the list that is there, or None."""
        return self._kind if self._list is not None and oneof_group == "kind" else None

    def HasField(self, field_name):
        """Whether it is that list."""
        return self._kind == field_name

    def _of(self, name):
        """The list; it is the feature's once it has a value, as a new message of a field is."""
        if self._kind != name:
            made = _KINDS[name][1]()
            if self._kind is not None and self._list.value:
                return made
            self._kind, self._list = name, made
        return self._list

    bytes_list = property(lambda self: self._of("bytes_list"), doc="The BytesList.")
    float_list = property(lambda self: self._of("float_list"), doc="The FloatList.")
    int64_list = property(lambda self: self._of("int64_list"), doc="The Int64List.")

    def _bytes(self):
        return b"" if self._kind is None else wire.field(_KINDS[self._kind][0], self._list._bytes())

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number in _BY_NUMBER:
                wire.require(kind, wire.BYTES)
                name, made = _BY_NUMBER[number]
                if self._kind != name:
                    self._kind, self._list = name, made()
                self._list._merge(value)

    def _lines(self):
        return [] if self._kind is None else [f"{self._kind} {{", *_indented(self._list._lines()), "}"]


def _indented(lines):
    return ["  " + line for line in lines]


class _Repeated(list):
    """A list of messages that makes new ones."""

    def __init__(self, kind, values):
        self._kind = kind
        super().__init__(values)

    def add(self, **fields):
        """A new message at the end, with these fields."""
        self.append(self._kind(**fields))
        return self[-1]


class _ByName(dict):
    """A dict that makes what is asked for."""

    def __init__(self, kind, values):
        self._kind = kind
        super().__init__()
        for name, value in dict(values or {}).items():
            self[name] = value

    def __setitem__(self, name, value):
        if not isinstance(value, self._kind):
            raise TypeError(f"{name}: {value!r}; needs a {self._kind.__name__}")
        super().__setitem__(name if isinstance(name, str) else bytes(name).decode(), value)

    def __missing__(self, name):
        self[name] = self._kind()
        return self[name]


class _Map(_Message):
    """Messages by name, which are a field's values."""

    def _by_name(self):
        return getattr(self, self._field)

    def _bytes(self):
        pairs = (wire.field(1, name.encode()) + wire.field(2, value._bytes()) for name, value in sorted(self._by_name().items()))
        return b"".join(wire.field(1, pair) for pair in pairs)

    def _merge(self, data):
        for number, kind, pair in wire.fields(data):
            if number != 1:
                continue
            wire.require(kind, wire.BYTES)
            name, value = b"", b""
            for part, part_kind, content in wire.fields(pair):
                if part in (1, 2):
                    wire.require(part_kind, wire.BYTES)
                    name, value = (content, value) if part == 1 else (name, content)
            message = self._kind()
            message._merge(value)
            try:
                self._by_name()[name.decode()] = message
            except UnicodeDecodeError:
                raise wire.WireError(f"the name {name!r} is not UTF-8") from None

    def _lines(self):
        return [line for name, value in sorted(self._by_name().items()) for line in
                [f"{self._field} {{", f'  key: "{name}"', "  value {", *_indented(_indented(value._lines())), "  }", "}"]]


@public("train.Features")
class Features(_Map):
    """feature: a dict of Feature by name."""

    _field, _kind = "feature", Feature

    def __init__(self, feature=None):
        self.feature = _ByName(Feature, feature)


@public("train.FeatureList")
class FeatureList(_Message):
    """feature: a list of Feature."""

    def __init__(self, feature=()):
        self.feature = _Repeated(Feature, feature)

    def _bytes(self):
        return b"".join(wire.field(1, each._bytes()) for each in self.feature)

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number == 1:
                wire.require(kind, wire.BYTES)
                self.feature.add()._merge(value)

    def _lines(self):
        return [line for each in self.feature for line in ["feature {", *_indented(each._lines()), "}"]]


@public("train.FeatureLists")
class FeatureLists(_Map):
    """feature_list: a dict of FeatureList by name."""

    _field, _kind = "feature_list", FeatureList

    def __init__(self, feature_list=None):
        self.feature_list = _ByName(FeatureList, feature_list)


class _Parts(_Message):
    """Named parts, each a message."""

    def HasField(self, field_name):
        """Whether that part is there: whether it holds anything. ValueError for another name."""
        if field_name not in self._parts.values():
            raise ValueError(f"{type(self).__name__} has no field {field_name!r}")
        return bool(getattr(self, field_name)._bytes())

    def _bytes(self):
        parts = ((number, getattr(self, name)._bytes()) for number, name in self._parts.items())
        return b"".join(wire.field(number, data) for number, data in parts if data)

    def _merge(self, data):
        for number, kind, value in wire.fields(data):
            if number in self._parts:
                wire.require(kind, wire.BYTES)
                getattr(self, self._parts[number])._merge(value)

    def _lines(self):
        return [line for name in self._parts.values() if (lines := getattr(self, name)._lines())
                for line in [f"{name} {{", *_indented(lines), "}"]]


@public("train.Example")
class Example(_Parts):
    """features: a Features."""

    _parts = {1: "features"}

    def __init__(self, features=None):
        self.features = Features() if features is None else features


@public("train.SequenceExample")
class SequenceExample(_Parts):
    """context: a Features; feature_lists: a FeatureLists."""

    _parts = {1: "context", 2: "feature_lists"}

    def __init__(self, context=None, feature_lists=None):
        self.context = Features() if context is None else context
        self.feature_lists = FeatureLists() if feature_lists is None else feature_lists
