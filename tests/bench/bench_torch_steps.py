"""What recording costs programs of PyTorch, as JSON lines: a thousand sums of small matrices (whose milliseconds are microseconds of an
op), and a training step of a perceptron, of ResNet-18 on eight images of 224 × 224, and of a small transformer, in three states: plain
(Tapedeck isn't imported), attached (Tapedeck sees the ops, the recording is off), and recorded with values.

    INTERPRETER tests/bench/bench_torch_steps.py [--rounds N] [--threads N] [--device cuda] [CASE …]

INTERPRETER: one that has PyTorch and Tapedeck's module (./run.sh --install-into). A case's states have a process each, and take turns, so
that what else the machine does touches all of them. `ms`: the fastest round's mean of a step; `cpu_ms`: the least processor time of a step,
of all threads, which a busy machine changes less; `ratio`, `cpu_ratio`: to the plain state's.
"""
import argparse
import json
import os
import resource
import time
import traceback

import torch
import torch._dynamo  # optimisers import it at their first step
from torch_models import STEPS

STATES = ("plain", "attached", "recorded")
SECONDS = 0.5  # of a round, at least


def enter(state):
    """Brings this process into the state; returns what counts its records, or None."""
    if state == "plain":
        return None
    from tapedeck import _engine
    from tapedeck._session import torch_programs
    _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
    _engine.debug.set_recording(state == "recorded")
    return _engine.debug.status


def measured(step, count, device):
    """Milliseconds of a step, and of processor time."""
    began, cpu_began = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    if device != "cpu":
        torch.cuda.synchronize()
    return (time.perf_counter() - began) / count * 1e3, (time.process_time() - cpu_began) / count * 1e3


def serve(state, case, options, asked, answers):
    """In a child: a round for each line that comes."""
    torch.set_num_threads(options.threads)
    status = enter(state)
    step = STEPS[case](options.device)
    losses = [step() for _ in range(3)]
    before = status()["records"] if status else 0
    losses.append(step())
    records = status()["records"] - before if status else 0
    count = max(1, int(SECONDS * 1e3 / measured(step, 1, options.device)[0]))
    for _ in asked:
        ms, cpu_ms = measured(step, count, options.device)
        answer = dict(ms=ms, cpu_ms=cpu_ms, losses=losses, records=records,
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
    processes = {}
    for state in STATES:
        processes[state] = Process(state, case, options, list(processes.values()))
    rounds = [{state: process.round() for state, process in processes.items()} for _ in range(options.rounds)]
    for process in processes.values():
        process.end()
    best = {state: {key: min(one[state][key] for one in rounds) for key in ("ms", "cpu_ms")} for state in STATES}
    for state in STATES:
        last = rounds[-1][state]
        print(json.dumps(dict(bench="torch_step", case=case, state=state, ms=round(best[state]["ms"], 3),
                              ratio=round(best[state]["ms"] / best["plain"]["ms"], 3), cpu_ms=round(best[state]["cpu_ms"], 3),
                              cpu_ratio=round(best[state]["cpu_ms"] / best["plain"]["cpu_ms"], 3), records=last["records"],
                              same_losses=last["losses"] == rounds[-1]["plain"]["losses"], held_mb=last["held_mb"],
                              peak_mb=last["peak_mb"], device=options.device, threads=options.threads, torch=torch.__version__)),
              flush=True)


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
