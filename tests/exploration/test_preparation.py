import numpy as np
import pytest

from subscape.exploration.new_rows import like_before
from subscape.exploration.preparation import fill, prepare
from subscape.tables import Table


def test_nominal_columns_weigh_like_one_numeric_column(mixed_table):
    table, _ = mixed_table
    ready = prepare(table)
    names = list(table.feature_names)
    indicator = [j for j, r in enumerate(ready.recipes) if r.feature == "colour"]
    assert ready.X[:, indicator].var(axis=0).sum() == pytest.approx(1.0, abs=0.02)
    folded = ready.fold(np.ones((2, ready.X.shape[1])))
    assert folded.shape == (2, len(names))
    assert folded[0, names.index("colour")] == len(indicator)


def test_copies_constants_and_rare_levels_are_said(mixed_table):
    table, _ = mixed_table
    ready = prepare(table)
    searched = dict(zip(table.feature_names, ready.searched, strict=True))
    assert not searched["copy"] and not searched["always"]
    assert searched["height"] and searched["colour"]
    text = " ".join(ready.notes)
    for word in ("copies of other columns: 'copy'", "constant: 'always'", "pooled in 'colour'"):
        assert word in text
    assert not np.isnan(ready.X).any()


def test_the_same_rows_are_prepared_alike_later(mixed_table):
    table, _ = mixed_table
    ready = prepare(table)
    again = like_before(ready.recipes, table)
    here = ~np.isnan(again)
    assert (~here).any()
    np.testing.assert_allclose(again[here], ready.X[here], atol=1e-12)
    with pytest.raises(ValueError, match="not in this one: 'colour'"):
        like_before(ready.recipes, table.select(["height", "weight"]))


def test_very_skewed_columns_become_logarithms():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.exp(2 * rng.normal(size=500)), rng.normal(size=500)])
    ready = prepare(Table.from_array(X))
    assert [r.offset is not None for r in ready.recipes] == [True, False]
    assert abs((ready.X[:, 0] ** 3).mean()) < 0.5


def test_pixels_keep_their_relative_spreads():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, size=(200, 10)).astype(float)
    X[:, 0] = np.where(rng.random(200) < 0.05, 255, 0)
    X[0], X[1] = 0, 255
    ready = prepare(Table.from_array(X))
    assert len({r.scale for r in ready.recipes}) == 1
    assert ready.X[:, 0].std() < 0.9 * ready.X[:, 1].std()


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_large_offsets_leave_no_trace(offset):
    X = np.random.default_rng(0).normal(size=(50, 3)).round(3)
    near, far = prepare(Table.from_array(X)), prepare(Table.from_array(X + offset))
    np.testing.assert_allclose(near.X, far.X, atol=1e-6)


def test_what_cannot_be_grouped_is_refused():
    with pytest.raises(ValueError, match="no column varies"):
        prepare(Table.from_array(np.ones((20, 3))))
    with pytest.raises(ValueError, match=r"1 infinite value in 'x1'"):
        prepare(Table.from_array([[1.0, np.inf], [2.0, 3.0], [0.0, 1.0]]))
    import pandas as pd

    names = Table.read(pd.DataFrame({"name": [f"n{i}" for i in range(30)]}))
    with pytest.raises(ValueError, match="no numeric or nominal column"):
        prepare(names)


def test_gaps_are_filled_from_columns_that_go_with_theirs():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(300, 2))
    whole = factors @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(300, 8))
    whole -= whole.mean(axis=0)
    whole /= whole.std(axis=0)
    holed = whole.copy()
    gone = rng.random(whole.shape) < 0.15
    holed[gone] = np.nan
    fill(holed)
    error = np.sqrt(np.square(holed - whole)[gone].mean())
    assert error < 0.3  # their mean would miss by 1
    np.testing.assert_array_equal(holed[~gone], whole[~gone])
