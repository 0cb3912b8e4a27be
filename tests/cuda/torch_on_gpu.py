"""PyTorch programs on this machine's GPU, in at most six minutes: whether the values that records show are those that a hook inside of the
programs saw, and what recording costs (tests/bench). Prints a JSON line for each result, and at the end one that sums up.

    INTERPRETER tests/cuda/torch_on_gpu.py [--device cuda] [--seconds 350]

INTERPRETER: one that has PyTorch for the device, pyzmq, and Tapedeck's module of this tree (./run.sh --install-into). With --device cpu all
but the check of streams runs on a machine without a GPU. Exit status: 0 all is well, 1 something failed, 2 it cannot run (what is missing
is said), 3 there is no such device.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ALL_IS_WELL, FAILED, CANNOT_RUN, NO_DEVICE = range(4)
TESTS = pathlib.Path(__file__).resolve().parents[1]
# Those of tests/torch/programs that make their tensors on whichever device is the default one.
PROGRAMS = ("mlp", "cnn", "transformer", "vae", "gradient_penalty", "checkpointing", "custom_functions", "in_place")
OPS = 40  # of each program, that the hook looks at
NEEDS = {"torch": "PyTorch 2.1 or newer, for the device: pip install torch", "zmq": "pyzmq: pip install pyzmq",
         "tapedeck": "Tapedeck's module: ./run.sh --install-into FOLDER of this environment"}
# Writes on two streams, each behind the other's, while the device is busy: the hook copies on the stream that wrote, and waits for nothing.
STREAMS = """
import json, secrets, sys
from debug_client import Client
from tapedeck import _engine
from tapedeck._session import torch_programs
place, device = sys.argv[1:]
entry = dict(endpoint=f"ipc://{place}/streams", key=secrets.token_hex(16), protocol_version=_engine.debug.PROTOCOL_VERSION)
_engine.debug.start(entry["endpoint"], entry["key"].encode())
torch_programs.install()
import torch
from torch.utils._python_dispatch import _disable_current_modes
busy = torch.randn(3000, 3000, device=device)
x, seen = torch.zeros(1 << 20, device=device), []
streams = [torch.cuda.current_stream(), torch.cuda.Stream()]
for step in range(24):
    here, other = streams[step % 2], streams[1 - step % 2]
    here.wait_stream(other)
    with torch.cuda.stream(here):
        busy = (busy @ busy).tanh_()
        x.add_(busy.flatten()[:1 << 20], alpha=step + 1)
        record = _engine.torch.newest_record()
        with _disable_current_modes():
            seen.append((record, x.clone()))
torch.cuda.synchronize()
different = []
with _disable_current_modes(), Client(entry) as client:
    for record, value in seen:
        tensor, = client.ask("get_records", first=record, count=1, with_previews=False)["records"][0]["outputs"]
        found = client.ask("get_statistics", tensor=tensor["id"], bins=0)
        wide = value.double()
        for name, number in (("minimum", wide.min()), ("maximum", wide.max()), ("mean", wide.mean())):
            if abs(found[name] - float(number)) > 1e-9 * max(1, abs(float(number))):
                different.append(f"record {record}: {name} {found[name]} for {float(number)}")
print(json.dumps(dict(values=len(seen), problems=different)))
"""


def missing():
    """What this interpreter lacks, in words."""
    return [text for name, text in NEEDS.items() if importlib.util.find_spec(name) is None]


def device_there(device):
    """(whether torch has it, its name)."""
    import torch
    kind = torch.device(device).type
    if kind == "cpu":
        return True, "the CPU"
    module = getattr(torch, kind, None)
    if module is None or not module.is_available():
        return False, f"PyTorch {torch.__version__} finds no device {device!r} on this machine"
    return True, module.get_device_name(device) if hasattr(module, "get_device_name") else kind


class Clock:
    def __init__(self, seconds):
        self._end = time.monotonic() + seconds

    def left(self):
        return self._end - time.monotonic()


def run(command, limit, environment=None):
    """(what it printed, its errors, exit status or None where it took longer)."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True,
                               env=environment)
    try:
        out, err = process.communicate(timeout=max(1, limit))
        return out, err, process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return out, err, None


def environment(**more):
    folders = [str(TESTS / "torch"), str(TESTS / "python/helpers"), str(TESTS / "bench"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders)), "PYTHONDONTWRITEBYTECODE": "1", **more}


class Results:
    def __init__(self, device):
        self._device, self.failed, self.lines = device, [], 0

    def say(self, **line):
        self.lines += 1
        print(json.dumps(dict(line, device=self._device)), flush=True)

    def fail(self, what, why):
        self.failed.append(what)
        self.say(failed=what, why=why[-2000:])


def check_values(results, device, clock, folder):
    """Each program runs with a hook inside; every value that it saw is asked for afterwards, as a window asks."""
    options = json.dumps(dict(count=OPS, seed=1, budget=None, device=device))
    paths = [str(TESTS / "torch/programs" / f"{name}.py") for name in PROGRAMS]
    for path in paths:
        name = pathlib.Path(path).stem
        _, err, status = run([sys.executable, str(TESTS / "torch/run_programs.py"), folder, "witnessed", path], clock.left() / 2,
                             environment(TAPEDECK_WITNESS=options))
        ended = pathlib.Path(folder, f"{name}.witnessed.exit")
        if status != 0 or not ended.exists() or ended.read_text(encoding="ascii") != "0":
            said = pathlib.Path(folder, f"{name}.witnessed.err")
            results.fail(f"values of {name}", (said.read_text(encoding="utf-8") if said.exists() else "") + err)
            continue
        found = json.loads(pathlib.Path(folder, f"{name}.json").read_text(encoding="utf-8"))
        lost = [one for one in found["lost"] if "it has no memory of its own" not in one]
        results.say(check="values", program=name, ops=found["ops"], values=found["values"], sources=found["sources"], lost=len(lost))
        if found["problems"] or lost or not found["values"]:
            results.fail(f"values of {name}", "\n".join(found["problems"] + lost) or "no values were compared")


def check_streams(results, device, clock, folder):
    out, err, status = run([sys.executable, "-c", STREAMS, folder, device], clock.left() / 2, environment())
    if status != 0:
        return results.fail("values on streams", err or f"it did not end (exit status {status})")
    found = json.loads(out.splitlines()[-1])
    results.say(check="streams", **found)
    if found["problems"]:
        results.fail("values on streams", "\n".join(found["problems"]))


def bench(results, clock, share, name, *arguments):
    """Its lines as they are."""
    limit = clock.left() * share
    out, err, status = run([sys.executable, str(TESTS / "bench" / name), *arguments], limit, environment(OMP_NUM_THREADS="1"))
    for line in out.splitlines():
        if line.startswith("{"):
            results.say(**{**json.loads(line), "from": name})
    if status is None:
        results.fail(name, f"it did not end within {limit:.0f} s; what it printed until then is above")
    elif status != 0:
        results.fail(name, err)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seconds", type=float, default=350)
    options = parser.parse_args()
    if lacks := missing():
        print("torch_on_gpu: " + sys.executable + " lacks:\n  " + "\n  ".join(lacks), file=sys.stderr)
        return CANNOT_RUN
    there, named = device_there(options.device)
    if not there:
        print("torch_on_gpu: " + named, file=sys.stderr)
        return NO_DEVICE
    clock, results = Clock(options.seconds), Results(options.device)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="td-") as folder:
        check_values(results, options.device, clock, folder)
        if options.device.startswith("cuda"):
            check_streams(results, options.device, clock, folder)
        bench(results, clock, 0.3, "bench_torch.py", "2", "--device", options.device)
        # A CPU would take an hour for the others.
        small = ("sums", "mlp") if options.device == "cpu" else ()
        bench(results, clock, 0.7, "bench_torch_steps.py", *small, "--rounds", "2", "--device", options.device)
        bench(results, clock, 0.9, "bench_torch_trace.py", str(pathlib.Path(folder, "resnet50.tapetrace")), "--device", options.device)
    results.say(summary=named, results=results.lines, failed=results.failed, seconds=round(time.monotonic() - began))
    return FAILED if results.failed else ALL_IS_WELL


if __name__ == "__main__":
    sys.exit(main())
