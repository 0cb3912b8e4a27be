"""TensorFlow's names for the number of threads."""
from tapedeck import _engine


def set_intra_op_parallelism_threads(num_threads):
    """As tf.config.set_num_threads; 0 stands for the number that the process started with."""
    _engine.set_thread_count(num_threads or _initial)


def get_intra_op_parallelism_threads():
    """How many threads kernels may use."""
    return _engine.thread_count()


_initial = _engine.thread_count()
