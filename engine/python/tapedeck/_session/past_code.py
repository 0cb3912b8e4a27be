"""Code that the user evaluates about a moment of the past.

Its names have what they had then. What it reaches from an object that is only known as it is now, `net.layers[0].kernel`, is
followed step by step: a variable on the way is taken as it was at the moment, all else is of now, and the answer says so.
"""
import ast
import builtins
import sys
import types

import numpy as np

from tapedeck import _engine
from tapedeck._session import frames as session_frames
from tapedeck._session.past_variable import past_variable, PastVariable
from tapedeck._session.values import is_a

MOST_TEXT = 60  # characters of the code that an answer names
HELPER = "__tapedeck_past__"

_CODE = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type, type(np.add))


class PastCode:
    """One evaluation: the code, with what its names had."""

    def __init__(self, tree, past):
        """LookupError where what a name had is not known."""
        self._past = past
        # What the code makes itself is none of these; held, so that nothing new is at the place of one that goes.
        self._living = {id(variable): variable for variable, _ in _engine._living_variables()}
        self._variables = {}  # as they were, by the id of their value
        self._through = {}  # chains that a variable was found on, by number
        self._of_now, self._earlier, self._at_moment = {}, [], False  # for the text: names and chains of now as keys
        self._function, self._unknown = past.unknown_locals()
        self._globals = []  # names that locals of that function have, too
        self._now = set()  # names of the program's own that are only known as they are now
        self.names = {}
        for name in dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name)):
            if past.knows(name):
                self._add(name, past.find(name))
        for node in ast.walk(tree):
            self._refuse_change_of_now(node)
        self.tree = ast.fix_missing_locations(_Rewriter().visit(tree))
        self.names[HELPER] = self

    def _add(self, name, found):
        if found.source == "gone":
            raise LookupError(f"of {name} only its type and shape are known at op {self._past.moment:,}")
        if name in self._unknown:
            self._globals.append(name)
        if found.source == "now":
            if not is_of_library(found.value):
                self._now.add(name)
        elif found.source == "note":
            self._earlier.append(name)
        else:
            self._at_moment = True
        self.names[name] = self._variable(found, name) if found.entry and found.entry.kind == "variable" else found.get()
        if found.entry and found.entry.kind == "plain" and type(found.value) in (list, dict, set):
            self.names[name] = type(found.value)(found.value)  # the note's own stays as it is

    def _variable(self, found, text):
        made = self._variables.get(found.tensor)
        if made is None:
            made = self._variables[found.tensor] = past_variable(found.get(), found.entry, text, self._past.moment)
        return made

    def _refuse_change_of_now(self, node):
        if not isinstance(node, (ast.Attribute, ast.Subscript)) or isinstance(node.ctx, ast.Load):
            return
        root = root_of(node)
        if root in self._now:
            raise TypeError(f"{ast.unparse(node)}: {root} is known as it is now only, and from the past nothing of it is changed: "
                            "Alt+End goes to the newest op")

    def seen(self, value, chain, text):
        """What the code goes on with where it came to this value."""
        if is_a(value, PastVariable):
            self._through[chain] = True
            return value
        if not is_a(value, _engine.Variable) or id(value) not in self._living:
            return value
        found = self._past.now(value, text)
        self._at_moment = self._through[chain] = True
        return self._variable(found, text)

    def end(self, value, chain, text, root):
        """The value of a whole chain, or of a name alone."""
        through = self._through.pop(chain, False)
        if root in self._now and not through and (text != root or not is_a(value, (type, types.ModuleType))):
            self._of_now[text] = None
        return value

    def changed(self):
        """Whether the code has put other values into the variables that it was given."""
        return any(variable.is_changed() for variable in self._variables.values())

    def forget(self):
        """The variables go with the evaluation, and not when Python next collects what refers to itself."""
        self.names.pop(HELPER, None)
        self._variables.clear()
        self._living.clear()

    def text(self):
        """Which moment the answer is of, in words."""
        text = self._moments()
        if self._globals:
            text += f"; {', '.join(self._globals)} of the globals, as the locals of {self._function} are not known"
        return text

    def _moments(self):
        if self._of_now and not self._earlier and not self._at_moment:
            return "now"
        text = f"at op {self._past.moment:,}"
        if self._earlier:
            text += f"; {', '.join(self._earlier)} as of {self._past.note.text()}"
        if self._of_now:
            text += f"; {', '.join(self._of_now)} as now"
        return text


class _Rewriter(ast.NodeTransformer):
    """Puts PastCode.seen() around each step of a chain, and PastCode.end() around the whole."""

    def __init__(self):
        self._chains = 0

    def _called(self, method, node, *arguments):
        function = ast.Attribute(ast.Name(HELPER, ast.Load()), method, ast.Load())
        return ast.copy_location(ast.Call(function, [node, *map(ast.Constant, arguments)], []), node)

    def _chain(self, node):
        if not isinstance(node.ctx, ast.Load):
            return self.generic_visit(node)
        self._chains += 1
        chain, text, root = self._chains, short(node), root_of(node)
        return self._called("end", self._step(node, chain), chain, text, root)

    visit_Name = visit_Attribute = visit_Subscript = _chain

    def _step(self, node, chain):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return self.visit(node)
        text = short(node)
        if not isinstance(node, ast.Name):
            node.value = self._step(node.value, chain)
        if isinstance(node, ast.Subscript):
            node.slice = self.visit(node.slice)
        return self._called("seen", node, chain, text)

    def visit_match_case(self, node):
        node.guard = node.guard and self.visit(node.guard)  # a pattern is no expression
        node.body = [self.visit(statement) for statement in node.body]
        return node

    def visit_Call(self, node):
        text = short(node)
        return self._called("seen", self.generic_visit(node), 0, text)


def short(node):
    text = ast.unparse(node)
    return text if len(text) <= MOST_TEXT else text[:MOST_TEXT - 1] + "…"


def root_of(node):
    """The name that a chain of attributes and items begins with; "": none."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_of_library(value):
    """Code that does not change with the program's variables, whose attributes do not either."""
    if is_a(value, types.FunctionType):
        return session_frames.is_library(value.__code__.co_filename)
    if is_a(value, type):
        value = sys.modules.get(getattr(value, "__module__", None), builtins)
    if is_a(value, types.ModuleType):
        file = getattr(value, "__file__", None)
        return file is None and value.__name__ != "__main__" or file is not None and session_frames.is_library(file)
    return is_a(value, _CODE)
