"""Model.summary(): the layers, what they give and how many parameters they have, as a table of text."""
import math
import shutil
import sys

from tapedeck._core import nest
from tapedeck.keras.models.symbolic import nodes_of


def count(variables):
    """How many numbers the variables hold."""
    return sum(math.prod(variable.shape) for variable in variables)


def _bytes(variables):
    size = float(sum(math.prod(variable.shape) * variable.dtype.size for variable in variables))
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if size < 1024 or unit == "TB":
            return f"{size:.2f} {unit}"
        size /= 1024


def _shape_text(shapes):
    """A shape, or shapes, as they are written in the table."""
    if shapes is None:
        return "?"
    if isinstance(shapes, (list, tuple)) and not hasattr(shapes, "as_list"):
        return "[" + ", ".join(map(_shape_text, shapes)) + "]"
    if isinstance(shapes, dict):
        return "{" + ", ".join(f"{name}: {_shape_text(each)}" for name, each in shapes.items()) + "}"
    return str(shapes)


def _wrapped(text, width):
    """The text in lines that fit, broken after commas and blanks where there are any."""
    lines = []
    for line in text.split("\n"):
        while len(line) > width:
            cut = max(line.rfind(" ", 0, width + 1), line.rfind(",", 0, width) + 1)
            cut = cut if cut > 0 else width
            lines.append(line[:cut].rstrip())
            line = line[cut:].lstrip()
        lines.append(line)
    return lines


def _table(heads, rows, widths, right):
    def rule(left, cross, end, dash):
        return left + cross.join(dash * (width + 2) for width in widths) + end

    def cells(values, bar):
        columns = [_wrapped(value, width) for value, width in zip(values, widths)]
        for line in range(max(map(len, columns))):
            parts = []
            for number, (column, width) in enumerate(zip(columns, widths)):
                text = column[line] if line < len(column) else ""
                parts.append(f" {text:>{width}} " if number in right else f" {text:<{width}} ")
            yield bar + bar.join(parts) + bar

    yield rule("┏", "┳", "┓", "━")
    yield from cells(heads, "┃")
    yield rule("┡", "╇", "┩", "━")
    for number, row in enumerate(rows):
        if number:
            yield rule("├", "┼", "┤", "─")
        yield from cells(row, "│")
    yield rule("└", "┴", "┘", "─")


def _widths(heads, rows, length, positions, right):
    """The columns' widths without their margins, for a table of that many letters."""
    room = length - 1
    if positions:
        if len(positions) != len(heads):
            raise ValueError(f"summary: positions has {len(positions)} numbers; the table has {len(heads)} columns")
        ends = [int(each * room) if each <= 1 else int(each) for each in positions]
        return [max(end - start - 3, 4) for start, end in zip([0] + ends, ends)]
    wanted = [max(max(map(len, cell.split("\n"))) for cell in column) for column in zip(heads, *rows)]
    free = room - 3 * len(heads)
    over = sum(wanted) - free
    while over > 0:
        widest = max((number for number in range(len(wanted)) if number not in right), key=lambda number: wanted[number])
        if wanted[widest] <= 8:
            break
        wanted[widest] -= 1
        over -= 1
    return wanted


def _terminal():
    return min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 100


def _rows(model, shapes, options, depth, rows):
    layers, graph = model.layers, model._graph
    for number, layer in enumerate(layers):
        prefix = ""
        if depth:
            prefix = "  " * (depth - 1) + ("└ " if number == len(layers) - 1 else "├ ")
        row = [f"{prefix}{layer.name} ({type(layer).__name__})", _shape_text(shapes.get(id(layer))), _parameters(layer)]
        if options["connected"]:
            row.append(_connections(layer, graph))
        if options["show_trainable"]:
            row.append("Y" if layer.trainable and layer.trainable_weights else "N" if layer.weights else "-")
        rows.append(row)
        if options["expand_nested"] and hasattr(layer, "_graph") and layer.layers:
            _rows(layer, {**shapes, **layer._output_shapes()}, options, depth + 1, rows)


def _parameters(layer):
    if not layer.built and not layer.weights:
        return "0 (unbuilt)"
    return f"{count(layer.weights):,}"


def _connections(layer, graph):
    if graph is None:
        return "-"
    sources = []
    for node in graph.nodes:
        if node.layer is layer:
            for symbol in node.inputs:
                sources.append(f"{symbol.node.layer.name}[{_number_of(symbol.node)}][{symbol._place}]")
    return ",\n".join(sources) or "-"


def _number_of(node):
    return next((number for number, each in enumerate(nodes_of(node.layer)) if each is node), 0)


def _is_chain(graph):
    return graph is None or all(len(node.inputs) <= 1 for node in graph.nodes) and \
        len({id(symbol) for node in graph.nodes for symbol in node.inputs}) == sum(len(node.inputs) for node in graph.nodes)


def summary_lines(model, line_length=None, positions=None, expand_nested=False, show_trainable=False, layer_range=None):
    """The lines of the table and those below it."""
    options = {"connected": not _is_chain(model._graph), "show_trainable": show_trainable, "expand_nested": expand_nested}
    heads = ["Layer (type)", "Output Shape", "Param #"]
    heads += ["Connected to"] if options["connected"] else []
    heads += ["Trai…"] if show_trainable else []
    rows = []
    _rows(model, model._output_shapes(), options, 0, rows)
    if layer_range is not None:
        rows = _in_range(rows, layer_range)
    yield f'Model: "{model.name}"'
    right = (2,)
    yield from _table(heads, rows, _widths(heads, rows, line_length or _terminal(), positions, right), right)
    weights, trained = nest.flatten(list(model.weights)), list(model.trainable_weights)
    others = list(model.non_trainable_weights)
    optimizer = getattr(model, "optimizer", None)
    slots = getattr(optimizer, "variables", ())
    slots = list(slots() if callable(slots) else slots)
    yield f" Total params: {count(weights + slots):,} ({_bytes(weights + slots)})"
    yield f" Trainable params: {count(trained):,} ({_bytes(trained)})"
    yield f" Non-trainable params: {count(others):,} ({_bytes(others)})"
    if slots:
        yield f" Optimizer params: {count(slots):,} ({_bytes(slots)})"


def _in_range(rows, layer_range):
    names = [row[0].rpartition(" (")[0] for row in rows]
    if len(layer_range) != 2 or not all(each in names for each in layer_range):
        raise ValueError(f"summary: layer_range is {layer_range!r}; needs the names of two of the layers {names}")
    return rows[names.index(layer_range[0]):names.index(layer_range[1]) + 1]
