"""A hook of its own inside of a recorded program: a TorchDispatchMode that copies what random ops read and made at the moment when they
ran. When the program has ended, and has overwritten what it overwrites, each of these values is asked for as a window asks for it.
"""
import json
import os
import random
import secrets

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

MOST_ELEMENTS = 20_000  # of a value that is copied


def parts_of(number):
    return [number.real, number.imag] if isinstance(number, complex) else [float(number)]


def copy_of(value):
    """The tensors in an argument or a result, in order, as (dtype, shape, numbers); None in their place where they are
    sparse or too many, or where there are none: forward mode has tensors on the device `meta`, and zeros without memory."""
    if isinstance(value, torch.Tensor):
        if (value.layout != torch.strided or value.device.type == "meta" or value.numel() > MOST_ELEMENTS
                or value._is_zerotensor()):
            return [(str(value.dtype).removeprefix("torch."), list(value.shape), None)]
        with torch.no_grad():
            flat = value.detach().resolve_conj().resolve_neg().reshape(-1)
        return [(str(value.dtype).removeprefix("torch."), list(value.shape),
                 [part for number in flat.tolist() for part in parts_of(number)])]
    if isinstance(value, (list, tuple)):
        return [copy for item in value for copy in copy_of(item)]
    return []


def read_by(func, args, kwargs):
    """Copies of what the schema has tensors for; where the program gave a number, the record has a tensor that it did not: [None] * 3."""
    found = []
    for place, argument in enumerate(func._schema.arguments):
        value = args[place] if place < len(args) else kwargs.get(argument.name)
        if "Tensor" in str(argument.type):
            found += [[None] * 3] if isinstance(value, (bool, int, float, complex)) else copy_of(value)
    return found


class Witness(TorchDispatchMode):
    """Keeps `count` of all calls that it sees, each with the same probability: a reservoir."""

    def __init__(self, count, seed, newest_record):
        super().__init__()
        self.calls, self.kept = 0, []
        self._count, self._random, self._newest_record = count, random.Random(seed), newest_record

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func.namespace == "profiler":  # marks of PyTorch's own, which have no records
            return func(*args, **kwargs)
        self.calls += 1
        place = self._random.randrange(self.calls)
        if place >= self._count:
            return func(*args, **kwargs)
        with _disable_current_modes():
            read = read_by(func, args, kwargs)
        result = func(*args, **kwargs)
        with _disable_current_modes():
            seen = dict(op=str(func), record=self._newest_record(), read=read, made=copy_of(result))
        if len(self.kept) < self._count:
            self.kept.append(seen)
        else:
            self.kept[place] = seen
        return result


def run(path, place):
    """Runs the program recorded and served, and writes PLACE.json: what came of the comparison. TAPEDECK_WITNESS in the environment is
    JSON of count, seed, budget (bytes, or None), and maybe the device on which its tensors are made."""
    from debug_client import Client
    from run_programs import plain
    from shown_values import Comparison
    from tapedeck import _engine
    from tapedeck._debugging.assertions import save_trace
    from tapedeck._session import torch_programs
    options = json.loads(os.environ["TAPEDECK_WITNESS"])
    entry = dict(endpoint=f"ipc://{place}.socket", key=secrets.token_hex(16), protocol_version=_engine.debug.PROTOCOL_VERSION)
    budget = {} if options["budget"] is None else dict(budget_bytes=options["budget"])
    _engine.debug.start(entry["endpoint"], entry["key"].encode(), **budget)
    torch_programs.install()
    if options.get("device", "cpu") != "cpu":
        torch.set_default_device(options["device"])
    with Witness(options["count"], f"{options['seed']} {os.path.basename(path)}", _engine.torch.newest_record) as witness:
        plain(path)
    with _disable_current_modes(), Client(entry) as client:
        comparison = Comparison(client)
        for seen in witness.kept:
            comparison.look_at(seen)
        save_trace(place + ".tapetrace")
    with open(place + ".json", "w", encoding="utf-8") as file:
        json.dump(dict(calls=witness.calls, ops=len(witness.kept), values=comparison.values, problems=comparison.problems,
                       sources=comparison.sources, lost=comparison.lost, kept=witness.kept), file)
