"""A critic whose gradient is pushed towards norm 1 (WGAN-GP), and a Hessian-vector product: gradients of gradients."""
import torch
from results import report
from torch import nn

torch.manual_seed(7)
critic = nn.Sequential(nn.Linear(5, 24), nn.SiLU(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0., 0.9))
losses = []
for _ in range(8):
    real, fake = torch.randn(32, 5) + 1, torch.rand(32, 5)
    mix = torch.rand(32, 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_()
    slopes, = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = ((slopes.norm(2, dim=1) - 1) ** 2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

point, direction = torch.randn(4, 5, requires_grad=True), torch.randn(4, 5)
first, = torch.autograd.grad(critic(point).exp().sum(), point, create_graph=True)
second, = torch.autograd.grad(first, point, direction, retain_graph=True)
third, = torch.autograd.grad((first * direction).sum(), point)
assert torch.equal(second, third)
report(losses, critic.parameters(), second=[first, second])
