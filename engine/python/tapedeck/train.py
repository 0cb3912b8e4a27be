"""Optimisers."""
from tapedeck.lbfgs import LBFGS  # noqa: F401
