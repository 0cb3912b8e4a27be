"""Whether a program builds a graph from its start: tf.disable_eager_execution()."""
import atexit

from tapedeck._client.placeholders import default_of_process
from tapedeck._core import program_graph
from tapedeck._core.public import public
from tapedeck.compat import v1_behavior


@public("disable_v2_behavior")
def disable_v2_behavior():
    """tf.disable_eager_execution(), and what tf.compat.v1_behavior() says."""
    v1_behavior()
    disable_eager_execution()


@public("disable_eager_execution")
def disable_eager_execution():
    """From now on what this thread calls becomes part of the default graph, for a tf.Session to run: for programs of TensorFlow 1.

    With `./run.sh --tensorflow` a program that uses placeholders or sessions and does not enable eager execution begins so by itself.
    """
    if program_graph.innermost() is None:
        default_of_process()._enter()
        atexit.register(_end)


def _end():
    """The interpreter ends: what it deletes runs ops of its own."""
    while program_graph.innermost() is not None:
        program_graph.innermost()._leave()


@program_graph.provides("leave_graph")
def leave_graph():
    """Ops of this thread run at once again. Errors: ValueError where the graph has been begun."""
    opened = program_graph.innermost()
    if opened is not default_of_process() or program_graph.depth() > 1 or opened._engine.size:
        raise ValueError("tf.enable_eager_execution must be called at program startup.")
    opened._leave()
