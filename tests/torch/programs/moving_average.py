"""An exponential moving average of the weights, by hand and by AveragedModel; the trained model is copied and restored."""
import copy
import io

import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel

torch.manual_seed(17)
model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Linear(24, 1))
average = copy.deepcopy(model).requires_grad_(False)
swa = AveragedModel(model, avg_fn=lambda old, new, count: old + (new - old) / (count + 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
schedule = SWALR(optimizer, swa_lr=5e-3)
x = torch.randn(128, 6)
y = x[:, :1] * x[:, 1:2]
losses, kept = [], io.BytesIO()
for step in range(12):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters()):
            old.lerp_(new, 0.1)
        for old, new in zip(average.buffers(), model.buffers()):
            old.copy_(new)
    if step >= 6:
        swa.update_parameters(model)
        schedule.step()
    if step == 8:
        torch.save(dict(model=model.state_dict(), optimizer=optimizer.state_dict()), kept)
    losses.append(loss.item())
gradients = [parameter.grad.clone() for parameter in model.parameters()]
kept.seek(0)
saved = torch.load(kept)
model.load_state_dict(saved["model"])
optimizer.load_state_dict(saved["optimizer"])
optimizer.step()
average.eval()
losses.append(F.mse_loss(average(x), y).item())
report(losses, [*model.parameters(), *average.parameters(), *swa.parameters()], gradients)
