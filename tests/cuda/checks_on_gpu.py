"""The tests and benchmarks of a bundle on this machine's GPU; tests/cuda/run_bundle starts it, and says what is printed."""
import argparse
import concurrent.futures
import ctypes
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time

ALL_IS_WELL, FAILED, CANNOT_RUN, NO_GPU = range(4)
TESTS_AT_ONCE = 6  # processes that share the GPU
LEAST_TIME = 5  # seconds that a test gets, or it does not begin
OF_TESTS, OF_BENCH_ENGINE, OF_PEER = 0.5, 0.12, 0.22  # shares of the time; training has the rest
LONGEST_LINE = 600  # characters of a failure
SIZES = ("add_", "exp_", "sum_", "softmax_", "gelu_", "gather_", "matmul_", "convolution", "layer_norm", "attention", "transpose", "sort",
         "training", "gradient_4_ops")


class Clock:
    def __init__(self, started, seconds):
        self._end, self._seconds = started + seconds, seconds

    def left(self):
        return max(1.0, self._end - time.time())

    def share(self, part):
        """Seconds for a part of the run: no more than are left."""
        return min(self.left(), part * self._seconds)


def run(command, limit, **arguments):
    """(exit status, what it printed); the status is None where it took longer."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               start_new_session=True, **arguments)
    try:
        return process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[0], None


def machine():
    """What the machine says of its GPUs."""
    facts = {"host": os.uname().release, "cpus": os.cpu_count()}
    if shutil.which("nvidia-smi"):
        printed, status = run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.max.sm", "--format=csv,noheader"], 20)
        if status == 0:
            facts["cards"] = printed.strip().splitlines()
    return facts


def load(bundle):
    """(why there is no GPU or "", what does not load, a note): loads each program and library of the bundle."""
    wrong = []

    def starts(name, command, expected=0, text=""):
        printed, status = run(command, 120)
        if status != expected or text not in printed:
            wrong.append(f"{name} does not load: {printed.strip()[-LONGEST_LINE:] or f'exit status {status}'}")
        return printed.strip().splitlines()

    starts("tests_cuda", [f"{bundle}/bin/tests_cuda", "-classes"])
    counted = starts("the module", [sys.executable, "-c", "import numpy, tapedeck\nfrom tapedeck import _engine\n"
                                    "print(_engine.gpu_count())\nprint(_engine.why_no_gpu())"])
    why = ""
    if not wrong and counted[0] == "0":
        why = counted[1] if len(counted) > 1 else "the engine says no reason"
        starts("bench_engine", [f"{bundle}/bin/bench_engine", "--device", "gpu"], 1, "There is no /gpu:0: ")
    note = ""
    if any(glob.glob(f"{folder}/libcublas.so.*") for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder):
        try:
            ctypes.CDLL(f"{bundle}/python/packages/tapedeck/libtapedeck_cuda.so", os.RTLD_NOW)
        except OSError as error:
            wrong.append(f"the kernels do not load: {error}")
    else:
        note = "CUDA's libraries are not here (libcublas.so), so the kernels were not loaded"
    return why, wrong, note


# ---- tests ----

def failures_of_qttest(name, printed):
    """A line for each failure that a class of tests_cuda printed: test, op, dtypes and shapes, both values."""
    found, lines, at = [], printed.splitlines(), 0
    while at < len(lines):
        match = re.match(r"(?:FAIL!|XPASS) *: \w+::(\w+)\(([^)]*)\) ?(.*)", lines[at])
        at += 1
        if not match:
            continue
        text = [match[3]]
        while at < len(lines) and not re.match(r" *Loc: |[A-Z!]+ *: |Totals|\*{3}", lines[at]):
            text.append(lines[at].strip())
            at += 1
        where = f"{name}: {match[1]}" + (f":{match[2]}" if match[2] else "")
        place = re.match(r" *Loc: \[(?:.*/)?([^]]*)\]", lines[at]) if at < len(lines) else None
        described = re.sub(r"^'[^']*' returned FALSE. \(", "", text[0])
        if described != text[0]:  # QVERIFY2's statement says less than its description, which ends with a parenthesis
            text[0] = described
            text[-1] = text[-1].removesuffix(")")
        listed = list(filter(None, text[1:]))
        if not text[0] and listed:  # tst_gpu_ops lists them all
            found += [f"{where}: {each}" for each in listed]
        else:
            found.append(f"{where}: {' '.join(filter(None, text))}" + (f" [{place[1]}]" if place else ""))
    return found


def failures_of_unittest(name, printed):
    """The same of a module of Python tests."""
    found = []
    for match in re.finditer(r"^(?:FAIL|ERROR): (.+?)\n-{20,}\n(.*?)(?=^={20,}\n|^-{20,}\n)", printed, re.MULTILINE | re.DOTALL):
        test = match[1].split(" ")[0] + "".join(re.findall(r" (?:\[.*|\(\w+=.*)$", match[1]))
        error = [line for line in match[2].splitlines() if line and not line.startswith((" ", "Traceback"))]
        found.append(f"{name}: {test}: {' '.join(error[-6:])}")
    return found


def run_test(name, command, until, find, environment):
    limit = until - time.time()
    if limit < LEAST_TIME:
        return {"test": name, "failures": [], "printed": "", "passed": 0, "skipped": 0, "not_run": True}
    printed, status = run(command, limit, env=environment)
    failures = [line[:LONGEST_LINE] for line in find(name, printed)]
    if status is None:
        failures.append(f"{name}: did not end within {limit:.0f} s: {' | '.join(printed.splitlines()[-2:])[:LONGEST_LINE]}")
    elif status != 0 and not failures:
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        failures.append(f"{name}: ended with {ended}: {' | '.join(printed.splitlines()[-3:])[:LONGEST_LINE]}")
    return {"test": name, "failures": failures, "printed": printed,
            "passed": len(re.findall(r"^PASS", printed, re.MULTILINE)) + len(re.findall(r"\.\.\. ok$", printed, re.MULTILINE)),
            "skipped": len(re.findall(r"^SKIP", printed, re.MULTILINE)) + len(re.findall(r"\.\.\. skipped", printed))}


def not_run(results):
    return sorted(result["test"] for result in results if result.get("not_run"))


def run_tests(bundle, out, clock):
    environment = {**os.environ, "TAPEDECK_SEED": os.environ.get("TAPEDECK_SEED", "1"), "TAPEDECK_BUILD_DIR": bundle}
    classes = [line.split()[0] for line in run([f"{bundle}/bin/tests_cuda", "-classes"], 60)[0].splitlines() if line.strip()]
    # Those that take longest begin first.
    classes.sort(key=lambda name: (name != "tst_gpu_ops", name != "tst_elementwise", name))
    limit = clock.share(OF_TESTS)
    until = time.time() + limit
    jobs = [(name, [f"{bundle}/bin/tests_cuda", name], failures_of_qttest, environment) for name in classes]
    folders = [os.environ["PYTHONPATH"], f"{bundle}/tests/helpers", f"{bundle}/tests/devices"]
    python = {**environment, "PYTHONPATH": os.pathsep.join(folders)}
    for path in sorted(glob.glob(f"{bundle}/tests/devices/test_*.py")):
        name = os.path.basename(path).removesuffix(".py")
        jobs.append((name, [sys.executable, "-m", "unittest", "-v", name], failures_of_unittest, python))
    results = []
    with concurrent.futures.ThreadPoolExecutor(min(TESTS_AT_ONCE, max(1, os.cpu_count() or 1))) as pool:
        waiting = [pool.submit(run_test, name, command, until, find, variables) for name, command, find, variables in jobs]
        for done in concurrent.futures.as_completed(waiting):
            result = done.result()
            with open(os.path.join(out, result["test"] + ".txt"), "w", encoding="utf-8") as file:
                file.write(result.pop("printed"))
            for line in result["failures"]:
                print(f"FAIL {line}", flush=True)
            results.append(result)
    if missing := not_run(results):
        print(f"FAIL no time was left for {', '.join(missing)}", flush=True)
    return sorted(results, key=lambda result: result["test"])


# ---- benchmarks ----

def peer_of(clock):
    """(an interpreter of this machine whose PyTorch has the GPU, what it says of itself); two Nones where there is none."""
    environment = machines_environment()
    for name in (os.environ.get("TAPEDECK_PEER"), "python3", "python3.12", "python"):
        path = name and shutil.which(name)
        if not path:
            continue
        printed, status = run([path, "-c", "import json, sys, torch\nprint(json.dumps([sys.executable, torch.__version__, "
                                           "torch.version.cuda, torch.cuda.get_device_name(0)]))"], min(60, clock.left()), env=environment)
        if status == 0:
            executable, version, cuda, card = json.loads(printed.strip().splitlines()[-1])
            return executable, {"torch": version, "cuda": cuda, "card": card}
    return None, None


def machines_environment():
    """The environment without what the bundle's own programs need."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PYTHONPATH", "LD_LIBRARY_PATH")}
    outer = os.environ.get("TAPEDECK_LIBRARIES_OF_THE_MACHINE")
    return {**environment, "LD_LIBRARY_PATH": outer} if outer else environment


def lines_of(name, command, limit, out, wrong):
    """What a benchmark says, line by line as JSON; what it could not finish is told in `wrong`."""
    printed, status = run(command, limit)
    with open(os.path.join(out, name + ".txt"), "w", encoding="utf-8") as file:
        file.write(printed)
    found = []
    for line in printed.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    found = [each for each in found if isinstance(each, dict)]
    if status is None:
        wrong.append(f"{name}: cut after {limit:.0f} s and {len(found)} cases")
    elif status != 0:
        wrong.append(f"{name}: exit status {status}: {' | '.join(printed.splitlines()[-3:])[:LONGEST_LINE]}")
    return found


def benchmarks(bundle, out, clock):
    peer, about = peer_of(clock)
    wrong = [] if peer else ["no PyTorch with a GPU was found on this machine: Tapedeck is measured alone"]
    results = {"peer": about}
    results["bench_engine"] = lines_of("bench_engine", [f"{bundle}/bin/bench_engine", "--device", "gpu"], clock.share(OF_BENCH_ENGINE), out,
                                       wrong)
    results["beside_peer"] = lines_of(
        "beside_peer", [sys.executable, f"{bundle}/bench/beside_peer.py", "--device", "gpu", "--threads", "1", "--rounds", "2",
                        *(["--peer", peer] if peer else []), *SIZES], clock.share(OF_PEER), out, wrong)
    results["bench_training"] = lines_of(
        "bench_training", [sys.executable, f"{bundle}/bench/bench_training.py", "--device", "gpu", "--rounds", "3", "--seconds", "0.3",
                           *(["--torch", peer] if peer else [])], max(1.0, clock.left() - 3), out, wrong)
    for name in ("bench_engine", "beside_peer", "bench_training"):
        for line in results[name]:
            print(name + "  " + "  ".join(f"{key} {value}" for key, value in line.items() if value is not None), flush=True)
    for line in wrong:
        print(f"BENCH {line}", flush=True)
    return {**results, "cut": wrong}


def summary(results, status):
    """What a line has room for; results.json has all of it."""
    found = {"status": status, "commit": results["commit"], "cards": results["machine"].get("cards", []), "seconds": results["seconds"]}
    for name in ("load", "no_gpu"):
        if results.get(name):
            found[name] = results[name]
    if "tests" in results:
        found["tests"] = {"passed": sum(each["passed"] for each in results["tests"]),
                          "failed": sum(len(each["failures"]) for each in results["tests"]),
                          "skipped": sum(each["skipped"] for each in results["tests"]),
                          "with_failures": [each["test"] for each in results["tests"] if each["failures"]],
                          "not_run": not_run(results["tests"])}
    for name in ("beside_peer", "bench_training"):
        lines = results.get("benchmarks", {}).get(name, [])
        found[name] = {line["case"]: line.get("ratio") for line in lines if "case" in line}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--started", type=float, default=time.time(), help="seconds since 1970")
    parser.add_argument("--seconds", type=float, default=350, help="for all")
    parser.add_argument("--no-gpu", action="store_true")
    options = parser.parse_args()
    clock = Clock(options.started, options.seconds)
    # Compiled once, and not by each process.
    run([sys.executable, "-m", "compileall", "-q", "-j", "0", f"{options.bundle}/python"], 60)
    with open(os.path.join(options.bundle, "commit.txt"), encoding="utf-8") as file:
        results = {"commit": file.read().strip(), "machine": machine()}
    why, wrong, note = load(options.bundle)
    if note:
        print(note, flush=True)
    for line in wrong:
        print(f"LOAD {line}", flush=True)
    if not wrong and (options.no_gpu or why):
        print(f"no GPU: {why or 'not asked for one'}", flush=True)
    if wrong or why or options.no_gpu:
        status = CANNOT_RUN if wrong else NO_GPU
        results.update(load=wrong, no_gpu=why, note=note)
    else:
        print(", ".join(results["machine"].get("cards", ["a GPU that nvidia-smi does not name"])), flush=True)
        results["tests"] = run_tests(options.bundle, options.out, clock)
        failed = sum(len(each["failures"]) for each in results["tests"]) + bool(not_run(results["tests"]))
        print(f"tests: {sum(each['passed'] for each in results['tests'])} passed, {failed} failed, "
              f"{sum(each['skipped'] for each in results['tests'])} skipped", flush=True)
        results["benchmarks"] = benchmarks(options.bundle, options.out, clock)
        status = FAILED if failed else ALL_IS_WELL
    results["seconds"] = round(time.time() - options.started, 1)
    results["summary"] = summary(results, status)
    with open(os.path.join(options.out, "results.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print(json.dumps(results["summary"]), flush=True)  # the rest is in the file: where this is shown, there may be room for little
    return status


if __name__ == "__main__":
    sys.exit(main())
