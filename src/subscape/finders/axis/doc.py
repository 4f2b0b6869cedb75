"""DOC and FastDOC: dense boxes whose features are guessed from small random samples of rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from subscape.arrays.bitsets import count, unpack
from subscape.core.errors import SubscapeError
from subscape.core.types import BitArray
from subscape.finders.axis.boxes.finder import BoxCandidate, BoxFinder, Space
from subscape.finders.axis.boxes.refinement import Box
from subscape.finders.axis.boxes.windows import TIE, match_rows, shared_features
from subscape.finders.base import Watch

__all__ = ["DOC", "FastDOC", "Surroundings", "n_samples_for", "sample_length"]

#: Sets of features whose rows FastDOC counts around each row: the largest may be a coincidence.
LARGEST = 16
#: Samples taken first around each row: they show how good a box must be, which saves most others.
PILOT = 1000


class DOC(BoxFinder):
    """DOC: dense boxes, each in its own features, found one after another by random sampling.

    Around a random row, the features in which a few other random rows are all close are a guess
    at the features of its cluster: if those rows belong to it, the guess is right with high
    probability. The box of all rows close in these features is judged by how many rows and
    features it has; the best of many guesses is taken [1]_, and then fitted to the data.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters (k). By default as many as are clearly more than chance.
    avg_dims : float or None, default=None
        Features per cluster on average, if known: features are then taken and left until it is
        met, those in which a cluster varies the least first. By default each box keeps its own.
    width : float, array of shape (n_features,) or None, default=None
        How close is close (w): two rows match in a feature if they differ by no more, and no box is
        wider than twice that. One number is a share of each feature's range (from the 5th to the
        95th percentile, over 0.9); an array gives the distances themselves, in the units of the
        table. None: 0.05 to begin with, and boxes as wide as their clusters if they are refined.
    alpha : float or None, default=None
        Least share of the rows in a cluster. By default 2.5 %, but 10 rows in tables of less than
        400 and a quarter of the rows in tables of less than 40.
    beta : float below 0.5, default=0.1
        One more feature is worth losing all but this share of the rows.
    n_seeds : int or None, default=None
        Random rows tried for each cluster. By default twice as many as there may be clusters.
    overlap : bool, default=False
        If true, clusters may share rows: a cluster uses up its cells, not its rows, and holds
        all rows inside its box.
    refine : bool, default=True
        Fit every box to the data: its features, its ends and thereby its rows. If false, boxes
        have the width given, as in the paper.
    max_samples : int or None, default=200000
        Most samples around one row. The paper's number, (2 / alpha)^r ln 4 with samples of
        r = log(2 p) / log(1 / (2 beta)) rows, is taken where it is smaller. None: always.
    search_rows : int or None, default=20000
        In a larger table boxes are searched in a random sample of the rows and then filled from
        all of them. None: never.
    max_time : float or None
        Seconds after which the search stops.
    random_state : int, Generator, RandomState or None
        Draws the seeds and the samples.
    n_jobs : int or None
        Seeds searched at the same time; the result doesn't depend on it.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Axis-aligned clusters in the order in which they were found.
    labels_ : array of shape (n_rows,)
        Cluster of each row, -1 for noise; the first one for a row in several.
    low_, high_ : arrays of shape (n_clusters, n_features)
        The boxes; infinite in irrelevant features. A row in two boxes belongs to the first,
        unless clusters may overlap.
    quality_ : array of shape (n_clusters,)
        log(rows) + features * log(1 / beta) of the box as it was found.
    seeds_ : array of shape (n_clusters,)
        The row around which it was found.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    FastDOC : Faster, by fewer samples.
    MineClus : Exact search for boxes.
    subscape.plots.CellsDisplay : The boxes as a picture.

    Notes
    -----
    Samples are drawn with replacement, and those that can't lead to a better box are left out in
    the right proportion rather than drawn, which changes no probability. A missing value never
    matches.

    Differences from the paper
    --------------------------
    - The paper's box is 2 w wide around the seed (``refine=False``). By default that only finds the
      cluster: a feature stays if the cluster's rows are twice as dense in it as the others and if
      it doesn't merely cut off rows that match in all other features; the ends are those of a
      truncated normal distribution on an even background. A box that others explain, such as the
      overlap of two clusters, is dropped.
    - ``search_rows=None`` and ``max_samples=None`` are as published: all rows are searched, and the
      paper's number of samples is always drawn, however large.
    - ``avg_dims`` is ours, and so are the default values of the paper's parameters.
    - What that gains: mean CE 0.00 as published (n_clusters=4, alpha=0.1, beta=0.25, width=0.1),
      0.00 by default, on five generated tables (300 x 12, four clusters of four features, a tenth
      of noise; ``benchmarks/published.py``).

    References
    ----------
    .. [1] C. M. Procopiuc, M. Jones, P. K. Agarwal, T. M. Murali, "A Monte Carlo algorithm for
       fast projective clustering", ACM SIGMOD 2002, 418-427, doi:10.1145/564691.564739.

    Examples
    --------
    >>> from subscape.finders import DOC
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(300, 12, n_clusters=3, dims=5, noise=0.1, random_state=0)
    >>> DOC(random_state=0).fit(X).clustering_ == truth
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoxFinder._parameter_constraints,
        "beta": [Interval(Real, 0, 0.5, closed="neither")],
        "max_samples": [Interval(Integral, 1, None, closed="left"), None],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        avg_dims: float | None = None,
        width: Any = None,
        alpha: float | None = None,
        beta: float = 0.1,
        n_seeds: int | None = None,
        overlap: bool = False,
        refine: bool = True,
        max_samples: int | None = 200_000,
        search_rows: int | None = 20_000,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.avg_dims = avg_dims
        self.width = width
        self.alpha = alpha
        self.beta = beta
        self.n_seeds = n_seeds
        self.overlap = overlap
        self.refine = refine
        self.max_samples = max_samples
        self.search_rows = search_rows
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _find_boxes(
        self, space: Space, rng: np.random.Generator, watch: Watch
    ) -> tuple[list[Box], list[BoxCandidate], int]:
        self._warn_if_too_few(space, watch)
        return super()._find_boxes(space, rng, watch)

    def _warn_if_too_few(self, space: Space, watch: Watch) -> None:
        length, n_samples = self._plan(space, len(space.table))
        hits = n_samples * (space.min_support / len(space.table)) ** length
        if hits < math.log(2):
            watch.cut(
                f"{n_samples} samples of {length} rows are too few to hit a cluster of "
                f"{space.min_support} rows with even odds; raise max_samples or alpha, or lower "
                "beta"
            )

    def _plan(self, space: Space, n_left: int) -> tuple[int, int]:
        """Rows in a sample, and how many samples of the rows left to take around each seed."""
        n_features = space.table.shape[1]
        length = sample_length(n_features, self.beta)
        needed = n_samples_for(length, min(space.min_support / n_left, 1.0))
        most = self._most(n_features)
        return length, needed if most is None else min(needed, most)

    def _most(self, n_features: int) -> int | None:
        return self.max_samples

    def _search_seed(
        self, space: Space, seed: int, floor: float, rng: np.random.Generator, watch: Watch
    ) -> BoxCandidate | None:
        around = Surroundings(space, seed)
        if around.n_rows == 0:
            return None
        length, n_samples = self._plan(space, around.n_rows)
        best: BoxCandidate | None = None
        for part in (min(PILOT, n_samples), max(n_samples - PILOT, 0)):
            least = around.features_to_beat(floor)
            for sets in around.draw(length, part, least, rng):
                found = around.best_of(sets, floor)
                if found is not None:
                    best, floor = found, found.quality
                if watch.out_of_time():
                    return best
        return best


class FastDOC(DOC):
    """FastDOC: as DOC, but only the samples with the most features are looked at around each row.

    Counting the rows of a box costs a pass over the table; FastDOC does it for the largest sets of
    features that a sample has in common only, and takes few samples [1]_.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of clusters (k). By default as many as are clearly more than chance.
    avg_dims : float or None, default=None
        Features per cluster on average, if known: features are then taken and left until it is
        met, those in which a cluster varies the least first. By default each box keeps its own.
    width : float, array of shape (n_features,) or None, default=None
        How close is close (w): two rows match in a feature if they differ by no more, and no box is
        wider than twice that. One number is a share of each feature's range (from the 5th to the
        95th percentile, over 0.9); an array gives the distances themselves, in the units of the
        table. None: 0.05 to begin with, and boxes as wide as their clusters if they are refined.
    alpha : float or None, default=None
        Least share of the rows in a cluster. By default 2.5 %, but 10 rows in tables of less than
        400 and a quarter of the rows in tables of less than 40.
    beta : float below 0.5, default=0.1
        One more feature is worth losing all but this share of the rows.
    n_seeds : int or None, default=None
        Random rows tried for each cluster. By default twice as many as there may be clusters.
    overlap : bool, default=False
        If true, clusters may share rows: a cluster uses up its cells, not its rows, and holds
        all rows inside its box.
    refine : bool, default=True
        Fit every box to the data: its features, its ends and thereby its rows. If false, boxes
        have the width given, as in the paper.
    max_samples : int or None, default=None
        Most samples around one row (MAXITER). By default the square of the number of features,
        but at least 1,000 and at most 20,000; with ``strict`` the square itself, up to a million.
    enough_dims : int or None, default=None
        Stop looking for a better box once one has so many features (d_0). By default never.
    strict : bool, default=False
        Count the rows of a single box per cluster, the one with the most features over all seeds,
        as in the paper; one lucky sample then ends the search. By default those of the 16 largest
        sets of features around every seed.
    search_rows : int or None, default=20000
        In a larger table boxes are searched in a random sample of the rows and then filled from
        all of them. None: never.
    max_time : float or None
        Seconds after which the search stops.
    random_state : int, Generator, RandomState or None
        Draws the seeds and the samples.
    n_jobs : int or None
        Seeds searched at the same time; the result doesn't depend on it.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Attributes
    ----------
    clustering_, labels_, low_, high_, quality_, seeds_
        As in :class:`DOC`.
    unrefined_clustering_ : SubspaceClustering
        The clusters before they were refined; :meth:`describe_refinement` says what changed. Only
        with ``refine``.

    See Also
    --------
    DOC : All samples.
    MineClus : Exact search for boxes.

    Differences from the paper
    --------------------------
    - Boxes are fitted to the data, on a sample of large tables, as those of :class:`DOC`;
      ``refine=False`` and ``search_rows=None`` are as published.
    - The rows of many boxes are counted; the paper counts those of a single one per cluster
      (``strict=True``).
    - ``avg_dims`` is ours, and so are the default values of the paper's parameters.
    - Always: with ``enough_dims`` seeds are looked at eight at a time, so that a few more than
      needed may be.
    - What that gains: mean CE 0.00 as published (n_clusters=4, alpha=0.1, beta=0.25, width=0.1),
      0.00 by default, on five generated tables (300 x 12, four clusters of four features, a tenth
      of noise; ``benchmarks/published.py``).

    References
    ----------
    .. [1] C. M. Procopiuc, M. Jones, P. K. Agarwal, T. M. Murali, "A Monte Carlo algorithm for
       fast projective clustering", ACM SIGMOD 2002, 418-427, doi:10.1145/564691.564739.

    Examples
    --------
    >>> from subscape.finders.axis.doc import FastDOC
    >>> from subscape.datasets import planted_axes
    >>> X, truth = planted_axes(300, 12, n_clusters=3, dims=5, noise=0.1, random_state=0)
    >>> FastDOC(random_state=0).fit(X).clustering_ == truth
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DOC._parameter_constraints,
        "enough_dims": [Interval(Integral, 1, None, closed="left"), None],
        "strict": ["boolean"],
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        avg_dims: float | None = None,
        width: Any = None,
        alpha: float | None = None,
        beta: float = 0.1,
        n_seeds: int | None = None,
        overlap: bool = False,
        refine: bool = True,
        max_samples: int | None = None,
        enough_dims: int | None = None,
        strict: bool = False,
        search_rows: int | None = 20_000,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.avg_dims = avg_dims
        self.width = width
        self.alpha = alpha
        self.beta = beta
        self.n_seeds = n_seeds
        self.overlap = overlap
        self.refine = refine
        self.max_samples = max_samples
        self.enough_dims = enough_dims
        self.strict = strict
        self.search_rows = search_rows
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        """Refuse widths and numbers of features that don't fit the table."""
        super().check_parameters(n_rows, n_features)
        if self.enough_dims is not None and self.enough_dims > n_features:
            raise SubscapeError(
                f"enough_dims={self.enough_dims} is more than the {n_features} features of the "
                "table; leave it out to never stop early"
            )

    def _warn_if_too_few(self, space: Space, watch: Watch) -> None:
        """Few samples are what FastDOC is about."""

    def _most(self, n_features: int) -> int:
        if self.max_samples is not None:
            return self.max_samples
        if self.strict:
            # More samples only make a lucky one likelier, which ends the search.
            return min(n_features**2, 1_000_000)
        return max(min(n_features**2, 20_000), PILOT)

    def _search_seed(
        self, space: Space, seed: int, floor: float, rng: np.random.Generator, watch: Watch
    ) -> BoxCandidate | None:
        around = Surroundings(space, seed)
        if around.n_rows == 0:
            return None
        length, n_samples = self._plan(space, around.n_rows)
        least = around.features_to_beat(floor)
        if self.strict and math.isfinite(floor):
            least = round(floor / space.gain) + 1  # boxes are compared by features alone, see below
        largest = around.largest(length, n_samples, least, 1 if self.strict else LARGEST, rng)
        if len(largest) == 0:
            return None
        if self.strict:
            found = around.judge(largest[0])
            return found._replace(quality=len(found.features) * space.gain)
        return around.best_of(largest, floor)

    def _search_seeds(
        self, space: Space, rng: np.random.Generator, watch: Watch
    ) -> BoxCandidate | None:
        found = super()._search_seeds(space, rng, watch)
        if found is None or not self.strict:
            return found
        if found.support < space.min_support:
            return None
        return found._replace(quality=space.quality(found.support, len(found.features)))

    def _is_enough(self, best: BoxCandidate | None) -> bool:
        if best is None or self.enough_dims is None:
            return False
        return len(best.features) >= self.enough_dims


# -- DOC's guesses at the features of a cluster: what a few random rows have in common with --------


#: Samples drawn at a time.
CHUNK = 1 << 16
#: Sets looked at for every one kept, since many are equal.
MARGIN = 64


def sample_length(n_features: int, beta: float) -> int:
    """Rows in a sample (r): as few as keep irrelevant features out of most samples.

    An irrelevant feature survives one row of the cluster with probability below 2 beta, since
    either half of its window holds less than a share beta of the cluster.

    Parameters
    ----------
    n_features : int
    beta : float
        Below one half.

    Returns
    -------
    int

    Examples
    --------
    >>> from subscape.finders.axis.doc import sample_length
    >>> sample_length(20, 0.25), sample_length(20, 0.1), sample_length(200, 0.25)
    (6, 3, 9)
    """
    return max(1, math.ceil(math.log(2 * n_features) / math.log(1 / (2 * beta)) - 1e-12))


def n_samples_for(length: int, share: float) -> int:
    """Samples around a row (m) for a cluster with at least this share of the rows.

    Parameters
    ----------
    length : int
        Rows in a sample.
    share : float
        The least share (alpha).

    Returns
    -------
    int

    Examples
    --------
    >>> from subscape.finders.axis.doc import n_samples_for
    >>> n_samples_for(3, 0.1)
    11091
    """
    return math.ceil((2 / share) ** length * math.log(4))


class Surroundings:
    """The rows around a seed, each as the set of free features in which it matches.

    Parameters
    ----------
    space : Space
        The table in which boxes are searched.
    seed : int
        The row in the middle.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self.space, self.seed = space, seed
        rows = space.free.rows()
        rows = rows[rows != seed]
        self.n_rows = len(rows)
        near = match_rows(np.ascontiguousarray(space.table[rows]), *space.windows(seed))
        self.near = near & space.free.by_row[rows]
        self._sizes = count(self.near)
        self._matches: BitArray | None = None
        self._judged: set[bytes] = set()

    def features_to_beat(self, floor: float) -> int:
        """Features that a box with all the rows would need to be better than ``floor``."""
        if floor == -math.inf:
            return 1
        missing = (floor + TIE - math.log(self.n_rows + 1)) / self.space.gain
        return max(1, math.floor(missing) + 1)

    def draw(
        self, length: int, n_samples: int, least: int, rng: np.random.Generator
    ) -> Iterator[BitArray]:
        """Draw samples of rows and yield the sets of features they share, if large enough.

        Parameters
        ----------
        length : int
            Rows in a sample, drawn with replacement.
        n_samples : int
            How many samples to draw.
        least : int
            Smaller sets of features are of no use.
        rng : Generator

        Yields
        ------
        (t, w) array of uint64
            Packed sets of features, not empty.
        """
        useful = np.flatnonzero(self._sizes >= least)
        if len(useful) == 0:
            return
        # A sample with a useless row is useless: draw only the number of samples without one.
        n_useful = int(rng.binomial(n_samples, (len(useful) / self.n_rows) ** length))
        for start in range(0, n_useful, CHUNK):
            shape = (min(CHUNK, n_useful - start), length)
            sets = shared_features(self.near, useful[rng.integers(len(useful), size=shape)], least)
            if len(sets):
                yield sets

    def largest(
        self, length: int, n_samples: int, least: int, n_sets: int, rng: np.random.Generator
    ) -> BitArray:
        """The largest distinct sets of features among some samples, the very largest first."""
        best = np.zeros((0, self.near.shape[1]), dtype=np.uint64)
        for sets in self.draw(length, n_samples, least, rng):
            # Few are kept, so few have to be made distinct, which is slow for long sets.
            large = sets[np.argsort(-count(sets), kind="stable")[: MARGIN * n_sets]]
            best = np.unique(np.concatenate([best, large]), axis=0)
            best = best[np.argsort(-count(best), kind="stable")[:n_sets]]
        return best

    def best_of(self, sets: BitArray, floor: float) -> BoxCandidate | None:
        """The best box among some sets of features, None if none is better than ``floor``."""
        sets = np.unique(sets, axis=0)
        sizes = count(sets)
        best: BoxCandidate | None = None
        # The largest first: they soon make it needless to count the rows of the others.
        for place in np.argsort(-sizes, kind="stable"):
            if sizes[place] < self.features_to_beat(floor):
                break
            key = sets[place].tobytes()
            if key in self._judged:
                continue
            self._judged.add(key)
            found = self.judge(sets[place])
            if found.support >= self.space.min_support and found.quality > floor + TIE:
                best, floor = found, found.quality
        return best

    def judge(self, features: BitArray) -> BoxCandidate:
        """Count the free rows in the box with some features."""
        if self._matches is None:
            self._matches = self.space.matches(self.seed)
        chosen = np.flatnonzero(unpack(features, self.space.table.shape[1]))
        support = int(count(np.bitwise_and.reduce(self._matches[chosen], axis=0)))
        quality = self.space.quality(support, len(chosen)) if support else -math.inf
        return BoxCandidate(self.seed, chosen, support, quality)
