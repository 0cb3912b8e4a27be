"""Expressions of converted code: operators.py decides at run time what depends on a tensor."""
import ast
import builtins

from tapedeck._autograph.syntax import FUNCTIONS, expression, text, thunk, within

_PLAIN_TESTS = (ast.Is, ast.IsNot, ast.In, ast.NotIn)
_PLAIN_CALLS = ("callable", "hasattr", "isinstance", "issubclass")
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is",
                ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"}


def _binds(*nodes):
    """Whether := or await is in the expressions: a lambda around them would change what they mean."""
    return any(within(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom), FUNCTIONS) for node in nodes)


class Expressions:
    """A part of the transformer (statements.py). self.first_parameter: of the function around, for super(); self.shadowed: names
    that may be no builtins."""

    def is_plain(self, node):
        """Whether the value is a bool of Python's whatever the tensors are."""
        if isinstance(node, ast.Constant):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.is_plain(node.operand)
        if isinstance(node, ast.BoolOp):
            return all(map(self.is_plain, node.values))
        if isinstance(node, ast.Compare):
            return len(node.ops) == 1 and isinstance(node.ops[0], _PLAIN_TESTS)
        return (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _PLAIN_CALLS
                and node.func.id not in self.shadowed)

    def visit_BoolOp(self, node):
        plain = self.is_plain(node) or _binds(*node.values[1:])
        self.generic_visit(node)
        if plain:
            return node
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        call = expression(f"ag__.{name}(ag__first)", node, ag__first=node.values[0])
        call.args += map(thunk, node.values[1:])
        return call

    def visit_UnaryOp(self, node):
        plain = self.is_plain(node) or not isinstance(node.op, ast.Not)
        self.generic_visit(node)
        return node if plain else expression("ag__.not_(ag__operand)", node, ag__operand=node.operand)

    def visit_IfExp(self, node):
        plain = self.is_plain(node.test) or _binds(node.body, node.orelse)
        self.generic_visit(node)
        if plain:
            return node
        return expression("ag__.if_exp(ag__test, ag__true, ag__false, ag__line)", node, ag__test=node.test,
                          ag__true=thunk(node.body), ag__false=thunk(node.orelse), ag__line=text(node.lineno, node))

    def visit_Compare(self, node):
        chained = len(node.ops) > 1 and not _binds(*node.comparators)
        self.generic_visit(node)
        if not chained:
            return node
        call = expression("ag__.compare(ag__left)", node, ag__left=node.left)
        for operator, value in zip(node.ops, node.comparators):
            call.args += [text(_COMPARISONS[type(operator)], value), thunk(value)]
        return call

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args and not node.keywords:
            if self.first_parameter and "super" not in self.shadowed:  # it would look for them in the wrong frame
                node.args = [expression("__class__", node), expression(self.first_parameter, node)]
            return node
        plain = self.is_plain(node) or ast.unparse(node.func).startswith("ag__.")
        self.generic_visit(node)
        if not plain:
            node.func = expression("ag__.callee(ag__function)", node.func, ag__function=node.func)
        return node

    def visit_Lambda(self, node):
        if within(node, (ast.Yield, ast.YieldFrom), ast.Lambda):
            return node
        node.args = self.visit(node.args)
        node.body = self.visit(node.body)
        return node


def shadows(global_names):
    """The builtins that conversion knows by name and that the module has under another meaning."""
    return {name for name in (*_PLAIN_CALLS, "super") if name in global_names or not hasattr(builtins, name)}
