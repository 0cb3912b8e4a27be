"""Reports a file beside the notebook that a cell's import did not reach, because Python or a package has a module of that name.

The notebook's folder comes last in sys.path (SessionApp.init_path), so such an import takes the other module without a word.
"""
import ast
import os
import sys


class HiddenModules:
    """Reads each cell after it ran; reports each name once."""

    def __init__(self, shell):
        self._shell = shell
        self._reported = set()

    def attach(self):
        self._shell.events.register("post_run_cell", self.after)

    def after(self, result):
        if result is None or result.info is None:
            return
        folder = os.getcwd() if os.path.isdir(os.curdir) else None
        for name in sorted(imported_names(self._shell.transform_cell(result.info.raw_cell)) - self._reported):
            file, module = hidden_file(folder, name), sys.modules.get(name)
            if file is None or module is None or _is_below(folder, module):
                continue
            self._reported.add(name)
            place = getattr(module, "__file__", None) or "which is built into Python"
            print(f"{file} beside the notebook was not imported: “{name}” is the module {place}. Rename the file to import it.",
                  file=sys.stderr)


def imported_names(code):
    """The top-level names of the modules that the code imports; empty where it is not Python."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def hidden_file(folder, name):
    """The file or package of that name in the folder; None where there is none."""
    for file in (name + ".py", os.path.join(name, "__init__.py")):
        if folder is not None and os.path.isfile(os.path.join(folder, file)):
            return file
    return None


def _is_below(folder, module):
    file = getattr(module, "__file__", None)
    return file is not None and os.path.realpath(file).startswith(os.path.realpath(folder) + os.sep)
