"""Which graph a program of TensorFlow 1 builds now. tapedeck/_client makes graphs; what becomes part of them asks here."""
import importlib
import threading

from tapedeck import _engine


class _Open(threading.local):
    """Of a thread: the graphs that are the default, the innermost last."""

    def __init__(self):
        self.graphs = []


_open = _Open()


def current():
    """The Graph that ops of this thread become part of; None where they run at once, or are a traced function's."""
    return _open.graphs[-1] if _open.graphs and _engine.is_in_program_graph() else None


def innermost():
    """The default graph of this thread, whether or not ops become part of it now; None for the process's."""
    return _open.graphs[-1] if _open.graphs else None


def push(graph):
    _open.graphs.append(graph)


def pop():
    _open.graphs.pop()


def depth():
    """How many graphs are open in this thread."""
    return len(_open.graphs)


_services = {}


def provides(name):
    """Decorates a function of tapedeck/_client that what is imported before it calls by this name."""
    def named(function):
        _services[name] = function
        return function

    return named


def service(name):
    """The function of that name."""
    if name not in _services and name.startswith("summary"):
        importlib.import_module("tapedeck._client.summaries")  # few programs write summaries of graphs
    return _services[name]
