"""Try settings on a sample, keep what describes its rows most briefly, settle all rows on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from subscape.core.types import FloatArray, IndexArray
from subscape.parallel.progress import Watch

from .description import ANY_DIM, Description, FlatDims
from .flat_refinement import FlatClusters, merge_flats, reassign_rows, refine_flats


class Attempt(NamedTuple):
    """What one setting gave: a label per row, and the dimension of each cluster's flat."""

    setting: Any
    labels: IndexArray
    dims: IndexArray
    min_size: int
    """Rows that a cluster needs."""
    local_dims: IndexArray = np.empty(0, np.intp)
    """Dimension of the flat around each row, where the method looks at that."""


class Raw(NamedTuple):
    """Labels (-1 noise) and the dimension of each cluster's flat, as the search found them."""

    labels: IndexArray
    dims: IndexArray


class ChosenAttempt(NamedTuple):
    """The best attempt, its clusters after refinement (None if that was not asked for)."""

    attempt: Attempt
    refined: FlatClusters | None
    tried: int
    raw: Raw
    """The clusters before refinement, of all rounds."""


class RowSample(NamedTuple):
    """Some rows of a table, centred, in their order."""

    X: FloatArray
    places: IndexArray
    share: float

    @property
    def is_all(self) -> bool:
        return self.share == 1.0

    def spread(self, values: IndexArray, n: int) -> IndexArray:
        """Values of the sample's rows for all n rows of the table, -1 for the others."""
        everywhere = np.full(n, -1, np.intp)
        everywhere[self.places] = values
        return everywhere


def sample_of(X: FloatArray, most: int) -> RowSample:
    """At most so many rows; always the same ones, so that a table always gives one result."""
    if len(X) <= most:
        return RowSample(X, np.arange(len(X)), 1.0)
    places = np.sort(np.random.default_rng(0).choice(len(X), most, replace=False))
    rows = X[places]
    return RowSample(rows - rows.mean(axis=0), places, most / len(X))


def shortest(
    attempts: Iterable[Attempt],
    X: FloatArray,
    watch: Watch,
    *,
    refine: bool,
    pieces: bool = False,
    agreement: int | None = None,
    allowed: FlatDims = ANY_DIM,
) -> ChosenAttempt:
    """Keep the attempt that describes the rows most briefly.

    Parameters
    ----------
    attempts : iterable of Attempt
        Lazily made, at least one; no more are asked for when time is up.
    X : (n, p) array
        The rows they are about.
    watch : Watch
    refine : bool
        Judge clusters after they have settled.
    pieces : bool
        Judge clusters that have not settled with the pieces of a flat joined.
    agreement : int, optional
        Stop when so many attempts have settled on the same best clusters.
    allowed : FlatDims
        Dimensions that flats may have.
    """
    describe = Description(X, allowed)
    best: tuple[Any, Attempt, FlatClusters | None] | None = None
    tried = agreeing = 0
    for attempt in attempts:
        tried += 1
        end, labels = None, attempt.labels
        if pieces and not refine:
            labels = merge_flats(X, labels, describe)
        nats: Any = describe.total(X, labels)
        if refine:
            end = refine_flats(X, labels, describe, min_size=attempt.min_size, watch=watch)
            # Settings that settle alike are told apart by what they began with.
            nats = round(end.nats, 3), nats
            if best is None or nats[0] < best[0][0]:
                agreeing = 0
            agreeing += len(end.dims) > 0 and (best is None or nats[0] <= best[0][0])
        if best is None or nats < best[0]:
            best = nats, attempt, end
        watch.step("settings", tried)
        if agreeing == agreement or watch.out_of_time():
            break
    chosen = best[1]  # type: ignore[index]
    return ChosenAttempt(chosen, best[2], tried, Raw(chosen.labels, chosen.dims))  # type: ignore[index]


def extended(
    X: FloatArray,
    sample: RowSample,
    labels: IndexArray,
    min_size: int,
    watch: Watch,
    allowed: FlatDims = ANY_DIM,
) -> FlatClusters:
    """Settle all rows of a table on the clusters of a sample of them."""
    describe = Description(X, allowed)
    everywhere = reassign_rows(X, sample.spread(labels, len(X)), describe)
    return refine_flats(X, everywhere, describe, min_size=min_size, watch=watch)


def ended(
    chosen: ChosenAttempt, sample: RowSample, n: int
) -> tuple[IndexArray, IndexArray, tuple[IndexArray, IndexArray] | None]:
    """Labels and dimensions at the end, and before refinement (None if nothing was refined).

    Before refinement, rows outside the sample are in no cluster.
    """
    if chosen.refined is None:
        return chosen.attempt.labels, chosen.attempt.dims, None
    raw = chosen.raw
    labels = raw.labels if sample.is_all else sample.spread(raw.labels, n)
    return chosen.refined.labels, chosen.refined.dims, (labels, raw.dims)
