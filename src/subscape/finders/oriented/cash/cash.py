"""CASH: clusters on hyperplanes that many rows agree upon, and on flats within these."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from subscape.core.errors import SubscapeError
from subscape.core.types import FloatArray, IndexArray
from subscape.finders.base import Found, SubspaceFinder, Watch
from subscape.finders.oriented.attempts import (
    Attempt,
    RowSample,
    ended,
    extended,
    sample_of,
    shortest,
)
from subscape.finders.oriented.description import FlatDims
from subscape.finders.oriented.span import one_point, span_of

from .hyperplanes import Effort, HyperplaneSearch, across

#: Settings tried where none are given: widths in units of the table's, and shares of the rows.
WIDTHS = (0.02, 0.05, 0.1)
SHARES = (0.1, 0.04)
#: With more dimensions than this, only the first share is tried.
MOST_DIMS = 10
#: A cluster has at least so many rows per dimension by default.
ROWS_PER_DIMENSION = 3
#: Rounds of fitting a hyperplane to its rows and collecting the rows near it.
ADJUSTMENTS = 3


class CASHSetting(NamedTuple):
    """What a run of CASH is told."""

    jitter: float
    min_samples: int


class FlatPiece(NamedTuple):
    """Rows of a cluster, and the dimension of the flat they were found on."""

    rows: IndexArray
    dim: int


class CASH(SubspaceFinder):
    """CASH: clustering in arbitrary subspaces based on the Hough transform.

    All hyperplanes through a row form a curve in the space of angles and offsets; where many curves
    meet within a small box, many rows lie on one hyperplane. The fullest box is found by halving
    boxes of angles, best first. The rows of it are searched again within their hyperplane, for
    flats of lower dimension; what is left there and large enough is a cluster of its own. No
    neighbourhood is looked at: clusters may cross, and be sparse among noise.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    min_samples : int or "auto", default="auto"
        Rows that make a cluster (m). "auto" tries 10 and 4 % of the rows, and keeps what describes
        the rows most briefly.
    jitter : float or "auto", default="auto"
        Width of a hyperplane, in units of the table. "auto" tries 2, 5 and 10 % of the table's
        width, as above.
    max_level : int, default=5
        How often every angle is halved (s): normals are found up to pi / 2^s.
    min_dim : int, default=1
        Flats of lower dimension are not looked for, and no cluster is refined to one.
    adjust : bool, default=True
        Fit the hyperplane to its rows, and take the rows within ``jitter`` of it.
    search : {"auto", "best", "greedy"}, default="auto"
        "best" finds the fullest box; "greedy" always goes on with the fuller half, as quick as it
        is short-sighted; "auto" looks best first, and greedily where that takes too many boxes.
    max_boxes : int, default=3000
        Boxes to look at for each hyperplane, in each way of searching.
    refine : bool, default=True
        Join the pieces of a flat and put every row where it fits best, noise included, as long as
        that shortens the description of the rows. False gives the clusters of the search.
    search_rows : int, default=2000
        With ``refine``, more rows than this are searched in a sample, and all rows then join its
        clusters where they fit.
    max_time : float, optional
        Seconds after which the search ends.
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat: by the shortest description, or the one it was found on
        if ``refine`` is off.
    jitter_, min_samples_ : float, int
        The settings used.
    n_iter_ : int
        Number of settings tried.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    LMCLUS : Flats by random samples.
    COPAC : Flats by density.

    Notes
    -----
    Boxes multiply with the dimension: beyond about ten features the search is a matter of luck.

    Differences from the paper
    --------------------------
    - The paper descends greedily (``search="greedy"``).
    - ``refine`` (on a sample of ``search_rows``), ``adjust`` and the choice of the settings are
      additions; as published, both are false.
    - Always: the paper cuts the offsets into slices; here a window of the same width takes the best
      offset of each box, so that no cluster is cut in two, the extremes of the curves are exact,
      and the rows are turned to their principal axes first, so that the result does not depend on
      the orientation of the table.
    - What that gains: mean CE 0.33 as published (min_samples=40, jitter=0.1), 0.00 by default, on
      five generated tables (two lines and a plane in four features, 5 % noise;
      ``benchmarks/published.py``).

    References
    ----------
    E. Achtert, C. Böhm, J. David, P. Kröger and A. Zimek, *Robust Clustering in Arbitrarily
    Oriented Subspaces*, SDM 2008, doi:10.1137/1.9781611972788.69.

    Examples
    --------
    >>> from subscape.finders import CASH
    >>> from subscape.datasets import planted_oriented
    >>> from subscape.measures import adjusted_rand_score
    >>> X, truth = planted_oriented(3, ((1, 200), (2, 300)), random_state=0)
    >>> finder = CASH().fit(X)
    >>> finder.flat_dims_.tolist(), bool(adjusted_rand_score(truth, finder.labels_) > 0.9)
    ([1, 2], True)
    """

    _tells_two_rows = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "min_samples": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "jitter": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "max_level": [Interval(Integral, 1, 30, closed="both")],
        "min_dim": [Interval(Integral, 0, None, closed="left")],
        "adjust": ["boolean"],
        "search": [StrOptions({"auto", "best", "greedy"})],
        "max_boxes": [Interval(Integral, 1, None, closed="left")],
        "refine": ["boolean"],
        "search_rows": [Interval(Integral, 10, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "progress": [callable, "boolean", None],
    }

    def __init__(
        self,
        min_samples: int | str = "auto",
        jitter: float | str = "auto",
        *,
        max_level: int = 5,
        min_dim: int = 1,
        adjust: bool = True,
        search: str = "auto",
        max_boxes: int = 3000,
        refine: bool = True,
        search_rows: int = 2000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        self.min_samples = min_samples
        self.jitter = jitter
        self.max_level = max_level
        self.min_dim = min_dim
        self.adjust = adjust
        self.search = search
        self.max_boxes = max_boxes
        self.refine = refine
        self.search_rows = search_rows
        self.max_time = max_time
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if self.min_dim >= n_features > 1:
            raise SubscapeError(
                f"min_dim={self.min_dim}: flats in a table of {n_features} features have at most "
                f"{n_features - 1} dimensions"
            )

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        span = span_of(X)
        rows = span.rows @ np.linalg.eigh(span.rows.T @ span.rows)[1][:, ::-1]
        sample = sample_of(rows, self.search_rows if self.refine else len(X))
        attempts = (self._attempt(sample.X, setting, watch) for setting in self._settings(sample))
        # A single column has points only.
        allowed = FlatDims(least=self.min_dim if X.shape[1] > 1 else 0)
        chosen = shortest(attempts, sample.X, watch, refine=self.refine, allowed=allowed)
        best, end = chosen.attempt, chosen.refined
        jitter, size = best.setting
        if not sample.is_all and end is not None:
            given = self.min_samples
            size = round(size / sample.share) if given == "auto" else int(given)
            end = extended(rows, sample, end.labels, size, watch, allowed)
        labels, dims, before = ended(chosen._replace(refined=end), sample, len(X))
        return span.found(labels, dims, chosen.tried, before, jitter_=jitter, min_samples_=size)

    def _one_cluster(self, table: Any) -> Found:
        found = one_point(super()._one_cluster(table))
        found.attributes.update(jitter_=self.jitter, min_samples_=self.min_samples)
        return found

    def _settings(self, sample: RowSample) -> Iterator[CASHSetting]:
        n, p = sample.X.shape
        width = np.sqrt(12 * sample.X.var(axis=0).max())
        shares = SHARES if p <= MOST_DIMS else SHARES[:1]
        least = min(ROWS_PER_DIMENSION * p, n // 3)
        sizes = [max(2, least, round(share * n)) for share in shares]
        if self.min_samples != "auto":
            sizes = [max(1, round(int(self.min_samples) * sample.share))]
        jitters = [share * width for share in WIDTHS] if self.jitter == "auto" else [self.jitter]
        for size in dict.fromkeys(sizes):
            for jitter in jitters:
                yield CASHSetting(float(jitter), size)

    def _attempt(self, X: FloatArray, setting: CASHSetting, watch: Watch) -> Attempt:
        pieces = self._pieces(X, setting, watch)
        labels = np.full(len(X), -1, np.intp)
        for i, piece in enumerate(pieces):
            labels[piece.rows] = i
        dims = np.array([piece.dim for piece in pieces], np.intp)
        return Attempt(setting, labels, dims, setting.min_samples)

    def _pieces(self, X: FloatArray, setting: CASHSetting, watch: Watch) -> list[FlatPiece]:
        """Clusters of a table of t dimensions: on flats within its hyperplanes, or all of one."""
        t, least = X.shape[1], setting.min_samples
        effort = Effort(setting.jitter, self.max_level, self.max_boxes, self.search)
        hyperplanes = HyperplaneSearch(X, least, effort, watch)
        pieces: list[FlatPiece] = []
        while (found := hyperplanes.next()) is not None:
            rows, normal = found
            if self.adjust:
                rows, normal = self._adjusted(X, rows, normal, hyperplanes.rows, setting)
            inner: list[FlatPiece] = []
            if t > self.min_dim + 1:
                within = (X[rows] - X[rows].mean(axis=0)) @ across(normal)
                inner = [FlatPiece(rows[r], dim) for r, dim in self._pieces(within, setting, watch)]
            taken = np.concatenate([rows[:0], *(piece.rows for piece in inner)])
            rest = np.setdiff1d(rows, taken, assume_unique=True)
            if len(rest) >= least:
                inner.append(FlatPiece(rest, t - 1))
                taken = rows
            pieces += inner
            hyperplanes.remove(taken)
            watch.step("clusters", len(pieces))
        if not hyperplanes.complete and self.search == "best" and not watch.was_cut:
            watch.cut(
                f"max_boxes={self.max_boxes} did not suffice to find the fullest hyperplane in "
                f"{t} dimensions; raise it, lower max_level, or set search='auto'"
            )
        return pieces

    def _adjusted(
        self,
        X: FloatArray,
        rows: IndexArray,
        normal: FloatArray,
        left: IndexArray,
        setting: CASHSetting,
    ) -> tuple[IndexArray, FloatArray]:
        """A hyperplane fitted to its rows, and the rows left that lie within jitter of it."""
        for _ in range(ADJUSTMENTS):
            centre = X[rows].mean(axis=0)
            away = X[rows] - centre
            fitted = np.linalg.eigh(away.T @ away)[1][:, 0]
            near = left[np.abs((X[left] - centre) @ fitted) <= setting.jitter]
            if len(near) < setting.min_samples:
                break
            stable = np.array_equal(near, rows)
            rows, normal = near, fitted
            if stable:
                break
        return rows, normal
