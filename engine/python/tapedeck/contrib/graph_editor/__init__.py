"""tf.contrib.graph_editor: finding operations of a tf.Graph, and what runs before them."""
import re

from tapedeck._client.placeholders import get_default_graph
from tapedeck.contrib.graph_editor import reroute, transform  # noqa: F401


def select_ops(*patterns, graph=None, positive_filter=None, restrict_ops_regex=None, **_):
    """The operations whose names match one of the regular expressions from their beginning, in the graph's order: a list.

    graph: None for the default one; positive_filter: a function of an operation, which says whether it counts. An operation among
    patterns is taken as it is.
    """
    graph = graph or get_default_graph()
    found = []
    for each in graph.get_operations():
        wanted = any(each is pattern if not isinstance(pattern, str) else re.match(pattern, each.name) for pattern in patterns)
        if wanted and (positive_filter is None or positive_filter(each)):
            found.append(each)
    return found
