"""Training: optimisers, learning rates that decay, averages, and the global step."""
from tapedeck.train import contrib_optimizers, decays, kfac, lbfgs, optimizer, optimizers, steps  # noqa: F401
