"""Finders of axis-aligned subspaces: each cluster has a set of relevant features."""
