"""Checkpoints: what objects hold, saved to a file and brought back."""
from tapedeck.checkpoint.files import read_metadata, read_tensors, write_tensors  # noqa: F401
