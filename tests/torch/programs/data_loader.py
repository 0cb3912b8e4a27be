"""Batches come from two worker processes, and a thread prepares targets with torch while the model trains."""
import queue
import threading

import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler


class Waves(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        times = torch.linspace(0, 1, 20)
        return torch.sin(2 * torch.pi * (1 + index % 3) * times) + 0.1 * torch.rand(20), index % 3


def prepare(labels, ready):
    for label in iter(labels.get, None):
        ready.put(F.one_hot(label, 3).float() * 0.9 + 0.1 / 3)


def main():
    torch.manual_seed(18)
    sampler = WeightedRandomSampler(torch.arange(1., 49), 48)
    loader = DataLoader(Waves(), batch_size=8, sampler=sampler, num_workers=2)
    model = nn.Sequential(nn.Unflatten(1, (1, 20)), nn.Conv1d(1, 6, 5), nn.MaxPool1d(2), nn.ReLU(), nn.Flatten(), nn.Linear(48, 3))
    optimizer = torch.optim.Adamax(model.parameters(), lr=0.02)
    labels, ready = queue.Queue(), queue.Queue()
    thread = threading.Thread(target=prepare, args=(labels, ready))
    thread.start()
    losses = []
    for _ in range(2):
        for waves, kinds in loader:
            labels.put(kinds)
            logits = model(waves)
            loss = F.cross_entropy(logits, ready.get())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    labels.put(None)
    thread.join()
    report(losses, model.parameters())


if __name__ == "__main__":
    main()
