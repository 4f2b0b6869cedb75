"""Tables that people have and nobody wishes for: an answer, or a sentence that says what to do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from subscape.exploration import explore

N = 150


def told(frame, **options):
    return explore(frame, effort="quick", n_jobs=1, random_state=0, **options)


def groups(rng, apart=6.0):
    """Five numbers; three groups differ in three of them."""
    truth = np.arange(N) % 3
    X = rng.normal(size=(N, 5))
    X[:, :3] += apart * np.eye(3)[truth]
    return pd.DataFrame(X).add_prefix("x"), truth


def answers(rng, chance=0.8):
    truth = np.arange(N) % 3
    columns = {}
    for j in range(8):
        own = np.where(rng.random(N) < chance, (truth + j) % 3, rng.integers(0, 3, N))
        columns[f"q{j}"] = np.array(list("abc"))[own]
    return pd.DataFrame(columns), truth


def is_silent(study):
    """Nothing is claimed, and the verdict says what was looked at and what would have been seen."""
    return (
        not study.significant_views
        and "No grouping better than chance" in study.verdict
        and "What was searched:" in study.verdict
        and "would" in study.verdict
        and "have been seen here" in study.verdict
    )


def test_levels_only():
    frame, truth = answers(np.random.default_rng(0))
    study = told(frame)
    assert study.significant_views[0].idea == "classes"
    assert adjusted_rand_score(truth, study[1].labels) > 0.95
    assert is_silent(told(answers(np.random.default_rng(1), chance=0.0)[0]))


def test_one_column():
    rng = np.random.default_rng(0)
    two = pd.DataFrame({"x": np.r_[rng.normal(0, 1, 75), rng.normal(9, 1, 75)]})
    study = told(two)
    assert adjusted_rand_score(np.repeat([0, 1], 75), study.significant_views[0].labels) > 0.95
    assert is_silent(told(pd.DataFrame({"x": rng.normal(size=N)})))
    assert is_silent(told(pd.DataFrame({"x": rng.choice(list("ab"), N)})))


def test_twenty_rows():
    rng = np.random.default_rng(0)
    cloud = pd.DataFrame(rng.normal(size=(20, 4))).add_prefix("x")
    assert is_silent(told(cloud))
    # Of so few values nobody can say that a column has two humps; the groups are listed.
    study = told(cloud + 8 * np.outer(np.arange(20) % 2, [1, 1, 0, 0]))
    assert adjusted_rand_score(np.arange(20) % 2, study[1].labels) == 1
    assert study.power is not None and study.power.n_rows == 20


def test_a_column_of_gaps_changes_nothing():
    frame, truth = groups(np.random.default_rng(0))
    study = told(frame.assign(empty=np.nan))
    assert adjusted_rand_score(truth, study.significant_views[0].labels) > 0.9
    assert any("'empty': has no values" in note for note in study.notes)


@pytest.mark.parametrize("how", ["anywhere", "in one half of the rows", "where values are large"])
def test_gaps_alone_are_no_groups(how):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 5))
    gone = rng.random((N, 5)) < 0.6
    if how == "in one half of the rows":
        gone = np.outer(np.arange(N) < N // 2, [True] * 4 + [False])
    elif how == "where values are large":
        gone = X > -0.25
        gone[np.arange(N), rng.integers(0, 5, N)] = False
    study = told(pd.DataFrame(np.where(gone, np.nan, X)).add_prefix("x"))
    assert gone.mean() > 0.35
    assert not [v for v in study.significant_views if not v.is_explained_by_missing]


def test_groups_beside_many_gaps():
    frame, truth = groups(np.random.default_rng(4), apart=9.0)
    gone = np.random.default_rng(5).random(frame.shape) < 0.3
    study = told(frame.mask(gone))
    assert adjusted_rand_score(truth, study.significant_views[0].labels) > 0.7


def test_levels_that_nearly_all_rows_have():
    rng = np.random.default_rng(0)
    frame, truth = groups(rng)
    rare = frame.assign(flag=np.where(np.arange(N) == 7, "yes", "no"))
    study = told(rare.assign(other=np.where(np.arange(N) < 2, "b", "a")))
    assert adjusted_rand_score(truth, study.significant_views[0].labels) > 0.9
    flags = {f"f{j}": np.where(rng.random(N) < 0.02, "y", "n") for j in range(6)}
    assert is_silent(told(pd.DataFrame(flags)))


def test_ids_and_codes_and_texts_make_no_groups_and_hide_none():
    rng = np.random.default_rng(0)
    words = ["quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "while", "rain", "falls"]
    beside = {
        "customer": rng.permutation(N) + 10_000,
        "code": [f"A{code:03d}" for code in rng.integers(0, 40, N)],
        "zip": rng.integers(10_000, 99_999, N),
        "comment": [" ".join(rng.choice(words, 8)) for _ in range(N)],
    }
    noise = pd.DataFrame(rng.normal(size=(N, 4))).add_prefix("x").assign(**beside)
    assert is_silent(told(noise))
    frame, truth = groups(rng)
    study = told(frame.assign(**beside))
    assert adjusted_rand_score(truth, study.significant_views[0].labels) > 0.9


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        ({"a": [np.nan] * 50, "b": [np.nan] * 50}, r"no numeric or nominal column.*--columns"),
        ({"a": [1] * 50, "b": ["x"] * 50}, r"no column varies"),
        ({"key": [f"c{i}" for i in range(50)]}, r"no numeric or nominal column.*--columns"),
        ({"a": np.arange(3.0), "b": np.arange(3.0) ** 2}, r"3 rows.*at least 10"),
    ],
)
def test_what_cannot_be_answered_is_said(frame, words):
    with pytest.raises(ValueError, match=words):
        told(pd.DataFrame(frame))
