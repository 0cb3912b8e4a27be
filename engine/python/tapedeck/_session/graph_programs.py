"""Whether a program of TensorFlow was written for version 1, and builds a graph from its first line on.

TensorFlow 1 did so where a program did not enable eager execution; version 2, whose programs say nothing either, runs ops at once. What
tells them apart are the names that version 2 has only below tf.compat.v1: sessions, placeholders, initializers.
"""
import ast
import os

_OF_GRAPHS = {"Session", "InteractiveSession", "placeholder", "placeholder_with_default", "global_variables_initializer",
              "initialize_all_variables", "local_variables_initializer", "variables_initializer", "get_default_session",
              "get_default_graph", "reset_default_graph"}
_EAGER = {"enable_eager_execution", "enable_v2_behavior"}
_MOST_FILES = 100


def builds_graph(path):
    """Whether the program in the file, with what it imports from its own folder, uses graphs of TensorFlow 1, and nothing in it enables
    eager execution. A file that is not Python's does not."""
    folder, open_files, seen = os.path.dirname(os.path.abspath(path)), [os.path.abspath(path)], set()
    uses = False
    while open_files and len(seen) < _MOST_FILES:
        file = open_files.pop()
        if file in seen or not os.path.isfile(file):
            continue
        seen.add(file)
        reader = _Reader()
        try:
            with open(file, "rb") as source:
                reader.visit(ast.parse(source.read(), file))
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
        if reader.enables_eager:
            return False
        uses = uses or reader.uses_graphs
        for name in reader.imports:
            beside = os.path.join(folder, *name.split("."))
            open_files += [beside + ".py", os.path.join(beside, "__init__.py")]
    return uses


class _Reader(ast.NodeVisitor):
    """What a file says."""

    def __init__(self):
        self.names = set()  # of TensorFlow
        self.imports, self.uses_graphs, self.enables_eager = set(), False, False

    def visit_Import(self, node):
        for each in node.names:
            if each.name == "tensorflow":
                self.names.add(each.asname or each.name)
            self.imports.add(each.name)

    def visit_ImportFrom(self, node):
        names = {each.name for each in node.names}
        if node.module == "tensorflow" and not node.level:
            self.uses_graphs |= bool(names & _OF_GRAPHS)
        self.enables_eager |= bool(names & _EAGER)
        if node.module:
            self.imports.add(node.module)
            self.imports |= {f"{node.module}.{name}" for name in names}

    def visit_Attribute(self, node):
        if node.attr in _EAGER:
            self.enables_eager = True
        if node.attr in _OF_GRAPHS and isinstance(node.value, ast.Name) and node.value.id in self.names:
            self.uses_graphs = True
        self.generic_visit(node)
