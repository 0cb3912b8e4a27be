"""TensorFlow's settings of sessions and runs: kept as they are given, and without effect, as Tapedeck has its own."""
from tapedeck._core.public import public


class Message:
    """Fields by name: those that are given, and more messages where one is read that was not set."""

    def __init__(self, **fields):
        vars(self).update(fields)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        made = Message()
        setattr(self, name, made)
        return made

    def __repr__(self):
        fields = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


@public("ConfigProto")
class ConfigProto(Message):
    """What tf.Session takes as config; nothing in it changes what Tapedeck does."""


@public("GPUOptions")
class GPUOptions(Message):
    """Of a tf.ConfigProto, for which memory of GPUs is taken; it changes nothing: memory is taken when it is needed."""


@public("GraphOptions")
class GraphOptions(Message):
    """Of a tf.ConfigProto; it changes nothing."""


@public("OptimizerOptions")
class OptimizerOptions(Message):
    """Of a tf.GraphOptions; it changes nothing: the passes of Tapedeck's graphs give the same bits."""

    L0, L1 = -1, 0
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2


@public("RunOptions")
class RunOptions(Message):
    """What Session.run takes as options; it changes nothing: Tapedeck's recorder is switched on in its window, or by --trace."""

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = range(4)


@public("RunMetadata")
class RunMetadata(Message):
    """What Session.run takes as run_metadata, and leaves as it is: times and memory of ops are in Tapedeck's recorder."""


class RewriterConfig(Message):
    """Of a tf.GraphOptions; it changes nothing."""

    DEFAULT, ON, OFF, AGGRESSIVE = range(4)
    DEFAULT_MEM_OPT, NO_MEM_OPT, MANUAL, HEURISTICS = range(4)
