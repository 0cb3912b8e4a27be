"""SummaryWriter of torch.utils.tensorboard and of tensorboardX: what a program writes as scalars shows in Plots, too."""
import functools
import os
import sys

from tapedeck.summary import curves

MODULES = ("torch.utils.tensorboard.writer", "tensorboardX.writer")


class _Run:
    """What curves need of a writer, and the steps of tags that it was given none for."""

    def __init__(self, writer):
        folder = os.fspath(getattr(writer, "log_dir", None) or getattr(writer, "logdir", None) or "")
        self.run_name = os.path.basename(os.path.normpath(folder)) or folder
        self.steps = {}

    def step(self, tag, given):
        if given is not None:
            return int(given)
        self.steps[tag] = self.steps.get(tag, -1) + 1
        return self.steps[tag]


def watch(module):
    """Wraps the writer's functions; does nothing a second time, or where a release has none of that name."""
    writer = getattr(module, "SummaryWriter", None)
    if writer is None or not hasattr(writer, "add_scalar") or hasattr(writer.add_scalar, "_tapedeck_watches"):
        return
    one, several = writer.add_scalar, getattr(writer, "add_scalars", None)

    @functools.wraps(one)
    def add_scalar(self, tag, scalar_value, global_step=None, *arguments, **named):
        result = one(self, tag, scalar_value, global_step, *arguments, **named)
        _show(self, tag, scalar_value, global_step)
        return result

    add_scalar._tapedeck_watches = True
    writer.add_scalar = add_scalar
    if several is None:
        return

    @functools.wraps(several)
    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, *arguments, **named):
        result = several(self, main_tag, tag_scalar_dict, global_step, *arguments, **named)
        for tag, value in tag_scalar_dict.items():
            _show(self, f"{main_tag}/{tag}", value, global_step)
        return result

    writer.add_scalars = add_scalars


def _show(writer, tag, value, step):
    """The file has it already: what is no number for Plots is left out."""
    if not hasattr(writer, "_tapedeck_run"):
        writer._tapedeck_run = _Run(writer)
    run = writer._tapedeck_run
    try:
        number = _number(value)
        curves.add_point(curves.curve_name(tag, run), run.step(tag, step), number)
    except (TypeError, ValueError, RuntimeError):
        pass


def _number(value):
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(value, torch.Tensor):
        return float(value)
    from torch.utils._python_dispatch import _disable_current_modes  # the tensor shows that PyTorch is here
    with _disable_current_modes():  # the program did not ask for it: no record
        return float(value.item())
