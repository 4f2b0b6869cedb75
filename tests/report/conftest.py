"""Studies to show: an ordinary one, one with everything odd in it, one that found nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.exploration.conftest import small_job

from subscape.exploration.levels import Merge
from subscape.exploration.study import NearMiss, load_study
from subscape.testing.studies import empty_study, planted_study

#: Names that would do harm on a careless page.
HOSTILE = (
    "</script><img src=x onerror=document.title='harmed'>",
    "=cmd|' /C calc'!A0",
    "<b onmouseover=document.title='harmed'>bold</b>",
    "n" * 300,
    "quote\"' onload=alert(1) x=",
    "{{ 7 * 7 }}{% raw %}",
    "naïve 数据 \u202e\u2028",
    "]]><!--",
    " ",
)


@pytest.fixture(scope="session")
def study():
    return planted_study(200)


@pytest.fixture(scope="session")
def odd_study():
    return planted_study(
        240,
        feature_names=HOSTILE,
        row_names=tuple(f"=person{i}<i>" for i in range(240)),
        untidy=True,
        is_provisional=True,
        failures=((f"CLIQUE({HOSTILE[0]})", f"MemoryError: {HOSTILE[0]}"),),
        truth=(
            {
                "name": HOSTILE[0],
                "views": [{"ari": ari, "nmi": ari / 2} for ari in (0.9, 0.1, 0.0)],
            },
        ),
        notes=(f"left out, because constant: {HOSTILE[0]}",),
        settings={"source": HOSTILE[0], "seed": 0},
        table_schema=tuple(
            {"name": name, "role": "numeric", "kind": "number", "note": name} for name in HOSTILE
        ),
    )


@pytest.fixture(scope="session")
def nothing():
    return empty_study()


@pytest.fixture(scope="session")
def merged_study():
    """Everything that a study can have: levels, another idea, candidates, a grouping asked for."""
    study = planted_study(200)
    first, second, third = study.views
    merges = (Merge(1, 3, 0.0625, 3, 0.0021, 0.8125), Merge(0, 2, 0.4375, 2, 0.0032, 0.9375))
    first = dataclasses.replace(
        first, merges=merges, n_tables=40, n_ideas=2, p_value=1e-5,
        cluster_stability=np.array([0.98, 0.9, 0.9, 0.41]),
        cluster_p_values=np.array([1e-4, 1e-4, 0.2, 1e-4]),
    )  # fmt: skip
    note = "3 groups of any shape, parted by valleys of low density; as clouds they would be 6"
    second = dataclasses.replace(second, idea="shapes", idea_note=note, n_tables=20)
    miss = NearMiss("ab#0", "LAC", "LAC(n_clusters=5)", 5, 0.0875, 0.23, 0.61, ("rent",), 0.75)
    return dataclasses.replace(
        study,
        views=(first, second, third),
        asked=dataclasses.replace(third, number=4, idea_note="view 1, merged", stability=np.nan),
        near_misses=(miss,),
        curve_chance=(0.01, 0.02),
        settings=study.settings | {"ideas": "clouds, shapes", "runs": 55},
    )


@pytest.fixture(scope="session")
def noise_folder(tmp_path_factory):
    """The study of a table without groups, as an exploration writes it."""
    folder = tmp_path_factory.mktemp("noise") / "s"
    small_job(np.random.default_rng(5).normal(size=(120, 5)), folder=folder).run()
    return folder


@pytest.fixture(scope="session")
def noise_study(noise_folder):
    return load_study(noise_folder)


@pytest.fixture(scope="session")
def large_study():
    return planted_study(6000, n_clusters=(6, 5, 4, 4, 3, 3, 2, 2), n_results=250)
