"""tf.keras.callbacks: objects that follow training and may change it."""
from tapedeck._core.arguments import having
from tapedeck._core.public import public
from tapedeck.keras.models.compiled import number
from tapedeck.keras.progress_bar import Progbar

_HOOKS = ("on_epoch_begin", "on_epoch_end", "on_train_begin", "on_train_end", "on_test_begin", "on_test_end", "on_predict_begin",
          "on_predict_end", "on_train_batch_begin", "on_train_batch_end", "on_test_batch_begin", "on_test_batch_end",
          "on_predict_batch_begin", "on_predict_batch_end")


@public("keras.callbacks.Callback")
class Callback:
    """A base of callbacks: a subclass overrides the methods of the events that it handles. logs: a dict of the metrics' values.

    self.model is the model; self.params a dict of verbose, epochs and steps.
    """

    def __init__(self):
        self.params, self._model = None, None

    @property
    def model(self):
        """The model that is trained."""
        return vars(self).get("_model")

    def set_params(self, params):
        """Called with verbose, epochs and steps before anything else."""
        self.params = params

    def set_model(self, model):
        """Called with the model before anything else."""
        self._model = model

    def on_batch_begin(self, batch, logs=None):
        """Another name of on_train_batch_begin."""

    def on_batch_end(self, batch, logs=None):
        """Another name of on_train_batch_end."""

    def on_train_batch_begin(self, batch, logs=None):
        """Before each batch of fit()."""
        self.on_batch_begin(batch, logs)

    def on_train_batch_end(self, batch, logs=None):
        """After each batch of fit()."""
        self.on_batch_end(batch, logs)


def _nothing_said(name):
    def method(self, *args, **kwargs):
        """Called at the event that the name says; does nothing unless overridden."""

    method.__name__ = name
    method.__qualname__ = f"Callback.{name}"
    return method


for _name in _HOOKS:
    if not hasattr(Callback, _name):
        setattr(Callback, _name, _nothing_said(_name))


def _listens(callback, name):
    """Whether its class says what to do there."""
    own = getattr(type(callback), name, None)
    if name in ("on_train_batch_begin", "on_train_batch_end"):
        short = name.replace("train_", "")
        if getattr(type(callback), short, None) is not getattr(Callback, short) or short in vars(callback):
            return True
    return own is not None and own is not getattr(Callback, name) or name in vars(callback)


class _Numbers(dict):
    """Logs whose values become Python numbers when they are first read."""

    def __getitem__(self, name):
        return number(dict.__getitem__(self, name))

    def get(self, name, default=None):
        return self[name] if name in self else default

    def items(self):
        return [(name, self[name]) for name in self]

    def values(self):
        return [self[name] for name in self]


@public("keras.callbacks.CallbackList")
class CallbackList(Callback):
    """A list of callbacks. Each event calls only those that handle it."""

    def __init__(self, callbacks=None, add_history=False, add_progbar=False, model=None, **params):
        if isinstance(callbacks, CallbackList):
            callbacks = callbacks.callbacks
        self.callbacks = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks] if callbacks is not None else []
        self.params, self._model = params, model
        if add_progbar and not any(isinstance(each, ProgbarLogger) for each in self.callbacks):
            self.callbacks.append(ProgbarLogger())
        if add_history:
            known = [each for each in self.callbacks if isinstance(each, History)]
            history = known[0] if known else History()
            if not known:
                self.callbacks.append(history)
            vars(having(model, "CallbackList: model", "__dict__", "model"))["history"] = history
        for callback in self.callbacks:
            having(callback, "CallbackList: callbacks", "set_model", "Callback").set_model(model)
            callback.set_params(params)
        for name in _HOOKS:
            vars(self)[name] = self._telling(name)

    def append(self, callback):
        """Adds one."""
        self.callbacks.append(callback)
        callback.set_model(self._model)
        callback.set_params(self.params)
        for name in _HOOKS:
            vars(self)[name] = self._telling(name)

    def _telling(self, name):
        listening = [getattr(callback, name) for callback in self.callbacks if _listens(callback, name)]
        takes_number = "batch" in name or "epoch" in name
        batch = "batch" in name
        if not listening:
            return lambda *args: None
        only_bar = all(isinstance(each.__self__, ProgbarLogger) for each in listening if hasattr(each, "__self__"))

        def tell(*args):
            logs = args[1] if takes_number and len(args) > 1 else args[0] if not takes_number and args else None
            logs = {} if logs is None else _Numbers(logs) if batch and isinstance(logs, dict) and not only_bar else logs
            for each in listening:
                each(args[0], logs) if takes_number else each(logs)

        return tell

    def close(self):
        """Ends what is drawn, also where an interrupt stopped it."""
        for callback in self.callbacks:
            if isinstance(callback, ProgbarLogger):
                callback.close()


@public("keras.callbacks.History")
class History(Callback):
    """What fit() returns. history: {metric: a list of its values after each epoch}; epoch: the epochs' numbers."""

    def __init__(self):
        super().__init__()
        self.history, self.epoch = {}, []

    def on_train_begin(self, logs=None):
        self.epoch = []
        self.history = {}

    def on_epoch_end(self, epoch, logs=None):
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class _Everything:
    """Metrics have averaged themselves."""

    def __contains__(self, name):
        return True


@public("keras.callbacks.ProgbarLogger")
class ProgbarLogger(Callback):
    """Shows each epoch's progress, as fit()'s verbose says."""

    def __init__(self, count_mode=None, stateful_metrics=None):
        super().__init__()
        self._bar, self._testing_alone, self._steps, self._evaluating = None, False, 0, False

    def _begin(self, target):
        self._bar, self._steps = Progbar(target, verbose=self.params["verbose"], stateful_metrics=_Everything()), 0

    def _target(self):
        return self.params.get("steps")

    def on_train_begin(self, logs=None):
        self._training = True

    def on_epoch_begin(self, epoch, logs=None):
        if self.params["epochs"] > 1 and self.params["verbose"]:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}", flush=True)
        self._begin(self._known if vars(self).get("_known") else self._target())

    def on_train_batch_end(self, batch, logs=None):
        self._step(batch + 1, logs)

    def on_epoch_end(self, epoch, logs=None):
        self._known = self._steps
        self._end(logs)

    def on_test_begin(self, logs=None):
        if not vars(self).get("_training"):
            self._begin(self._target())

    def on_test_batch_end(self, batch, logs=None):
        if not vars(self).get("_training"):
            self._step(batch + 1, logs)

    def on_test_end(self, logs=None):
        if not vars(self).get("_training"):
            self._end(logs)

    def on_predict_begin(self, logs=None):
        self._begin(self._target())

    def on_predict_batch_end(self, batch, logs=None):
        self._step(batch + 1, None)

    def on_predict_end(self, logs=None):
        self._end(None)

    def _step(self, steps, logs):
        self._steps = steps
        if self._bar.due():
            self._bar.update(steps, list(logs.items()) if logs else (), finalize=False)

    def _end(self, logs):
        if self._bar is not None:
            self._bar.target = self._steps
            self._bar.update(self._steps, list((logs or {}).items()), finalize=True)

    def close(self):
        """Ends the current line."""
        if self._bar is not None:
            self._bar.close()


@public("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """A callback of functions: LambdaCallback(on_epoch_end=lambda epoch, logs: print(epoch))."""

    def __init__(self, on_epoch_begin=None, on_epoch_end=None, on_train_begin=None, on_train_end=None, on_train_batch_begin=None,
                 on_train_batch_end=None, on_batch_begin=None, on_batch_end=None, **kwargs):
        super().__init__()
        given = dict(on_epoch_begin=on_epoch_begin, on_epoch_end=on_epoch_end, on_train_begin=on_train_begin,
                     on_train_end=on_train_end,
                     on_train_batch_begin=on_train_batch_begin or on_batch_begin,
                     on_train_batch_end=on_train_batch_end or on_batch_end, **kwargs)
        for name, function in given.items():
            if function is not None:
                if name not in _HOOKS:
                    raise TypeError(f"LambdaCallback() got an unexpected keyword argument {name!r}")
                setattr(self, name, function)
