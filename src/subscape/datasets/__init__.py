"""Tables with known clusters, tables with none, and well-known real ones."""

from .planted import Planted, PlantedViews
from .planted_axes import planted_axes, thesis_6_1, thesis_6_2
from .planted_cocluster import planted_cocluster
from .planted_oriented import planted_oriented
from .planted_views import planted_views
from .real import RealData, load_real, real_names
from .structureless import structureless

__all__ = [
    "Planted",
    "PlantedViews",
    "RealData",
    "load_real",
    "planted_axes",
    "planted_cocluster",
    "planted_oriented",
    "planted_views",
    "real_names",
    "structureless",
    "thesis_6_1",
    "thesis_6_2",
]
