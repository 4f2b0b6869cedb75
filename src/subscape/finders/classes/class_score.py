"""How much better classes describe a table of levels and numbers than any description without."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from subscape.core.types import FloatArray

from .level_table import LevelTable, evidence, labels_evidence, memberships_of, told
from .trait_model import Trait, fit_trait, independent

#: What a grouping in two halves tells; less does not raise the score of a grouping.
LEAST_ENTROPY = float(np.log(2))


@dataclass(frozen=True, eq=False)
class ClassGain:
    """Result of :func:`class_score`.

    Attributes
    ----------
    gain : float
        Nats per row by which the classes describe the table better, each row by its own class,
        than the best description without classes.
    entropy : float
        Nats per row that the class itself tells.
    columns : array of shape (n_features,)
        Nats per row that the classes tell about each column (its relevance).
    without : str
        The best description without classes: "independent", "tree" or "traits".
    """

    gain: float
    entropy: float
    columns: FloatArray
    without: str

    @property
    def score(self) -> float:
        """Gain per nat told."""
        return self.gain / max(self.entropy, LEAST_ENTROPY)


class ClassScorer:
    """Judges many groupings of one table of levels and numbers.

    Classes are described by the shares of levels and the means and variances of numbers in each,
    integrated over their priors, so that every parameter pays for itself, and by the shares of the
    classes, so that the labels are paid for, too [1]_. Whatever column does not depend on the class
    costs (almost) nothing.

    Held against this is the best of the descriptions without classes: independent columns; a tree
    of pairs of columns [2]_; one or two normal traits that all columns depend on, integrated out.
    Traits may be unknown, while the class of each row is part of the description: classes that run
    into each other gain less, though they may fit as well.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features) or LevelTable
        NaN where a cell is missing.
    categorical : "auto", mask or list of column numbers, default="auto"
        Columns that hold codes of levels.
    like : ClassScorer, optional
        Of a similar table: only traits of the kind that is best there are fitted, and its are where
        the search begins.

    Attributes
    ----------
    table : LevelTable
    without : dict
        Nats gained, over independent columns, by "independent", "tree", "traits".
    traits : tuple of Trait
        Those that were fitted.

    References
    ----------
    .. [1] C. Biernacki, G. Celeux, G. Govaert, "Exact and Monte Carlo calculations of integrated
       likelihoods for the latent class model", Journal of Statistical Planning and Inference 140
       (2010), doi:10.1016/j.jspi.2010.03.042.
    .. [2] C. K. Chow, C. N. Liu, "Approximating discrete probability distributions with dependence
       trees", IEEE Transactions on Information Theory 14 (1968), doi:10.1109/TIT.1968.1054142.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1], 100)
    >>> answers = rng.random((200, 10)) < np.where(truth, 0.9, 0.1)[:, None]
    >>> judge = ClassScorer(answers)
    >>> bool(judge(truth).gain > 0.2)
    True
    >>> bool(judge(rng.permutation(truth)).gain < 0)
    True
    """

    def __init__(
        self,
        X: ArrayLike | LevelTable,
        categorical: Any = "auto",
        *,
        like: ClassScorer | None = None,
    ) -> None:
        self.table = X if isinstance(X, LevelTable) else LevelTable.of(X, categorical)
        self.alone = float(evidence(self.table, self.table.design.sum(axis=0)[:, None]).sum())
        self.without = {"independent": 0.0}
        if self.table.n_columns > 1:
            self.without["tree"] = tree_gain(self.table)
        self.traits = self._traits(like)
        if self.traits:
            self.without["traits"] = self.trait_gain(self.best_trait)

    def trait_gain(self, trait: Trait) -> float:
        """Nats that traits gain over independent columns, less the price of the slopes (BIC)."""
        gain = trait.log_likelihood - independent(self.table)
        return gain - 0.5 * trait.extra * float(np.log(self.table.n_rows))

    @property
    def best_trait(self) -> Trait:
        """The trait model that gains most."""
        return max(self.traits, key=self.trait_gain)

    def _traits(self, like: ClassScorer | None) -> tuple[Trait, ...]:
        table = self.table
        if table.n_columns < 3:
            return ()
        if like is not None:
            if not like.traits:
                return ()
            old = like.best_trait
            return (fit_trait(table, old.dims, ordered=old.ordered, start=old.parameters),)
        found = [fit_trait(table, 1)]
        if len(table.values) and table.sizes.max() > 2:
            found.append(fit_trait(table, 1, ordered=False))
        if table.n_columns > 4:
            better = max(found, key=self.trait_gain)
            found.append(fit_trait(table, 2, ordered=better.ordered))
        return tuple(found)

    def evidence_gain(self, evidence: float) -> float:
        """Nats per row by which a log-likelihood is above independent columns and traits.

        A tree of pairs is left out here: classes of which single columns are sure signs make pairs
        of columns tell nearly as much, and what pairs share is kept by tables without classes.
        """
        best = max(gain for name, gain in self.without.items() if name != "tree")
        return (evidence - self.alone - best) / self.table.n_rows

    def __call__(self, labels: ArrayLike) -> ClassGain:
        """Judge classes; noise (-1) is one class more."""
        inside = memberships_of(np.asarray(labels))
        n = self.table.n_rows
        best = max(self.without, key=lambda name: self.without[name])
        shares = inside.mean(axis=0)
        entropy = float(-(shares * np.log(shares)).sum())
        parts = told(self.table, self.table.design.T @ inside)
        gains = parts.gains if inside.shape[1] > 1 else np.zeros(self.table.n_columns)
        sizes = inside.sum(axis=0)
        gain = float(gains.sum() + labels_evidence(sizes)) - self.without[best]
        return ClassGain(gain / n, entropy, self.table.in_order(gains) / n, best)


def class_score(X: ArrayLike, labels: ArrayLike, categorical: Any = "auto") -> ClassGain:
    """How much better classes describe a table than the best description without classes.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        NaN where a cell is missing.
    labels : array-like of shape (n_rows,)
        Noise (-1) is one class more.
    categorical : "auto", mask or list of column numbers, default="auto"
        Columns that hold codes of levels.

    Returns
    -------
    ClassGain

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> truth = np.repeat([0, 1, 2], 60)
    >>> usual = rng.integers(0, 2, size=(3, 12))
    >>> answers = np.where(rng.random((180, 12)) < 0.9, usual[truth], 1 - usual[truth])
    >>> found = class_score(answers, truth)
    >>> bool(found.gain > 0.2), found.without
    (True, 'tree')
    """
    return ClassScorer(X, categorical)(labels)


def tree_gain(table: LevelTable) -> float:
    """Nats that a tree of pairs of columns gains over independent columns.

    >>> x = np.repeat([0.0, 1.0], 20)
    >>> bool(tree_gain(LevelTable.of(np.column_stack([x, x, np.tile([0, 1], 20)]))) > 10)
    True
    """
    gains = pair_gains(table)
    # Kruskal: the largest first.
    first, second = np.triu_indices(len(gains), 1)
    order = np.argsort(-gains[first, second], kind="stable")
    tree = np.arange(len(gains))
    total = 0.0
    for pair in order:
        a, b = first[pair], second[pair]
        if gains[a, b] <= 0:
            break
        if tree[a] != tree[b]:
            tree[tree == tree[b]] = tree[a]
            total += float(gains[a, b])
    return total


def pair_gains(table: LevelTable) -> FloatArray:
    """Nats that any column gains from knowing another; order: levels, numbers."""
    c, q, n_levels = len(table.values), len(table.numbers), table.n_levels
    gains = np.zeros((c + q, c + q))
    if c:
        counts = table.design.T @ table.design[:, :n_levels]
        split = table.sums(evidence(table, counts).T).T
        alone = evidence(table, table.sums(counts.T).T)
        known = split - alone
        gains[:, :c] = known
        gains[:c, c:] = known[c:].T
        gains[:c, :c] = (known[:c] + known[:c].T) / 2
    if q > 1:
        present = table.design[:, n_levels : n_levels + q]
        values = table.design[:, n_levels + q : n_levels + 2 * q]
        n = np.maximum(present.T @ present, 1.0)
        r = np.clip((values.T @ values) / n, -0.999, 0.999)
        gains[c:, c:] = -0.5 * n * np.log1p(-np.square(r)) - 0.5 * np.log(n)
    np.fill_diagonal(gains, 0.0)
    return gains
