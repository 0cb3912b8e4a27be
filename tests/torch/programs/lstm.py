"""An LSTM of two layers and a GRU guess the next letter; the lines differ in length."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

lines = ["the owl and the pussycat went to sea", "in a beautiful pea green boat", "they took some honey",
         "and plenty of money", "wrapped up in a five pound note"]
letters = sorted(set("".join(lines)))


class Writer(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.embedding = nn.Embedding(len(letters), 12)
        self.cells = cell(12, 24, num_layers=2, batch_first=True, dropout=0.1)
        self.out = nn.Linear(24, len(letters))

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.embedding(x), lengths, batch_first=True, enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.cells(packed)[0], batch_first=True)
        return self.out(hidden)


torch.manual_seed(2)
texts = [torch.tensor([letters.index(letter) for letter in line]) for line in lines]
lengths = torch.tensor([len(text) - 1 for text in texts])
inputs = pad_sequence([text[:-1] for text in texts], batch_first=True)
targets = pad_sequence([text[1:] for text in texts], batch_first=True, padding_value=-100)
models = nn.ModuleList([Writer(nn.LSTM), Writer(nn.GRU)])
optimizer = torch.optim.RMSprop(models.parameters(), lr=0.005)
losses = []
for _ in range(5):
    for model in models:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs, lengths).flatten(0, 1), targets.flatten(), ignore_index=-100)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
report(losses, models.parameters())
