"""Turns branches and loops into calls of operators.py with functions for their parts.

    if x > 0:            def ag__body(): nonlocal y; y = x        (and ag__orelse)
        y = x      →     def ag__get(): return (ag__.value_of(lambda: y, "y"),)
                         def ag__set(ag__values): nonlocal y; …
                         ag__.if_stmt(x > 0, ag__body, ag__orelse, ag__get, ag__set, …)

Names stay the function's own cells, so closures and nonlocal mean what they meant. A name without a value is a cell without one.
"""
import ast
import copy
import itertools

from tapedeck._autograph import exits
from tapedeck._autograph.expressions import Expressions
from tapedeck._autograph.names import Liveness, parameters, uses_of
from tapedeck._autograph.syntax import expression, statements, text, within

_GENERATORS = (ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFor, ast.AsyncWith)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_READS_FRAME = {"dir", "eval", "exec", "locals", "vars"}


def why_not(node):
    """Why a function stays as it is; None where it can be converted."""
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is a coroutine"
    for each in node.body if isinstance(node.body, list) else [node.body]:
        if isinstance(each, _SCOPES):
            continue
        if within(each, _GENERATORS, _SCOPES):
            return "it is a generator"
        for call in within(each, ast.Call, _SCOPES):
            if isinstance(call.func, ast.Name) and call.func.id in _READS_FRAME and not (call.func.id in ("dir", "vars") and call.args):
                return f"line {call.lineno}: {call.func.id}() sees the names of its function"
        if isinstance(each, ast.stmt):
            for group in within(each, getattr(ast, "TryStar", ()), _SCOPES):
                if exits._exits(group):
                    return f"line {group.lineno}: except* in a block that is left"
    return None


class Converter(Expressions, ast.NodeTransformer):
    """Converts the nodes of a function in place. shadowed: names that are no builtins in the function's module."""

    def __init__(self, shadowed):
        self.shadowed, self.first_parameter = set(shadowed), None
        self._numbers, self._kinds, self._lists = itertools.count(1), {}, set()
        self._bound_inside = set()

    # ---- functions

    def function(self, node):
        """A FunctionDef; its defaults and decorators are the caller's part."""
        arguments = parameters(node.args)
        given = {each.arg for each in arguments}
        uses = uses_of(node.body)
        outer = self.shadowed, self.first_parameter, self._kinds, self._lists, self._bound_inside
        self.shadowed = self.shadowed | given | set(uses.bound)
        self.first_parameter = arguments[0].arg if node.args.posonlyargs or node.args.args else None
        self._kinds = dict(uses.declared)
        self._lists = set(uses.bound) - set(uses.declared) - given
        self._bound_inside = {name for name in _nonlocals(node.body) if name in given or name in uses.bound}
        document = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        simple = _Simple(self._lists)
        body = [simple.visit(each) for each in node.body[len(document):]]
        body = exits.lower(body) if body else []
        uses.bound.update(uses_of(body).bound)
        Liveness(body, uses.declared)
        declared = [f"{how} {', '.join(sorted(name for name, each in uses.declared.items() if each == how))}"
                    for how in sorted(set(uses.declared.values()))]
        own = sorted(set(uses.bound) - set(uses.declared) - given)
        if own:  # what is bound in the functions of branches alone is a name of this function all the same
            declared.append(f"if 0: {' = '.join(own)} = None")
        begin = statements("\n".join(declared), body[0]) if declared else []
        node.body = document + begin + self._block(body) or [ast.copy_location(ast.Pass(), node)]
        self.shadowed, self.first_parameter, self._kinds, self._lists, self._bound_inside = outer
        return node

    def visit_FunctionDef(self, node):
        node.args = self.visit(node.args)
        if why_not(node) or any(ast.unparse(each).endswith("do_not_convert") or "do_not_convert(" in ast.unparse(each)
                                for each in node.decorator_list):
            return node
        return self.function(node)

    def visit_AsyncFunctionDef(self, node):
        return node

    visit_ClassDef = visit_AsyncFunctionDef

    def visit_Global(self, node):
        return ast.copy_location(ast.Pass(), node)  # function() puts them first

    visit_Nonlocal = visit_Global

    def _block(self, block):
        made = []
        for each in block:
            result = self.visit(each)
            made += result if isinstance(result, list) else [result]
        return made

    # ---- branches and loops

    def visit_If(self, node):
        uses, plain = self._uses(node.body, node.orelse), self.is_plain(node.test)
        lines = _lines(uses_of(node.body), uses_of(node.orelse))
        node.test, node.body, node.orelse = self.visit(node.test), self._block(node.body), self._block(node.orelse)
        if plain:
            return node
        part = _Part(node.test, uses, self._kinds, next(self._numbers))
        part.define("body", node.body)
        if node.orelse:
            part.define("orelse", node.orelse)
        part.define_state([name for name in sorted(uses.bound) if name in node.ag_after], node.ag_after)
        return part.called("if_stmt(ag__test, {body}, {orelse}, {state}, ag__names, ag__lines)", lines, ag__test=node.test)

    def visit_While(self, node):
        uses = self._uses(node.test, node.body)
        plain = self.is_plain(node.test) and not node.ag_stops
        lines, options = _lines(uses, uses_of()), self._options(node)
        node.test, node.body = self.visit(node.test), self._block(node.body)
        if plain:
            return node
        part = _Part(node.test, uses, self._kinds, next(self._numbers))
        part.define("test", statements("return ag__test", node.test, ag__test=node.test))
        part.define("body", node.body)
        self._define_stop(part, node)
        part.define_state([name for name in sorted(uses.bound) if name in node.ag_header], node.ag_after)
        return part.called("while_stmt({test}, {body}, {stop}, {state}, ag__names, ag__lines, ag__options)", lines, ag__options=options)

    def visit_For(self, node):
        uses, own = self._uses(node.target, node.body), uses_of(node.target).bound
        plain = isinstance(node.iter, (ast.List, ast.Tuple, ast.Set, ast.Dict)) and not node.ag_stops
        lines, options = _lines(uses, uses_of()), self._options(node)
        appends = any(_is_append(each) for each in within(node, ast.Assign, _SCOPES))
        node.iter, node.target, node.body = self.visit(node.iter), self.visit(node.target), self._block(node.body)
        if plain:
            return node
        part = _Part(node.iter, uses, self._kinds, next(self._numbers))
        item = ast.copy_location(ast.Assign([node.target], expression("ag__item", node.target)), node.target)
        part.define("body", [item, *node.body], "ag__item")
        self._define_stop(part, node)
        part.define_state([name for name in sorted(uses.bound) if name in (node.ag_after if name in own else node.ag_header)],
                          node.ag_after)
        return part.called(f"for_stmt(ag__iter, {{body}}, {{stop}}, {{state}}, ag__names, ag__lines, ag__options, {appends})", lines,
                           ag__iter=node.iter, ag__options=options)

    def _uses(self, *code):
        """uses_of the code, with the names that functions inside may bind where it calls something."""
        uses = uses_of(*code)
        nodes = [node for part in code for node in (part if isinstance(part, list) else [part])]
        if self._bound_inside and any(within(node, ast.Call, _SCOPES) for node in nodes):
            for name in self._bound_inside:
                uses.bind(name, 0)
        return uses

    def _define_stop(self, part, node):
        """What says that break or return has left the loop."""
        if node.ag_stops:
            part.define("stop", statements(f"return ag__.either({', '.join(node.ag_stops)})", part.at), declares=False)

    def _options(self, node):
        """A lambda that gives what set_loop_options is called with in the loop's body; None where it is not called."""
        for each in node.body:
            call = each.value if isinstance(each, ast.Expr) else None
            if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == "set_loop_options" and not call.args:
                made = expression("lambda *ag__thunk: dict()", each)
                made.body.keywords = [ast.copy_location(ast.keyword(key.arg, copy.deepcopy(key.value)), key) for key in call.keywords]
                return made
        return expression("None", getattr(node, "test", None) or node.iter)

    # ---- simple statements

    def visit_Assert(self, node):
        plain = self.is_plain(node.test)
        node.test = self.visit(node.test)
        node.msg = node.msg and self.visit(node.msg)
        if not plain:
            message = "None" if node.msg is None else "lambda *ag__thunk: ag__message"
            node.test = expression(f"ag__.assert_stmt(ag__test, {message}, {node.lineno})", node.test, ag__test=node.test,
                                   ag__message=copy.deepcopy(node.msg))
        return node


class _Part:
    """The functions that a branch or loop becomes. at: what their place is; uses: the names of the code that moves into them; kinds:
    of names that the function declares global or nonlocal."""

    def __init__(self, at, uses, kinds, number):
        self.at, self._uses, self._number = at, uses, number
        self._made, self._names = {}, None
        by_kind = {}
        for name in sorted(uses.bound):
            by_kind.setdefault(kinds.get(name, "nonlocal"), []).append(name)
        self._declared = "".join(f"\n    {how} {', '.join(names)}" for how, names in by_kind.items())

    def define(self, kind, body, argument="", declares=True):
        (made,) = statements(f"def ag__{kind}_{self._number}({argument}):{self._declared if declares else ''}\n    ag__code", self.at,
                             ag__code=body)
        self._made[kind] = made

    def define_state(self, live, after):
        """ag__get and ag__set, for the values of: names that count behind, attributes and elements; names that do not count."""
        places = [place for place in sorted(self._uses.places) if not _parts(place) & set(self._uses.bound)]
        dead = [name for name in sorted(self._uses.bound) if name not in live]
        self._names = ((*live, *places), tuple(dead), tuple(name for name in live if name in after))
        values = "".join(f"ag__.value_of(lambda *ag__thunk: {name}, {name!r}), " for name in (*live, *places, *dead))
        lines = []
        for number, name in enumerate((*live, *places, *dead)):
            value = f"ag__values[{number}]"
            if name in places:
                lines += [f"if not isinstance({value}, ag__.Undefined):", f"    {name} = {value}", "else:", "    try:",
                          f"        del {name}", "    except ag__.NOT_THERE:", "        pass"]
            else:
                lines += [f"{name} = {value}", f"if isinstance({name}, ag__.Undefined):", f"    del {name}"]
        self.define("get", statements(f"return ({values})", self.at), declares=False)
        self.define("set", statements("\n".join(lines) or "pass", self.at), "ag__values")

    def called(self, call, lines, **parts):
        """The definitions, and behind them the operator's call."""
        named = {kind: self._made[kind].name if kind in self._made else "None" for kind in ("body", "orelse", "test", "stop")}
        state = f"{self._made['get'].name}, {self._made['set'].name}"
        parts |= {"ag__names": text(self._names, self.at), "ag__lines": text((self.at.lineno, lines), self.at)}
        return [*self._made.values(), *statements("ag__." + call.format(**named, state=state), self.at, **parts)]


def _nonlocals(body):
    """The names that functions inside declare nonlocal."""
    return {name for statement in body for each in within(statement, ast.Nonlocal) for name in each.names}


def _parts(place):
    """The names in an attribute's or element's text."""
    return {each.id for each in ast.walk(ast.parse(place)) if isinstance(each, ast.Name)}


def _is_append(node):
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func).startswith("ag__.list_append(")


def _lines(one, other):
    """((name, its last line in the one, in the other), …), 0 where it is not bound."""
    both = [{**each.bound, **each.places} for each in (one, other)]
    return tuple((name, both[0].get(name, 0), both[1].get(name, 0)) for name in sorted({**both[0], **both[1]}))


class _Simple(ast.NodeTransformer):
    """Statements that mean the same in another form. lists: the names that are the function's own."""

    def __init__(self, lists):
        self._lists = lists

    def visit_AnnAssign(self, node):
        """A name that the functions of a branch share cannot be annotated there."""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Expr(self, node):
        """items.append(x) may make another list of a list in a loop of a graph: it becomes an assignment."""
        call = node.value
        if (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
                and isinstance(call.func.value, ast.Name) and call.func.value.id in self._lists and len(call.args) == 1
                and not call.keywords and not isinstance(call.args[0], ast.Starred)):
            name = call.func.value.id
            return statements(f"{name} = ag__.list_append({name})(ag__new)", node, ag__new=call.args[0])[0]
        return node

    def visit_FunctionDef(self, node):
        return node

    visit_AsyncFunctionDef = visit_Lambda = visit_ClassDef = visit_FunctionDef
