"""Hooks of its own inside of a recorded program: on each node that a backward pass runs, for the gradients that it gives, and a
TorchDispatchMode that notes where in the graph each op's inputs come from. So it is known, in another way than the recorder's, which
gradient is that of which input of the op that made the node.
"""
import json

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from tapedeck import _engine

WITHOUT_ID = -1  # of a sparse gradient: only that it is there is compared

def origin(tensor):
    """Where a gradient of the tensor goes: (node, which of its outputs), or the leaf itself; None where none is required."""
    if not isinstance(tensor, torch.Tensor) or not tensor.requires_grad:
        return None
    return (tensor.grad_fn, tensor.output_nr) if tensor.grad_fn is not None else tensor


def origin_of_edge(node, output):
    if node is None:
        return None
    return getattr(node, "variable", None) if type(node).__name__.endswith("AccumulateGrad") else (node, output)


def is_same(left, right):
    if isinstance(left, tuple) and isinstance(right, tuple):
        return left[0] is right[0] and left[1] == right[1]
    return left is right


class Inputs(TorchDispatchMode):
    """`origins` of the inputs of each record."""

    def __init__(self):
        super().__init__()
        self.origins = {}

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "profiler":  # marks of PyTorch's own, which have no records
            return func(*args, **kwargs)
        found = []
        for place, argument in enumerate(func._schema.arguments):
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            if "Tensor" in str(argument.type):
                found += [origin(item) for item in value] if isinstance(value, (list, tuple)) else [origin(value)]
        result = func(*args, **kwargs)
        self.origins[_engine.torch.newest_record()] = found
        return result


class Nodes:
    """`ran`: [(node, ids of the gradients that it gave, 0 for none, where each of them goes)], in the order in which they began."""

    def __init__(self):
        self.ran, self._hooked = [], set()

    def watch(self):
        graph = torch.autograd.graph
        if hasattr(graph, "_engine_run_backward"):
            graph._engine_run_backward = self._around(graph._engine_run_backward)
            torch.autograd._engine_run_backward = graph._engine_run_backward
            return
        engine = torch.autograd.Variable._execution_engine  # up to 2.2
        around = self._around(engine.run_backward)

        class Engine:
            run_backward = staticmethod(around)

            def __getattr__(self, name):
                return getattr(engine, name)

        torch.autograd.Variable._execution_engine = Engine()

    def _around(self, original):
        def run_backward(outputs, *arguments, **named):
            waiting = [output.grad_fn if isinstance(output, torch.Tensor) else output.node for output in outputs]
            while waiting:
                node = waiting.pop()
                if node is None or node in self._hooked:
                    continue
                self._hooked.add(node)
                waiting.extend(below for below, _ in node.next_functions)
                self._hook(node)
            return original(outputs, *arguments, **named)
        return run_backward

    def _hook(self, node):
        if type(node).__name__.endswith("AccumulateGrad"):
            return
        goes_to = [origin_of_edge(*edge) for edge in node.next_functions]
        open_runs = []

        def before(_):
            open_runs.append([node, None, goes_to])
            self.ran.append(open_runs[-1])

        def after(gradients, _):
            open_runs.pop()[1] = [0 if gradient is None else _engine.torch.known_id(gradient) or WITHOUT_ID for gradient in gradients]

        node.register_prehook(before)
        node.register_hook(after)


def expected(given, goes_to, inputs):
    """The id of the gradient of each of the op's inputs: the next one that goes to where the input comes from."""
    left = list(zip(goes_to, given))
    found = []
    for comes_from in inputs:
        place = next((at for at, (there, _) in enumerate(left) if comes_from is not None and is_same(there, comes_from)), None)
        found.append(left.pop(place)[1] if place is not None else 0)
    assert not any(there is not None for there, _ in left), "a gradient goes to what is no input"
    return found


def compare(nodes, inputs):
    """(how many nodes there were, how many gradients were compared, what is wrong)."""
    records = json.loads(_engine.debug.records_json())
    vjps = [record for record in records if record["kind"] == "vjp"]
    gradients, wrong = 0, []
    ran = [one for one in nodes.ran if _engine.torch.FORWARD in one[0].metadata]
    if len(ran) != len(vjps):
        return len(ran), 0, [f"{len(ran)} nodes ran that have a forward op, and there are {len(vjps)} VJPs"]
    for (node, given, goes_to), vjp in zip(ran, vjps):
        if vjp["state"] != "done":
            continue
        shown = [one["id"] for one in vjp["outputs"]]
        if getattr(type(node), "_forward_cls", None) is not None:
            wanted = given
        elif type(node).__name__.endswith("CopySlices"):  # its first edge goes to the base of the first input
            wanted = [given[0], *expected(given[1:], goes_to[1:], inputs.origins[vjp["forward"]][1:])]
        else:
            wanted = expected(given, goes_to, inputs.origins[vjp["forward"]])
        gradients += sum(1 for one in wanted if one)
        if shown != [one if one != WITHOUT_ID else id or WITHOUT_ID for one, id in zip(wanted, shown)] or len(shown) != len(wanted):
            wrong.append(f"{vjp['op']}, record {vjp['number']}, of {type(node).__name__}: shown {shown}, given {wanted}")
    return len(ran), gradients, wrong


def run(path, place):
    """Runs the program recorded, and writes PLACE.json: what came of the comparison."""
    from run_programs import plain
    from tapedeck._session import torch_programs
    nodes = Nodes()
    nodes.watch()  # inside of the recorder's, so that its hooks come behind those of the recorder
    _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
    with Inputs() as inputs:
        plain(path)
    count, gradients, wrong = compare(nodes, inputs)
    with open(place + ".json", "w", encoding="utf-8") as file:
        json.dump(dict(nodes=count, ran=len(nodes.ran), gradients=gradients, wrong=wrong), file)
