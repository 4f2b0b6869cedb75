"""What the mixtures share: starts, expectation and maximisation, choice of k, and new rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import combinations, product
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaincinv, logsumexp, xlogy
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from subscape.arrays.blocks import Blocks, as_blocks, fold, one_blas_thread
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, SubscapeError, count
from subscape.core.oriented import OrientedSubspaces
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.finders.base import Found, SubspaceFinder, Watch, best_few_of, by_first_row
from subscape.finders.oriented.flats import Flat, squared_residuals
from subscape.finders.oriented.one_flat import may_be_one, warn_of
from subscape.finders.oriented.subkmeans import HeldRows, lloyd, spread_rows
from subscape.finders.sampling import child_after, rows_to_search

from .components import LOG_2PI, Component, likely_dims, many_log_densities
from .moments import DECOMPOSED_UP_TO, ManyMoments, Moments, Products, RowMoments, Table

#: Variances are at least this share of the table's mean variance.
SMALLEST_SHARE = 1e-6
#: Steps of all starts, and of the best of them, before the best one goes on. Which starts are good
#: shows after a few steps.
FIRST, SHORT = 3, 20
#: One in so many starts is among the best, but at least two are.
SCREENED = 3
#: Share of the flats to start from that are those of a neighbourhood.
NEIGHBOURHOODS = 0.7
#: Ways to cut a component in two.
CUTS = 3
#: How often, after convergence, dimensions are chosen anew, and components on one flat merged.
RECHOICES = 3
#: Components with fewer rows than this are given up.
LEAST_ROWS = 1.5
#: Memberships below this are taken for none.
LEAST_MEMBERSHIP = 1e-4
#: A mean is on another flat if at least this share of the rows of that one is as far from its own.
FAR_ROWS = 0.01
#: Up to so many features long tables are passed over again and again; wider ones once.
WIDEST_PASSED = 500


class Fit(NamedTuple):
    """A mixture and how well it describes the rows it was fitted to."""

    components: list[Any]
    log_weights: FloatArray
    memberships: FloatArray
    log_likelihood: float
    n_parameters: float
    history: list[float]
    converged: bool
    lost: int = 0

    @property
    def k(self) -> int:
        return len(self.components)

    def bic(self, n_rows: int) -> float:
        """Bayesian information criterion; smaller is better."""
        return -2.0 * self.log_likelihood + self.n_parameters * float(np.log(n_rows))

    def icl(self, n_rows: int) -> float:
        """Integrated classification likelihood: BIC and how unclear the memberships are."""
        unclear = -float(xlogy(self.memberships, self.memberships).sum())
        return self.bic(n_rows) + 2.0 * unclear

    def score(self, criterion: str, n_rows: int) -> float:
        return self.icl(n_rows) if criterion == "icl" else self.bic(n_rows)


class Start(NamedTuple):
    """Groups that a start begins with, and its mixture after a few steps."""

    labels: IndexArray
    fit: Fit


class MixtureFinder(SubspaceFinder):
    """Base of the mixtures; a subclass says which models there are (:meth:`_models`)."""

    _kind = "oriented"
    _streams = True
    _accepts_missing = True
    _tells_two_rows = True

    #: What rows are placed by; None where all rows are alike.
    _components: list[Any] | None
    #: Constraints of the parameters that all have.
    _shared_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "criterion": [StrOptions({"bic", "icl"})],
        "assignment": [StrOptions({"hard", "soft"})],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "search_rows": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "batch_rows": [Interval(Integral, 1, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": ["random_state", np.random.Generator],
        "n_jobs": [Integral, None],
        "progress": [callable, "boolean", None],
    }

    def _models(self, floor: float) -> list[tuple[str, Any]]:
        """The models to choose from, by name."""
        raise NotImplementedError(f"{type(self).__name__} must implement _models")

    def check_parameters(self, n_rows: int, n_features: int) -> None:
        if not isinstance(self.n_clusters, Integral):
            numbers = np.asarray(self.n_clusters)
            if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or not numbers.size:
                raise SubscapeError(
                    f"n_clusters must be a number, or several to choose from; got "
                    f"{self.n_clusters!r}"
                )
            if numbers.min() < 1:
                raise SubscapeError("n_clusters: every number to choose from must be at least 1")
        dims = self.flat_dim
        if not isinstance(dims, str) and n_features <= dims and dims > 1:
            raise SubscapeError(
                f"flat_dim={dims} fills a table of {n_features} features: every row would be on "
                f"the flat. Use at most {n_features - 1}"
            )

    def _most_clusters(self) -> int | None:
        return int(np.max(self.n_clusters))

    def _numbers(self) -> list[int]:
        """The numbers of clusters to choose from."""
        wanted = np.unique(np.atleast_1d(self.n_clusters)).tolist()
        distinct = getattr(self, "_n_distinct", None)
        return sorted({k if distinct is None else min(k, distinct) for k in wanted})

    # -- the phases --------------------------------------------------------------------------------

    def _find(self, X: FloatArray | Blocks, seed: np.random.SeedSequence, watch: Watch) -> Found:
        X = X.within_reach() if isinstance(X, Blocks) else X
        numbers = self._numbers()
        rng = np.random.default_rng(child_after(seed, self.n_init))
        searched = rows_to_search(X, max(numbers), self.search_rows, rng)
        table = Table(searched)
        holes = bool(np.isnan(table.lengths).any())
        filled = np.where(np.isnan(searched), 0.0, searched) if holes else searched
        rows: Rows = MissingRows(searched) if holes else PlainRows(table)
        variances = np.nanvar(searched, axis=0) if holes else searched.var(axis=0)
        floor = SMALLEST_SHARE * max(float(np.nanmean(variances)), 1e-300)
        fits: dict[tuple[int, str], Fit] = {}
        models = {}
        for k, (name, model) in product(numbers, self._models(floor)):
            models[k, name] = model
            fits[k, name] = self._fitted(rows, filled, k, model, seed, watch)
            if watch.out_of_time():
                break
        n = len(searched)
        scores = {key: fit.score(self.criterion, n) for key, fit in fits.items()}
        chosen = min(scores, key=lambda key: scores[key])
        # Not before the number is chosen: of too many components those that are cut elsewhere fit
        # some rows so closely that BIC takes them for clusters.
        best, pairs = self._without_shared(rows, filled, fits[chosen], models[chosen], seed, watch)
        scores[chosen] = best.score(self.criterion, n)
        if n < len(X):
            model, rest = models[chosen], (self.max_iter, self.tol, watch)
            if self.batch_rows is None:
                best = finish_on_all_rows(X, best, model, *rest)
            else:
                best = finish_in_batches(X, best, model, int(self.batch_rows), *rest)
        if not best.converged and not watch.was_cut:
            watch.cut(f"no convergence within max_iter={self.max_iter} steps; raise max_iter")
        return self._result(X, best, chosen, scores, pairs)

    def _fitted(
        self, rows: Rows, filled: FloatArray, k: int, model: Any, seed: Any, watch: Watch
    ) -> Fit:
        """The best of all starts, continued to its end."""
        n = len(filled)
        known: dict[bytes, Start] = {}

        def run_once(child: np.random.SeedSequence) -> Start:
            labels = start_labels(filled, k, np.random.default_rng(child))
            # The same groups again have the same end.
            groups = labels.tobytes()
            if groups not in known:
                steps = min(FIRST, self.max_iter)
                fit = maximise(rows, as_memberships(labels, k), model, steps, self.tol)
                known[groups] = Start(labels, fit)
            return known[groups]

        def going_on(fit: Fit, steps: int) -> Fit:
            return fit if fit.converged else maximise(rows, fit, model, steps, self.tol)

        def key(fit: Fit) -> tuple[int, float]:
            return fit.lost, fit.bic(n)

        def start_key(start: Start) -> tuple[int, float]:
            return key(start.fit)

        fresh = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
        with one_blas_thread():
            number = max(2, -(-self.n_init // SCREENED))
            starts = best_few_of(
                run_once, self.n_init, fresh, watch, self.n_jobs, start_key, number
            )
            few = [start.fit for start in starts]
            steps = min(SHORT, self.max_iter)
            if not watch.out_of_time():
                others = [self._by_scree(rows, start, k, model) for start in starts]
                few += sorted((each for each in others if each is not None), key=key)[:1]
                few = [going_on(each, steps) for each in few] if len(few) > 1 else few
            best = going_on(min(few, key=key), self.max_iter)
            for _ in range(RECHOICES):
                if watch.out_of_time():
                    break
                dims = likely_dims(rows.moments(best.memberships, best.components), model)
                same = dims == [each.dim for each in best.components]
                if same and not model.gains_from_new_starts:
                    break
                again = maximise(rows, best.memberships, model, self.max_iter, self.tol, dims)
                if key(again) >= (best.lost, best.bic(n) - 1e-6):
                    break
                best = again
        return best

    def _without_shared(
        self,
        rows: Rows,
        filled: FloatArray,
        best: Fit,
        model: Any,
        seed: np.random.SeedSequence,
        watch: Watch,
    ) -> tuple[Fit, list[tuple[int, int]]]:
        """The best end, where components that are on one flat may be cut elsewhere.

        And the pairs of those that are on one flat still.
        """
        n, draws = len(filled), np.random.default_rng(child_after(seed, self.n_init + 1))
        with one_blas_thread():
            merged = on_one_flat(rows, best, model, self.tol, watch)
            for _ in range(RECHOICES):
                other = self._cut_elsewhere(rows, filled, best, merged, model, draws, watch)
                if other is None or (other.lost, other.bic(n)) >= (best.lost, best.bic(n) - 1e-6):
                    break
                best, merged = other, on_one_flat(rows, other, model, self.tol, watch)
        return best, list(merged)

    def _cut_elsewhere(
        self,
        rows: Rows,
        filled: FloatArray,
        best: Fit,
        merged: dict[tuple[int, int], Fit],
        model: Any,
        rng: np.random.Generator,
        watch: Watch,
    ) -> Fit | None:
        """Another end, where two components are on one flat: one for both, and another cut in two.

        None if there are no such two.
        """
        if not merged or watch.out_of_time():
            return None
        n, few = len(filled), []
        whole = min(merged.values(), key=lambda fit: fit.icl(n))
        labels = whole.memberships.argmax(axis=1)
        for k, _ in product(range(whole.k), range(CUTS)):
            own = np.flatnonzero(labels == k)
            if len(own) < 2 * LEAST_ROWS or watch.out_of_time():
                continue
            other = own[start_labels(filled[own], 2, rng) == 1]
            cut = np.column_stack([whole.memberships, np.zeros(n)])
            cut[other, -1], cut[other, k] = cut[other, k], 0.0
            few.append(maximise(rows, cut, model, min(SHORT, self.max_iter), self.tol))
        if not few:
            return None
        found = min(few, key=lambda fit: (fit.lost, fit.bic(n)))
        if not found.converged:
            found = maximise(rows, found, model, self.max_iter, self.tol)
        # A component that is nobody's likeliest is no cluster.
        return found if len(np.unique(found.memberships.argmax(axis=1))) == best.k else None

    def _by_scree(self, rows: Rows, start: Start, k: int, model: Any) -> Fit | None:
        """A start again with the dimensions of the scree test, if BIC has chosen others.

        Groups that begin are mixed, and spread in more directions than those they become: what is
        likeliest for them is often too large, and stays. BIC of the mixture says which was right.
        Of wide tables not all eigenvalues are taken, which the scree test looks at.
        """
        wide = len(start.fit.components[0].mean) > DECOMPOSED_UP_TO
        if wide or not model.weighs_dims or start.fit.lost:
            return None
        memberships = as_memberships(start.labels, k)
        moments = rows.for_one_run().moments(memberships, None)
        spectra = [each.spectrum.values for each in moments]
        dims = model._replace(how="scree").dims(spectra, moments.sizes, moments.n_features)
        if dims == [each.dim for each in start.fit.components]:
            return None
        return maximise(rows, memberships, model, min(FIRST, self.max_iter), self.tol, dims)

    def _result(
        self,
        X: Any,
        best: Fit,
        chosen: tuple[int, str],
        scores: dict[tuple[int, str], float],
        pairs: list[tuple[int, int]],
    ) -> Found:
        labels = best.memberships.argmax(axis=1)
        used = np.unique(labels)
        order = used[by_first_row(np.searchsorted(used, labels))]
        components = [best.components[k] for k in order]
        number = np.full(best.k, -1)
        number[order] = np.arange(len(order))
        labels = number[labels]
        bases = [each.directions for each in components]
        spaces = OrientedSubspaces(bases, complement=True, n_features=X.shape[1])
        memberships = best.memberships[:, order]
        if self.assignment == "soft":
            kept = np.where(memberships < LEAST_MEMBERSHIP, 0.0, memberships)
            kept[np.arange(len(kept)), labels] = np.maximum(memberships.max(axis=1), 1e-300)
            kept /= kept.sum(axis=1, keepdims=True)
            clustering = SubspaceClustering(sparse.csr_array(kept).T, spaces)
        else:
            clustering = SubspaceClustering.from_labels(labels, bases=spaces)
        if len(order) < chosen[0]:
            warnings.warn(
                f"{count(len(order), 'cluster')} instead of {chosen[0]}: the other components lost "
                "their rows",
                DroppedClusterWarning,
                stacklevel=6,
            )
        renamed = (sorted((int(number[i]), int(number[j]))) for i, j in pairs)
        warn_of(sorted((i, j) for i, j in renamed if i >= 0), 6, " or more starts (n_init)")
        self._components = components
        self._log_weights = best.log_weights[order]
        n = len(labels)
        return Found(
            clustering,
            len(best.history),
            {
                "flat_dims_": np.array([basis.shape[1] for basis in bases], np.int64),
                "weights_": np.exp(self._log_weights),
                "memberships_": memberships,
                "covariances_": Covariances(components),
                "log_likelihood_": best.log_likelihood,
                "bic_": best.bic(n),
                "icl_": best.icl(n),
                "history_": best.history,
                "model_": chosen[1],
                "criteria_": scores,
            },
        )

    # -- units and columns of the table, and new rows ----------------------------------------------

    def _prepared(self, table: Any) -> Any:
        prepared = super()._prepared(table)
        first = np.array([0])
        given = np.asarray(table.take(first, axis=0)[0], np.float64)
        moved = np.asarray(prepared.take(first, axis=0)[0], np.float64)
        origin = given - moved
        if np.isnan(origin).any():  # a gap: another row of the column
            whole = table if isinstance(table, np.ndarray) else table.to_numpy()
            centred = prepared if isinstance(prepared, np.ndarray) else prepared.to_numpy()
            at = (~np.isnan(whole)).argmax(axis=0)
            columns = np.arange(whole.shape[1])
            origin = np.asarray(whole[at, columns], np.float64) - centred[at, columns]
        self._origin = origin
        return prepared

    def _search(self, table: Any, watch: Watch) -> Found:
        self._components = None
        self._varying = ~self._constant(table)
        found = super()._search(table, watch)
        p = table.shape[1]
        if self._components is not None:
            centres = np.zeros((len(self._components), p))
            blocks = isinstance(table, Blocks)
            lowest = table.ranges.low if blocks else np.fmin.reduce(table, axis=0)
            centres[:] = np.where(np.isnan(lowest), 0.0, lowest)
            means = np.array([each.mean for each in self._components])
            centres[:, self._varying] = means + self._origin
        else:
            labels = found.clustering.labels()
            firsts = [int(np.argmax(labels == k)) for k in range(found.clustering.n_clusters)]
            centres = np.asarray(table.take(np.array(firsts), axis=0), np.float64)
        return found._replace(attributes={**found.attributes, "centres_": centres})

    def predict(self, X: ArrayLike) -> IntArray:
        """The likeliest cluster of each row; values may be missing.

        Returns
        -------
        array of shape (n_rows,)
            Numbers of the clusters, from 0.
        """
        return self.predict_proba(X).argmax(axis=1)

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """(n_rows, n_clusters) memberships of rows, by Bayes' rule.

        Returns
        -------
        array of shape (n_rows, n_clusters)
            Every row sums to 1.
        """
        check_is_fitted(self)
        table = as_blocks(self._read_again(X))
        return np.concatenate([self._memberships(block) for _, block in _reachable(table)])

    def _memberships(self, block: Any) -> FloatArray:
        block = np.asarray(block, np.float64)
        if self._components is None:
            far = np.array([np.nansum(np.square(block - c), axis=1) for c in self.centres_])
            near = far.argmin(axis=0)
            return np.equal.outer(near, np.arange(len(self.centres_))).astype(float)
        part = np.ascontiguousarray(block[:, self._varying]) - self._origin
        rows: Rows = MissingRows(part) if np.isnan(part).any() else PlainRows(part)
        return rows.expect(self._components, self._log_weights)[0]


class Covariances(Sequence[FloatArray]):
    """The covariance of each component, over the columns that vary, made when it is asked for."""

    def __init__(self, components: list[Component]) -> None:
        self._components = components

    def __len__(self) -> int:
        return len(self._components)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [each.covariance() for each in self._components[k]]
        return self._components[k].covariance()


def _reachable(table: Blocks) -> Blocks:
    return as_blocks(table.within_reach())


# -- rows, complete or with gaps -------------------------------------------------------------------


class PlainRows:
    """Rows in memory."""

    def __init__(self, X: FloatArray | Table) -> None:
        self._table = X if isinstance(X, Table) else Table(X)
        self._products = Products(self._table)

    def __len__(self) -> int:
        return len(self._table.X)

    def for_one_run(self) -> PlainRows:
        """The same rows, with a memory of their own."""
        return PlainRows(self._table)

    def expect(self, components: list[Any], log_weights: FloatArray) -> tuple[FloatArray, float]:
        """Memberships of the rows, and their log-likelihood."""
        return shares(many_log_densities(self._products, components) + log_weights)

    def moments(self, memberships: FloatArray, components: list[Any] | None) -> ManyMoments:
        """Of every component."""
        return RowMoments(self._products, memberships)


class MissingRows:
    """Rows with gaps: what is missing has its distribution given what is there.

    Rows are taken together by which of their values are missing.
    """

    def __init__(self, X: FloatArray) -> None:
        self._X = X
        there, inverse = np.unique(~np.isnan(X), axis=0, return_inverse=True)
        inverse = inverse.ravel()
        order = np.argsort(inverse, kind="stable")
        ends = np.cumsum(np.bincount(inverse, minlength=len(there)))
        self._groups = [
            (mask, order[end - size : end])
            for mask, end, size in zip(there, ends, np.bincount(inverse), strict=True)
        ]

    def __len__(self) -> int:
        return len(self._X)

    def for_one_run(self) -> MissingRows:
        """The same rows, which remember nothing."""
        return self

    def expect(self, components: list[Any], log_weights: FloatArray) -> tuple[FloatArray, float]:
        """Memberships by what is there, and its log-likelihood."""
        logs = np.empty((len(self._X), len(components)))
        for k, each in enumerate(components):
            whole = each.covariance()
            for mask, rows in self._groups:
                away = self._X[np.ix_(rows, mask)] - each.mean[mask]
                logs[rows, k] = log_weights[k]
                if mask.any():
                    factor = cho_factor(whole[np.ix_(mask, mask)], lower=True)
                    square = np.einsum("ij,ji->i", away, cho_solve(factor, away.T))
                    volume = 2 * np.log(np.diagonal(factor[0])).sum()
                    logs[rows, k] -= 0.5 * (square + volume + mask.sum() * LOG_2PI)
        return shares(logs)

    def moments(self, memberships: FloatArray, components: list[Any] | None) -> ManyMoments:
        """Of every component; what is missing counts with its mean and its spread."""
        found = []
        for k, weights in enumerate(memberships.T):
            each = None if components is None else components[k]
            filled, spread = self._completed(each, weights)
            size = float(weights.sum())
            mean = weights @ filled / max(size, 1e-300)
            away = filled - mean
            matrix = (away.T * weights) @ away + spread
            found.append(Moments(size, mean, matrix=matrix / max(size, 1e-300)))
        return ManyMoments(found)

    def _completed(self, component: Any, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Rows with the means of what is missing, and the summed covariance of that."""
        p = self._X.shape[1]
        filled, spread = self._X.copy(), np.zeros((p, p))
        if component is None:
            # Nothing is known yet: what is missing is spread as its column is.
            typical = np.nanvar(self._X, axis=0)
            for mask, rows in self._groups:
                gone = np.flatnonzero(~mask)
                filled[np.ix_(rows, gone)] = 0.0
                spread[gone, gone] += weights[rows].sum() * typical[gone]
            return filled, spread
        whole = component.covariance()
        for mask, rows in self._groups:
            if mask.all():
                continue
            gone = ~mask
            total = weights[rows].sum()
            if not mask.any():
                filled[rows] = component.mean
                spread += total * whole
                continue
            factor = cho_factor(whole[np.ix_(mask, mask)], lower=True)
            slope = cho_solve(factor, whole[np.ix_(mask, gone)])
            away = self._X[np.ix_(rows, mask)] - component.mean[mask]
            filled[np.ix_(rows, gone)] = component.mean[gone] + away @ slope
            left = whole[np.ix_(gone, gone)] - whole[np.ix_(gone, mask)] @ slope
            spread[np.ix_(gone, gone)] += total * left
        return filled, spread


Rows = PlainRows | MissingRows


def shares(logs: FloatArray) -> tuple[FloatArray, float]:
    """Memberships from joint log-densities, and the log-likelihood.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.base import shares
    >>> found, total = shares(np.log([[0.1, 0.3]]))
    >>> found.round(3).tolist(), round(float(np.exp(total)), 3)
    ([[0.25, 0.75]], 0.4)
    """
    top = logs.max(axis=1, keepdims=True)
    found = np.exp(logs - top)
    total = found.sum(axis=1, keepdims=True)
    found /= total
    return found, float(top.sum() + np.log(total).sum())


# -- expectation and maximisation ------------------------------------------------------------------


def start_labels(X: FloatArray, k: int, rng: np.random.Generator) -> IndexArray:
    """Each row in one of k groups: of k-means, or around flats of random neighbourhoods.

    Groups are numbered by their first rows.
    """
    if k == 1:
        return np.zeros(len(X), np.intp)
    if rng.random() < 0.5 or len(X) < 3 * k:
        seeds = X[spread_rows(X, k, int(rng.integers(2**31 - 1)))]
        labels = lloyd(HeldRows(X), seeds, 30).labels
    else:
        labels = squared_residuals(X, seed_flats(X, k, rng)).argmin(axis=1)
        if len(np.unique(labels)) < k:
            labels = rng.permutation(np.arange(len(X)) % k)
    return _numbered(labels)


def as_memberships(labels: IndexArray, k: int) -> FloatArray:
    """(n, k) array of zeros and ones."""
    return np.equal.outer(labels, np.arange(k)).astype(np.float64)


def seed_flats(X: FloatArray, k: int, rng: np.random.Generator) -> list[Flat]:
    """Flats through random rows: of their neighbourhoods, or through random other rows."""
    dim = min(2, X.shape[1] - 1)
    centres = rng.integers(len(X), size=k)
    # Distances of all rows, but for what each row has in common with itself.
    squared = np.einsum("ij,ij->i", X, X)[:, None] - 2.0 * (X @ X[centres].T)
    flats = []
    for column in squared.T:
        if rng.random() < NEIGHBOURHOODS:
            number = min(len(X), int(rng.integers(1, 5)) * (dim + 2) + 1)
            rows = np.argpartition(column, number - 1)[:number]
        else:
            rows = rng.choice(len(X), size=min(len(X), dim + 1), replace=False)
        near = Moments.of(X[rows], np.ones(len(rows)))
        flats.append(Flat(near.mean, near.leading(dim)[1]))
    return flats


def _numbered(labels: IndexArray) -> IndexArray:
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def maximise(
    rows: Rows,
    start: FloatArray | Fit,
    model: Any,
    max_iter: int,
    tol: float,
    dims: list[int] | None = None,
) -> Fit:
    """Expectation and maximisation until the log-likelihood per row grows by less than ``tol``.

    Parameters
    ----------
    rows : PlainRows or MissingRows
    start : (n, k) memberships, or a Fit that goes on
        With memberships the dimensions are chosen first; they stay.
    model : FlatModel or FactorModel
    max_iter : int
    tol : float
    dims : list of int, optional
        Dimensions for memberships, if they are chosen already.

    Returns
    -------
    Fit
        The log-likelihood never falls from one step to the next.
    """
    n, lost, rows = len(rows), 0, rows.for_one_run()
    if isinstance(start, Fit):
        components, log_weights, lost = start.components, start.log_weights, start.lost
        history = list(start.history[:-1])
    else:
        sizes = start.sum(axis=0)
        start = start[:, _enough(sizes)] if (sizes < LEAST_ROWS).any() else start
        lost, history = len(sizes) - start.shape[1], []
        moments = rows.moments(start, None)
        log_weights = _log_weights(moments)
        components = model.start(moments, dims)
    converged = False
    while True:
        memberships, total = rows.expect(components, log_weights)
        if history and total - history[-1] <= tol * n:
            converged = True
        history.append(total)
        if converged or len(history) >= max_iter:
            break
        sizes = memberships.sum(axis=0)
        if (sizes < LEAST_ROWS).any() and len(components) > 1:
            # A component without rows is given up; the others share its weight.
            keep = _enough(sizes)
            lost += len(components) - len(keep)
            components = [components[k] for k in keep]
            log_weights = log_weights[keep] - logsumexp(log_weights[keep])
            history = []
            continue
        moments = rows.moments(memberships, components)
        log_weights = _log_weights(moments)
        components = model.step(moments, components)
    return Fit(
        components, log_weights, memberships, total,
        _n_parameters(components, model), history, converged, lost,
    )  # fmt: skip


def on_one_flat(
    rows: Rows, fit: Fit, model: Any, tol: float, watch: Watch
) -> dict[tuple[int, int], Fit]:
    """Pairs of components that lie on one flat and that the rows do not tell apart.

    Each with the mixture that has one component for both.

    With one component for both, and some steps more, the mixture is better by ICL: BIC alone makes
    several normal clusters of any other shape. Only flats that have most directions in common are
    tried, and those with the mean of another on them.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.base import PlainRows, as_memberships, maximise, on_one_flat
    >>> from subscape.finders.mixtures.components import FlatModel
    >>> from subscape.parallel.progress import Watch
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(90, 1)) * [3, 3, 0] + 0.01 * rng.normal(size=(90, 3))
    >>> rows, model = PlainRows(X), FlatModel(how=1)
    >>> halves = maximise(rows, as_memberships((X[:, 0] > 0).astype(int), 2), model, 20, 1e-4)
    >>> list(on_one_flat(rows, halves, model, 1e-4, Watch("HDDC", None, None)))
    [(0, 1)]
    """
    n, bases = len(rows), [each.directions for each in fit.components]
    means = np.array([each.mean for each in fit.components])
    logs = np.array([each.log_densities(means) for each in fit.components])
    # Squared distances of the means by each component, and up to which of them its own rows are.
    far = 2.0 * (np.diagonal(logs)[:, None] - logs)
    limit = 2.0 * gammaincinv(means.shape[1] / 2.0, 1.0 - FAR_ROWS)  # of chi-squared
    near = (far <= limit) & [[each.shape[1] > 0] for each in bases]
    pairs: dict[tuple[int, int], Fit] = {}
    for i, j in combinations(range(fit.k), 2):
        flats = min(bases[i].shape[1], bases[j].shape[1]) > 0
        if not (near[i, j] or near[j, i] or (flats and may_be_one(bases[i], bases[j]))):
            continue
        if watch.out_of_time():
            break
        together = np.delete(fit.memberships, j, axis=1)
        together[:, i] += fit.memberships[:, j]
        with one_blas_thread():
            merged = maximise(rows, together, model, SHORT, tol)
        if merged.icl(n) <= fit.icl(n):
            pairs[i, j] = merged
    return pairs


def _enough(sizes: FloatArray) -> IndexArray:
    """Components with enough rows, or the largest one."""
    keep = np.flatnonzero(sizes >= LEAST_ROWS)
    return keep if len(keep) else np.array([int(sizes.argmax())])


def _n_parameters(components: list[Any], model: Any) -> float:
    k, p = len(components), len(components[0].mean)
    return k - 1 + k * p + float(model.n_parameters(components))


def _log_weights(moments: ManyMoments) -> FloatArray:
    sizes = np.maximum(moments.sizes, 1e-300)
    return np.log(sizes / sizes.sum())


def finish_on_all_rows(
    X: FloatArray | Blocks, fit: Fit, model: Any, max_iter: int, tol: float, watch: Watch
) -> Fit:
    """Go on with all rows of a long table, one pass over its blocks for each step.

    Of tables wider than 500 features the rows get their memberships, and the components stay.
    """
    n, p = X.shape
    table, history, converged = as_blocks(X), [], p > WIDEST_PASSED
    components, log_weights = fit.components, fit.log_weights
    memberships = np.empty((n, fit.k))

    def sums(block: FloatArray, at: slice) -> tuple[Any, ...]:
        centres = None if converged else [each.mean for each in components]
        memberships[at], *found = sums_of(block, components, log_weights, centres)
        return tuple(found)

    while True:
        total, *found = fold(sums, table)
        history.append(float(total))
        small = len(history) > 1 and history[-1] - history[-2] <= tol * n
        ended = small or converged or len(history) >= max_iter or watch.out_of_time()
        if ended or found[0].min() < LEAST_ROWS:
            break
        moments = moments_of(found, [each.mean for each in components])
        log_weights = _log_weights(moments)
        components = model.step(moments, components)
        watch.step("passes over all rows", len(history), max_iter)
    return fit._replace(
        components=components, log_weights=log_weights, memberships=memberships,
        log_likelihood=history[-1], history=history,
        converged=fit.converged and (converged or small),
    )  # fmt: skip


def finish_in_batches(
    X: FloatArray | Blocks,
    fit: Fit,
    model: Any,
    batch_rows: int,
    max_iter: int,
    tol: float,
    watch: Watch,
) -> Fit:
    """Go on with all rows of a long table, with a step after every batch of them.

    The incremental algorithm of Neal and Hinton: of every batch it is known what it added to the
    sums when it was last read, and that is replaced. Each step is one with all rows, so it does
    not matter how they are sorted; a bound of the likelihood never falls.
    """
    n, p = X.shape
    table, memberships = as_blocks(X), np.empty((n, fit.k))
    components, log_weights = fit.components, fit.log_weights
    centres = [each.mean for each in components]
    known: list[list[Any]] = []
    history: list[float] = []
    small = ended = p > WIDEST_PASSED

    def batches() -> Iterator[tuple[slice, FloatArray]]:
        for at, block in table:
            for first in range(0, len(block), batch_rows):
                rows = np.asarray(block[first : first + batch_rows], np.float64)
                yield slice(at.start + first, at.start + first + len(rows)), rows

    def stepped(sums: list[Any]) -> tuple[FloatArray, list[Any]]:
        if sums[0].min() < LEAST_ROWS:
            return log_weights, components
        moments = moments_of(sums, centres)
        return _log_weights(moments), model.step(moments, components)

    while not ended:
        total, whole = 0.0, [sum(parts) for parts in zip(*known, strict=True)]
        for number, (_, rows) in enumerate(batches()):
            _, part, *found = sums_of(rows, components, log_weights, centres)
            total += part
            if not history:
                known.append(found)
                continue
            pairs = zip(whole, found, known[number], strict=True)
            whole = [all_rows + new - old for all_rows, new, old in pairs]
            known[number] = found
            log_weights, components = stepped(whole)
        if not history:  # now all rows are known
            log_weights, components = stepped([sum(parts) for parts in zip(*known, strict=True)])
        history.append(total)
        small = len(history) > 1 and history[-1] - history[-2] <= tol * n
        ended = small or len(history) >= max_iter or watch.out_of_time()
        watch.step("passes over all rows", len(history), max_iter)
    total = 0.0
    for at, rows in batches():
        memberships[at], part = sums_of(rows, components, log_weights)
        total += part
    return fit._replace(
        components=components, log_weights=log_weights, memberships=memberships,
        log_likelihood=total, history=[*history, total], converged=fit.converged and small,
    )  # fmt: skip


def sums_of(
    X: FloatArray,
    components: list[Any],
    log_weights: FloatArray,
    centres: Sequence[FloatArray] | None = None,
) -> tuple[Any, ...]:
    """Memberships and log-likelihood of rows, and with centres what :func:`moments_of` takes.

    That are for every component the sum of the memberships, of the rows from its centre, and of
    their products.
    """
    rows: Rows = MissingRows(X) if np.isnan(X).any() else PlainRows(X)
    memberships, total = rows.expect(components, log_weights)
    if centres is None:
        return memberships, total
    k, p = len(components), X.shape[1]
    sizes, first, second = np.zeros(k), np.zeros((k, p)), np.zeros((k, p, p))
    for i, weights in enumerate(memberships.T):
        spread: Any = 0.0
        if isinstance(rows, MissingRows):
            filled, spread = rows._completed(components[i], weights)
            away = filled - centres[i]
        else:
            kept = np.flatnonzero(weights > 1e-12)
            away, weights = X[kept] - centres[i], weights[kept]
        sizes[i], first[i] = weights.sum(), weights @ away
        second[i] = (away.T * weights) @ away + spread
    return memberships, total, sizes, first, second


def moments_of(sums: Sequence[Any], centres: Sequence[FloatArray]) -> ManyMoments:
    """Moments of components from sums around some centres.

    >>> import numpy as np
    >>> from subscape.finders.mixtures.base import moments_of
    >>> sums = np.array([2.0]), np.array([[4.0]]), np.array([[[10.0]]])
    >>> [found] = moments_of(sums, [np.array([1.0])])
    >>> found.mean.tolist(), found.matrix.tolist()
    ([3.0], [[1.0]])
    """
    found = []
    for size, first, second, centre in zip(*sums, centres, strict=True):
        off = first / size
        matrix = second / size - np.outer(off, off)
        found.append(Moments(float(size), centre + off, matrix=matrix))
    return ManyMoments(found)
