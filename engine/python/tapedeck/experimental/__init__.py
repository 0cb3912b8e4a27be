"""What TensorFlow keeps under tf.experimental; and what Tapedeck adds to it."""
import sys

from tapedeck import _engine
from tapedeck._core.public import public
from tapedeck.experimental import dlpack, numpy  # noqa: F401


@public("experimental.record_ops")
def record_ops(on=True):
    """Records the ops of this process from now on (or stops), so that tf.explain_no_gradient can look at them.

    A Tapedeck session records from its start; there this does nothing.
    """
    attached = _engine.debug.attached()
    if on and not attached:
        _engine.debug.attach()
    elif not on and attached and not _in_session():
        _engine.debug.stop()


def _in_session():
    return "tapedeck._session.app" in sys.modules
