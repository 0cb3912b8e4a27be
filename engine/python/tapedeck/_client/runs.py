"""What a session runs for some fetches and feeds: made once, and kept by the graph."""
from tapedeck import _engine

_MOST_SHOWN = 5  # names of fetches
_MOST_SHAPES = 16  # for which a part is traced anew; others run with unknown extents

_DTYPES = {"float32": "float", "float64": "double", "float16": "half"}  # as TensorFlow's errors name them


class Part:
    """A part of the graph, as functions of the feeds."""

    def __init__(self, graph, fetches, feeds):
        self._graph = graph
        feeds_of_engine = [(graph_name(graph, tensor), tensor) for tensor in feeds.tensors]
        part = graph._engine.part(feeds_of_engine, fetches.tensors, fetches.nodes)
        self._function, self._unfed = part.function, part.unfed
        host = [variable for node in part.nodes for variable in graph._host_variables.get(node, ())]
        self.needed, self.assigned = [*part.needed, *host], [*part.assigned, *host]
        self._by_shapes = {}
        self._is_open = any(not tensor.shape.is_fully_defined() for tensor in feeds.tensors)
        self._names = [name for name, _ in feeds_of_engine]
        self._fetched = [graph_name(graph, tensor) for tensor in fetches.tensors if graph._place_of(tensor)]
        self._fetched += [name for name in (graph._operation_of(node).name for node in fetches.nodes) if name not in self._fetched]
        if self._function is not None and not self._is_open:
            self._list(self._function, feeds.tensors, False)

    def require_possible(self, session):
        """InvalidArgumentError for a placeholder that is not fed; FailedPreconditionError for a variable without a value."""
        for node in self._unfed:
            tensor = self._graph._engine.tensor(node, 0)
            name, shape = self._graph._operation_of(node).name, tensor.shape
            extents = ",".join("?" if each is None else str(each) for each in shape) if shape.rank else ""
            dtype = _DTYPES.get(tensor.dtype.name, tensor.dtype.name)
            raise _engine.InvalidArgumentError(f"You must feed a value for placeholder tensor '{name}' with dtype {dtype}"
                                               f"{f' and shape [{extents}]' if extents else ''}\n\t [[{{{{node {name}}}}}]]")
        for variable in self.needed:
            session._require(variable)

    def run(self, values):
        """The values of the fetches."""
        try:
            return self._function_for(values)(values)
        except Exception as error:
            file, line = _engine.graph_failure()
            if line and hasattr(error, "add_note"):  # from Python 3.11 on
                error.add_note(f"The op was built at {file}, line {line}")
            raise

    def _function_for(self, values):
        if not self._is_open:
            return self._function
        key = tuple(tuple(value.shape) for value in values)
        found = self._by_shapes.get(key)
        if found is None:
            if len(self._by_shapes) >= _MOST_SHAPES:
                return self._function
            specs = [(name, value.dtype, value.shape) for name, value in zip(self._names, values)]
            is_known = bool(self._by_shapes)
            found = self._by_shapes[key] = _engine.trace_graph("session", specs, self._function)
            self._list(found, values, is_known)
        return found

    def _list(self, function, feeds, is_known):
        """The debugger lists the graph. is_known: whether these fetches ran with feeds of another shape."""
        named = ", ".join(f"{name}: {feed.dtype.name} {tuple(feed.shape)}" for name, feed in zip(self._names, feeds))
        shown = ", ".join(self._fetched[:_MOST_SHOWN]) + (", …" if len(self._fetched) > _MOST_SHOWN else "")
        if is_known:
            reason = "shape", "feed_dict", "feeds of another shape"
        elif self._graph._runs is None:
            reason = "first", "", f"first run: {shown}"
        else:
            reason = "structure", "fetches", f"other fetches or feeds: {shown}"
        self._graph._list_of_runs().add(function.trace, f"session({named})", [reason])


def graph_name(graph, tensor):
    """What the operation of the tensor is called."""
    return graph._operation_of(graph._place_of(tensor)[0]).name
