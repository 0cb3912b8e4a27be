"""Training: optimisers, learning rates that decay, averages, and the global step."""
