"""What recording costs programs of PyTorch, as JSON lines: a thousand sums of small matrices (whose milliseconds are microseconds of an
op), and a training step of a perceptron, of ResNet-18 on eight images of 224 × 224, and of a small transformer, in three states: plain
(Tapedeck isn't imported), attached (Tapedeck sees the ops, the recording is off), and recorded with values. Beside them, in the same run,
what other tools cost: a dispatch mode in Python that only passes ops on, one that notes each op with its shapes, torch.profiler (without
starting and stopping it), and TorchLens where it is installed, which sees the forward pass alone and is compared with that.

    INTERPRETER tests/bench/bench_torch_steps.py [--rounds N] [--threads N] [--device cuda] [CASE …]

INTERPRETER: one that has PyTorch and Tapedeck's module (./run.sh --install-into). A case's states have a process each, and take turns, so
that what else the machine does touches all of them. `ms`: the fastest round's mean of a step; `cpu_ms`: the least processor time of a step,
of all threads, which a busy machine changes less; `ratio`, `cpu_ratio`: to the plain state's.
"""
import argparse
import collections
import contextlib
import importlib.util
import json
import os
import resource
import time
import traceback

import torch
import torch._dynamo  # optimisers import it at their first step
from torch.utils._python_dispatch import TorchDispatchMode
from torch_models import STEPS

OURS = ("plain", "attached", "recorded")
MODES = ("passing_mode", "logging_mode")
FORWARD = ("plain_forward", "torchlens")  # what TorchLens sees, alone
SECONDS = 0.5  # of a round, at least


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Logging(TorchDispatchMode):
    """Notes the op, and the shapes and dtypes of what it takes, of the newest 100,000 calls."""

    def __init__(self):
        super().__init__()
        self.calls = collections.deque(maxlen=100_000)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), [(tuple(one.shape), one.dtype) for one in args if isinstance(one, torch.Tensor)]))
        return func(*args, **(kwargs or {}))


def forward_of(step, state):
    """The forward pass of a training step, as TorchLens runs it, or plain."""
    if state == "plain_forward":
        return lambda: step.model(step.inputs)
    import torchlens
    return lambda: torchlens.log_forward_pass(step.model, step.inputs, layers_to_save="all")


def states_of(case):
    """Of this case, in this environment."""
    lens = FORWARD if case != "sums" and importlib.util.find_spec("torchlens") else ()
    return (*OURS, *MODES, "profiler", *lens)


def enter(state):
    """Brings this process into the state; returns what counts its records, or None."""
    if state in MODES:
        (Passing() if state == "passing_mode" else Logging()).__enter__()
    if state not in ("attached", "recorded"):
        return None
    from tapedeck import _engine
    from tapedeck._session import torch_programs
    _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
    _engine.debug.set_recording(state == "recorded")
    return _engine.debug.status


def synchronize(device):
    if device != "cpu":
        getattr(torch, torch.device(device).type).synchronize()


def measured(step, count, device):
    """Milliseconds of a step, and of processor time."""
    synchronize(device)
    began, cpu_began = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    synchronize(device)
    return (time.perf_counter() - began) / count * 1e3, (time.process_time() - cpu_began) / count * 1e3


def serve(state, case, options, asked, answers):
    """In a child: a round for each line that comes."""
    torch.set_num_threads(options.threads)
    status = enter(state)
    step = STEPS[case](options.device)
    if state in FORWARD:
        step = forward_of(step, state)
    losses = [step() for _ in range(3)]
    before = status()["records"] if status else 0
    losses.append(step())
    records = status()["records"] - before if status else 0
    count = max(1, int(SECONDS * 1e3 / measured(step, 1, options.device)[0]))
    for _ in asked:
        with torch.profiler.profile() if state == "profiler" else contextlib.nullcontext():
            ms, cpu_ms = measured(step, count, options.device)
        answer = dict(ms=ms, cpu_ms=cpu_ms, losses=losses if state not in FORWARD else [], records=records,
                      held_mb=round(status()["held_bytes"] / 1e6) if status else 0,
                      peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3))
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


class Process:
    """A fork of this one, which has imported PyTorch. It ends when what it is asked through ends, so it closes its copies of
    those of `others`, which were there before."""

    def __init__(self, state, case, options, others):
        there, self._asked = os.pipe()
        self._answers, back = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(self._asked)
            for other in others:
                other.close()
            status = 1
            try:
                with open(there, encoding="ascii") as asked, open(back, "w", encoding="ascii") as answers:
                    serve(state, case, options, asked, answers)
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        os.close(there)
        os.close(back)
        self._asked, self._answers = open(self._asked, "w", encoding="ascii"), open(self._answers, encoding="ascii")

    def round(self):
        try:
            self._asked.write("go\n")
            self._asked.flush()
            answer = self._answers.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            os._exit(1)  # without closing the pipes: what a process could not be asked is still in one; its error is above
        return json.loads(answer)

    def close(self):
        self._asked.close()
        self._answers.close()

    def end(self):
        self.close()
        os.waitpid(self._process, 0)


def bench(case, options):
    states, processes = states_of(case), {}
    for state in states:
        processes[state] = Process(state, case, options, list(processes.values()))
    rounds = [{state: process.round() for state, process in processes.items()} for _ in range(options.rounds)]
    for process in processes.values():
        process.end()
    best = {state: {key: min(one[state][key] for one in rounds) for key in ("ms", "cpu_ms")} for state in states}
    for state in states:
        last, plain = rounds[-1][state], best["plain_forward" if state in FORWARD else "plain"]
        print(json.dumps(dict(bench="torch_step", case=case, state=state, ms=round(best[state]["ms"], 3),
                              ratio=round(best[state]["ms"] / plain["ms"], 3), cpu_ms=round(best[state]["cpu_ms"], 3),
                              cpu_ratio=round(best[state]["cpu_ms"] / plain["cpu_ms"], 3), records=last["records"],
                              same_losses=last["losses"] == rounds[-1]["plain"]["losses"] if state not in FORWARD else None,
                              held_mb=last["held_mb"], peak_mb=last["peak_mb"], device=options.device, threads=options.threads,
                              torch=torch.__version__)), flush=True)
    if not importlib.util.find_spec("torchlens"):
        print(json.dumps(dict(bench="torch_step", case=case, state="torchlens", missing="it is not installed here")), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(STEPS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    for case in options.cases or STEPS:
        if case not in STEPS:
            parser.error(f"CASE is {case!r}; needs one of {', '.join(STEPS)}")
        bench(case, options)


if __name__ == "__main__":
    main()
