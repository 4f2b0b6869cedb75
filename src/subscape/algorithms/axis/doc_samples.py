"""DOC's guesses at the features of a cluster: what a few random rows have in common with a row."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from subscape.algorithms.axis.box_finder import Candidate, Space
from subscape.kernels.bitsets import count, unpack
from subscape.kernels.boxes import TIE, match_rows, shared_features

__all__ = ["Surroundings", "n_samples_for", "sample_length"]

Bits = NDArray[np.uint64]

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
    >>> from subscape.algorithms.axis.doc_samples import sample_length
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
    >>> from subscape.algorithms.axis.doc_samples import n_samples_for
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
        self._matches: Bits | None = None
        self._judged: set[bytes] = set()

    def features_to_beat(self, floor: float) -> int:
        """Features that a box with all the rows would need to be better than ``floor``."""
        if floor == -math.inf:
            return 1
        missing = (floor + TIE - math.log(self.n_rows + 1)) / self.space.gain
        return max(1, math.floor(missing) + 1)

    def draw(
        self, length: int, n_samples: int, least: int, rng: np.random.Generator
    ) -> Iterator[Bits]:
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
    ) -> Bits:
        """The largest distinct sets of features among some samples, the very largest first."""
        best = np.zeros((0, self.near.shape[1]), dtype=np.uint64)
        for sets in self.draw(length, n_samples, least, rng):
            # Few are kept, so few have to be made distinct, which is slow for long sets.
            large = sets[np.argsort(-count(sets), kind="stable")[: MARGIN * n_sets]]
            best = np.unique(np.concatenate([best, large]), axis=0)
            best = best[np.argsort(-count(best), kind="stable")[:n_sets]]
        return best

    def best_of(self, sets: Bits, floor: float) -> Candidate | None:
        """The best box among some sets of features, None if none is better than ``floor``."""
        sets = np.unique(sets, axis=0)
        sizes = count(sets)
        best: Candidate | None = None
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

    def judge(self, features: Bits) -> Candidate:
        """Count the free rows in the box with some features."""
        if self._matches is None:
            self._matches = self.space.matches(self.seed)
        chosen = np.flatnonzero(unpack(features, self.space.table.shape[1]))
        support = int(count(np.bitwise_and.reduce(self._matches[chosen], axis=0)))
        quality = self.space.quality(support, len(chosen)) if support else -math.inf
        return Candidate(self.seed, chosen, support, quality)
