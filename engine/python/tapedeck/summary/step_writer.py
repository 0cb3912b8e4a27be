"""tfe.SummaryWriter: the writer of the first eager releases, which counts the steps itself."""
from tapedeck._core.public import public
from tapedeck.summary import first, writers


@public("tfe.SummaryWriter")
class SummaryWriter:
    """Writes summaries into an event file in the folder logdir: scalar(), histogram(), image(), audio() and generic(), each at the
    step that step() has counted to.

    max_queue: how many events wait at most; flush_secs: how long; filename_suffix: the end of the file's name. The arguments of the
    methods are those of tf.contrib.summary's functions of the same names.
    """

    def __init__(self, logdir, max_queue=10, flush_secs=120, filename_suffix=""):
        self._writer = first.create_file_writer(logdir, max_queue, flush_secs * 1000, filename_suffix or None)
        self._step = 0

    def step(self):
        """What is written from now on is of the next step."""
        self._step += 1

    def _write(self, function, name, tensor, **arguments):
        with self._writer.as_default(), writers.recording_if(True):
            function(name, tensor, step=self._step, **arguments)

    def scalar(self, name, tensor, family=None):
        """A number: a point of a curve."""
        self._write(first.scalar, name, tensor, family=family)

    def histogram(self, name, tensor, family=None):
        """A histogram of values."""
        self._write(first.histogram, name, tensor, family=family)

    def image(self, name, tensor, bad_color=None, max_images=3, family=None):
        """Pictures."""
        self._write(first.image, name, tensor, bad_color=bad_color, max_images=max_images, family=family)

    def audio(self, name, tensor, sample_rate, max_outputs, family=None):
        """Sound."""
        self._write(first.audio, name, tensor, sample_rate=sample_rate, max_outputs=max_outputs, family=family)

    def generic(self, name, tensor, metadata=None, family=None):
        """A tensor for a plugin of TensorBoard's."""
        self._write(first.generic, name, tensor, metadata=metadata, family=family)

    def flush(self):
        """Returns when all that was written is in the file."""
        self._writer.flush()
