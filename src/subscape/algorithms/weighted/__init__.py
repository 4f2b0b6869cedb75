"""Finders whose clusters weight the features instead of choosing some."""

from .lac import LAC

__all__ = ["LAC"]
