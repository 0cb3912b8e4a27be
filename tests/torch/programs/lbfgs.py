"""L-BFGS calls its closure as often as its line search needs it; the graph's size depends on values."""
import torch
from results import report

torch.manual_seed(6)
x = torch.linspace(-2, 2, 60, dtype=torch.float64)
y = torch.sin(3 * x) * torch.exp(-x * x) + 0.01 * torch.randn(60, dtype=torch.float64)
weights = [torch.randn(8, dtype=torch.float64, requires_grad=True) for _ in range(3)]
losses = []


def closure():
    optimizer.zero_grad()
    centres, widths, heights = weights
    bumps = torch.exp(-((x[:, None] - centres) ** 2) * torch.nn.functional.softplus(widths))
    loss = ((bumps @ heights - y) ** 2).mean() + 1e-4 * sum(weight.abs().sum() for weight in weights)
    loss.backward()
    losses.append(loss.item())
    return loss


optimizer = torch.optim.LBFGS(weights, lr=0.5, max_iter=6, history_size=5, line_search_fn="strong_wolfe")
for _ in range(3):
    optimizer.step(closure)
optimizer = torch.optim.LBFGS(weights, lr=0.1, max_iter=4)
optimizer.step(closure)
report(losses, weights)
