"""In-place ops, views, writes through views, out=, results that share memory, and hidden changes of version."""
import torch
from results import report

torch.manual_seed(13)
w = torch.randn(4, 6, requires_grad=True)
losses = []
for step in range(4):
    h = 1.5 * w.mul(1.5).tanh_()
    h[1].mul_(2)
    h[:, ::2].add_(torch.arange(3.))
    h.T[2:4] = -1
    left, right = h.split(3, dim=1)
    total = left.clone()
    total += right
    total.clamp_(min=-2)
    total.unsqueeze_(0).squeeze_(0)
    total.index_add_(0, torch.tensor([0, 2, 2]), torch.ones(3, 3), alpha=0.1)
    total.masked_fill_(total > 0.9, 0.5).sigmoid_()
    rows = list(h.unbind(0))
    rows[0] = rows[0] * 2
    loss = (total * total).sum() + torch.stack(rows).diagonal().sum() + h.expand(2, 4, 6).mean()
    loss.backward()
    with torch.no_grad():
        w.sub_(w.grad, alpha=0.05)
        w.grad.zero_() if step < 3 else w.grad.mul_(1)
    losses.append(loss.item())

# Without gradients: one buffer that is written again and again, through views of it and as out=.
buffer, strided = torch.zeros(24), torch.zeros(6, 4).t()
seen = []
for step in range(6):
    torch.add(buffer.view(4, 6), w.detach(), alpha=0.5, out=strided.t().reshape(4, 6))
    torch.mul(buffer, 0.9, out=buffer)
    buffer.view(4, 6)[step % 4].copy_(torch.rand(6))
    buffer.as_strided((5,), (4,), step % 3).uniform_(-1, 1)
    torch.cumsum(buffer, 0, out=buffer)
    buffer.data.div_(3)
    buffer.resize_(24).roll(step)
    buffer[buffer < 0] *= -0.5
    torch.sort(buffer[:8], out=(buffer[8:16], torch.empty(8, dtype=torch.long)))
    strided.copy_(buffer.view(4, 6))
    strided.fill_diagonal_(step)
    seen.append(buffer.clone())
    pair = torch.complex(buffer[:4], buffer[4:8])
    torch.view_as_real(pair)[..., 1] = 0
    seen.append(torch.view_as_real(pair * pair.conj()))
old = buffer
buffer = torch.empty(0)
buffer.set_(old)
buffer.zero_()
assert not old.any()
report(losses, [w], [w.grad], buffers=[*seen, strided, old])
