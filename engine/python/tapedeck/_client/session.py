"""tf.Session: runs a graph's operations, and holds the values of its variables."""
import contextlib

import numpy as np

from tapedeck import _engine
from tapedeck._client.default_session import here
from tapedeck._client.fetches import Feeds, Fetches
from tapedeck._client.placeholders import default_of_process
from tapedeck._client.runs import Part
from tapedeck._core import program_graph
from tapedeck._core.public import NAMES, public


@public("Session")
class Session:
    """Runs operations and tensors of a graph. Each session has its own values of the graph's variables.

        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            loss_now, _ = session.run([loss, train_op], feed_dict={x: batch})

    graph: None for the default graph. target must be ""; config changes nothing: Tapedeck's own settings count.
    """

    def __init__(self, target="", graph=None, config=None):
        if target:
            raise _engine.UnimplementedError(f"Session: target is {target!r}; sessions run in this process, target ''")
        if graph is not None and not hasattr(graph, "_place_of"):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        self._graph = graph or program_graph.innermost() or default_of_process()
        self._closed, self._values, self._initialized = False, {}, set()
        self.resources = {}  # what its runs keep: iterators
        self._entered = []

    graph = property(lambda self: self._graph, doc="The tf.Graph that it runs.")
    sess_str = property(lambda self: "", doc="\"\".")
    graph_def = property(lambda self: self._graph.as_graph_def(), doc="The graph as text.")

    # ---- the default session

    @contextlib.contextmanager
    def as_default(self):
        """A context in which it is the default session, of Tensor.eval() and Operation.run()."""
        here.sessions.append(self)
        try:
            yield self
        finally:
            here.sessions.remove(self)

    def __enter__(self):
        contexts = contextlib.ExitStack()
        contexts.enter_context(self._graph.as_default())
        contexts.enter_context(self.as_default())
        self._entered.append(contexts)
        return self

    def __exit__(self, *error):
        self._entered.pop().close()
        self.close()

    def close(self):
        """Ends the session: its variables' values go."""
        self._closed = True
        with self._graph._lock:
            self._values.clear()
            self._initialized.clear()
            self.resources.clear()

    @staticmethod
    def reset(target, containers=None, config=None):
        """Nothing to reset: each session has its own variables."""

    def list_devices(self):
        """The names of the devices that ops can run on."""
        return NAMES["tfe.list_devices"]()

    # ---- runs

    def run(self, fetches, feed_dict=None, options=None, run_metadata=None):
        """The values of the fetches: NumPy arrays and scalars in place of tensors, None in place of operations.

        fetches: a tensor, an operation, a variable, a name of one, or a nested list, tuple or dict of them. feed_dict: values of
        placeholders, or of any tensors, by tensor or name. Of the graph only what the fetches need runs, in the order in which the
        program built it. options and run_metadata change nothing.
        Errors: RuntimeError for a session that is closed and for an empty graph; TypeError and ValueError for fetches and feeds that are
        not of the graph, and ValueError for values of another shape; InvalidArgumentError for a placeholder that is needed and not fed;
        FailedPreconditionError for a variable without a value; what the ops raise.
        """
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        graph = self._graph
        with graph._lock:
            if not graph._engine.size:
                raise RuntimeError("The Session graph is empty.  Add operations to the graph before calling run().")
            graph._require_unchanged()
            graph._controls.settle()
            wanted, fed = Fetches(graph, fetches), Feeds(graph, feed_dict)
            key = wanted.key, fed.key
            part = graph._parts.get(key)
            if part is None:
                part = graph._parts[key] = Part(graph, wanted, fed)
                if graph.finalized:
                    graph.finalize()  # constants among the fetches are nodes
            with self._loaded():
                part.require_possible(self)
                values = part.run(fed.values)
                self._initialized.update(map(id, part.assigned))
                return wanted.filled(values, self)

    def partial_run_setup(self, fetches, feeds=None):
        """Refuses: UnimplementedError."""
        raise _engine.UnimplementedError("Session.partial_run_setup: a run gives all of its fetches at once; use run()")

    partial_run = partial_run_setup

    def make_callable(self, fetches, feed_list=None, accept_options=False):
        """A function of the values of feed_list, which runs the fetches."""
        keys = list(feed_list or [])

        def call(*values, **options):
            if len(values) != len(keys):
                raise TypeError(f"make_callable: {len(values)} values for {len(keys)} feeds")
            return self.run(fetches, dict(zip(keys, values)))

        return call

    # ---- variables

    def is_initialized(self, variable):
        """Whether the session has given the variable a value."""
        return id(variable) in self._initialized

    @contextlib.contextmanager
    def _loaded(self):
        """The graph's variables have this session's values inside, and nothing becomes part of a graph."""
        graph = self._graph
        with graph._lock, _engine.Untraced():
            before = graph._loaded
            if before is not self:
                if before is not None and not before._closed:
                    before._values = {key: state.variable.read_value() for key, state in graph._variables.items()
                                      if key in before._initialized}
                for key, value in self._values.items():
                    _engine._put_back(graph._variables[key].variable, value)
                self._values, graph._loaded = {}, self
            here.running.append(self)
            try:
                yield
            finally:
                here.running.pop()

    def _value_of(self, variable):
        self._require(variable)
        return _as_numpy(variable.read_value())

    def _require(self, variable):
        if id(variable) not in self._initialized:
            name = variable.name.removesuffix(":0")
            raise _engine.FailedPreconditionError(f"Attempting to use uninitialized value {name}\n\t [[{{{{node {name}/read}}}}]]")


def _as_numpy(tensor):
    value = tensor.numpy()
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


@public("InteractiveSession")
class InteractiveSession(Session):
    """A session that is the default one from its construction on until close(), for notebooks: tensor.eval() runs in it."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._opens_graph = graph is not None
        if self._opens_graph:
            graph._enter()
        here.sessions.append(self)

    def close(self):
        """Ends the session, which is the default one no longer."""
        if not self._closed:
            if self in here.sessions:
                here.sessions.remove(self)
            if self._opens_graph:
                self._graph._leave()
        super().close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
