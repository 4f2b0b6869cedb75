"""Nominal columns: their levels alone are no grouping."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from subscape.datasets import planted_views
from subscape.exploration.assess import null_score
from subscape.exploration.information import joint_labels
from subscape.exploration.preparation import prepare
from subscape.exploration.separation import GroupingScorer, largest_step
from subscape.exploration.study import as_table
from subscape.tables import Table


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(5)
    X, truths = planted_views(400, 8, n_clusters=(3, 2), random_state=11)
    frame = pd.DataFrame(X, columns=[f"m{j}" for j in range(8)])
    frame["city"] = rng.choice(["Oslo", "Rome", "Lima"], 400)
    frame["paid"] = rng.choice(["yes", "no"], 400)
    return frame, prepare(as_table(frame)), [truth.labels() for truth in truths]


def test_columns_with_few_values(mixed):
    _, ready, _ = mixed
    assert [ready.names[j] for j in ready.few_valued] == [
        "city=Lima", "city=Oslo", "city=Rome", "paid=no", "paid=yes",
    ]  # fmt: skip


def test_levels_do_not_stand_out_but_groups_in_numbers_do(mixed):
    frame, ready, truths = mixed
    scorer, unaware = GroupingScorer(ready.X, ready.few_valued), GroupingScorer(ready.X)
    city, paid = (pd.factorize(frame[name])[0] for name in ("city", "paid"))
    for labels in (city, paid, np.minimum(city, 1), joint_labels(city, paid)):
        assert unaware(labels).gain > 0.05
        assert scorer(labels).gain < 0
    for truth in truths:
        assert scorer(truth).gain > 0.9 * unaware(truth).gain > 0.3
        # Crossed with levels it tells no more.
        assert scorer(joint_labels(truth, paid)).gain < scorer(truth).gain


def test_groups_that_many_nominal_columns_share_stand_out():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 1000)
    answers = {
        f"q{j}": np.where(rng.random(1000) < 0.9, truth, 1 - truth).astype(str) for j in range(12)
    }
    ready = prepare(as_table(pd.DataFrame(answers).replace({"0": "no", "1": "yes"})))
    scorer = GroupingScorer(ready.X, ready.few_valued)
    assert scorer(truth).gain > 0.1
    assert scorer(ready.X[:, ready.few_valued[0]] > 0).gain < scorer(truth).gain / 2


def test_tables_without_groups_are_judged_alike(mixed):
    _, ready, _ = mixed
    numbers = [2, 3]
    aware = [
        null_score(ready.X, seed, ready.few_valued, numbers=numbers).score for seed in range(3)
    ]
    unaware = [null_score(ready.X, seed, numbers=numbers).score for seed in range(3)]
    assert max(aware) < 0.25 < min(unaware)


def test_the_same_noise_every_time(mixed):
    _, ready, truths = mixed
    first, second = (GroupingScorer(ready.X, ready.few_valued) for _ in range(2))
    assert first(truths[0]).gain == second(truths[0]).gain
    np.testing.assert_array_equal(first.Z, second.Z)


def test_numbers_with_few_values_are_judged_like_levels():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(300, 6))
    numbers[:, 4] = rng.random(300) < 0.5
    numbers[:, 5] = rng.integers(1, 5, 300)
    ready = prepare(Table.from_array(numbers))
    assert ready.few_valued.tolist() == [4, 5]
    # Oriented finders see a scale of four steps, but no yes and no.
    assert ready.numeric.tolist() == [0, 1, 2, 3, 5]
    crossed = (2 * (ready.X[:, 4] > 0) + (ready.X[:, 5] > 0)).astype(int)
    assert GroupingScorer(ready.X)(crossed).gain > 0.1
    assert GroupingScorer(ready.X, ready.few_valued)(crossed).gain < 0


def test_columns_in_one_unit_are_no_levels():
    pixels = np.random.default_rng(0).integers(0, 2, (100, 9)).astype(float)
    ready = prepare(Table.from_array(pixels))
    assert len(ready.few_valued) == 0 and len(ready.numeric) == 9


def test_cells_that_were_filled_in_make_no_small_steps():
    column = np.repeat([0.0, 1.0], 200)
    column[:3] = [0.4, 0.41, 0.42]
    assert largest_step(column) == 1.0
