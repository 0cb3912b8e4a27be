"""TensorFlow's names for the number of threads."""
from tapedeck import _engine
from tapedeck._core.public import public


@public("config.threading.set_intra_op_parallelism_threads")
def set_intra_op_parallelism_threads(num_threads):
    """As tf.config.set_num_threads; 0 restores the number that the process started with."""
    _engine.set_thread_count(num_threads or _initial)


@public("config.threading.get_intra_op_parallelism_threads")
def get_intra_op_parallelism_threads():
    """How many threads kernels may use."""
    return _engine.thread_count()


_initial = _engine.thread_count()
