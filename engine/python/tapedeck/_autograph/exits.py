"""Writes break, continue and return as flags: only then is a branch or a loop something that runs from its begin to its end.

    if a:                      if a:
        return 1                   ag__value = 1
    b()                 →          ag__return = True
    return 2                   else:
                                   b()
                                   ag__value = 2
                                   ag__return = True
                               return ag__value
"""
import ast

from tapedeck._autograph.syntax import FUNCTIONS, statements, within

RETURN, VALUE = "ag__return", "ag__value"
_LOOPS = (ast.For, ast.While)
_SCOPES = (*FUNCTIONS, ast.ClassDef)


class Unconvertible(Exception):
    """Why a function stays as it is."""


def _exits(node):
    """{"return", "break", "continue"}: how the statement may leave the block that it is in."""
    if isinstance(node, ast.Return):
        return {"return"}
    if isinstance(node, (ast.Break, ast.Continue)):
        return {"break" if isinstance(node, ast.Break) else "continue"}
    if isinstance(node, _SCOPES):
        return set()
    inner = set()
    for name, field in ast.iter_fields(node):
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                inner |= _exits(child) & ({"return"} if isinstance(node, _LOOPS) and name == "body" else {"return", "break", "continue"})
    return inner


def ends(block):
    """Whether no run of the block comes to its end."""
    return any(map(_ends, block))


def _ends(node):
    if isinstance(node, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
        return True
    if isinstance(node, ast.If):
        return ends(node.body) and ends(node.orelse)
    if isinstance(node, ast.Try):
        normal = ends(node.body) or ends(node.orelse)
        return ends(node.finalbody) or normal and all(ends(handler.body) for handler in node.handlers)
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and node.test.value:
        return not any("break" in _exits(each) for each in node.body)
    return False  # of `with` too: a context may swallow what is raised


def _assigned(name, value, at):
    return statements(f"{name} = ag__new", at, ag__new=ast.copy_location(ast.Constant(value), at))


class _Lowering:
    def __init__(self):
        self._loops = 0

    def block(self, block, flags):
        """The statements without exits. flags: the names of the innermost loop's for break and continue."""
        made = []
        for number, node in enumerate(block):
            exits, rest, node_ends = _exits(node), block[number + 1:], _ends(node)  # before lowering changes the node
            if isinstance(node, ast.Return):
                value = node.value or ast.copy_location(ast.Constant(None), node)
                return made + statements(f"{VALUE} = ag__new\n{RETURN} = True", node, ag__new=value)
            if isinstance(node, (ast.Break, ast.Continue)):
                return made + _assigned(flags["break" if isinstance(node, ast.Break) else "continue"], True, node)
            if isinstance(node, ast.If) and exits and rest and (ends(node.body) or ends(node.orelse)):
                made.append(self._with_rest(node, rest, flags))
                return made
            made += self._statement(node, flags)
            if exits and rest and not node_ends:
                made.append(self._unless({**flags, "return": RETURN}, exits, self.block(rest, flags), node))
                return made
            if exits and node_ends:
                return made
        return made

    def _with_rest(self, node, rest, flags):
        """What follows an `if` one of whose branches ends belongs to the other branch."""
        body, orelse = node.body, node.orelse
        if not ends(body):
            body = body + rest
        elif not ends(orelse):
            orelse = orelse + rest
        return ast.copy_location(ast.If(node.test, self.block(body, flags), self.block(orelse, flags)), node)

    @staticmethod
    def _unless(flags, exits, block, at):
        names = sorted(flags[each] for each in exits)
        at = getattr(at, "test", None) or getattr(at, "iter", None) or at
        return statements(f"if not ag__.either({', '.join(names)}):\n    ag__block", at, ag__block=block)[0]

    def _statement(self, node, flags):
        if isinstance(node, _LOOPS):
            return self._loop(node, flags)
        if isinstance(node, _SCOPES):
            return [node]
        if isinstance(node, ast.Try):
            if any(map(_exits, node.finalbody)):
                raise Unconvertible(f"line {node.finalbody[0].lineno}: a finally that leaves by return, break or continue")
            left = set().union(*map(_exits, node.body))
            orelse = self.block(node.orelse, flags)
            if left and orelse:  # what leaves the body passes over the else
                orelse = [self._unless({**flags, "return": RETURN}, left, orelse, node)]
            node.body, node.orelse = self.block(node.body, flags), orelse
            for handler in node.handlers:
                handler.body = self.block(handler.body, flags)
            node.finalbody = self.block(node.finalbody, flags)
            return [node]
        for case in getattr(node, "cases", ()):
            case.body = self.block(case.body, flags)
        for field in ("body", "orelse"):
            if isinstance(getattr(node, field, None), list):
                setattr(node, field, self.block(getattr(node, field), flags))
        return [node]

    def _loop(self, node, flags):
        self._loops += 1
        own = {"break": f"ag__break_{self._loops}", "continue": f"ag__continue_{self._loops}"}
        within_body = set().union(*map(_exits, node.body))
        body, before, after = self.block(node.body, own), [], []
        at = node.test if isinstance(node, ast.While) else node.iter
        if "continue" in within_body:
            body = _assigned(own["continue"], False, at) + body
        if "break" in within_body:
            before = _assigned(own["break"], False, at)
        stops = {**own, "return": RETURN}
        node.ag_stops = sorted(stops[each] for each in within_body & {"break", "return"})
        if node.orelse:
            after = self.block(node.orelse, flags)
            if node.ag_stops:
                after = [self._unless(stops, within_body & {"break", "return"}, after, node)]
        node.body, node.orelse = body, []
        return [*before, node, *after]


def lower(block):
    """The statements of a function without exits but, where it returns something, one return at the end."""
    returns = [each for node in block if not isinstance(node, _SCOPES) for each in within(node, ast.Return, _SCOPES)]
    last = block[-1]
    if isinstance(last, ast.Return) and returns == [last]:
        return [*_Lowering().block(block[:-1], {}), last]
    always_returns = ends(block)
    lowered = _Lowering().block(block, {})
    if not returns:
        return lowered
    first, final = returns[0], max(returns, key=lambda each: each.lineno)
    begin = statements(f"{RETURN} = False\n{VALUE} = ag__.Undefined('{VALUE}')", block[0])
    result = VALUE if always_returns else f"ag__.returned({RETURN}, {VALUE}, {first.lineno})"
    return [*begin, *lowered, *statements(f"return {result}", final)]
