"""Finders that group rows and columns together."""

from .itcc import ITCC

__all__ = ["ITCC"]
