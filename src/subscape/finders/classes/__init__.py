"""Classes in tables of levels, grades, yes/no answers and numbers.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {"latent_classes": "LatentClasses"})
