"""What K-FAC sees of a layer: its inputs, and the gradients of what it computes before the activation."""
import contextlib

from tapedeck import _engine
from tapedeck._core.composites import op
from tapedeck._image import images
from tapedeck.keras.layers.convolution import Conv2D
from tapedeck.keras.layers.core import Dense


class LayerSeen:
    """A Dense or Conv2D layer during one evaluation of the loss.

    inputs, outputs: tensors of each call, the outputs before the activation. rows(inputs): the layer's inputs as rows of the matrix
    that the kernel is multiplied by, (calls·places, size), then ones for the bias; places: how many rows one example has.
    """

    def __init__(self, layer):
        self.layer = layer
        self.inputs, self.outputs = [], []

    def _call(self, inputs, *args, **kwargs):
        self.inputs.append(_engine.convert_to_tensor(inputs))
        return type(self.layer).call(self.layer, inputs, *args, **kwargs)

    def _active(self, outputs):
        self.outputs.append(outputs)
        return outputs if self._plain is None else self._plain(outputs)

    def watch(self):
        """From now on calls are seen."""
        own = vars(self.layer)
        self._plain = own.get("_active")
        own["call"], own["_active"] = self._call, self._active

    def unwatch(self):
        """Calls are seen no longer; what was seen stays."""
        own = vars(self.layer)
        del own["call"]
        own["_active"] = self._plain

    @property
    def variables(self):
        """The kernel, and the bias where there is one."""
        bias = self.layer.bias
        return [self.layer.kernel] if bias is None else [self.layer.kernel, bias]

    @property
    def examples(self):
        """How many examples the calls had together."""
        return sum(inputs.shape[0] for inputs in self.inputs)

    def input_rows(self):
        """The rows of all calls."""
        found = []
        for inputs in self.inputs:
            rows = self._patches(inputs) if self.is_convolution else inputs
            rows = op("reshape")(rows, [-1, rows.shape[-1]])
            if self.layer.bias is not None:
                rows = op("concat")([rows, op("ones")([rows.shape[0], 1], dtype=rows.dtype)], 1)
            found.append(rows)
        return found[0] if len(found) == 1 else op("concat")(found, 0)

    def gradient_rows(self, gradients):
        """Gradients of the outputs, one for each call, as rows that belong to those of input_rows()."""
        rows = []
        for gradient, outputs in zip(gradients, self.outputs):
            if gradient is None:
                gradient = op("zeros_like")(outputs)
            if self.is_convolution and self._channels_first:
                gradient = op("transpose")(gradient, [0, 2, 3, 1])
            rows.append(op("reshape")(gradient, [-1, gradient.shape[-1]]))
        return rows[0] if len(rows) == 1 else op("concat")(rows, 0)

    def as_matrix(self, gradients):
        """The gradients of kernel and bias as one matrix, (size of the inputs' rows, outputs)."""
        kernel = op("reshape")(gradients[0], [-1, gradients[0].shape[-1]])
        return kernel if len(gradients) == 1 else op("concat")([kernel, op("expand_dims")(gradients[1], 0)], 0)

    def as_gradients(self, matrix):
        """The other way round: a list of tensors of the variables' shapes."""
        kernel = self.layer.kernel
        if self.layer.bias is None:
            return [op("reshape")(matrix, list(kernel.shape))]
        return [op("reshape")(matrix[:-1], list(kernel.shape)), matrix[-1]]

    @property
    def is_convolution(self):
        """Whether the kernel has two axes of a window."""
        return len(self.layer.kernel.shape) == 4

    @property
    def _channels_first(self):
        return self.layer.data_format == "channels_first"

    def _patches(self, inputs):
        layer = self.layer
        if self._channels_first:
            inputs = op("transpose")(inputs, [0, 2, 3, 1])
        return images.extract_patches(inputs, [1, *layer.kernel_size, 1], [1, *layer.strides, 1], [1, *layer.dilation_rate, 1],
                                      layer.padding.upper())


def factored_layers(model):
    """The Dense and Conv2D layers of a model, of a layer, or of a list of them, each once. TypeError for an object without layers."""
    found, seen = [], set()

    def visit(value):
        if id(value) in seen:
            return
        seen.add(id(value))
        plain_convolution = isinstance(value, Conv2D) and type(value).call is Conv2D.call and value.groups == 1
        if isinstance(value, Dense) or plain_convolution:
            found.append(value)
        for inner in getattr(value, "_layers", None) or getattr(value, "layers", None) or ():
            visit(inner)

    if not isinstance(model, (list, tuple)) and not hasattr(model, "_layers") and not hasattr(model, "layers"):
        raise TypeError(f"KFACOptimizer: model is {model!r}; needs a model, a layer, or a list of them")
    for part in model if isinstance(model, (list, tuple)) else [model]:
        visit(part)
    return found


@contextlib.contextmanager
def watching(layers):
    """Inside, what the layers are called with and give is seen: yields a LayerSeen for each."""
    seen = [LayerSeen(layer) for layer in layers]
    watched = []
    try:
        for each in seen:
            each.watch()
            watched.append(each)
        yield seen
    finally:
        for each in watched:
            each.unwatch()
