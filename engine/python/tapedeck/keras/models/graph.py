"""The calls of layers that lead from the inputs of a functional model to its outputs, in an order in which they can run."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._core.composites import op, tensor
from tapedeck.keras.layers.input_spec import check_inputs, InputSpec
from tapedeck.keras.models.symbolic import InputLayer, KerasTensor, map_symbols, symbols_in


def _checked(structure, what):
    """The KerasTensors of a structure of them. ValueError for anything else."""
    leaves = list(structure.values()) if isinstance(structure, dict) else nest.flatten(structure)
    for leaf in leaves:
        if not isinstance(leaf, KerasTensor):
            raise ValueError(f"All `{what}` values must be KerasTensors. Received: {what}={leaf!r} of type {type(leaf)}")
    return leaves


class _Step:
    """A node with the places of the values that it reads and writes."""

    def __init__(self, node, places):
        self.layer, self.node = node.layer, node
        self.reads = {id(symbol): places[id(symbol)] for symbol in node.inputs}
        self.writes = [places.get(id(symbol)) for symbol in symbols_in(node.outputs)]
        simple = len(node.args) == 1 and isinstance(node.args[0], KerasTensor) and not symbols_in(node.kwargs)
        self.only_read = self.reads[id(node.args[0])] if simple else None
        self.only_write = self.writes[0] if isinstance(node.outputs, KerasTensor) else None
        self.frees = ()  # the places that no later step reads

    def run(self, values):
        if self.only_read is not None:
            result = self.layer(values[self.only_read], **self.node.kwargs)
        else:
            def value(symbol):
                return values[self.reads[id(symbol)]]

            result = self.layer(*map_symbols(value, self.node.args), **map_symbols(value, self.node.kwargs))
        if self.only_write is not None:
            values[self.only_write] = result
        else:
            leaves = [each for each in nest.flatten(result) if isinstance(each, (_engine.Tensor, _engine.Variable))]
            for place, leaf in zip(self.writes, leaves):
                values[place] = leaf
        for place in self.frees:
            values[place] = None


class Graph:
    """What a functional model is made of.

    inputs, outputs: KerasTensors, alone or in lists, tuples and dicts. layers: those of inputs first, then by how far they are from
    the outputs. Errors: ValueError where an output depends on what is not an input, and where two layers have one name.
    """

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs = inputs, outputs
        self.flat_inputs, self.flat_outputs = _checked(inputs, "inputs"), _checked(outputs, "outputs")
        if len({id(each) for each in self.flat_inputs}) != len(self.flat_inputs):
            raise ValueError("The list of inputs passed to the model contains the same input multiple times. All inputs should "
                             f"only appear once. Received inputs={self.flat_inputs}")
        nodes = self._ordered_nodes()
        self.nodes = nodes
        self.layers = list({id(node.layer): node.layer for node in nodes}.values())
        names = [layer.name for layer in self.layers]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f'The name "{name}" is used {names.count(name)} times in the model. All layer names should be '
                                 'unique.')
        self._make_steps(nodes)
        self._specs = [InputSpec(shape=(None, *each.shape[1:]), allow_last_axis_squeeze=True) for each in self.flat_inputs]

    def __reduce__(self):  # a copy has symbols of its own, and places by these
        return Graph, (self.inputs, self.outputs)

    # ---- the order ----

    def _found_nodes(self):
        """The nodes that compute the outputs, each after those that it reads from."""
        ends, found, open_nodes = {id(each) for each in self.flat_inputs}, {}, set()
        waiting = [(each, False) for each in reversed(self.flat_outputs)]
        while waiting:
            symbol, seen = waiting.pop()
            node = symbol.node
            if id(node) in found:
                continue
            if seen:
                found[id(node)] = node
                continue
            if id(symbol) in ends and not isinstance(node.layer, InputLayer):
                continue  # a model that begins in the middle of another
            if isinstance(node.layer, InputLayer) and id(symbol) not in ends:
                layers = [each.layer.name for each in found.values()]
                raise ValueError(f'Graph disconnected: cannot obtain value for tensor {symbol} at layer "{node.layer.name}". The '
                                 f"following previous layers were accessed without issue: {layers}")
            open_nodes.add(id(node))
            waiting.append((symbol, True))
            waiting.extend((each, False) for each in reversed(node.inputs) if id(each.node) not in found)
        for each in self.flat_inputs:  # an input that no output reads
            if isinstance(each.node.layer, InputLayer):
                found.setdefault(id(each.node), each.node)
        return list(found.values())

    def _ordered_nodes(self):
        """Those that are further from the outputs first; inputs before all others."""
        nodes = self._found_nodes()
        depth = {}
        for node in reversed(nodes):
            own = depth.setdefault(id(node), 0)
            for symbol in node.inputs:
                depth[id(symbol.node)] = max(depth.get(id(symbol.node), 0), own + 1)
        of_layer = {}
        for node in nodes:
            of_layer[id(node.layer)] = max(of_layer.get(id(node.layer), 0), depth[id(node)])
        deepest = max(of_layer.values(), default=0) + 1
        order = {id(node): place for place, node in enumerate(nodes)}
        given = {id(each.node): place for place, each in enumerate(self.flat_inputs)}

        def key(node):
            if isinstance(node.layer, InputLayer):
                return (-deepest, given[id(node)])
            return (-depth[id(node)], order[id(node)])

        return sorted(nodes, key=key)

    def _make_steps(self, nodes):
        places = {}
        for symbol in self.flat_inputs + [each for node in nodes for each in symbols_in(node.outputs)]:
            places.setdefault(id(symbol), len(places))
        self._places, self._count = places, len(places)
        self._steps = [_Step(node, places) for node in nodes if not isinstance(node.layer, InputLayer)]
        kept = {places[id(each)] for each in self.flat_outputs}
        for step in reversed(self._steps):
            used = set(step.reads.values())
            step.frees = tuple(used - kept)
            kept |= used

    # ---- what is said of it ----

    @property
    def input_names(self):
        return [each.node.layer.name for each in self.flat_inputs]

    @property
    def output_names(self):
        """The keys of a dict of outputs, else the names of the layers, made unique."""
        if isinstance(self.outputs, dict):
            return list(self.outputs)
        names = []
        for each in self.flat_outputs:
            name, number = each.node.layer.name, 1
            while name in names:
                name, number = f"{each.node.layer.name}_{number}", number + 1
            names.append(name)
        return names

    # ---- the run ----

    def in_order(self, values):
        """The values of the inputs in their order, of a structure as the inputs have it, or a dict by the inputs' names."""
        if isinstance(values, dict):
            keys = list(self.inputs) if isinstance(self.inputs, dict) else self.input_names
            missing = [key for key in keys if key not in values]
            if missing:
                raise ValueError(f"Missing data for input {missing[0]!r}. You passed a data dictionary with keys {list(values)}. "
                                 f"Expected the following keys: {keys}")
            return [values[key] for key in keys]
        flat = nest.flatten(values) if nest.is_nested(values) and len(self.flat_inputs) > 1 else \
            list(values) if isinstance(values, (list, tuple)) and len(values) == 1 else [values]
        if len(flat) != len(self.flat_inputs):
            raise ValueError(f"The model expects {len(self.flat_inputs)} inputs, {self.input_names}; it received {len(flat)}")
        return flat

    def run(self, inputs, name):
        """The outputs for these inputs, in the outputs' structure. name: the model's, for errors."""
        values = [None] * self._count
        given = [tensor(value) for value in self.in_order(inputs)]
        check_inputs(self._specs, given, name)
        for place, (value, symbol) in enumerate(zip(given, self.flat_inputs)):
            if value.dtype is not symbol.dtype:
                value = op("cast")(value, symbol.dtype)
            if value.ndim == len(symbol.shape) - 1 and symbol.shape[-1] == 1:
                value = op("expand_dims")(value, -1)
            elif value.ndim == len(symbol.shape) + 1:  # its last extent is 1
                value = op("squeeze")(value, [-1])
            values[place] = value
        for step in self._steps:
            step.run(values)
        return map_symbols(lambda symbol: values[self._places[id(symbol)]], self.outputs)
