"""compile, fit, evaluate and predict."""
from operator import attrgetter

import numpy as np

from tapedeck import _engine
from tapedeck._core import nest
from tapedeck._gradients.tape import GradientTape
from tapedeck.keras.callbacks.base import CallbackList
from tapedeck.keras.callbacks.files import TensorBoard
from tapedeck.keras.callbacks.live_curves import LiveCurves
from tapedeck.keras.losses import lookup as losses
from tapedeck.keras.metrics import lookup as metrics
from tapedeck.keras.models import compiled, data_feed
from tapedeck.keras.models.data_feed import feed_of, unpack
from tapedeck.keras.optimizers import lookup as optimizers
from tapedeck.keras.utils.objects import serialize_keras_object

_NOT_COMPILED = "You must call `compile()` before using the model."


class _Results(dict):
    """{name: result} of metrics, computed when it is first read: those of most steps never are."""

    _plain = dict  # what a traced function returns in its place

    def __init__(self, metrics, compiled_metrics):
        super().__init__()
        self._metrics = metrics
        self._name_of = _names_by(compiled_metrics)

    def _read(self):
        metrics, self._metrics = self._metrics, None
        for metric in metrics or ():
            result = metric.result()
            self.update(result if isinstance(result, dict) else {self._name_of(metric): result})
        return self


def _names_by(compiled_metrics):
    """The function that gives the name of a metric's result."""
    return attrgetter("name") if compiled_metrics is None else compiled_metrics.shown_name


def _reading(name):
    plain = getattr(dict, name)

    def method(self, *args):
        return plain(self._read() if self._metrics is not None else self, *args)

    method.__name__ = name
    return method


for _name in ("__getitem__", "__iter__", "__len__", "__contains__", "__eq__", "__or__", "__repr__", "keys", "values", "items", "get",
              "pop", "copy"):
    setattr(_Results, _name, _reading(_name))


class _Known:
    """What a model is made of while it is gone through an epoch, so that not every step looks for it."""

    def __init__(self, model):
        self.variables, self.metrics = model.trainable_variables, model.metrics
        self._layers = list(model._flatten_layers())

    def has_losses(self):
        """Whether some layer may have a loss."""
        return any(layer._losses_now or layer._losses_always or layer._regularized for layer in self._layers)


class Trainer:
    """What a model knows of training."""

    def _init_training(self):
        own = vars(self)
        own["stop_training"] = False
        own["_compiled"] = None
        own["compiled_loss"], own["compiled_metrics"] = None, None
        own.setdefault("optimizer", None)
        own["loss"], own["history"], own["_known"] = None, None, None

    # ---- compile ----

    def compile(self, optimizer="rmsprop", loss=None, metrics=None, loss_weights=None, weighted_metrics=None, run_eagerly=None,
                steps_per_execution=None, jit_compile=None, **kwargs):
        """Configures the model for training.

        optimizer, loss, metrics: names or objects; of a model with several outputs loss, metrics and loss_weights may be lists in
        the outputs' order, or dicts by their names. metrics: 'accuracy' is the one that fits the shapes. weighted_metrics: metrics
        that get sample_weight and class_weight too. run_eagerly, steps_per_execution and jit_compile change nothing: all is eager.
        Errors: ValueError for names that none has; TypeError for other keyword arguments.
        """
        unknown = set(kwargs) - {"auto_scale_loss", "distribute", "target_tensors", "sample_weight_mode"}
        if unknown:
            raise TypeError(f"compile() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        if not hasattr(optimizer, "apply_gradients"):
            optimizer = optimizers.get(optimizer)
        self.optimizer = optimizer
        if hasattr(optimizer, "use_model"):
            optimizer.use_model(self)
        own = vars(self)
        own["loss"] = loss
        own["compiled_loss"] = compiled.CompiledLoss(loss, loss_weights)
        own["compiled_metrics"] = compiled.CompiledMetrics(metrics, weighted_metrics)
        own["compiled_loss"].output_names = own["compiled_metrics"].output_names = tuple(self.output_names)
        own["_compiled"] = dict(optimizer=optimizer, loss=loss, metrics=metrics, loss_weights=loss_weights,
                                weighted_metrics=weighted_metrics)
        own["stop_training"] = False

    @property
    def compiled(self):
        """Whether compile() was called."""
        return self._compiled is not None

    run_eagerly = property(lambda self: True, lambda self, value: None, doc="True: all is eager. Setting it changes nothing.")

    def get_compile_config(self):
        """What compile() was called with, as what JSON holds; None where it was not."""
        if self._compiled is None:
            return None
        return {**{name: serialize_keras_object(value) for name, value in self._compiled.items()},
                "optimizer": serialize_keras_object(self.optimizer)}

    def compile_from_config(self, config):
        """Compiles with what get_compile_config returned."""
        kinds = {"optimizer": optimizers, "loss": losses, "metrics": metrics, "weighted_metrics": metrics}
        self.compile(**{name: _of_config(value, kinds.get(name)) for name, value in config.items()})

    def _require_compiled(self):
        if vars(self).get("_compiled") is None and not _defines(self, "train_step"):
            raise ValueError(_NOT_COMPILED)

    # ---- metrics ----

    @property
    def metrics(self):
        """The metrics: 'loss', those of compile(), and those in the model's attributes and its layers.

        A model with a train_step or test_step of its own sees those of compile() as one, named 'compile_metrics': it is there
        before the first batch, finds each output's metrics in update_state(y, y_pred, sample_weight), and its result is a dict.
        """
        found = []
        if vars(self).get("compiled_loss") is not None:
            found += self.compiled_loss.metrics
            found += [self.compiled_metrics] if self.compiled_metrics and self._has_own_step() else self.compiled_metrics.metrics
        for layer in self._flatten_layers():
            found += layer._parts()[2]
        return list({id(each): each for each in found}.values())

    @property
    def metrics_names(self):
        """The names of the metrics, in the order of what evaluate() returns. Those of compile() are known after the first batch."""
        return [_names_by(self.compiled_metrics)(each) for metric in self.metrics
                for each in (metric.metrics if metric is self.compiled_metrics else [metric])]

    def _has_own_step(self):
        return _defines(self, "train_step") or _defines(self, "test_step")

    def reset_metrics(self):
        """Resets the state of all metrics."""
        for metric in self.metrics:
            metric.reset_state()

    def get_metrics_result(self):
        """{name: result} of all metrics."""
        return dict(_Results(self.metrics, self.compiled_metrics).items())

    # ---- one step ----

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """The loss of a batch, a scalar: that of compile() and those that layers added."""
        names = self.output_names or vars(self).get("_output_names", [])
        loss = self.compiled_loss(y, y_pred, sample_weight, self._losses_of_layers(), names)
        if loss is None:
            raise ValueError("No loss to compute. Provide a `loss` argument in `compile()`, or add one with `add_loss`.")
        return loss

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """Shows a batch to the metrics of compile(). Returns: {name: result} of all metrics."""
        if self.compiled_metrics is not None:
            self.compiled_metrics.update_state(y, y_pred, sample_weight, self.output_names)
        if _defines(self, "get_metrics_result"):
            return self.get_metrics_result()
        return _Results(self.metrics if self._known is None else self._known.metrics, self.compiled_metrics)

    def _losses_of_layers(self):
        return self.losses if self._known is None or self._known.has_losses() else ()

    def train_step(self, data):
        """Trains on one batch, (x, y) or (x, y, sample_weight) of tensors. Returns: {name: value} of what is to be shown. To be
        overridden by models that train otherwise."""
        x, y, sample_weight = unpack(data)
        if getattr(self.optimizer, "needs_loss_function", False):
            y_pred = self._minimized(x, y, sample_weight)
            return self.compute_metrics(x, y, y_pred, sample_weight)
        with GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = self.compute_loss(x, y, y_pred, sample_weight)
        variables = self.trainable_variables if self._known is None else self._known.variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def _minimized(self, x, y, sample_weight):
        """The outputs, after a step of an optimiser that calls the loss function itself."""
        outputs = []

        def loss():
            outputs[:] = [self(x, training=True)]
            value = self.compute_loss(x, y, outputs[0], sample_weight)
            return (value, outputs[0]) if self.optimizer.wants_outputs else value

        if not self.built:
            self(x, training=True)  # so that there are variables
        self.optimizer.minimize(loss, var_list=self.trainable_variables)
        return outputs[0]

    def test_step(self, data):
        """Evaluates one batch. Returns: as train_step. To be overridden by models that evaluate otherwise."""
        x, y, sample_weight = unpack(data)
        y_pred = self(x, training=False)
        if self.compiled_loss is not None:
            self.compiled_loss(y, y_pred, sample_weight, self._losses_of_layers(), self.output_names)
        return self.compute_metrics(x, y, y_pred, sample_weight)

    def predict_step(self, data):
        """The outputs for one batch. To be overridden by models that predict otherwise."""
        return self(unpack(data)[0], training=False)

    # ---- fit ----

    def fit(self, x=None, y=None, batch_size=None, epochs=1, verbose="auto", callbacks=None, validation_split=0.0,
            validation_data=None,
            shuffle=True, class_weight=None, sample_weight=None, initial_epoch=0, steps_per_epoch=None, validation_steps=None,
            validation_batch_size=None, validation_freq=1, max_queue_size=10, workers=1, use_multiprocessing=False):
        """Trains the model.

        x: arrays or tensors of examples along the first axis, or structures of these, with y alike; or a tf.data.Dataset, a
        generator or a tf.keras.utils.Sequence of batches (x, y) or (x, y, sample_weight). batch_size: of arrays, 32 for None.
        epochs: the number of the last one, initial_epoch of the first. verbose: 'auto' or 1 for a bar that is rewritten, 2 for a
        line an epoch, which 1 gives too where the output is neither a terminal nor a notebook, 0 for nothing. validation_split:
        which part of arrays, at their end, is not trained on but evaluated after an epoch; validation_data: what else is: (x, y),
        (x, y, sample_weight), or batches. shuffle: arrays are gone through in a new order in each epoch, which tf.random.set_seed
        says. class_weight: {class: weight}. steps_per_epoch: batches of an epoch, None for all. validation_freq: after how many
        epochs, or after which, it is evaluated. max_queue_size, workers and use_multiprocessing change nothing.
        An optimiser with use_ema puts its averages into the variables at the end.
        In a notebook the metrics are drawn as curves of Plots meanwhile, unless a TensorBoard callback draws its own.
        Returns: a tf.keras.callbacks.History; its `history` has a list of numbers for each metric.
        Errors: ValueError for a model that was not compiled, and data that do not fit one another.
        """
        self._require_compiled()
        feed = feed_of(x, y, sample_weight, batch_size, steps_per_epoch, shuffle, class_weight)
        if validation_split:
            if not isinstance(feed, data_feed.ArrayFeed):
                raise ValueError("`validation_split` is only supported for tensors or NumPy arrays, found other data")
            if validation_data is None:
                feed, validation_data = feed.split(validation_split)
        validation = _validation_feed(validation_data, validation_batch_size or batch_size, validation_steps)
        listeners = CallbackList(callbacks, add_history=True, add_progbar=_verbosity(verbose) != 0, model=self,
                                 verbose=_verbosity(verbose), epochs=epochs, steps=feed.steps)
        if _engine.debug.recording() and not any(isinstance(each, TensorBoard) for each in listeners.callbacks):
            listeners.append(LiveCurves())
        vars(self)["stop_training"] = False
        listeners.on_train_begin()
        logs = {}
        try:
            for epoch in range(max(initial_epoch, vars(self).pop("_resumed_epoch", 0)), epochs):
                self.reset_metrics()
                listeners.on_epoch_begin(epoch)
                logs = self._train_epoch(feed, listeners)
                if validation is not None and _is_due(validation_freq, epoch):
                    found = self._evaluate(validation, listeners)
                    logs = {**logs, **{f"val_{name}": value for name, value in found.items()}}
                listeners.on_epoch_end(epoch, logs)
                feed.epoch_ended()
                if self.stop_training:
                    break
            if getattr(self.optimizer, "use_ema", False):
                self.optimizer.finalize_variable_values(self.trainable_variables)
        finally:
            listeners.close()
        listeners.on_train_end(logs)
        return self.history

    def _train_epoch(self, feed, listeners):
        """Trains on the batches of one pass. Returns the metrics at its end."""
        logs, step = None, -1
        try:
            for step, batch in enumerate(feed.epoch()):
                listeners.on_train_batch_begin(step)
                logs = _flat(self.train_step(batch))
                self._learn_of_itself(step)
                listeners.on_train_batch_end(step, logs)
                if self.stop_training:
                    break
        finally:
            vars(self)["_known"] = None
        if step < 0:
            raise ValueError("Unexpected result of `train_function` (Empty Logs). The data has no batches: it may be empty, or a "
                             "generator that was gone through before.")
        return _numbers(logs)

    def _learn_of_itself(self, step):
        if step == 0:  # the first step may make variables and metrics
            vars(self)["_known"] = _Known(self)

    def _evaluate(self, feed, listeners):
        self.reset_metrics()
        feed.restart()
        listeners.on_test_begin()
        logs, step = {}, -1
        try:
            for step, batch in enumerate(feed.epoch()):
                listeners.on_test_batch_begin(step)
                logs = _flat(self.test_step(batch))
                self._learn_of_itself(step)
                listeners.on_test_batch_end(step, logs)
        finally:
            vars(self)["_known"] = None
        if step < 0:
            raise ValueError("evaluate: the data has no batches")
        logs = _numbers(logs)
        listeners.on_test_end(logs)
        return logs

    # ---- evaluate and predict ----

    def evaluate(self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, steps=None, callbacks=None,
                 return_dict=False, max_queue_size=10, workers=1, use_multiprocessing=False, **kwargs):
        """The loss and the metrics over data. The arguments are those of fit.

        Returns: a list of numbers in the order of metrics_names, a number where there is one; a dict with return_dict.
        """
        self._require_compiled()
        feed = feed_of(x, y, sample_weight, batch_size, steps)
        listeners = CallbackList(callbacks, add_progbar=_verbosity(verbose) != 0, model=self,
                                 verbose=_verbosity(verbose), epochs=1, steps=feed.steps)
        try:
            logs = self._evaluate(feed, listeners)
        finally:
            listeners.close()
        if return_dict:
            return logs
        return list(logs.values()) if len(logs) > 1 else next(iter(logs.values()))

    def predict(self, x, batch_size=None, verbose="auto", steps=None, callbacks=None, max_queue_size=10, workers=1,
                use_multiprocessing=False):
        """The outputs for all examples: NumPy arrays in the outputs' structure. The arguments are those of fit."""
        feed = feed_of(x, None, None, batch_size, steps)
        listeners = CallbackList(callbacks, add_progbar=_verbosity(verbose) != 0, model=self,
                                 verbose=_verbosity(verbose), epochs=1, steps=feed.steps)
        parts, structure = [], None
        listeners.on_predict_begin()
        try:
            for step, batch in enumerate(feed.epoch()):
                listeners.on_predict_batch_begin(step)
                structure = self.predict_step(batch)
                parts.append([np.asarray(each) for each in nest.flatten(structure)])
                listeners.on_predict_batch_end(step, {"outputs": structure})
        finally:
            listeners.close()
        listeners.on_predict_end()
        if not parts:
            raise ValueError("predict: the data has no batches")
        joined = [np.concatenate(each) if each[0].ndim else np.stack(each) for each in zip(*parts)]
        return nest.pack_sequence_as(structure, joined) if nest.is_nested(structure) else joined[0]

    # ---- single batches ----

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, reset_metrics=True, return_dict=False):
        """Trains on one batch of arrays. Returns: as evaluate, of this batch, or with reset_metrics False of all since
        reset_metrics()."""
        self._require_compiled()
        return self._on_batch(self.train_step, x, y, sample_weight, class_weight, reset_metrics, return_dict)

    def test_on_batch(self, x, y=None, sample_weight=None, reset_metrics=True, return_dict=False):
        """Evaluates one batch of arrays. Returns: as evaluate, of this batch, or with reset_metrics False of all since
        reset_metrics()."""
        self._require_compiled()
        return self._on_batch(self.test_step, x, y, sample_weight, None, reset_metrics, return_dict)

    def _on_batch(self, step, x, y, sample_weight, class_weight, reset, return_dict):
        feed = data_feed.ArrayFeed(x, y, sample_weight, batch_size=2**62, class_weight=class_weight)
        if reset:
            self.reset_metrics()
        logs = _numbers(step(_first_batch(feed)))
        if return_dict:
            return logs
        return list(logs.values()) if len(logs) > 1 else next(iter(logs.values()))

    def predict_on_batch(self, x):
        """The outputs for one batch of arrays: NumPy arrays in the outputs' structure."""
        batch = _first_batch(data_feed.ArrayFeed(x, batch_size=2**62))
        return nest.map_structure(np.asarray, self.predict_step(batch))


def _first_batch(feed):
    batch = next(feed.epoch(), None)
    if batch is None:
        raise ValueError("The data has no examples, so there is no batch")
    return batch


def _of_config(value, module):
    """The objects of a structure of configs."""
    if isinstance(value, dict) and "class_name" in value:
        return module.deserialize(value)
    if isinstance(value, dict):
        return {name: _of_config(each, module) for name, each in value.items()}
    return [_of_config(each, module) for each in value] if isinstance(value, list) else value


def _defines(model, name):
    return getattr(type(model), name) is not getattr(Trainer, name)


def _flat(logs):
    """Logs with the entries of the dicts among their values in these dicts' places."""
    if isinstance(logs, _Results) or not isinstance(logs, dict) or not any(isinstance(value, dict) for value in logs.values()):
        return logs
    return dict(pair for name, value in logs.items() for pair in (value.items() if isinstance(value, dict) else [(name, value)]))


def _numbers(logs):
    """Logs with Python numbers in place of tensors."""
    if not isinstance(logs, dict):
        raise ValueError(f"train_step and test_step return a dict of names and values; this one returned {type(logs).__name__}")
    return {name: compiled.number(value) for name, value in _flat(logs).items()}


def _verbosity(verbose):
    return 1 if verbose in ("auto", True) else int(verbose)


def _is_due(frequency, epoch):
    if isinstance(frequency, int):
        if frequency < 1:
            raise ValueError(f"`validation_freq` is {frequency}; must be at least 1")
        return (epoch + 1) % frequency == 0
    return epoch + 1 in frequency


def _validation_feed(data, batch_size, steps):
    if data is None:
        return None
    if data_feed.is_arrays(data):
        if isinstance(data, (tuple, list)) and len(data) in (2, 3):
            return feed_of(*data, *[None] * (3 - len(data)), batch_size, steps)
        raise ValueError("`validation_data` needs (x, y), (x, y, sample_weight), or a dataset, generator or Sequence of such "
                         f"batches; it is a {type(data).__name__}")
    return feed_of(data, steps=steps)
