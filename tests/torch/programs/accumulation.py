"""Gradients of several small batches are added before one step; some are scaled, some are added by retained graphs."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(15)
model = nn.Sequential(nn.Linear(10, 20), nn.PReLU(), nn.Linear(20, 20), nn.Mish(), nn.Linear(20, 1))
optimizer = torch.optim.Adadelta(model.parameters(), lr=1.0)
x, y = torch.randn(96, 10), torch.randn(96, 1)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    for number, (inputs, targets) in enumerate(zip(x.split(12), y.split(12)), start=1):
        loss = F.huber_loss(model(inputs), targets) / 4
        loss.backward()
        if number % 4 == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=number % 8 == 0)
        losses.append(loss.item())

# Two losses of one graph, one after the other; then a gradient that the program itself puts there.
h = model[:2](x[:8])
h.sum().backward(retain_graph=True)
(h * h).mean().backward()
model[-1].weight.grad = torch.ones_like(model[-1].weight)
for parameter in model.parameters():
    if parameter.grad is not None:
        parameter.grad /= 3
report(losses, model.parameters())
