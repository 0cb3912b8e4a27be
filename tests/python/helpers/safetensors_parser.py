"""A second reader of safetensors files, written from the format's specification alone: what the tests compare with."""
import json

import numpy as np

_NUMPY = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "F16": "<f2", "U32": "<u4", "I32": "<i4", "F32": "<f4",
          "U64": "<u8", "I64": "<i8", "F64": "<f8", "C64": "<c8"}


def parse(path):
    """({name: array}, metadata). bfloat16 comes as float32. AssertionError for what the format does not allow."""
    with open(path, "rb") as file:
        data = file.read()
    length = int.from_bytes(data[:8], "little")
    assert 2 <= length <= 100_000_000 and 8 + length <= len(data), f"header of {length} bytes in a file of {len(data)}"
    assert data[8:9] == b"{"
    header = json.loads(data[8:8 + length], object_pairs_hook=_without_duplicates)
    metadata = header.pop("__metadata__", {})
    assert all(isinstance(value, str) for value in metadata.values())
    body, tensors, end = data[8 + length:], {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        assert set(entry) == {"dtype", "shape", "data_offsets"}, entry
        begin, stop = entry["data_offsets"]
        assert begin == end, f"a hole, or tensors over each other, before {name}"
        end = stop
        brain = entry["dtype"] == "BF16"
        flat = np.frombuffer(body[begin:stop], "<u2" if brain else _NUMPY[entry["dtype"]])
        assert (8 + length + begin) % flat.itemsize == 0, f"{name} is not aligned"
        if brain:
            flat = (flat.astype("<u4") << 16).view("<f4")
        tensors[name] = flat.reshape(entry["shape"])
    assert end == len(body), "bytes that belong to no tensor"
    return tensors, metadata


def _without_duplicates(pairs):
    assert len({key for key, _ in pairs}) == len(pairs), "a key comes twice"
    return dict(pairs)


def header_of(path):
    """(the header's text, the bytes behind it)."""
    with open(path, "rb") as file:
        data = file.read()
    end = 8 + int.from_bytes(data[:8], "little")
    return data[8:end].decode(), data[end:]


def write(path, header, body=b""):
    """A file of that header, a text, and those bytes."""
    raw = header.encode() if isinstance(header, str) else header
    with open(path, "wb") as file:
        file.write(len(raw).to_bytes(8, "little") + raw + body)
