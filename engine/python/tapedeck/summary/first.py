"""TensorFlow 1's tf.contrib.summary, as eager execution runs it. tapedeck.contrib.summary is the module that programs import."""
import functools
import inspect
import os
import re

from tapedeck import _engine
from tapedeck._core.arguments import having
from tapedeck._core import program_graph
from tapedeck._core.public import public
from tapedeck.summary import curves, values, writers
from tapedeck.summary.experimental import step_of
from tapedeck.train.steps import get_or_create_global_step

events = _engine.events


@public("contrib.summary.create_file_writer", "contrib.summary.create_summary_file_writer")
def create_file_writer(logdir, max_queue=None, flush_millis=None, filename_suffix=None, name=None, *, flush_secs=None):
    """A writer of an event file in the folder logdir, which is made where it is not there, but not those above it; for None one
    that keeps nothing.

    max_queue: with how many events that wait all are put into the file, None for 10; flush_millis: how long, None for two minutes;
    flush_secs: the same in seconds, as TensorFlow 1.4 has it; filename_suffix: the end of the file's name, None for ".v2"; name changes
    nothing.
    Errors: NotFoundError and FailedPreconditionError, with the path, where the folder cannot be made.
    """
    if logdir is None:
        return writers.NoopWriter()
    if flush_millis is None and flush_secs is not None:
        flush_millis = 1000 * flush_secs
    waiting = 9 if max_queue is None else max(max_queue - 1, 0)
    return writers.FileWriter(logdir, waiting, flush_millis, ".v2" if filename_suffix is None else filename_suffix, False)


create_summary_file_writer = create_file_writer


@public("contrib.summary.should_record_summaries")
def should_record_summaries():
    """Whether summaries are recorded: not without a context that says so."""
    return writers.holds(False)


@public("contrib.summary.always_record_summaries")
def always_record_summaries():
    """A context in which summaries are recorded."""
    return writers.recording_if(True)


@public("contrib.summary.never_record_summaries")
def never_record_summaries():
    """A context in which none are recorded."""
    return writers.recording_if(False)


@public("contrib.summary.record_summaries_every_n_global_steps")
def record_summaries_every_n_global_steps(n, global_step=None):
    """A context in which summaries are recorded where the global step is a multiple of n at that time.

    global_step: None for tf.train.get_or_create_global_step(). Errors: ValueError for n below 1.
    """
    if n < 1:
        raise ValueError(f"record_summaries_every_n_global_steps: n is {n!r}; must be at least 1")
    return writers.recording_if(lambda: _global_step(global_step) % n == 0)


def _global_step(step=None):
    if step is None:
        step = get_or_create_global_step()
    return int(step)


@public("contrib.summary.initialize")
def initialize(graph=None, session=None):
    """Does nothing: TensorFlow's graphs need it."""


@public("contrib.summary.flush")
def flush(writer=None, name=None):
    """Returns when all that was written to writer, None for the default one, is in its file."""
    writer = writer or writers.state.writer
    if writer is not None:
        having(writer, "flush: writer", "flush", "summary writer").flush()


_COLLECTION = "_SUMMARY_V2"  # TensorFlow's name of it


def _in_graph(function):
    """The function; in a tf.Graph it makes an operation, which writes what the run has, to the writer that is the default one now."""
    @functools.wraps(function)
    def call(name, tensor, *args, **kwargs):
        graph = program_graph.current()
        if graph is None:
            return function(name, tensor, *args, **kwargs)
        writer, recording = writers.state.writer, writers.holds(False)
        kwargs = dict(inspect.signature(function).bind(name, tensor, *args, **kwargs).arguments)
        scope, step = _engine.current_scope(), kwargs.pop("step", None)
        step = get_or_create_global_step() if step is None else step
        kwargs["name"] = f"{scope}/{name}" if scope else name

        def write(values):
            if writer is not None and recording:
                with writer.as_default(), writers.recording_if(True):
                    function(**{**kwargs, "tensor": values[0], "step": int(values[1])})

        _engine.graph_host_call(f"summary_{function.__name__}", write,
                                [_engine.convert_to_tensor(tensor), _engine.convert_to_tensor(step)])
        made = graph._new_operation("WriteSummary", [graph._engine.size - 1], f"{name}/{function.__name__}")
        graph.add_to_collection(_COLLECTION, made)
        return made

    return call


@public("contrib.summary.all_summary_ops")
def all_summary_ops():
    """The operations of the tf.Graph that write summaries, as a list. RuntimeError where ops run at once."""
    graph = program_graph.current()
    if graph is None:
        raise RuntimeError("tf.contrib.summary.all_summary_ops is only supported in graph mode: eager execution writes summaries at "
                           "once")
    return graph.get_collection(_COLLECTION)


@public("contrib.summary.summary_writer_initializer_op")
def summary_writer_initializer_op():
    """[]: writers are ready when they are made. RuntimeError where ops run at once."""
    if program_graph.current() is None:
        raise RuntimeError("tf.contrib.summary.summary_writer_initializer_op is only supported in graph mode: writers are ready when "
                           "they are made")
    return []


@public("contrib.summary.eval_dir")
def eval_dir(model_dir, name=None):
    """The folder of an evaluation's summaries: "model_dir/eval", or "model_dir/eval_name"."""
    return os.path.join(model_dir, f"eval_{name}" if name else "eval")


def _tag(name, family):
    """The tag of a name: letters that TensorFlow 1 does not have become underscores, preceded by the enclosing name scopes, and those
    by the family."""
    clean = re.sub(r"[^-/\w.]", "_", f"{family}/{name}" if family else str(name)).lstrip("/")
    scope = _engine.current_scope()
    tag = f"{scope}/{clean}" if scope else clean
    return f"{family}/{tag}" if family else tag


def _record(name, family, step, make):
    """Adds the values that make(tag) gives to the default writer, where there is one and summaries are recorded."""
    writer = writers.state.writer
    if writer is None or not writers.holds(False):
        return _engine.constant(False, "bool")
    tag = _tag(name, family)
    number = step_of("summary", step) if step is not None else _global_step()
    for value in make(tag, number, writer):
        writer.add(number, value)
    return _engine.constant(True, "bool")


@public("contrib.summary.scalar")
@_in_graph
def scalar(name, tensor, family=None, step=None):
    """A number: a point of a curve, also of the notebook's Plots.

    name: the tag, after the name scopes around; tensor: a scalar; family: precedes all; step: None for the global step.
    Returns: a bool tensor, True where it was recorded. Errors: InvalidArgumentError for a tensor with axes.
    """
    def make(tag, number, writer):
        value = values.number("scalar", tensor)
        curves.add_point(curves.curve_name(tag, writer), number, value)
        return [events.scalar_value(tag, value)]

    return _record(name, family, step, make)


@public("contrib.summary.histogram")
@_in_graph
def histogram(name, tensor, family=None, step=None):
    """A histogram of values in buckets that widen away from 0; in the notebook's Plots, which count values that are not finite separately,
    in 30 of one width. tensor: real numbers, finite. The others are those of scalar."""
    def make(tag, number, writer):
        if curves.drawing():
            curves.add_histogram(curves.curve_name(tag, writer), number, values.array_of("histogram", "tensor", tensor), 30)
        return [events.histogram_value(tag, tensor)]

    return _record(name, family, step, make)


@public("contrib.summary.image")
@_in_graph
def image(name, tensor, bad_color=None, max_images=3, family=None, step=None):
    """Pictures, a value for each: "name/image/0", …; in the notebook's Plots together, as "name".

    tensor: (batch, height, width, channels) with 1 to 4 channels; uint8, or real numbers, which are stretched: those of an image
    without negative ones so that the greatest becomes 255, others so that 0 becomes 127. bad_color: of pixels that are not finite,
    None for red; max_images: how many at most. The others are those of scalar.
    """
    def make(tag, number, writer):
        red = [255, 0, 0, 255] if bad_color is None else values.array_of("image", "bad_color", bad_color)
        images = values.stretched_images("image", tensor, red)[:max_images]
        pngs = [events.encode_png(each) for each in images]
        if curves.drawing():
            curves.add_images(curves.curve_name(tag, writer), number, images.shape[2], images.shape[1], pngs)
        return [events.image_value(tag + _place("image", place, max_images), *each.shape, png)
                for place, (each, png) in enumerate(zip(images, pngs))]

    return _record(name, family, step, make)


@public("contrib.summary.audio")
@_in_graph
def audio(name, tensor, sample_rate, max_outputs, family=None, step=None):
    """Sound, as WAV of 16 bits, a value for each: "name/audio/0", …

    tensor: (batch, frames, channels) or (batch, frames), real numbers on [-1, 1], which are clipped; sample_rate: frames in a
    second; max_outputs: how many at most. The others are those of scalar.
    """
    def make(tag, number, writer):
        sounds = values.sounds_of("audio", tensor, (2, 3))[:max_outputs]
        return [events.audio_value(tag + _place("audio", place, max_outputs), float(sample_rate), each.shape[1], each.shape[0],
                                   values.wav(each, float(sample_rate))) for place, each in enumerate(sounds)]

    return _record(name, family, step, make)


def _place(kind, place, most):
    return f"/{kind}" if most == 1 else f"/{kind}/{place}"


@public("contrib.summary.generic")
@_in_graph
def generic(name, tensor, metadata=None, family=None, step=None):
    """A tensor for a plugin of TensorBoard's. metadata: bytes of a SummaryMetadata, or what has SerializeToString(). The others are
    those of scalar."""
    plain = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata or b""
    plain = plain.encode() if isinstance(plain, str) else plain
    return _record(name, family, step, lambda tag, number, writer: [events.tensor_value(tag, events.tensor_message(tensor), plain)])


@public("contrib.summary.graph")
def graph(param, step=None, name=None):
    """A graph that something else made: the bytes of a GraphDef, or what has SerializeToString(). Errors: TypeError for others."""
    plain = param.SerializeToString() if hasattr(param, "SerializeToString") else param
    if not isinstance(plain, bytes):
        raise TypeError(f"graph: param is a {type(param).__name__}; needs the bytes of a GraphDef: eager execution makes none")
    writer = writers.state.writer
    if writer is not None:
        writer.add_message(0 if step is None else int(step), 4, plain)


@public("contrib.summary.import_event")
def import_event(tensor, name=None):
    """Adds an event that something else made, bytes or a tensor of them, to the default writer. Errors: TypeError for others."""
    plain = tensor.numpy() if hasattr(tensor, "numpy") else tensor
    if not isinstance(plain, bytes):
        raise TypeError(f"import_event: tensor is a {type(tensor).__name__}; needs the bytes of an Event")
    if writers.state.writer is not None:
        writers.state.writer.add_event(plain)


SummaryWriter = writers.SummaryWriter
