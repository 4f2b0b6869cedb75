from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from tests.validation.finders import Halves

from subscape import SubspaceClustering
from subscape.datasets import planted_axes, planted_oriented, structureless
from subscape.finders import PROCLUS, KFlats
from subscape.measures import clustering_error, description_length, sre
from subscape.validation import choose
from subscape.validation.selection import reassigned_description_length

BLOBS = make_blobs(90, centers=[[0, 0], [12, 0], [0, 12]], random_state=0)[0]
X, TRUTH = planted_axes(160, 8, n_clusters=3, dims=4, random_state=1)
FAST = PROCLUS(avg_dims=4, n_init=2)
GRID = {"n_clusters": [2, 3, 4]}


@pytest.mark.parametrize("by", ["stability", "description_length"])
def test_the_planted_number_is_chosen(by):
    choice = choose(FAST, X, GRID, by=by, n_samples=4)
    assert choice.best == {"n_clusters": 3}
    assert choice.chosen == 1
    assert clustering_error(choice.clustering, TRUTH) < 0.1
    assert choice.runner_up in (0, 2)
    assert choice.sure > 0.5
    assert choice.wins.sum() == pytest.approx(1)
    assert choice.sentence().startswith(f"{by} chooses n_clusters=3")
    records = choice.to_records()
    assert [record["rank"] for record in records] == [1, 2, 3]
    assert records[0]["n_clusters"] == 3 and records[0]["behind"] == 0
    assert records[1]["n_clusters"] == GRID["n_clusters"][choice.runner_up]
    json.dumps(choice.to_dict(), allow_nan=False)
    assert list(choice.to_frame()["rank"]) == [1, 2, 3]


def test_several_parameters_at_once():
    grid = {"n_clusters": [2, 3], "avg_dims": [2, 4, 6]}
    choice = choose(PROCLUS(n_init=2), X, grid, by="description_length", n_samples=2)
    assert choice.best == {"n_clusters": 3, "avg_dims": 4}
    assert choice.labels[0] == "n_clusters=2, avg_dims=2"
    assert "avg_dims=4" in repr(choice)


def test_the_scores_are_those_of_the_measures():
    by_sre = choose(FAST, X, GRID, by="sre", n_samples=2)
    for g, run in enumerate(by_sre.wholes):
        assert by_sre.values[g] == sre(X, run.clustering).total
    by_bits = choose(FAST, X, GRID, by="description_length", n_samples=2)
    for g, run in enumerate(by_bits.wholes):
        assert by_bits.values[g] <= description_length(X, run.clustering).total
        assert by_bits.values[g] == reassigned_description_length(X, run.clustering)
    without = choose(FAST, X, GRID, by="description_length", n_samples=0)
    assert without.best == by_bits.best
    assert np.isnan(without.wins).all()


def test_strays_don_t_hide_what_clusters_tell_whatever_their_kind():
    labels = TRUTH.labels()
    strays = SubspaceClustering.from_labels(
        np.where(np.arange(160) == 0, (labels + 1) % 3, labels), masks=TRUTH.subspaces.masks
    )
    assert reassigned_description_length(X, strays) == pytest.approx(
        reassigned_description_length(X, TRUTH), abs=5
    )
    assert description_length(X, strays).total > reassigned_description_length(X, TRUTH) + 20
    table, truth = planted_oriented(4, ((1, 50), (2, 50)), noise=0.1, random_state=0)
    assert reassigned_description_length(table, truth) <= description_length(table, truth).total
    nothing = SubspaceClustering.from_labels([-1] * 160, n_features=8)
    assert reassigned_description_length(X, nothing) == description_length(X, nothing).null


def test_oriented_clusters_by_description_length():
    table, _ = planted_oriented(4, ((1, 60), (1, 60), (1, 60)), noise=0, random_state=2)
    choice = choose(
        KFlats(flat_dim=1), table, {"n_clusters": [2, 3, 4]}, by="description_length", n_samples=2
    )
    assert choice.best == {"n_clusters": 3}


def test_criteria_share_the_runs_of_a_store(tmp_path):
    steps = []
    choose(FAST, X, GRID, n_samples=3, store=tmp_path)
    for by in ("description_length", "sre"):
        choose(FAST, X, GRID, by=by, n_samples=3, store=tmp_path, progress=steps.append)
    assert [(step.message, step.done) for step in steps] == [("restored", 12)] * 2


def test_no_structure_is_not_significant():
    table = structureless("lognormal", 120, 6, random_state=1)
    choice = choose(FAST, table, {"n_clusters": [2, 3]}, by="significance", n_null=19)
    assert choice.chosen is None and choice.best is None and choice.clustering is None
    assert choice.sure == 0
    assert choice.sentence() == "significance chooses none of 2 settings"
    assert (choice.details["corrected_p_value"] > 0.05).all()
    json.dumps(choice.to_dict(), allow_nan=False)


def test_by_significance_the_most_evidence_wins_and_p_values_are_corrected():
    choice = choose(FAST, X, GRID, by="significance", n_null=99)
    raw, corrected = choice.details["p_value"], choice.details["corrected_p_value"]
    assert (raw <= corrected).all()
    assert corrected[choice.chosen] <= 0.01
    assert choice.better == "high"
    assert choice.values[choice.chosen] == choice.values.max() > 5
    assert choice.ranking() == np.argsort(-choice.values).tolist()
    assert choice.wins.sum() == pytest.approx(1)
    assert [record["behind"] <= 0 for record in choice.to_records()] == [True] * 3


def test_settings_that_fail_or_find_nothing_are_ranked_last():
    grid = {"fault": [None, "raise", "nothing"]}
    for by in ("stability", "sre", "description_length"):
        choice = choose(Always(), BLOBS, grid, by=by, n_samples=3)
        assert choice.best == {"fault": None}
        assert choice.n_failed.tolist() == [0, 4, 0]
        assert choice.n_empty.tolist() == [0, 0, 4]
        assert choice.ranking()[0] == 0
        assert np.isnan(choice.values[1])
        assert choice.to_dict()["settings"][-1][by] is None
        assert "unknown" in repr(choice)


class Always(Halves):
    """Does at every seed what ``fault`` says."""

    def fit(self, X, y=None):
        self.where = self.random_state
        return super().fit(X)


def test_one_setting_has_no_runner_up():
    choice = choose(KMeans(n_init=2), BLOBS, {"n_clusters": [3]}, n_samples=3)
    assert choice.runner_up is None
    assert "runner-up" not in choice.sentence()
    assert choice.sure == 1


@pytest.mark.parametrize(
    "options, cause",
    [
        (dict(by="magic"), "stability, sre, description_length, significance"),
        (dict(by="sre", sampling="columns"), "rows"),
        (dict(by="sre", n_samples=-1), "n_samples"),
        (dict(by="significance", n_null=0), "n_null"),
    ],
)
def test_bad_options_are_refused(options, cause):
    with pytest.raises(ValueError, match=cause):
        choose(Halves(), BLOBS, {"n_clusters": [2]}, **options)
