"""A table of 20,000 columns: it finishes, in memory that grows with its cells and no faster."""

import tracemalloc

import numpy as np
from sklearn.metrics import adjusted_rand_score

from subscape.exploration import load_study
from subscape.exploration.explain import MOST_FACTS
from subscape.report import render

from .conftest import small_job


def test_twenty_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    truth = np.arange(45) % 3
    X = rng.normal(size=(45, 20_000))
    X[:, :3000] += 3.0 * truth[:, None]
    tracemalloc.start()
    try:
        study = small_job(X, folder=tmp_path / "s").run()
        page = render(study)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert adjusted_rand_score(truth, study[1].labels) == 1.0
    # A square array over the columns would be 444 times the table.
    assert peak < 25 * X.nbytes
    assert len(page) < 1_000_000
    assert sum(file.stat().st_size for file in (tmp_path / "s").glob("*.*")) < 15_000_000
    view = load_study(tmp_path / "s")[1]
    planted = view.clustering.subspaces.masks[0]
    assert planted[:3000].mean() > 0.9 and planted[3000:].mean() < 0.1
    # Facts are kept for the first features only, but none is forgotten.
    assert all(len(listed) == MOST_FACTS for listed in view.facts)
    # 45 rows and three groups are too few to be sure of single columns: one is named as likely.
    assert "; perhaps x" in view.descriptions[0]
    assert view.descriptions[0].endswith(f"and {int(planted.sum()) - 1} more features")
