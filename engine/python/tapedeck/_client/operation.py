"""Operations of a graph."""
from tapedeck import _engine
from tapedeck._core.public import public


@public("Operation")
class Operation:
    """A node of a tf.Graph, or several that run together: what tf.group, an assignment and an optimiser's minimize() give.

    Session.run takes one as a fetch, whose value is None; run() runs it in the default session.
    """

    def __init__(self, graph, name, type, nodes, node=None, control_nodes=()):
        """nodes: numbers of the engine's nodes that run; node: the one whose results are its outputs, or None."""
        self._graph, self._name, self._type = graph, name, type
        self._nodes, self._node, self._control_nodes = list(nodes), node, list(control_nodes)

    name = property(lambda self: self._name, doc="The name, unique in its graph.")
    type = property(lambda self: self._type, doc="What TensorFlow calls this kind of operation: \"MatMul\".")
    graph = property(lambda self: self._graph, doc="Its tf.Graph.")
    device = property(lambda self: "", doc="\"\": where it runs is decided when it runs.")
    op_def = property(lambda self: None, doc="None.")

    @property
    def inputs(self):
        """The tensors that it reads, as a tuple."""
        return () if self._node is None else self._graph._inputs_of(self._node)

    @property
    def outputs(self):
        """The tensors that it gives, as a list."""
        return [] if self._node is None else self._graph._outputs_of(self._node)

    @property
    def control_inputs(self):
        """The operations that run before it without giving it a tensor."""
        return list(dict.fromkeys(self._graph._operation_of(node) for node in self._control_nodes))

    def values(self):
        """Its outputs, as a tuple."""
        return tuple(self.outputs)

    def run(self, feed_dict=None, session=None):
        """Runs it in a session, None for the default one. feed_dict as in Session.run.

        Errors: ValueError without a session, and for one of another graph.
        """
        self._graph._session_for(session, self, "execute operation", "run").run(self, feed_dict)

    def __repr__(self):
        return f"<tf.Operation '{self._name}' type={self._type}>"

    def __str__(self):
        reads = "".join(f"\n  input: \"{_engine_name(each)}\"" for each in self.inputs)
        return f"name: \"{self._name}\"\nop: \"{self._type}\"{reads}\n"


def _engine_name(tensor):
    return tensor.name.removesuffix(":0") if _engine.is_symbolic(tensor) else "Const"
