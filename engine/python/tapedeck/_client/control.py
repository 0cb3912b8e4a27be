"""What runs before what: tf.control_dependencies."""
import contextlib


class _Frame:
    """An open tf.control_dependencies."""

    def __init__(self, first, nodes, clears):
        self.first, self.nodes, self.clears = first, nodes, clears


class Controls:
    """The control dependencies of a graph, by the engine's nodes."""

    def __init__(self, graph):
        self._graph = graph
        self._frames = []
        self.before = {}  # node → nodes that run before it without giving it a tensor

    def depend(self, node, nodes):
        """The node runs behind those nodes, which are older."""
        self._graph._engine.depend(node, node + 1, list(nodes))
        self.before[node] = [*self.before.get(node, ()), *nodes]

    def open_nodes(self):
        """Those that what is made now depends on."""
        found = []
        for frame in self._frames:
            found = [] if frame.clears else [*found, *frame.nodes]
        return list(dict.fromkeys(found))

    def settle(self):
        """What was made since the frames were opened has its dependencies now: before a run, and where that changes."""
        size = self._graph._engine.size
        first = min((frame.first for frame in self._frames), default=size)
        nodes = self.open_nodes()
        if nodes:
            for node in range(first, size):
                self.depend(node, [each for each in nodes if each < node])
        for frame in self._frames:
            frame.first = size

    @contextlib.contextmanager
    def entered(self, control_inputs):
        """The context of tf.control_dependencies. control_inputs: None has no dependency inside, not even those around."""
        self.settle()
        nodes = [] if control_inputs is None else self._graph._nodes_of(control_inputs)
        self._frames.append(_Frame(self._graph._engine.size, nodes, control_inputs is None))
        try:
            yield
        finally:
            self.settle()
            self._frames.pop()
