"""A perceptron learns to which of three spirals a point belongs."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(0)
radius = torch.linspace(0.1, 1, 100)
angles = [4 * radius + 2.0944 * arm + 0.1 * torch.randn(100) for arm in range(3)]
points = torch.cat([torch.stack([radius * torch.sin(angle), radius * torch.cos(angle)], dim=1) for angle in angles])
arms = torch.arange(3).repeat_interleave(100)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=40)
losses = []
for _ in range(40):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(points), arms)
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item())

with torch.no_grad():
    right = (model(points).argmax(dim=1) == arms).float().mean()
report([*losses, right], model.parameters())
