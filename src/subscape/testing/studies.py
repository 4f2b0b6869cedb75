"""Studies that no search had to find: for tests of whatever shows or stores a study."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from subscape.core.clustering import SubspaceClustering
from subscape.core.subspaces import AxisSubspaces
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.datasets import planted_views
from subscape.exploration.explain import FeatureFact, drawn_features, histogram, sentence
from subscape.exploration.information import redundancy
from subscape.exploration.rule import learn
from subscape.exploration.study import Result, Study, View

FEATURES = ("age", "income", "rent", "commute", "steps", "sleep", "coffee", "screen", "books")

#: Rows in the pictures.
MOST_SHOWN = 5000


def planted_study(
    n_rows: int = 400,
    *,
    n_clusters: tuple[int, ...] = (4, 3, 2),
    feature_names: tuple[str, ...] | None = None,
    row_names: tuple[str, ...] | None = None,
    untidy: bool = False,
    n_results: int = 40,
    random_state: int = 0,
    **changes: Any,
) -> Study:
    """A study of a table with planted views, as an exploration that found all of them would give.

    Parameters
    ----------
    n_rows : int
    n_clusters : tuple of int
        Clusters of each view.
    feature_names, row_names : tuples of str, optional
    untidy : bool, default=False
        Whether the last view has rows in no cluster and rows in two, a nominal feature and gaps,
        and is no better than chance.
    n_results : int
    random_state : int
    **changes
        Attributes of the study that shall be otherwise.

    Returns
    -------
    Study

    Examples
    --------
    >>> study = planted_study(200)
    >>> [view.n_clusters for view in study]
    [4, 3, 2]
    """
    rng = np.random.default_rng(random_state)
    planted = planted_views(
        n_rows, None, n_clusters=n_clusters, dims=2, noise_dims=3, rotate=False,
        random_state=random_state,
    )  # fmt: skip
    X = np.asarray(planted.X) * 3 + 40
    names = feature_names or tuple(
        FEATURES[j] if j < len(FEATURES) else f"x{j}" for j in range(X.shape[1])
    )
    shown = np.sort(rng.choice(n_rows, min(n_rows, MOST_SHOWN), replace=False))
    views = []
    for number, truth in enumerate(planted.clusterings, 1):
        is_last = untidy and number == len(planted.clusterings)
        members = truth.memberships.toarray() > 0
        members = members[np.argsort(-members.sum(axis=1), kind="stable")]
        if is_last:
            members[:, rng.choice(n_rows, n_rows // 5, replace=False)] = False
            members[0, rng.choice(n_rows, n_rows // 10, replace=False)] = True
        views.append(_view(number, members, truth, X, names, row_names, shown, is_last))
    between = [[redundancy(a.labels, b.labels) for a in views] for b in views]
    results, distances = _results(views, n_results, rng)
    wanted = {name for view in views for name in drawn_features(view.facts)}
    drawn = tuple(name for name in names if name in wanted)
    attributes: dict[str, Any] = {
        "views": tuple(views),
        "results": results,
        "distances": distances,
        "failures": (),
        "between_views": np.array(between),
        "table_schema": tuple(
            {"name": name, "role": "numeric", "kind": "number", "note": ""} for name in names
        ),
        "shape": X.shape,
        "feature_names": names,
        "row_names": row_names,
        "searched_rows": np.arange(n_rows),
        "shown_rows": shown,
        "value_features": drawn,
        "values": X[shown][:, [names.index(name) for name in drawn]],
        "chance": tuple(np.sort(rng.gumbel(0.08, 0.02, 40))),
        "notes": ("numeric columns are standardised",),
        "settings": {"effort": "normal", "seed": random_state, "version": "0.1.0"},
        "recipes": (),
    }
    return Study(**attributes | changes)


def empty_study(n_rows: int = 50) -> Study:
    """A study that found nothing.

    >>> empty_study().verdict[:30]
    'No grouping better than chance'
    """
    study = planted_study(n_rows, n_clusters=(2, 2))
    nothing: dict[str, Any] = {
        "views": (), "results": (), "distances": np.zeros((0, 0)),
        "between_views": np.zeros((0, 0)), "settings": {},
    }  # fmt: skip
    return Study(**{name: getattr(study, name) for name in Study.__dataclass_fields__} | nothing)


def _view(
    number: int,
    members: BoolArray,
    truth: Any,
    X: FloatArray,
    names: tuple[str, ...],
    row_names: tuple[str, ...] | None,
    shown: IndexArray,
    untidy: bool,
) -> View:
    masks = truth.subspaces.masks
    clustering = SubspaceClustering(
        sparse.csr_array(members), AxisSubspaces(masks), feature_names=names, row_names=row_names
    )
    facts = tuple(_facts(X, rows, masks[k], names, untidy) for k, rows in enumerate(members))
    own = np.flatnonzero(masks[0])
    loadings = np.zeros((len(names), 2))
    loadings[own[:2], [0, 1]] = 0.9, -0.8
    loadings[own[:2], [1, 0]] = 0.3, 0.4
    n_clusters = len(members)
    finders = ("NrKMeans", "LAC", "KMeans") if number == 1 else ("NrKMeans", "MineClus")
    return View(
        number=number,
        clustering=clustering,
        row_confidence=np.where(members.any(axis=0), 0.97, 0.4),
        finders=finders,
        run_ids=tuple(f"{number}{i}ab" for i in range(len(finders))),
        titles=tuple(f"{finder}(n_clusters={n_clusters})" for finder in finders),
        score=1.4 / number if not untidy else 0.07,
        p_value=0.31 if untidy else 0.0004 * number,
        stability=0.99 - 0.05 * number if not untidy else 0.44,
        replication=0.98 - 0.05 * number if not untidy else 0.31,
        cluster_stability=np.linspace(0.98, 0.7, n_clusters),
        cluster_p_values=np.linspace(0.0001, 0.02, n_clusters),
        facts=facts,
        descriptions=tuple(
            sentence(k, int(rows.sum()), len(X), facts[k]) for k, rows in enumerate(members)
        ),
        coordinates=((X - X.mean(axis=0)) @ loadings)[shown],
        loadings=loadings,
        missing_redundancy=0.7 if untidy else 0.0,
        rule=learn((X - X.mean(axis=0)) / X.std(axis=0), clustering.labels()),
    )


def _facts(
    X: FloatArray,
    rows: BoolArray,
    own: BoolArray,
    names: tuple[str, ...],
    untidy: bool,
) -> tuple[FeatureFact, ...]:
    inside, outside = X[rows], X[~rows] if (~rows).any() else X
    shift = (inside.mean(axis=0) - outside.mean(axis=0)) / outside.std(axis=0)
    ratio = inside.std(axis=0) / X.std(axis=0)
    away = (inside.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0)
    information = -np.log(ratio) + 0.5 * (ratio**2 + away**2 - 1)
    low, high = np.quantile(inside, (0.05, 0.95), axis=0)
    all_low, all_high = np.quantile(X, (0.05, 0.95), axis=0)
    listed = []
    for j in np.argsort(-information, kind="stable"):
        told: dict[str, Any] = {"information": float(information[j]), "is_own": bool(own[j])}
        if untidy and j == len(names) - 1:
            level: dict[str, Any] = {
                "level": "often", "share": 0.8, "elsewhere": 0.15, "imputed": 0.25,
            }  # fmt: skip
            listed.append(FeatureFact(names[j], **told | {"is_own": True} | level))
            continue
        numbers = (low[j], high[j], all_low[j], all_high[j], shift[j])
        bars = histogram(X[:, j], rows)
        listed.append(FeatureFact(names[j], *told.values(), *map(float, numbers), **bars))
    return tuple(listed)


def _results(
    views: list[View], number: int, rng: np.random.Generator
) -> tuple[tuple[Result, ...], FloatArray]:
    """Results around the views, and some that belong to none."""
    finders = ("KMeans", "NrKMeans", "LAC", "MineClus", "GaussianMixture", "KFlats")
    home = (np.arange(number) // len(finders) + 1) % (len(views) + 1)
    angle = 2 * np.pi * home / (len(views) + 1)
    places = np.column_stack([np.cos(angle), np.sin(angle)]) * 0.4
    places += rng.normal(scale=np.where(home[:, None] > 0, 0.03, 0.15), size=(number, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    distances = np.round((distances + distances.T) / 2, 12)
    results = []
    for i in range(number):
        finder = finders[i % len(finders)]
        if home[i] > 1 and finder in ("KMeans", "GaussianMixture"):
            finder = "LAC"
        k = 2 + i % 5
        results.append(
            Result(
                name=f"{i:04x}#0",
                finder=finder,
                title=f"{finder}(n_clusters={k})",
                n_clusters=k,
                score=float(rng.uniform(0.2, 1.4)),
                seconds=0.1 * i,
                view=int(home[i]),
                x=float(places[i, 0]),
                y=float(places[i, 1]),
            )
        )
    return tuple(results), np.minimum(distances, 1.0)
