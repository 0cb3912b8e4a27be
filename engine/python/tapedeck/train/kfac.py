"""K-FAC: natural gradients with a Fisher matrix of Kronecker products.

Sources: J. Martens, R. Grosse, "Optimizing Neural Networks with Kronecker-factored Approximate Curvature", 2015 (dense layers;
running averages: section 5; damping: section 6.3); R. Grosse, J. Martens, "A Kronecker-factored approximate Fisher matrix for
convolution layers", 2016 (equations 30 and 31 for the factors); J. Ba, R. Grosse, J. Martens, "Distributed Second-Order
Optimization using Kronecker-Factored Approximations", 2017 (the limit of the step's KL divergence: section 5).
"""
import numpy as np

from tapedeck import _engine
from tapedeck._core.composites import op
from tapedeck._core.public import public
from tapedeck._debugging import assertions as debugging
from tapedeck._gradients.tape import GradientTape
from tapedeck._linalg import functions as linalg
from tapedeck.train.kfac_layers import factored_layers, watching
from tapedeck.train.optimizer import Optimizer
from tapedeck.train.updates import as_float, dense

_PREDICTIVE = {"normal", "categorical"}
_MODES = {"empirical", "sampled", "exact"}


class Factored:
    """What K-FAC adds to an optimiser of either form: the factors of a model's layers, and steps along natural gradients."""

    needs_loss_function = True  # gradients alone say nothing of the layers' inputs

    def _set_up(self, model, damping, cov_ema_decay, momentum, norm_constraint, inverse_update_interval, estimation_mode,
                predictive):
        name = type(self).__name__
        if estimation_mode not in _MODES:
            raise ValueError(f"{name}: estimation_mode is {estimation_mode!r}; must be one of {sorted(_MODES)}")
        if predictive not in (_PREDICTIVE | {None}) or (predictive is None and estimation_mode != "empirical"):
            raise ValueError(f"{name}: predictive is {predictive!r}; estimation_mode {estimation_mode!r} needs one of "
                             f"{sorted(_PREDICTIVE)}")
        object.__setattr__(self, "_model", model)
        if model is not None:
            factored_layers(model)
        self._damping, self._cov_ema_decay = damping, cov_ema_decay
        self._momentum, self._norm_constraint, self._interval = momentum, norm_constraint, inverse_update_interval
        self._mode, self._predictive = estimation_mode, predictive
        self._estimates, self._steps = 0, 0
        object.__setattr__(self, "_seen", {})  # id of a kernel → LayerSeen of the newest evaluation
        object.__setattr__(self, "_inverses", {})  # id of a kernel → (of A, of G), damped

    @property
    def wants_outputs(self):
        """Whether the loss function returns (loss, outputs)."""
        return self._mode != "empirical"

    def _own_state(self):
        return {"estimates": self._estimates}

    def _set_own_state(self, state):
        self._estimates = int(state["estimates"])

    def _evaluated(self, loss, var_list, grad_loss=None):
        """A list of (gradient, variable) of a loss function; the factors are brought up to date meanwhile."""
        name = type(self).__name__
        if self._model is None:
            raise ValueError(f"{name}: there is no model; give one, or compile a model with it")
        with watching(factored_layers(self._model)) as seen, GradientTape(persistent=self.wants_outputs) as tape:
            value = loss()
        if isinstance(value, (tuple, list)):
            value, outputs = value
        elif self.wants_outputs:
            raise ValueError(f"{name}: estimation_mode {self._mode!r} needs a loss function that returns (loss, outputs)")
        seen = [each for each in seen if each.outputs]
        if not seen:
            raise ValueError(f"{name}: the loss called no Dense and no Conv2D layer of the model")
        variables = list(tape.watched_variables()) if var_list is None else list(var_list)
        points = [output for each in seen for output in each.outputs]
        if self._mode == "empirical":
            found = tape.gradient(value, [*variables, *points], grad_loss)
            gradients, at_points = found[:len(variables)], [(found[len(variables):], True)]
        else:
            gradients = tape.gradient(value, variables, grad_loss)
            at_points = [(tape.gradient(outputs, points, weights), False) for weights in self._directions(outputs)]
        self._update_factors(seen, at_points)
        return list(zip(gradients, variables))

    def _directions(self, outputs):
        """Weights B of the outputs with E[B·Bᵀ] the Fisher matrix of what is predicted."""
        shape = list(outputs.shape)
        if self._mode == "sampled":
            if self._predictive == "normal":
                return [op("random_normal")(shape, dtype=outputs.dtype)]
            drawn = op("random_categorical")(outputs, 1)[:, 0]
            return [op("softmax")(outputs) - op("one_hot")(drawn, shape[1], dtype=outputs.dtype)]
        units = np.eye(shape[1])
        if self._predictive == "normal":
            return [_engine.constant(np.broadcast_to(unit, shape).copy(), outputs.dtype, None) for unit in units]
        chances = op("softmax")(outputs)
        roots = op("sqrt")(chances)
        return [roots[:, k:k + 1] * (_engine.constant(units[k:k + 1], outputs.dtype, None) - chances) for k in range(shape[1])]

    def _update_factors(self, seen, at_points):
        self._estimates += 1
        kept = min(1.0 - 1.0 / self._estimates, as_float(self._cov_ema_decay))
        first = 0
        for each in seen:
            last = first + len(each.outputs)
            rows = each.input_rows()
            examples = float(each.examples)
            places = rows.shape[0] / examples
            self._average(each.layer.kernel, "input_factor", _product(rows, 1.0 / examples), kept)
            total = None
            for gradients, of_mean in at_points:
                weight = (examples if of_mean else 1.0 / examples) / places
                part = _product(each.gradient_rows(gradients[first:last]), weight)
                total = part if total is None else total + part
            self._average(each.layer.kernel, "output_factor", total, kept)
            self._seen[id(each.layer.kernel)] = each
            first = last

    def _average(self, kernel, name, estimate, kept):
        old = self._slot_of(kernel, name)
        if old is None:
            restored = self._restored_slot(kernel, name)
            old = self._slot(kernel, name, estimate)
            if restored is None:
                return
        numbers = [_engine.constant(number, estimate.dtype, None) for number in (kept, 1.0 - kept)]
        old.assign(op("axpby")(numbers[0], old, numbers[1], estimate))

    def _inverse(self, kernel):
        """(A + π√λ)⁻¹ and (G + √λ/π)⁻¹ of a layer."""
        inputs, outputs = self._slot_of(kernel, "input_factor"), self._slot_of(kernel, "output_factor")
        means = [op("cast")(op("trace")(factor), "float64") / factor.shape[0] for factor in (inputs, outputs)]
        ratio = op("where")(op("minimum")(*means) > 0, op("sqrt")(op("divide_no_nan")(*means)), op("ones_like")(means[0]))
        root = as_float(self._damping) ** 0.5
        return _damped_inverse(inputs, ratio * root), _damped_inverse(outputs, root / ratio)

    def _preconditioned(self, pairs):
        """The pairs with natural gradients in place of those of the layers that were seen."""
        by_variable = {id(variable): dense(gradient, variable) for gradient, variable in pairs}
        natural = dict(by_variable)
        anew = self._steps % self._interval == 0
        for each in self._seen.values():
            if any(id(variable) not in by_variable for variable in each.variables):
                continue
            key = id(each.layer.kernel)
            if anew or key not in self._inverses:
                self._inverses[key] = self._inverse(each.layer.kernel)
            of_inputs, of_outputs = self._inverses[key]
            matrix = each.as_matrix([by_variable[id(variable)] for variable in each.variables])
            step = op("matmul")(op("matmul")(of_inputs, matrix), of_outputs)
            natural.update(zip(map(id, each.variables), each.as_gradients(step)))
        return [(natural[id(variable)], by_variable[id(variable)], variable) for _, variable in pairs]

    def _natural_step(self, pairs, rate):
        """Updates the variables of (gradient, variable) pairs."""
        found = self._preconditioned(pairs)
        steps, scale = [(step, variable) for step, _, variable in found], 1.0
        if self._norm_constraint is not None:
            slopes = [op("cast")(op("dot")(step, gradient), "float64") for step, gradient, _ in found]
            divergence = op("add_n")(slopes) * (rate * rate)
            within = op("minimum")(op("sqrt")(op("divide_no_nan")(as_float(self._norm_constraint), divergence)), 1.0)
            scale = op("where")(divergence > 0, within, op("ones_like")(within))
            steps = [(step * op("cast")(scale, step.dtype), variable) for step, variable in steps]
        debugging.health("K-FAC/damping", as_float(self._damping))
        debugging.health("K-FAC/step scale", scale)
        self._run("momentum", steps, (("momentum", 0.0),), (rate, as_float(self._momentum)), (False,))
        self._steps += 1


@public("train.KFACOptimizer")
class KFACOptimizer(Factored, Optimizer):
    """Steps along (A ⊗ G + damping)⁻¹·gradient, a block for each Dense and Conv2D layer of a model; other variables take the
    gradient.

        optimizer = tf.train.KFACOptimizer(model, learning_rate=0.1, damping=1e-2)
        optimizer.minimize(lambda: loss(model(images), labels))

    A is the average of the layer's inputs' products, G that of the products of gradients of what it computes before the activation,
    of each example. Both are running averages that forget with cov_ema_decay, and variables: get_slot(kernel, "input_factor") and
    "output_factor". The loss must be a mean over examples.

    model: a tf.keras model or layer, a tfe.Network, or a list of them; damping: λ, of which A gets √λ·π and G √λ/π, where π weighs
    their traces; inverse_update_interval: the inverses are made anew after as many steps; momentum: of the updates;
    norm_constraint: the most that learning_rate²·(step · gradient) may be, None for any.
    estimation_mode: where G comes from: "empirical" takes the loss's own gradients; "sampled" targets drawn from what the model
    predicts; "exact" all directions, one backward pass for each output. The last two need `predictive`, "normal" (outputs are means
    of variance 1) or "categorical" (outputs are logits), and a loss function that returns (loss, outputs), outputs of two axes.
    Errors: TypeError for an object without layers; ValueError for other modes, and where the model has no such layer.
    """

    def __init__(self, model, learning_rate=0.1, damping=1e-2, cov_ema_decay=0.95, momentum=0.9, norm_constraint=None,
                 inverse_update_interval=10, estimation_mode="empirical", predictive=None, name="KFAC"):
        super().__init__(False, name)
        self._set_up(model, damping, cov_ema_decay, momentum, norm_constraint, inverse_update_interval, estimation_mode, predictive)
        self._learning_rate = learning_rate

    def compute_gradients(self, loss, var_list=None, gate_gradients=Optimizer.GATE_OP, aggregation_method=None,
                          colocate_gradients_with_ops=False, grad_loss=None):
        """A list of (gradient, variable), as Optimizer's; the factors are brought up to date meanwhile."""
        if not callable(loss) or isinstance(loss, (_engine.Tensor, _engine.Variable)):
            raise RuntimeError("`loss` passed to Optimizer.compute_gradients should be a function when eager execution is enabled.")
        return self._evaluated(loss, var_list, grad_loss)

    def _apply_all(self, pairs):
        self._natural_step(pairs, as_float(self._learning_rate))


def _product(rows, weight):
    return op("matmul")(rows, rows, transpose_a=True) * weight


def _damped_inverse(factor, damping):
    size = factor.shape[0]
    eye = _engine.constant(np.eye(size), factor.dtype, None)
    return linalg.cholesky_solve(op("cholesky")(factor + eye * op("cast")(damping, factor.dtype)), eye)
