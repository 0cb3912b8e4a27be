"""autograd.Function in several forms: twice differentiable, several results, in-place, without materialised gradients."""
import torch
from results import report
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensors
        return 2 * x * dy


class SplitNorm(Function):
    """Returns a direction and a length; the length's gradient may be missing."""

    @staticmethod
    def forward(ctx, x, epsilon):
        length = x.norm(dim=1, keepdim=True) + epsilon
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(x, length)
        ctx.mark_non_differentiable(signs := x.sign())
        return x / length, length, signs

    @staticmethod
    @once_differentiable
    def backward(ctx, of_direction, of_length, of_signs):
        x, length = ctx.saved_tensors
        dx = torch.zeros_like(x)
        if of_direction is not None:
            dx += of_direction / length - x * (of_direction * x).sum(1, keepdim=True) / (length * length * length)
        if of_length is not None:
            dx.addcdiv_(x * of_length, length)
        return dx, None


class ClampInPlace(Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.mark_dirty(x)
        ctx.limit = limit
        ctx.save_for_backward(x.abs() < limit)
        return x.clamp_(-limit, limit)

    @staticmethod
    def backward(ctx, dy):
        inside, = ctx.saved_tensors
        return dy.masked_fill(~inside, 0), None


torch.manual_seed(12)
w = torch.randn(6, 6, requires_grad=True)
losses = []
for step in range(6):
    x = torch.randn(10, 6)
    direction, length, signs = SplitNorm.apply(x @ w, 1e-6)
    h = ClampInPlace.apply(direction * 3, 1.5)
    loss = Square.apply(h - signs).mean()
    if step % 2:
        loss = loss + 0.1 * length.mean()
    slope, = torch.autograd.grad(loss, w)
    with torch.no_grad():
        w -= 0.1 * slope
    losses.append(loss.item())

v = torch.randn(5, requires_grad=True)
first, = torch.autograd.grad(Square.apply(v).sum(), v, create_graph=True)
second, = torch.autograd.grad(first.pow(3).sum(), v)
report(losses, [w], [slope, first, second])
