"""torch.func: grad, vmap, Jacobians, forward mode, and a module called as a function of its weights."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap

torch.manual_seed(19)
model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 2))
weights = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))


def loss_of(weights, x, y):
    return F.cross_entropy(functional_call(model, weights, (x,)), y)


losses = []
for _ in range(5):
    slopes, loss = grad_and_value(loss_of)(weights, x, y)
    weights = {name: weight - 0.2 * slopes[name] for name, weight in weights.items()}
    losses.append(loss.item())

of_each = vmap(grad(loss_of), in_dims=(None, 0, 0))(weights, x[:, None], y[:, None])
norms = torch.sqrt(sum(slope.flatten(1).square().sum(1) for slope in of_each.values()))


def energy(point):
    return (torch.sin(point) * point.prod()).sum()


point, direction = torch.randn(3), torch.randn(3)
value, along = jvp(energy, (point,), (direction,))
_, back = vjp(energy, point)
kept = [norms, value, along, back(torch.ones(()))[0], hessian(energy)(point), jacrev(torch.softmax, argnums=0)(point, 0),
        jacfwd(torch.tanh)(point), vmap(energy)(torch.randn(5, 3)), grad(grad(torch.sin))(point[0])]
report([*losses, value], weights.values(), slopes.values(), kept=kept)
