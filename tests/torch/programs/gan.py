"""A generator and a discriminator: the fakes are detached in one step and followed in the other."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn

torch.manual_seed(4)
generator = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Unflatten(1, (1, 4, 4)),
                          nn.ConvTranspose2d(1, 4, 4, stride=2, padding=1), nn.Tanh())
discriminator = nn.Sequential(nn.Conv2d(4, 8, 3, stride=2), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(72, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
losses = []
for _ in range(8):
    real = torch.sin(torch.rand(16, 4, 1, 1) * 6 + torch.arange(64).view(8, 8) / 10)
    fake = generator(torch.randn(16, 4))
    of_discriminator.zero_grad()
    on_real, on_fake = discriminator(real), discriminator(fake.detach())
    loss_d = (F.binary_cross_entropy_with_logits(on_real, torch.full_like(on_real, 0.9))
              + F.binary_cross_entropy_with_logits(on_fake, torch.zeros_like(on_fake)))
    loss_d.backward()
    of_discriminator.step()

    of_generator.zero_grad()
    for parameter in discriminator.parameters():
        parameter.requires_grad_(False)
    answer = discriminator(fake)
    loss_g = F.binary_cross_entropy_with_logits(answer, torch.ones_like(answer))
    loss_g.backward()
    of_generator.step()
    for parameter in discriminator.parameters():
        parameter.requires_grad_(True)
    losses += [loss_d.item(), loss_g.item()]
report(losses, [*generator.parameters(), *discriminator.parameters()], buffers=generator.buffers())
