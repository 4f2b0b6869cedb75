"""Few rows with many features: search in the directions that the rows span."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from subscape.core.clustering import SubspaceClustering
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found

from .flats import fitted_flat


class Span(NamedTuple):
    """A centred table in coordinates of its own span; distances and angles are the same."""

    rows: FloatArray
    """(n, r) array, with r at most n - 1 where the table has more features than rows."""
    basis: FloatArray | None
    """(p, r) array of the directions, None if the table is used as it is."""
    n_features: int

    def found(
        self,
        labels: IndexArray,
        dims: IndexArray,
        n_iter: int = 1,
        unrefined: tuple[IndexArray, IndexArray] | None = None,
        **attributes: object,
    ) -> Found:
        """The result of a search: a flat of the given dimension fitted to each cluster.

        Clusters are numbered by their first rows; lists of attributes stay as they are.
        ``unrefined`` are labels and dimensions before the clusters were refined.
        """
        clustering, flat_dims = self._clustering(labels, dims)
        attributes["flat_dims_"] = flat_dims
        before = None if unrefined is None else self._clustering(*unrefined)[0]
        return Found(clustering, n_iter, attributes, unrefined=before)

    def _clustering(
        self, labels: IndexArray, dims: IndexArray
    ) -> tuple[SubspaceClustering, IndexArray]:
        first = [int(np.argmax(labels == k)) for k in range(len(dims))]
        order = np.argsort(first, kind="stable")
        number = np.append(np.argsort(order, kind="stable"), -1)
        labels = number[labels]
        flats = []
        for k, old in enumerate(order):
            basis = fitted_flat(self.rows[labels == k], int(dims[old])).basis
            flats.append(basis if self.basis is None else self.basis @ basis)
        bases = OrientedSubspaces(flats, complement=True, n_features=self.n_features)
        clustering = SubspaceClustering.from_labels(labels, bases=bases)
        return clustering, np.array([flat.shape[1] for flat in flats], dtype=np.intp)


def span_of(X: FloatArray) -> Span:
    """Coordinates of a centred table in the span of its rows, if that has fewer dimensions."""
    n, p = X.shape
    if n > p:
        return Span(X, None, p)
    left, singular, right = np.linalg.svd(X, full_matrices=False)
    kept = singular > singular[0] * max(n, p) * np.finfo(float).eps
    kept[0] = True
    rows = np.ascontiguousarray(left[:, kept] * singular[kept])
    rows -= rows.mean(axis=0)
    return Span(rows, np.ascontiguousarray(right[kept].T), p)


def one_point(found: Found) -> Found:
    """Identical rows: a single cluster whose flat is a point."""
    memberships, p = found.clustering.memberships, found.clustering.n_features
    bases = OrientedSubspaces([np.zeros((p, 0))], complement=True)
    return Found(
        SubspaceClustering(memberships, bases), 1, {"flat_dims_": np.zeros(1, dtype=np.intp)}
    )
