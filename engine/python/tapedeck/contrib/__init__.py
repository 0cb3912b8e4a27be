"""What programs of TensorFlow 1 take from tf.contrib."""
import sys

from tapedeck import tfe as eager
from tapedeck.contrib import framework, layers, opt, rnn, summary  # noqa: F401

_LATER = {"cudnn_rnn", "learn"}  # imported at first use


def __getattr__(name):
    if name == "signal":
        from tapedeck import signal
        return signal
    if name in _LATER:
        import importlib
        return importlib.import_module(f"{__name__}.{name}")
    from tapedeck.missing import MissingName
    raise AttributeError(name) if name.startswith("__") else MissingName(__name__, name)


sys.modules[__name__ + ".eager"] = eager  # `import tapedeck.contrib.eager as tfe`
