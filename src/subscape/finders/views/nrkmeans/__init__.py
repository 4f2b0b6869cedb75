"""NrKMeans: several k-means clusterings, each in a subspace of its own."""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "nrkmeans": "NrKMeans",
    },
)
