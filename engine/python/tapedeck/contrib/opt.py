"""TensorFlow 1's tf.contrib.opt."""
from tapedeck.train.contrib_optimizers import (
    AdamWOptimizer,
    LazyAdamOptimizer,
    MomentumWOptimizer,
    MovingAverageOptimizer,
    NadamOptimizer,
)

__all__ = ["AdamWOptimizer", "LazyAdamOptimizer", "MomentumWOptimizer", "MovingAverageOptimizer", "NadamOptimizer"]
