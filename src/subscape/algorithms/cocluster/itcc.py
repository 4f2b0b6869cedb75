"""Information-theoretic co-clustering."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils._param_validation import Interval

from subscape.algorithms.base import Found, SubspaceFinder, Watch, best_of
from subscape.core import SubspaceClustering
from subscape.core.errors import SubscapeError, count

from .information import (
    Coclusters,
    FloatArray,
    Labels,
    balanced,
    best_single_move,
    block_sums,
    grouped,
    merged_rows,
    mutual_information,
    reassigned,
    spread_out,
    table_information,
)

#: Single moves are tried while one evaluation of all of them costs less than this.
MOST_MOVE_CELLS = 4_000_000


class ITCC(SubspaceFinder):
    """Information-theoretic co-clustering: partition rows and columns, keep their information.

    The table, scaled to sum 1, is read as a joint distribution p(x, y). Rows and columns are
    partitioned in turn such that as little as possible of their mutual information is lost:
    I(X; Y) − I(row cluster; column cluster), which never rises from step to step. Meant for counts
    and other non-negative tables (documents and words, customers and products).

    Parameters
    ----------
    n_row_clusters, n_column_clusters : int, default=3
        Number of row groups (k) and column groups (l).
    n_init : int, default=20
        Starts; the one that keeps most information is returned. Every other start spreads its seeds
        over rows and columns that differ most, the others are random.
    max_iter : int, default=100
        Rounds (rows, then columns) per start.
    tol : float, default=1e-6
        A start ends when a round wins less than this share of I(X; Y).
    local_search : bool, default=True
        When no round wins any more, also move single rows and columns while that helps.
    max_time : float, optional
        Seconds after which no further start begins.
    random_state : int, RandomState, Generator or None
    n_jobs : int, optional
        Starts in parallel; the same result for any value.
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
        Every row group with every column group, k·l blocks.
    labels_, row_labels_ : array of shape (n_rows,)
        Row groups; rows without any mass are -1.
    column_labels_ : array of shape (n_features,)
    block_ : array of shape (k, l)
        Probability of each block.
    loss_ : float
        Information lost, in nats.
    mutual_information_ : float
        I(X; Y) of the table, in nats.
    loss_history_ : list of float
        Loss after each half-round of the start that won.
    n_iter_ : int

    Notes
    -----
    I. S. Dhillon, S. Mallela and D. S. Modha, *Information-Theoretic Co-clustering*, KDD 2003,
    doi:10.1145/956750.956764. The paper leaves the start, ties and empty clusters open: here a row
    stays where it is at ties, and an empty cluster takes the row that fits its own worst. The
    single moves after convergence are an addition. The origin matters, so columns are not centred,
    and constant columns are kept.

    Examples
    --------
    >>> from subscape.algorithms import ITCC
    >>> from subscape.datasets import planted_cocluster
    >>> from subscape.measures import clustering_error
    >>> X, truth = planted_cocluster(n_row_clusters=3, n_column_clusters=4, counts=True,
    ...                              random_state=0)
    >>> finder = ITCC(n_row_clusters=3, n_column_clusters=4, random_state=0).fit(X)
    >>> round(clustering_error(finder.clustering_, truth), 3)
    0.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_row_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_column_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "local_search": ["boolean"],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }
    _centred = False
    _drops_constant = False
    _accepts_sparse = True

    def __init__(
        self,
        n_row_clusters: int = 3,
        n_column_clusters: int = 3,
        *,
        n_init: int = 20,
        max_iter: int = 100,
        tol: float = 1e-6,
        local_search: bool = True,
        max_time: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        progress: Any = None,
    ) -> None:
        self.n_row_clusters = n_row_clusters
        self.n_column_clusters = n_column_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.local_search = local_search
        self.max_time = max_time
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.progress = progress

    def _find(self, X: Any, seed: np.random.SeedSequence, watch: Watch) -> Found:
        p, of_row, of_column = self._distribution(X)
        sizes = min(self.n_row_clusters, p.shape[0]), min(self.n_column_clusters, p.shape[1])
        total = table_information(p)
        transposed = p.T.tocsr() if sparse.issparse(p) else np.ascontiguousarray(p.T)

        def run_once(child: np.random.SeedSequence) -> Coclusters:
            rng = np.random.default_rng(child)
            if child.spawn_key[-1] % 2:
                start = balanced(p.shape[0], sizes[0], rng), balanced(p.shape[1], sizes[1], rng)
            else:
                start = spread_out(p, sizes[0], rng), spread_out(transposed, sizes[1], rng)
            return self._descend(p, transposed, start, sizes, total)

        best = best_of(run_once, self.n_init, seed, watch, self.n_jobs)
        best = best._replace(rows=_in_order(best.rows), columns=_in_order(best.columns))
        row_labels, column_labels = _expanded(best.rows, of_row), _expanded(best.columns, of_column)
        attributes = {
            "row_labels_": row_labels,
            "column_labels_": column_labels,
            "block_": _blocks(p, best.rows, best.columns, sizes),
            "loss_": max(0.0, total - best.information),
            "mutual_information_": total,
            "loss_history_": best.losses,
        }
        clustering = SubspaceClustering.from_coclustering(row_labels, column_labels)
        return Found(clustering, max(1, len(best.losses) // 2), attributes)

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        for wanted, there, what in (
            (self.n_row_clusters, n_rows, "row"),
            (self.n_column_clusters, n_features, "column"),
        ):
            # The defaults shrink with the table; numbers somebody chose do not.
            if wanted > there and wanted != 3:
                raise SubscapeError(
                    f"n_{what}_clusters={wanted} is more than the {count(there, what)} of the table"
                )

    def _distribution(self, X: Any) -> tuple[Any, Labels, Labels]:
        """Probabilities of the distinct rows and columns that have any, and which row is which."""
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise SubscapeError(
                f"Negative values in data passed to ITCC (smallest {values.min():g}): it reads the "
                "table as a distribution. Use counts, or subtract the smallest value"
            )
        total = float(X.sum())
        if total == 0:
            raise SubscapeError("ITCC needs a table with some mass, but all values are 0")
        table = X / total if not sparse.issparse(X) else X.multiply(1 / total).tocsr()
        # Equal rows have equal distributions: together they lose nothing, apart they may be split.
        table, of_row = merged_rows(table)
        table, of_column = merged_rows(table.T)
        return table.T, of_row, of_column

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags

    def _descend(
        self, p: Any, transposed: Any, start: tuple[Labels, Labels], sizes: tuple[int, int],
        total: float,
    ) -> Coclusters:  # fmt: skip
        """Alternate rows and columns until nothing is won."""
        rows, columns = start
        kept = mutual_information(_blocks(p, rows, columns, sizes))
        losses = [total - kept]
        for _ in range(self.max_iter):
            before = kept
            rows = reassigned(grouped(p, columns, sizes[1]), rows, sizes[0])
            losses.append(total - mutual_information(_blocks(p, rows, columns, sizes)))
            columns = reassigned(grouped(transposed, rows, sizes[0]), columns, sizes[1])
            kept = mutual_information(_blocks(p, rows, columns, sizes))
            losses.append(total - kept)
            if kept - before > max(self.tol * total, 1e-12):
                continue
            moved = self.local_search and _single_moves(p, transposed, rows, columns, sizes)
            if not moved:
                break
            rows, columns = moved
            kept = mutual_information(_blocks(p, rows, columns, sizes))
            losses.append(total - kept)
        return Coclusters(rows, columns, kept, losses)


def _single_moves(
    p: Any, transposed: Any, rows: Labels, columns: Labels, sizes: tuple[int, int]
) -> tuple[Labels, Labels] | None:
    """Labels after the best single move of a row or a column, or None if none gains."""
    cells = max(len(rows), len(columns)) * sizes[0] * sizes[1]
    if cells > MOST_MOVE_CELLS:
        return None
    gain, row, cluster = best_single_move(grouped(p, columns, sizes[1]), rows, sizes[0])
    other_gain, column, other = best_single_move(
        grouped(transposed, rows, sizes[0]), columns, sizes[1]
    )
    if max(gain, other_gain) <= 1e-12:
        return None
    if gain >= other_gain:
        rows = rows.copy()
        rows[row] = cluster
    else:
        columns = columns.copy()
        columns[column] = other
    return rows, columns


def _blocks(p: Any, rows: Labels, columns: Labels, sizes: tuple[int, int]) -> FloatArray:
    return block_sums(grouped(p, columns, sizes[1]), rows, sizes[0])


def _in_order(labels: Labels) -> Labels:
    """Groups numbered as they first appear: equal results get equal numbers from any start."""
    _, first, group = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[group]


def _expanded(labels: Labels, places: Labels) -> Labels:
    """Labels of merged rows for all rows; -1 where a row had no mass."""
    return np.where(places < 0, -1, labels[np.maximum(places, 0)])
