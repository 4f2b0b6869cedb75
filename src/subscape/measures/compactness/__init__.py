"""Indices of compactness and separation."""
