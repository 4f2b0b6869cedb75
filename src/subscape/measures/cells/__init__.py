"""Subspace clusterings compared in cells of the data matrix."""
