"""A variational autoencoder: sampling by torch.distributions, and a divergence by its closed form and by a sample."""
import torch
import torch.nn.functional as F
from results import report
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(5)
encoder = nn.Sequential(nn.Linear(20, 32), nn.Softplus(), nn.Linear(32, 6))
decoder = nn.Sequential(nn.Linear(3, 32), nn.ELU(), nn.Linear(32, 20))
parameters = [*encoder.parameters(), *decoder.parameters()]
optimizer = torch.optim.Adam(parameters, lr=3e-3, amsgrad=True)
prior = Normal(torch.zeros(3), torch.ones(3))
data = torch.sigmoid(torch.randn(128, 3) @ torch.randn(3, 20)).bernoulli()
losses = []
for batch in data.split(16):
    mean, log_scale = encoder(batch).chunk(2, dim=1)
    posterior = Normal(mean, log_scale.exp())
    z = posterior.rsample()
    reconstruction = F.binary_cross_entropy_with_logits(decoder(z), batch, reduction="none").sum(1)
    divergence = kl_divergence(posterior, prior).sum(1)
    by_sample = (posterior.log_prob(z) - prior.log_prob(z)).sum(1)
    loss = (reconstruction + 0.5 * divergence + 0.5 * by_sample).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
with torch.no_grad():
    drawn = torch.bernoulli(torch.sigmoid(decoder(prior.sample((4,)))))
report(losses, parameters, drawn=[drawn])
