"""Loads every file that names something under `tf.`, but those that come at first use."""
# ruff: noqa: F401, F811  (files of several folders have one name, and none of the names is used here)
from tapedeck._core import (  # first: dtypes tells the engine its classes
    dtypes, context, creation, errors, indexed_slices, nest, printing, shapes, trackable, version)
from tapedeck import (
    _gfile, _initializers, _losses, _metrics, _signal, _strings, compat, config, contrib, data, experimental, io,
    summary)
from tapedeck._autograph import api
from tapedeck._array import blocks, selections, sequences, shaping
from tapedeck._checkpoint import manager, objects, python_state, reader, saver, state
from tapedeck._client import (
    default_session, iterators as graph_iterators, modes, placeholders, session, tensors as graph_tensors,
    training as graph_training, variables as graph_variables)
from tapedeck._core.public import later, same
from tapedeck._debugging import assertions, plots
from tapedeck._gradients import autodiff, custom, functional, symbolic, tape
from tapedeck._functions import function
from tapedeck._graph import collections, control_flow, functions, modules, tensor_array
from tapedeck._image import changes, colors, fits, images, sizes
from tapedeck._linalg import functions as linalg, matrices
from tapedeck._math import casts, reductions, segments
from tapedeck._nn import ctc, functions as nn, images as nn_images, losses, rnn_cells, rnn_loops, volumes
from tapedeck._random import distributions, streams
from tapedeck._sparse import arithmetic, forms, lookup, reductions, tensors
from tapedeck._tfe import callbacks, evaluator, metrics, modes, network, network_checkpoints
from tapedeck._variables import scopes, stores, templates, variables
from tapedeck.keras import (
    activations, backend, backend_functions, constraints, mixed_precision, named_objects, progress_bar, random, regularizers)
from tapedeck.keras.callbacks import base, files, watching
from tapedeck.keras.layers import (
    activation, attention, base, convolution, core, input_spec, merging, normalization, pooling, preprocessing, random_images,
    recurrent, recurrent_cells, regularization, reshaping, wrappers)
from tapedeck.keras.losses import base, classes, functions, lookup
from tapedeck.keras.metrics import accuracy, base, confusion, curves, lookup, means, regression, scores
from tapedeck.keras.models import clones, data_feed, graph_config, model, saving, sequential, symbolic
from tapedeck.keras.optimizers import base, kfac, layerwise, lookup, schedules, standard
from tapedeck.keras.preprocessing import pictures, words
from tapedeck.keras.utils import arrays, objects
from tapedeck.layers import base, core, normalization
from tapedeck.train import contrib_optimizers, decays, kfac, lbfgs, optimizer, optimizers, steps

same("", "compat.v1", "compat.v2")
same("gfile", "io.gfile")
same("keras.optimizers", "optimizers")
same("nest", "contrib.framework.nest")
same("signal", "spectral", "contrib.signal")
same("tfe", "contrib.eager")
for _namespace in ("app", "flags", "logging", "contrib.cudnn_rnn", "contrib.learn"):  # few programs use them
    later(f"tapedeck.{_namespace}", _namespace)
later("tapedeck._saved_model.saving", *(f"saved_model.{_name}" for _name in (
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY", "LoadOptions", "PREDICT_INPUTS", "PREDICT_OUTPUTS", "SERVING", "SaveOptions", "TRAINING",
    "contains_saved_model", "load", "save")))
for _name in ("boston_housing", "california_housing", "cifar10", "cifar100", "imdb", "mnist", "reuters"):
    later(f"tapedeck.keras._datasets.{_name}", f"keras.datasets.{_name}.load_data")
later("tapedeck.keras._datasets.idx", "keras.datasets.fashion_mnist.load_data")
later("tapedeck.keras._datasets.imdb", "keras.datasets.imdb.get_word_index")
later("tapedeck.keras._datasets.reuters", "keras.datasets.reuters.get_word_index")
later("tapedeck._client.options", "ConfigProto", "GPUOptions", "GraphOptions", "OptimizerOptions", "RunMetadata", "RunOptions")
later("tapedeck._client.summaries", "Summary")
later("tapedeck._debugging.lockstep", "debugging.LockstepReport", "debugging.lockstep")
later("tapedeck._gradients.explain", "explain_no_gradient")
later("tapedeck.summary.event_files", "contrib.summary.summary_test_util.events_from_file",
      "contrib.summary.summary_test_util.events_from_logdir")
later("tapedeck.summary.step_writer", "tfe.SummaryWriter")
later("tapedeck._test.functions", "test.compute_gradient", "test.get_temp_dir", "test.gpu_device_name", "test.is_built_with_cuda",
      "test.is_gpu_available")
later("tapedeck._test.case", "test.Benchmark", "test.TestCase", "test.main")  # Python's unittest takes its time
