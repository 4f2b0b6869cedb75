"""A study in a folder keeps everything."""

from __future__ import annotations

import dataclasses

import numpy as np

from subscape.exploration.assembly import _large_enough
from subscape.exploration.levels import Merge
from subscape.exploration.power import Power
from subscape.exploration.study import NearMiss, View, load_study, save_study
from subscape.exploration.views import Consensus
from subscape.testing.studies import planted_study

#: What is not compared field by field: it has an equality of its own, or is where the study lies.
ASIDE = {"clustering", "rule", "folder", "views", "asked"}


def full_study():
    """No field has its default, and no two numbers are the same."""
    study = planted_study(80, n_clusters=(4, 2), row_names=tuple(f"r{i}" for i in range(80)))
    views = tuple(
        dataclasses.replace(
            view, score=1.25 + i, p_value=0.001 + 0.0001 * i, stability=0.81 + 0.01 * i,
            replication=0.71 + 0.01 * i, missing_redundancy=0.11 + 0.01 * i, idea=f"idea {i}",
            idea_note=f"note {i}", n_tables=31 + i, n_ideas=2 + i, run_ids=(f"run{i}",),
            p_interval=(0.0011 + i, 0.2 + i),
            names=("young", "old", "", "rich")[: view.n_clusters],
            merges=(
                Merge(0, 1, 0.51 + i, 3, 0.0051 + i, 0.61 + i, (0.004, 0.0061 + i)),
                Merge(0, 2, 0.9, 2),
            ),
            cluster_p_intervals=(None, (0.01, 0.02 + i), (0.03, 0.04), None)[: view.n_clusters],
        )
        for i, view in enumerate(study.views)
    )  # fmt: skip
    return dataclasses.replace(
        study,
        views=views,
        asked=dataclasses.replace(views[1], number=3, p_value=float("nan"), idea="asked"),
        failures=(("CLIQUE()", "too large"),),
        searched_rows=np.arange(3, 70),
        notes=("a note",),
        truth=({"name": "known", "views": [{"ari": 0.31, "nmi": 0.32}] * 2},),
        is_provisional=True,
        near_misses=(
            NearMiss("x#1", "LAC", "LAC(n_clusters=2)", 2, -0.21, 0.41, 0.43, ("age",), 0.44),
            NearMiss("y#0", "P3C", "P3C()", 3, 0.22, float("nan"), float("nan")),
        ),
        power=Power(3.0, None, 67, 8),
        curve_chance=(0.015, 0.025),
        part_lengths=(30, 50),
    )


def same(a, b) -> bool:
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and np.isnan(a):
        return bool(np.isnan(b))
    return bool(a == b)


def test_every_field_comes_back(tmp_path):
    study = full_study()
    again = load_study(save_study(study, tmp_path / "s"))
    for field in dataclasses.fields(study):
        if field.name not in ASIDE:
            assert same(getattr(study, field.name), getattr(again, field.name)), field.name
    pairs = [*zip(study.views, again.views, strict=True), (study.asked, again.asked)]
    for mine, theirs in pairs:
        for field in dataclasses.fields(View):
            if field.name not in ASIDE:
                told = getattr(mine, field.name), getattr(theirs, field.name)
                assert same(*told), field.name
        assert mine.clustering == theirs.clustering
        for field in dataclasses.fields(mine.rule):
            assert same(getattr(mine.rule, field.name), getattr(theirs.rule, field.name))
    assert again.verdict == study.verdict


def test_no_field_of_the_full_study_has_its_default():
    study = full_study()
    for made in (study, study.views[0]):
        for field in dataclasses.fields(made):
            has_default = field.default is not dataclasses.MISSING and field.name != "folder"
            assert not has_default or getattr(made, field.name) != field.default, field.name


def test_a_cluster_too_small_to_be_seen_is_noise():
    memberships = np.zeros((3, 400), dtype=bool)
    memberships[0, :2], memberships[1, 2:200], memberships[2, 200:] = True, True, True
    found = Consensus(
        [], [], memberships, np.repeat([0, 1, 2], [2, 198, 200]), np.ones(400), 1.0, 1.0, 1.0,
        np.eye(2),
    )  # fmt: skip
    assert _large_enough(found, 400).tolist() == [2, 1]
    assert _large_enough(found, 100_000).tolist() == [2, 1, 0]
