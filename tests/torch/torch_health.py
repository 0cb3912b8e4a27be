"""Programs that ask *Health* about themselves, in the interpreter that TAPEDECK_TORCH names."""
import textwrap

from recorded_programs import RecordedPrograms

PRELUDE = """
import warnings
from torch import nn
import torch.nn.functional as F
warnings.simplefilter("ignore")  # PyTorch itself warns of some of the faults
torch.manual_seed(0)

def found(rule, steps=30):
    return [one for one in debug.health_findings(steps) if one["rule"] == rule]

def train(parameters, loss, steps=20, rate=0.01):
    optimizer = torch.optim.SGD(list(parameters), rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()

def has(rule, *parts, severity="warning"):
    sentences = [one["sentence"] for one in found(rule)]
    assert len(sentences) == 1, (rule, debug.health_findings(30))
    for part in parts:
        assert part in sentences[0], (part, sentences)
    assert found(rule)[0]["severity"] == severity and found(rule)[0]["line"] > 0, found(rule)

def quiet(*rules):
    for rule in rules:
        assert not found(rule), found(rule)

x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
classes = torch.randint(0, 3, (64,))
"""


class HealthPrograms(RecordedPrograms):
    def check(self, program, before=""):
        super().check(PRELUDE + textwrap.dedent(program), before)
