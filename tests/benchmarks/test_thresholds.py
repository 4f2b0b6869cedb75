"""Thresholds halved and doubled: wherever they were imported, and nowhere else."""

from __future__ import annotations

import features
import numpy as np
import pytest
import thresholds

from subscape.exploration import nested, shapes
from subscape.finders.density import gaps, valleys
from subscape.validation import criteria, max_statistic, unimodality


@pytest.mark.parametrize("threshold", thresholds.THRESHOLDS)
def test_every_threshold_is_a_number_with_words_above_it(threshold):
    module, name = thresholds.module_of(threshold)
    value = getattr(module, name)
    assert value > 0
    (_, half), (_, twice) = thresholds.variants(threshold)
    assert half < value < twice and type(half) is type(twice) is type(value)
    assert half == pytest.approx(value / 2)
    if name in thresholds.SHARES:
        assert twice == pytest.approx(min(2 * value, (1 + value) / 2)) and twice < 1
    else:
        assert twice == pytest.approx(2 * value)
    assert len(thresholds.evidence(threshold)) > 20


def test_a_threshold_is_changed_wherever_it_was_imported():
    known = criteria.SIGNIFICANCE_LEVEL
    with thresholds.changed("validation.criteria.SIGNIFICANCE_LEVEL", 0.5):
        told = criteria.SIGNIFICANCE_LEVEL, shapes.SIGNIFICANCE_LEVEL, nested.SIGNIFICANCE_LEVEL
        assert told == (0.5,) * 3
    assert criteria.SIGNIFICANCE_LEVEL == shapes.SIGNIFICANCE_LEVEL == known
    # Others have constants of the same name.
    sure, other = max_statistic.SURE, unimodality.SURE
    with thresholds.changed("validation.max_statistic.SURE", 0.25):
        told = max_statistic.SURE, shapes.SURE, unimodality.SURE
        assert told == (0.25, 0.25, other)
    told = max_statistic.SURE, shapes.SURE, unimodality.SURE
    assert told == (sure, sure, other)
    with pytest.raises(KeyError), thresholds.changed("finders.density.gaps.BROKEN", 0.3):
        assert gaps.BROKEN == 0.3
        raise KeyError
    assert gaps.BROKEN == 0.01


def test_what_was_kept_is_forgotten():
    before = valleys._factor(1.0, 0.5)
    with thresholds.changed("finders.density.valleys.ALONG_CURVES", 2 * valleys.ALONG_CURVES):
        assert valleys._factor(1.0, 0.5) == pytest.approx(2 * before)
    assert valleys._factor(1.0, 0.5) == before


def test_what_differs():
    known = [
        {"name": "a", "sure": 1, "labels": [0, 0, 1, 1], "ami": 1.0},
        {"name": "b", "sure": 1, "labels": [0, 0, 1, 1], "ami": 0.5},
        {"name": "c", "sure": 0, "labels": [0, 0, 0, 0], "ami": None},
        {"name": "d", "sure": 0, "labels": [0, 0, 0, 0], "ami": None},
    ]
    assert thresholds.compared(known, known) == {"differ": [], "ami": 0.75, "claims": 0}
    new = [dict(each) for each in known]
    new[0] |= {"labels": [1, 1, 0, 0]}  # the same groups
    new[1] |= {"labels": [0, 1, 1, 1], "ami": 0.25}
    new[3] |= {"sure": 1}
    assert thresholds.compared(known, new) == {"differ": ["b", "d"], "ami": 0.625, "claims": 1}


def test_tables_have_groups_or_none():
    told = list(thresholds.tables(False, 3))
    assert [name for name, _, truth in told] == [*thresholds.GROUPS, *thresholds.WITHOUT]
    assert [truth is None for _, _, truth in told] == [False] * 9 + [True] * 6
    assert all(len(truth) == len(table) for _, table, truth in told if truth is not None)
    few = [name for name, _, _ in thresholds.tables(True, 3)]
    assert set(few) == set(thresholds.FEW) and len(few) == 3


def test_a_page_lists_every_variant():
    start = {"differ": [], "ami": 0.5, "claims": 0}
    two = [
        {"how": how, "value": value, "differ": names, "ami": 0.25, "claims": 1}
        for how, value, names in (("half", 0.005, []), ("twice", 0.02, ["boxes", "lines"]))
    ]
    found = {"seed": 7, "as it is": start, "validation.criteria.SIGNIFICANCE_LEVEL": two}
    page = thresholds.page(found)
    assert "--seed 7`" in page and "9 tables with planted groups" in page
    assert f"1 of {len(thresholds.THRESHOLDS)} thresholds were tried" in page
    assert "| 0.01 | 0.005 | 0 | 0.25 | 1 | A grouping is *better than chance*" in page
    assert "| 0.01 | 0.02 | 2: boxes, lines | 0.25 | 1 |  |" in page


def test_features_of_every_kind_of_table():
    for number, make in enumerate(features.KINDS.values()):
        X, used, telling = make(np.random.default_rng([5, number]))
        assert X.shape == (features.ROWS, features.COLUMNS) and np.isfinite(X).all()
        assert len(telling) in (0, features.TELLING) and set(telling) <= set(used.tolist())
