"""tf.summary where a graph is built: a summary is a tensor of text, which a program runs and gives to a tf.summary.FileWriter."""
from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.public import public
from tapedeck._graph.collections import GraphKeys
from tapedeck.summary import curves, event_files, values, writers

_events = _engine.events


class _Values(list):
    """The values of a tf.Summary."""

    def add(self, tag="", simple_value=None, **others):
        """Adds a number under a tag. Errors: UnimplementedError for a value of another kind."""
        if simple_value is None or others:
            raise _engine.UnimplementedError(f"Summary.value.add: {', '.join(others) or 'no simple_value'}; it takes tag and simple_value")
        self.append(event_files.Value(tag=tag, simple_value=float(simple_value)))


@public("Summary")
class Summary:
    """Numbers under tags, for FileWriter.add_summary: summary.value.add(tag="loss", simple_value=0.5)."""

    Value = event_files.Value

    def __init__(self, value=()):
        self.value = _Values(value)

    def SerializeToString(self):
        """The bytes that TensorBoard's files have of it."""
        return _whole([_events.scalar_value(each.tag, each.simple_value) for each in self.value])


def _whole(parts):
    """The bytes of a summary of these values: each is field 1, with its length."""
    def length(number):
        digits = []
        while number > 0x7F:
            digits.append(number & 0x7F | 0x80)
            number >>= 7
        return bytes([*digits, number])

    return b"".join(b"\x0a" + length(len(part)) + part for part in parts)


def _values_of(kind, tag, tensor, arguments):
    """The bytes of the values."""
    if kind == "scalar":
        return [_events.scalar_value(tag, values.number("scalar", tensor))]
    if kind == "histogram":
        return [_events.histogram_value(tag, tensor)]
    images = values.stretched_images("image", tensor, [255, 0, 0, 255])[:arguments.get("max_outputs", 3)]
    return [_events.image_value(f"{tag}/image" if len(images) == 1 else f"{tag}/image/{place}", *each.shape, _events.encode_png(each))
            for place, each in enumerate(images)]


@program_graph.provides("summary")
def summary(kind, name, tensor, arguments):
    """A scalar tensor of text: the summary of a tensor of the current graph. kind: "scalar", "histogram" or "image"."""
    graph, scope = program_graph.current(), _engine.current_scope()
    family = arguments.get("family")
    own = f"{family}/{name}" if family else name
    tag = f"{scope}/{own}" if scope else own

    def written(tensors):
        return [_engine.constant(_whole(_values_of(kind, tag, tensors[0], arguments)), "string", None)]

    first = graph._engine.size
    made = _engine.graph_host_call(f"{kind.capitalize()}Summary", written, [_engine.convert_to_tensor(tensor)], [("string", ())])[0]
    graph._name_results(first, made, name.replace(" ", "_"), True)
    wanted = arguments.get("collections")
    graph.add_to_collections([GraphKeys.SUMMARIES] if wanted is None else wanted, made)
    return made


@program_graph.provides("summary.merge")
def merge(inputs, collections=None, name=None):
    """A scalar tensor of text: all of these summaries."""
    graph = program_graph.current()
    tensors = [_engine.convert_to_tensor(each) for each in inputs]

    def merged(found):
        return [_engine.constant(b"".join(each.numpy() for each in found), "string", None)]

    made = _engine.graph_host_call("MergeSummary", merged, tensors, [("string", ())])[0]
    graph.add_to_collections(collections or (), made)
    return made


@program_graph.provides("summary.merge_all")
def merge_all(key=GraphKeys.SUMMARIES, scope=None, name=None):
    """All summaries of a collection of the current graph, merged; None where there is none."""
    found = program_graph.current().get_collection(key, scope)
    return merge(found) if found else None


@program_graph.provides("summary.FileWriter")
class FileWriter:
    """Writes summaries that a program has run into an event file in a folder. Numbers are points of the notebook's Plots, too.

    graph: changes nothing; the others are those of tf.summary.create_file_writer.
    """

    def __init__(self, logdir, graph=None, max_queue=10, flush_secs=120, graph_def=None, filename_suffix=None, session=None):
        self._writer = writers.FileWriter(logdir, max_queue, flush_secs * 1000, filename_suffix or "")
        self._logdir = logdir

    def get_logdir(self):
        """The folder."""
        return self._logdir

    def add_summary(self, summary, global_step=None):
        """Adds a summary: what running one gives, bytes, or a tf.Summary."""
        plain = summary.SerializeToString() if hasattr(summary, "SerializeToString") else bytes(summary)
        step = 0 if global_step is None else int(global_step)
        self._writer.add_message(step, 5, plain)
        if curves.drawing():
            for value in event_files.values_in(plain):
                if value.simple_value is not None:
                    curves.add_point(curves.curve_name(value.tag, self._writer), step, value.simple_value)

    def add_graph(self, graph, global_step=None, graph_def=None):
        """Does nothing: graphs are shown by Tapedeck's panel Graph."""

    def flush(self):
        """Returns when all is in the file."""
        self._writer.flush()

    def close(self):
        """Ends the file."""
        self._writer.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()
