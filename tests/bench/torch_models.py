"""What benchmarks run, in plain PyTorch. Each of STEPS makes a function without arguments that runs one step, and returns a number: the
loss of a training step."""
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    """Of ResNet-18: two convolutions and a shortcut. He and others, "Deep Residual Learning for Image Recognition", 2015, figure 5."""
    growth = 1

    def __init__(self, given, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(given, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width)
        self.shortcut = shortcut(given, width, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x), inplace=True)


class Bottleneck(nn.Module):
    """Of ResNet-50, with the stride in the 3×3 convolution, as in torchvision."""
    growth = 4

    def __init__(self, given, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(given, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.shortcut = shortcut(given, 4 * width, stride)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        return F.relu(self.bn3(self.conv3(y)) + self.shortcut(x), inplace=True)


def shortcut(given, made, stride):
    if given == made and stride == 1:
        return nn.Identity()
    return nn.Sequential(nn.Conv2d(given, made, 1, stride, bias=False), nn.BatchNorm2d(made))


class ResNet(nn.Module):
    def __init__(self, block, depths, classes=1000):
        super().__init__()
        self.conv1, self.bn1, self.pool = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.MaxPool2d(3, 2, 1)
        given, layers = 64, []
        for number, depth in enumerate(depths):
            width = 64 << number
            blocks = [block(given if place == 0 else width * block.growth, width, 2 if number and place == 0 else 1)
                      for place in range(depth)]
            layers.append(nn.Sequential(*blocks))
            given = width * block.growth
        self.layer1, self.layer2, self.layer3, self.layer4 = layers
        self.fc = nn.Linear(given, classes)

    def forward(self, x):
        x = self.pool(F.relu(self.bn1(self.conv1(x)), inplace=True))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean(dim=(2, 3)))


def resnet18():
    return ResNet(Block, [2, 2, 2, 2])


def resnet50():
    return ResNet(Bottleneck, [3, 4, 6, 3])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Transformer(nn.Module):
    """Before each part a LayerNorm, as in GPT-2; the embedding is the last layer, too."""

    def __init__(self, words=1000, width=256, heads=4, depth=4, length=128):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(nn.ModuleDict(dict(
            norm1=nn.LayerNorm(width), attention=Attention(width, heads), norm2=nn.LayerNorm(width),
            mlp=nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)))) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        nn.init.normal_(self.words.weight, std=0.02)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.size(1), device=tokens.device))
        for block in self.blocks:
            x = x + block["attention"](block["norm1"](x))
            x = x + block["mlp"](block["norm2"](x))
        return self.norm(x) @ self.words.weight.T


def step_of(model, inputs, labels, optimizer):
    def step():
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits.flatten(0, -2), labels.flatten())
        loss.backward()
        optimizer.step()
        return loss.item()

    step.model, step.inputs = model, inputs
    return step


def mlp_step(device="cpu", batch=128):
    """A perceptron of MNIST's size: what an op costs beside small kernels."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    return step_of(model, torch.randn(batch, 784, device=device), torch.randint(0, 10, (batch,), device=device),
                   torch.optim.Adam(model.parameters()))


def resnet_step(model, device, batch):
    model = model.to(device)
    return step_of(model, torch.randn(batch, 3, 224, 224, device=device), torch.randint(0, 1000, (batch,), device=device),
                   torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9))


def resnet18_step(device="cpu", batch=8):
    torch.manual_seed(0)
    return resnet_step(resnet18(), device, batch)


def resnet50_step(device="cpu", batch=8):
    torch.manual_seed(0)
    return resnet_step(resnet50(), device, batch)


def transformer_step(device="cpu", batch=4):
    torch.manual_seed(0)
    model = Transformer().to(device)
    tokens = torch.randint(0, 1000, (batch, 129), device=device)
    return step_of(model, tokens[:, :-1], tokens[:, 1:], torch.optim.AdamW(model.parameters(), lr=1e-4))


def sums_step(device="cpu", count=1000):
    """The smallest kernels, so that nearly all of the time is what an op costs beside its kernel."""
    x, y = torch.ones(8, 8, device=device), torch.ones(8, 8, device=device)

    def step():
        for _ in range(count):
            z = x + y
        return z[0, 0].item()

    return step


STEPS = dict(sums=sums_step, mlp=mlp_step, resnet18=resnet18_step, transformer=transformer_step)
