"""Why functions are traced: what differs between a call's arguments and those of the nearest earlier trace. The debugger lists it."""
import collections
import numbers
import types

from tapedeck import _engine
from tapedeck._core import nest

_COMPARED = 100  # of the newest traces, with which a new one is compared
_LETTERS = 60  # of a value
_SIGNATURE_LETTERS = 300

# One leaf of the arguments, or a list, tuple or dict of them. form: "tensor", "number", "value", "object", "variable", "container" or
# another kind of leaf; key: equal for what may share a trace; tensors: (dtype, shape) of each, as text; text: as a signature has it; kind:
# the name of its class.
_Fact = collections.namedtuple("_Fact", "form key tensors text kind")


class TraceList:
    """A function's traces as the debugger lists them. It keeps no argument alive."""

    def __init__(self, name, function, instance=None):
        """function: as the user wrote it. instance: the name of the class of which it is another instance's method."""
        self._name, self._instance = name.rsplit("<locals>.", 1)[-1], instance
        code = getattr(_unwrapped(function), "__code__", None)
        self._entry = _engine.debug.TracedFunction(self._name, code.co_filename if code else "", code.co_firstlineno if code else 0,
                                                   sorted(_lines_of(code)) if code else [])
        self._known = collections.deque(maxlen=_COMPARED)

    def add(self, trace, arguments, parameters, made_variables):
        """A trace that was just made for these Arguments. parameters: names of the positional ones."""
        facts = _facts_of(arguments, parameters)
        self._entry.add(trace, _signature_of(self._name, arguments, parameters), self._reasons(facts, arguments, made_variables))
        self._known.append(facts)

    def _reasons(self, facts, arguments, made_variables):
        if self._known:
            found = min((_differences(before, facts) for before in reversed(self._known)), key=len)
            return found or [("structure", "", "other arguments")]
        if self._instance is not None:
            return [("object", "", f"another instance of {self._instance}: each has traces of its own")]
        called = all(tensor is not None for tensor in arguments.tensors)
        first = "first call" if called else "first trace, for get_concrete_function"
        return [("first", "", first + (" (traced twice, because the first trace made variables)" if made_variables else ""))]


def _lines_of(code):
    """The lines that have code of the function, or of one that is in it."""
    lines = {line for _, _, line in code.co_lines() if line}
    return lines.union(*(_lines_of(each) for each in code.co_consts if isinstance(each, types.CodeType)))


def _unwrapped(function):
    for _ in range(20):
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None) or getattr(function, "__func__", None)
        if inner is None:
            break
        function = inner
    return function


def _cut(text, letters=_LETTERS):
    return text if len(text) <= letters else text[:letters - 1] + "…"


def _shape_text(shape):
    if shape is None or getattr(shape, "rank", 0) is None:
        return "of any rank"
    return str(tuple(shape))


def _fact(leaf, value):
    kind = type(value).__name__
    head = leaf.key[0] if isinstance(leaf.key, tuple) and leaf.key else leaf.key
    if leaf.specs:
        tensors = tuple((spec.dtype.name, _shape_text(spec.shape)) for spec in leaf.specs)
        text = ", ".join(f"{dtype} {shape}" for dtype, shape in tensors)
        return _Fact(str(head), leaf.key, tensors, text if head == "tensor" else f"<{kind} of {text}>", kind)
    if head in ("object", "variable"):
        return _Fact(head, leaf.key, (), _cut(repr(leaf.in_signature(()))), kind)
    try:
        text = repr(value)
    except Exception:  # of a class that the user derived from a number's, say
        text = f"<{kind}>"
    number = isinstance(value, numbers.Number) and not isinstance(value, bool)
    return _Fact("number" if number else "value", leaf.key, (), _cut(text), kind)


def _walk(structure, path):
    """(path, part) of the structure, and of each list, tuple, dict and leaf in it, in nest's order."""
    yield path, structure
    if not nest.is_nested(structure):
        return
    names = getattr(structure, "_fields", None)
    children = nest._children(structure)
    attributes = getattr(type(structure), "__attrs_attrs__", None)
    if attributes is not None and len(attributes) == len(children):
        names = [each.name for each in attributes]
        steps = range(len(children))
    else:
        steps = nest._sorted_keys(structure) if isinstance(structure, dict) else range(len(children))
    for step, child in zip(steps, children):
        yield from _walk(child, f"{path}.{names[step]}" if names else f"{path}[{_cut(repr(step))}]")


def _named(arguments, parameters):
    """(name, value) of each argument."""
    args, kwargs = arguments.structure
    positional = [(parameters[place] if place < len(parameters) else f"arg{place}", value) for place, value in enumerate(args)]
    return positional + [(name, kwargs[name]) for name in nest._sorted_keys(kwargs)]


def _facts_of(arguments, parameters):
    """A _Fact for each path in the arguments."""
    leaves, facts = iter(arguments.leaves), {}
    for name, argument in _named(arguments, parameters):
        for path, part in _walk(argument, name):
            kind = type(part).__name__
            facts[path] = _Fact("container", kind, (), kind, kind) if nest.is_nested(part) else _fact(next(leaves), part)
    return facts


def _signature_of(name, arguments, parameters):
    """step(x: float32 (3,), k=2)"""
    leaves = iter(arguments.leaves)

    def shown(value):
        if not nest.is_nested(value):
            return _fact(next(leaves), value).text
        if isinstance(value, dict):
            return "{" + ", ".join(f"{_cut(repr(key))}: {shown(value[key])}" for key in nest._sorted_keys(value)) + "}"
        children = nest._children(value)
        inside = ", ".join(map(shown, children))
        if not isinstance(value, (list, tuple)):
            return f"{type(value).__name__}({inside})"
        return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' if len(children) == 1 else ''})"

    parts = []
    for argument, value in _named(arguments, parameters):
        typed = nest.is_nested(value) or hasattr(type(value), "dtype")
        parts.append(f"{argument}: {shown(value)}" if typed else f"{argument}={shown(value)}")
    return _cut(f"{name}({', '.join(parts)})", _SIGNATURE_LETTERS)


def _differences(before, now):
    """(cause, argument, sentence) of each. Of a list that is another one, not what is inside."""
    found, others = [], []

    def is_inside(path):
        return any(path.startswith((other + "[", other + ".")) for other in others)

    for path, fact in now.items():
        known = before.get(path)
        if is_inside(path) or (known is not None and known.key == fact.key and known.form == fact.form):
            continue
        if known is None:
            found.append(("structure", path, f"argument {path} is new: {fact.text}"))
        else:
            found += [(cause, path, f"argument {path}: {text}") for cause, text in _difference(known, fact)]
        if known is None or "container" in (known.form, fact.form):
            others.append(path)
    for path, fact in before.items():
        if path not in now and not is_inside(path):
            found.append(("structure", path, f"argument {path} is not there: it was {fact.text}"))
            others.append(path)
    return found


def _difference(before, now):
    """(cause, text) of each thing that differs in one leaf."""
    became = f"{before.text} became {now.text}"
    if before.form != now.form or now.form == "container":
        return [("structure", became)]
    if now.tensors:
        if len(before.tensors) != len(now.tensors):
            return [("structure", became)]
        found = []
        for (dtype, shape), (new_dtype, new_shape) in zip(before.tensors, now.tensors):
            found += [] if shape == new_shape else [("shape", f"shape {shape} became {new_shape}")]
            found += [] if dtype == new_dtype else [("dtype", f"dtype {dtype} became {new_dtype}")]
        return found or [("structure", became)]
    if now.form == "number":
        return [("number", became + " (Python number: pass a tensor)")]
    if now.form == "variable":
        return [("object", f"another variable: {became}")]
    if now.form == "object":
        return [("object", f"another instance of {now.kind}" if before.kind == now.kind else became)]
    return [("value", became)]
