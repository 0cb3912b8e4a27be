"""Tapedeck beside PyTorch, measured in the same run: one JSON line for each case and number of threads.

    python beside_peer.py [--peer PYTHON] [--threads 1 2] [--rounds 5] [--machine BENCH_MACHINE]
                          [--device cpu|gpu] [PATTERN…]

--peer: an interpreter that has torch and NumPy; else TAPEDECK_PEER; where there is none, tapedeck runs alone and each
line says so. --machine: the program bench_machine, which measures what the machine can do; else the built one beside
the module. PATTERN: cases whose names have one of these in them (peer_cases.py); else all.

Each framework has a process of its own. They take turns, case by case, and the best of the rounds counts: a moment in
which other programs want the machine meets both. "ratio" is ours to theirs, below 1 is quicker. "share_of_peak": of the
chip's rate of multiply-adds in registers, or of reading, copying or adding vectors as long as the case's; "peak" names
it and the cache that the vectors fit in. The autoencoder's are its five products alone. With --device gpu both run on
the first GPU, with more cases; its rates are not known, so there are no shares.
"""
import argparse
import json
import os
import subprocess
import sys
import time

import peer_cases

here = os.path.dirname(os.path.abspath(__file__))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", default=os.environ.get("TAPEDECK_PEER"))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--machine", default=built_machine())
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu")
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    return parser.parse_args()


def built_machine():
    """The program in the build folder whose module this Python finds."""
    for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep):
        program = os.path.join(folder, "..", "tests", "bench", "bench_machine")
        if folder and os.access(program, os.X_OK):
            return program
    return None


class Side:
    """A process that runs cases in one framework."""

    def __init__(self, python, framework, threads, device):
        environment = peer_cases.environment_of(framework)
        environment.update(OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
        command = [python, os.path.join(here, "peer_cases.py"), framework, str(threads), device]
        self._process = subprocess.Popen(command, text=True, env=environment, stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        self._answer(framework)

    def seconds(self, case):
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        answer = self._answer(case)
        time.sleep(0.02)  # its threads go to sleep before the other's turn
        return answer

    def close(self):
        self._process.stdin.close()
        self._process.wait()

    def _answer(self, what):
        line = self._process.stdout.readline()
        if not line:
            sys.exit(f"beside_peer.py: {' '.join(self._process.args)} ended at {what}")
        return json.loads(line)


class Peaks:
    """The machine's rates for a number of threads, each measured once."""

    def __init__(self, program, threads):
        self._program, self._threads, self._lines = program, threads, {}

    def share(self, case, seconds):
        """(share, name of the peak); two Nones where the case has none, or where there is no bench_machine."""
        work = peer_cases.work(case)
        if work is None or self._program is None:
            return None, None
        kind, amount = work
        if kind == "flops":
            peak = "multiply_add_float32"
            return amount / seconds / (self._rate(peak, 16)["gigaflops"] * 1e9), peak
        line = self._rate(f"{kind}_{amount}", amount)
        moved = 4.0 * amount * {"read": 1, "copy": 2, "add": 3}[kind]
        return moved / seconds / (line["gigabytes_per_second"] * 1e9), f"{kind} in {line['in']}"

    def _rate(self, name, length):
        if name not in self._lines:
            command = [self._program, str(self._threads), str(length)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            for line in map(json.loads, output.splitlines()):
                self._lines.setdefault(line["case"].removeprefix("machine_"), line)
        return self._lines[name]


def rounded(value):
    return None if value is None else float(f"{value:.4g}")


def measure(options, threads):
    sides = [Side(sys.executable, "tapedeck", threads, options.device)]
    if options.peer:
        sides.append(Side(options.peer, "torch", threads, options.device))
    peaks = Peaks(options.machine, threads)
    for case in peer_cases.names(options.device):
        if options.patterns and not any(pattern in case for pattern in options.patterns):
            continue
        rounds = 2 if case in peer_cases.AUTOENCODERS else options.rounds  # those are long
        times = [[side.seconds(case) for side in sides] for _ in range(rounds)]
        ours, *theirs = map(min, zip(*times))
        share, peak = peaks.share(case, ours) if options.device == "cpu" else (None, None)
        peer = "torch" if theirs else "none: tapedeck alone"
        line = dict(case=case, device=options.device, threads=threads, seconds=rounded(ours), peer=peer)
        if theirs:
            line.update(peer_seconds=rounded(theirs[0]), ratio=rounded(ours / theirs[0]))
        print(json.dumps(dict(line, share_of_peak=rounded(share), peak=peak)), flush=True)
    for side in sides:
        side.close()


def main():
    options = arguments()
    if not options.peer:
        print("beside_peer.py: no peer (--peer PYTHON or TAPEDECK_PEER): tapedeck alone", file=sys.stderr)
    for threads in options.threads:
        measure(options, threads)


if __name__ == "__main__":
    main()
