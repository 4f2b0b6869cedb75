"""Groups of any shape: parted by valleys of low density, or communities of a graph.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"density_tree": "DensityTree", "leiden": "Leiden"}
)
