"""Trait models: all columns depend on one or two normal traits, and otherwise not on each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri

from subscape.core.types import FloatArray

from .latent_classes import normal_weights
from .level_table import LevelTable

#: Points per trait, and how far out they reach, by number of traits.
GRIDS = {1: (31, 4.0), 2: (13, 3.6)}
#: Points farther out than this are left out.
FARTHEST = 4.2
#: Precision of the prior of slopes: traits that decide an answer completely are no better.
RIDGE = 0.05
#: Of that of intercepts, which are otherwise free to be shifted together.
LEAST_RIDGE = 1e-3
#: Steps of the descent, and the relative change at which it ends.
MOST_STEPS = 80
SMALLEST_CHANGE = 1e-6
#: Spreads of numbers given the traits are at least this share of those in the table.
SMALLEST_SPREAD = 0.1
#: How steep answers are at the start, given scores of the rows.
FIRST_SLOPE = 1.0


@dataclass(frozen=True, eq=False)
class Trait:
    """A trait model.

    Levels have multinomial logits that are linear in the traits; if ``ordered``, the slopes of the
    levels of a column are in proportion to their normal scores (one slope per column and trait, as
    in a partial credit model), else they are free (Bock's nominal model). Numbers are linear in
    the traits, with normal errors. The traits are standard normal and integrated out on a grid.

    Attributes
    ----------
    dims : int
    ordered : bool
    parameters : array
    log_likelihood : float
    extra : int
        Parameters beyond those of independent columns.
    """

    dims: int
    ordered: bool
    parameters: FloatArray
    log_likelihood: float
    extra: int


class _Problem:
    def __init__(self, table: LevelTable, dims: int, ordered: bool) -> None:
        self.table, self.dims, self.ordered = table, dims, ordered
        self.nodes, self.log_prior = grid(dims)
        self.scores = level_scores(table)
        self.n_slopes = len(table.values) if ordered else table.n_levels
        self.q = len(table.numbers)

    def parts(
        self, parameters: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Intercepts, slopes of levels, slopes of numbers, log spreads of numbers."""
        n_levels, dims = self.table.n_levels, self.dims
        ends = np.cumsum([n_levels, self.n_slopes * dims, self.q * dims])
        b, slopes, loadings, spreads = np.split(parameters, ends)
        return b, slopes.reshape(-1, dims), loadings.reshape(-1, dims), spreads

    def level_slopes(self, slopes: FloatArray) -> FloatArray:
        if not self.ordered:
            return slopes
        return np.asarray(slopes[self.table.of_level] * self.scores[:, None])

    def weights(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Log-likelihood weights of the design at every node, and the shares of levels there."""
        table = self.table
        b, slopes, loadings, spreads = self.parts(parameters)
        eta = b[:, None] + self.level_slopes(slopes) @ self.nodes.T
        if len(table.starts):
            eta = eta - np.maximum.reduceat(eta, table.starts, axis=0)[table.of_level]
        shares = np.exp(eta)
        total = table.sums(shares)
        shares /= total[table.of_level]
        logs = eta - np.log(total)[table.of_level]
        if self.q:
            mean = loadings @ self.nodes.T
            variance = np.repeat(np.exp(2 * spreads)[:, None], len(self.nodes), axis=1)
            logs = np.concatenate([logs, normal_weights(mean, variance)])
        return logs, shares

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray]:
        """What is minimised: minus the mean log-likelihood, with the priors, and its gradient."""
        table, q, n = self.table, self.q, self.table.n_rows
        n_levels = table.n_levels
        b, slopes, loadings, spreads = self.parts(parameters)
        weights, shares = self.weights(parameters)
        logs = table.design @ weights
        logs += self.log_prior
        top = logs.max(axis=1, keepdims=True)
        np.exp(logs - top, out=logs)
        total = logs.sum(axis=1, keepdims=True)
        self.log_likelihood = float((np.log(total) + top).sum())
        logs /= total
        counts = table.design.T @ logs
        levels = counts[:n_levels]
        rest = levels - shares * table.sums(levels)[table.of_level]
        d_b = rest.sum(axis=1) - LEAST_RIDGE * b
        d_levels = rest @ self.nodes
        d_slopes = table.sums(self.scores[:, None] * d_levels) if self.ordered else d_levels
        d_slopes = d_slopes - RIDGE * slopes
        penalty = RIDGE * np.square(slopes).sum() + LEAST_RIDGE * np.square(b).sum()
        gradient = [d_b, d_slopes.ravel()]
        if q:
            seen = counts[n_levels : n_levels + q]
            first = counts[n_levels + q : n_levels + 2 * q]
            second = counts[n_levels + 2 * q :].sum(axis=1)
            mean = loadings @ self.nodes.T
            variance = np.exp(2 * spreads)
            off = first - seen * mean
            gradient.append(((off @ self.nodes) / variance[:, None]).ravel())
            squares = second - 2 * (first * mean).sum(axis=1) + (seen * np.square(mean)).sum(axis=1)
            gradient.append(squares / variance - seen.sum(axis=1))
        value = -(self.log_likelihood - 0.5 * penalty) / n
        return value, -np.concatenate(gradient) / n

    def start(self) -> FloatArray:
        table, dims = self.table, self.dims
        rows = row_scores(table, dims)
        pooled = table.design.sum(axis=0)
        levels = pooled[: table.n_levels]
        b = np.log(np.maximum(levels, 0.5) / np.maximum(table.sums(levels), 1)[table.of_level])
        means = table.design[:, : table.n_levels].T @ rows / np.maximum(levels, 1.0)[:, None]
        if self.ordered:
            shares = levels / np.maximum(table.sums(levels), 1)[table.of_level]
            means = table.sums((shares * self.scores)[:, None] * means)
        q = self.q
        known = table.design[:, table.n_levels + q : table.n_levels + 2 * q]
        loadings = known.T @ rows / max(table.n_rows, 1)
        spreads = 0.5 * np.log(np.maximum(1 - np.square(loadings).sum(axis=1), 0.1))
        return np.concatenate([b, FIRST_SLOPE * means.ravel(), loadings.ravel(), spreads])


def fit_trait(
    table: LevelTable, dims: int = 1, *, ordered: bool = True, start: FloatArray | None = None
) -> Trait:
    """Fit a trait model by marginal likelihood; missing cells are ignored.

    Parameters
    ----------
    table : LevelTable
    dims : {1, 2}
        Number of traits.
    ordered : bool
        Whether the slopes of the levels of a column follow their order.
    start : array, optional
        Parameters to begin with.

    References
    ----------
    R. D. Bock, M. Aitkin, "Marginal maximum likelihood estimation of item parameters",
    Psychometrika 46 (1981), doi:10.1007/BF02293801; E. Muraki, "A generalized partial credit
    model", Applied Psychological Measurement 16 (1992), doi:10.1177/014662169201600206; R. D. Bock,
    "Estimating item parameters and latent ability when responses are scored in two or more nominal
    categories", Psychometrika 37 (1972), doi:10.1007/BF02291411.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> trait = rng.normal(size=(400, 1))
    >>> table = LevelTable.of(trait + rng.normal(size=(400, 8)) > 0)
    >>> from_one = fit_trait(table)
    >>> bool(from_one.log_likelihood - independent(table) > 200)
    True
    """
    problem = _Problem(table, dims, ordered)
    first = problem.start() if start is None else start
    bounds = None
    if problem.q:
        free = len(first) - problem.q
        bounds = [(None, None)] * free + [(np.log(SMALLEST_SPREAD), 0.5)] * problem.q
    found = minimize(
        problem,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": MOST_STEPS, "ftol": SMALLEST_CHANGE},
    )
    problem(found.x)
    slopes = len(table.values) if ordered else int((table.sizes - 1).sum())
    extra = (slopes + problem.q) * dims - dims * (dims - 1) // 2
    return Trait(dims, ordered, found.x, problem.log_likelihood, extra)


def draw_trait(trait: Trait, table: LevelTable, rng: np.random.Generator) -> FloatArray:
    """Rows drawn from a trait model, as many as the table has; numbers are standardised."""
    problem = _Problem(table, trait.dims, trait.ordered)
    n = table.n_rows
    traits = rng.normal(size=(n, trait.dims))
    problem.nodes = traits
    b, slopes, loadings, spreads = problem.parts(trait.parameters)
    drawn = np.empty((n, table.n_columns))
    # The largest of logits with Gumbel noise has the logits' distribution.
    eta = b + traits @ problem.level_slopes(slopes).T + rng.gumbel(size=(n, table.n_levels))
    for j, start, levels in zip(table.levelled, table.starts, table.values, strict=True):
        drawn[:, j] = levels[eta[:, start : start + len(levels)].argmax(axis=1)]
    noise = rng.normal(size=(n, len(table.numbers)))
    drawn[:, table.numbers] = traits @ loadings.T + np.exp(spreads) * noise
    return drawn


def independent(table: LevelTable) -> float:
    """Largest log-likelihood of independent columns."""
    n_levels, q = table.n_levels, len(table.numbers)
    counts = table.design.sum(axis=0)
    levels = counts[:n_levels]
    total = np.maximum(table.sums(levels), 1e-300)[table.of_level]
    known = float((levels * np.log(np.maximum(levels, 1e-300) / total)).sum())
    if q:
        n = np.maximum(counts[n_levels : n_levels + q], 1.0)
        mean = counts[n_levels + q : n_levels + 2 * q] / n
        variance = np.maximum(counts[n_levels + 2 * q :] / n - np.square(mean), 1e-12)
        known -= float((0.5 * n * (np.log(2 * np.pi * variance) + 1)).sum())
    return known


def grid(dims: int) -> tuple[FloatArray, FloatArray]:
    """Nodes (n_nodes x dims) and logarithms of their standard normal weights.

    >>> nodes, log_weights = grid(1)
    >>> round(float(np.exp(log_weights) @ nodes[:, 0] ** 2), 2)
    1.0
    """
    n_points, reach = GRIDS[dims]
    line = np.linspace(-reach, reach, n_points)
    nodes = np.stack(np.meshgrid(*[line] * dims, indexing="ij"), axis=-1).reshape(-1, dims)
    squares = np.square(nodes).sum(axis=1)
    inside = squares <= FARTHEST**2
    logs = -0.5 * squares[inside]
    return nodes[inside], logs - np.log(np.exp(logs).sum())


def level_scores(table: LevelTable) -> FloatArray:
    """Normal score of every level among those of its column: mean 0 and variance 1."""
    counts = table.design[:, : table.n_levels].sum(axis=0)
    scores = np.zeros(table.n_levels)
    for start, size in zip(table.starts, table.sizes, strict=True):
        own = counts[start : start + size]
        scores[start : start + size] = normal_level_scores(own)
    return scores


def normal_level_scores(counts: FloatArray) -> FloatArray:
    """Mean of a normal variable between the thresholds of a level, standardised.

    >>> normal_level_scores(np.array([10.0, 10.0]))
    array([-1.,  1.])
    """
    total = counts.sum()
    if total <= 0 or (counts > 0).sum() < 2:
        return np.zeros(len(counts))
    shares = counts / total
    ends = np.clip(np.concatenate([[0.0], np.cumsum(shares)]), 0, 1)
    edges = np.exp(-0.5 * np.square(ndtri(ends))) / np.sqrt(2 * np.pi)
    scores = np.where(shares > 0, (edges[:-1] - edges[1:]) / np.maximum(shares, 1e-12), 0.0)
    scores -= shares @ scores
    return np.asarray(scores / np.sqrt(shares @ np.square(scores)))


def row_scores(table: LevelTable, dims: int) -> FloatArray:
    """Scores of rows along the main axes of multiple correspondence analysis, of variance 1."""
    n_levels, q = table.n_levels, len(table.numbers)
    levels = table.design[:, :n_levels]
    shares = levels.sum(axis=0) / np.maximum(table.sums(levels.sum(axis=0)), 1)[table.of_level]
    shares = np.maximum(shares, 1e-12)
    present = table.sums(levels.T).T[:, table.of_level]
    centred = (levels - present * shares) / np.sqrt(shares)
    whole = np.concatenate([centred, table.design[:, n_levels + q : n_levels + 2 * q]], axis=1)
    _, vectors = np.linalg.eigh(whole.T @ whole)
    scores = whole @ vectors[:, ::-1][:, :dims]
    if scores.shape[1] < dims:
        scores = np.pad(scores, ((0, 0), (0, dims - scores.shape[1])))
    spread = scores.std(axis=0)
    return np.asarray(scores / np.where(spread > 0, spread, 1.0))
