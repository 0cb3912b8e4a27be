"""Embeddings whose gradients are sparse, each with the optimiser that takes such gradients."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(9)
words = nn.Embedding(200, 8, sparse=True, padding_idx=0)
bags = nn.EmbeddingBag(200, 8, mode="sum", sparse=True)
head = nn.Linear(16, 2)
optimizers = [torch.optim.SparseAdam(words.parameters(), lr=0.01), torch.optim.Adagrad(bags.parameters(), lr=0.05),
              torch.optim.SGD(head.parameters(), lr=0.1)]
losses, kept = [], []
for _ in range(6):
    text = torch.randint(0, 200, (12, 7))
    text[:, 5:] = torch.where(torch.rand(12, 2) < 0.5, torch.zeros(12, 2, dtype=torch.long), text[:, 5:])
    flat, offsets = torch.randint(0, 200, (40,)), torch.arange(0, 36, 3)
    logits = head(torch.cat([words(text).mean(1), bags(flat, offsets, per_sample_weights=torch.rand(40))], dim=1))
    loss = F.nll_loss(F.log_softmax(logits, dim=1), (text.sum(1) % 2))
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    assert words.weight.grad.is_sparse and bags.weight.grad.is_sparse
    kept += [words.weight.grad.coalesce().values(), bags.weight.grad.coalesce().indices()]
    for optimizer in optimizers:
        optimizer.step()
    losses.append(loss.item())
report(losses, [*words.parameters(), *bags.parameters(), *head.parameters()], kept=kept)
