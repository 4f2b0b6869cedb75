"""Numbers by blocks, on any device, and the kernels that several finders and measures use.

A kernel is a pure function over arrays: a NumPy version that reads well and, where a profile says
that it pays, a compiled twin (:mod:`subscape.arrays.backend`).
"""
