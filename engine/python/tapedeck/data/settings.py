"""How data sets run: tf.data.Options, and the debug mode."""
import enum

from tapedeck._core.public import public


debug_mode = False


@public("data.experimental.enable_debug_mode", "contrib.data.enable_debug_mode")
def enable_debug_mode():
    """From now on iterators have no threads: every stage works when the next element is asked for, on the thread that asks, where
    ops are recorded and stepped."""
    global debug_mode
    debug_mode = True


class _Fields:
    """Attributes that may be set and compared."""

    def __eq__(self, other):
        return type(other) is type(self) and vars(self) == vars(other)

    def __ne__(self, other):
        return not self == other

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in vars(self).items())})"


@public("data.ThreadingOptions", "data.experimental.ThreadingOptions", "contrib.data.ThreadingOptions")
class ThreadingOptions(_Fields):
    """max_intra_op_parallelism, private_threadpool_size: kept, and without effect."""

    def __init__(self):
        self.max_intra_op_parallelism = self.private_threadpool_size = None


@public("data.experimental.OptimizationOptions", "contrib.data.OptimizationOptions")
class OptimizationOptions(_Fields):
    """Which of TensorFlow's rewritings are applied: kept, and without effect."""

    def __init__(self):
        self.apply_default_optimizations = self.map_parallelization = self.noop_elimination = None


@public("data.experimental.AutotuneOptions", "contrib.data.AutotuneOptions")
class AutotuneOptions(_Fields):
    """TensorFlow's search for numbers of threads and buffers: kept, and without effect."""

    def __init__(self):
        self.enabled = self.cpu_budget = self.ram_budget = self.autotune_algorithm = None


@public("data.experimental.AutoShardPolicy", "contrib.data.AutoShardPolicy")
class AutoShardPolicy(enum.IntEnum):
    """How TensorFlow shares a data set among several machines."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


@public("data.experimental.DistributeOptions", "contrib.data.DistributeOptions")
class DistributeOptions(_Fields):
    """TensorFlow's way among several machines: kept, and without effect."""

    def __init__(self):
        self.auto_shard_policy, self.num_devices = AutoShardPolicy.AUTO, None


@public("data.Options")
class Options(_Fields):
    """TensorFlow's options of a data set. The engine keeps every order, so all are kept and none has an effect."""

    def __init__(self):
        self.deterministic = self.experimental_deterministic = None
        self.autotune, self.threading, self.experimental_optimization = AutotuneOptions(), ThreadingOptions(), OptimizationOptions()
        self.experimental_distribute, self.experimental_slack = DistributeOptions(), None

    def merge(self, options):
        """New options, in which those that the other one sets go before these."""
        merged = Options()
        for source in (self, options):
            vars(merged).update({name: value for name, value in vars(source).items() if value is not None})
        return merged
