"""Finders of arbitrarily oriented subspaces.

*Subspace* means the one in which the points of a cluster are alike; the flat they spread along is
``clustering_.complement()``, its dims are ``flat_dims_``.
"""
