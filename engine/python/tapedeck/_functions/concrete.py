"""A function's graph for one signature."""
from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._functions.structures import Results, leaf_of, spec_of
from tapedeck.data.specs import TensorSpec


class FunctionGraph:
    """What TensorFlow's `graph` of a concrete function says, and the engine's graph: text, nodes, passes."""

    def __init__(self, name, traced):
        self.name, self._traced = name, traced

    text = property(lambda self: self._traced.text, doc="The graph that runs, a line a node.")
    traced_text = property(lambda self: self._traced.traced_text, doc="The graph as it was traced, before the passes.")
    nodes = property(lambda self: self._traced.nodes, doc="A dict for each node of the graph that runs.")
    passes = property(lambda self: self._traced.passes, doc="(name, changes, text) of each pass.")
    variables = property(lambda self: tuple(self._traced.variables), doc="The variables that it reads or assigns to.")

    def as_graph_def(self):
        """The graph as text."""
        return self._traced.text


class ConcreteFunction:
    """A function traced for one signature; calling it runs its graph."""

    def __init__(self, name, arguments, parameters, body, allowed):
        """body(args, kwargs) is called once. allowed: whether it may make variables."""
        self.name = name
        self._specs = arguments.specs
        self._structure = nest.pack_sequence_as(arguments.structure, [
            leaf.in_signature() for leaf in arguments.leaves])
        self._parameters, self._names = parameters, arguments.names(parameters)
        results = None

        def traced(tensors):
            nonlocal results
            args, kwargs = arguments.with_tensors(tensors)
            given = nest.map_structure(lambda leaf: leaf, [list(args), dict(kwargs)])
            results = Results(name, body(args, kwargs))
            _require_unchanged(name, given, [list(args), dict(kwargs)])
            return results.tensors

        named = [(argument, spec.dtype, spec.shape) for argument, spec in zip(self._names, self._specs)]
        with _engine.VariableCreation(allowed) as creation:
            self._graph = _engine.trace_graph(name, named, traced)
        self.variables_made = creation.made
        results.forget_tensors()
        self._results = results

    graph = property(lambda self: FunctionGraph(self.name, self._graph), doc="What was traced.")
    trace = property(lambda self: self._graph.trace, doc="The same for debug.TracedFunction.")
    variables = property(lambda self: tuple(self._graph.variables), doc="The variables that it reads or assigns to.")
    trainable_variables = property(lambda self: tuple(each for each in self._graph.variables if each.trainable))
    captured_inputs = property(lambda self: [*self._graph.captured, *self._graph.variables],
                               doc="Tensors and variables from outside.")
    inputs = property(lambda self: list(self._specs), doc="The TensorSpecs of its tensors.")
    outputs = property(lambda self: list(map(_as_spec, self._graph.outputs)), doc="The TensorSpecs of its results.")
    output_shapes = property(lambda self: self._results.with_specs([spec.shape for spec in self.outputs]),
                             doc="The shapes of what it returns, in its form.")
    output_dtypes = property(lambda self: self._results.with_specs([spec.dtype for spec in self.outputs]),
                             doc="The dtypes of what it returns, in its form.")
    structured_input_signature = property(lambda self: (tuple(self._structure[0]), self._structure[1]),
                                          doc="(args, kwargs), TensorSpecs in place of tensors.")
    structured_outputs = property(lambda self: self._results.with_specs(self.outputs),
                                  doc="What it returns, TensorSpecs in place of tensors.")

    def run(self, tensors):
        """The results for these tensors, as the function returns them."""
        try:
            results = self._graph(tensors)
        except Exception as error:
            file, line = _engine.graph_failure()
            if line:
                error.add_note(f"In the graph of {self.name}: {file}, line {line}")
            raise
        return self._results.with_tensors(results)

    def __call__(self, *args, **kwargs):
        """Runs the graph. Python values of the signature may be left out; tensors may also come by their parameters' names."""
        return self.run(self._tensors_of(args, kwargs))

    def _tensors_of(self, args, kwargs):
        wanted, keywords = self._structure
        if len(args) > len(wanted):
            raise TypeError(f"{self.name}: takes {len(wanted)} positional arguments, got {len(args)}")
        places = [*zip(self._parameter_names(len(wanted)), wanted), *sorted(keywords.items())]
        given = []
        for place, (name, expected) in enumerate(places):
            if place < len(args):
                value = args[place]
            elif name in kwargs:
                value = kwargs.pop(name)
            elif getattr(expected, "name", None) in kwargs:  # the TensorSpec's
                value = kwargs.pop(expected.name)
            elif any(isinstance(each, TensorSpec) for each in nest.flatten(expected)):
                raise TypeError(f"{self.name}: the argument {name!r} is missing; it takes {', '.join(self._names) or 'nothing'}")
            else:
                value = expected
            given += self._fitted(name, expected, value)
        if kwargs:
            raise TypeError(f"{self.name}: got an unexpected argument {next(iter(kwargs))!r}; it takes "
                            f"{', '.join(self._names) or 'nothing'}")
        return given

    def _fitted(self, name, expected, value):
        """The tensors of one argument."""
        specs = nest.flatten(expected)
        leaves = [tensor for leaf in nest.flatten(value) for tensor in leaf_of(leaf).tensors or (leaf,)]
        if len(specs) != len(leaves):
            raise TypeError(f"{self.name}: {name} has {len(leaves)} leaves; it was traced with {len(specs)}")
        return [_engine.convert_to_tensor(leaf, spec.dtype) for spec, leaf in zip(specs, leaves) if isinstance(spec, TensorSpec)]

    def pretty_printed_signature(self, verbose=True):
        """The signature as text, as TensorFlow prints it."""
        lines = ["Input Parameters:"]
        args, kwargs = self._structure
        names = self._parameter_names(len(args))
        lines += [f"  {name} (POSITIONAL_OR_KEYWORD): {_shown(value)}" for name, value in zip(names, args)]
        lines += [f"  {name} (KEYWORD_ONLY): {_shown(value)}" for name, value in sorted(kwargs.items())]
        lines += [] if len(lines) > 1 else ["  None"]
        lines += ["Output Type:", f"  {_shown(self.structured_outputs)}", "Captures:"]
        captured = [f"  {id(each)}: {_shown(spec_of(each))}" for each in self.captured_inputs]
        return "\n".join(lines + (captured or ["  None"])) if verbose else f"{self.name}({', '.join(self._names)})"

    def _parameter_names(self, count):
        return [*self._parameters[:count], *(f"arg{place}" for place in range(len(self._parameters), count))]

    def __repr__(self):
        return f"<ConcreteFunction {self.pretty_printed_signature(False)} at 0x{id(self):x}>"

    def __str__(self):
        return f"ConcreteFunction {self.pretty_printed_signature()}"


def _require_unchanged(name, given, left):
    """ValueError where the function changed a list or dict that it was given: the caller's would stay as it is."""
    same = nest._shape_of(given) == nest._shape_of(left) and all(
        one is other for one, other in zip(nest.flatten(given), nest.flatten(left)))
    if not same:
        raise ValueError(f"{name}: it changes a list or dict that it is given; each run of its graph gets another one, so the caller would "
                         "see nothing of it. Change a copy, and return that")


def _as_spec(pair):
    dtype, shape = pair
    return TensorSpec(shape, dtype)


def _shown(value):
    return repr(value) if hasattr(value, "dtype") or nest.is_nested(value) or value is None else f"Literal[{value!r}]"
