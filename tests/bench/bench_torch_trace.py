"""Records three training steps of ResNet-50 on eight images of 224 × 224, and saves them as a trace file: one JSON line. bench_torch_window
opens it.

    INTERPRETER tests/bench/bench_torch_trace.py FILE.tapetrace [--steps N] [--batch N] [--threads N] [--device cuda]

INTERPRETER: one that has PyTorch and Tapedeck's module (./run.sh --install-into).
"""
import argparse
import json
import os
import time

from tapedeck import _engine
from tapedeck._debugging.assertions import save_trace
from tapedeck._session import torch_programs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE.tapetrace")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    _engine.debug.attach(files_are_cells=True)
    torch_programs.install()
    import torch
    from torch_models import resnet50_step
    torch.set_num_threads(options.threads)
    began = time.perf_counter()
    step = resnet50_step(options.device, options.batch)
    for _ in range(options.steps):
        step()  # its loss comes to the CPU: the device has done its work
    recorded = time.perf_counter()
    saved = save_trace(options.file)
    print(json.dumps(dict(bench="torch_trace", model="resnet50", steps=options.steps, batch=options.batch, device=options.device,
                          recorded_s=round(recorded - began, 2), saved_s=round(time.perf_counter() - recorded, 2),
                          records=saved["records"], values=saved["values"], file_mb=round(saved["bytes"] / 1e6, 1),
                          torch=torch.__version__)))


if __name__ == "__main__":
    main()
