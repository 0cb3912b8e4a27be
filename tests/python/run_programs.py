"""Runs the acceptance programs that are due, each in a process of its own, and prints a summary.

    python run_programs.py FOLDER [NUMBER…]     exit code 0 where all pass, 77 where there is no folder; "": the folder that
                                                the environment variable TAPEDECK_PROGRAMS names
    python run_programs.py --on-gpus FOLDER …   the same, exit code 1 where the programs find no GPU
    python run_programs.py --list               the numbers that are due
"""
import glob
import os
import subprocess
import sys
import time

DUE = ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "22",
       "23"]
SKIPPED = 77


def run(path):
    """Whether the program passes: exit code 0, and nothing on stderr."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-B", path], capture_output=True, text=True, timeout=100, check=False)
    passed = done.returncode == 0 and not done.stderr
    print(f"{'passed' if passed else 'FAILED'} {os.path.basename(path)} ({time.perf_counter() - start:.2f} s)", flush=True)
    if not passed:
        print(f"exit code {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
    return passed


def finds_gpus():
    asked = subprocess.run([sys.executable, "-B", "-c", "from tapedeck import tfe; print(tfe.num_gpus())"], capture_output=True, text=True,
                           timeout=100, check=False)
    return asked.returncode == 0 and int(asked.stdout) > 0


def main(arguments):
    if arguments == ["--list"]:
        print(*DUE)
        return 0
    on_gpus = arguments[:1] == ["--on-gpus"]
    arguments = arguments[on_gpus:]
    folder = (arguments[0] if arguments else "") or os.environ.get("TAPEDECK_PROGRAMS", "")
    numbers = arguments[1:] or DUE
    if not folder:
        print("Skipped: the folder of the acceptance programs is not given; set the environment variable TAPEDECK_PROGRAMS.")
        return SKIPPED
    if on_gpus and not finds_gpus():
        print("FAILED: programs find no GPU")
        return 1
    failed = []
    for number in numbers:
        paths = glob.glob(os.path.join(folder, f"{number}_*.py"))
        if not paths:
            print(f"FAILED {number}: no such program in {folder}")
        if not paths or not run(paths[0]):
            failed.append(number)
    print(f"{len(numbers) - len(failed)} of {len(numbers)} programs pass" + (f"; not {' '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
