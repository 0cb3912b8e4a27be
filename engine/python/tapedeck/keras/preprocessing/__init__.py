"""Data on their way to a model."""
