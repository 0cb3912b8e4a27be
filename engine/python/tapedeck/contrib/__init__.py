"""What programs of TensorFlow 1 take from tf.contrib."""
import sys

from tapedeck import tfe as eager
from tapedeck.contrib import framework, layers, summary  # noqa: F401

sys.modules[__name__ + ".eager"] = eager  # `import tapedeck.contrib.eager as tfe`
