"""What finders of views share: the fitted attributes, new rows, and tables that are too wide."""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from subscape.core import OrientedSubspaces, SubspaceClustering
from subscape.core.errors import SubscapeError, count
from subscape.kernels.array_api import from_numpy, is_foreign, shared_namespace, to_numpy

from .base import Found, MultiClusteringFinder, Watch, found_several
from .view_finish import basis_of, clustering_of, finished_views, mark_outliers, means
from .view_kmeans import Floats, Solution
from .view_request import free_directions
from .view_search import sampled


class Searched(NamedTuple):
    """The table as the search sees it."""

    X: NDArray[np.floating]
    sample: Floats
    """Some of its rows, or all, in float64."""
    unit: float
    """What the values were divided by."""
    lift: Floats | None
    """Directions that the columns of ``X`` are, None for the features themselves."""


class ViewFinder(TransformerMixin, MultiClusteringFinder):
    """Base of the finders of orthogonal views with k-means clusters."""

    _kind = "oriented"

    def _find(self, X: Floats, seed: np.random.SeedSequence, watch: Watch) -> Found:
        with threadpool_limits(1):
            return self._find_views(X, seed, watch)

    def _find_views(self, X: Floats, seed: np.random.SeedSequence, watch: Watch) -> Found:
        raise NotImplementedError(f"{type(self).__name__} must implement _find_views")

    def _has_noise(self) -> bool:
        """Whether what is in no view is a noise space."""
        return True

    def _searched(self, X: Floats, seed: np.random.SeedSequence) -> Searched:
        # A power of two: squares stay in the range of float32, and no bit changes.
        unit = float(2.0 ** np.round(np.log2(np.sqrt(np.square(X).mean()))))
        lift = free_directions(X, [each.labels() for each in self.given_])
        table = X / unit if lift is None else (X / unit) @ lift
        sample = sampled(np.ascontiguousarray(table), seed)
        # Small tables gain nothing from lower precision.
        dtype = np.float64 if len(sample) == len(table) else self._dtype
        return Searched(np.ascontiguousarray(table, dtype=dtype), sample, unit, lift)

    def _found(
        self, X: Floats, searched: Searched, best: Solution, outliers: bool, **attributes: Any
    ) -> Found:
        """The views of a solution as clusterings of the table."""
        labels = mark_outliers(searched.X, best) if outliers else best.labels
        views = finished_views(best, labels)
        if searched.lift is not None:
            views = [view._replace(basis=searched.lift @ view.basis) for view in views]
        square = searched.unit**2
        return found_several(
            [clustering_of(view) for view in views],
            best.n_iter,
            importances_=tuple(view.importances * square / len(X) for view in views),
            inertia_=max(float(np.square(X).sum()) - best.explained * square, 0.0),
            **attributes,
        )

    def _one_group(self, X: Floats, **attributes: Any) -> Found:
        """No view: all rows form one cluster, alike in all directions."""
        labels = np.zeros(len(X), np.int64)
        point = OrientedSubspaces([np.zeros((X.shape[1], 0))], complement=True)
        found = SubspaceClustering.from_labels(labels, bases=point)
        nothing = self._nothing(float(np.square(X).sum()))
        return found_several([found], 1, **(nothing | attributes))

    def _one_cluster(self, table: Any) -> Found:
        return super()._one_cluster(table)._replace(attributes=self._nothing(0.0))

    def _nothing(self, inertia: float) -> dict[str, Any]:
        """Attributes where there is no view."""
        return {"importances_": (np.zeros(0),), "inertia_": inertia}

    def _fit_to(self, table: Any) -> None:
        self._dtype = np.float32 if table.dtype == np.float32 else np.float64
        wide = np.asarray(table, dtype=np.float64)
        self._middle = wide.mean(axis=0)
        super()._fit_to(table)
        self.components_ = tuple(basis_of(each) for each in self.clusterings_)
        self.cluster_centers_ = tuple(means(wide, each) for each in self.clusterings_)
        dims = [basis.shape[1] for basis in self.components_]
        self.dims_ = np.array([*dims, wide.shape[1] - sum(dims)] if self._has_noise() else dims)

    # -- use ---------------------------------------------------------------------------------------

    @property
    def rotation_(self) -> Floats:
        """All directions of all views and of the noise space, an orthogonal matrix."""
        check_is_fitted(self)
        used = np.concatenate([to_numpy(each) for each in self.components_], axis=1)
        p, n_used = used.shape
        full = np.linalg.qr(used, mode="complete")[0]
        return np.concatenate([used, full[:, n_used:p]], axis=1)

    @property
    def V_(self) -> Floats:
        """The paper's name of ``rotation_``."""
        return self.rotation_

    def predict(self, X: ArrayLike, view: int | str = 0) -> NDArray[np.int64]:
        """Number of the closest centre for each row, in one view or in all of them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        view : int or "all", default=0

        Returns
        -------
        array of shape (n_rows,), or (n_rows, n_views) for "all"
        """
        check_is_fitted(self)
        table = self._new_rows(X)
        if isinstance(view, str) and view == "all":
            every = [self._nearest(table, j) for j in range(len(self.components_))]
            if is_foreign(table):
                return shared_namespace(X=table).stack(every, axis=1)
            return np.column_stack(every)
        return self._nearest(table, self._view(view))

    def _nearest(self, table: Floats, j: int) -> NDArray[np.int64]:
        basis = to_numpy(self.components_[j])
        centres = (to_numpy(self.cluster_centers_[j]) - self._middle) @ basis
        lengths = np.einsum("ij,ij->i", centres, centres)
        if is_foreign(table):
            offsets = from_numpy(lengths + 2 * centres @ (self._middle @ basis), table, table.dtype)
            xp = shared_namespace(X=table)
            return xp.argmin(self._inside(table, -2 * basis @ centres.T) + offsets, axis=1)
        apart = lengths - 2 * ((table - self._middle) @ basis) @ centres.T
        return apart.argmin(axis=1)

    def transform(self, X: ArrayLike, view: int | str | None = None) -> Floats:
        """Coordinates of the rows in a view.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        view : int, "noise" or None
            None: all views side by side, without the noise space.

        Returns
        -------
        array of shape (n_rows, dimensions of the view)
        """
        check_is_fitted(self)
        table = self._new_rows(X)
        if view is None:
            used = np.concatenate([to_numpy(each) for each in self.components_], axis=1)
            return self._inside(table, used)
        if isinstance(view, str) and view == "noise":
            n_used = sum(basis.shape[1] for basis in self.components_)
            return self._inside(table, self.rotation_[:, n_used:])
        return self._inside(table, to_numpy(self.components_[self._view(view)]))

    def _inside(self, table: Any, directions: Floats) -> Any:
        if is_foreign(table):
            there = from_numpy(directions, table, table.dtype)
            return shared_namespace(X=table).matmul(table, there)
        return np.asarray(table @ directions)

    def _new_rows(self, X: Any) -> Any:
        if is_foreign(X):
            if X.ndim != 2 or X.shape[1] != self.n_features_in_:
                raise SubscapeError(
                    f"X has shape {tuple(X.shape)}, but {type(self).__name__} was fitted with "
                    f"{count(self.n_features_in_, 'feature')}"
                )
            return X
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _view(self, view: Any) -> int:
        n_views = len(self.components_)
        if not isinstance(view, Integral) or not -n_views <= view < n_views:
            raise ValueError(
                f"view={view!r} is none of the {count(n_views, 'view')} found (0 to {n_views - 1})"
            )
        return int(view) % n_views
