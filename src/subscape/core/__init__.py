"""The language of the project: clusterings that live in subspaces, and errors.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "clustering": "Cluster ClusteringLike SubspaceClustering as_clustering",
        "convert": "label_matrix",
        "errors": (
            "ConstantFeatureWarning DroppedClusterWarning EmptyClusteringError "
            "FewDistinctRowsWarning FileFormatError NotOrthonormalError "
            "ShapeMismatchError SharedFlatWarning SubscapeError UnsupportedKindError"
        ),
        "oriented": "OrientedSubspaces",
        "prototypes": "Prototypes assign describe",
        "subspaces": "AxisSubspaces Subspaces WeightedSubspaces",
    },
)
