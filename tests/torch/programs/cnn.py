"""A convolutional network with batch normalisation and dropout; its running statistics count as a result, too."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.1), nn.Dropout2d(0.1),
            nn.AdaptiveAvgPool2d(3))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(144, 10))

    def forward(self, x):
        return self.head(self.features(x))


torch.manual_seed(1)
images, labels = torch.rand(64, 1, 14, 14), torch.randint(0, 10, (64,))
images[torch.arange(64), 0, labels] += 1  # a bright row says which class it is
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
losses = []
for _ in range(4):
    model.train()
    for batch in torch.randperm(64).split(16):
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(images[batch]), labels[batch], label_smoothing=0.1)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.inference_mode():
        losses.append(F.cross_entropy(model(images), labels).item())
report(losses, model.parameters(), buffers=model.buffers())
