"""Tapes and derivatives."""
