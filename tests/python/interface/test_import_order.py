"""The Python package's modules are in an order: none imports another that imports it, directly or through others."""
import ast
import pathlib
import re
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "engine" / "python" / "tapedeck"


def name_of(path, package):
    parts = path.relative_to(package.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree):
    """(statement, whether it is in a function) of each import, those in functions included."""
    waiting = [(tree, False)]
    while waiting:
        parent, local = waiting.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                yield node, local
            waiting.append((node, local or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))))


def imported_by(statement, importer, is_package, modules):
    """The modules that a statement imports: those that it names, and the packages that Python imports on the way to them, but for
    those that hold the importer and so are being imported already."""
    if isinstance(statement, ast.Import):
        named = [alias.name for alias in statement.names]
    else:
        base = statement.module or ""
        if statement.level:
            above = importer.split(".")
            above = above[:len(above) - statement.level + is_package]
            base = ".".join([*above, *filter(None, [base])])
        parts = [f"{base}.{alias.name}" for alias in statement.names]
        # A name that is no module is defined in the package, whose __init__ must be there then.
        named = [part if part in modules or part.startswith("tapedeck._engine") else base for part in parts]
    for name in named:
        parts = name.split(".")
        on_the_way = {".".join(parts[:count]) for count in range(1, len(parts))}
        reached = {name} | {each for each in on_the_way if not f"{importer}.".startswith(f"{each}.")}
        yield from reached & modules.keys() - {importer}


def import_graph(package):
    """{module: the modules of the package that it imports}."""
    modules = {name_of(path, package): path for path in sorted(package.rglob("*.py"))}
    graph = {}
    for name, path in modules.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        graph[name] = {each for statement, _ in imports(tree)
                       for each in imported_by(statement, name, path.name == "__init__.py", modules)}
    return graph


def cycles(graph):
    """The strongly connected components of more than one node, each sorted (Tarjan 1972)."""
    order, lowest, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for other in sorted(graph[node]):
            if other not in order:
                visit(other)
                lowest[node] = min(lowest[node], lowest[other])
            elif other in stack:
                lowest[node] = min(lowest[node], order[other])
        if lowest[node] == order[node]:
            component = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(component) > 1:
                found.append(sorted(component))

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def unexplained(text):
    """The lines of imports in functions that have no comment, neither there nor on the line above."""
    lines = text.splitlines()

    def comment(number):
        _, _, words = lines[number - 1].partition("#")
        return re.sub(r"noqa(: *[A-Z]+\d+(, *[A-Z]+\d+)*)?", "", words).strip(" #")

    def above(number):
        return number > 1 and lines[number - 2].lstrip().startswith("#") and comment(number - 1)

    return sorted(statement.lineno for statement, local in imports(ast.parse(text))
                  if local and not comment(statement.end_lineno) and not above(statement.lineno))


class ImportOrder(unittest.TestCase):
    def test_no_module_imports_one_that_imports_it(self):
        graph = import_graph(PACKAGE)
        self.assertGreater(len(graph), 200)
        self.assertGreater(sum(map(len, graph.values())), 1000)
        self.assertEqual([" ↔ ".join(cycle) for cycle in cycles(graph)], [])

    def test_an_import_in_a_function_says_what_it_saves(self):
        wrong = [f"{path.relative_to(PACKAGE)}:{line}" for path in sorted(PACKAGE.rglob("*.py"))
                 for line in unexplained(path.read_text(encoding="utf-8"))]
        self.assertEqual(wrong, [], "an import goes to the top of its file, or a comment names its cost")

    def test_cycles_are_found(self):
        self.assertEqual(cycles({"a": {"b"}, "b": {"c"}, "c": set(), "d": {"a", "c"}}), [])
        self.assertEqual(cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"e"}, "e": {"f", "a"}, "f": {"d"}}),
                         [["b", "c"], ["d", "e", "f"]])

    def test_imports_are_found_in_functions_and_by_the_way(self):
        modules = dict.fromkeys(("p", "p.a", "p.b", "p.b.c", "p.b.d"))

        def found(text, importer, is_package=False):
            return sorted({each for statement, _ in imports(ast.parse(text))
                           for each in imported_by(statement, importer, is_package, modules)})

        self.assertEqual(found("def f():\n    if 1:\n        from p import a", "p.b"), ["p.a"])
        self.assertEqual(found("import p", "p.a"), ["p"])
        self.assertEqual(found("from p import version", "p.a"), ["p"])
        self.assertEqual(found("from p.b.c import f", "p.a"), ["p.b", "p.b.c"])  # Python runs p/b/__init__.py first
        self.assertEqual(found("from p.b import c\nimport os", "p.b.d"), ["p.b.c"])
        self.assertEqual(found("from . import d\nfrom .. import a", "p.b.c"), ["p.a", "p.b.d"])
        self.assertEqual(found("from . import d", "p.b", True), ["p.b.d"])

    def test_imports_without_a_comment_are_found(self):
        text = ("import a\ndef f():\n    import b\n    import c  # slow\n    # slow\n    import d\n    import e\n"
                "    import g  # noqa: F401\n")
        self.assertEqual(unexplained(text), [3, 7, 8])


if __name__ == "__main__":
    unittest.main()
