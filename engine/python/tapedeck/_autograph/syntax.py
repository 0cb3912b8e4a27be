"""Pieces of syntax trees that have the place of the user's code that they come from."""
import ast

OPERATORS = "ag__"  # where converted code finds operators.py; all names that the conversion makes begin so
THUNK = "ag__thunk"  # the parameter of lambdas that the conversion makes

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class _Filled(ast.NodeTransformer):
    def __init__(self, at, parts):
        self._at, self._parts = at, parts

    def visit(self, node):
        if isinstance(node, ast.Name) and node.id in self._parts:
            return self._parts[node.id]
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name) and isinstance(self._parts.get(node.value.id), list):
            return self._parts[node.value.id]
        if "lineno" in node._attributes:
            ast.copy_location(node, self._at)
        return self.generic_visit(node)


def statements(text, at, **parts):
    """The statements of the text. A name that is among the parts is the place of that expression, or, where it is a statement, of
    that list of statements. What is new has the place of `at`."""
    filled = _Filled(at, parts)
    made = []
    for statement in ast.parse(text).body:
        result = filled.visit(statement)
        made += result if isinstance(result, list) else [result]
    return made


def expression(text, at, **parts):
    """The expression of the text, as statements() has it."""
    return statements(text, at, **parts)[0].value


def thunk(value):
    """A lambda that the expression is the body of: it is evaluated when the operator asks for it."""
    return expression(f"lambda *{THUNK}: ag__value", value, ag__value=value)


def text(value, at):
    """A constant."""
    return ast.copy_location(ast.Constant(value), at)


def within(node, kinds, not_into=()):
    """The nodes of those kinds below this one (and itself), without those in nodes of `not_into` further down."""
    found, waiting = [], [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, kinds):
            found.append(each)
        if each is node or not isinstance(each, not_into):
            waiting += ast.iter_child_nodes(each)
    return found
