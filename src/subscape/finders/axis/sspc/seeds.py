"""Seed groups of SSPC: small sets of rows that are likely to lie in one cluster."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaincinv

from subscape.core.types import BoolArray, FloatArray, IntArray

from .hints import NOTHING, Hints


class Threshold(NamedTuple):
    """Largest variance of a cluster in a feature that is selected, in units of the column's.

    Attributes
    ----------
    share : float or None
        The same for all clusters (scheme m).
    chance : float or None
        Such that an irrelevant feature of normal values falls below it with this probability
        (scheme p); stricter on small clusters. The lower of the two counts.
    """

    share: float | None
    chance: float | None

    def at(self, n_rows: float) -> float:
        """The threshold for a cluster of ``n_rows`` rows.

        >>> Threshold(0.5, None).at(10)
        0.5
        >>> round(Threshold(0.5, 0.01).at(10), 3), Threshold(0.5, 0.01).at(100)
        (0.232, 0.5)
        """
        limit = 1.0 if self.share is None else self.share
        if self.chance is None:
            return limit
        freedom = n_rows - 1
        if freedom <= 0:
            return 0.0
        return min(limit, float(2 * gammaincinv(freedom / 2, self.chance) / freedom))


#: In seed groups a feature is selected by chance with this probability. A handful of rows is
#: narrow in many irrelevant features, so that a fixed share of the variance would not do here.
SEED_THRESHOLD = Threshold(None, 0.01)
#: Clusters with known rows have few groups, which are looked for in more grids.
PRIVATE_GRIDS = 2
#: Private groups per cluster, and cells per grid when there is no row to begin at.
FULLEST = 3
#: A row this near to a seed group (mean square, in variances of the columns) is explained by it.
CLOSE = 0.2


def feature_scores(
    rows: FloatArray, threshold: Threshold, medians: FloatArray | None = None
) -> FloatArray:
    """Contribution of every feature to the objective (phi_ij), for a cluster of these rows.

    Positive just where the feature is selected. The distance of mean and median tells a split or
    contaminated cluster.
    """
    n, p = rows.shape
    limit = threshold.at(n)
    if n < 2 or limit <= 0:
        return np.zeros(p)
    means = rows.mean(axis=0)
    off = means - (column_medians(rows) if medians is None else medians)
    gaps = rows - means
    variances = np.einsum("ij,ij->j", gaps, gaps) / (n - 1)
    return (n - 1) * (1 - (variances + off * off) / limit)


def column_medians(rows: FloatArray) -> FloatArray:
    """Median of each column; several times faster than NumPy's for a few hundred rows."""
    half = len(rows) // 2
    columns = np.ascontiguousarray(rows.T)
    if len(rows) % 2:
        columns.partition(half, axis=1)
        return columns[:, half].copy()
    columns.partition((half - 1, half), axis=1)
    return 0.5 * (columns[:, half - 1] + columns[:, half])


class Group(NamedTuple):
    """Rows that are candidates for the centre of a cluster, and the features they share."""

    rows: IntArray
    dims: BoolArray
    score: float


class GridCell(NamedTuple):
    """A cell of a grid: its features, the bin of every row in each of them, and its own bins."""

    dims: IntArray
    bins: IntArray
    at: tuple[int, ...]


def n_bins(n_rows: int) -> int:
    """About n^(1/3) bins per feature, 4 to 10: in small tables most cells would be empty."""
    return int(np.clip(round(n_rows ** (1 / 3)), 4, 10))


def peak(counts: IntArray, start: tuple[int, ...]) -> tuple[int, ...]:
    """Climb from a cell to its fullest face neighbour until none has more rows.

    Examples
    --------
    >>> import numpy as np
    >>> peak(np.array([[1, 2, 0], [0, 4, 9], [0, 0, 0]]), (0, 0))
    (1, 2)
    """
    here = start
    while True:
        near = [
            (*here[:axis], here[axis] + by, *here[axis + 1 :])
            for axis in range(len(here))
            for by in (-1, 1)
            if 0 <= here[axis] + by < counts.shape[axis]
        ]
        best = max(near, key=lambda cell: counts[cell])
        if counts[best] <= counts[here]:
            return here
        here = best


def seed_groups(
    Z: FloatArray,
    hints: list[Hints],
    n_public: int,
    grid_dims: int,
    n_grids: int,
    rng: np.random.Generator,
) -> tuple[dict[int, list[Group]], list[Group]]:
    """Make private groups for every cluster that something is known about, and public ones.

    Better-informed clusters come first: those with rows and features, with rows, with features.
    """
    known = [k for k, hint in enumerate(hints) if len(hint.rows) or len(hint.dims)]
    known.sort(key=lambda k: (not len(hints[k].rows), not len(hints[k].dims)))
    draw = _Draw(Z, grid_dims, n_grids, rng)
    private: dict[int, list[Group]] = {}
    for k in known:
        private[k] = draw.around(hints[k]) if len(hints[k].rows) else draw.densest(hints[k])
    left = _Left(Z)
    for groups in private.values():
        left.take(groups[0])
    public: list[tuple[int, Group]] = []
    for _ in range(n_public):
        if left.free.sum() < len(Z) / (10 * len(hints)):
            left.start_over()
        start = left.farthest(rng)
        group = draw.around(Hints(np.array([start]), NOTHING), left.free)[0]
        public.append((left.round, group))
        left.take(group)
    public.sort(key=lambda entry: (entry[0], -entry[1].score))
    return private, [group for _, group in public]


class _Left:
    """Rows that no seed group explains yet."""

    def __init__(self, Z: FloatArray) -> None:
        self.Z = Z
        self.round = -1
        self.start_over()

    def start_over(self) -> None:
        self.round += 1
        self.free = np.ones(len(self.Z), bool)
        self.nearest = np.full(len(self.Z), np.inf)

    def farthest(self, rng: np.random.Generator) -> int:
        """The free row that is farthest from all groups; any row if there is no group yet."""
        if np.isinf(self.nearest).all():
            return int(rng.integers(len(self.Z)))
        return int(np.where(self.free, self.nearest, -np.inf).argmax())

    def take(self, group: Group) -> None:
        """Set aside the rows of a group and all those close to it in its features."""
        gap = self.Z[:, group.dims] - column_medians(self.Z[np.ix_(group.rows, group.dims)])
        away = (gap * gap).mean(axis=1)
        np.minimum(self.nearest, away, out=self.nearest)
        self.free &= away > CLOSE
        self.free[group.rows] = False


class _Draw:
    """Draws grids and finds full cells in them."""

    def __init__(
        self, Z: FloatArray, grid_dims: int, n_grids: int, rng: np.random.Generator
    ) -> None:
        self.Z = Z
        self.low = Z.min(axis=0)
        self.n_bins = n_bins(len(Z))
        self.widths = (Z.max(axis=0) - self.low) / self.n_bins
        self.grid_dims = min(grid_dims, Z.shape[1])
        self.n_grids = n_grids
        self.rng = rng

    def around(self, hint: Hints, free: BoolArray | None = None) -> list[Group]:
        """Groups of the best cells reached by climbing from known rows.

        With ``free`` the rows are only a place to begin, and no others than free rows count.
        """
        everyone = np.ones(len(self.Z), bool)
        rows = self.Z[hint.rows]
        centre = column_medians(rows)
        # Two rows rarely pass the test of variances, and in a small table few rows crowd around
        # them: neither weight serves all cases.
        narrow = np.maximum(feature_scores(rows, SEED_THRESHOLD), 0)
        crowded = self._crowding(centre, everyone if free is None else free)
        crowded[np.ptp(rows, axis=0) > self.widths] = 0
        weights = [w for w in (narrow, crowded) if w.any()] or [np.zeros(len(centre))]
        if len(hint.dims):
            weights = [_with_known(w, hint.dims) for w in weights]
        cells = []
        for weight in weights * (self.n_grids * (PRIVATE_GRIDS if free is None else 1)):
            dims = self._dims(weight)
            bins, start, counts = self._grid(dims, centre, everyone if free is None else free)
            cells.append(GridCell(dims, bins, peak(counts, start)))
        if free is None:
            return self._best(cells, hint, everyone)
        return self._best(cells, Hints(NOTHING, hint.dims), free)

    def densest(self, hint: Hints) -> list[Group]:
        """Groups of the fullest cells of grids over known features."""
        size = min(self.grid_dims, len(hint.dims))
        everyone = np.ones(len(self.Z), bool)
        cells = []
        for _ in range(self.n_grids):
            dims = np.sort(self.rng.choice(hint.dims, size, replace=False))
            bins, _, counts = self._grid(dims, self.low, everyone)
            for cell in np.argsort(-counts, axis=None, kind="stable")[:FULLEST]:
                at = tuple(int(b) for b in np.unravel_index(cell, counts.shape))
                cells.append(GridCell(dims, bins, at))
        return self._best(cells, hint, everyone)

    def _grid(
        self, dims: IntArray, centre: FloatArray, free: BoolArray
    ) -> tuple[IntArray, tuple[int, ...], IntArray]:
        """Bins of all rows, bins of a point, and the number of free rows in every cell.

        The bins begin at random, so that a cluster cut in two by one grid is whole in another.
        """
        shift = self.rng.random(len(dims))
        bins = ((self.Z[:, dims] - self.low[dims]) / self.widths[dims] + shift).astype(np.int64)
        start = ((centre[dims] - self.low[dims]) / self.widths[dims] + shift).astype(np.int64)
        shape = (self.n_bins + 1,) * len(dims)
        keys = np.ravel_multi_index(tuple(bins[free].T), shape)
        counts = np.bincount(keys, minlength=int(np.prod(shape))).reshape(shape)
        return bins, tuple(start.tolist()), counts

    def _best(self, cells: list[GridCell], hint: Hints, free: BoolArray) -> list[Group]:
        """The cells whose rows score most as a cluster and are most like the known rows."""
        groups = [_group(self.Z, self._inside(cell, free), hint) for cell in cells]
        groups.sort(key=lambda group: -group.score)
        return groups[:FULLEST]

    def _inside(self, cell: GridCell, free: BoolArray) -> IntArray:
        """Rows of a cell, made wider in the features that don't matter.

        Whatever lies in a cell is narrow in the features of the grid. So each of them is judged by
        the rows that the others let in, and dropped if these are not narrow in it.
        """
        inside = (cell.bins == cell.at).T
        misses = len(cell.dims) - inside.sum(axis=0)
        kept = [
            within
            for dim, within in zip(cell.dims, inside, strict=True)
            if feature_scores(self.Z[free & (misses == ~within), dim, None], SEED_THRESHOLD)[0] > 0
        ]
        return np.flatnonzero(np.all(kept or list(inside), axis=0) & free)

    def _crowding(self, centre: FloatArray, free: BoolArray) -> FloatArray:
        """How many more rows than usual lie within half a bin of a point, feature by feature."""
        inside = (np.abs(self.Z[free] - centre) <= self.widths / 2).sum(axis=0)
        usual = free.sum() / self.n_bins
        return np.maximum((inside - usual) / np.sqrt(usual), 0)

    def _dims(self, weights: FloatArray) -> IntArray:
        """Features drawn by weight; where too few have any, the rest at random."""
        likely = np.flatnonzero(weights)
        n_likely = min(self.grid_dims, len(likely))
        share = weights[likely] / weights.sum() if n_likely else None
        dims = self.rng.choice(likely, n_likely, replace=False, p=share) if n_likely else likely
        if n_likely < self.grid_dims:
            others = np.setdiff1d(np.arange(len(weights)), likely)
            more = self.rng.choice(others, self.grid_dims - n_likely, replace=False)
            dims = np.concatenate([dims, more])
        return np.sort(dims)


def _with_known(weights: FloatArray, known: IntArray) -> FloatArray:
    """Weights by which two of three features are known ones, however many others look good."""
    weights = weights.copy()
    weights[known] = 0
    weights[known] = max(weights.max(), 2 * weights.sum() / len(known), 1.0)
    return weights


def _group(Z: FloatArray, rows: IntArray, hint: Hints) -> Group:
    """Features shared by the rows of a cell; known rows that are like them are added."""
    if len(rows) < 2:
        rows = np.union1d(rows, hint.rows)
    scores = feature_scores(Z[rows], SEED_THRESHOLD)
    dims = scores > 0
    dims[hint.dims] = True
    if not dims.any():
        dims[np.argsort(-scores, kind="stable")[:2]] = True
    score = float(scores[dims].sum())
    if len(hint.rows):
        gap = Z[np.ix_(hint.rows, dims)] - column_medians(Z[np.ix_(rows, dims)])
        alike = (gap * gap).mean(axis=1) <= CLOSE
        # A fuller cell that the known rows have nothing to do with is another cluster.
        score = max(score, 0.0) * alike.mean()
        rows = np.union1d(rows, hint.rows[alike])
    return Group(rows, dims, score)
