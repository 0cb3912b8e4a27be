"""A small language model: causal attention written by hand, with fused attention, and PyTorch's own encoder layer."""
import math

import torch
import torch.nn.functional as F
from results import report
from torch import nn


class Attention(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.heads, self.fused = heads, fused
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16, dtype=torch.bool)))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
            mixed = scores.masked_fill(~self.mask[:length, :length], float("-inf")).softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, fused):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, fused)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x):
        x = x + self.attention(self.first(x))
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    def __init__(self, words=32, width=32, heads=4):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(16, width)
        self.blocks = nn.ModuleList([Block(width, heads, fused=False), Block(width, heads, fused=True)])
        self.encoder = nn.TransformerEncoderLayer(width, heads, 64, dropout=0.1, batch_first=True)
        self.norm = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.size(1)))
        for block in self.blocks:
            x = block(x)
        x = self.encoder(x, src_mask=nn.Transformer.generate_square_subsequent_mask(tokens.size(1)))
        return self.norm(x) @ self.words.weight.T  # the embedding is used twice


torch.manual_seed(3)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
losses = []
for _ in range(6):
    starts = torch.randint(0, 16, (8, 1))
    text = (starts + torch.arange(13)) % 32
    loss = F.cross_entropy(model(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

model.eval()
with torch.no_grad():
    written = torch.zeros(2, 1, dtype=torch.long)
    for _ in range(5):
        written = torch.cat([written, torch.multinomial(model(written)[:, -1].softmax(dim=-1), 1)], dim=1)
report(losses, model.parameters(), written=[written])
