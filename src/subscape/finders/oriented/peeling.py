"""Search in rounds: what a round of settings leaves as noise is searched again by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from subscape.core.types import FloatArray, IndexArray
from subscape.parallel.progress import Watch

from .attempts import Attempt, ChosenAttempt, Raw
from .description import ANY_DIM, Description, FlatDims
from .flat_refinement import FlatClusters, refine_flats

#: Settings in a row that make it worse before a ladder is left.
PATIENCE = 1

#: Makes attempts on some rows, from the finest setting to the coarsest.
Ladder = Callable[[FloatArray], Iterator[Attempt]]


def thickness(clusters: FlatClusters) -> int:
    """Most dimensions of a flat."""
    return int(clusters.dims.max(initial=0))


def peeled(
    X: FloatArray,
    ladders: Sequence[Ladder],
    watch: Watch,
    *,
    flat_first: bool = True,
    allowed: FlatDims = ANY_DIM,
) -> ChosenAttempt:
    """Add clusters as long as the description of all rows gets shorter.

    Flats of different density need different settings, and no single one finds them all. A ladder
    is climbed on the rows that are still noise, until it only gets worse; what shortens the
    description most is kept, and the ladder begins anew on the rows left. Then the next one is
    tried.

    Parameters
    ----------
    X : (n, p) array
        The rows, centred.
    ladders : sequence of callables
        Each takes some rows, centred, and yields attempts on them.
    watch : Watch
        No more attempts are made when its time is up.
    flat_first : bool
        Take clusters of few dimensions first. Coarse settings may take several flats for one of
        more dimensions, so such clusters wait for the next round if there are flatter ones, and
        for all other ladders if they fill more than half of the dimensions.
    allowed : FlatDims
        Dimensions that flats may have.

    Returns
    -------
    Chosen
        With the first attempt that was kept, or the first made if none was.
    """
    describe, nowhere = Description(X, allowed), np.full(len(X), -1, np.intp)
    best = FlatClusters(nowhere, nowhere[:0], describe.total(X, nowhere))
    raw = Raw(nowhere, nowhere[:0])
    kept: Attempt | None = None
    first: Attempt | None = None
    thick: tuple[Attempt, FlatClusters] | None = None
    tried = failed = turn = 0
    while failed < len(ladders) and (first is None or not watch.out_of_time()):
        rows = np.flatnonzero(best.labels < 0)
        round_best: tuple[Attempt, FlatClusters] | None = None
        worse = 0
        for attempt in ladders[turn](X[rows] - X[rows].mean(axis=0)) if len(rows) else ():
            tried += 1
            watch.step("settings", tried)
            first = attempt if first is None else first
            if not len(attempt.dims):
                if watch.out_of_time():
                    break
                continue
            labels = best.labels.copy()
            labels[rows] = np.where(attempt.labels >= 0, attempt.labels + len(best.dims), -1)
            end = refine_flats(X, labels, describe, min_size=attempt.min_size, watch=watch)
            so_far = best if round_best is None else round_best[1]
            gain = round(so_far.nats - end.nats, 3)
            if gain <= 0:
                # As good as before once more: coarser settings would only join what is apart.
                worse += 1 if gain < 0 or round_best is None else 1 + PATIENCE
            elif flat_first and round_best is not None and thickness(end) > thickness(so_far):
                # The next round may still find these among the rows left.
                break
            elif flat_first and 2 * thickness(end) > X.shape[1]:
                worse += 1
                if thick is None or end.nats < thick[1].nats:
                    thick = attempt, end
            else:
                worse, round_best = 0, (attempt, end)
            if (worse > PATIENCE and len(so_far.dims)) or watch.out_of_time():
                break
        if round_best is None:
            failed += 1
            turn = (turn + 1) % len(ladders)
            if failed == len(ladders) and thick is not None:
                round_best = thick
        if round_best is not None:
            kept = round_best[0] if kept is None else kept
            raw = _with_round(raw, rows, round_best[0])
            best, thick, failed = round_best[1], None, 0
    if thick is not None:
        # Time was up before its turn came.
        raw = _with_round(raw, np.flatnonzero(best.labels < 0), thick[0])
        kept, best = thick[0] if kept is None else kept, thick[1]
    reported = first if kept is None else kept
    return ChosenAttempt(reported, best, tried, raw)  # type: ignore[arg-type]


def _with_round(raw: Raw, rows: IndexArray, attempt: Attempt) -> Raw:
    """The clusters that the rounds found so far, and those of one more among some rows.

    Rows that an earlier round had, and refinement left as noise, may be found again.
    """
    labels = raw.labels.copy()
    found = attempt.labels >= 0
    labels[rows[found]] = attempt.labels[found] + len(raw.dims)
    dims = np.concatenate([raw.dims, attempt.dims])
    used, codes = np.unique(labels[labels >= 0], return_inverse=True)
    labels[labels >= 0] = codes
    return Raw(labels, dims[used])
