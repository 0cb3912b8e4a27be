"""tfe.save_network_checkpoint and tfe.restore_network_checkpoint: a network's variables in files by their names."""
import os
import weakref

from tapedeck import _engine
from tapedeck._checkpoint.reader import list_variables, load_checkpoint
from tapedeck._checkpoint.saver import Saver
from tapedeck._core.arguments import having
from tapedeck._core.public import public
from tapedeck._tfe.network import Network
from tapedeck.layers.base import Layer
from tapedeck.train.steps import get_global_step


def _conflict(network, variables, mapped):
    first, second = (variable.name.removesuffix(":0") for variable in variables)
    return (f"The default checkpoint variable name mapping strategy for Network '{network.name}' resulted in a naming conflict. "
            f"The variable prefix of the Network ('{network.scope_name}') was stripped off, but this gave two variables named "
            f"'{mapped}' (originally '{first}' and '{second}'). This happens with layers that were first added to another Network "
            "and have that Network's prefix. Pass `map_func=lambda n: n` to save and restore to use whole names, or another "
            "mapping")


def _restore_conflict(network, variables, mapped, by_user):
    if not by_user:
        return _conflict(network, variables, mapped)
    first, second = (variable.name.removesuffix(":0") for variable in variables)
    return (f"The map_func passed to restore_network_checkpoint for the Network '{network.name}' resulted in two variables named "
            f"'{mapped}' (originally '{first}' and '{second}'). It maps whole names of variables to names in the checkpoint, when "
            f"saving and when restoring. Names of this Network's variables begin with '{network.scope_name}'")


def _without_prefix(network):
    prefix = network.scope_name + "/"
    return lambda name: name.removeprefix(prefix)


def _place(network, save_path):
    """A folder means the file in it that has the network's name."""
    if not os.path.isdir(save_path):
        return os.fspath(save_path)
    return os.path.join(save_path, network.name.replace("/", "_"))


@public("tfe.save_network_checkpoint")
def save_network_checkpoint(network, save_path, global_step=None, map_func=None):
    """Saves the network's variables by their names.

    save_path: a file's path, or a folder, in which the file is called as the network is. global_step: "-STEP" in the file's name;
    None for the default global step where there is one. map_func: a function of a variable's whole name, "my_network/dense/kernel",
    that gives its name in the file; None takes the network's prefix off: "dense/kernel".
    Returns: what restore_network_checkpoint takes.
    Errors: ValueError before the network was first called, and where two variables get one name.
    """
    having(network, "save_network_checkpoint: network", "_finalize_name", "tfe.Network")
    if not network.built:
        raise ValueError("Attempt to save the Network before it was first called. This means variables have not yet been created, "
                         "so there is nothing to save.")
    network._set_scope()
    mapping = map_func or _without_prefix(network)
    named = {}
    for variable in network.variables:
        mapped = mapping(variable.name.removesuffix(":0"))
        known = named.setdefault(mapped, variable)
        if known is not variable:
            if map_func is None:
                raise ValueError(_conflict(network, (known, variable), mapped))
            raise ValueError(f"The map_func passed to save_network_checkpoint for the Network '{network.name}' resulted in two "
                             f"variables named '{mapped}' ('{known.name.removesuffix(':0')}' and "
                             f"'{variable.name.removesuffix(':0')}'). Strip less from the variables' names, or rename parts of the "
                             "Network")
    step = get_global_step() if global_step is None else global_step
    return Saver(named).save(save_path=_place(network, save_path), global_step=step)


class _Deferred:
    """Values of a checkpoint for variables that are not made yet."""

    def __init__(self, network, map_func, by_user, values):
        self._network, self._map_func, self._by_user = weakref.ref(network), map_func, by_user
        self._names = network.name, network.scope_name
        self.values, self._restored = values, {}

    def value(self, name):
        """(whether the checkpoint has a value for the variable of that whole name, the value; None where it was handed out)"""
        mapped = self._map_func(name)
        return mapped in self.values, self.values.get(mapped)

    def made(self, name, variable):
        """The variable of that name was made. ValueError where another one got its value."""
        mapped = self._map_func(name)
        self.values[mapped] = None
        known = self._restored.setdefault(mapped, variable)
        if known is not variable:
            network = self._network() or _Named(*self._names)
            raise ValueError(_restore_conflict(network, (known, variable), mapped, self._by_user))


class _Named:
    def __init__(self, name, scope_name):
        self.name, self.scope_name = name, scope_name


def _deferring_getter(deferred):
    """A custom getter that gives variables the values of a list of _Deferred, the last first."""
    def custom_getter(getter, name, *args, **kwargs):
        for each in reversed(deferred):
            found, value = each.value(name)
            if found:
                if value is not None:
                    kwargs.update(initializer=value, shape=None, dtype=None)
                variable = getter(name, *args, **kwargs)
                each.made(name, variable)
                return variable
        return getter(name, *args, **kwargs)

    return custom_getter


def _defer(layer, deferred):
    """Gives the layer, and those in it, values for variables that come later; what is deferred last counts first."""
    if isinstance(layer, Network):
        layer._set_scope()
    waiting = vars(layer).setdefault("_deferred", [])
    waiting.append(deferred)
    if isinstance(layer, Layer):
        layer._scope.set_custom_getter(_deferring_getter(waiting))
    else:
        prefix = vars(layer)["_scope_text"]
        vars(layer)["_restored_value"] = lambda name, *_, **__: next(
            (value for found, value in (each.value(prefix + name) for each in reversed(waiting)) if found), None)
    for inner in layer._layers if isinstance(layer, Network) else ():
        if not isinstance(inner, Network):
            if inner.built:
                continue
            layer._set_scope_of(inner)
        _defer(inner, deferred)


@public("tfe.restore_network_checkpoint")
def restore_network_checkpoint(network, save_path, map_func=None):
    """Restores the network's variables from a checkpoint that save_network_checkpoint wrote: those that there are at once, others
    when they are made. What is restored later counts.

    save_path: what save_network_checkpoint returned, or a folder. map_func: as when saving.
    Errors: ValueError where there is no checkpoint, and where two variables get one name; NotFoundError for a variable that is not
    in it; InvalidArgumentError for another shape.
    """
    having(network, "restore_network_checkpoint: network", "_finalize_name", "tfe.Network")
    network._finalize_name(None)
    network._set_scope()
    save_path = _place(network, save_path)
    mapping = map_func or _without_prefix(network)
    existing = {}
    for variable in network.variables:
        mapped = mapping(variable.name.removesuffix(":0"))
        known = existing.setdefault(mapped, variable)
        if known is not variable:
            raise ValueError(_restore_conflict(network, (known, variable), mapped, map_func is not None))
    if existing:
        Saver(existing).restore(save_path=save_path)
    reader = load_checkpoint(save_path)
    wanted = [name for name, _ in list_variables(save_path) if name not in existing]
    values = {name: _engine.convert_to_tensor(reader.get_tensor(name)) for name in wanted}
    if values:
        _defer(network, _Deferred(network, mapping, map_func is not None, values))
