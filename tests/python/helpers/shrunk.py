"""Makes a program that fails small."""
import ast


def _nodes(tree):
    return list(ast.walk(tree))


def _statements(tree):
    """(number of the node in ast.walk, field, place in it) of each statement, the largest first."""
    found = []
    for number, node in enumerate(_nodes(tree)):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                found += [(len(_nodes(each)), number, field, place) for place, each in enumerate(value) if isinstance(each, ast.stmt)]
    return [place[1:] for place in sorted(found, key=lambda each: -each[0])]


def _without(tree, number, field, place):
    block = getattr(_nodes(tree)[number], field)
    del block[place]
    if not block and field == "body":
        block.append(ast.Pass())


def _opened(part):
    def opened(tree, number, field, place):
        block = getattr(_nodes(tree)[number], field)
        if not isinstance(block[place], (ast.If, ast.For, ast.While, ast.With, ast.Try)):
            raise ValueError("no block")
        block[place:place + 1] = getattr(block[place], part)
        if not block and field == "body":
            block.append(ast.Pass())
    return opened


def _expressions(tree):
    """(number of the node, field, place in it or None, number of a node below) of each expression that may take the place of another."""
    found = []
    for number, node in enumerate(_nodes(tree)):
        for field, value in ast.iter_fields(node):
            for place, each in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(each, ast.expr) and not isinstance(each, (ast.Name, ast.Constant)):
                    inner = [(below, child) for below, child in enumerate(_nodes(each))
                             if below and isinstance(child, (ast.Name, ast.Call, ast.BinOp, ast.Compare, ast.Constant))]
                    found += [(len(_nodes(each)), number, field, place if isinstance(value, list) else None, below)
                              for below, _ in inner[:8]]
    return [place[1:] for place in sorted(found, key=lambda each: -each[0])]


def _replaced(tree, number, field, place, below):
    node = _nodes(tree)[number]
    value = getattr(node, field)
    new = _nodes(value if place is None else value[place])[below]
    if place is None:
        setattr(node, field, new)
    else:
        value[place] = new


_STEPS = [(_statements, _without), (_statements, _opened("body")), (_statements, _opened("orelse")), (_expressions, _replaced)]


def shrunk(source, fails, most=600):
    """The source of a smaller program for which fails(source) holds, after at most so many trials."""
    trials, before = 0, None
    while before != source:
        before = source
        for places, change in _STEPS:
            at = 0
            while at < len(found := places(ast.parse(source))):
                tree = ast.parse(source)
                try:
                    change(tree, *found[at])
                    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                    compile(text, "variant", "exec")
                except (SyntaxError, ValueError, AttributeError, TypeError, IndexError):
                    text = source
                at += 1
                if len(text) >= len(source):
                    continue
                trials += 1
                if fails(text):
                    source, at = text, at - 1
                elif trials >= most:
                    return source
    return source
