"""Weights that are functions of other weights: norms by hooks and by parametrisations, and a spectral norm."""
import warnings

import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.nn.utils import parametrizations, parametrize

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the older way is deprecated, and in use
    from torch.nn.utils import weight_norm

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

    torch.manual_seed(10)
    first = weight_norm(nn.Linear(6, 12))
second = parametrizations.spectral_norm(nn.Linear(12, 12))
third = nn.Linear(12, 12)
parametrize.register_parametrization(third, "weight", Symmetric())
fourth = parametrizations.orthogonal(nn.Linear(12, 4))
model = nn.Sequential(first, nn.ReLU6(), second, nn.Hardswish(), third, nn.Softsign(), fourth)
optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
x, y = torch.randn(32, 6), torch.randn(32, 4)
losses = []
for _ in range(6):
    optimizer.zero_grad()
    loss = F.smooth_l1_loss(model(x), y, beta=0.5)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
report(losses, model.parameters(), buffers=model.buffers(), weights=[first.weight, second.weight, third.weight, fourth.weight])
