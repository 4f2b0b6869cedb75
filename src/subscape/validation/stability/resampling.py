"""Samples of a table, grids of parameters, and the runs of every setting on every sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from subscape.core.checks import check_table
from subscape.core.errors import SubscapeError, count
from subscape.core.types import IndexArray, IntArray
from subscape.parallel.seeds import seed_sequence
from subscape.runs.store import Run, RunStore, Task, run_all
from subscape.tables.table import Table

#: Parameter values by name, or a list of settings.
Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]

SAMPLINGS = ("rows", "columns", "both")


class Sample(NamedTuple):
    """Positions of the sampled rows and columns, sorted; None where all are taken."""

    rows: IntArray | None
    columns: IntArray | None


class Split(NamedTuple):
    """Two disjoint samples of rows, over the same columns."""

    learning: Sample
    test: Sample


class Work(NamedTuple):
    """How runs are done: where they are kept, how many at once, who is told."""

    store: RunStore | str | os.PathLike[str] | None = None
    n_jobs: int | None = None
    progress: Callable[[Any], Any] | bool | None = None


def subsamples(
    shape: tuple[int, int],
    n_samples: int,
    *,
    sampling: str = "rows",
    share: float = 0.8,
    random_state: Any = None,
) -> list[Sample]:
    """Draw subsets of the rows, of the columns, or of both, without replacement.

    Parameters
    ----------
    shape : (n_rows, n_features) of the table
    n_samples : int
    sampling : {"rows", "columns", "both"}
    share : float
        Of the rows or columns (each, for "both") that a sample takes; at least one.
    random_state : int, Generator or None

    Returns
    -------
    list of Sample

    See Also
    --------
    resampling_stability : Clusters them.

    Examples
    --------
    >>> from subscape.validation import subsamples
    >>> [sample] = subsamples((10, 4), 1, sampling="both", share=0.5, random_state=0)
    >>> len(sample.rows), len(sample.columns)
    (5, 2)
    """
    if sampling not in SAMPLINGS:
        raise SubscapeError(f"sampling must be one of {', '.join(SAMPLINGS)}; got {sampling!r}")
    whole_number(n_samples, "n_samples", 1)
    _check_share(share)
    rng = np.random.default_rng(seed_sequence(random_state))
    samples = []
    for _ in range(n_samples):
        rows = _share_of(shape[0], share, rng) if sampling != "columns" else None
        columns = _share_of(shape[1], share, rng) if sampling != "rows" else None
        samples.append(Sample(rows, columns))
    return samples


def splits(
    shape: tuple[int, int],
    n_splits: int,
    *,
    sampling: str = "rows",
    share: float = 0.5,
    column_share: float = 0.8,
    random_state: Any = None,
) -> list[Split]:
    """Split the rows in two, several times; "both" draws columns too, the same for both parts.

    >>> from subscape.validation.stability.resampling import splits
    >>> [(learning, test)] = splits((10, 4), 1, random_state=0)
    >>> sorted([*learning.rows, *test.rows]) == list(range(10))
    True
    """
    if sampling not in ("rows", "both"):
        raise SubscapeError(
            f'sampling={sampling!r} leaves no rows to compare two halves on; use "rows" or "both", '
            "or resampling_stability, which also samples columns alone"
        )
    whole_number(n_splits, "n_splits", 1)
    _check_share(share)
    n, p = shape
    if n < 2:
        raise SubscapeError(f"a table of {n} row can't be split in two")
    rng = np.random.default_rng(seed_sequence(random_state))
    drawn = []
    for _ in range(n_splits):
        parts = _parted(n, min(max(1, round(share * n)), n - 1), rng)
        columns = _share_of(p, column_share, rng) if sampling == "both" else None
        drawn.append(Split(*(Sample(rows, columns) for rows in parts)))
    return drawn


def halves_and_samples(
    n_rows: int, n_samples: int, *, share: float = 0.7, random_state: Any = None
) -> list[IndexArray]:
    """The rows of two halves of a table, then those of samples; each in increasing order.

    What ``explore`` searches again: the halves to see whether views replicate, the samples to see
    whether they come back.

    >>> first, second, sample = halves_and_samples(10, 1, random_state=0)
    >>> sorted([*first, *second]) == list(range(10)), len(sample)
    (True, 7)
    """
    whole_number(n_samples, "n_samples", 0)
    _check_share(share)
    rng = np.random.default_rng(seed_sequence(random_state))
    halves = _parted(n_rows, n_rows // 2, rng)
    size = max(1, int(share * n_rows))
    return [*halves, *(_drawn(n_rows, size, rng) for _ in range(n_samples))]


def _parted(size: int, number: int, rng: np.random.Generator) -> tuple[IndexArray, IndexArray]:
    """So many at random, and the others."""
    order = rng.permutation(size)
    return np.sort(order[:number]), np.sort(order[number:])


def _drawn(size: int, number: int, rng: np.random.Generator) -> IndexArray:
    return np.sort(rng.choice(size, number, replace=False))


def _share_of(size: int, share: float, rng: np.random.Generator) -> IndexArray:
    return _drawn(size, max(1, round(share * size)), rng)


def _check_share(share: float) -> None:
    if not 0 < share < 1:
        raise SubscapeError(f"share must lie between 0 and 1, got {share!r}")


def whole_number(value: Any, name: str, least: int) -> int:
    """``value`` if it is a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SubscapeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def settings_of(finder: Any, grid: Grid | None) -> list[dict[str, Any]]:
    """All combinations of a grid, the last parameter changing fastest; checked on the finder.

    >>> from subscape.finders import PROCLUS
    >>> settings_of(PROCLUS(), {"n_clusters": [2, 3], "avg_dims": [4, 5]})[:2]
    [{'n_clusters': 2, 'avg_dims': 4}, {'n_clusters': 2, 'avg_dims': 5}]
    """
    if grid is None:
        return [{}]
    if isinstance(grid, Mapping):
        names = list(grid)
        for name in names:
            if isinstance(grid[name], (str, bytes)) or not hasattr(grid[name], "__len__"):
                raise SubscapeError(f"the grid must list the values of {name!r}, e.g. [2, 3, 4]")
        settings = [dict(zip(names, values, strict=True)) for values in product(*grid.values())]
    else:
        settings = [dict(setting) for setting in grid]
    if not settings:
        raise SubscapeError("the grid is empty: give every parameter at least one value")
    for setting in settings:
        clone(finder).set_params(**setting)
    return settings


def seeds_from(random_state: Any, number: int) -> tuple[np.random.SeedSequence, list[int]]:
    """A stream for drawing samples, and seeds for the runs; more seeds begin with the fewer."""
    drawing, running = seed_sequence(random_state).spawn(2)
    return drawing, [int(child.generate_state(1)[0]) for child in running.spawn(number)]


def table_of(X: Any, who: str) -> Any:
    """The numbers of a table, of whichever type."""
    values = X.to_numpy() if isinstance(X, Table) else X
    return check_table(values, who, sparse=True, missing=True)


def run_grid(
    finder: Any,
    X: Any,
    settings: Sequence[Mapping[str, Any]],
    samples: Sequence[Sample],
    seeds: Sequence[int],
    work: Work,
) -> list[list[Run]]:
    """Runs of every setting (first index) on every sample (second); seeds are by sample."""
    tasks = [
        Task(clone(finder).set_params(**setting), X, *sample, seed=seed)
        for setting in settings
        for sample, seed in zip(samples, seeds, strict=True)
    ]
    runs = run_all(tasks, *work)
    if not any(run.ok for run in runs):
        raise SubscapeError(
            f"{type(finder).__name__} failed in every one of {count(len(runs), 'run')}; in the "
            f"first with {runs[0].error}"
        )
    width = len(samples)
    return [runs[start : start + width] for start in range(0, len(runs), width)]
