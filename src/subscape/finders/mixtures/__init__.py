"""Mixtures of normal distributions, each with a low-dimensional subspace of its own.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "hddc": "HDDC",
        "mfa": "MFA",
        "mppca": "MPPCA",
    },
)
