"""Activation checkpointing: parts of the forward pass, random numbers included, run again inside of backward."""
import torch
from results import report
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential


def block():
    return nn.Sequential(nn.Linear(16, 16), nn.ReLU(inplace=True), nn.Dropout(0.2))


torch.manual_seed(11)
once, twice, plain = block(), block(), nn.ModuleList([block() for _ in range(3)])
rows = nn.Sequential(*[block() for _ in range(4)])
model = nn.ModuleList([once, twice, plain, rows])
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def nested(x):
    return twice(checkpoint(once, x, use_reentrant=False)) + x


losses = []
for _ in range(4):
    x = torch.randn(8, 16, requires_grad=True)
    h = checkpoint(nested, x, use_reentrant=False)
    for layer in plain:
        h = checkpoint(layer, h, use_reentrant=True)
    h = checkpoint_sequential(rows, 2, h, use_reentrant=False)
    loss = h.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses += [loss.item(), x.grad.norm().item()]
report(losses, model.parameters())
