"""What is to be fitted, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from subscape.core.clustering import SubspaceClustering
from subscape.core.markup import ShownAsText
from subscape.core.types import IntArray

#: Called with the (sampled) table and the clustering found; returns numbers by name.
Score = Callable[[Any, SubspaceClustering], Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Task:
    """One fit to be done: a finder on a table or on a sample of it.

    Parameters
    ----------
    finder : estimator
        Anything with ``fit`` that leaves ``clusterings_``, ``clustering_`` or ``labels_``; cloned.
        Rows and features that it knows something of (``labelled_rows`` of SSPC) are those of the
        whole table. Of a pipeline, subspaces are told in columns of the table if its steps select,
        scale or reorder columns; if they mix them, clusters are told over all features.
    X : array-like of shape (n_rows, n_features)
        Share one array among tasks: it is then sent to every worker once.
    rows, columns : array-like of int, optional
        Positions of the sample; all if left out.
    seed : int, optional
        Set as ``random_state`` of the finder and of all estimators inside it.
    score : callable, optional
        ``score(X_sample, clustering)`` returns numbers by name, kept with the run. A function of
        a module, or a partial of one, so that it can travel to other processes and that its runs
        are known again, by its name and arguments. A lambda makes runs that can't be kept.
    note : mapping, optional
        Plain values for the caller's own use; kept with the run, no part of what it is.

    See Also
    --------
    run_all : Does tasks.
    Run : What came of it.
    """

    finder: Any
    X: Any
    rows: ArrayLike | None = None
    columns: ArrayLike | None = None
    seed: int | None = None
    score: Score | None = None
    note: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Run(ShownAsText):
    """A finished fit.

    Attributes
    ----------
    id : str
        Stable name: the same for the same table, finder, parameters, seed, sample, score, version
        of Subscape and kernels. Runs without a seed, or with a parameter or score that has no name
        (a lambda), are told apart by their place among the tasks.
    clusterings : tuple of SubspaceClustering
        Over the rows and columns of the sample; empty if the run failed.
    seconds : float
    scores : dict
    warnings : tuple of str
        What the finder warned of, sorted, each once.
    error : str or None
        Why the run failed, as ``"ValueError: …"``.
    provenance : dict
        Finder, parameters, seed, table, sample sizes, score, version and kernels.
    rows, columns : arrays or None
        The sample's places in the table.
    shape : tuple of int
        Of the whole table.
    feature_names : tuple of str or None
        Of the whole table.
    note : dict
        The task's.
    is_restored : bool
        Read from the store instead of computed.

    See Also
    --------
    Task : What was to be done.
    run_all : Does tasks.
    """

    id: str
    clusterings: tuple[SubspaceClustering, ...]
    seconds: float
    scores: dict[str, float]
    warnings: tuple[str, ...]
    error: str | None
    provenance: dict[str, Any]
    rows: IntArray | None
    columns: IntArray | None
    shape: tuple[int, int]
    feature_names: tuple[str, ...] | None
    note: dict[str, Any]
    is_restored: bool = False

    @property
    def ok(self) -> bool:
        """Whether the finder came to an end (it may still have found nothing)."""
        return self.error is None

    @property
    def clustering(self) -> SubspaceClustering | None:
        """The first clustering; None if the run failed."""
        return self.clusterings[0] if self.clusterings else None

    def __repr__(self) -> str:
        finder = self.provenance["finder"].rpartition(".")[2]
        result = self.error or (repr(self.clusterings[0]) if self.clusterings else "not done")
        return f"Run({self.id[:8]}: {finder}, {self.seconds:.2f} s, {result})"

    def in_table(self) -> tuple[SubspaceClustering, ...]:
        """The clusterings over the whole table; what was not sampled is in no cluster.

        Returns
        -------
        tuple of SubspaceClustering
            In the order of ``clusterings``.
        """
        if self.rows is None and self.columns is None:
            return self.clusterings
        return tuple(
            c.embed(self.rows, self.columns, shape=self.shape).with_names(self.feature_names)
            for c in self.clusterings
        )
