"""What recording costs programs of PyTorch, as JSON lines: an op, and training steps of three models, in four states.

    PYTHONPATH=FOLDER OMP_NUM_THREADS=1 INTERPRETER tests/bench/bench_torch.py [ROUNDS] [--device cuda]

INTERPRETER has PyTorch, FOLDER Tapedeck's module for it. States: plain; idle (the dispatch mode is entered, nothing records); records
(without values); values. They take turns, so that a slower moment of the machine meets all of them; times are of the program's own
thread, the shortest of all rounds, in microseconds. On another device than the CPU this is what the program's thread does, and its wait at
the end of a round.
"""
import argparse
import json
import time

import torch
from torch import nn

from tapedeck import _engine
from tapedeck.torch import recording

debug = _engine.debug
STATES = ("plain", "idle", "records", "values")


class Block(nn.Module):
    """Of ResNet-18: He and others, "Deep Residual Learning for Image Recognition", figure 2."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(before, channels, 3, stride, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(inplace=True),
                                  nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))
        self.shortcut = (nn.Identity() if stride == 1 and before == channels else
                         nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels)))

    def forward(self, x):
        return torch.relu_(self.body(x) + self.shortcut(x))


def resnet():
    widths = [64, 64, 64, 128, 128, 256, 256, 512, 512]
    blocks = [Block(widths[i], widths[i + 1], 2 if i in (2, 4, 6) else 1) for i in range(8)]
    model = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1), *blocks,
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    return model, torch.randn(8, 3, 224, 224), torch.randint(1000, [8])


def mlp():
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(.1), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    return model, torch.randn(32, 64), torch.randint(10, [32])


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.layers(x).mean(1))


def transformer():
    return Encoder(), torch.randn(8, 64, 128), torch.randint(10, [8])


def step_of(make, device):
    torch.manual_seed(1)
    model, images, labels = make()
    model, images, labels = model.to(device), images.to(device), labels.to(device)
    optimiser = torch.optim.Adam(model.parameters())

    def step():
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(images), labels).backward()
        optimiser.step()

    return step


def addition(device):
    x, y = torch.randn(8, 8, device=device), torch.randn(8, 8, device=device)
    return lambda: x + y


def taped_addition(device):
    x, y = torch.randn(8, 8, device=device, requires_grad=True), torch.randn(8, 8, device=device)
    return lambda: x + y


def calls_of_modules(device):
    model = nn.Sequential(*(nn.Identity() for _ in range(10))).to(device)
    x = torch.randn(8, 8, device=device)
    return lambda: model(x)


def timed(work, count, wait):
    wait()
    began = time.thread_time()
    for _ in range(count):
        work()
    wait()
    return (time.thread_time() - began) / count * 1e6


def measured(work, count, state, wait):
    if state == "plain":
        return timed(work, count, wait)
    with recording():
        if state == "idle":
            return timed(work, count, wait)
        debug.attach(keep_values=state == "values")
        try:
            return timed(work, count, wait)
        finally:
            debug.stop()


def main(rounds, device):
    torch.set_num_threads(1)
    wait = (lambda: None) if device == "cpu" else getattr(torch, torch.device(device).type).synchronize
    cases = (("add, 8x8", addition(device), 5000), ("add, 8x8, taped", taped_addition(device), 5000),
             ("11 calls of modules without ops", calls_of_modules(device), 2000), ("MLP, step", step_of(mlp, device), 20),
             ("transformer, step", step_of(transformer, device), 5), ("ResNet-18, step of 8 images", step_of(resnet, device), 1))
    for name, work, count in cases:
        work()
        best = dict.fromkeys(STATES, float("inf"))
        for _ in range(rounds):
            for state in STATES:
                best[state] = min(best[state], measured(work, count, state, wait))
        print(json.dumps({"case": name, "device": device, **{f"{state}_us": round(best[state], 2) for state in STATES},
                          "recorded_to_plain": round(best["values"] / best["plain"], 2)}), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rounds", nargs="?", type=int, default=3, metavar="ROUNDS")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    main(options.rounds, options.device)
