"""Puts the registry's op functions under their names: tf.matmul, tf.linalg.matmul, tf.math.log …"""
import importlib
import sys
import types

from tapedeck import _engine, composites, contrib
from tapedeck import (blocks, casts, control_flow, debugging, graph_collections, graphs, image_changes, image_colors,
                      image_fits, image_sizes, images, linalg, matrices, missing, modules, nn, nn_ctc, nn_images, nn_losses,
                      nn_volumes, printing, random, random_streams, reductions, refusals, rnn_cells, rnn_loops, segments,
                      selections, sequences, shaping, signal, sparse_tensors, templates, tensor_array, variable_scopes,
                      variables)

# Files whose public functions name themselves in refusals. control_flow, graphs and printing do that on their own: what a
# function that they call raises is not theirs; modules and tensor_array define classes.
_DEFINING = [blocks, casts, image_colors, image_sizes, image_changes, image_fits, images, matrices, nn_ctc, nn_losses,
             reductions, rnn_loops, segments, selections, sequences, sparse_tensors, debugging, linalg, nn, nn_images,
             nn_volumes, random, random_streams, shaping, signal, variables]

# Files of the package that hold code, but are no namespace that TensorFlow has.
_INTERNAL = {"as_tensorflow", "blocks", "casts", "checkpoint", "composites", "context", "control_flow", "creation", "custom",
             "eager_metrics", "eager_modes", "evaluator", "execution_callbacks", "explain", "functional",
             "generation", "graph_collections", "graphs", "idx", "image_changes", "image_colors", "image_fits", "image_sizes",
             "images", "indexed_slices", "lockstep", "matrices",
             "missing", "modules", "namespaces", "network", "network_checkpoints", "nn_ctc", "nn_images", "nn_losses",
             "nn_volumes", "printing", "program_state", "random_streams", "reductions", "references", "refusals", "rnn_cells", "rnn_loops",
             "segments", "selections", "sequences", "shapes", "shaping", "signatures", "sparse_tensors", "tape", "templates",
             "tensor_array", "test_case", "trackable", "variable_scopes", "variable_stores", "variables"}

# Functions of the package's Python files that TensorFlow has under other names too.
_ALIASES = {
    "einsum": "linalg.einsum", "linalg.transpose": "linalg.matrix_transpose",
    "matrix_transpose": "linalg.matrix_transpose", "matvec": "linalg.matvec",
    "tensordot": "linalg.tensordot", "linalg.tensordot": "linalg.tensordot", "diag": "linalg.tensor_diag",
    "diag_part": "linalg.tensor_diag_part", "cross": "linalg.cross",
    "cholesky_solve": "linalg.cholesky_solve", "logdet": "linalg.logdet", "matrix_solve_ls": "linalg.lstsq",
    "math.in_top_k": "nn.in_top_k", "math.l2_normalize": "nn.l2_normalize", "linalg.l2_normalize": "nn.l2_normalize",
}


def op_function(name):
    """The function of the op of that name: "matmul"."""
    return _engine.op_function(name)


def _home(root):
    """Says of every op's function where it is found: pickle asks, and profilers show it. Those that a Python function hides, or
    that are not public, are found in tapedeck.ops_by_name."""
    hidden = types.ModuleType("tapedeck.ops_by_name", "Functions of ops that have no name of their own under `tf.`.")
    places = {}
    for python_name, function in _engine.op_functions.items():
        path, _, name = python_name.rpartition(".")
        module = _submodule(path) if path else root
        if name == function.__name__ and getattr(module, name, None) is function:
            best = places.get(function)
            if best is None or module is root:
                places[function] = module
    for function in _engine._functions_by_op.values():
        function.__module__ = places.get(function, hidden).__name__
        if function not in places:
            if hasattr(hidden, function.__name__):
                raise AssertionError(f"two hidden ops have the Python name {function.__name__}")
            setattr(hidden, function.__name__, function)
    sys.modules[hidden.__name__] = hidden


def _submodule(path):
    """tapedeck.<path>: the package's own file where it has one, else a module made here."""
    full_name = f"tapedeck.{path}"
    if full_name not in sys.modules:
        if "." in path:
            _submodule(path.rpartition(".")[0])
        try:
            importlib.import_module(full_name)
        except ModuleNotFoundError as error:
            if error.name != full_name:
                raise
            module = types.ModuleType(full_name, f"TensorFlow's tf.{path}.")
            sys.modules[full_name] = module
            parent, _, name = full_name.rpartition(".")
            setattr(sys.modules[parent], name, module)
    return sys.modules[full_name]


def install(*python_functions):
    """Called once, at the end of the package's import, with the functions that the package's Python files add, by name.
    What a Python file defines stays."""
    root = sys.modules["tapedeck"]
    named = refusals.name_functions([*_DEFINING, contrib.rnn])
    for alias, origin in _ALIASES.items():
        module, name = origin.rsplit(".", 1)
        path, _, short = alias.rpartition(".")
        setattr(_submodule(path) if path else root, short, getattr(_submodule(module), name))
    everything = {**_engine.op_functions, **composites.PUBLIC}
    for functions in python_functions:
        everything.update(functions)
    for python_name, function in everything.items():
        path, _, name = python_name.rpartition(".")
        module = _submodule(path) if path else root
        if not hasattr(module, name):
            setattr(module, name, named.get(function, function))
    _home(root)
    root.set_random_seed = random.set_seed
    root.spectral = contrib.signal = sys.modules["tapedeck.contrib.signal"] = signal  # TensorFlow 1's names
    root.__all__ = [name for name in vars(root) if not name.startswith("_") and name not in _INTERNAL]
    missing.install(public_modules())


def public_modules():
    """The package and its public namespaces: those that a user reaches from `tf`."""
    found, waiting = [], [sys.modules["tapedeck"]]
    while waiting:
        module = waiting.pop(0)
        found.append(module)
        names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
        for name in names:
            child = vars(module).get(name)  # what comes at first use is not asked for here
            if isinstance(child, types.ModuleType) and child.__name__ == f"{module.__name__}.{name}":
                waiting.append(child)
    return found
