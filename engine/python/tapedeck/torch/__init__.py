"""PyTorch's ops as records: `tapedeck.torch.attach()`, which a session does by itself when the program imports torch."""
from tapedeck.torch.recording import attach, attached, detach, recording

__all__ = ["attach", "attached", "detach", "recording"]
