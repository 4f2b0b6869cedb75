"""The language of the project: clusterings that live in subspaces, tables, files, errors."""

from .clustering import Cluster, ClusteringLike, SubspaceClustering, as_clustering
from .columns import Column
from .convert import label_matrix
from .encoding import Encoded
from .errors import (
    ConstantFeatureWarning,
    DroppedClusterWarning,
    EmptyClusteringError,
    FewDistinctRowsWarning,
    FileFormatError,
    NotOrthonormalError,
    ShapeMismatchError,
    SubscapeError,
    UnsupportedKindError,
)
from .files import load, load_all, load_prototypes, save
from .formats import read_clusterings, read_together, write_clusterings
from .oriented import OrientedSubspaces
from .prototypes import Prototypes, assign, describe
from .subspaces import AxisSubspaces, Subspaces, WeightedSubspaces
from .table import Table

__all__ = [
    "AxisSubspaces",
    "Cluster",
    "ClusteringLike",
    "Column",
    "ConstantFeatureWarning",
    "DroppedClusterWarning",
    "EmptyClusteringError",
    "Encoded",
    "FewDistinctRowsWarning",
    "FileFormatError",
    "NotOrthonormalError",
    "OrientedSubspaces",
    "Prototypes",
    "ShapeMismatchError",
    "SubscapeError",
    "SubspaceClustering",
    "Subspaces",
    "Table",
    "UnsupportedKindError",
    "WeightedSubspaces",
    "as_clustering",
    "assign",
    "describe",
    "label_matrix",
    "load",
    "load_all",
    "load_prototypes",
    "read_clusterings",
    "read_together",
    "save",
    "write_clusterings",
]
