"""What programs read of TensorFlow's own file framework/ops.py: names of `tf`, and its hook for shapes."""
import sys


def set_shapes_for_outputs(op):
    """TensorFlow 1 calls this for each operation of a graph, and programs replace it to save time. Here the engine finds shapes while
    it traces, and nothing calls it."""


def __getattr__(name):
    return getattr(sys.modules["tapedeck"], name)
