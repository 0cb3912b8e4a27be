"""Runs programs of PyTorch, each in a process of its own. An interpreter that has PyTorch runs this:

    INTERPRETER run_programs.py FOLDER STATE PROGRAM.py …

STATE: `plain`, as `INTERPRETER PROGRAM.py` does; `traced`, as `INTERPRETER -m tapedeck --trace FOLDER/PROGRAM.tapetrace PROGRAM.py`
does; `witnessed`: traced, with a Witness inside that notes what random ops read and made (witness.py); `differentiated`: recorded, with
hooks inside on the nodes of autograd's graph (gradient_witness.py). The output of each is in FOLDER/PROGRAM.STATE.out and .err then, how
it ended in .exit.

The processes are forks of this one, which has imported PyTorch: that takes longer than any of the programs.
"""
import os
import runpy
import signal
import sys
import traceback
import warnings

import torch
import torch._dynamo  # optimisers import it at their first step

SECONDS = 100  # a bound for a hang


def plain(path):
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    runpy.run_path(path, run_name="__main__")


def traced(path, trace):
    from tapedeck.__main__ import main
    status = main(["--trace", trace, path])
    if status:
        sys.exit(status)


def run(state, path, place):
    if state == "plain":
        plain(path)
    elif state == "traced":
        traced(path, place + ".tapetrace")
    elif state == "differentiated":
        import gradient_witness
        gradient_witness.run(path, place)
    else:
        assert state == "witnessed", state
        import witness
        witness.run(path, place)


def child(state, path, place):
    """Returns the exit status, as Python has it; exceptions are printed as Python prints them."""
    for ending, descriptor in (("out", 1), ("err", 2)):
        file = os.open(f"{place}.{state}.{ending}", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        os.dup2(file, descriptor)
        os.close(file)
    signal.alarm(SECONDS)
    warnings.simplefilter("ignore")
    status = 0
    try:
        run(state, path, place)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def main(folder, state, *paths):
    torch.set_num_threads(1)
    for path in paths:
        place = os.path.join(folder, os.path.splitext(os.path.basename(path))[0])
        process = os.fork()
        if process == 0:
            os._exit(child(state, path, place))
        _, status = os.waitpid(process, 0)
        with open(f"{place}.{state}.exit", "w", encoding="ascii") as file:
            file.write(str(os.waitstatus_to_exitcode(status)))


if __name__ == "__main__":
    main(*sys.argv[1:])
