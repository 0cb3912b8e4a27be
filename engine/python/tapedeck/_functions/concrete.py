"""A function's graph for one signature."""
import copy

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._functions.structures import Results, Shown, leaf_of, spec_of
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

    def __init__(self, name, arguments, parameters, body, allowed, for_others=None):
        """body(args, kwargs) is called once. allowed: whether it may make variables; for_others(args, kwargs): the ConcreteFunction for
        other variables in the place of these."""
        self.name, self._for_others = name, for_others
        self._variables = {place: leaf.key for place, leaf in enumerate(arguments.leaves) if leaf.key[0] == "variable"}
        self._specs = arguments.specs
        self._parameters, self._names = parameters, arguments.names(parameters)
        self._renamed = {}
        self._name_as(arguments)
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
            self._graph = _engine.trace_graph(name, named, traced, arguments.tensors if allowed else [])
        self.variables_made = creation.made
        results.forget_tensors()
        self._results = results

    @classmethod
    def restored(cls, name, parameters, structure, graph, results):
        """One that was saved. structure: [args, kwargs], TensorSpecs in place of tensors; graph: the engine's."""
        made = cls.__new__(cls)
        made.name, made._for_others, made._variables, made.variables_made = name, None, {}, 0
        made._parameters, made._structure, made._graph, made._results = parameters, structure, graph, results
        made._specs = [spec for spec in nest.flatten(structure) if isinstance(spec, TensorSpec)]
        made._names, made._renamed = [spec.name or f"x{place}" for place, spec in enumerate(made._specs)], {}
        return made

    def _name_as(self, arguments):
        names = iter(self._names)
        self._structure = nest.pack_sequence_as(arguments.structure, [leaf.in_signature(names) for leaf in arguments.leaves])

    def named_as(self, arguments):
        """The same graph, whose tensors have the names of these arguments' TensorSpecs."""
        names = tuple(spec.name or name for spec, name in zip(arguments.specs, self._names))
        if names == self._tensor_names():
            return self
        if names not in self._renamed:
            self._renamed[names] = made = copy.copy(self)
            made._name_as(arguments)
        return self._renamed[names]

    def _tensor_names(self):
        return tuple(spec.name for spec in nest.flatten(self._structure) if isinstance(spec, TensorSpec))

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
        """Runs the graph. Python values of the signature may be left out; tensors may also come by their parameters' names. Or the tensors
        alone, without the structures around them, in their order or by their names: of a TensorSpec, else of the parameter."""
        try:
            values = self._values_of(args, dict(kwargs))
            other = self._of_other_variables(values)
            tensors = [tensor for (name, expected), value in zip(self._places(), values) for tensor in self._fitted(name, expected, value)]
        except TypeError:
            tensors = self._flat(args, kwargs)
            if tensors is None:
                raise
            return self.run(tensors)
        return (other or self).run(tensors)

    def _places(self):
        wanted, keywords = self._structure
        return [*zip(self._parameter_names(len(wanted)), wanted), *sorted(keywords.items())]

    def _values_of(self, args, kwargs):
        """One value for each of the places."""
        wanted = self._structure[0]
        if len(args) > len(wanted):
            raise TypeError(f"{self.name}: takes {len(wanted)} positional arguments, got {len(args)}")
        values = []
        for place, (name, expected) in enumerate(self._places()):
            if place < len(args):
                values.append(args[place])
            elif name in kwargs:
                values.append(kwargs.pop(name))
            elif getattr(expected, "name", None) in kwargs:  # the TensorSpec's
                values.append(kwargs.pop(expected.name))
            elif any(isinstance(each, TensorSpec) for each in nest.flatten(expected)):
                raise TypeError(f"{self.name}: the argument {name!r} is missing; it takes {', '.join(self._names) or 'nothing'}")
            else:
                values.append(expected)
        if kwargs:
            raise TypeError(f"{self.name}: got an unexpected argument {next(iter(kwargs))!r}; it takes "
                            f"{', '.join(self._names) or 'nothing'}")
        return values

    def _of_other_variables(self, values):
        """The ConcreteFunction for the variables among the values, where they are not those of the trace."""
        wanted = nest.flatten(self._structure)
        given = nest.flatten([values[:len(self._structure[0])], values[len(self._structure[0]):]])
        others = {place: value for place, value in enumerate(given)
                  if isinstance(value, _engine.Variable) and place in self._variables and leaf_of(value).key != self._variables[place]}
        if not others:
            return None
        made = []
        for place, expected in enumerate(wanted):
            if place in self._variables:
                expected = others.get(place, self._variables[place][1].thing())
            if isinstance(expected, Shown) or place in self._variables and expected is None:
                raise TypeError(f"{self.name}: it was traced for {wanted[place]!r}, which has gone; other variables beside it "
                                "need another trace")
            made.append(expected)
        args, kwargs = nest.pack_sequence_as(self._structure, made)
        return self._for_others(args, kwargs)

    def _flat(self, args, kwargs):
        """The tensors of a call without structures; None where they do not fit."""
        left, tensors = dict(kwargs), list(args)
        for name in self._tensor_names()[len(args):]:
            key = name if name in left else name.removesuffix("_0")  # as TensorFlow numbers: x, x_1, x_2
            if key not in left:
                return None
            tensors.append(left.pop(key))
        if left or len(tensors) != len(self._specs) or any(map(nest.is_nested, tensors)):
            return None
        return [_engine.convert_to_tensor(tensor, spec.dtype) for tensor, spec in zip(tensors, self._specs)]

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
