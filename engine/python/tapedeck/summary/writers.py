"""Writers of TensorBoard's event files, and which of them is the default one: each thread has its own, with a step and a "
  "condition."""
import atexit
import contextlib
import os
import threading
import weakref

from tapedeck import _engine
from tapedeck._core.public import public


class State(threading.local):
    """What this thread's summaries are written with."""

    def __init__(self):
        self.writer = None
        self.step = None
        self.condition = None  # None, a bool, a tensor, or a function that gives one of these


state = State()
_open_files = weakref.WeakSet()


def holds(default):
    """Whether summaries are to be recorded; `default` where no condition was given."""
    condition = state.condition() if callable(state.condition) else state.condition
    return default if condition is None else bool(condition)


@contextlib.contextmanager
def recording_if(condition):
    """Summaries inside are recorded where the condition holds."""
    before = state.condition
    state.condition = condition
    try:
        yield
    finally:
        state.condition = before


@public("summary.SummaryWriter", "contrib.summary.SummaryWriter")
class SummaryWriter:
    """A base of summary writers: what summaries go to while it is the default."""

    def set_as_default(self, step=None):
        """Makes it this thread's default writer, and step, where it is not None, the default step."""
        self.as_default(step).__enter__()

    def as_default(self, step=None):
        """A context in which it is this thread's default writer, and step, where it is not None, the default step. It is flushed at
        the end."""
        return _Default(self, step)

    def init(self):
        """Does nothing: TensorFlow's graphs need it."""

    def flush(self):
        """Returns when all that was written is in the file. To be defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define flush()")

    def close(self):
        """Flushes it and ends it. To be defined by the subclass."""
        raise NotImplementedError(f"{type(self).__name__} does not define close()")


class _Default:
    def __init__(self, writer, step):
        self._writer, self._step = writer, step

    def __enter__(self):
        self._before = state.writer, state.step
        state.writer = self._writer
        if self._step is not None:
            state.step = self._step
        return self._writer

    def __exit__(self, *_):
        try:
            self._writer.flush()
        finally:
            state.writer, step = self._before
            if self._step is not None:
                state.step = step


class FileWriter(SummaryWriter):
    """Writes an event file into a folder."""

    def __init__(self, logdir, max_queue, flush_millis, filename_suffix, make_parents=True):
        self._logdir = os.fspath(logdir) if not isinstance(logdir, _engine.Tensor) else _text_of(logdir)
        self._file = _engine.events.EventFile(self._logdir, _whole("max_queue", 10 if max_queue is None else max_queue),
                                              _whole("flush_millis", 120_000 if flush_millis is None else flush_millis),
                                              filename_suffix, make_parents)
        _open_files.add(self)

    @property
    def run_name(self):
        """The name of its folder."""
        return os.path.basename(os.path.normpath(self._logdir)) or self._logdir

    @property
    def path(self):
        """The file."""
        return self._file.path

    def as_default(self, step=None):
        """A context in which it is this thread's default writer, and step, where it is not None, the default step. It is flushed at
        the end. Errors: RuntimeError where it is closed."""
        if self._file.closed:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")
        return super().as_default(step)

    def add(self, step, value):
        """Adds a value, bytes that _engine.events makes."""
        self._file.add_values(step, [value])

    def add_message(self, step, field, message):
        """Adds an event of one message: see _engine.events.EventFile."""
        self._file.add_message(step, field, message)

    def add_event(self, event):
        """Adds the bytes of an event."""
        self._file.add_event(event)

    def flush(self):
        """Returns when all that was written is in the file."""
        self._file.flush()

    def close(self):
        """Flushes it and ends it; what is written to it afterwards is a FailedPreconditionError."""
        self._file.close()

    def __repr__(self):
        return f"<SummaryWriter {self._logdir!r}>"


class NoopWriter(SummaryWriter):
    """A writer that keeps nothing; as the default it leaves the one that was."""

    def set_as_default(self, step=None):
        """Does nothing."""

    @contextlib.contextmanager
    def as_default(self, step=None):
        """A context that changes nothing."""
        yield self

    def flush(self):
        """Does nothing."""

    def close(self):
        """Does nothing."""


def _whole(argument, value):
    number = int(value)
    if number < 0:
        raise _engine.InvalidArgumentError(f"create_file_writer: {argument} is {value!r}; must not be negative")
    return number


def _text_of(tensor):
    text = tensor.numpy()
    return text.decode() if isinstance(text, bytes) else str(text)


@atexit.register
def _close_all():
    for writer in list(_open_files):
        try:
            writer.close()
        except _engine.OpError as error:  # a full disk, a folder that is gone
            print(f"{writer!r}: {error}")
