"""What DOC, FastDOC and MineClus share: boxes are found one at a time and fitted to the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from subscape.arrays.bitsets import unpack
from subscape.arrays.blocks import Blocks, as_blocks
from subscape.arrays.row_bits import rows_where
from subscape.arrays.row_values import handed_out, is_distant
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import SubscapeError
from subscape.core.types import BitArray, BoolArray, FloatArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch

from .free_cells import FreeCells
from .refinement import Box, feature_scales, hold, refine_box, spread_box
from .selection import beats_chance, irredundant, with_dims
from .windows import match_columns

__all__ = ["BoxCandidate", "BoxFinder", "Space"]


#: Seeds that are searched side by side; fixed, so that the result doesn't depend on ``n_jobs``.
BATCH = 8
#: The search ends after this many rounds in a row without a new box: seeds are drawn at random,
#: so one round may miss a cluster.
MISSES = 3
#: Least share of the rows in a cluster, and least rows in a small table, if ``alpha`` is None.
LEAST_SHARE, FEWEST_ROWS = 0.025, 10


class BoxCandidate(NamedTuple):
    """A box as the search found it: windows of fixed width around one row."""

    seed: int
    """The row in the middle."""
    features: IntArray
    support: int
    """Rows inside whose cells are all free."""
    quality: float
    """log(support) + features * log(1 / beta)."""
    complete: bool = True
    """False if the search around this row was cut short."""


class Space(NamedTuple):
    """The table in which boxes are searched, and what of it is left."""

    table: FloatArray
    columns: FloatArray
    """The same, one feature per line."""
    scales: FloatArray
    """The range of every feature."""
    half_widths: FloatArray
    free: FreeCells
    min_support: int
    """Rows that a box needs."""
    gain: float
    """The worth of a feature, log(1 / beta)."""

    def windows(self, seed: int) -> tuple[FloatArray, FloatArray]:
        """The ends of the windows around a row."""
        middle = self.table[seed]
        return middle - self.half_widths, middle + self.half_widths

    def matches(self, seed: int) -> BitArray:
        """Per feature the rows inside the window around a row whose cell is free."""
        return match_columns(self.columns, *self.windows(seed)) & self.free.by_feature

    def box(self, candidate: BoxCandidate) -> Box:
        """The box of a candidate."""
        low, high = self.windows(candidate.seed)
        return Box(candidate.features, low[candidate.features], high[candidate.features])

    def quality(self, support: int, n_features: int) -> float:
        """The quality of a box, the logarithm of mu."""
        return math.log(support) + n_features * self.gain


class BoxFinder(SubspaceFinder):
    """Base of the finders of dense boxes: the loop around one search.

    A subclass implements :meth:`_search_seed`, the best box around one row.
    """

    _centred: ClassVar[bool] = False  # boxes are reported in the units of the table
    _accepts_missing: ClassVar[bool] = True
    _streams: ClassVar[bool] = True
    _streams_devices: ClassVar[bool] = False
    #: Where the search begins if no width is given, as a share of each feature's range.
    _usual_width: ClassVar[float] = 0.05

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "avg_dims": [Interval(Real, 1, None, closed="left"), None],
        "width": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "alpha": [Interval(Real, 0, 1, closed="right"), None],
        "beta": [Interval(Real, 0, 1, closed="neither")],
        "n_seeds": [Interval(Integral, 1, None, closed="left"), None],
        "overlap": ["boolean"],
        "refine": ["boolean"],
        "search_rows": [Interval(Integral, 2, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [object],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        """Refuse widths and numbers of features that don't fit the table."""
        if self.avg_dims is not None and self.avg_dims > n_features:
            raise SubscapeError(
                f"avg_dims={self.avg_dims} is more than the {n_features} features of the table"
            )
        width = self._widths()
        if width.ndim == 0:
            return
        if width.shape != (n_features,):
            raise SubscapeError(
                f"width has shape {width.shape}, but the table has {n_features} features; give "
                "one number (a share of each feature's range) or one half-width per feature"
            )
        wrong = np.flatnonzero(~(np.isfinite(width) & (width > 0)))
        if len(wrong):
            raise SubscapeError(
                f"width must be positive for every feature, but {len(wrong)} are not, the first "
                f"of them feature {wrong[0]}: {width[wrong[0]]}"
            )

    def _widths(self) -> FloatArray:
        """The width given, or the usual one."""
        return np.asarray(self._usual_width if self.width is None else self.width, np.float64)

    def predict(self, X: ArrayLike) -> IntArray:
        """Put rows into the boxes found.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows with the features of the table that was clustered.

        Returns
        -------
        array of shape (n_rows,)
            The first cluster whose box holds the row, -1 for none. For the rows that were
            clustered this is ``labels_``. A Dask array where the rows lie on a cluster.
        """
        check_is_fitted(self)
        table = as_blocks(self._read_again(X, missing=True)).map(_same)
        boxes = []
        for low, high in zip(self.low_, self.high_, strict=True):
            features = np.flatnonzero(np.isfinite(low))
            boxes.append(Box(features, low[features], high[features]))
        return handed_out(_first_boxes(table, boxes), np.int64)

    def _search(self, table: Any, watch: Watch) -> Found:
        # Constant columns are gone when _find begins; its boxes and widths are about the others.
        self._kept = np.flatnonzero(~self._constant(table))
        found = super()._search(table, watch)
        shape = (found.clustering.n_clusters, table.shape[1])
        low, high = np.full(shape, -np.inf), np.full(shape, np.inf)
        if found.attributes:
            low[:, self._kept] = found.attributes["low_"]
            high[:, self._kept] = found.attributes["high_"]
        else:  # all rows are identical: the box is a point
            first = table.take([0])[0] if isinstance(table, Blocks) else np.asarray(table)[0]
            low[:] = high[:] = np.nan_to_num(first.astype(np.float64))
        del self._kept
        others = {"quality_": np.zeros(shape[0]), "seeds_": np.zeros(shape[0], dtype=np.int64)}
        return found._replace(attributes=others | found.attributes | {"low_": low, "high_": high})

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        rng = np.random.default_rng(seed)
        n_rows = len(X)
        if self.search_rows is not None and n_rows > self.search_rows:
            sampled = np.sort(rng.choice(n_rows, self.search_rows, replace=False))
            space = self._space(X.take(sampled) if isinstance(X, Blocks) else X[sampled])
        else:
            sampled = np.arange(n_rows)
            X = X.to_numpy() if isinstance(X, Blocks) else X
            space = self._space(X)
        boxes, candidates, rounds = self._find_boxes(space, rng, watch)
        table = as_blocks(X)
        while True:
            fitted = boxes
            if self.avg_dims is not None:
                fitted = with_dims(space.table, boxes, round(self.avg_dims * len(boxes)))
                fitted = [self._as_narrow_as_asked(space, box) for box in fitted]
            staying = self._staying(table, fitted)
            if len(staying) == len(boxes):
                break
            # Without the empty ones, the number of features has to be met anew.
            boxes, candidates = [boxes[i] for i in staying], [candidates[i] for i in staying]
        found = self._found(table, sampled, fitted, candidates, rounds)
        if not self.refine:
            return found
        windows = [space.box(candidate) for candidate in candidates]
        windows = [windows[i] for i in self._staying(table, windows)]
        return found._replace(unrefined=self._filled(table, windows))

    def _space(self, table: FloatArray) -> Space:
        n_rows, n_features = table.shape
        scales = feature_scales(table)
        width = self._widths()
        least = LEAST_SHARE if self.alpha is None else self.alpha
        few = min(FEWEST_ROWS, math.ceil(n_rows / 4)) if self.alpha is None else 1
        return Space(
            table=np.ascontiguousarray(table),
            columns=np.ascontiguousarray(table.T),
            scales=scales,
            half_widths=width * scales if width.ndim == 0 else width[self._kept],
            free=FreeCells(n_rows, n_features),
            min_support=max(math.ceil(least * n_rows - 1e-9), few, min(2, n_rows)),
            gain=-math.log(self.beta),
        )

    def _find_boxes(
        self, space: Space, rng: np.random.Generator, watch: Watch
    ) -> tuple[list[Box], list[BoxCandidate], int]:
        wanted = None if self.n_clusters is None else self._k()
        boxes, candidates, rounds = self._greedy(space, wanted, rng, watch)
        return boxes[:wanted], candidates[:wanted], rounds

    def _greedy(
        self, space: Space, wanted: int | None, rng: np.random.Generator, watch: Watch
    ) -> tuple[list[Box], list[BoxCandidate], int]:
        """Find one box after another, until there are no more or more than enough."""
        boxes: list[Box] = []
        candidates: list[BoxCandidate] = []
        rounds = misses = 0
        # More than wanted, while they are worth it: they may show that earlier boxes are but the
        # overlaps of clusters.
        while misses < MISSES and (wanted is None or len(boxes) <= 2 * wanted):
            candidate = self._search_seeds(space, rng, watch)
            rounds += 1
            misses += 1
            if candidate is not None:
                box, fresh = self._fitted(space, candidate)
                enough = wanted is not None and len(boxes) >= wanted
                if (wanted is None or enough) and not beats_chance(
                    space.table, box, int(fresh.sum()), len(space.free.rows()), space.scales
                ):
                    if enough:
                        break
                    space.free.use(hold(space.table, space.box(candidate)), candidate.features)
                    continue
                self._use(space, candidate, box)
                boxes, candidates = [*boxes, box], [*candidates, candidate]
                if self.refine:
                    staying = irredundant(space.table, boxes)
                    boxes = [boxes[i] for i in staying]
                    candidates = [candidates[i] for i in staying]
                if candidates[-1] is candidate:
                    misses = 0
                    self._check_complete(candidate, watch)
                watch.step("clusters", len(boxes), wanted)
            if watch.out_of_time():
                break
        return boxes, candidates, rounds

    def _check_complete(self, candidate: BoxCandidate, watch: Watch) -> None:
        """Hook: say so if the search that led to a box was cut short."""

    def _fitted(self, space: Space, candidate: BoxCandidate) -> tuple[Box, BoolArray]:
        """The box to report, and the rows for which it is new."""
        box = space.box(candidate)
        eligible = space.free.rows_free_in(box.features)
        if not self.refine:
            return box, eligible & hold(space.table, box)
        least = max(2, space.min_support // 2)
        box = refine_box(space.table, eligible, box, space.scales, least)
        fresh = eligible & hold(space.table, box)
        box = spread_box(space.table, box, space.scales)
        if self.width is None:
            return box, fresh
        box = self._as_narrow_as_asked(space, box)
        return box, eligible & hold(space.table, box)

    def _as_narrow_as_asked(self, space: Space, box: Box) -> Box:
        """The middle of a box, as wide as a window of the width that was given."""
        if self.width is None:
            return box
        middle, half = (box.low + box.high) / 2, space.half_widths[box.features]
        low, high = np.maximum(box.low, middle - half), np.minimum(box.high, middle + half)
        return Box(box.features, low, high)

    def _use(self, space: Space, candidate: BoxCandidate, box: Box) -> None:
        """Take the cells of a box out of the search; all cells of its rows, if none may overlap."""
        everything = np.arange(space.table.shape[1])
        space.free.use(hold(space.table, box), box.features if self.overlap else everything)
        # A box that was fitted to another cluster than it came from would come again.
        origin = space.box(candidate)
        again = hold(space.table, origin) & space.free.rows_free_in(origin.features)
        if 2 * again.sum() > candidate.support:
            space.free.use(again, origin.features if self.overlap else everything)

    def _search_seeds(
        self, space: Space, rng: np.random.Generator, watch: Watch
    ) -> BoxCandidate | None:
        """Search around some random rows and take the best box."""
        rows = space.free.rows()
        if len(rows) < space.min_support:
            return None
        n_seeds = self.n_seeds or math.ceil(2 * len(rows) / space.min_support)
        weights = space.free.per_row()[rows].astype(np.float64)
        seeds = rng.choice(rows, min(n_seeds, len(rows)), replace=False, p=weights / weights.sum())
        streams = rng.spawn(len(seeds))
        best: BoxCandidate | None = None
        for start in range(0, len(seeds), BATCH):
            batch = slice(start, start + BATCH)
            floor = -math.inf if best is None else best.quality
            for found in self._search_batch(
                space, seeds[batch].tolist(), floor, streams[batch], watch
            ):
                if found is not None and (best is None or found.quality > best.quality):
                    best = found
            if watch.out_of_time() or self._is_enough(best):
                break
        return best

    def _search_batch(
        self,
        space: Space,
        seeds: list[int],
        floor: float,
        streams: list[np.random.Generator],
        watch: Watch,
    ) -> Iterable[BoxCandidate | None]:
        if effective_n_jobs(self.n_jobs) == 1:
            return [
                self._search_seed(space, seed, floor, stream, watch)
                for seed, stream in zip(seeds, streams, strict=True)
            ]
        return Parallel(n_jobs=self.n_jobs, require="sharedmem")(
            delayed(self._search_seed)(space, seed, floor, stream, watch)
            for seed, stream in zip(seeds, streams, strict=True)
        )

    def _is_enough(self, best: BoxCandidate | None) -> bool:
        """Hook: whether a box is good enough to stop looking at seeds."""
        return False

    def _search_seed(
        self, space: Space, seed: int, floor: float, rng: np.random.Generator, watch: Watch
    ) -> BoxCandidate | None:
        """Find the best box around a row, None if there is none better than ``floor``."""
        raise NotImplementedError(f"{type(self).__name__} must implement _search_seed")

    def _staying(self, table: Blocks, boxes: list[Box]) -> list[int]:
        """The boxes with rows of their own, as many as ``alpha`` asks for."""
        least = 1 if self.alpha is None else max(1, math.ceil(self.alpha * len(table) - 1e-9))
        staying = list(range(len(boxes)))
        if not boxes:
            return []
        if self.overlap:
            inside = table.fold(lambda block, rows: np.array([hold(block, b).sum() for b in boxes]))
            return [i for i in staying if inside[i] >= least]
        while staying:
            counts = _counts_of_first(table, [boxes[i] for i in staying])
            few = np.flatnonzero(counts < least)
            if len(few) == 0:
                break
            # Rows of a box that goes are free for the later ones.
            del staying[few[0]]
        return staying

    def _filled(self, table: Blocks, boxes: list[Box]) -> SubspaceClustering:
        """All rows of the table in the boxes; a row in two belongs to the first, or to both."""
        if not boxes:
            return SubspaceClustering.from_clusters([], table.shape)
        features = [box.features for box in boxes]
        if self.overlap:
            packed = rows_where(
                table, lambda block: np.array([hold(block, box) for box in boxes]), len(boxes)
            )
            members = [np.flatnonzero(unpack(rows, len(table))) for rows in packed]
            return SubspaceClustering.from_clusters(
                list(zip(members, features, strict=True)), table.shape
            )
        labels = _first_boxes(table, boxes)
        if not is_distant(labels):
            members = [np.flatnonzero(labels == k) for k in range(len(boxes))]
            return SubspaceClustering.from_clusters(
                list(zip(members, features, strict=True)), table.shape
            )
        masks = np.zeros((len(boxes), table.shape[1]), bool)
        for mask, own in zip(masks, features, strict=True):
            mask[own] = True
        return SubspaceClustering.from_labels(labels, masks=masks)

    def _found(
        self,
        table: Blocks,
        sampled: IntArray,
        boxes: list[Box],
        candidates: list[BoxCandidate],
        rounds: int,
    ) -> Found:
        """Fill the boxes, all of which have rows, and say where they are."""
        ends = np.empty((2, len(boxes), table.shape[1]))
        ends[0], ends[1] = -np.inf, np.inf
        for k, box in enumerate(boxes):
            ends[:, k, box.features] = box.low, box.high
        attributes = {
            "low_": ends[0],
            "high_": ends[1],
            "quality_": np.array([each.quality for each in candidates], dtype=np.float64),
            "seeds_": np.array([int(sampled[each.seed]) for each in candidates], dtype=np.int64),
        }
        return Found(self._filled(table, boxes), n_iter=rounds, attributes=attributes)


# -- rows of boxes, wherever the table lies --------------------------------------------------------


def _same(block: FloatArray) -> FloatArray:
    return block


def _first_of(block: FloatArray, boxes: Sequence[Box]) -> NDArray[np.int32]:
    """The first box that holds each row of a block, -1 for none."""
    labels = np.full(len(block), -1, np.int32)
    for k in range(len(boxes) - 1, -1, -1):
        labels[hold(block, boxes[k])] = k
    return labels


def _first_boxes(table: Blocks, boxes: Sequence[Box]) -> Any:
    """Row values: the first box that holds each row, -1 for none."""
    return table.mapped(lambda block, rows: _first_of(block, boxes), np.int32)


def _counts_of_first(table: Blocks, boxes: Sequence[Box]) -> IntArray:
    """How many rows each box is the first to hold."""

    def counted(block: FloatArray, rows: slice) -> IntArray:
        return np.bincount(_first_of(block, boxes) + 1, minlength=len(boxes) + 1)[1:]

    return table.fold(counted)
