"""A small exploration that several tests look at."""

from __future__ import annotations

import numpy as np
import pytest

from subscape.datasets import planted_views
from subscape.exploration import Exploration
from subscape.exploration.plan import Entry, Plan, Rung, seed_of
from subscape.tables import Table


def small_plan(n_rows, n_columns, n_numeric, *, effort="quick", seed=0):
    """A plan of a few cheap runs."""
    first = [Entry("KMeans", {"n_clusters": k, "n_init": 3}, seed_of(seed, k)) for k in (2, 3, 4)]
    second = [
        Entry("SubKMeans", {"n_clusters": k, "n_init": 3}, seed_of(seed, 9, k)) for k in (2, 3)
    ]
    rungs = (Rung("baselines", tuple(first)), Rung("views", tuple(second)))
    return Plan("quick", int(seed), (n_rows, n_columns), rungs, rounds=1, n_null=12)


def small_job(X, **options):
    """An exploration by that plan."""
    table = X if isinstance(X, Table) else Table.from_array(X)
    return Exploration(table, plan=small_plan, **options)


@pytest.fixture(scope="session")
def planted():
    return planted_views(200, 10, n_clusters=(3, 3), separation=9, random_state=3)


@pytest.fixture(scope="session")
def study_folder(planted, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "s"
    X, truths = planted
    job = small_job(
        Table.from_array(X, row_names=[f"=r{i}" for i in range(len(X))]),
        folder=folder,
        truth={"first": truths[0].labels(), "second": truths[1].labels()},
    )
    job.run()
    return folder


@pytest.fixture(scope="session")
def study(study_folder):
    from subscape.exploration import load_study

    return load_study(study_folder)


@pytest.fixture
def mixed_table():
    rng = np.random.default_rng(0)
    n = 120
    group = rng.integers(0, 2, n)
    colour = np.where(group == 0, "red", "blue").astype(object)
    colour[:3] = ["green", "grey", "pink"]
    colour[5] = None
    import pandas as pd

    frame = pd.DataFrame(
        {
            "height": rng.normal(0, 1, n) + 8 * group,
            "copy": 0.0,
            "weight": rng.normal(0, 1, n) - 8 * group,
            "colour": colour,
            "always": "yes",
        }
    )
    frame["copy"] = frame["height"]
    frame.loc[7, "weight"] = np.nan
    return Table.read(frame), group
