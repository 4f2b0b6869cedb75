"""Hot loops: pure functions over arrays, in NumPy and, where it pays, in Cython as well.

Nothing is imported here; take a kernel from its own module::

    from subscape.kernels.contingency import count_pairs

:mod:`subscape.kernels.backend` chooses between the two versions.
"""
