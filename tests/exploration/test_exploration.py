"""The main job, small."""

import json

import numpy as np
import pytest

from subscape.datasets import planted_views, structureless
from subscape.exploration import Interrupted, load_study
from subscape.measures import adjusted_rand_score
from subscape.tables import Table

from .conftest import small_job

ASIDE = {"timings.json"}


def contents(folder):
    """Every file of a study but for the timings; runs hold their seconds, so only their names."""
    kept = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ASIDE:
            name = str(path.relative_to(folder))
            kept[name] = None if name.startswith("runs/") else path.read_bytes()
    return kept


def test_both_planted_groupings_are_found_and_told_apart(study, planted):
    X, truths = planted
    assert len(study.significant_views) == 2
    for truth in truths:
        best = max(adjusted_rand_score(truth.labels(), view.labels) for view in study.views)
        assert best > 0.95
    assert study.between_views[0, 1] < 0.05
    assert study.verdict.startswith("Two ways to group the rows, each into 3 clusters")
    for view in study.significant_views:
        assert view.stability > 0.9 and view.replication > 0.9
        assert view.cluster_stability.min() > 0.8
        assert ((view.row_confidence >= 0) & (view.row_confidence <= 1)).all()
        assert view.clustering.shape == X.shape
    names = [entry["name"] for entry in study.truth]
    assert names == ["first", "second"]
    assert max(v["ari"] for v in study.truth[0]["views"]) > 0.95


def test_the_features_that_were_planted_are_named():
    X, truths = planted_views(
        300, 6, n_clusters=(3, 2), dims=(2, 1), separation=9, rotate=False, random_state=1
    )
    study = small_job(X).run()
    for truth in truths:
        view = max(study.views, key=lambda v: adjusted_rand_score(truth.labels(), v.labels))
        true = truth.subspaces.relevance.max(axis=0) > 0.5
        masks = view.clustering.subspaces.relevance > 0
        assert not masks[:, ~true].any()
        assert masks[:, true].any(axis=0).all()


def test_a_study_comes_back_from_its_folder(study_folder, study, planted):
    again = load_study(study_folder)
    assert again.verdict == study.verdict and len(again) == len(study)
    for a, b in zip(study, again, strict=True):
        assert a.clustering == b.clustering
        assert a.facts == b.facts or any(f.low != f.low for fs in a.facts for f in fs)
    found = again.predict(planted.X, view=1)
    assert (found == study[1].labels).mean() > 0.95
    lines = (study_folder / "labels.csv").read_text().splitlines()
    assert lines[1].startswith("'=r0,") and len(lines) == len(planted.X) + 1
    records = study.to_records()
    assert len(records) == sum(view.n_clusters for view in study)
    assert study.to_frame().shape[0] == len(records)
    assert "<table>" in study._repr_html_()
    (study_folder / "broken").mkdir(exist_ok=True)
    with pytest.raises(FileNotFoundError, match="holds no study"):
        load_study(study_folder / "broken")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_bits_for_any_number_of_jobs(study_folder, planted, tmp_path, n_jobs):
    X, truths = planted
    small_job(
        Table.from_array(X, row_names=[f"=r{i}" for i in range(len(X))]),
        folder=tmp_path / "s",
        truth={"first": truths[0].labels(), "second": truths[1].labels()},
        n_jobs=n_jobs,
    ).run()
    assert contents(tmp_path / "s") == contents(study_folder)


class StopAt:
    """Progress that interrupts at its n-th step."""

    def __init__(self, steps):
        self.left = steps

    def __call__(self, step):
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def test_stopped_anywhere_it_resumes_to_the_same_study(study_folder, planted, tmp_path):
    X, truths = planted
    table = Table.from_array(X, row_names=[f"=r{i}" for i in range(len(X))])
    truth = {"first": truths[0].labels(), "second": truths[1].labels()}
    for steps in (1, 4, 12, 21, 26):
        folder = tmp_path / f"s{steps}"
        with pytest.raises(Interrupted) as stopped:
            small_job(table, folder=folder, truth=truth, progress=StopAt(steps)).run()
        assert stopped.value.study.is_provisional
        assert load_study(folder).is_provisional
        study = small_job(table, folder=folder, truth=truth, resume=True).run()
        assert not study.is_provisional
        assert contents(folder) == contents(study_folder), steps


def test_another_table_or_seed_is_not_resumed(planted, tmp_path):
    X = planted.X
    folder = tmp_path / "s"
    small_job(X, folder=folder)
    with pytest.raises(ValueError, match=r"holds a study already; resume it \(--resume\)"):
        small_job(X, folder=folder)
    small_job(X, folder=folder, resume=True)
    with pytest.raises(ValueError, match="the table has changed"):
        small_job(X + 1e-9, folder=folder, resume=True)
    with pytest.raises(ValueError, match="effort, seed or shape have changed"):
        small_job(X, folder=folder, resume=True, random_state=1)
    plan = json.loads((folder / "plan.json").read_text())
    (folder / "plan.json").write_text(json.dumps(plan | {"version": "0"}))
    with pytest.raises(ValueError, match="another version"):
        small_job(X, folder=folder, resume=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="not empty"):
        small_job(X, folder=tmp_path / "full")


def test_a_given_grouping_is_not_found_again(planted):
    X, truths = planted
    known = truths[0].labels()
    study = small_job(X, given=known).run()
    assert study.views
    assert all(adjusted_rand_score(known, view.labels) < 0.2 for view in study.views)
    assert adjusted_rand_score(truths[1].labels(), study.views[0].labels) > 0.9


def test_nothing_is_claimed_where_nothing_is():
    for kind in ("uniform", "gaussian", "lognormal"):
        study = small_job(structureless(kind, 120, 5, random_state=4)).run()
        assert not study.significant_views
        assert study.verdict.startswith("No grouping better than chance")


def test_more_rows_than_are_searched():
    X, truths = planted_views(900, 6, n_clusters=(3,), separation=9, random_state=3)
    study = small_job(X, search_rows=150).run()
    assert len(study.searched_rows) == 150
    assert study[1].labels.shape == (900,)
    assert adjusted_rand_score(truths[0].labels(), study[1].labels) > 0.95


def test_stopped_before_all_rows_were_put_in(tmp_path):
    X, truths = planted_views(900, 6, n_clusters=(3,), separation=9, random_state=3)
    folder = tmp_path / "s"
    with pytest.raises(Interrupted) as stopped:
        small_job(X, search_rows=150, folder=folder, progress=StopAt(7)).run()
    study = stopped.value.study
    view, searched = study[1], study.searched_rows
    assert adjusted_rand_score(truths[0].labels()[searched], view.labels[searched]) > 0.95
    assert (np.delete(view.labels, searched) == -1).all()
    assert "the 750 rows that were not searched" in study.notes[-1]
    lines = (folder / "labels.csv").read_text().splitlines()
    assert [int(line.split(",")[0]) for line in lines[1:]] == (searched + 1).tolist()


def test_mixed_tables_with_gaps(mixed_table):
    table, group = mixed_table
    study = small_job(table).run()
    view = study[1]
    assert adjusted_rand_score(group, view.labels) > 0.9
    own = {fact.feature for fact in view.facts[0] if fact.is_own}
    assert "colour" in own and "height" in own
    level = next(fact for fact in view.facts[0] if fact.feature == "colour")
    assert level.level in ("red", "blue") and level.share > 0.8
    assert {fact.feature for fact in view.facts[0]} == {"height", "weight", "colour"}
    weight = [f for k in range(2) for f in view.facts[k] if f.feature == "weight"]
    assert max(fact.imputed for fact in weight) > 0


def test_a_grouping_by_gaps_is_flagged():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    group = rng.integers(0, 2, 200).astype(bool)
    X[group, 0] += 9
    X[group, 1] = np.nan
    study = small_job(X).run()
    assert study[1].is_explained_by_missing


def test_bad_input():
    with pytest.raises(ValueError, match="at least 10"):
        small_job(np.random.default_rng(0).normal(size=(5, 3)))
    with pytest.raises(ValueError, match="truth has 3 rows, the table 20"):
        small_job(np.random.default_rng(0).normal(size=(20, 3)), truth=[0, 1, 0])
    with pytest.raises(ValueError, match="fewer than two groups"):
        small_job(np.random.default_rng(0).normal(size=(20, 3)), given=np.zeros(20))


def test_one_column_and_wide_tables():
    rng = np.random.default_rng(0)
    x = np.r_[rng.normal(0, 1, 60), rng.normal(12, 1, 60)][:, None]
    study = small_job(x).run()
    assert study[1].n_clusters == 2
    wide = rng.normal(size=(40, 3000))
    wide[:20, :400] += 4
    study = small_job(wide).run()
    assert adjusted_rand_score(np.arange(40) < 20, study[1].labels) == 1.0
