"""tf.contrib.graph_editor.transform: copies of parts of a graph, which are refused."""
from tapedeck import _engine


def assign_renamed_collections_handler(info, elem, elem_):
    """TensorFlow's copies call this for each element, and programs replace it to save time. Nothing calls it here."""


def copy_with_input_replacements(sgv, replacement_ts, dst_graph=None, dst_scope="", src_scope="", reuse_dst_scope=False):
    """Refuses: UnimplementedError. A Python function that builds the part can be called again."""
    raise _engine.UnimplementedError("copy_with_input_replacements: parts of a graph are not copied; "
                                     "call the function that builds them again")
