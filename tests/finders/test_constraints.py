"""What a user asks for holds in what comes out: every finder, every parameter that limits it."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine

from subscape.core.errors import SubscapeError
from subscape.datasets import planted_axes, planted_oriented
from subscape.finders import LMCLUS, PROCLUS, FourC
from subscape.finders.catalogue import CATALOGUE, of_role
from subscape.testing.finders import brief

FINDERS = of_role("finder", "views", "alternative", "consensus")


def tables():
    """Boxes, flats and nothing at all."""
    rng = np.random.default_rng(3)
    return {
        "boxes": planted_axes(120, 6, n_clusters=3, dims=3, noise=0.1, random_state=0).X,
        "flats": planted_oriented(4, ((1, 40), (2, 50), (1, 30)), noise=0.05, random_state=1).X,
        "noise": rng.uniform(size=(90, 4)),
    }


TABLES = tables()


def dims(finder):
    return np.asarray(finder.clustering_.subspaces.dims)


def flat_dims(finder):
    return finder.clustering_.n_features - dims(finder)


def sizes(finder):
    return np.asarray(finder.clustering_.sizes)


def at_most_clusters(finder, X, value):
    assert finder.clustering_.n_clusters <= value


def just_as_many_clusters(finder, X, value):
    assert finder.clustering_.n_clusters == value


def as_many_in_each_view(finder, X, value):
    assert [each.n_clusters for each in finder.clusterings_] == list(value)[: len(value) - 1]


def average_dims(finder, X, value):
    k = finder.clustering_.n_clusters
    least = min(2, X.shape[1]) if isinstance(finder, PROCLUS) else 1
    assert dims(finder).sum() == max(round(value * k), least * k)


def no_wider(finder, X, value):
    low, high = np.quantile(X, [0.05, 0.95], axis=0)
    widest = 2 * value * (high - low) / 0.9
    for k in range(finder.clustering_.n_clusters):
        rows = finder.clustering_.cluster(k).rows
        features = np.flatnonzero(finder.clustering_.subspaces.relevance[k] > 0)
        assert (np.ptp(X[np.ix_(rows, features)], axis=0) <= widest[features] * (1 + 1e-9)).all()


def no_fewer_rows(finder, X, value):
    assert (sizes(finder) >= value).all()


def no_smaller_share(finder, X, value):
    assert (sizes(finder) >= value * len(X) - 1e-9).all()


def narrow_enough(finder, X, value):
    whole = X.var(axis=0, ddof=1)
    for k in range(finder.clustering_.n_clusters):
        rows = finder.clustering_.cluster(k).rows
        features = np.flatnonzero(finder.clustering_.subspaces.relevance[k] > 0)
        own = X[np.ix_(rows, features)].var(axis=0, ddof=1) if len(rows) > 1 else 0.0
        assert (1 - own / whole[features] >= value - 1e-9).all()


def no_larger_residue(finder, X, value):
    for k in range(finder.clustering_.n_clusters):
        rows = finder.clustering_.cluster(k).rows
        features = np.flatnonzero(finder.clustering_.subspaces.relevance[k] > 0)
        block = X[np.ix_(rows, features)]
        left = block - block.mean(axis=0) - block.mean(axis=1)[:, None] + block.mean()
        assert np.square(left).mean() <= value * (1 + 1e-9)


def at_most_views(finder, X, value):
    assert len(finder.clusterings_) <= value


def at_most_in_each_view(finder, X, value):
    assert all(each.n_clusters <= value for each in finder.clusterings_)


def as_many_alternatives(finder, X, value):
    assert len(finder.clusterings_) == value


def just_dims(finder, X, value):
    assert (dims(finder) == value).all()


def just_flat_dims(finder, X, value):
    assert (flat_dims(finder) == value).all()


def at_most_dims(finder, X, value):
    assert (dims(finder) <= value).all()


def at_least_dims(finder, X, value):
    assert (dims(finder) >= value).all()


def at_most_flat_dims(finder, X, value):
    assert (flat_dims(finder) <= value).all()


def at_least_flat_dims(finder, X, value):
    assert (flat_dims(finder) >= value).all()


def as_many_column_groups(finder, X, value):
    assert len(np.unique(finder.column_labels_)) == value


def as_many_row_groups(finder, X, value):
    assert len(np.unique(finder.labels_)) == value


def every_row(finder, X, value):
    views = getattr(finder, "clusterings_", (finder.clustering_,))
    assert all((each.labels() >= 0).all() for each in views if each.n_clusters)


def no_larger_share_left_out(finder, X, value):
    assert np.sum(finder.labels_ < 0) <= round(value * len(X))


def no_row_twice(finder, X, value):
    assert (np.asarray((finder.clustering_.memberships > 0).sum(axis=0)).ravel() <= 1).all()


def no_wider_than_the_table(finder, X, value):
    whole = X.var(axis=0, ddof=1)
    for k in range(finder.clustering_.n_clusters):
        rows = finder.clustering_.cluster(k).rows
        features = np.flatnonzero(finder.clustering_.subspaces.relevance[k] > 0)
        own = X[np.ix_(rows, features)].var(axis=0, ddof=1) if len(rows) > 1 else 0.0
        assert (own <= value * whole[features] * (1 + 1e-9)).all()


#: Parameter -> values and what they promise; with a finder's name, its own promise instead.
PROMISES = {
    "n_clusters": ((1, 4), at_most_clusters),
    "max_clusters": ((1, 2), at_most_clusters),
    "max_dims": ((1, 2), at_most_dims),
    "min_dims": ((2, 3), at_least_dims),
    "avg_dims": ((1, 2.5, 4), average_dims),
    "width": ((0.03, 0.1), no_wider),
    "min_rows": ((3, 40), no_fewer_rows),
    "min_samples": ((5, 30), no_fewer_rows),
    "min_cluster_size": ((5, 40), no_fewer_rows),
    "max_dim": ((1, 2), at_most_flat_dims),
    "min_dim": ((1, 2), at_least_flat_dims),
    "subspace_dim": ((1, 3), just_dims),
    "flat_dim": ((1, 2), just_flat_dims),
    "max_pref_dims": ((1, 2), at_most_dims),
    "n_row_clusters": ((2, 3), as_many_row_groups),
    "n_column_clusters": ((2, 3), as_many_column_groups),
    "max_views": ((1, 2), at_most_views),
    "n_alternatives": ((1, 2), as_many_alternatives),
    "min_relevance": ((0.3, 0.8), narrow_enough),
    "max_variance": ((0.2, 0.6), no_wider_than_the_table),
    "density_threshold": ((0.05, 0.2), no_smaller_share),
    "overlap": ((False,), no_row_twice),
    **{
        (name, "noise"): ((False,), every_row)
        for name in ("HARP", "ORCLUS", "DensityTree", "NrKMeans", "AutoNR")
    },
    ("PROCLUS", "noise"): ((None,), every_row),
    **{
        (name, "noise"): ((0.0, 0.1), no_larger_share_left_out)
        for name in ("KFlats", "SSC", "EnSC", "LSR", "TSC")
    },
    ("NrKMeans", "n_clusters"): (((2, 3, 1), (4, 1)), as_many_in_each_view),
    ("AutoNR", "max_clusters"): ((2, 3), at_most_in_each_view),
    ("PROCLUS", "avg_dims"): ((2, 2.5, 4), average_dims),
    ("ChengChurch", "delta"): ((0.005, 0.02), no_larger_residue),
    **{(name, "alpha"): ((0.1, 0.3), no_smaller_share) for name in ("DOC", "FastDOC", "MineClus")},
    # Exactly as many, where rows enough are there.
    **{
        (name, "n_clusters"): ((1, 3), just_as_many_clusters)
        for name, entry in FINDERS.items()
        if (entry.partitions or entry.needs_k)
        and entry.role != "consensus"
        and name not in ("ITCC", "NrKMeans", "AutoNR")
    },
}


#: A row that two clusters reach is in one of them only, which may leave the other too few; rows may
#: be mirror images; and the solver would take minutes.
NOT_IN_THE_PAPER = {
    ("FourC", "min_samples", "published"),
    ("ChengChurch", "delta", "published"),
    ("MAXIMUS", "n_alternatives", "published"),
}


#: Parameters that say how to search, not what may come out: nothing of them could be broken by a
#: refinement. Every other parameter is promised something above.
HOW_TO_SEARCH = {
    "effort": """batch_rows cycles local_search max_boxes max_candidates max_iter max_level
        max_no_improve max_rounds max_rows max_samples max_time medoid_factor n_base n_escapes
        n_grids n_init n_jobs n_meta n_repeats n_seeds n_steps n_swaps n_windows population progress
        random_state sample_factor search_rows tol zipf_max""",
    "distances and scales of the table": """absolute adjust affine binning categorical distance
        kappa mask_range metric min_deviation n_bins n_components n_fine_bins n_flat_bins
        neighbourhoods omega pca_variance scale""",
    "what counts as dense, as a neighbour or as alike": """alpha background beta bound chance delta
        eps explained_variance flat_alpha gamma h jitter l1_ratio min_effect min_multi n_neighbors
        n_nonzero poisson_threshold reach regularization ridge sensitivity slack sureness threshold
        goodness sampling_error""",
    "which way to go": """assignment consensus coordination couple criterion cut enough_dims
        extension feature_rule features grid_dims init integer inverted_rows linkage merge
        metaclustering model mutation_rate mutation_scale n_clusters_hint n_local_clusters noise
        noise_space objective partitioner prune realise refine report resolution
        sampling search
        stop_at_first strict vote wrong_cells""",
    "what is known, held elsewhere (tests/finders/axis/test_sspc.py)": """labelled_dims
        labelled_rows pin_labels""",
}


def test_every_parameter_is_held_or_says_only_how_to_search():
    how = {name for names in HOW_TO_SEARCH.values() for name in names.split()}
    held = {key if isinstance(key, str) else key[1] for key in PROMISES}
    known = {
        (name, parameter)
        for name, entry in FINDERS.items()
        for parameter in entry.load()._get_param_names()
    }
    for name, parameter in known:
        promised = parameter in PROMISES or (name, parameter) in PROMISES
        assert promised or parameter in how, (name, parameter)
    # Nobody promises anything about what is not there.
    assert held | how == {parameter for _, parameter in known}


def cases():
    for name, entry in FINDERS.items():
        for parameter in sorted(entry.load()._get_param_names()):
            promise = PROMISES.get((name, parameter), PROMISES.get(parameter))
            if promise is None:
                continue
            for variant in ("default", "published"):
                if (name, parameter, variant) in NOT_IN_THE_PAPER:
                    continue
                yield pytest.param(name, parameter, variant, id=f"{name}-{parameter}-{variant}")


def made(entry, variant, settings):
    cls = entry.load()
    if variant == "default":
        return cls(**settings)
    try:
        return cls.as_published(**settings)
    except SubscapeError:
        return None  # the paper does not have this parameter


def members(X):
    """An ensemble of clusterings of one of the tables."""
    name = next(name for name, table in TABLES.items() if table is X)
    if name not in ENSEMBLES:
        ENSEMBLES[name] = [
            PROCLUS(k, avg_dims=2, n_init=1, random_state=k).fit(X) for k in (2, 3, 4, 5)
        ]
    return ENSEMBLES[name]


ENSEMBLES = {}


def fitted(finder, X):
    known = finder.get_params()
    usual = {"random_state": 0, "max_time": 5.0}
    finder = brief(finder.set_params(**{key: usual[key] for key in usual if key in known}))
    entry = CATALOGUE[type(finder).__name__]
    tables = (members(X), X) if entry.role == "consensus" else (X,)
    if type(finder).__name__ == "ITCC":
        tables = (X - X.min(axis=0),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about time, and about too few rows
        return finder.fit(*tables)


@pytest.mark.parametrize("name, parameter, variant", list(cases()))
def test_what_is_asked_for_holds(name, parameter, variant):
    values, check = PROMISES.get((name, parameter), PROMISES.get(parameter))
    for X in TABLES.values():
        for value in values:
            finder = made(FINDERS[name], variant, {parameter: value})
            if finder is None:
                return
            check(fitted(finder, X), X, value)


def test_the_dimension_of_flats_of_wine():
    X = load_wine().data
    assert LMCLUS(max_dim=1, random_state=0).fit(X).flat_dims_.max() == 1
    assert FourC(max_dim=1).fit(X).flat_dims_.max() == 1


REFINING = [
    name for name, entry in of_role("finder").items() if "refine" in entry.load()._get_param_names()
]


@pytest.mark.parametrize("name", REFINING)
def test_what_was_there_before_refinement_is_kept(name):
    X = TABLES["boxes" if CATALOGUE[name].kind == "axis" else "flats"]
    finder = fitted(CATALOGUE[name].make(), X)
    before = finder.unrefined_clustering_
    assert before.shape == finder.clustering_.shape
    assert before.kind == finder.clustering_.kind
    assert before.n_clusters > 0
    assert f"became {finder.clustering_.n_clusters}" in finder.describe_refinement()
    plain = fitted(CATALOGUE[name].make(refine=False), X)
    assert not hasattr(plain, "unrefined_clustering_")
    assert plain.describe_refinement() == f"{name} has not refined its clusters"


@pytest.mark.parametrize("name", REFINING)
def test_constant_columns_come_back_in_what_was_there_before(name):
    X = np.insert(TABLES["boxes" if CATALOGUE[name].kind == "axis" else "flats"], 1, 7.0, axis=1)
    before = fitted(CATALOGUE[name].make(), X).unrefined_clustering_
    assert before.shape == X.shape
    assert not before.n_clusters or not before.subspaces.relevance[:, 1].any()
