"""What a tf.TensorArray holds in a graph that writes it at numbers which only a run knows: one tensor with a new first axis."""
from tapedeck import _engine
from tapedeck._core.composites import op, tensor
from tapedeck._core.extents import extents
from tapedeck._core.public import NAMES
from tapedeck._core.shapes import TensorShape


def _blank(shape, dtype):
    return op("fill")(shape, "") if dtype.name == "string" else op("zeros")(shape, dtype)


class Slices:
    """Immutable. tensor: all slices that there are, zeros for what was not written. count: how many the array has: a number where that is
    known and stays, else a scalar int32 tensor. Where not the whole shape of a slice is known before the first one is written, the tensor
    has none until then: `late`."""

    def __init__(self, values, count, late):
        self.tensor, self.count, self.late = values, count, late

    @staticmethod
    def zeros(count, shape, dtype):
        """Of an array to which nothing is written. shape: a TensorShape of known rank."""
        late = not shape.is_fully_defined()
        made = _blank([0 if late else count, *(extent or 0 for extent in shape)], dtype)
        return Slices(made, count, late)

    @staticmethod
    def of(values):
        """The slices of a tensor's first axis."""
        return Slices(values, extents(values)[0], False)

    def counted(self):
        """The same, with a count that may change."""
        return Slices(self.tensor, tensor(self.count, "int32"), self.late)

    @property
    def parts(self):
        """The tensors that a loop or a branch carries."""
        return [self.tensor, self.count] if isinstance(self.count, _engine.Tensor) else [self.tensor]

    def with_parts(self, parts):
        """With these in place of its parts."""
        return Slices(parts[0], parts[1] if len(parts) > 1 else self.count, self.late)

    def _grown(self, count, of_slice):
        """The tensor with so many slices of these extents."""
        values = self.tensor
        if self.late:
            values = op("reshape")(values, [extents(values)[0], *of_slice])
        blank = op("concat")([values, _blank([1, *of_slice], values.dtype)], 0)
        return op("gather")(blank, op("minimum")(op("range")(0, tensor(count, "int32")), tensor(extents(values)[0], "int32")))

    def _scattered(self, indices, rows, grows, highest):
        """indices: a vector; rows: a slice for each; highest: the greatest index."""
        values, count = self.tensor, self.count
        if grows:
            count = op("maximum")(tensor(count, "int32"), op("add")(op("cast")(highest, "int32"), 1))
        if grows or self.late:
            values = self._grown(count, extents(rows)[1:])
        return Slices(op("tensor_scatter_nd_update")(values, op("expand_dims")(indices, 1), rows), count, self.late)

    def written(self, index, value, grows):
        """With the value at that index. grows: whether the array becomes longer for it."""
        index = tensor(index)
        return self._scattered(op("reshape")(index, [1]), op("expand_dims")(value, 0), grows, index)

    def scattered(self, indices, rows, grows):
        """With the rows at these indices."""
        return self._scattered(indices, rows, grows, op("reduce_max")(indices) if grows else None)

    def read(self, index):
        """The slice of that number, or those of several."""
        return op("gather")(self.stacked(), index)

    def stacked(self):
        """All slices. A run fails where the array has slices whose shape it does not know."""
        if not self.late:
            return self.tensor
        rows = tensor(extents(self.tensor)[0], "int32")
        NAMES["debugging.Assert"](op("greater_equal")(rows, tensor(self.count, "int32")),
                                  ["TensorArray: nothing was written, and the element_shape is not known; the size is", self.count])
        return self.tensor

    def concatenated(self):
        """All slices, joined along their first axis."""
        values = self.stacked()
        return op("reshape")(values, [-1, *extents(values)[2:]])

    def shapes(self, element_shape):
        """Of each part what is known of its shape wherever the array is written: what a loop carries. None where it stays."""
        if not self.late and len(self.parts) == 1:
            return [None]
        return [TensorShape([None, *element_shape]), TensorShape(())][:len(self.parts)]
