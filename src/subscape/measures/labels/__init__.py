"""Partitions of the same rows compared by their labels."""
