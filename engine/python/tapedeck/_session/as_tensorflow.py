"""`import tensorflow` gives Tapedeck: programs that were written for TensorFlow run as they are.

`tensorflow`, `tensorflow.contrib.eager`, `tensorflow.keras.layers` … become other names of this package's modules: the same
objects, imported once. So do `keras` and `keras.layers`, which programs import beside TensorFlow, of tf.keras.
"""
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types

from tapedeck._client.modes import disable_eager_execution
from tapedeck._session import graph_programs, program
from tapedeck.compat import v1_behavior

# Modules of TensorFlow that programs import by name, where Tapedeck keeps their contents elsewhere.
_ELSEWHERE = {
    "compat.v1": "", "compat.v2": "",
    "contrib.eager.python.tfe": "tfe", "contrib.eager": "tfe",
    "python.keras": "keras", "keras.api": "keras",
    "_api.v1": "", "_api.v2": "", "_api.v2.v2": "",
    "examples.tutorials.mnist.input_data": "contrib.learn.datasets.mnist",
    "contrib.learn.python.learn.datasets": "contrib.learn.datasets",
    "contrib.cudnn_rnn.python.layers.cudnn_rnn": "contrib.cudnn_rnn",
}
# Files of TensorFlow itself from which programs take public functions, by the namespace in which these are.
for _own, _theirs in {
    "": "framework.constant_op framework.tensor_shape framework.indexed_slices ops.array_ops ops.check_ops "
        "ops.clip_ops ops.control_flow_ops ops.functional_ops ops.gradients ops.init_ops ops.linalg_ops ops.math_ops "
        "ops.random_ops ops.script_ops ops.state_ops ops.template ops.tensor_array_ops ops.variable_scope ops.variables",
    "_client.defun": "framework.function", "_client.device_lib": "client.device_lib", "_client.framework_ops": "framework.ops",
    "_client.gen_nn_ops": "ops.gen_nn_ops", "_client.session": "client.session", "_client.timeline": "client.timeline",
    "tfe": "eager.backprop eager.function eager.def_function", "_core.context": "eager.context", "dtypes": "framework.dtypes",
    "errors": "framework.errors framework.errors_impl", "data": "data.ops.dataset_ops", "image": "ops.image_ops",
    "losses": "ops.losses.losses", "nn": "ops.nn ops.nn_impl ops.nn_ops ops.embedding_ops ops.rnn",
    "nn.rnn_cell": "ops.rnn_cell", "strings": "ops.string_ops",
    "layers": "layers.base layers.convolutional layers.core layers.layers layers.normalization layers.pooling",
    "app": "platform.app", "flags": "platform.flags", "gfile": "platform.gfile", "logging": "platform.tf_logging",
    "test": "platform.test", "nest": "util.nest", "compat": "util.compat", "summary": "summary.summary",
    "train": "training.adam training.gradient_descent training.momentum training.optimizer training.rmsprop "
             "training.training training.training_util",
}.items():
    _ELSEWHERE.update((f"python.{_each}", _own) for _each in _theirs.split())
_ELSEWHERE.update((f"core.protobuf.{_each}", "_client.options") for _each in ("config_pb2", "rewriter_config_pb2"))
# Packages that only hold others.
_EMPTY = {"_api", "contrib.eager.python", "python"} | {
    ".".join(parts[:count]) for parts in (name.split(".") for name in _ELSEWHERE
                                          if name.startswith(("contrib.cudnn_rnn.", "core.", "contrib.learn.", "examples.", "python.")))
    for count in range(1, len(parts))} - {"contrib", "contrib.cudnn_rnn", "contrib.learn", *_ELSEWHERE}


# Packages, and what each is below TensorFlow: Keras 3 is one of its own, and so is the Keras 2 that TensorFlow had before.
_PACKAGES = {"tensorflow": "", "keras": "keras", "tf_keras": "keras"}


# TensorFlow's examples import one another by this name; they are looked for in the folder around the program's.
_EXAMPLES = "contrib.eager.python.examples"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tensorflow`, `keras` and what is below them. stands_in: for TensorFlow itself, whose version programs ask for."""

    def __init__(self, stands_in):
        self._stands_in = stands_in
        self._own = None
        self.examples = None  # the folder that has TensorFlow's examples

    def _tell_version(self, text):
        if self._stands_in:
            root = sys.modules["tapedeck"]
            root.__version__ = root.VERSION = root.version.VERSION = text

    def find_spec(self, name, path=None, target=None):
        """The spec of a module of TensorFlow or Keras; None for others, and for what Tapedeck does not have."""
        top, _, below = name.partition(".")
        if top not in _PACKAGES or not (self._stands_in or self._lends(top, below)):
            return None
        below = ".".join(filter(None, [_PACKAGES[top], below]))
        if below == _EXAMPLES and self.examples is not None:
            spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations.append(self.examples)
            return spec
        if below in _EMPTY:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        module = _module(below)
        return module and importlib.machinery.ModuleSpec(name, self, is_package=True, loader_state=module)

    def _lends(self, top, below):
        """Whether Tapedeck provides this module in a notebook, where an installed package takes precedence. A submodule comes from
        where its package came from; otherwise Python would load Tapedeck's files a second time, as other modules."""
        if below:
            return sys.modules.get(top) is _module(_PACKAGES[top])
        others = (finder for finder in sys.meta_path if not isinstance(finder, Finder) and hasattr(finder, "find_spec"))
        return all(finder.find_spec(top, None) is None for finder in others)

    def create_module(self, spec):
        """The module that `import` puts under the name."""
        if spec.loader_state is None:
            made = types.ModuleType(spec.name, "A package of TensorFlow that holds others.")
            if spec.name == "tensorflow.contrib.eager.python":
                made.tfe = _module("contrib.eager")
            return made
        module = spec.loader_state
        self._own = getattr(module, "__spec__", None), getattr(module, "__path__", None)
        return module

    def exec_module(self, module):
        """Nothing is left to run: the module was imported under its own name. It keeps what it says of itself."""
        name = module.__spec__.name
        if module.__spec__.loader_state is None:
            return
        module.__spec__ = self._own[0]
        if self._own[1] is None:
            module.__path__ = []  # so that Python looks for modules below it here
        if name == "tensorflow":
            self._tell_version(sys.modules["tapedeck"].version.VERSION)
        if name == "tensorflow.contrib.eager":
            self._tell_version("1.5.0")
            v1_behavior()


def _module(below):
    """Tapedeck's module of that name below `tensorflow`; None where there is none."""
    prefix, rest = below, []
    while prefix and prefix not in _ELSEWHERE:
        prefix, _, last = prefix.rpartition(".")
        rest.insert(0, last)
    own = ".".join(["tapedeck", *filter(None, [_ELSEWHERE.get(prefix, "")]), *rest])
    found = sys.modules.get(own)
    if found is None:
        try:
            found = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if not own.startswith(error.name or own + "."):
                raise
            return _attribute(own)
    return found


def _attribute(path):
    """A namespace that is not a file: tensorflow.keras.layers where tapedeck.keras has it as an attribute."""
    parent, _, name = path.rpartition(".")
    if not parent:
        return None
    found = getattr(sys.modules.get(parent), name, None)
    return found if isinstance(found, types.ModuleType) else None


# Who looks at attributes for others to see: none of these programs asks for TensorFlow 1.
_ONLOOKERS = {"IPython", "inspect", "jedi", "pydoc", "rlcompleter", "tapedeck"}


def _watch_attribute():
    """Lets a program of TensorFlow that reads tf.contrib.eager have what importing it brings: TensorFlow 1's behaviour."""
    contrib = importlib.import_module("tapedeck.contrib")
    eager, others = vars(contrib).pop("eager", None), contrib.__getattr__
    if eager is None:
        return  # it is watched

    def attribute(name):
        if name != "eager":
            return others(name)
        asks = sys._getframe(1).f_globals.get("__name__") or ""
        if sys.modules.get("tensorflow") is sys.modules["tapedeck"] and asks.partition(".")[0] not in _ONLOOKERS:
            importlib.import_module("tensorflow.contrib.eager")  # puts it among the module's variables
        return eager

    contrib.__getattr__ = attribute
    contrib.__dir__ = lambda: sorted({*vars(contrib), "eager"})


def install(first=True):
    """Makes `import tensorflow` and `import keras` find Tapedeck. first: also where TensorFlow itself is installed, and
    tf.__version__ is that of the TensorFlow which Tapedeck follows; else only where it is not installed. Returns: what finds them."""
    uninstall()
    _watch_attribute()
    finder = Finder(first)
    sys.meta_path.insert(0, finder)
    return finder


def uninstall():
    """Takes back what install did. What was imported meanwhile stays."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, Finder)]


def begin_as_program(path):
    """A program of TensorFlow 1 that does not enable eager execution builds a graph from its first line on."""
    if graph_programs.builds_graph(path):
        v1_behavior()
        disable_eager_execution()


def run(path, arguments):
    """Runs the program in the file as `python3 path arguments` would, with `import tensorflow` giving Tapedeck."""
    install().examples = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    begin_as_program(path)
    program.run(path, arguments)
