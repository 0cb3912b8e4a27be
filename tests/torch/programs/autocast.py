"""Training in bfloat16 by CPU autocast, with weights in float32; parts of it in float32 and in float16 by hand."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(14)
model = nn.Sequential(nn.Linear(12, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
convolution = nn.Conv1d(1, 4, 3, padding=1)
parameters = [*model.parameters(), *convolution.parameters()]
optimizer = torch.optim.AdamW(parameters, lr=5e-3)
x, y = torch.randn(48, 12), torch.randint(0, 4, (48,))
losses = []
for _ in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(x)
        assert logits.dtype == torch.bfloat16
        filtered = convolution(x[:, None]).mean(2)
        with torch.autocast("cpu", enabled=False):
            penalty = (filtered.float() ** 2).mean()
        loss = F.cross_entropy(logits + filtered, y) + 0.1 * penalty
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
half = [parameter.detach().half() * 2 for parameter in parameters]
report(losses, parameters, half=[*half, logits])
