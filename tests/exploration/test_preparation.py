import numpy as np
import pytest
from scipy.stats import skew, yeojohnson, yeojohnson_normmax

from subscape.datasets import planted_views
from subscape.exploration.new_rows import like_before
from subscape.exploration.preparation import (
    Recipe,
    _likeliest_bend,
    fill,
    prepare,
    shown_numbers,
)
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


# -- gross errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [12, 1, 2, 3, 4, 5])
def test_one_wrong_cell_is_set_aside_and_named(seed):
    X = planted_views(300, 8, n_clusters=(3, 2), random_state=seed).X
    clean = prepare(Table.from_array(X))
    for j in range(8):
        wrong = X.copy()
        wrong[17, j] = -99.0
        ready = prepare(Table.from_array(wrong))
        assert ready.absent.sum() == 1 and ready.absent[17, j]
        assert any("1 cell far beyond" in n and f"'x{j}' (-99)" in n for n in ready.notes)
        others = np.arange(300) != 17
        np.testing.assert_allclose(ready.X[others], clean.X[others], atol=0.05)
        assert abs(ready.X[17, j]) < 3.5


def test_what_is_set_aside_is_missing_in_new_rows_too():
    X = np.random.default_rng(0).normal(size=(100, 3))
    X[5, 1] = 1e6
    table = Table.from_array(X)
    again = like_before(prepare(table).recipes, table)
    assert np.isnan(again).sum() == 1 and np.isnan(again[5, 1])


HEAVY = {
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "log-normal": lambda rng, shape: rng.lognormal(0, 1.5, shape),
    "poisson": lambda rng, shape: rng.poisson(2, shape).astype(float),
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "normal": lambda rng, shape: rng.normal(size=shape),
}


@pytest.mark.parametrize("name", HEAVY)
def test_long_tails_are_no_gross_errors(name):
    rng = np.random.default_rng(1)
    tables = [HEAVY[name](rng, (n, 8)) for n in (50, 300) for _ in range(20)]
    assert sum(int(prepare(Table.from_array(X)).absent.sum()) for X in tables) <= 2


def test_many_far_cells_are_a_group_and_stay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:30, 0] += 500
    assert not prepare(Table.from_array(X)).absent.any()


# -- scales ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [-990, -400, 400, 990])
def test_powers_of_two_leave_no_trace(power):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(80, 3)), rng.gamma(4, size=80)])
    near, far = (prepare(Table.from_array(each)) for each in (X, np.ldexp(X, power)))
    np.testing.assert_allclose(far.X, near.X, rtol=1e-12, atol=1e-12)
    assert far.notes == near.notes
    again = like_before(far.recipes, Table.from_array(np.ldexp(X, power)))
    np.testing.assert_allclose(again, far.X, atol=1e-12)


def test_columns_of_very_different_scales_and_the_ends_of_the_range():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 4))
    wild = X * [1e300, 1e-300, 1.0, 1e308]
    ready = prepare(Table.from_array(wild))
    np.testing.assert_allclose(ready.X, prepare(Table.from_array(X)).X, atol=1e-9)
    numbers, powers = shown_numbers(Table.from_array(wild), ready)
    assert np.abs(numbers).max() <= 1 and powers[2] == 0
    np.testing.assert_array_equal(np.ldexp(numbers, powers), wild)


def test_pixels_share_a_unit_at_every_scale():
    X = np.random.default_rng(0).integers(0, 256, size=(200, 10)).astype(float)
    X[0], X[1] = 0, 255
    near, far = (prepare(Table.from_array(each)) for each in (X, np.ldexp(X, -900)))
    np.testing.assert_allclose(far.X, near.X, atol=1e-12)
    assert any("one unit" in note for note in far.notes)


# -- shapes ---------------------------------------------------------------------------------------


def shape_of(column):
    recipe = prepare(Table.from_array(np.column_stack([column, column[::-1]]))).recipes[0]
    if recipe.bend is not None:
        return "bent"
    return "as is" if recipe.offset is None else "root" if recipe.root else "log"


def test_columns_take_the_likeliest_shape():
    rng = np.random.default_rng(0)
    assert shape_of(rng.lognormal(size=1000)) == "log"
    assert shape_of(np.square(rng.normal(2.5, 0.9, 1000))) == "root"
    assert shape_of(rng.normal(10, 1, 1000)) == "as is"
    assert shape_of(rng.normal(0, 1, 1000) ** 3) == "as is"  # negative numbers have no logarithm
    assert shape_of(np.r_[0.0, rng.lognormal(size=999)]) == "log"
    assert shape_of(rng.lognormal(size=1000) - 1.0) == "bent"  # some numbers are below zero
    assert shape_of(-rng.lognormal(size=1000)) == "bent"  # leans to the left


def test_bent_columns_are_nearly_normal_and_replayed_for_new_rows():
    rng = np.random.default_rng(0)
    column = 40.0 - 3.0 * rng.lognormal(sigma=0.8, size=1000)
    X = np.column_stack([column, rng.normal(size=1000)])
    ready = prepare(Table.from_array(X))
    assert abs(skew(ready.X[:, 0])) < 0.2 < abs(skew(column))
    assert (np.argsort(ready.X[:, 0]) == np.argsort(column)).all()
    recipe = ready.recipes[0]
    np.testing.assert_allclose(recipe.apply(column), ready.X[:, 0], atol=1e-12)
    # By the textbook, for values on either side of the middle.
    for value in (column.mean() - 3.0, column.mean() + 3.0):
        away = (value - column.mean()) / column.std()
        textbook = (yeojohnson([away], recipe.bend)[0] - recipe.centre) / recipe.scale
        np.testing.assert_allclose(recipe.apply(np.array([value]))[0], textbook)
    assert any("Yeo and Johnson" in note and "x0" in note for note in ready.notes)


def test_the_power_is_the_likeliest():
    column = np.random.default_rng(0).gamma(2.0, size=800)
    away = (column - column.mean()) / column.std()
    np.testing.assert_allclose(_likeliest_bend(away), yeojohnson_normmax(away), atol=0.02)


def test_groups_are_no_reason_to_bend_a_column():
    rng = np.random.default_rng(0)
    for share in (0.05, 0.2, 0.5):
        far = rng.random(800) < share
        assert shape_of(np.where(far, 6.0, 2.0) + 0.4 * rng.normal(size=800)) == "as is"


@pytest.mark.parametrize("offset, root", [(0.0, False), (0.5, True)])
def test_shapes_are_replayed_for_new_rows(offset, root):
    recipe = Recipe("x", offset=offset, root=root, centre=0.25, scale=2.0)
    values = np.array([0.5, 1.0, 7.0])
    bent = np.sqrt(values + offset) if root else np.log(values + offset)
    np.testing.assert_allclose(recipe.apply(values), (bent - 0.25) / 2.0)
