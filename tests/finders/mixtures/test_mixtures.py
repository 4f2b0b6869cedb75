"""HDDC, MPPCA and MFA: densities and steps against plain formulas, planted mixtures, gaps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from subscape.core.errors import DroppedClusterWarning, SharedFlatWarning, SubscapeError
from subscape.finders import HDDC, MFA, MPPCA
from subscape.finders.mixtures import base as mixture_base
from subscape.finders.mixtures.base import (
    MissingRows,
    PlainRows,
    Start,
    as_memberships,
    finish_in_batches,
    finish_on_all_rows,
    maximise,
    start_labels,
)
from subscape.finders.mixtures.components import (
    FactorModel,
    Factors,
    Flat,
    FlatModel,
    begun,
    likely_dims,
    many_log_densities,
)
from subscape.finders.mixtures.hddc import MODELS
from subscape.finders.mixtures.moments import (
    ManyMoments,
    Moments,
    Products,
    RowMoments,
    Table,
    beside,
)
from subscape.finders.oriented.intrinsic_dims import bic_scores, scree_dim
from subscape.measures import adjusted_rand_score
from subscape.parallel.progress import Watch

ALL = [HDDC, MPPCA, MFA]


def mixture(n=300, p=12, dims=(2, 2, 2), seed=0, apart=3.0, noise=0.3):
    """Normal clusters around flats; also their means, bases and variances."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(dims), size=n)
    means = apart * rng.normal(size=(len(dims), p))
    bases = [np.linalg.qr(rng.normal(size=(p, d)))[0] for d in dims]
    along = [np.linspace(9.0, 4.0, d) for d in dims]
    X = means[labels] + noise * rng.normal(size=(n, p))
    for k, (basis, a) in enumerate(zip(bases, along, strict=True)):
        rows = labels == k
        scores = rng.normal(size=(rows.sum(), len(a))) * np.sqrt(a - noise**2)
        X[rows] += scores @ basis.T
    return X, labels, means, bases, along


def flat(p, d, seed):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, d)))[0] if d else np.zeros((p, 0))
    return Flat(rng.normal(size=p), basis, 1.0 + rng.random(d), 0.5)


# -- densities and steps --------------------------------------------------------------------------


@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_densities_are_those_of_normal_distributions(p, d, seed):
    rng = np.random.default_rng(seed)
    d = min(d, p - 1)
    X = rng.normal(size=(7, p))
    factors = Factors(rng.normal(size=p), rng.normal(size=(p, d)), 0.1 + rng.random(p))
    for each in (flat(p, d, seed), factors):
        expected = multivariate_normal(each.mean, each.covariance()).logpdf(X)
        np.testing.assert_allclose(each.log_densities(X), expected, rtol=1e-8, atol=1e-8)


def test_exact_components_are_the_best_ones():
    """No other flat of this dimension makes the rows likelier."""
    X = np.random.default_rng(0).normal(size=(60, 5)) @ np.diag([4.0, 3.0, 1.0, 0.7, 0.5])
    moments = ManyMoments([Moments.of(X, np.ones(60))])
    [best] = FlatModel().start(moments, [2])
    total = best.log_densities(X).sum()
    rng = np.random.default_rng(1)
    for _ in range(50):
        turned = np.linalg.qr(best.basis + 0.1 * rng.normal(size=(5, 2)))[0]
        other = best._replace(
            basis=turned,
            along=best.along * np.exp(0.1 * rng.normal(size=2)),
            across=best.across * np.exp(0.1 * rng.normal()),
            mean=best.mean + 0.1 * rng.normal(size=5),
        )
        assert other.log_densities(X).sum() < total


@pytest.mark.parametrize("name", MODELS)
def test_log_likelihood_never_falls(name):
    X, *_ = mixture(200, 15, (2, 3, 1), seed=3, apart=0.5)
    model = HDDC(flat_dim=2)._model(name, 1e-9)
    start = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    found = maximise(PlainRows(X), start, model, 60, 0.0)
    assert len(found.history) > 5
    assert (np.diff(found.history) >= -1e-8 * np.abs(found.history[-1])).all()


@pytest.mark.parametrize("model", [FlatModel(how=2), FactorModel(how=2)], ids=["flats", "factors"])
@pytest.mark.parametrize("holes", [0.0, 0.15])
def test_log_likelihood_never_falls_with_gaps(model, holes):
    X, *_ = mixture(150, 8, (2, 2), seed=4, apart=1.0)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < holes, np.nan, X - X.mean(axis=0))
    rows = MissingRows(X) if holes else PlainRows(X)
    start = rng.dirichlet(np.ones(2), size=150)
    found = maximise(rows, start, model._replace(floor=1e-9), 40, 0.0)
    assert (np.diff(found.history) >= -1e-8 * np.abs(found.history[-1])).all()


def test_gaps_count_with_their_distribution():
    """One component: its moments against sums over rows written out."""
    X, *_ = mixture(40, 4, (1,), seed=5)
    rng = np.random.default_rng(0)
    X = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    each, weights = flat(4, 1, 7), rng.random(40)
    [found] = MissingRows(X).moments(weights[:, None], [each])
    filled, spread = [], np.zeros((4, 4))
    whole = each.covariance()
    for x, w in zip(X, weights, strict=True):
        o, m = ~np.isnan(x), np.isnan(x)
        full = x.copy()
        if m.any():
            slope = whole[np.ix_(m, o)] @ np.linalg.pinv(whole[np.ix_(o, o)])
            full[m] = each.mean[m] + slope @ (x[o] - each.mean[o])
            left = whole[np.ix_(m, m)] - slope @ whole[np.ix_(o, m)]
            spread[np.ix_(m, m)] += w * left
        filled.append(full)
    filled = np.array(filled)
    mean = weights @ filled / weights.sum()
    expected = ((filled - mean).T * weights) @ (filled - mean) + spread
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.matrix, expected / weights.sum(), atol=1e-12)


def test_complete_rows_are_the_same_with_and_without_gaps_in_mind():
    X, *_ = mixture(60, 6, (2, 2), seed=6)
    components, logs = [flat(6, 2, 0), flat(6, 1, 1)], np.log([0.3, 0.7])
    one, total = PlainRows(X).expect(components, logs)
    other, same = MissingRows(X).expect(components, logs)
    np.testing.assert_allclose(one, other, atol=1e-9)
    assert total == pytest.approx(same)


def soft(n, k, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(k), size=n)


@given(st.integers(1, 6), st.integers(0, 5), st.integers(1, 4), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=30)
def test_densities_of_all_components_at_once(p, d, k, seed):
    rng = np.random.default_rng(seed)
    d = min(d, p - 1)
    products = Products(Table(rng.normal(size=(7, p))))
    flats = [flat(p, max(d - i, 0), seed + i) for i in range(k)]
    factors = [
        Factors(rng.normal(size=p), rng.normal(size=(p, d)), 0.1 + rng.random(p)) for _ in range(k)
    ]
    for components in (flats, factors):
        expected = np.column_stack([each.log_densities(products.table.X) for each in components])
        found = many_log_densities(products, components)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_moments_of_all_components_at_once():
    """Products for all components against those of each by itself."""
    X, *_ = mixture(50, 9, (2, 2), seed=1)
    X -= X.mean(axis=0)
    shares = soft(50, 3, 0)
    together = RowMoments(Products(Table(X)), shares)
    each = ManyMoments([Moments.of(X, share) for share in shares.T])
    np.testing.assert_allclose(together.sizes, each.sizes)
    np.testing.assert_allclose(together.means, each.means, atol=1e-12)
    np.testing.assert_allclose(together.totals, each.totals)
    np.testing.assert_allclose(together.diagonals, each.diagonals)
    bases = [np.linalg.qr(V)[0] for V in np.random.default_rng(2).normal(size=(3, 9, 2))]
    for one, other in zip(together.times(bases), each.times(bases), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
    for one, other in zip(together.improved(bases), each.improved(bases), strict=True):
        np.testing.assert_allclose(one[1], other[1], rtol=1e-9)
        np.testing.assert_allclose(one[0] @ one[0].T, other[0] @ other[0].T, atol=1e-9)


def test_what_a_step_keeps_is_what_the_next_would_compute():
    X, *_ = mixture(50, 9, (2, 2), seed=1)
    products = Products(Table(X - X.mean(axis=0)))
    bases = [np.linalg.qr(V)[0] for V in np.random.default_rng(2).normal(size=(3, 9, 2))]
    new = [basis for basis, _ in RowMoments(products, soft(50, 3, 0)).improved(bases)]
    kept, fresh = products.along(new), Products(products.table).along(new)
    for one, other in zip(kept, fresh, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)


def test_directions_beside_a_basis_that_has_all():
    """Nothing is left of the vectors: other directions, at right angles all the same."""
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 2)))[0]
    wide = np.hstack([basis, beside(basis, basis @ np.array([[1.0, 2.0], [0.5, 1.0]]))])
    np.testing.assert_allclose(wide.T @ wide, np.eye(4), atol=1e-12)


def test_a_sketch_of_wide_tables_has_the_leading_directions():
    X, labels, *_ = mixture(600, 150, (3, 3), seed=0)
    shares = np.equal.outer(labels, np.arange(2)).astype(float)
    moments = RowMoments(Products(Table(X - X.mean(axis=0))), shares)
    spectra, dims = begun(moments, FlatModel(how="bic"), None)
    assert dims == [3, 3]
    for k, sketch in enumerate(spectra):
        assert not sketch.is_exact
        values, basis = moments[k].leading(3)
        np.testing.assert_allclose(sketch.values[:3], values[:3], rtol=1e-3)
        assert np.linalg.svd(sketch.leading(3).T @ basis)[1].min() > 0.999
        assert sketch.values.sum() == pytest.approx(moments.totals[k])


@pytest.mark.parametrize("dim", [3, 9, 25])
def test_dimensions_are_those_of_all_eigenvalues(dim):
    """Few by a sketch, many by a decomposition."""
    X, *_ = mixture(600, 150, (dim,), seed=0)
    moments = RowMoments(Products(Table(X - X.mean(axis=0))), np.ones((600, 1)))
    scores = bic_scores(moments[0].eigenvalues, 600, 150)
    assert likely_dims(moments, FlatModel(how="bic")) == [scores.argmin()] == [dim]


def test_many_dimensions_are_not_taken_from_a_sketch():
    X, *_ = mixture(600, 150, (25,), seed=0)
    moments = RowMoments(Products(Table(X - X.mean(axis=0))), np.ones((600, 1)))
    [spectrum], dims = begun(moments, FlatModel(how=25), None)
    assert dims == [25] and spectrum.is_exact


@pytest.mark.parametrize("n", [4, 40])
def test_eigenvalues_alone_are_those_of_the_decomposition(n):
    X = np.random.default_rng(0).normal(size=(n, 8))
    found = Moments.of(X, np.ones(n))
    values, basis = found.leading()
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-12)
    np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
    np.testing.assert_allclose(values[: basis.shape[1]], ((X - X.mean(0)) @ basis).var(axis=0))


def test_groups_to_start_from_are_numbered_by_their_first_rows():
    X, *_ = mixture(60, 5, (1, 1, 1), seed=0)
    for seed in range(6):
        labels = start_labels(X, 3, np.random.default_rng(seed))
        assert np.unique(labels, return_index=True)[1].tolist() == sorted(
            np.unique(labels, return_index=True)[1].tolist()
        )
        assert set(labels.tolist()) == {0, 1, 2}


# -- dimensions -----------------------------------------------------------------------------------


def test_the_scree_begins_after_the_last_large_fall():
    assert scree_dim(np.array([10.0, 9.0, 3.0, 1.0, 0.9])) == 3
    assert scree_dim(np.array([10.0, 1.0, 0.9, 0.8])) == 1
    assert scree_dim(np.array([10.0, 9.0, 3.0, 1.0, 0.9]), 0.9) == 2
    assert scree_dim(np.ones(4)) == 1 and scree_dim(np.ones(1)) == 0


def test_scores_of_dimensions_are_those_of_the_fitted_flats():
    X = np.random.default_rng(0).normal(size=(80, 6)) @ np.diag([5, 4, 1, 1, 1, 1.0])
    moments = ManyMoments([Moments.of(X, np.ones(80))])
    scores = bic_scores(moments[0].leading()[0], 80, 6)
    for d in range(5):
        [each] = FlatModel().start(moments, [d])
        free = d * (6 - (d + 1) / 2) + d + 1
        by_hand = -2 * each.log_densities(X).sum() + free * np.log(80)
        # Up to what is the same for all dimensions.
        assert by_hand - scores[d] == pytest.approx(80 * 6 * (1 + np.log(2 * np.pi)), rel=1e-9)
    assert scores.argmin() == 2


# -- planted mixtures -----------------------------------------------------------------------------


@pytest.mark.parametrize("finder", ALL)
def test_planted_mixtures_and_their_parameters(finder):
    X, labels, means, bases, along = mixture(900, 12, seed=0)
    found = finder(3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, found.labels_) > 0.98
    assert found.flat_dims_.tolist() == [2, 2, 2]
    for k in range(3):
        own = np.bincount(labels[found.labels_ == k]).argmax()
        np.testing.assert_allclose(found.centres_[k], means[own], atol=0.6)
        assert found.weights_[k] == pytest.approx(np.mean(labels == own), abs=0.02)
        whole = bases[own] @ np.diag(along[own] - 0.09) @ bases[own].T + 0.09 * np.eye(12)
        np.testing.assert_allclose(found.covariances_[k], whole, atol=1.0)
        overlap = found.clustering_.complement().subspaces.bases[k].T @ bases[own]
        assert np.linalg.svd(overlap)[1].min() > 0.95
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    np.testing.assert_allclose(found.predict_proba(X), found.memberships_, atol=1e-9)


@pytest.mark.parametrize("finder", [HDDC, MPPCA])
def test_the_number_of_clusters_is_chosen(finder):
    X, *_ = mixture(400, 10, (2, 2, 2), seed=1)
    found = finder([1, 2, 3, 4, 5], n_init=5, random_state=0).fit(X)
    assert found.clustering_.n_clusters == 3
    assert min(found.criteria_, key=found.criteria_.get)[0] == 3
    assert len(found.criteria_) == 5


def test_the_model_is_chosen():
    """Equal noise and equal dimensions: a model with one b wins over one with several."""
    X, *_ = mixture(600, 10, (2, 2, 2), seed=2)
    found = HDDC(3, model=["AkjBkQkDk", "AkjBQkD", "ABQkD"], flat_dim=2, random_state=0).fit(X)
    assert found.model_ == "AkjBQkD"
    assert found.bic_ == min(found.criteria_.values())


@pytest.mark.parametrize("finder", ALL)
def test_values_may_be_missing(finder):
    X, labels, *_ = mixture(150, 10, seed=0)
    rng = np.random.default_rng(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    found = finder(3, n_init=3, tol=1e-3, random_state=0).fit(X)
    assert adjusted_rand_score(labels, found.labels_) > 0.95
    np.testing.assert_array_equal(found.predict(X), found.labels_)


@pytest.mark.parametrize("finder", ALL)
def test_soft_memberships(finder):
    X, *_ = mixture(200, 6, (2, 2), seed=7, apart=0.3)
    soft = finder(2, assignment="soft", random_state=0).fit(X)
    hard = finder(2, random_state=0).fit(X)
    np.testing.assert_array_equal(soft.labels_, hard.labels_)
    shares = soft.clustering_.memberships.toarray().T
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares, soft.memberships_, atol=2e-3)
    assert ((shares > 0.01) & (shares < 0.99)).any()


@pytest.mark.parametrize("finder", ALL)
def test_long_tables_are_passed_over_in_blocks(finder, tmp_path):
    X, labels, *_ = mixture(3000, 8, seed=1)
    settings = {"search_rows": 300, "n_init": 3, "random_state": 0}
    found = finder(3, **settings).fit(X)
    assert adjusted_rand_score(labels, found.labels_) > 0.97
    assert (np.diff(found.history_) >= -1e-8 * np.abs(found.history_[-1])).all()
    assert found.log_likelihood_ == pytest.approx(found.history_[-1])
    np.save(tmp_path / "X.npy", X)
    streamed = finder(3, **settings).fit(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert streamed.clustering_ == found.clustering_


@pytest.mark.parametrize("finder", ALL)
def test_wide_tables_with_few_rows(finder):
    X, labels, *_ = mixture(60, 300, (2, 2), seed=3)
    found = finder(2, random_state=0).fit(X)
    assert adjusted_rand_score(labels, found.labels_) == 1


# -- odd tables -----------------------------------------------------------------------------------


@pytest.mark.parametrize("finder", ALL)
def test_one_column(finder):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=40), 9 + rng.normal(size=40)])[:, None]
    found = finder(2, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], 40), found.labels_) == 1


@pytest.mark.parametrize("finder", ALL)
def test_a_singular_component(finder):
    """Rows that are copies of one row have no spread at all."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.tile(rng.normal(size=5), (30, 1)), 8 + rng.normal(size=(40, 5))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedClusterWarning)
        found = finder(2, random_state=0).fit(X)
    assert adjusted_rand_score(np.repeat([0, 1], [30, 40]), found.labels_) == 1
    assert np.isfinite(found.log_likelihood_)


@pytest.mark.parametrize("finder", ALL)
def test_as_many_clusters_as_rows(finder):
    """A single row has no spread: one cluster, and a sentence."""
    X = np.random.default_rng(0).normal(size=(3, 50))
    with pytest.warns(DroppedClusterWarning, match="1 cluster instead of 3"):
        found = finder(3, random_state=0).fit(X)
    assert found.labels_.tolist() == [0, 0, 0]
    assert np.isfinite(found.log_likelihood_)


@pytest.mark.parametrize("finder", ALL)
def test_constant_columns_and_new_rows(finder):
    X, *_ = mixture(120, 5, (1, 1), seed=8)
    X = np.insert(X, 2, 7.0, axis=1)
    with pytest.warns(UserWarning, match="constant"):
        found = finder(2, random_state=0).fit(X)
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    assert (found.centres_[:, 2] == 7).all()


def test_numbers_and_models_that_are_none_are_refused():
    X = np.random.default_rng(0).normal(size=(20, 4))
    with pytest.raises(SubscapeError, match="n_clusters"):
        HDDC([0, 2]).fit(X)
    with pytest.raises(SubscapeError, match="is not known; there are AkjBkQkDk"):
        HDDC(2, model=["foo"]).fit(X)
    with pytest.raises(SubscapeError, match="n_clusters=30 is more than the 20 rows"):
        MPPCA([2, 30]).fit(X)


def test_components_without_rows_are_dropped_but_never_all_of_them():
    least = mixture_base.LEAST_ROWS
    assert mixture_base._enough(np.array([least, 0.0, 3 * least])).tolist() == [0, 2]
    assert mixture_base._enough(least * np.array([0.2, 0.9, 0.1])).tolist() == [1]


# -- two choices of the dimensions ----------------------------------------------------------------


def rays(seed, n=50):
    """Four lines, hardly apart, along which sizes differ."""
    rng = np.random.default_rng(seed)
    directions = 1 + 0.12 * rng.normal(size=(4, 5))
    X = np.concatenate([rng.uniform(8, 22, (n, 1)) * each for each in directions])
    return X + 0.35 * rng.normal(size=X.shape), np.repeat(np.arange(4), n)


@pytest.mark.parametrize("seed", [1, 5, 6])
def test_dimensions_too_large_for_mixed_starts_give_way(seed, monkeypatch):
    X, truth = rays(seed)
    found = HDDC(4, random_state=0).fit(X)
    assert found.flat_dims_.tolist() == [1, 1, 1, 1]
    assert adjusted_rand_score(truth, found.labels_) > 0.95
    monkeypatch.setattr(HDDC, "_by_scree", lambda *args: None)
    monkeypatch.setattr(HDDC, "_cut_elsewhere", lambda *args: None)
    with pytest.warns(SharedFlatWarning):
        alone = HDDC(4, random_state=0).fit(X)
    assert found.bic_ < alone.bic_ - 50


def test_starts_are_weighed_only_where_all_eigenvalues_are_known():
    rng = np.random.default_rng(0)
    for p, weighed in ((50, True), (51, False)):
        X = rng.normal(size=(90, p)) + 4 * (np.arange(90) % 3)[:, None]
        rows, finder = PlainRows(X), HDDC(3)
        model = finder._model("AkjBkQkDk", 1e-9)
        labels = np.arange(90) % 3
        fit = maximise(rows, as_memberships(labels, 3), model, 2, 1e-4, [0, 0, 0])
        assert (finder._by_scree(rows, Start(labels, fit), 3, model) is not None) == weighed
        fixed = model._replace(how="scree")
        assert finder._by_scree(rows, Start(labels, fit), 3, fixed) is None


# -- clusters on one flat -------------------------------------------------------------------------


def flat_of(seed, n=300, p=8, d=2, noise=0.1, even=False):
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(p, d)))[0]
    scores = rng.uniform(-5, 5, (n, d)) if even else 3 * rng.normal(size=(n, d))
    return scores @ basis.T + noise * rng.normal(size=(n, p))


@pytest.mark.parametrize("finder", ALL)
@pytest.mark.parametrize(("d", "even"), [(1, False), (1, True), (3, False), (3, True)])
def test_parts_of_one_flat_are_named(finder, d, even):
    X = flat_of(0, d=d, even=even)
    with pytest.warns(SharedFlatWarning, match=r"lie on one flat: . and .*more starts \(n_init\)"):
        finder(3, n_init=3, random_state=0).fit(X)


def test_the_clusters_named_are_those_of_the_result():
    """One flat is cut, the other is not; clusters are numbered by their first rows."""
    whole = flat_of(1, n=100) + 20.0
    X = np.vstack([whole[:1], flat_of(0, n=400), whole[1:]])
    with pytest.warns(SharedFlatWarning, match="on one flat: 2 and 3. One"):
        finder = HDDC(3, n_init=3, random_state=0).fit(X)
    assert len(set(finder.labels_[1:401])) == 2
    assert set(finder.labels_[401:]) == {0}


@pytest.mark.parametrize("finder", ALL)
@pytest.mark.parametrize("holes", [0.0, 0.05])
def test_flats_of_their_own_are_not_named(finder, holes):
    X, *_ = mixture(seed=2)
    X = np.where(np.random.default_rng(0).random(X.shape) < holes, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("error", SharedFlatWarning)
        finder(3, random_state=0).fit(X)


def test_clouds_apart_on_one_flat_are_not_named():
    """Rows tell them apart, and a mixture of one component fewer is worse."""
    X = flat_of(3)
    direction = np.linalg.svd(X - X.mean(axis=0))[2][0]
    X[::2] += 40.0 * direction
    with warnings.catch_warnings():
        warnings.simplefilter("error", SharedFlatWarning)
        finder = HDDC(2, random_state=0).fit(X)
    assert adjusted_rand_score(np.arange(300) % 2, finder.labels_) == 1.0


def test_gaps_and_long_tables_are_looked_at_alike():
    X = flat_of(0, d=3)
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    with pytest.warns(SharedFlatWarning):
        HDDC(2, n_init=2, random_state=0).fit(X)
    with pytest.warns(SharedFlatWarning):
        HDDC(2, n_init=2, search_rows=300, random_state=0).fit(flat_of(0, n=600, d=3))


@pytest.mark.parametrize("finder", [MPPCA, MFA])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_components_on_one_flat_are_cut_elsewhere(finder, seed, monkeypatch):
    """Few starts may end with a line in two parts and two lines in one."""
    X, truth = rays(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SharedFlatWarning)
        found = finder(4, n_init=3, random_state=0).fit(X)
        monkeypatch.setattr(finder, "_cut_elsewhere", lambda *args: None)
        without = finder(4, n_init=3, random_state=0).fit(X)
    assert found.bic_ <= without.bic_ - (50 if seed > 1 else 0)
    assert adjusted_rand_score(truth, found.labels_) >= adjusted_rand_score(truth, without.labels_)


# -- batches --------------------------------------------------------------------------------------


def after_some_steps(model, X, k=3):
    """A mixture after a few steps on some of the rows."""
    rows = PlainRows(X[::5])
    labels = start_labels(X[::5], k, np.random.default_rng(1))
    return maximise(rows, as_memberships(labels, k), model, 3, 0.0)


@pytest.mark.parametrize("model", [FlatModel(how=2), FactorModel(how=2)], ids=["flats", "factors"])
def test_one_batch_of_all_rows_is_a_step_of_all_rows(model):
    X, *_ = mixture(600, seed=5, apart=0.7, noise=1.0)
    start = after_some_steps(model, X - X.mean(axis=0))
    watch = Watch("HDDC", None, None)
    whole = finish_on_all_rows(X - X.mean(axis=0), start, model, 9, 0.0, watch)
    found = finish_in_batches(X - X.mean(axis=0), start, model, 600, 8, 0.0, watch)
    np.testing.assert_allclose(found.history, whole.history, rtol=1e-9)
    np.testing.assert_allclose(found.memberships, whole.memberships, atol=1e-6)


@pytest.mark.parametrize("finder", ALL)
@pytest.mark.parametrize(("is_sorted", "holes"), [(False, 0.0), (True, 0.0), (True, 0.1)])
def test_batches_end_where_passes_end(finder, is_sorted, holes):
    X, truth, *_ = mixture(900, seed=5, apart=1.5, noise=1.0)
    X[:, :2][np.random.default_rng(0).random((len(X), 2)) < holes] = np.nan
    if is_sorted:
        order = np.argsort(truth, kind="stable")
        X, truth = X[order], truth[order]
    options = {"search_rows": 300, "n_init": 2, "tol": 1e-6, "random_state": 0}
    whole = finder(3, **options).fit(X)
    found = finder(3, batch_rows=150, **options).fit(X)
    assert adjusted_rand_score(whole.labels_, found.labels_) > 0.99
    assert abs(found.log_likelihood_ - whole.log_likelihood_) < 1e-4 * len(X)
    assert found.history_[-1] == found.log_likelihood_
    assert found.n_iter_ <= whole.n_iter_ + 2
    proba = found.predict_proba(X)
    np.testing.assert_allclose(found.memberships_, proba, atol=1e-9)


def test_factors_take_fewer_passes_in_batches():
    X, *_ = mixture(3000, seed=5, apart=1.0, noise=1.5)
    options = {"search_rows": 1000, "n_init": 2, "tol": 1e-6, "random_state": 0}
    whole, found = MFA(3, **options).fit(X), MFA(3, batch_rows=300, **options).fit(X)
    assert found.n_iter_ < 0.6 * whole.n_iter_
    assert found.log_likelihood_ > whole.log_likelihood_ - 1e-4 * len(X)


def test_batches_of_files_are_those_of_memory(tmp_path):
    """Also where the blocks of the file end elsewhere."""
    X, *_ = mixture(900, seed=5)
    np.save(tmp_path / "table.npy", X)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    options = {"search_rows": 300, "n_init": 2, "batch_rows": 100, "random_state": 0}
    whole, found = HDDC(3, **options).fit(X), HDDC(3, **options).fit(mapped)
    np.testing.assert_array_equal(whole.labels_, found.labels_)
    np.testing.assert_allclose(whole.history_, found.history_, rtol=1e-9)
