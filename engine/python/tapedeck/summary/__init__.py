"""TensorFlow 2's tf.summary: scalars, histograms, images, sound and texts for TensorBoard's files, and for Plots.

What is written goes to the default writer (`with tf.summary.create_file_writer("logs").as_default(step): …`), as one event. Scalars,
histograms and images also show in the notebook's Plots while the cell runs, with a writer and without one. Each function returns a
bool tensor, True where the writer got the value. Errors: ValueError where there is a writer and no step; InvalidArgumentError for
values that are not of the right shape.
"""
import contextlib as _contextlib
import functools as _functools
import inspect as _inspect

from tapedeck import _engine
from tapedeck._core import program_graph
from tapedeck._core.arguments import having as _having
from tapedeck._core.context import name_scope as _name_scope
from tapedeck._core.public import public
from tapedeck.summary import curves as _curves, values as _values, writers as _writers
from tapedeck.summary import experimental  # noqa: F401
from tapedeck.summary.experimental import step_of as _step_of, tag_of as _tag_of

_events = _engine.events


@public("summary.create_file_writer")
def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None, experimental_trackable=False,
                       experimental_mesh=None):
    """A writer of an event file in the folder logdir, which is made where it is not there.

    max_queue: how many events may wait until they are in the file, None for 10; flush_millis: how long, None for two minutes;
    filename_suffix: the end of the file's name, None for ".v2". The others change nothing.
    Errors: ValueError for None as logdir; NotFoundError and FailedPreconditionError, with the path, where the folder cannot be
    made.
    """
    if logdir is None:
        raise ValueError("create_file_writer: logdir is None; needs a folder")
    return _writers.FileWriter(logdir, max_queue, flush_millis, ".v2" if filename_suffix is None else filename_suffix)


@public("summary.create_noop_writer")
def create_noop_writer():
    """A writer that keeps nothing."""
    return _writers.NoopWriter()


@public("summary.record_if")
@_contextlib.contextmanager
def record_if(condition):
    """Summaries inside are recorded where condition, a bool, a bool tensor or a function that gives one, holds."""
    with _writers.recording_if(condition):
        yield


@public("summary.should_record_summaries")
def should_record_summaries():
    """Whether there is a default writer, and the condition of record_if holds: a bool tensor."""
    return _engine.constant(_writers.state.writer is not None and _writers.holds(True), "bool")


@public("summary.flush")
def flush(writer=None, name=None):
    """Returns when all that was written to writer, None for the default one, is in its file."""
    writer = writer or _writers.state.writer
    if writer is not None:
        _having(writer, "flush: writer", "flush", "summary writer").flush()


def _written(function, tag, step, make):
    """Adds the value that make() gives to the default writer, where there is one and the condition holds: a bool tensor."""
    writer = _writers.state.writer
    if writer is None or not _writers.holds(True):
        return _engine.constant(False, "bool")
    writer.add(_step_of(function, step), make())
    return _engine.constant(True, "bool")


def _metadata(plugin, description, content=b""):
    return _events.metadata(plugin, content, description or "", 0)


_OF_GRAPHS = ("scalar", "histogram", "image")


def _summary_of_graph(kind, name, data=None, *args, **kwargs):
    """TensorFlow 1's function of that name, in a tf.Graph without a default writer. data is called tensor there, too."""
    more = dict(zip(("max_outputs",) if kind == "image" else ("collections", "family"), args))
    tensor = kwargs.pop("tensor", kwargs.pop("values", data))
    return program_graph.service("summary")(kind, name, tensor, {**more, **kwargs})


def _recorded_by_graphs(function):
    """In a function that is traced each run records, with the writer, the step and the name scopes that its trace had."""
    signature = _inspect.signature(function)

    @_functools.wraps(function)
    def recorded(*args, **kwargs):
        if not _engine.is_tracing():
            return function(*args, **kwargs)
        state = _writers.state
        if program_graph.current() is not None and state.writer is None and "step" not in kwargs and function.__name__ in _OF_GRAPHS:
            return _summary_of_graph(function.__name__, *args, **kwargs)
        arguments = signature.bind(*args, **kwargs).arguments
        state, scope = _writers.state, _engine.current_scope()
        writer = state.writer
        if arguments.get("step") is None:
            arguments["step"] = state.step
        tensors = {name: value for name, value in arguments.items() if isinstance(value, (_engine.Tensor, _engine.Variable))}

        def record(values):
            before, state.writer = state.writer, writer or state.writer
            try:
                with _name_scope(scope + "/") if scope else _contextlib.nullcontext():
                    function(**{**arguments, **dict(zip(tensors, values))})
            finally:
                state.writer = before

        _engine.graph_host_call(function.__name__, record, list(tensors.values()))
        return _engine.constant(True, "bool")

    return recorded


@public("summary.scalar")
@_recorded_by_graphs
def scalar(name, data, step=None, description=None):
    """A number: a point of a curve, also of the notebook's Plots.

    name: the tag, after the name scopes around; data: a scalar, which becomes float32; step: an integer, None for the default
    one; description: Markdown.
    """
    tag = _tag_of(name, "scalar_summary")
    number = _values.number("scalar", data)
    writer = _writers.state.writer
    known = _writers.state.step if step is None else step
    if known is not None and _writers.holds(True):
        _curves.add_point(_curves.curve_name(tag, writer), known, number)
    return _written("scalar", tag, step, lambda: _events.tensor_value(
        tag, _events.tensor_message(_engine.constant(number, "float32")), _metadata("scalars", description)))


def _draws(step):
    """The step at which a session shows what is recorded now, None where none does: without a step there is nothing to show."""
    known = _writers.state.step if step is None else step
    return int(known) if known is not None and _curves.drawing() and _writers.holds(True) else None


@public("summary.histogram")
@_recorded_by_graphs
def histogram(name, data, step=None, buckets=None, description=None):
    """A histogram of values, also in the notebook's Plots, which count values that are not finite separately.

    data: real numbers, of any shape, finite; buckets: how many of one width, None for 30. The others are those of scalar.
    """
    tag = _tag_of(name, "histogram_summary")
    count = 30 if buckets is None else int(buckets)
    drawn, known = _draws(step), None
    if drawn is not None:
        known = _curves.add_histogram(_curves.curve_name(tag, _writers.state.writer), drawn,
                                      _values.array_of("histogram", "data", data), count)

    def make():
        counted = _values.buckets(_values.array_of("histogram", "data", data), count) if known is None else known
        return _events.tensor_value(tag, _events.tensor_message(counted), _metadata("histograms", description))

    return _written("histogram", tag, step, make)


@public("summary.image")
@_recorded_by_graphs
def image(name, data, step=None, max_outputs=3, description=None):
    """Pictures, also in the notebook's Plots.

    data: (batch, height, width, channels) with 1 to 4 channels; uint8, or real numbers on [0, 1], which are clipped. max_outputs:
    how many of them at most. The others are those of scalar.
    """
    tag = _tag_of(name, "image_summary")

    @_functools.cache
    def encoded():
        images = _values.images_of("image", data)
        count = min(_at_least_0("image", max_outputs), images.shape[0])
        return images.shape[2], images.shape[1], [_events.encode_png(images[each]) for each in range(count)]

    drawn = _draws(step)
    if drawn is not None:
        _curves.add_images(_curves.curve_name(tag, _writers.state.writer), drawn, *encoded())

    def make():
        width, height, pngs = encoded()
        texts = [str(width).encode(), str(height).encode(), *pngs]
        return _events.tensor_value(tag, _events.text_message([len(texts)], texts), _metadata("images", description))

    return _written("image", tag, step, make)


@public("summary.audio")
@_recorded_by_graphs
def audio(name, data, sample_rate, step=None, max_outputs=3, encoding=None, description=None):
    """Sound, as WAV of 16 bits.

    data: (batch, frames, channels), real numbers on [-1, 1], which are clipped; sample_rate: frames in a second; max_outputs: how
    many of the batch at most; encoding: None or 'wav'. The others are those of scalar. Errors: ValueError for another encoding.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"audio: encoding is {encoding!r}; must be 'wav'")
    tag = _tag_of(name, "audio_summary")

    def make():
        sounds = _values.sounds_of("audio", data, (3,))[:_at_least_0("audio", max_outputs)]
        texts = [text for each in sounds for text in (_values.wav(each, sample_rate), b"")]
        wav_content = b"\x10\x0b"  # AudioPluginData: encoding WAV
        return _events.tensor_value(tag, _events.text_message([len(sounds), 2], texts),
                                    _metadata("audio", description, wav_content))

    return _written("audio", tag, step, make)


@public("summary.text")
@_recorded_by_graphs
def text(name, data, step=None, description=None):
    """Texts, in Markdown.

    data: a text, or a list, an array or a tensor of texts. The others are those of scalar. Errors: TypeError for a value that is not a
    string.
    """
    tag = _tag_of(name, "text_summary")
    return _written("text", tag, step, lambda: _events.tensor_value(
        tag, _events.text_message(*_values.texts_of("text", data)), _metadata("text", description)))


@public("summary.write")
def write(tag, tensor, step=None, metadata=None, name=None):
    """A tensor for a plugin of TensorBoard's.

    tag: as it is, without name scopes; tensor: numbers or texts, or a function that gives them; metadata: bytes of a
    SummaryMetadata, or what has SerializeToString().
    """
    def make():
        value = tensor() if callable(tensor) and not isinstance(tensor, (_engine.Tensor, _engine.Variable)) else tensor
        plain = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata or b""
        return _events.tensor_value(str(tag), _message_of(value), plain)

    return _written("write", tag, step, make)


def _message_of(value):
    """A TensorProto of numbers or of texts."""
    if isinstance(value, (list, tuple)):
        is_text = bool(value) and isinstance(value[0], (str, bytes))
    else:
        dtype = getattr(value, "dtype", None)
        is_text = isinstance(value, (str, bytes)) or getattr(dtype, "kind", "numbers") in "SUO" or getattr(dtype, "name",
                                                                                                           "") == "string"
    return _events.text_message(*_values.texts_of("write", value)) if is_text else _events.tensor_message(value)


@public("summary.graph")
def graph(graph_data):
    """A graph that something else made, for TensorBoard's graphs: the bytes of a GraphDef, or what has SerializeToString().

    Errors: TypeError for something else: functions that are run eagerly have no graph.
    """
    plain = graph_data.SerializeToString() if hasattr(graph_data, "SerializeToString") else graph_data
    if not isinstance(plain, bytes):
        raise TypeError(f"graph: graph_data is a {type(graph_data).__name__}; needs the bytes of a GraphDef: eager execution "
                        f"makes none")
    writer = _writers.state.writer
    if writer is None or not _writers.holds(True):
        return _engine.constant(False, "bool")
    writer.add_message(0, 4, plain)
    return _engine.constant(True, "bool")


def _at_least_0(function, max_outputs):
    count = int(max_outputs)
    if count < 0:
        raise _engine.InvalidArgumentError(f"{function}: max_outputs is {max_outputs!r}; must not be negative")
    return count


@public("summary.trace_on")
def trace_on(graph=True, profiler=False, profiler_outdir=None):
    """Does nothing: no functions are traced into graphs. The panels Ops and Tape show every op that ran, with its time."""


@public("summary.trace_off")
def trace_off():
    """Does nothing: see trace_on."""


@public("summary.trace_export")
def trace_export(name, step=None, profiler_outdir=None):
    """Does nothing: see trace_on."""


def _refuses(name, what, instead):
    """What programs call that TensorFlow has in graphs, and refuses in eager execution."""
    def refusing(*args, **kwargs):
        if program_graph.current() is not None:
            return program_graph.service(f"summary.{name}")(*args, **kwargs)
        raise RuntimeError(f"{what} is not compatible with eager execution, which writes summaries at once; use {instead}, or "
                           "tf.contrib.summary")
    refusing.__name__ = refusing.__qualname__ = name
    refusing.__doc__ = f"TensorFlow 1's, in a tf.Graph. Elsewhere a RuntimeError, as in TensorFlow's eager execution: use {instead}."
    public(f"summary.{name}")(refusing)


_refuses("FileWriter", "tf.summary.FileWriter", "tf.summary.create_file_writer")
_refuses("merge", "Merging tf.summary.* ops", "tf.summary.scalar")
_refuses("merge_all", "Merging tf.summary.* ops", "tf.summary.scalar")
_FIRST = {"FileWriterCache": "create_file_writer",
          "get_summary_description": "scalar", "tensor_summary": "write", "SessionLog": "scalar", "TaggedRunMetadata": "scalar"}


def __getattr__(name):
    if name in _FIRST:
        raise AttributeError(f"tf.summary.{name} is not compatible with eager execution, as its summaries are ops of a graph; use "
                             f"tf.summary.{_FIRST[name]}, or tf.contrib.summary")
    raise AttributeError(f"module 'tapedeck.summary' has no attribute {name!r}")
