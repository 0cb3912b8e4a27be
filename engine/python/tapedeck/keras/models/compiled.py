"""What a model was compiled with: its losses and metrics, matched to its outputs."""
import numpy as np

from tapedeck import _engine
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck.keras.layers import calls
from tapedeck.keras.losses import lookup as losses
from tapedeck.keras.losses.base import Loss, LossFunctionWrapper
from tapedeck.keras.metrics import lookup as metrics
from tapedeck.keras.models.loss_tracker import LossTracker


def names_of(y_pred, output_names):
    """A name for each output: of a dict's keys, the model's own, else output_1, output_2, …"""
    if isinstance(y_pred, dict):
        return list(y_pred)
    count = len(y_pred) if isinstance(y_pred, (list, tuple)) else 1
    return list(output_names) if len(output_names) == count else [f"output_{number + 1}" for number in range(count)]


def aligned(structure, names, what):
    """What a structure has for each output: a dict by names, a list in order; one thing that is not a list for one output.
    ValueError where names or numbers do not fit."""
    if isinstance(structure, dict):
        unknown = [name for name in structure if name not in names]
        if unknown:
            raise ValueError(f"{what} has entries for {unknown}, which are not outputs of the model; these are {names}")
        return [structure.get(name) for name in names]
    if isinstance(structure, (list, tuple)) and (len(names) > 1 or len(structure) == 1):
        if len(structure) != len(names):
            raise ValueError(f"{what} has {len(structure)} entries; the model has {len(names)} outputs, {names}")
        return list(structure)
    if len(names) == 1 or structure is None:
        return [structure] * len(names)
    raise ValueError(f"{what} is one {type(structure).__name__}; the model has {len(names)} outputs, {names}")


def _fitted(y_true, y_pred):
    """y_true as a tensor, with a last axis of 1 where y_pred has that one more."""
    y_true = tensor(y_true)
    if y_true.ndim == y_pred.ndim - 1 and y_pred.shape[-1] == 1:
        return op("expand_dims")(y_true, -1)
    return y_true


def _with_mask(sample_weight, y_pred):
    """The weights, 0 where a layer's mask says that a step does not count."""
    mask = calls.mask_of(y_pred)
    if mask is None:
        return sample_weight
    mask = op("cast")(mask, y_pred.dtype)
    if sample_weight is None:
        return mask
    sample_weight = in_dtype(sample_weight, y_pred.dtype)
    while sample_weight.ndim < mask.ndim:
        sample_weight = op("expand_dims")(sample_weight, -1)
    return sample_weight * mask


def examples_in(y_pred):
    """The batch's size."""
    leaf = y_pred
    while isinstance(leaf, (dict, list, tuple)):
        leaf = next(iter(leaf.values())) if isinstance(leaf, dict) else leaf[0]
    return int(leaf.shape[0]) if leaf.ndim else 1


class CompiledLoss:
    """The sum of the outputs' losses, each with its weight.

    loss: a name, a function or a Loss for every output, or a list or a dict of them, None in it for an output without one.
    """

    def __init__(self, loss, loss_weights=None):
        self._given, self._given_weights = loss, loss_weights
        self.output_names = ()  # the model's, where it knows them; for calls that do not say them
        self._names, self._losses, self._weights, self.trackers = None, None, None, []
        self.total = LossTracker("loss")

    def build(self, names):
        """Finds the loss of each output."""
        given = self._given
        spread = given is None or not isinstance(given, (dict, list, tuple))
        losses = [given] * len(names) if spread else aligned(given, names, "loss")
        self._losses = [_loss_of(each) for each in losses]
        weights = self._given_weights
        if isinstance(weights, (int, float)):
            weights = [weights] * len(names)
        self._weights = aligned(weights, names, "loss_weights") if weights is not None else [None] * len(names)
        if any(isinstance(each, (list, tuple, dict)) for each in self._weights):
            raise ValueError(f"loss_weights is {self._given_weights!r}; needs one number for each of the outputs {names}")
        self._names = names
        if len(names) > 1:
            self.trackers = [LossTracker(f"{name}_loss") if loss is not None else None for name, loss in zip(names, self._losses)]

    def __call__(self, y_true, y_pred, sample_weight=None, regularization_losses=None, output_names=()):
        """The loss of a batch, a scalar; None where there is none. `metrics` follow it."""
        names = names_of(y_pred, output_names or self.output_names)
        if self._names != names:
            self.build(names)
        total = None
        if self._given is not None and y_true is not None:
            total = self._sum(aligned(y_true, names, "y"), aligned(y_pred, names, "y_pred"), sample_weight, names)
        for loss in regularization_losses or ():
            total = loss if total is None else total + (op("cast")(loss, total.dtype) if loss.dtype != total.dtype else loss)
        if total is not None:
            self.total.note(total, examples_in(y_pred))
        return total

    def _sum(self, y_true, y_pred, sample_weight, names):
        weights = aligned(sample_weight, names, "sample_weight") if isinstance(sample_weight, (dict, list, tuple)) else \
            [sample_weight] * len(names)
        total = None
        for place, (loss, true, pred) in enumerate(zip(self._losses, y_true, y_pred)):
            if loss is None or true is None:
                continue
            value = loss(_fitted(true, pred), pred, sample_weight=_with_mask(weights[place], pred))
            if value.ndim:
                value = op("reduce_mean")(value)
            if self.trackers and self.trackers[place] is not None:
                self.trackers[place].note(value, examples_in(y_pred))
            if self._weights[place] is not None:
                value = value * self._weights[place]
            total = value if total is None else total + value
        return total

    @property
    def metrics(self):
        """'loss', and where there are several outputs the loss of each."""
        return [self.total, *(each for each in self.trackers if each is not None)]

    def reset_state(self):
        """Forgets the batches."""
        for each in self.metrics:
            each.reset_state()


def _loss_of(identifier):
    found = losses.get(identifier)
    if found is None or isinstance(found, Loss):
        return found
    return LossFunctionWrapper(found, name=getattr(found, "__name__", type(found).__name__))


_BY_SHAPE = {"accuracy": ("binary_accuracy", "sparse_categorical_accuracy", "categorical_accuracy"),
             "crossentropy": ("binary_crossentropy", "sparse_categorical_crossentropy", "categorical_crossentropy")}
_BY_SHAPE.update(acc=_BY_SHAPE["accuracy"], ce=_BY_SHAPE["crossentropy"])


def _metric_of(identifier, y_true, y_pred):
    """A metric of a name, a function or a metric; 'accuracy' and 'crossentropy' by the shapes."""
    name = None
    if isinstance(identifier, str):
        name = identifier
        if identifier.lower() in _BY_SHAPE:
            binary, sparse, categorical = _BY_SHAPE[identifier.lower()]
            last = y_pred.shape[-1] if y_pred.ndim else 1
            is_sparse = y_true.ndim < y_pred.ndim or y_true.ndim and y_true.shape[-1] == 1 and last > 1
            identifier = binary if last == 1 else sparse if is_sparse else categorical
    found = metrics.get(identifier)
    if hasattr(found, "update_state"):
        if name is not None and name.islower():  # of a function; that of a class has the name of its own
            found.name = name
        return found
    return metrics.MeanMetricWrapper(found, name=name or getattr(found, "__name__", type(found).__name__))


class CompiledMetrics:
    """The outputs' metrics. metrics, weighted_metrics: a list for every output, lists of lists, or dicts of lists by output."""

    name = "compile_metrics"

    def __init__(self, metrics=None, weighted_metrics=None):
        self._given = metrics, weighted_metrics
        self.output_names = ()
        self._names, self._found = None, None  # for each output: [(metric, weighted)]
        self._shown = {}  # id → name of a metric whose own name another one has

    def build(self, names, y_true, y_pred):
        """Finds the metrics of each output, by its shapes."""
        self._found, self._shown, taken = [[] for _ in names], {}, set()
        for given, takes_weights in zip(self._given, (False, True)):
            for place, items in enumerate(_for_each_output(given, names)):
                for item in items:
                    if y_true[place] is None and item is not None:
                        continue
                    metric = _metric_of(item, _fitted(y_true[place], y_pred[place]), y_pred[place])
                    own = metric.name
                    if any(metric is other for other in self.metrics):
                        metric = _another(metric)  # each counts for itself
                    if len(names) > 1:
                        metric = _renamed(metric, f"{names[place]}_{metric.name}", _is_shared(item, given, names))
                    shown = metric.name
                    if shown in taken and takes_weights:
                        shown = f"{names[place]}_weighted_{own}" if len(names) > 1 else f"weighted_{own}"
                    self._shown[id(metric)] = _free(shown, taken)
                    self._found[place].append((metric, takes_weights))
        self._names = names

    def shown_name(self, metric):
        """The name of a metric's result: its own, or, as Keras has it, "weighted_accuracy" of a weighted metric beside another one
        of that name, and "accuracy_1", "accuracy_2" of what is still not unique."""
        return self._shown.get(id(metric), metric.name)

    def update_state(self, y_true, y_pred, sample_weight=None, output_names=()):
        """Takes a batch into account."""
        if not any(self._given) or y_true is None:
            return
        names = names_of(y_pred, output_names or self.output_names)
        y_true, y_pred = aligned(y_true, names, "y"), aligned(y_pred, names, "y_pred")
        if self._names != names:
            self.build(names, y_true, y_pred)
        weights = aligned(sample_weight, names, "sample_weight") if isinstance(sample_weight, (dict, list, tuple)) else \
            [sample_weight] * len(names)
        for place, found in enumerate(self._found):
            if not found or y_true[place] is None:
                continue
            true, mask = _fitted(y_true[place], y_pred[place]), _with_mask(None, y_pred[place])
            for metric, takes_weights in found:
                weight = _with_mask(weights[place], y_pred[place]) if takes_weights else mask
                metric.update_state(true, y_pred[place], **({} if weight is None else {"sample_weight": weight}))

    @property
    def metrics(self):
        """The metrics in their order; [] before the first batch."""
        return [metric for each in self._found or () for metric, _ in each]

    unweighted_metrics = metrics

    @property
    def variables(self):
        """The variables of the metrics."""
        return [variable for metric in self.metrics for variable in metric.variables]

    def result(self):
        """{name: result} of the metrics."""
        return {self.shown_name(metric): metric.result() for metric in self.metrics}

    def reset_state(self):
        """Forgets the batches."""
        for each in self.metrics:
            each.reset_state()

    reset_states = reset_state

    def __bool__(self):
        return any(self._given)


def _for_each_output(given, names):
    """A list of metrics for each output."""
    if given is None:
        return [[] for _ in names]
    if isinstance(given, dict):
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"metrics has entries for {unknown}, which are not outputs of the model; these are {names}")
        return [_as_list(given.get(name)) for name in names]
    given = _as_list(given)
    if any(isinstance(each, (list, tuple)) or each is None for each in given):
        if len(given) != len(names):
            raise ValueError(f"metrics has {len(given)} entries; the model has {len(names)} outputs, {names}")
        return [_as_list(each) for each in given]
    return [list(given) for _ in names]


def _as_list(value):
    return [] if value is None else list(value) if isinstance(value, (list, tuple)) else [value]


def _free(name, taken):
    """The name, with a number after it where it is taken; it is taken from now on."""
    found, number = name, 0
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _is_shared(item, given, names):
    return hasattr(item, "update_state") and len(names) > 1 and isinstance(given, (list, tuple)) and item in list(given)


def _another(metric):
    try:
        return type(metric).from_config(metric.get_config())
    except (NotImplementedError, TypeError) as error:
        raise _engine.InvalidArgumentError(
            f"compile: the metric {metric.name} ({type(metric).__name__}) is given more than once, and its get_config() does not give "
            f"what another one is made of ({error}): give each its own object") from error


def _renamed(metric, name, shared):
    if shared:
        metric = _another(metric)
    metric.name = name
    return metric


def number(value):
    """A metric's result as a Python number, or as an array where it has several."""
    if isinstance(value, (int, float)):
        return value
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array
