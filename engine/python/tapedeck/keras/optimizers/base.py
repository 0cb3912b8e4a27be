"""The base of tf.keras' optimisers."""
import inspect
import re
import warnings

import numpy as np

from tapedeck import _engine
from tapedeck._array import selections
from tapedeck._core import context, dtypes
from tapedeck._core.arguments import having, one_of
from tapedeck._core.composites import in_dtype, op, tensor
from tapedeck._core.public import public
from tapedeck._functions.host import called_by_graph
from tapedeck._gradients.tape import GradientTape
from tapedeck.keras import backend
from tapedeck.keras.layers.weights import snake_case
from tapedeck.keras.optimizers import schedules
from tapedeck.train.updates import as_float, dense, number_variable, SlotUpdater, value_of, values_of, with_values


def _first(initializer):
    """The initial value that the name of an initializer means."""
    return {"zeros": 0., "ones": 1.}[one_of(initializer, "initializer", ("zeros", "ones"))]


@public("keras.Optimizer", "keras.optimizers.Optimizer", "keras.optimizers.legacy.Optimizer")
class Optimizer(SlotUpdater):
    """A base of optimisers: those of tf.keras.optimizers, and users' own.

    learning_rate: a number, a LearningRateSchedule, or a function of no arguments; weight_decay: each step takes that part of the
    variable, times the learning rate, away; clipnorm, clipvalue, global_clipnorm: limits of each gradient's norm, of its elements,
    of all gradients' norm together; use_ema: averages of the variables are kept, of ema_momentum, and put into them every
    ema_overwrite_frequency steps, where that is given; loss_scale_factor: what the loss was multiplied by; gradients are divided by
    it; gradient_accumulation_steps: updates are made of the mean of as many gradients. `lr` and `decay` are the older names of
    learning_rate and of inverse time decay.

    Own ones override build(variables) and update_step(gradient, variable, learning_rate).
    Errors: ValueError for arguments that are none, and for several clips.
    """

    def __init__(self, learning_rate=0.001, weight_decay=None, clipnorm=None, clipvalue=None, global_clipnorm=None, use_ema=False,
                 ema_momentum=0.99, ema_overwrite_frequency=None, loss_scale_factor=None, gradient_accumulation_steps=None, name=None,
                 **kwargs):
        super().__init__()
        learning_rate = kwargs.pop("lr", learning_rate)
        self._decay = kwargs.pop("decay", 0.0) or 0.0
        if kwargs:
            raise ValueError(f"Argument(s) not recognized: {kwargs}")
        if sum(limit is not None for limit in (clipnorm, clipvalue, global_clipnorm)) > 1:
            raise ValueError("Only one of `clipnorm`, `clipvalue` and `global_clipnorm` can be set. Received: "
                             f"clipnorm={clipnorm}, clipvalue={clipvalue}, global_clipnorm={global_clipnorm}")
        for limit, number in ("clipnorm", clipnorm), ("clipvalue", clipvalue), ("global_clipnorm", global_clipnorm):
            if number is not None and number < 0:
                raise ValueError(f"{limit} is {number}; needs a number that is not negative")
        if use_ema and not 0 <= ema_momentum <= 1:
            raise ValueError(f"`ema_momentum` must be in the range [0, 1]. Received: ema_momentum={ema_momentum}")
        if gradient_accumulation_steps is not None and gradient_accumulation_steps < 2:
            raise ValueError("`gradient_accumulation_steps` must be an integer >= 2. Received: gradient_accumulation_steps="
                             f"{gradient_accumulation_steps}")
        self.name = name or backend.unique_name(snake_case(type(self).__name__))
        self.weight_decay, self.clipnorm, self.clipvalue, self.global_clipnorm = weight_decay, clipnorm, clipvalue, global_clipnorm
        self.use_ema, self.ema_momentum, self.ema_overwrite_frequency = use_ema, ema_momentum, ema_overwrite_frequency
        self.loss_scale_factor, self.gradient_accumulation_steps = loss_scale_factor, gradient_accumulation_steps
        self.built = False
        object.__setattr__(self, "_known", {})
        object.__setattr__(self, "_undecayed", (set(), []))
        self._iterations = number_variable(0, dtype=dtypes.int64, name=f"{self.name}/iteration", import_scope="")
        self._rate_variable = None
        self._set_rate(learning_rate)

    # ---- the learning rate ----

    _of_any_width = ("_rate_variable",)  # a file that was written under another floatx() has it in another dtype

    def _set_rate(self, rate):
        if isinstance(rate, dict):
            rate = schedules.deserialize(rate)
        if isinstance(rate, schedules.LearningRateSchedule) or callable(rate) and not isinstance(
                rate, (_engine.Tensor, _engine.Variable)):
            self._schedule = rate
            return
        if not isinstance(rate, (int, float, np.number, np.ndarray, _engine.Tensor, _engine.Variable)):
            raise ValueError("Argument `learning_rate` should be float, or an instance of LearningRateSchedule, or a callable (that "
                             f"takes in the current iteration value and returns the corresponding learning rate value). Received "
                             f"instead: learning_rate={rate}")
        self._schedule = None
        if isinstance(rate, _engine.Variable):
            self._rate_variable = rate
        elif self._rate_variable is None:
            dtype = rate.dtype if isinstance(rate, _engine.Tensor) else backend.floatx()
            self._rate_variable = number_variable(rate, dtype=dtype, name=f"{self.name}/learning_rate", import_scope="")
        else:
            self._rate_variable.assign(in_dtype(rate, self._rate_variable.dtype))

    def _build_learning_rate(self, rate):
        """Sets the learning rate, and returns what holds it: own optimisers of TensorFlow 2.11 to 2.15 call it in __init__."""
        self._set_rate(rate)
        return self._rate_variable if self._schedule is None else self._schedule

    @property
    def learning_rate(self):
        """The variable that holds it; or what the schedule gives for the step now."""
        if self._schedule is None:
            return self._rate_variable
        if isinstance(self._schedule, schedules.LearningRateSchedule):
            with context.device("/cpu:0"):
                return self._schedule(self._iterations)
        return self._schedule()

    @learning_rate.setter
    def learning_rate(self, rate):
        if self._schedule is not None and not (callable(rate) and not isinstance(rate, _engine.Variable)):
            raise TypeError("This optimizer was created with a `LearningRateSchedule` object as its `learning_rate` constructor "
                            "argument, hence its learning rate is not settable. If you need the learning rate to be settable, you "
                            "should instantiate the optimizer with a float `learning_rate` argument.")
        self._set_rate(rate)

    lr = learning_rate

    def _rate(self):
        """The learning rate of the step as Python's float: for the ops' numbers."""
        rate = as_float(self.learning_rate)
        return rate / (1.0 + self._decay * float(self.iterations)) if self._decay else rate

    @property
    def iterations(self):
        """How many updates there were, an int64 variable; with gradient_accumulation_steps a tensor."""
        steps = self.gradient_accumulation_steps
        return op("floordiv")(self._iterations, steps) if steps else self._iterations

    @iterations.setter
    def iterations(self, variable):
        if self.built:
            raise RuntimeError("Cannot set `iterations` to a new Variable after the Optimizer weights have been created.")
        self._iterations = variable

    # ---- variables ----

    def build(self, variables):
        """Makes the slots of the variables; otherwise the first update does."""
        self._known.update((id(variable), variable) for variable in variables)
        for variable in variables:
            self._create_slots(variable)
            if self.use_ema:
                self._slot(variable, "average")
            if self.gradient_accumulation_steps:
                self._slot(variable, "gradient_accumulator")
        self.built = True

    def _create_slots(self, variable):
        """The slots of one variable."""

    def add_variable_from_reference(self, reference_variable=None, name=None, initializer="zeros", model_variable=None,
                                    variable_name=None, initial_value=None):
        """A new variable of the shape of another one, its slot `name`. initializer: "zeros", "ones"; initial_value before it.
        model_variable and variable_name are older names of the first two arguments."""
        if model_variable is not None or variable_name is not None:
            reference_variable, name = (reference_variable if model_variable is None else model_variable), variable_name or name
        having(reference_variable, "add_variable_from_reference: reference_variable", "assign", "variable")
        first = _first(initializer) if initial_value is None else initial_value
        return self._slot(reference_variable, name, first)

    add_slot = add_variable_from_reference

    def add_variable(self, shape, initializer="zeros", dtype=None, name=None):
        """A new variable of the optimiser."""
        first = op("fill")(list(shape), tensor(_first(initializer), dtype or backend.floatx()))
        name = name or f"variable_{len(self._children())}"
        return self._track(name, _engine.Variable(first, trainable=False, name=f"{self.name}/{name}", import_scope=""))

    def _get_variable_index(self, variable):
        """The place of a variable among those that build() got: what own optimisers find their slots' lists by."""
        self._check_known([variable])
        return list(self._known).index(id(variable))

    @property
    def _index_dict(self):
        """{key: place} of the variables that build() got; the key is what _var_key returns: as own optimisers of TensorFlow 2.11 to
        2.15 find their slots."""
        return {key: place for place, key in enumerate(self._known)}

    def _var_key(self, variable):
        return id(variable)

    def get_slot(self, var, slot_name):
        """The slot of that name beside the variable; None where there is none."""
        return self._slot_of(var, slot_name)

    def get_slot_names(self):
        """The names of the slots."""
        return list(self._slot_table)

    def _slot_name(self, variable, name):
        return f"{self.name}/{variable.name.rpartition(':')[0].replace('/', '_')}_{name}"

    @property
    def variables(self):
        """The counter, the learning rate where it is a variable, and the slots, those of one variable after those of another."""
        rate = [self._rate_variable] if self._schedule is None else []
        slots = self._slots()
        own = [slot for known in self._known.values() for variable, _, slot in slots if variable is known]
        others = [child for child in self._children().values()
                  if isinstance(child, _engine.Variable) and child is not self._iterations and child is not self._rate_variable]
        return [self._iterations, *rate, *others, *own]

    weights = variables

    def get_weights(self):
        """The values of `variables`, as arrays."""
        return [variable.numpy() for variable in self.variables]

    def set_weights(self, weights):
        """Sets the values of `variables`. ValueError for another number of them."""
        own = self.variables
        if len(own) != len(weights):
            raise ValueError(f"Optimizer variables and weights do not match: {len(own)} variables, {len(weights)} weights")
        for variable, value in zip(own, weights):
            variable.assign(value)

    def exclude_from_weight_decay(self, var_list=None, var_names=None):
        """Variables that weight_decay leaves: these, and those whose name holds one of var_names, regular expressions. RuntimeError
        after build()."""
        if self.built:
            raise ValueError("`exclude_from_weight_decay()` can only be configured before the optimizer is built.")
        self._undecayed[0].update(id(variable) for variable in var_list or ())
        self._undecayed[1].extend(var_names or ())

    def _use_weight_decay(self, variable):
        excluded, patterns = self._undecayed
        return id(variable) not in excluded and not any(re.search(pattern, variable.name) for pattern in patterns)

    # ---- updates ----

    def minimize(self, loss, var_list, tape=None):
        """The gradients of the loss with respect to the variables, applied. Returns: iterations.

        loss: a function of no arguments, or with `tape` a tensor that it recorded; var_list: variables, or a function that gives
        them. Errors: ValueError for a tensor without its tape.
        """
        return self.apply_gradients(self.compute_gradients(loss, var_list, tape))

    def compute_gradients(self, loss, var_list, tape=None):
        """A list of (gradient, variable). The arguments are minimize()'s."""
        if not callable(loss) or isinstance(loss, (_engine.Tensor, _engine.Variable)):
            if tape is None:
                raise ValueError("`tape` is required when a `Tensor` loss is passed. Received: "
                                 f"loss={loss}, tape={tape}.")
        else:
            with (GradientTape() if tape is None else tape) as tape:
                if not callable(var_list):
                    tape.watch(var_list)
                loss = loss()
        variables = var_list() if callable(var_list) else var_list
        variables = [variables] if isinstance(variables, _engine.Variable) else list(variables)
        having(tape, "compute_gradients: tape", "gradient", "tf.GradientTape")
        return list(zip(tape.gradient(loss, variables), variables))

    def apply_gradients(self, grads_and_vars, name=None, **kwargs):
        """Updates the variables of (gradient, variable) pairs. Returns: iterations. Errors: those of apply()."""
        pairs = list(grads_and_vars)
        self.apply([gradient for gradient, _ in pairs], [variable for _, variable in pairs])
        return self.iterations

    def apply(self, grads, trainable_variables=None):
        """Updates the variables, those that build() was given where trainable_variables is None.

        A gradient of None leaves its variable, with a warning. Errors: ValueError where all are None, for another number of
        gradients than of variables, and for variables that came after build().
        """
        grads = list(grads)
        if not grads:
            return
        given = None if trainable_variables is None else list(trainable_variables)
        if called_by_graph("apply", lambda values: self.apply(values, given), grads):
            return
        if trainable_variables is None:
            if not self.built:
                raise ValueError("When passing `grads` without `variables`, the optimizer must already be built on a list of "
                                 "variables. Call `optimizer.build(trainable_variables)` first.")
            given = list(self._known.values())
        variables = given
        if len(grads) != len(variables):
            raise ValueError("When passing `grads` as a list of gradient tensors, the gradients must match `optimizer.variables` "
                             f"one-to-one. Received a list of {len(grads)} gradients, but the optimizer is tracking {len(variables)} "
                             "trainable variables.")
        if not self.built:
            self.build(variables)
        self._check_known(variables)
        pairs = _with_gradients(grads, variables)
        if self.loss_scale_factor:
            scale = 1.0 / float(value_of(self.loss_scale_factor))
            pairs = [(with_values(gradient, values_of(gradient) * scale), variable) for gradient, variable in pairs]
        if self.gradient_accumulation_steps:
            pairs = self._accumulated(pairs)
        if pairs:
            self._update(pairs)
        if self.use_ema:
            self._average()
        self._iterations.assign_add(1)

    def _check_known(self, variables):
        for variable in variables:
            if id(variable) not in self._known:
                raise ValueError(f"Unknown variable: {variable!r}. This optimizer can only be called for the variables it was "
                                 "originally built with. When working with a new set of variables, you should recreate a new "
                                 "optimizer instance.")

    def _accumulated(self, pairs):
        """The mean gradients where as many are together as are wanted, else nothing."""
        steps = self.gradient_accumulation_steps
        sums = [(self._slot(variable, "gradient_accumulator"), gradient, variable) for gradient, variable in pairs]
        if (int(self._iterations) + 1) % steps:
            for total, gradient, variable in sums:
                total.assign_add(dense(gradient, variable))
            return []
        means = [((total + dense(gradient, variable)) / float(steps), variable) for total, gradient, variable in sums]
        for total, _, _ in sums:
            total.assign(op("zeros_like")(total))
        return means

    def _update(self, pairs):
        rate = self._rate()
        pairs = self._clipped(pairs)
        if self.weight_decay is not None and not self._decays_itself:
            for _, variable in pairs:
                if self._use_weight_decay(variable):
                    variable.assign_sub(variable * (float(self.weight_decay) * rate))
        self._update_all(pairs, rate)
        for _, variable in pairs:
            if variable.constraint is not None:
                variable.assign(variable.constraint(variable.read_value()))

    _decays_itself = False

    def _clipped(self, pairs):
        if self.clipvalue is not None and self.clipvalue > 0:
            limit = float(self.clipvalue)
            return [(with_values(g, op("clip_by_value")(values_of(g), -limit, limit)), variable) for g, variable in pairs]
        if self.clipnorm is not None and self.clipnorm > 0:
            limit = float(self.clipnorm)
            return [(selections.clip_by_norm(g, limit), variable) for g, variable in pairs]
        if self.global_clipnorm is not None and self.global_clipnorm > 0:
            clipped, _ = selections.clip_by_global_norm([g for g, _ in pairs], float(self.global_clipnorm))
            return list(zip(clipped, (variable for _, variable in pairs)))
        return pairs

    def _update_all(self, pairs, rate):
        """What becomes of (gradient, variable) pairs."""
        takes_rate = len(inspect.signature(self.update_step).parameters) > 2  # own ones of TensorFlow 2.11 to 2.15 do not
        for gradient, variable in pairs:
            self.update_step(dense(gradient, variable), variable, *([tensor(rate, variable.dtype)] if takes_rate else []))

    def update_step(self, gradient, variable, learning_rate):
        """What becomes of one variable: for own optimisers, which assign to it."""
        raise NotImplementedError(f"{type(self).__name__} does not say what a step does: update_step")

    def assign(self, variable, value):
        """variable.assign(value)."""
        having(variable, "assign: variable", "assign", "variable").assign(in_dtype(value, variable.dtype))

    def assign_add(self, variable, value):
        """variable.assign_add(value)."""
        having(variable, "assign_add: variable", "assign", "variable").assign_add(in_dtype(value, variable.dtype))

    def assign_sub(self, variable, value):
        """variable.assign_sub(value)."""
        having(variable, "assign_sub: variable", "assign", "variable").assign_sub(in_dtype(value, variable.dtype))

    # ---- averages ----

    def _average(self):
        done = int(self.iterations)
        overwrite = self.ema_overwrite_frequency and (done + 1) % self.ema_overwrite_frequency == 0
        kept = self.ema_momentum if done else 0.0  # the first average is the value after the first step
        for variable in self._known.values():
            average = self._slot(variable, "average")
            numbers = [tensor(number, variable.dtype) for number in (kept, 1.0 - kept)]
            average.assign(op("axpby")(numbers[0], average, numbers[1], variable))
            if overwrite:
                variable.assign(average)

    def finalize_variable_values(self, var_list):
        """Puts the averages into the variables, with use_ema: at the end of training."""
        for variable in var_list if self.use_ema else ():
            variable.assign(self._slot_of(variable, "average"))

    def scale_loss(self, loss):
        """The loss times loss_scale_factor, where there is one."""
        return loss if self.loss_scale_factor is None else loss * float(value_of(self.loss_scale_factor))

    # ---- configs ----

    def get_config(self):
        """The arguments that it was made with, by name."""
        rate = self._schedule
        if rate is None:
            rate = float(self._rate_variable)
        elif isinstance(rate, schedules.LearningRateSchedule):
            rate = schedules.serialize(rate)
        config = {"name": self.name, "learning_rate": rate}
        for key in ("weight_decay", "clipnorm", "global_clipnorm", "clipvalue", "use_ema", "ema_momentum", "ema_overwrite_frequency",
                    "loss_scale_factor", "gradient_accumulation_steps"):
            config[key] = getattr(self, key)
        if self._decay:
            config["decay"] = self._decay
        return {**config, **{key: getattr(self, key) for key in self._config_names}}

    _config_names = ()

    @classmethod
    def from_config(cls, config, custom_objects=None):
        """The optimiser of these arguments."""
        config = dict(config)
        if isinstance(config.get("learning_rate"), dict):
            config["learning_rate"] = schedules.deserialize(config["learning_rate"], custom_objects)
        return cls(**config)


def _with_gradients(grads, variables):
    pairs = [(gradient, variable) for gradient, variable in zip(grads, variables) if gradient is not None]
    if not pairs:
        raise ValueError("No gradients provided for any variable.")
    if len(pairs) < len(variables):
        missing = [variable.name for gradient, variable in zip(grads, variables) if gradient is None]
        warnings.warn(f"Gradients do not exist for variables {missing} when minimizing the loss. If using `model.compile()`, did you "
                      "forget to provide a `loss` argument?", stacklevel=4)
    return pairs
