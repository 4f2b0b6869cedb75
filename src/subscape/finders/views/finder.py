"""What finders of views share: the fitted attributes, new rows, and tables that are too wide."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from subscape.arrays.blocks import Blocks, as_blocks, device_twin, fold, is_source
from subscape.arrays.device.array_api import beside, from_numpy, shared_namespace, to_numpy
from subscape.arrays.device.blocks import DeviceBlocks, map_on_device
from subscape.arrays.device.moments import group_means_on_device
from subscape.arrays.row_values import handed_out
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IntArray
from subscape.finders.base import codes_of
from subscape.finders.views.nrkmeans.device_rows import DeviceRows
from subscape.finders.views.nrkmeans.finish import (
    basis_of,
    clustering_of,
    finished_views,
    mark_outliers,
    means,
)
from subscape.finders.views.nrkmeans.kernel import CellSums, cell_sums
from subscape.finders.views.nrkmeans.request import free_directions
from subscape.finders.views.nrkmeans.rows import BlockRows, Rows
from subscape.finders.views.nrkmeans.search import SEARCH_ROWS, sampled_rows
from subscape.finders.views.nrkmeans.steps import Solution
from subscape.parallel.threads import one_thread
from subscape.tables.table import Table

from .base import Found, MultiClusteringFinder, Watch, found_several


class Searched(NamedTuple):
    """The table as the search sees it."""

    X: NDArray[np.floating] | Rows
    sample: FloatArray
    """Some of its rows, or all, in float64."""
    common: FloatArray
    """The same, but for every seed the same rows: what is found in them serves all searches."""
    square: float
    """Sum of the squares of all values."""
    unit: float
    """What the values were divided by."""
    lift: FloatArray | None
    """Directions that the columns of ``X`` are, None for the features themselves."""


class ViewCoordinates(TransformerMixin):
    """Rows in the views of a fitted finder; scikit-learn makes a data frame of them if asked to."""

    #: The view that is looked at; None for all, side by side.
    _seen: int | str | None = None

    def transform(self, X: Any) -> Any:
        table, directions = self._new_rows(X), [each for _, each in self._directions()]
        return beside(coordinates(table, np.concatenate(directions, axis=1)), X)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of :meth:`transform`: ``view0_0``, ``view0_1``, ``view1_0``, …

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        names = [
            f"{name}_{number}"
            for name, each in self._directions()
            for number in range(each.shape[1])
        ]
        return np.array(names, dtype=object)

    def _directions(self) -> list[tuple[str, FloatArray]]:
        """The directions of each view that is looked at, with its name."""
        raise NotImplementedError

    def _new_rows(self, X: Any) -> Any:
        raise NotImplementedError


class ViewFinder(  # type: ignore[call-arg]  # scikit-learn has no hints
    ViewCoordinates, MultiClusteringFinder, auto_wrap_output_keys=None
):
    """Base of the finders of orthogonal views with k-means clusters.

    See Also
    --------
    subscape.finders.NrKMeans, subscape.finders.AutoNR
    subscape.explore : Several groupings of a table, each held against chance.
    """

    _kind = "oriented"

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        with one_thread():
            return self._find_views(X, seed, watch)

    def _find_views(self, X: Any, seed: np.random.SeedSequence, watch: Watch) -> Found:
        raise NotImplementedError(f"{type(self).__name__} must implement _find_views")

    def _has_noise(self) -> bool:
        """Whether what is in no view is a noise space."""
        return True

    def _n_searched(self, n_rows: int) -> int:
        """Rows that the search looks at."""
        return min(SEARCH_ROWS, n_rows)

    def _in_blocks(self, n_rows: int, n_features: int) -> bool:
        """Whether the steps over all rows read the table block by block, wherever it lies."""
        return self._streams and n_features < n_rows > self._n_searched(n_rows)

    def _needs_memory(self, table: Blocks) -> bool:
        """Whether the search can't leave a table on its device."""
        return bool(self.given_) or bool(table.constant.any())

    def _searched(self, X: FloatArray | Blocks, seed: np.random.SeedSequence) -> Searched:
        n, p = X.shape
        given = [each.labels() for each in self.given_]
        in_blocks = isinstance(X, Blocks) or self._in_blocks(n, p)
        square = as_blocks(X).square if in_blocks else float(np.square(np.asarray(X)).sum())
        # A power of two: squares stay in the range of float32, and no bit changes.
        unit = float(2.0 ** np.round(np.log2(np.sqrt(square / (n * p)))))
        lift, number = free_directions(X, given), self._n_searched(n)
        if number == n and not isinstance(X, Blocks):
            table = np.ascontiguousarray(lifted(X / unit, lift))
            # Small tables gain nothing from lower precision.
            return Searched(table, table, table, square, unit, lift)
        chosen = sampled_rows(n, number, seed)
        same = sampled_rows(n, min(SEARCH_ROWS, n), np.random.SeedSequence(0))
        either = np.union1d(chosen, same)
        if isinstance(X, DeviceBlocks):
            there = DeviceRows.scaled(X, unit)
            taken = there.take(either)
        else:
            taken = lifted(X.take(either, axis=0) / unit, lift)
        sample, common = (taken[np.searchsorted(either, rows)] for rows in (chosen, same))
        if isinstance(X, DeviceBlocks):
            return Searched(there, sample, common, square, unit, lift)
        narrow = self._dtype if lift is None else np.float64
        if isinstance(X, Blocks):
            blocks = X.scaled(np.full(p, 1.0 / unit), narrow)
        elif in_blocks:
            blocks = as_blocks(np.asarray(X / unit, dtype=narrow))
        else:
            table = np.ascontiguousarray(lifted(X / unit, lift), dtype=self._dtype)
            return Searched(table, sample, common, square, unit, lift)
        return Searched(BlockRows(blocks, lift, self._dtype), sample, common, square, unit, lift)

    def _found(
        self, searched: Searched, best: Solution, outliers: bool, **attributes: Any
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
            importances_=tuple(view.importances * square / len(labels) for view in views),
            inertia_=max(searched.square - best.explained * square, 0.0),
            **attributes,
        )

    def _one_group(self, X: FloatArray | Blocks, **attributes: Any) -> Found:
        """No view: all rows form one cluster, alike in all directions."""
        labels = np.zeros(len(X), np.int64)
        point = OrientedSubspaces([np.zeros((X.shape[1], 0))], complement=True)
        found = SubspaceClustering.from_labels(labels, bases=point)
        inertia = fold(lambda block, rows: float(np.square(block).sum()), X)
        nothing = self._nothing(inertia)
        return found_several([found], 1, **(nothing | attributes))

    def _one_cluster(self, table: Any) -> Found:
        return super()._one_cluster(table)._replace(attributes=self._nothing(0.0))

    def _nothing(self, inertia: float) -> dict[str, Any]:
        """Attributes where there is no view."""
        return {"importances_": (np.zeros(0),), "inertia_": inertia}

    def _fit_to(self, table: Any) -> None:
        if isinstance(table, Blocks):
            if not self._in_blocks(*table.shape):
                table = table.to_numpy()
            elif self._needs_memory(table):
                table = table.within_reach()
        self._dtype = np.float32 if table.dtype == np.float32 else np.float64
        in_blocks = self._in_blocks(*table.shape)
        blocks = as_blocks(table)
        if in_blocks:
            self._middle = blocks.ranges.low + blocks.means
        else:
            self._middle = np.asarray(table, dtype=np.float64).mean(axis=0)
        super()._fit_to(table)
        self.components_ = tuple(basis_of(each) for each in self.clusterings_)
        if in_blocks:
            sizes = [each.n_clusters for each in self.clusterings_]
            labels = [codes_of(each) for each in self.clusterings_]
            self.cluster_centers_ = means_in_views(blocks, labels, sizes)
        else:
            wide = np.asarray(table, dtype=np.float64)
            self.cluster_centers_ = tuple(means(wide, each) for each in self.clusterings_)
        dims = [basis.shape[1] for basis in self.components_]
        rest = [table.shape[1] - sum(dims)] if self._has_noise() else []
        self.dims_ = np.array([*dims, *rest])

    # -- use ---------------------------------------------------------------------------------------

    @property
    def rotation_(self) -> FloatArray:
        """All directions of all views and of the noise space, an orthogonal matrix."""
        check_is_fitted(self)
        used = np.concatenate([to_numpy(each) for each in self.components_], axis=1)
        p, n_used = used.shape
        full = np.linalg.qr(used, mode="complete")[0]
        return np.concatenate([used, full[:, n_used:p]], axis=1)

    @property
    def V_(self) -> FloatArray:
        """The paper's name of ``rotation_``."""
        return self.rotation_

    def predict(self, X: ArrayLike, view: int | str = 0) -> IntArray:
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
        table, every = self._new_rows(X), isinstance(view, str) and view == "all"
        views = range(len(self.components_)) if every else [self._view(view)]
        bases = [to_numpy(self.components_[j]) for j in views]
        centres = [to_numpy(self.cluster_centers_[j]) - self._middle for j in views]
        inside = [centre @ basis for centre, basis in zip(centres, bases, strict=True)]
        found = nearest_in_bases(table, self._middle, bases, inside)
        return beside(found if every else found[:, 0], X)

    def transform(self, X: ArrayLike, view: int | str | None = None) -> FloatArray:
        """Coordinates of the rows in a view.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
        view : int, "noise" or None
            None: all views side by side, without the noise space.

        Returns
        -------
        array of shape (n_rows, dimensions of the view)
            As a data frame after ``set_output(transform="pandas")`` (or "polars").
        """
        check_is_fitted(self)
        shown = self
        if view is not None:
            shown = copy.copy(self)
            shown._seen = view if isinstance(view, str) and view == "noise" else self._view(view)
        # That of the base is the one whose output scikit-learn wraps, with the names of its views.
        return super(ViewFinder, shown).transform(X)

    def _directions(self) -> list[tuple[str, FloatArray]]:
        bases = [to_numpy(each) for each in self.components_]
        if self._seen == "noise":
            return [("noise", self.rotation_[:, sum(basis.shape[1] for basis in bases) :])]
        named = [(f"view{j}", basis) for j, basis in enumerate(bases)]
        return named if self._seen is None else [named[int(self._seen)]]

    def _new_rows(self, X: Any) -> Any:
        if is_source(X) or isinstance(X, Table):
            return self._read_again(X)
        return np.asarray(validate_data(self, X, reset=False, dtype=np.float64))

    def _view(self, view: Any) -> int:
        n_views = len(self.components_)
        if not isinstance(view, Integral) or not -n_views <= int(view) < n_views:
            raise ValueError(
                f"view={view!r} is none of the {count(n_views, 'view')} found (0 to {n_views - 1})"
            )
        return int(view) % n_views


def lifted(rows: FloatArray, lift: FloatArray | None) -> FloatArray:
    """Rows in the directions to look in."""
    return rows if lift is None else rows @ lift


def row_by_row(
    function: Callable[[FloatArray], Any], table: FloatArray | Blocks, dtype: Any, width: int
) -> Any:
    """What is computed from the rows, at once or block by block of a source, as float64."""
    if not isinstance(table, Blocks):
        return function(table)
    wide = table.map(lambda block: block)
    found = wide.mapped(lambda block, rows: function(block), dtype, (width,))
    return handed_out(found, dtype)


# -- passes over new rows, and over all rows for the centres ---------------------------------------


def coordinates_on_device(X: DeviceBlocks, directions: FloatArray) -> Any:
    """:func:`coordinates` where the table lies, in its precision."""
    xp, there = shared_namespace(X=X.values), from_numpy(directions, X.sample, X.sample.dtype)
    width = X.shape[1] + directions.shape[1]
    return map_on_device(lambda block: xp.matmul(block, there), X, width, "the coordinates")


@device_twin(coordinates_on_device)
def coordinates(X: FloatArray | Blocks, directions: FloatArray) -> FloatArray:
    """Where the rows lie along some directions."""
    return row_by_row(lambda block: block @ directions, X, np.float64, directions.shape[1])


def nearest_in_bases_on_device(
    X: DeviceBlocks, middle: FloatArray, bases: list[FloatArray], centres: list[FloatArray]
) -> Any:
    """:func:`nearest_in_bases` where the table lies."""
    xp, found = shared_namespace(X=X.values), []
    for basis, inside in zip(bases, centres, strict=True):
        lengths = np.einsum("ij,ij->i", inside, inside)
        added = from_numpy(lengths + 2 * inside @ (middle @ basis), X.sample, X.sample.dtype)
        scores = coordinates_on_device(X, -2 * basis @ inside.T)
        found.append(xp.argmin(scores + added, axis=1))
    return xp.stack(found, axis=1)


@device_twin(nearest_in_bases_on_device)
def nearest_in_bases(
    X: FloatArray | Blocks, middle: FloatArray, bases: list[FloatArray], centres: list[FloatArray]
) -> IntArray:
    """(n, S) number of the nearest centre of each row in each view."""
    lengths = [np.einsum("ij,ij->i", inside, inside) for inside in centres]

    def nearest(block: FloatArray) -> IntArray:
        found = [
            (length - 2 * ((block - middle) @ basis) @ inside.T).argmin(axis=1)
            for length, basis, inside in zip(lengths, bases, centres, strict=True)
        ]
        return np.column_stack(found)

    return row_by_row(nearest, X, np.int64, len(bases))


def means_in_views_on_device(
    X: DeviceBlocks, labels: list[Any], sizes: list[int]
) -> tuple[FloatArray, ...]:
    """:func:`means_in_views` where the table lies."""
    return tuple(
        group_means_on_device(X, own, size) for own, size in zip(labels, sizes, strict=True)
    )


@device_twin(means_in_views_on_device)
def means_in_views(X: Blocks, labels: list[Any], sizes: list[int]) -> tuple[FloatArray, ...]:
    """Means of the clusters of all views, given the labels of each; one pass."""
    low, above = X.ranges.low, X.means
    numbers = [np.array([size], dtype=np.intp) for size in sizes]

    def sums(block: FloatArray, rows: slice, *own: Any) -> tuple[CellSums, ...]:
        return tuple(
            cell_sums(block, np.ascontiguousarray(each, np.int32)[:, None], number)
            for each, number in zip(own, numbers, strict=True)
        )

    found = fold(sums, X.recentred(low, above), reads=labels)
    return tuple(each.sums / each.counts[:, None] + above + low for each in found)
