"""Compares what a debug server shows of records with what a witness inside the program saw (witness.py)."""
import math
import struct


def same(shown, seen):
    """As doubles; a NaN is any NaN, and a zero any zero: a tile does not tell them apart."""
    return len(shown) == len(seen) and all(left == right or left != left and right != right for left, right in zip(shown, seen))


class Comparison:
    """Of what the witness saw with what the debug server shows."""

    def __init__(self, client):
        self._client = client
        self.values, self.problems, self.sources, self.lost = 0, [], {}, []

    def look_at(self, seen):
        found = self._client.ask("get_records", first=seen["record"], count=1, with_previews=False)["records"][0]
        where = f"{seen['op']}, record {seen['record']}"
        base = seen["op"].split(".")[1]
        if base not in found["op"]:
            self.problems.append(f"{where}: the record is of {found['op']}")
            return
        for side, tensors in (("read", found["inputs"]), ("made", found["outputs"])):
            tensors = [tensor for tensor in tensors if tensor["dtype"]]
            wanted = seen[side]
            # A record has more than the call returned where an op writes into its arguments.
            if len(tensors) < len(wanted):
                self.problems.append(f"{where}: {side} {len(wanted)} tensors, the record has {len(tensors)}")
                continue
            for number, (tensor, value) in enumerate(zip(tensors, wanted)):
                self.compare(f"{where}, {side} {number}", tensor, *value)

    def compare(self, where, tensor, dtype, shape, numbers):
        if dtype is None:
            return
        if (tensor["dtype"], tensor["shape"]) != (dtype, shape):
            self.problems.append(f"{where} is {dtype} {shape}; the record says {tensor['dtype']} {tensor['shape']}")
        elif numbers is not None and numbers:
            self.values += 1
            count = math.prod(shape)
            try:
                tile = self._client.ask("get_tile", tensor=tensor["id"], reshape=[count], slice=None, row=0, column=0, rows=1,
                                        columns=count, row_step=1, column_step=1, cell="mean")
            except AssertionError as error:
                kind, _, body = error.args[0]
                self.lost.append(f"{where}: {kind} {body}")
                return
            self.sources[tile["source"]] = self.sources.get(tile["source"], 0) + 1
            shown = list(struct.unpack(f"<{len(tile['values']) // 8}d", tile["values"]))
            if dtype.startswith("complex"):  # a tile has their magnitudes
                sizes = [math.hypot(*pair) for pair in zip(numbers[::2], numbers[1::2])]
                close = [math.isclose(left, right, rel_tol=1e-6) for left, right in zip(shown, sizes)]
                if len(shown) != count or not all(close):
                    self.problems.append(f"{where} ({tile['source']}): magnitudes {shown} for {sizes}")
            elif not same(shown, numbers):
                different = [place for place, (left, right) in enumerate(zip(shown, numbers)) if not same([left], [right])]
                first = different[0] if different else None
                self.problems.append(f"{where} ({tile['source']}): {len(different)} of {len(numbers)} numbers are others" + (
                    f", at {first} {shown[first]!r} for {numbers[first]!r}" if different else f": {len(shown)} are shown"))
