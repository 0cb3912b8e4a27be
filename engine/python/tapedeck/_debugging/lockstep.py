"""tf.debugging.lockstep: runs one function under two settings and stops at the first op that differs."""
import contextlib
import os

import numpy as np

from tapedeck import _engine
from tapedeck._core import context, dtypes, nest
from tapedeck._core.composites import require_callable
from tapedeck._core.public import public
from tapedeck._debugging.program_state import ProgramState

_lockstep = _engine.lockstep
_WIDTHS = [dtypes.float64, dtypes.float32, dtypes.float16, dtypes.bfloat16]  # fewer digits come later
_FIELDS = ("dtype", "threads", "device", "seed")


class Setting:
    """What one run of a lockstep is under; None: as the program has it."""

    def __init__(self, given, place):
        if given is None:
            given = {}
        elif isinstance(given, str):
            given = {"device": given}
        elif not isinstance(given, dict):
            given = {name: getattr(given, name) for name in _FIELDS if hasattr(given, name)} or {"": given}
        unknown = [name for name in given if name not in _FIELDS]
        if unknown:
            raise TypeError(f"lockstep: {place} is {given.get('', given)!r}; needs a dict of dtype, threads, device and seed, or a "
                            "device's name")
        self.dtype, self.threads, self.device, self.seed = (given.get(name) for name in _FIELDS)
        if self.dtype is not None:
            self.dtype = dtypes.as_dtype(self.dtype)
            if not self.dtype.is_floating:
                raise _engine.InvalidArgumentError(f"lockstep: dtype of {place} is {self.dtype.name}; needs float16, bfloat16, float32 "
                                                   "or float64")
        if self.threads is not None and (not isinstance(self.threads, int) or isinstance(self.threads, bool) or self.threads < 1):
            raise _engine.InvalidArgumentError(f"lockstep: threads of {place} is {self.threads!r}; needs an integer of at least 1")
        if self.device is not None:
            self.device = _engine.check_device(self.device)

    def __str__(self):
        parts = [self.dtype and self.dtype.name, self.threads and f"{self.threads} thread{'s' * (self.threads > 1)}", self.device,
                 None if self.seed is None else f"seed {self.seed}"]
        return ", ".join(part for part in parts if part) or "as it is"

    __repr__ = __str__


@contextlib.contextmanager
def _under(setting, state, one_has_dtype):
    threads = _engine.thread_count()
    try:
        if setting.threads is not None:
            _engine.set_thread_count(setting.threads)
        if one_has_dtype:
            _lockstep.open_floating(setting.dtype)
            if setting.dtype is not None:
                state.assign_floating()
        if setting.seed is not None:
            _engine.set_random_seed(setting.seed)
        with context.device(setting.device or _engine.open_device()):
            yield
    finally:
        _lockstep.close_floating()
        _engine.set_thread_count(threads)


@public("debugging.LockstepReport")
class LockstepReport:
    """Two runs that agree.

    ops: how many were compared; largest: the largest difference within the tolerance, over the largest magnitude of its tensor (0.0:
    all values are the same), and where, a dict: op (its number), name, cell, file, line, index, first, second, absolute, relative,
    records; None where there is none. statistics_only: of how many ops the first run's values were no longer held, so that only their
    statistics (all bits, extremes, norm, 64 samples) were compared. held_bytes: what was held. results: what the function returned,
    variables as their values.
    """

    def __init__(self, found, settings, results):
        self.ops, self.statistics_only, self.held_bytes = found["ops"], found["statistics_only"], found["held_bytes"]
        self.largest, self.settings, self.results = found["largest"], settings, results
        self.where = None
        if self.largest:
            values, first, second = found["where"], found["first"], found["second"]
            self.where = {"op": second["op"], "name": second["name"], "cell": second["cell"], "file": second["file"],
                          "line": second["line"], "index": values["index"], "first": values["first"], "second": values["second"],
                          "absolute": values["absolute"], "relative": values["relative"],
                          "records": (first["record"], second["record"])}

    def __repr__(self):
        if self.where is None:
            text = "all values are the same"
        else:
            text = (f"the largest difference is {self.where['absolute']:.3g}, {self.largest:.2g} of the tensor's largest magnitude, at op "
                    f"{self.where['op']}, {self.where['name']}{_place(self.where)}")
        left = f"; of {self.statistics_only} only statistics were compared" if self.statistics_only else ""
        return f"<lockstep of {self.ops} ops ({self.settings[0]} / {self.settings[1]}): {text}{left}>"


def _place(event):
    if not event["line"]:
        return ""
    where = "the cell" if event["cell"] else os.path.basename(event["file"])
    return f" (line {event['line']} of {where})"


def _named(event):
    if event["kind"] == "op":
        return f"op {event['op']}, {event['name']}"
    return f"the {event['kind']} of {event['name']}" if event["kind"] != "playback" else "a tape's playback"


def _number(value, dtype):
    """With as many digits as the dtype has."""
    if dtype.is_bool:
        return str(bool(value))
    return f"{value:.0f}" if dtype.is_integer else f"{value:.{9 if dtype.size > 4 else 7}g}"


def _allowed(difference):
    parts = [f"{difference['rtol']:.2g} of the value"] if difference["rtol"] else []
    if difference["atol"]:
        parts.append(f"{difference['atol']:.2g}")
    if difference["share"]:
        parts.append(f"{difference['share']:.2g} of the tensor's largest")
    return f"; {' and '.join(parts)} are allowed" if parts else ""


def _value_text(difference, settings):
    first, second, values = difference["first"], difference["second"], difference["values"]
    output = second["outputs"][difference["output"]]
    which = f"output {difference['output']}" if len(second["outputs"]) > 1 else "the output"
    dtypes_of = [first["outputs"][difference["output"]].dtype if first["outputs"] is not None else output.dtype, output.dtype]
    if output.dtype == dtypes.string:
        text = f"{values['wrong']} of {output.shape.num_elements()} texts of {which} differ"
    elif values["index"] < 0:
        text = f"{which} has other values"
    else:
        index = _index(values["index"], output.shape)
        place = f"element {list(index)} of {which}" if index else which
        text = (f"{place} is {_number(values['first'], dtypes_of[0])} in the first run ({settings[0]}) and "
                f"{_number(values['second'], dtypes_of[1])} in the second ({settings[1]}), a difference of {values['absolute']:.3g} "
                f"(relative: {values['relative']:.2g}){_allowed(difference)}")
        if not difference["statistics_only"] and output.shape.num_elements() > 1:
            text += f"; {values['wrong']} of {output.shape.num_elements()} elements differ so"
    apart = difference["inputs_apart"]
    if apart is not None and second["inputs"]:
        text += ". Its inputs are the same" if apart == 0 else f". Its inputs differ by {apart:.2g} of their largest magnitude"
    if difference["statistics_only"]:
        text += ". Of the first run's values only statistics were left; a larger limit_bytes keeps them"
        if first["record"]:
            text += f", and the window computes those of record {first['record']} again"
    return text


def _index(flat, shape):
    return tuple(int(each) for each in np.unravel_index(flat, tuple(shape))) if len(shape) else ()


def _shapes_text(difference):
    def described(event):
        if event["outputs"] is None:
            one = event["statistics"][difference["output"]]
            return f"{one['dtype']} {tuple(one['shape'])}"
        tensor = event["outputs"][difference["output"]]
        return "None" if tensor is None else f"{tensor.dtype.name} {tuple(tensor.shape)}"

    return f"its output is {described(difference['first'])} in the first run and {described(difference['second'])} in the second"


def _sentence(difference, settings, lasting):
    first, second, reason = difference["first"], difference["second"], difference["reason"]
    runs = f"(first: {settings[0]}; second: {settings[1]})"
    if reason == "value":
        text = f"{_named(second)}{_place(second)}: {_value_text(difference, settings)}"
    elif reason == "shape":
        text = f"{_named(second)}{_place(second)}: {_shapes_text(difference)} {runs}"
    elif reason == "failure":
        text = f"{_named(first)}{_place(first)} failed in the first run and not in the second {runs}"
    elif reason == "sequence":
        text = (f"the runs part: the first goes on with {_named(first)}{_place(first)}, the second with {_named(second)}{_place(second)} "
                f"{runs}")
    elif reason == "longer":
        text = f"the runs part: the first ended, the second goes on with {_named(second)}{_place(second)} {runs}"
    else:
        text = f"the runs part: the second ended, the first went on with {_named(first)}{_place(first)} {runs}"
    if lasting and reason in ("sequence", "longer", "shorter"):
        text += f". The function made variables that stayed ({', '.join(lasting[:3])}): call it once before"
    records = [event["record"] for event in (first, second) if event["record"]]
    if records:
        text += f". Record{'s' if len(records) > 1 else ''} {' and '.join(map(str, records))}"
    return f"lockstep: {text}."


def _raised(difference, settings, lasting):
    """The exception of a difference, with all that is known of it."""
    error = _engine.LockstepDifference(_sentence(difference, settings, lasting))
    first, second, values = difference["first"], difference["second"], difference["values"]
    at = second if difference["reason"] != "shorter" else first
    error.reason, error.settings = difference["reason"], settings
    error.number, error.op_name, error.kind = at["op"], at["name"], at["kind"]
    error.cell, error.file, error.line = at["cell"], at["file"], at["line"]
    error.inputs, error.outputs = (first["inputs"], second["inputs"]), (first["outputs"], second["outputs"])
    error.statistics, error.statistics_only = first["statistics"], difference["statistics_only"]
    error.records = (first["record"], second["record"])
    error.output, error.index = difference["output"], None
    error.absolute, error.relative, error.wrong = values["absolute"], values["relative"], values["wrong"]
    if difference["reason"] == "value" and values["index"] >= 0:
        error.index = _index(values["index"], second["outputs"][difference["output"]].shape)
    error.inputs_apart = difference["inputs_apart"]
    return error


def _values(results):
    """What the function returned, with values for variables, which do not live on because of it."""
    def value(leaf):
        return leaf.read_value() if isinstance(leaf, _engine.Variable) else leaf

    try:
        return nest.map_structure(value, results)
    except (TypeError, ValueError):
        return results


def _of_the_function(trace):
    """The traceback from the function's own frame on."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


class _Runs:
    """The two runs of one lockstep."""

    def __init__(self, function, args, kwargs, settings):
        self.function, self.args, self.kwargs, self.settings = function, args, kwargs, settings
        self.state = ProgramState()
        self.one_has_dtype = any(setting.dtype is not None for setting in settings)
        self.lasting = []
        self.done = 0  # runs

    def once(self, number):
        with _under(self.settings[number], self.state, self.one_has_dtype):
            return _values(self.function(*self.args, **self.kwargs))

    def check_lasting(self):
        """A dtype that only this run has would stay with them."""
        dtype = self.settings[0].dtype
        if dtype not in (None, dtypes.float32) and any(variable.dtype == dtype for variable in self.state.lasting()):
            raise _engine.FailedPreconditionError(f"lockstep: the function made variables that stayed ({', '.join(self.lasting[:3])}), in "
                                                  f"{dtype.name}; call it once before, so that they have the program's dtype")

    def run(self):
        _lockstep.start_again()
        first = self.once(0)
        _lockstep.pause()
        self.state.put_back()
        self.lasting = [variable.name for variable in self.state.lasting()]
        if self.lasting:  # what the first run built is there now, as the second one will find it
            self.check_lasting()
            _lockstep.start_again()
            first = self.once(0)
            _lockstep.pause()
            self.state.put_back()
        self.done = 1
        _lockstep.second_run()
        second = self.once(1)
        self.done = 2
        return first, second


@public("debugging.lockstep")
def lockstep(f, a, b, *args, rtol=None, atol=None, limit_bytes=2**30, **kwargs):
    """Runs f(*args, **kwargs) under two settings, and stops the second run right after the first op that differs from the first run's.

    a, b: a dict, or an object with such attributes, of
        dtype: everything floating is computed in it ("float64"), variables and conversions included; complex numbers in the one that
            goes with it. Values that come from outside keep the digits that they have. Random numbers are drawn in float32 then.
        threads: how many threads kernels may use.
        device: "/cpu:0", "/gpu:0"; a string alone is a device. NotFoundError where it is not there. Ops run there as inside
            tf.device; variables stay where they are, and copies between devices are not compared.
        seed: for tf.set_random_seed.
        None, or nothing of these: as the program has it.
    rtol, atol: values x and y agree where |x - y| <= atol + rtol * max(|x|, |y|); NaN agrees with NaN. None: where dtypes and devices
        are the same, values must be the same. Else rtol is the square root of the narrowest dtype's unit in the last place (3.5e-4 for
        float32), and atol 64 such units of the tensor's largest magnitude; with atol=0 no lost digit is passed over.
    limit_bytes: what may be held of the first run's values. Of what does not fit statistics are kept: a hash of all bits, extremes,
        norm and 64 samples; report and error say so. About 300 bytes for each op come on top.
    Compared are the ops of this thread, in their order: name, shapes, values; those of gradients, of tapes that f plays, of optimisers
    and of custom gradients too. Ops of other threads (a data set's functions) run as ever and are not compared.
    Both runs start from the same state, and afterwards it is what it was before: variables, sequences of random numbers (the engine's,
    generators', NumPy's, Python's), iterators of data sets, attributes of layers, models, optimisers and metrics. Not put back: the
    elements of NumPy arrays, attributes of other objects, files, Python's generators, global names. Where f makes variables that stay
    (slots that something else than an optimiser holds), the first run is done twice, and they keep their first values.
    A recorder keeps both runs, and the error names both records: in the window's Ops, the filter record == 57 finds one.
    Returns: a LockstepReport, where all ops agree.
    Errors: LockstepDifference (tf.errors; an AssertionError) at the first difference: reason ("value", "shape", "sequence", "failure",
        "longer", "shorter"), number and op_name of the op, line, file, cell; inputs and outputs, a pair of lists each (None where they
        are no longer held); output, index, absolute, relative, wrong (how many values), inputs_apart, records, statistics_only.
        FailedPreconditionError inside of a lockstep; what f raises, with a note that says in which run.
    """
    require_callable("lockstep", "f", f)
    settings = Setting(a, "a"), Setting(b, "b")
    if _lockstep.runs():
        raise _engine.FailedPreconditionError("lockstep: another one runs; a lockstep cannot begin inside of a lockstep")
    one, other = settings
    loose = one.dtype != other.dtype or one.device != other.device
    narrowest = max((setting.dtype for setting in settings if setting.dtype is not None), key=_WIDTHS.index, default=None)
    runs = _Runs(f, args, kwargs, settings)
    results = raised = None
    _engine.debug._capture_lines(True)
    try:
        _lockstep.start(rtol, atol, loose, narrowest, limit_bytes)
        try:
            results = runs.run()
        except BaseException as error:
            raised = error
        found = _lockstep.finish(results is not None)
    finally:
        runs.state.close()
        _engine.debug._capture_lines(False)
    if found["difference"] is not None:
        difference = _raised(found["difference"], settings, runs.lasting)
        if isinstance(raised, _engine.LockstepDifference):
            raise difference.with_traceback(_of_the_function(raised.__traceback__)) from None
        raise difference from raised
    if raised is not None:
        if hasattr(raised, "add_note") and not isinstance(raised, KeyboardInterrupt):
            raised.add_note(f"lockstep: raised in the {('first', 'second')[min(runs.done, 1)]} run ({settings[min(runs.done, 1)]})")
        raise raised
    return LockstepReport(found, settings, results)
