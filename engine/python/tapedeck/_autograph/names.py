"""Which names code binds and reads, and which of them are read later."""
import ast
import dataclasses


@dataclasses.dataclass
class Uses:
    """The names of one scope in a piece of code."""
    bound: dict = dataclasses.field(default_factory=dict)  # a name, and the line of its last binding
    read: set = dataclasses.field(default_factory=set)
    captured: set = dataclasses.field(default_factory=set)  # read or bound by functions inside, whenever they are called
    declared: dict = dataclasses.field(default_factory=dict)  # "global" or "nonlocal"
    places: dict = dataclasses.field(default_factory=dict)  # attributes and elements that are assigned: text, and line

    def bind(self, name, line):
        self.bound[name] = max(line, self.bound.get(name, 0))


class _Visitor(ast.NodeVisitor):
    def __init__(self):
        self.uses = Uses()

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.uses.read.add(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.uses.bind(node.id, node.lineno)
        else:
            self.uses.bind(node.id, node.lineno)
            self.uses.read.add(node.id)

    def visit_AugAssign(self, node):
        if isinstance(node.target, ast.Name):
            self.uses.read.add(node.target.id)
        self.generic_visit(node)

    def _place(self, node):
        if not isinstance(node.ctx, ast.Load) and _is_place(node):
            self.uses.places[ast.unparse(node)] = node.lineno
        self.generic_visit(node)

    visit_Attribute = visit_Subscript = _place

    def _function(self, node):
        arguments = node.args
        for each in (*arguments.defaults, *arguments.kw_defaults, *getattr(node, "decorator_list", ())):
            if each is not None:
                self.visit(each)
        if not isinstance(node, ast.Lambda):
            self.uses.bind(node.name, node.lineno)
        inner = uses_of(node.body)
        own = set(inner.bound) - set(inner.declared) | {each.arg for each in parameters(arguments)}
        self.uses.captured |= (inner.read | inner.captured | {name for name, how in inner.declared.items() if how == "nonlocal"}) - own

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _function

    def _comprehension(self, node):
        inner = _Visitor()
        for part in ast.iter_child_nodes(node):
            inner.visit(part)
        targets = {name.id for each in node.generators for name in ast.walk(each.target) if isinstance(name, ast.Name)}
        self.uses.read |= inner.uses.read - targets
        self.uses.captured |= inner.uses.captured - targets
        for name, line in inner.uses.bound.items():
            if name not in targets:  # by := , which binds outside
                self.uses.bind(name, line)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_ClassDef(self, node):
        self.uses.bind(node.name, node.lineno)
        for each in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(each)
        inner = uses_of(node.body)
        self.uses.read |= inner.read
        self.uses.captured |= inner.captured

    def _import(self, node):
        for alias in node.names:
            self.uses.bind(alias.asname or alias.name.partition(".")[0], node.lineno)

    visit_Import = visit_ImportFrom = _import

    def visit_ExceptHandler(self, node):
        if node.name:
            self.uses.bind(node.name, node.lineno)
        self.generic_visit(node)

    def _match(self, node):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if name:
            self.uses.bind(name, node.lineno)
        self.generic_visit(node)

    visit_MatchAs = visit_MatchStar = visit_MatchMapping = _match

    def visit_Global(self, node):
        self.uses.declared.update(dict.fromkeys(node.names, "global"))

    def visit_Nonlocal(self, node):
        self.uses.declared.update(dict.fromkeys(node.names, "nonlocal"))


def _is_place(node):
    """Whether reading the attribute or element twice gives the same: names, attributes, elements of constants and names alone."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, (ast.Constant, ast.Name)):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def parameters(arguments):
    """All ast.arg of a function."""
    rest = [each for each in (arguments.vararg, arguments.kwarg) if each]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *rest]


def uses_of(*code):
    """The names that nodes or lists of nodes use in the scope that they are in."""
    visitor = _Visitor()
    for part in code:
        for node in part if isinstance(part, list) else [part]:
            if node is not None:
                visitor.visit(node)
    return visitor.uses


class Liveness:
    """Says of each branch and loop of a block which names are read behind it: node.ag_after, and of a loop node.ag_header, what is
    read behind or in the next pass. Names that functions inside capture may be read at any time."""

    def __init__(self, block, declared=()):
        self._always = uses_of(block).captured | set(declared)  # others read what is declared nonlocal or global
        self.before(block, set(self._always), set(self._always))

    def before(self, block, live, raised):
        """What is read from the block's begin on. raised: what handlers around read."""
        for node in reversed(block):
            live = self._before(node, live | raised, raised)
        return live

    def _before(self, node, live, raised):
        if isinstance(node, ast.If):
            node.ag_after = live
            return self.before(node.body, live, raised) | self.before(node.orelse, live, raised) | self._read(node.test)
        if isinstance(node, (ast.While, ast.For)):
            return self._loop(node, live, raised)
        if isinstance(node, ast.Try):
            passed = self.before(node.finalbody, set(raised), raised)  # by what is raised; then the liveness that counts
            after = self.before(node.finalbody, live, raised)
            caught = passed.union(*(self.before(each.body, after, raised | after) | self._read(each.type)
                                                        for each in node.handlers))
            return self.before(node.body, self.before(node.orelse, after, raised | caught), raised | caught) | caught
        if isinstance(node, ast.With):
            used = uses_of(node.items)
            return self.before(node.body, live, raised | live) - set(used.bound) | used.read
        if isinstance(node, ast.Match):
            cases = [self.before(each.body, live, raised) for each in node.cases]
            return live.union(*cases) | self._read(node.subject, *(each.guard for each in node.cases))
        used = uses_of(node)
        return live - set(used.bound) | used.read | used.captured

    def _loop(self, node, live, raised):
        front = self._read(node.test) if isinstance(node, ast.While) else set(uses_of(node.target).read)
        bound = set() if isinstance(node, ast.While) else set(uses_of(node.target).bound)
        header = live | front | set(getattr(node, "ag_stops", ()))
        while True:
            more = header | self.before(node.body, header, raised) - bound
            if more == header:
                break
            header = more
        node.ag_after, node.ag_header = live, header
        return header if isinstance(node, ast.While) else header | self._read(node.iter)

    @staticmethod
    def _read(*code):
        used = uses_of(*code)
        return used.read | used.captured
