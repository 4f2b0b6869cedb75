"""Nr-Kmeans over tensors of torch or cupy: the rows stay on their device.

Starts are looked for on a sample in the computer's memory, as for large NumPy tables. The steps
over all rows run where the table lies; what the rotation needs of them are the centres, so only
those come back in every step.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from subscape.arrays.blocks import as_blocks
from subscape.arrays.device.array_api import (
    device_of,
    equal,
    from_numpy,
    is_device_array,
    shared_namespace,
    to_numpy,
)
from subscape.arrays.device.blocks import fold_on_device, is_on_device
from subscape.arrays.device.weighted_kmeans import column_squares_on_device
from subscape.core.errors import SubscapeError, count
from subscape.core.types import FloatArray, IntArray
from subscape.finders.views.base import Watch, found_several
from subscape.parallel.seeds import seed_sequence

from .device_kernel import DeviceTable, group_sums, no_labels, view_step
from .finish import (
    basis_of,
    clustering_of,
    finished_views,
    in_order,
    mark_outliers,
    trimmed,
    without_lost,
)
from .search import NOTHING, Task, sampled_rows, search
from .steps import Bases, Solution, explained_scatter, summed_up, turn
from .turning import Turning

# -- steps -----------------------------------------------------------------------------------------


def iterate_on_device(
    table: DeviceTable,
    bases: Bases,
    centres: tuple[FloatArray, ...],
    noise: bool,
    least: float,
    max_iter: int,
    turning: bool = True,
) -> Solution:
    """Assign, move and turn until no label changes; see ``view_kmeans.iterate``."""
    sizes = tuple(len(centre) for centre in centres)
    labels, views = no_labels(table.values, sizes), Turning(bases, centres, noise, least, turning)
    sums, counts = np.zeros((sum(sizes), table.shape[1])), np.zeros(sum(sizes), np.int64)
    steps, converged, lost = 0, False, False
    while steps < max_iter and not converged and not lost:
        steps += 1
        step = view_step(table, views.weights, views.offsets, sizes, labels)
        if step.n_changed == 0:
            converged = True
            break
        old, labels, sums, counts = labels, *step[:3]
        bases = views.bases
        if (counts == 0).any():
            labels = _refilled(table, labels, bases, sums, counts, sizes)
            converged = equal(labels, old)
        views.update(sums, counts)
        lost = any(basis.shape[1] == 0 for basis in views.bases)
    ends = np.cumsum(sizes)[:-1]
    groups = summed_up(np.split(sums, ends), np.split(counts, ends))
    if turning and counts.any():
        # The last turn once more, with all digits.
        bases = turn(bases, groups.factors, noise, least)
    value = explained_scatter(bases, groups.factors)
    there = to_numpy(labels).T.astype(np.int32, order="C")
    return Solution(there, bases, groups, value, steps, converged)


def _refilled(
    table: DeviceTable,
    labels: Any,
    bases: Bases,
    sums: FloatArray,
    counts: IntArray,
    sizes: tuple[int, ...],
) -> Any:
    """Give every empty cluster the row that is farthest from its centre in that view.

    Changes sums and counts, and returns labels of their own.
    """
    xp = shared_namespace(X=table.values)
    labels = labels + xp.zeros((), dtype=labels.dtype, device=device_of(labels))
    for j, (start, end) in enumerate(pairwise(np.cumsum([0, *sizes]))):
        inside_sums, inside_counts = sums[start:end], counts[start:end]
        for empty in np.flatnonzero(inside_counts == 0):
            centres = summed_up([inside_sums], [inside_counts]).centres[0] @ bases[j]
            own = to_numpy(labels[j, :]).astype(np.intp)
            away = np.square(table.coordinates(bases[j]) - centres[own]).sum(axis=1)
            away[inside_counts[own] < 2] = -1.0
            row = int(away.argmax())
            if away[row] <= 0:
                break  # fewer distinct rows in this view than clusters
            values = to_numpy(table.values[row, :]).astype(np.float64)
            for cluster, sign in ((own[row], -1), (empty, 1)):
                inside_sums[cluster] += sign * values
                inside_counts[cluster] += sign
            labels[j, row] = int(empty)
    return labels


# -- the whole search ------------------------------------------------------------------------------


class Prepared(NamedTuple):
    """A table of another library as the search sees it."""

    values: Any
    """Centred, divided by ``unit``."""
    middle: FloatArray
    unit: float
    square: float
    """Sum of the squares of ``values``."""


def fit_on_device(finder: Any, X: Any, given: Any) -> None:
    """Fit an ``NrKMeans`` to a tensor; labels, centres and directions are tensors beside it.

    Tables that are searched as a whole anyway (few rows, more columns than rows, constant columns,
    known clusterings) are copied to the computer's memory.
    """
    _check_devices(finder, X)
    with threadpool_limits(1):
        _fit(finder, X, given)
    finder.labels_ = from_numpy(finder.labels_, X)
    finder.label_matrix_ = from_numpy(finder.label_matrix_, X)
    for name in ("components_", "importances_", "cluster_centers_"):
        setattr(finder, name, tuple(from_numpy(each, X) for each in getattr(finder, name)))


def _fit(finder: Any, X: Any, given: Any) -> None:
    table = None if given is not None or finder.init is not None else _prepared(finder, X)
    if table is None:
        finder.fit(to_numpy(X), given=given)
    else:
        _fit_large(finder, X, table)


def _check_devices(finder: Any, X: Any) -> None:
    arrays = {} if finder.init is None else dict(enumerate([*finder.init[0], *finder.init[1]]))
    foreign = {f"init {i}": array for i, array in arrays.items() if is_device_array(array)}
    shared_namespace(X=X, **foreign)


def _prepared(finder: Any, X: Any) -> Prepared | None:
    """The table centred and scaled, None if it is better searched as a whole."""
    xp = shared_namespace(X=X)
    finder._validate_params()
    if X.ndim != 2 or X.shape[1] == 0 or X.dtype not in (xp.float32, xp.float64):
        return None
    n, p = X.shape
    if p >= n or finder._n_searched(n) == n:
        return None
    table = as_blocks(X)
    if not is_on_device(table):
        return None
    low, high, finite = table.ranges
    if not finite:
        bad = int(fold_on_device(lambda block, rows: _n_bad(xp, block), table, 2 * p, "the check"))
        raise SubscapeError(
            f"Input X contains NaN or infinity ({count(bad, 'value')}) and NrKMeans does not take "
            "missing values; impute them first"
        )
    finder.check_parameters(n, p)
    if (low == high).any():
        return None
    centred = table.recentred(low, table.means).fleeting()
    square = float(column_squares_on_device(centred).sum())
    # A power of two, as for NumPy tables; no bit changes.
    unit = float(2.0 ** np.round(np.log2(np.sqrt(square / (n * p)))))
    values = centred.scaled(np.full(p, 1.0 / unit)).held
    if values is None:
        raise MemoryError(
            f"NrKMeans works on a centred copy of the table, and {n} x {p} more values don't fit "
            "into the device's memory; free other arrays there, or pass a NumPy array"
        )
    return Prepared(values, low + table.means, unit, square / unit**2)


def _n_bad(xp: Any, block: Any) -> Any:
    return xp.count_nonzero(~xp.isfinite(block))


def _fit_large(finder: Any, X: Any, table: Prepared) -> None:
    n, p = X.shape
    xp = shared_namespace(X=X)
    sizes = finder._sizes()
    finder.n_features_in_, finder.given_, finder._middle = p, (), table.middle
    of_rows, of_search = seed_sequence(finder.random_state).spawn(2)
    # The rows that a NumPy table would be searched in.
    rows = sampled_rows(n, finder._n_searched(n), of_rows)
    sample = to_numpy(xp.take(table.values, from_numpy(rows, X), axis=0)).astype(np.float64)
    distinct = len(np.unique(sample, axis=0))
    if not sizes or distinct < max(sizes):
        finder.fit(to_numpy(X))
        return
    watch = Watch(type(finder).__name__, finder.progress, finder.max_time)
    there = DeviceTable(table.values, sizes)
    least = NOTHING * table.square
    task = Task(there, sizes, finder._has_noise(), least, finder.max_iter)
    limits = finder.n_init, finder.n_escapes
    best = search(task, sample, *limits, of_search, watch, finder.n_jobs)
    best = without_lost(task, best)
    if not best.converged and not watch.was_cut:
        watch.cut(f"labels still changed after max_iter={finder.max_iter} steps")
    by_chance = task.noise and finder.noise_rule == "chance"
    best = trimmed(task, best) if by_chance else in_order(best)
    labels = mark_outliers(there, best) if finder.outliers else best.labels
    views = finished_views(best, labels)
    scale = table.unit**2
    found = found_several(
        [clustering_of(view) for view in views],
        best.n_iter,
        importances_=tuple(view.importances * scale / n for view in views),
        inertia_=max((table.square - best.explained) * scale, 0.0),
    )
    finder._keep(found)
    finder.components_ = tuple(basis_of(each) for each in finder.clusterings_)
    finder.cluster_centers_ = tuple(
        _centres(there.values, each, table) for each in finder.clusterings_
    )
    dims = [basis.shape[1] for basis in finder.components_]
    finder.dims_ = np.array([*dims, p - sum(dims)] if finder._has_noise() else dims)
    watch.close()


def _centres(values: Any, clustering: Any, table: Prepared) -> FloatArray:
    labels = from_numpy(clustering.labels(), values)
    sums, counts = group_sums(values, labels, clustering.n_clusters)
    return sums / counts[:, None] * table.unit + table.middle
