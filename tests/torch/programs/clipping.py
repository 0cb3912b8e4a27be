"""Gradients clipped by norm, by value and by hooks on tensors, modules and nodes of the graph."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(16)
model = nn.ModuleDict(dict(embedding=nn.Embedding(20, 8), cells=nn.RNN(8, 16, nonlinearity="relu", batch_first=True),
                           out=nn.Linear(16, 20)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
calls, losses = [], []
model["out"].register_forward_hook(lambda module, inputs, result: result * 0.9)
model["out"].register_full_backward_hook(lambda module, of_inputs, of_results: (of_inputs[0].clamp(-0.5, 0.5),))
for _, parameter in model.named_parameters():
    if parameter.dim() == 1:
        parameter.register_hook(lambda gradient: gradient * 0.5)
if hasattr(torch.Tensor, "register_post_accumulate_grad_hook"):
    model["out"].weight.register_post_accumulate_grad_hook(lambda weight: calls.append(weight.grad.norm().item()))

for step in range(8):
    text = torch.randint(0, 20, (4, 12))
    hidden, last = model["cells"](model["embedding"](text[:, :-1]))
    hidden.grad_fn.register_hook(lambda of_inputs, of_results: calls.append(of_results[0].abs().sum().item()))
    hidden.retain_grad()
    loss = F.cross_entropy(model["out"](hidden).transpose(1, 2), text[:, 1:]) + last.square().mean()
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
    if step % 3 == 0:
        nn.utils.clip_grad_value_(model.parameters(), 0.01)
    optimizer.step()
    losses += [loss.item(), norm.item(), hidden.grad.norm().item()]
report([*losses, *calls], model.parameters())
