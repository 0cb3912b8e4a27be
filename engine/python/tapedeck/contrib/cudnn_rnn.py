"""tf.contrib.cudnn_rnn: several recurrent layers in one, sequences as (time, batch, inputs), on any device.

TensorFlow keeps all weights in one variable that only the library cuDNN can read; here each layer has its own.
"""
from tapedeck import _initializers
from tapedeck._core.composites import op as _op
from tapedeck._core.public import public
from tapedeck._nn.functions import dropout as _dropout
from tapedeck.keras.layers.recurrent import GRU as _GRU, LSTM as _LSTM, SimpleRNN as _SimpleRNN
from tapedeck.layers.base import Layer as _Layer

CUDNN_RNN_UNIDIRECTION = public("contrib.cudnn_rnn.CUDNN_RNN_UNIDIRECTION")("unidirectional")
CUDNN_RNN_BIDIRECTION = public("contrib.cudnn_rnn.CUDNN_RNN_BIDIRECTION")("bidirectional")
CUDNN_INPUT_LINEAR_MODE = public("contrib.cudnn_rnn.CUDNN_INPUT_LINEAR_MODE")("linear_input")
CUDNN_INPUT_AUTO_MODE = public("contrib.cudnn_rnn.CUDNN_INPUT_AUTO_MODE")("auto_select")

_DOC = """

    num_layers; num_units: how wide the states are; direction: "unidirectional" or "bidirectional", whose outputs are side by
    side; dropout: the share of what goes from one layer to the next that is dropped in training; seed; dtype; kernel_initializer,
    bias_initializer: None for Glorot's uniform and zeros; input_mode: "linear_input" or "auto_select", the same here; name.
    Inputs: (time, batch, inputs); initial_state: a tuple of {states}, each (num_layers·directions, batch, num_units), None for
    zeros; training: whether dropout works.
    Returns: (outputs, states): (time, batch, directions·num_units); a tuple as initial_state.
    Errors: ValueError for another direction or input_mode, a dropout that is not from 0 to below 1, and another initial_state.
    """


class _CudnnRNN(_Layer):
    _state_names = ("h",)

    def __init__(self, num_layers, num_units, input_mode=CUDNN_INPUT_LINEAR_MODE, direction=CUDNN_RNN_UNIDIRECTION, dropout=0.0,
                 seed=None, dtype="float32", kernel_initializer=None, bias_initializer=None, name=None):
        super().__init__(dtype=dtype, name=name)
        for argument, given, known in (("direction", direction, (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION)),
                                       ("input_mode", input_mode, (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_AUTO_MODE))):
            if given not in known:
                raise ValueError(f"{type(self).__name__}: {argument} is {given!r}; must be {' or '.join(map(repr, known))}")
        if not 0 <= dropout < 1:
            raise ValueError(f"{type(self).__name__}: dropout is {dropout!r}; must be in [0, 1)")
        self.num_layers, self.num_units, self.direction, self.input_mode = num_layers, num_units, direction, input_mode
        self.num_dirs = 2 if direction == CUDNN_RNN_BIDIRECTION else 1
        self._dropout, self._seed = dropout, seed
        weights = {"kernel_initializer": kernel_initializer or _initializers.GlorotUniform(seed),
                   "recurrent_initializer": kernel_initializer or _initializers.GlorotUniform(seed),
                   "bias_initializer": bias_initializer or "zeros"}
        self._sublayers = [self._make_part(num_units, go_backwards=number % self.num_dirs == 1, return_sequences=True,
                                           return_state=True, time_major=True, dtype=dtype, **weights)
                           for number in range(num_layers * self.num_dirs)]

    def _first(self, given, batch):
        """For each part a list of its states, None for zeros."""
        if given is None:
            return [None] * len(self._sublayers)
        wanted = (len(self._sublayers), batch, self.num_units)
        given = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if len(given) != len(self._state_names) or any(tuple(state.shape) != wanted for state in given):
            raise ValueError(f"{type(self).__name__}: initial_state has the shapes {[tuple(state.shape) for state in given]}; "
                             f"needs {len(self._state_names)} of {wanted}")
        return [[state[number] for state in given] for number in range(len(self._sublayers))]

    def call(self, inputs, initial_state=None, training=True):
        before, after = self._first(initial_state, inputs.shape[1]), []
        for layer in range(self.num_layers):
            if layer and training and self._dropout:
                inputs = _dropout(inputs, rate=self._dropout, seed=self._seed)
            outputs = []
            for number in range(layer * self.num_dirs, (layer + 1) * self.num_dirs):
                output, *states = self._sublayers[number](inputs, initial_state=before[number])
                outputs.append(_op("reverse")(output, [0]) if number % self.num_dirs else output)
                after.append(states)
            inputs = _op("concat")(outputs, -1) if len(outputs) > 1 else outputs[0]
        return inputs, tuple(_op("stack")(list(each), 0) for each in zip(*after))


@public("contrib.cudnn_rnn.CudnnLSTM")
class CudnnLSTM(_CudnnRNN):
    __doc__ = "Layers of long short-term memory: tf.keras.layers.LSTM, whose states are h and c." + _DOC.format(states="h and c")

    _state_names, _make_part = ("h", "c"), staticmethod(_LSTM)


@public("contrib.cudnn_rnn.CudnnGRU")
class CudnnGRU(_CudnnRNN):
    __doc__ = "Layers of gated recurrent units: tf.keras.layers.GRU." + _DOC.format(states="h")

    _make_part = staticmethod(_GRU)


@public("contrib.cudnn_rnn.CudnnRNNTanh")
class CudnnRNNTanh(_CudnnRNN):
    __doc__ = "Layers of tf.keras.layers.SimpleRNN with tanh." + _DOC.format(states="h")

    @staticmethod
    def _make_part(units, **arguments):
        return _SimpleRNN(units, "tanh", **arguments)


@public("contrib.cudnn_rnn.CudnnRNNRelu")
class CudnnRNNRelu(_CudnnRNN):
    __doc__ = "Layers of tf.keras.layers.SimpleRNN with relu." + _DOC.format(states="h")

    @staticmethod
    def _make_part(units, **arguments):
        return _SimpleRNN(units, "relu", **arguments)
