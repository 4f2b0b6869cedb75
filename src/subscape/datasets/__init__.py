"""Tables with known clusters, tables with none, and well-known real ones."""

from .axes import planted_axes, thesis_6_1, thesis_6_2
from .cocluster import planted_cocluster
from .null_tables import structureless
from .oriented import planted_oriented
from .planted import Planted, PlantedViews
from .real import RealData, load_real, real_names
from .views import planted_views

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
