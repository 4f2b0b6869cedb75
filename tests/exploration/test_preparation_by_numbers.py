"""What becomes of a table before it is searched, computed a second time by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.stats import norm, yeojohnson

from subscape.core.errors import SubscapeError
from subscape.exploration import preparation
from subscape.exploration.preparation import (
    Prepared,
    Recipe,
    _are_shares,
    _are_sparse_counts,
    _bent,
    _likelier,
    _likeliest_bend,
    _likelihood,
    _limits,
    _near_one,
    _numbers_of_values,
    _one_unit,
    _pooled,
    _scales,
    _straight,
    _straightened,
    _tail_chance,
    fill,
    prepare,
    shown_numbers,
)
from subscape.exploration.study import as_table
from subscape.tables import Table


def border(holds, low, high):
    """Two numbers next to each other, so that it holds at the second and not at the first."""
    assert holds(high) and not holds(low)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low - 1e-9 * abs(low), high + 1e-9 * abs(high)


# -- recipes --------------------------------------------------------------------------------------


def test_a_recipe_is_applied_step_by_step():
    values = np.array([-9.0, 1.0, 8.0, 9.0, 16.0, 64.0, 65.0])
    recipe = Recipe("x", low=1.0, high=64.0, power=3, offset=1.0, centre=0.5, scale=2.0)
    known = np.full(7, np.nan)  # what lies beyond the limits
    known[1:6] = (np.log(values[1:6] / 8 + 1) - 0.5) / 2
    np.testing.assert_allclose(recipe.apply(values), known)
    bent = Recipe("x", bend=0.5, pivot=8.0, unit=4.0, centre=-1.0, scale=0.5)
    known = (yeojohnson((values - 8) / 4, 0.5) + 1) / 0.5
    np.testing.assert_allclose(bent.apply(values), known)
    assert Recipe("x", high=1.0).apply(values).tolist() == values.tolist()
    assert Recipe("x", low=1.0).apply(values).tolist() == values.tolist()
    assert values[0] == -9.0  # what is given is not changed


def test_an_indicator_is_as_high_as_it_was():
    recipe = Recipe("x", levels=("a", "b"), height=0.7, centre=0.2, scale=0.5)
    found = recipe.apply(np.array(["a", "c", None, "b"], dtype=object))
    np.testing.assert_allclose(found, [1.0, -0.4, np.nan, 1.0])
    plain = Recipe("x", levels=("a",)).apply(np.array(["a", "c"], dtype=object))
    assert plain.tolist() == [1.0, 0.0]
    assert Recipe("x").apply(np.array([3.0, -2.0])).tolist() == [3.0, -2.0]


def ready_of(X, numeric, few_valued, origin=None):
    n = X.shape[1]
    return Prepared(
        X=X,
        recipes=(),
        origin=np.arange(n) if origin is None else np.array(origin),
        numeric=np.array(numeric, dtype=np.intp),
        few_valued=np.array(few_valued, dtype=np.intp),
        names=(),
        absent=np.zeros(X.shape, dtype=bool),
        searched=np.ones(n if origin is None else max(origin) + 2, dtype=bool),
        notes=(),
    )


def test_columns_are_folded_to_their_features():
    ready = ready_of(np.zeros((1, 4)), [], [], origin=[2, 0, 2, 1])
    values = np.arange(24.0).reshape(2, 3, 4)
    folded = ready.fold(values)
    assert folded.shape == (2, 3, 4)
    np.testing.assert_array_equal(folded[..., 0], values[..., 1])
    np.testing.assert_array_equal(folded[..., 1], values[..., 3])
    np.testing.assert_array_equal(folded[..., 2], values[..., 0] + values[..., 2])
    assert not folded[..., 3].any()


def test_normal_scores_keep_the_order_and_the_width():
    X = np.array([[3.0, 1.0, 5.0], [1.0, 2.0, 5.0], [10.0, 1.0, 7.0], [2.0, 2.0, 6.0]])
    ready = ready_of(X, [0, 1, 2], [1])
    found = ready.in_normal_scores()
    scores = norm.ppf([1 / 8, 3 / 8, 5 / 8, 7 / 8])
    known = scores[[2, 0, 3, 1]] * X[:, 0].std() / scores.std()
    np.testing.assert_allclose(found[:, 0], known)
    assert found[:, 1].tolist() == X[:, 1].tolist()  # few values stay
    assert found[:, 0].std() == pytest.approx(X[:, 0].std())
    assert sorted(found[:2, 2]) + sorted(found[2:, 2]) == pytest.approx(
        (scores * X[:, 2].std() / scores.std()).tolist()
    )
    assert X[0, 0] == 3.0


def test_equal_values_are_put_in_the_same_order_at_random_each_time():
    X = np.column_stack([np.repeat([0.0, 1.0], 20), np.arange(40.0)])
    found = ready_of(X, [0, 1], []).in_normal_scores()[:, 0]
    order = np.lexsort((np.random.default_rng(0).random(40), X[:, 0]))
    assert (np.argsort(found) == order).all() and (order != np.arange(40)).any()


# -- which columns --------------------------------------------------------------------------------


def test_what_is_not_a_number_at_all():
    X = np.array([[np.inf, 1.0, -np.inf], [2.0, 2.0, 3.0], [1.0, 4.0, np.inf]])
    with pytest.raises(SubscapeError, match=r"^3 infinite values in 'x0', 'x2'; replace them"):
        prepare(Table.from_array(X))
    frame = pd.DataFrame({"name": [f"n{i}" for i in range(30)]})
    with pytest.raises(SubscapeError, match=r"; its columns are 'name \(id\)'. Give"):
        prepare(Table.read(frame))


def pooled_of(counts, name="kind"):
    levels = [level for level, times in counts.items() for _ in range(times)]
    frame = pd.DataFrame({name: levels, "x": np.arange(float(len(levels)))})
    notes: list[str] = []
    table = as_table(frame)
    assert table.column(name).role == "nominal"
    return table, _pooled(table, notes), notes


def test_levels_of_less_than_a_hundredth_are_pooled():
    # 400 rows: three are less than a hundredth, four are not.
    table, pooled, notes = pooled_of({"a": 3, "b": 200, "c": 3, "d": 4, "e": 190})
    assert table.n_rows == 400
    assert pooled.column("kind").levels == ("b", "d", "e", "other levels")
    codes = np.array(pooled.others["kind"])
    assert np.bincount(codes).tolist() == [200, 4, 190, 6]
    assert (codes[:3] == 3).all() and (codes[3:203] == 0).all() and (codes[203:206] == 3).all()
    assert notes == ["levels with less than 1% of the rows are pooled in 'kind'"]
    np.testing.assert_array_equal(pooled.X, table.X)


def test_of_few_rows_only_single_ones_are_pooled():
    _, pooled, _ = pooled_of({"a": 1, "b": 20, "c": 1, "d": 2})
    assert pooled.column("kind").levels == ("b", "d", "other levels")
    # One rare level is no more after than before.
    table, pooled, notes = pooled_of({"a": 1, "b": 20, "d": 2})
    assert pooled is table and notes == []


def test_levels_without_a_common_one_stay():
    table = as_table(pd.DataFrame({"x": np.arange(4.0), "kind": list("aabb")}))
    column = next(c for c in table.schema if c.name == "kind")
    assert _pooled(table, []) is table
    others = dict(table.others) | {column.name: np.array([0, 1, -1, -1], dtype=np.int32)}
    assert _pooled(replace(table, others=others), []).column("kind").levels == ("a", "b")


def test_the_name_of_pooled_levels_is_a_new_one():
    counts = {"other levels": 30, "other levels…": 20, "a": 1, "b": 1}
    _, pooled, _ = pooled_of(counts)
    assert pooled.column("kind").levels == ("other levels", "other levels…", "other levels……")


def test_missing_levels_stay_missing_when_others_are_pooled():
    kinds = [None, *["a"] * 30, *["b"] * 20, "c", None, "d"]
    frame = pd.DataFrame({"x": np.arange(54.0), "kind": kinds, "other": ["u", "v"] * 27})
    table = as_table(frame)
    notes: list[str] = []
    codes = _pooled(table, notes).others["kind"]
    assert codes[[0, 52]].tolist() == [-1, -1] and codes[[51, 53]].tolist() == [2, 2]
    assert notes == ["levels with less than 1% of the rows are pooled in 'kind'"]
    ready = prepare(table)
    assert [r.levels for r in ready.recipes] == [
        None, ("a",), ("b",), ("c", "d"), ("u",), ("v",)
    ]  # fmt: skip
    assert ready.origin.tolist() == [0, 1, 1, 1, 2, 2]
    assert ready.names == ("x", "kind=a", "kind=b", "kind=other levels", "other=u", "other=v")
    assert ready.absent.sum() == 2 and ready.absent[[0, 52], 1].all()
    # Indicators of one column, as they are where they hold, and weigh as one number together.
    for j, recipe in enumerate(ready.recipes[1:], 1):
        texts = np.array(kinds if j < 4 else frame["other"].tolist(), dtype=object)
        here = np.array([text in (recipe.levels or ()) for text in texts])
        present = np.array([text is not None for text in texts])
        column = ready.X[:, j]
        assert column[here].max() - column[here].min() < 1e-12
        np.testing.assert_allclose(
            column[here].mean() - column[present & ~here].mean(), recipe.height
        )
        np.testing.assert_allclose(recipe.apply(texts)[present], column[present], atol=1e-12)
        assert recipe.scale == 1.0
    for own in ([1, 2, 3], [4, 5]):
        known = np.ones(54, dtype=bool)
        known[[0, 52]] = own != [1, 2, 3]
        assert ready.X[known][:, own].var(axis=0).sum() == pytest.approx(1.0)


def test_columns_are_left_out_that_are_almost_empty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    X[:16, 1] = np.nan  # four fifths
    X[:17, 2] = np.nan
    ready = prepare(Table.from_array(X))
    assert ready.searched.tolist() == [True, True, False, True]
    assert "left out, because more than 80% of their cells are missing: 'x2'" in ready.notes
    X[:, 3] = 2.0
    X[17:, 2] = 5.0  # constant where it is known
    X[:, 1] = X[:, 0]
    ready = prepare(Table.from_array(X))
    assert ready.searched.tolist() == [True, False, False, False]
    assert ready.notes[:3] == (
        "left out, because more than 80% of their cells are missing: 'x2'",
        "left out, because constant: 'x3'",
        "left out, because copies of other columns: 'x1'",
    )
    assert ready.X.shape == (20, 1) and ready.origin.tolist() == [0]
    assert ready.names == ("x0",) and ready.n_features == 4


# -- the whole ------------------------------------------------------------------------------------


def test_numbers_have_mean_zero_and_spread_one():
    X = np.array([[1.0, 10.0], [2.0, 30.0], [3.0, 10.0], [6.0, 50.0]])
    ready = prepare(Table.from_array(X))
    np.testing.assert_allclose(ready.X, (X - X.mean(axis=0)) / X.std(axis=0))
    assert ready.notes == ("numeric columns are standardised (mean 0, standard deviation 1)",)
    assert [r.centre for r in ready.recipes] == [3.0, 25.0]
    assert [r.scale for r in ready.recipes] == pytest.approx(X.std(axis=0).tolist())
    assert not ready.absent.any()
    assert X[0, 0] == 1.0
    only = prepare(as_table(pd.DataFrame({"a": ["u", "v"] * 20, "b": ["x", "y", "x", "x"] * 10})))
    assert only.notes == ("all columns are nominal; each weighs alike",)
    assert only.numeric.size == 0 and only.few_valued.tolist() == [0, 1, 2, 3]


def test_which_numbers_have_few_values():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(60) % k for k in (2, 3, 5, 6)] + [rng.normal(size=60)])
    ready = prepare(Table.from_array(X.astype(float)))
    assert ready.numeric.tolist() == [1, 2, 3, 4]
    assert ready.few_valued.tolist() == [0, 1, 2]
    # Of one unit they mean something together.
    together = np.column_stack([(np.arange(60) // k) % 3 for k in range(1, 9)]).astype(float)
    ready = prepare(Table.from_array(together))
    assert "taken as one unit" in ready.notes[0]
    assert ready.numeric.tolist() == list(range(8)) and ready.few_valued.size == 0


def test_what_is_missing_is_counted_where_it_is_searched():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4))
    X[:, 2] = 1.0
    X[5:8, 2] = np.nan
    table = Table.from_array(X)
    assert len(prepare(table).notes) == 2
    X[[1, 2, 3], [0, 0, 1]] = np.nan
    X[9, 3] = 1e7
    table = Table.from_array(X)
    before = np.array(table.missing)
    ready = prepare(table)
    assert ready.notes[-1] == (
        "3 missing cells (2.0% of what is searched) filled from the columns that go with theirs, "
        "for finders that can't take gaps"
    )
    assert ready.notes[1] == (
        "1 cell far beyond all others of the column set aside as gross error, as if missing: "
        "'x3' (1e+07)"
    )
    np.testing.assert_array_equal(table.missing, before)
    assert ready.absent[9, 3] and ready.absent.sum() == 7 == before.sum() + 1
    # Where only a gross error is gone, nothing was missing.
    clean = np.random.default_rng(3).normal(size=(50, 3))
    clean[4, 1] = -1e5
    ready = prepare(Table.from_array(clean))
    assert not any("filled" in note for note in ready.notes) and not np.isnan(ready.X).any()


def test_a_table_may_be_sparse():
    X = np.random.default_rng(0).normal(size=(30, 3)).round(2)
    near, thin = prepare(Table.from_array(X)), prepare(Table.from_array(sparse.csr_array(X)))
    np.testing.assert_allclose(near.X, thin.X, atol=1e-12)
    assert not thin.absent.any() and thin.absent.shape == (30, 3)


# -- skewed columns -------------------------------------------------------------------------------


def straight(values, n_numeric=None):
    values = np.array(values, dtype=float)
    recipes = [Recipe(f"c{j}") for j in range(values.shape[1])]
    notes: list[str] = []
    numeric = np.arange(values.shape[1] if n_numeric is None else n_numeric)
    return values, _straight(values, recipes, numeric, notes), notes


def is_bent(recipe):
    return recipe.offset is not None or recipe.bend is not None


def test_what_is_straightened_and_what_is_not():
    rng = np.random.default_rng(0)
    skewed, plain = rng.lognormal(sigma=1.2, size=200), rng.normal(size=200)
    values, recipes, notes = straight(np.column_stack([skewed, plain]))
    np.testing.assert_allclose(values[:, 0], np.log(skewed))
    assert values[:, 1].tolist() == plain.tolist() and not is_bent(recipes[1])
    assert notes == ["searched as logarithms, because skewed: 'c0'"]
    # Squares of what is normal.
    squares = np.square(rng.normal(2.6, 1.0, size=400))
    values, recipes, notes = straight(np.column_stack([squares, rng.normal(size=400)]))
    assert recipes[0].root and recipes[0].offset == 0.0
    np.testing.assert_allclose(values[:, 0], np.sqrt(squares))
    assert notes == ["searched as square roots, because skewed: 'c0'"]
    _, recipes, notes = straight(np.column_stack([-skewed, plain]))
    assert notes == ["searched with a power of Yeo and Johnson, because skewed: 'c0'"]
    assert recipes[0].offset is None and recipes[0].bend is not None
    # Columns that are not numeric stay.
    values, recipes, notes = straight(np.column_stack([plain, skewed]), 1)
    assert values[:, 1].tolist() == skewed.tolist() and notes == []


def test_columns_mostly_of_one_value_stay():
    rng = np.random.default_rng(0)
    tail = rng.lognormal(sigma=1.2, size=300)
    plain = rng.normal(size=1000)
    for zeros, bent in ((700, True), (701, False)):
        column = np.r_[np.zeros(zeros), rng.choice(tail, 1000 - zeros)]
        _, recipes, _ = straight(np.column_stack([column, plain]))
        assert is_bent(recipes[0]) == bent, zeros
    # Gaps count neither way.
    column = np.r_[np.zeros(701), np.full(999, np.nan), rng.choice(tail, 299)]
    _, recipes, _ = straight(np.column_stack([column, np.arange(1999.0)]))
    assert not is_bent(recipes[0])


def test_columns_of_ten_values_stay(monkeypatch):
    monkeypatch.setattr(preparation, "is_multimodal", lambda column: False)
    rng = np.random.default_rng(0)
    for number, bent in ((10, False), (11, True)):
        levels = np.exp(np.linspace(0, 5, number))
        often = np.rint(500 * norm.pdf(np.linspace(-2, 2.5, number))).astype(int)
        column = np.repeat(levels, often)
        assert len(np.unique(column)) == number
        _, recipes, _ = straight(np.column_stack([column, rng.normal(size=len(column))]))
        assert is_bent(recipes[0]) == bent


def test_only_positive_columns_with_a_skewness_above_a_half_become_logarithms(monkeypatch):
    from scipy.stats import skew

    seen = []
    monkeypatch.setattr(
        preparation, "_likelier", lambda present, recipe, positive: seen.append(positive)
    )
    base = np.linspace(0.1, 1.0, 50)

    def column(power):
        return base**power

    low, high = border(lambda power: skew(column(power)) > 0.5, 1.0, 8.0)
    straight(np.column_stack([column(low), column(high), column(high) - 0.2, -column(low)]))
    assert seen == [False, True, False, False]
    zero = column(high + 1) - column(high + 1).min()
    straight(np.column_stack([zero, -zero]))
    assert seen[4:] == [True, False]


def test_shares_of_one_whole_stay():
    rng = np.random.default_rng(0)
    parts = rng.dirichlet([0.6] * 4, size=200)
    _, recipes, notes = straight(parts)
    assert notes == ["the numbers of each row add up to the same, and are searched as they are"]
    assert not any(map(is_bent, recipes))
    assert _are_shares(parts) and _are_shares(parts[:2]) and not _are_shares(parts[:1])
    assert not _are_shares(parts - 0.01) and _are_shares(
        np.maximum(parts - parts.min(), 0)[:, :3] * 0 + 1
    )
    assert not _are_shares(np.ones((5, 2))) and _are_shares(np.ones((5, 3)))
    # Totals of 1 and 1 + 2 s: a mean of 1 + s, and a spread of s.
    for spread, same in ((0.00099, True), (0.00102, False)):
        table = np.full((10, 3), 1 / 3)
        table[::2] *= 1 + 2 * spread
        assert _are_shares(table) == same
        # Rows with gaps have no total.
        holed = np.vstack([table, [[np.nan, 0.3, 9.0]]])
        assert _are_shares(holed) == same
    assert not _are_shares(np.vstack([np.ones((5, 3)), [[np.nan, -1.0, 1.0]]]))


def test_logarithms_and_roots_of_what_is_below_all():
    found = _straightened(np.array([-5.0, 0.0, 3.0]), 1.0, False)
    np.testing.assert_allclose(found, [np.log(np.finfo(float).tiny), 0.0, np.log(4.0)])
    np.testing.assert_allclose(
        _straightened(np.array([-5.0, 0.0, 8.0]), 1.0, True), [0, 1, 3], atol=1e-100
    )


def likelihood_by_hand(column):
    """One normal distribution, or two with one spread, split at the best place."""
    ordered, n = np.sort(column), len(column)
    best = -0.5 * n * np.log(ordered.var())
    for k in range(1, n):
        left, right = ordered[:k], ordered[k:]
        within = (k * left.var() + (n - k) * right.var()) / n
        two = k * np.log(k / n) + (n - k) * np.log((n - k) / n) - 0.5 * n * np.log(within)
        best = max(best, two - np.log(n))
    return best


def test_likelihood_of_one_group_or_two():
    rng = np.random.default_rng(0)
    one = rng.normal(3.0, 2.0, size=40)
    two = np.r_[one, rng.normal(40.0, 2.0, size=15)]
    for column in (one, two, one[:3], rng.exponential(size=31)):
        assert _likelihood(column) == pytest.approx(likelihood_by_hand(column))
    assert likelihood_by_hand(one) == pytest.approx(-20 * np.log(one.var()))
    assert likelihood_by_hand(two) > -27.5 * np.log(two.var()) + 20
    assert _likelihood(np.full(5, 2.0)) == -np.inf
    # Two values: the spread within is not taken for less than a millionth of all.
    pair = _likelihood(np.array([0.0, 0.0, 1.0, 1.0]))
    assert pair == pytest.approx(4 * (-np.log(2) - 0.5 * np.log(0.25e-12)) - np.log(4))


def bend_by_hand(away):
    def loss(bend):
        slope = (np.sign(away) * np.log1p(np.abs(away))).mean()
        return np.log(yeojohnson(away, bend).std()) - (bend - 1) * slope

    return minimize_scalar(loss, bounds=(-3, 5), method="bounded", options={"xatol": 0.01}).x


def shape_by_hand(column):
    """Which shape wins, by Box and Cox's densities of the column itself."""
    n = len(column)
    best, found = likelihood_by_hand(column) + 0.05 * n + np.log(n), "as is"
    if column.min() >= 0:
        offset = 0.0 if column.min() > 0 else column[column > 0].min()
        logs = np.log(column + offset)
        roots = likelihood_by_hand(2 * np.sqrt(column + offset)) - 0.5 * logs.sum()
        as_logs = likelihood_by_hand(logs) - logs.sum()
        if max(roots, as_logs) > best:
            found = "root" if roots >= as_logs else "log"
            best = max(roots, as_logs) + np.log(n)
    away = (column - column.mean()) / column.std()
    bend = bend_by_hand(away)
    slope = (bend - 1) * (np.sign(away) * np.log1p(np.abs(away))).sum()
    bent = likelihood_by_hand(yeojohnson(away, bend)) + slope - n * np.log(column.std())
    return "bent" if bent > best else found


def shape(column, positive=True):
    recipe = _likelier(column, Recipe("x"), positive)
    if recipe is None:
        return "as is"
    return "bent" if recipe.bend is not None else "root" if recipe.root else "log"


NORMAL = norm.ppf((np.arange(60) + 0.5) / 60)
#: Columns with one number that makes them more skewed, from where to where it is looked at.
FAMILIES = {
    "logs": (lambda s: np.exp(s * NORMAL), 0.05, 1.2),
    "roots": (lambda s: np.square(1.0 + s * (NORMAL + 2.6) / 2.6), 0.0001, 30.0),
    "logs with zeros": (lambda s: np.r_[0.0, 0.0, np.exp(s * NORMAL)], 0.05, 2.5),
    "left": (lambda s: -np.exp(s * NORMAL), 0.05, 1.2),
    "roots or logs": (lambda s: (np.exp(s * NORMAL) + 1 / s) ** 1.5, 0.05, 2.5),
    "heavy": (lambda s: np.exp(s * np.sinh(NORMAL)), 0.05, 1.5),
    "long": (lambda s: np.exp(s * NORMAL) + np.exp(NORMAL * 0.1), 0.05, 2.5),
    "roots with zeros": (lambda s: np.r_[0.0, 0.0, np.square(1 + s * (NORMAL + 2.6))], 0.001, 9.0),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_the_likeliest_shape_wins_and_has_to_gain_enough(name, monkeypatch):
    # Whether there are several humps is another question.
    monkeypatch.setattr(preparation, "is_multimodal", lambda column: False)
    family, low, high = FAMILIES[name]
    grid = np.geomspace(low, high, 9)
    known = [shape_by_hand(family(s)) for s in grid]
    assert [shape(family(s), family(s).min() >= 0) for s in grid] == known
    assert len(set(known)) > 1
    # And next to where one shape takes the place of another.
    for s, other, first, last in zip(grid, grid[1:], known, known[1:], strict=False):
        if first != last:
            for _ in range(20):
                middle = 0.5 * (s + other)
                here = shape_by_hand(family(middle))
                s, other = (middle, other) if here == first else (s, middle)
            for near in (s, other):
                column = family(near)
                assert shape(column, column.min() >= 0) == shape_by_hand(column)


def test_columns_with_humps_stay(monkeypatch):
    column = np.exp(NORMAL)
    assert shape(column) == "log" and shape(column, positive=False) in ("bent", "as is")
    seen = []
    monkeypatch.setattr(
        preparation, "is_multimodal", lambda present: seen.append(present.tolist()) or True
    )
    assert shape(column) == "as is" and seen == [column.tolist()]


def test_what_a_shape_keeps_of_a_recipe():
    before = Recipe("x", low=-1.0, high=99.0, power=7)
    column = np.exp(NORMAL)
    found = _likelier(column, before, True)
    assert (found.low, found.high, found.power, found.offset, found.root) == (-1, 99, 7, 0, False)
    zeros = np.r_[0.0, np.exp(2 * NORMAL)]
    assert _likelier(zeros, before, True).offset == zeros[1]
    bent = _likelier(-column, before, False)
    assert bent.pivot == pytest.approx(-column.mean()) and bent.unit == pytest.approx(column.std())
    assert bent.bend == pytest.approx(bend_by_hand((-column + column.mean()) / column.std()))
    # Limits and the power of two were applied before.
    values = np.column_stack([column, NORMAL])
    changed = _straight(values, [before, before], np.arange(2), [])
    np.testing.assert_allclose(values[:, 0], NORMAL, atol=1e-12)
    assert changed[0] == found and changed[1] is before


def test_the_likeliest_power_by_a_sample_of_long_columns():
    rng = np.random.default_rng(5)
    away = rng.gamma(1.5, size=5001)
    away = (away - away.mean()) / away.std()
    short = away[:5000]
    assert _likeliest_bend(short) == pytest.approx(bend_by_hand(short), abs=1e-9)
    sample = np.random.default_rng(0).choice(away, 5000, replace=False)
    assert _likeliest_bend(away) == pytest.approx(bend_by_hand(sample), abs=1e-9)
    assert bend_by_hand(sample) != bend_by_hand(away)
    # The bounds.
    right = np.r_[np.linspace(0.0, 0.1, 50), 50.0]
    for away, end in ((right, -3.0), (-right, 5.0)):
        assert _likeliest_bend(away) == pytest.approx(end, abs=0.02)
    # Without a spread there is nothing to choose, but no error either.
    assert -3 <= _likeliest_bend(np.zeros(5)) <= 5


def test_powers_of_yeo_and_johnson_by_scipy():
    away = np.array([-7.0, -1.0, -0.2, 0.0, 0.3, 2.0, 9.0])
    for bend in (-3.0, -1.0, 0.0, 0.5, 1.0, 1.7, 2.0, 3.0, 5.0):
        np.testing.assert_allclose(_bent(away, bend), yeojohnson(away, bend), atol=1e-12)


# -- gross errors ---------------------------------------------------------------------------------


def chance_by_hand(falling, m):
    """The gap's logarithm against the mean of those below it: F with 2 and 2 k degrees."""
    from scipy.stats import f

    k = min(max(len(falling) // 10, 5), 30)
    below = [value for value in falling[m : m + k + 1] if value > 0]
    k = len(below) - 1
    if k < 1:
        return 1.0
    usual = np.mean([np.log(value / below[-1]) for value in below[:-1]])
    if usual == 0:
        return 0.0
    # By the representation of Renyi, the m-th of m has a gap of a mean over m.
    return f.sf(m * np.log(falling[m - 1] / below[0]) / usual, 2, 2 * k)


@pytest.mark.parametrize("n", [8, 20, 59, 60, 69, 70, 299, 300, 309, 310, 320, 500])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_chance_of_a_gap_under_a_tail_that_falls_as_a_power(n, m):
    falling = np.sort(np.random.default_rng(n).pareto(2.0, size=n) + 1)[::-1]
    falling[:m] *= 3
    assert _tail_chance(falling, m) == pytest.approx(chance_by_hand(falling, m))


def test_chance_where_distances_are_equal_or_none():
    assert _tail_chance(np.array([9.0, 0.0, 0.0, 0.0]), 1) == 1.0
    assert _tail_chance(np.array([9.0, 2.0, 0.0, 0.0]), 1) == 1.0  # one alone is no tail
    assert 0 < _tail_chance(np.array([9.0, 2.0, 1.0, 0.0]), 1) < 1
    assert _tail_chance(np.array([9.0, 2.0, 1.0, 0.0]), 1) == pytest.approx(
        1 / (1 + np.log(4.5) / np.log(2))
    )
    assert _tail_chance(np.array([9.0, 2.0, 2.0, 2.0]), 1) == 0.0


def limits_by_hand(column, level):
    present = np.sort(column[~np.isnan(column)])
    n = len(present)
    if n < 20 or not present.any():
        return None
    middle = present[n // 2]
    away = np.abs(present - middle)
    order = np.argsort(-away, kind="stable")
    for m in range(max(1, min(5, int(0.02 * n))), 0, -1):
        gross, rest = present[order[:m]], np.sort(present[order[m:]])
        reach = rest[-1] - rest[0]
        gap = min(max(rest[0] - value, value - rest[-1]) for value in gross)
        spread = 1.4826 * np.median(np.abs(rest - middle))
        farthest, nearest = away[order[m - 1]], away[order[m]]
        if not (farthest > 2 * nearest and gap > reach and farthest > 10 * spread > 0):
            continue
        if chance_by_hand(away[order], m) >= level:
            continue
        if present[0] > 0 and gross.min() > rest[-1]:
            logs = np.log(present) - np.log(present[n // 2])
            if chance_by_hand(logs[::-1][: n // 2], m) >= level:
                continue
        return rest[0] - reach, rest[-1] + reach
    return None


def even(n):
    return np.linspace(-1.0, 1.0, n)


FAR_AWAY = {
    "the gap is as wide as all others": (lambda v: np.r_[even(99), v], 0.5),
    "three cells": (lambda v: np.r_[even(160), v, 1.2 * v, -1.1 * v], 0.5),
    "five cells at most": (lambda v: np.r_[even(400), v * np.linspace(1, 1.5, 5)], 0.5),
    "nothing is known by chance": (lambda v: np.r_[norm.ppf(np.linspace(0.01, 0.99, 70)), v], 1e-4),
    "long tails": (lambda v: np.r_[np.tan(1.5 * even(199)), v], 1e-3),
    "positive": (lambda v: np.r_[even(149) + 2.0, v], 1e-6),
    "positive, in logarithms": (lambda v: np.r_[np.exp(2 * even(149)), v], 1e-3),
    "negative": (lambda v: -np.r_[np.exp(2 * even(149)), v], 1e-3),
    "twenty rows": (lambda v: np.r_[even(19), v], 0.1),
    "robust spreads": (lambda v: np.r_[0.02 * even(10), even(19) * 0.3, v * 0.3], 0.9),
    "below all, but positive": (lambda v: np.r_[np.linspace(3000, 3001, 99), 3000 - v], 1e-2),
    "with gaps": (lambda v: np.r_[even(49), np.nan, -v, np.nan], 0.05),
    "below, as wide as all others": (lambda v: np.r_[-1.0, 0.01 * even(97), 1.0, -v], 0.99),
    "above, as wide as all others": (lambda v: np.r_[-1.0, 0.01 * even(97), 1.0, v], 0.99),
    "from zero on": (lambda v: np.r_[np.linspace(0.0, 2.0, 99), v], 0.05),
    "one below zero": (lambda v: np.r_[-0.5, np.linspace(0.5, 2.0, 98), v], 0.05),
    "up to one": (lambda v: np.r_[even(49) / 1e5, v / 1e5], 0.05),
    "up to zero": (lambda v: np.r_[even(49) - 1.0, -v - 1.0], 0.05),
    "as large as all": (lambda v: 1e300 * np.r_[even(49), v], 0.05),
}


@pytest.mark.parametrize("name", FAR_AWAY)
def test_from_where_on_a_cell_is_a_gross_error(name):
    family, level = FAR_AWAY[name]
    low, high = border(lambda v: limits_by_hand(family(v), level) is not None, 0.5, 1e5)
    assert _limits(family(low), level) is None
    for v in (high, 1.5 * high, 20 * high):
        found, known = _limits(family(v), level), limits_by_hand(family(v), level)
        assert (found is None) == (known is None)
        if known is not None:
            assert found == pytest.approx(known)


def test_columns_without_a_spread_or_too_short_have_no_gross_errors():
    assert _limits(np.r_[even(18), 1e9], 0.9) is None
    assert _limits(np.r_[even(19), 1e9], 0.9) is not None
    assert _limits(np.r_[even(18), np.nan, 1e9], 0.9) is None
    assert _limits(np.zeros(50), 0.9) is None
    # More than half are equal: no robust spread.
    assert _limits(np.r_[np.zeros(60), even(39), 1e9], 0.9) is None
    assert _limits(np.r_[np.zeros(40), even(59), 1e9], 0.9) is not None


def test_how_many_cells_are_gross_errors_at_most():
    far = 1e6 * np.linspace(1, 1.5, 6)
    for n, number, gone in (
        (49, 1, True), (97, 2, False), (98, 2, True), (146, 3, False), (147, 3, True),
        (245, 5, True), (994, 6, False),
    ):  # fmt: skip
        found = _limits(np.r_[even(n), far[:number]], 0.05)
        assert (found is not None) == gone, (n, number)


def test_gross_errors_are_told_the_largest_first():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[[3, 4, 5, 6], 0] = [1e5, -2e5, 4e5, -3e5]
    X[7, 1] = 123456.75
    ready = prepare(Table.from_array(X, feature_names=("a", "b")))
    assert ready.notes[0] == (
        "5 cells far beyond all others of the column set aside as gross errors, as if missing: "
        "'a' (400000, -300000, -200000 and 1 more), 'b' (123457)"
    )
    assert ready.absent.sum() == 5 and ready.absent[3:7, 0].all() and ready.absent[7, 1]
    rest = np.delete(X[:, 0], [3, 4, 5, 6])
    reach = np.ptp(rest)
    assert ready.recipes[0].low == pytest.approx(rest.min() - reach)
    assert ready.recipes[0].high == pytest.approx(rest.max() + reach)


def test_the_level_of_gross_errors_is_shared_by_columns(monkeypatch):
    seen = []
    monkeypatch.setattr(preparation, "_limits", lambda column, level: seen.append(level))
    prepare(Table.from_array(np.random.default_rng(0).normal(size=(30, 4))))
    assert seen == [0.01 / (5 * 4)] * 4


# -- scales ---------------------------------------------------------------------------------------


def test_from_where_on_columns_are_brought_near_to_one():
    # Largest values of 2 ** 99 are 0.5 * 2 ** 100, and so on.
    columns = np.array([[1.0, -0.5], [0.25, 0.0]])
    for power, taken in ((99, 0), (100, 101), (-101, 0), (-102, -101)):
        values = np.ldexp(columns, power)
        near = _near_one(values, [Recipe("a"), Recipe("b")], np.array([0]))
        assert near[0].power == taken and near[1].power == 0
        np.testing.assert_array_equal(values[:, 0], np.ldexp(columns[:, 0], power - taken))
        np.testing.assert_array_equal(values[:, 1], np.ldexp(columns[:, 1], power))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_numbers_as_they_are_told_of(form):
    X = np.random.default_rng(0).uniform(0.5, 1.0, size=(40, 3))
    X[0] = 1.0
    X *= [2.0**99, 2.0**100, 2.0**-102]
    X[3, 0] = np.nan
    table = Table.from_array(form(X))
    numbers, power = shown_numbers(table, prepare(table))
    assert power.tolist() == [0, 101, -101]
    np.testing.assert_array_equal(np.ldexp(numbers, power), X)


def unit_table(n_rows=50, n_columns=10, top=1.0):
    values = np.random.default_rng(0).uniform(size=(n_rows, n_columns))
    values[0], values[1] = 0.0, 1.0
    values[:, -3:] *= top
    return values


def in_one_unit(values, power=None):
    n = values.shape[1]
    power = np.zeros(n, dtype=int) if power is None else power
    return _one_unit(values, np.arange(n), power)


def test_what_is_taken_as_one_unit():
    assert in_one_unit(unit_table(n_columns=8)) and not in_one_unit(unit_table(n_columns=7))
    assert in_one_unit(unit_table(top=1.499)) and in_one_unit(unit_table(top=1.5))
    assert not in_one_unit(unit_table(top=1.501))
    assert in_one_unit(unit_table(top=1 / 1.499)) and not in_one_unit(unit_table(top=1 / 1.501))
    # One of ten may have another range.
    wide = unit_table(n_columns=21)
    wide[:, :2] *= 1.6
    assert in_one_unit(wide)
    wide[:, 2] *= 1.6
    assert not in_one_unit(wide)
    # A start is the same to nine digits of what is largest.
    for shift, same in ((0.9e-9, True), (1.2e-9, False)):
        values = unit_table()
        values[:, 3] += shift
        assert in_one_unit(values) == same
        values = unit_table() + 1000.0
        values[:, 3] += shift * 1000
        assert in_one_unit(values) == same
    # The largest of all starts may be below zero.
    assert in_one_unit(unit_table() - 5.0) and not in_one_unit(unit_table() - np.arange(10))


def test_sparse_counts_are_one_unit_whatever_their_ranges():
    values = unit_table(top=3.0)
    assert not in_one_unit(values)
    values[10:48] = 0.0
    assert in_one_unit(values)


def test_one_column_may_not_dominate():
    values = np.zeros((100, 9))
    values[:, :8] = np.where(np.arange(100)[:, None] % 10 == np.arange(8), 1.0, 0.0)
    variance = values[:, 0].var()
    for share, same in ((0.499, True), (0.501, False)):
        values[:, 8] = np.where(np.arange(100) % 2 == 0, 0.0, 1.0) * 0
        height = np.sqrt(share / (1 - share) * 8 * variance / 0.09)
        values[:10, 8] = height
        assert values[:, 8].var() == pytest.approx(share / (1 - share) * 8 * variance)
        assert _are_sparse_counts(values)
        assert in_one_unit(values) == same


def test_powers_of_two_are_taken_out_of_one_unit():
    values = unit_table(n_columns=8)
    power = np.array([200] * 8)
    assert in_one_unit(values, power)
    power[3] = 201
    assert not in_one_unit(values, np.array([200, 200, 200, 201, 201, 201, 201, 201]))
    values[:, 3] /= 2
    assert in_one_unit(values, power)
    notes: list[str] = []
    numbers = values - values.mean(axis=0)
    scale = _scales(numbers, np.arange(8), power, True, notes)
    spread = numbers.std(axis=0) * np.where(power == 201, 2.0, 1.0)
    shared = np.sqrt(np.square(spread).mean())
    np.testing.assert_allclose(scale, np.where(power == 201, shared / 2, shared))
    assert notes == [
        "numeric columns begin at one value and have about one range: taken as one unit, they "
        "keep their relative spreads"
    ]


def test_scales_of_numbers_and_of_indicators():
    values = np.array([[1.0, 5.0, -3.0], [-1.0, -5.0, np.nan], [0.0, 0.0, 4.0]])
    notes: list[str] = []
    scale = _scales(values, np.array([0, 2]), np.zeros(3, dtype=int), False, notes)
    np.testing.assert_allclose(scale, [np.sqrt(2 / 3), 1.0, np.sqrt(12.5)])
    assert notes == ["numeric columns are standardised (mean 0, standard deviation 1)"]
    shared = _scales(values, np.array([0, 2]), np.zeros(3, dtype=int), True, notes)
    np.testing.assert_allclose(
        shared, [np.sqrt((2 / 3 + 12.5) / 2), 1.0, np.sqrt((2 / 3 + 12.5) / 2)]
    )
    thin = np.zeros((10, 2))
    thin[0] = 1.0
    _scales(thin, np.array([0, 1]), np.zeros(2, dtype=int), True, notes)
    assert "begin at one value and are mostly that value: taken" in notes[-1]


def test_how_many_values_a_column_has():
    column = np.arange(2000) % 5
    later = np.where(np.arange(2000) >= 1000, 9.0 + np.arange(2000) % 3, column)
    early = np.where(np.arange(2000) == 999, 5.0, later)
    holed = np.where(np.arange(2000) % 7 == 0, np.nan, column)
    found = _numbers_of_values(np.column_stack([column, later, early, holed]).astype(float))
    # Once there are more than five in the first thousand, the others are not looked at.
    assert found.tolist() == [5, 8, 6, 5]


def test_sparse_is_more_than_seven_tenths():
    values = np.ones((10, 2))
    values[:7] = 0.0
    assert not _are_sparse_counts(values)
    values[7, 0] = 0.0
    assert _are_sparse_counts(values)
    values[0, 0] = np.nan
    assert not _are_sparse_counts(values)
    assert _are_sparse_counts(np.where(values == 0, 3.0, 9.0) * [[1.0, 1.0]] * 0 + 1.0)


# -- gaps -----------------------------------------------------------------------------------------


def foretold_by_regression(values):
    """Each column from all others, by the normal equations of each."""
    n, width = values.shape
    covariance = values.T @ values / n
    ridge = 0.02 * np.trace(covariance) / width
    found = np.empty_like(values)
    for j in range(width):
        others = np.delete(np.arange(width), j)
        inner = covariance[np.ix_(others, others)] + ridge * np.eye(width - 1)
        found[:, j] = values[:, others] @ np.linalg.solve(inner, covariance[others, j])
    return found


def foretold_by_directions(values):
    """The strongest directions, each as far as it is stronger than those left out."""
    u, s, _ = np.linalg.svd(values, full_matrices=True)
    n = len(values)
    squares = np.zeros(n)
    squares[: len(s)] = s**2
    rank = max(1, min(20, n // 4))
    noise = squares[rank:].mean()
    kept = np.clip(1 - noise / squares[:rank], 0, 1)
    return (u[:, :rank] * kept) @ (u[:, :rank].T @ values)


def filled_by_hand(values, foretold, rounds=30):
    missing = np.isnan(values)
    values = np.where(missing, 0.0, values)
    number = 0
    while number < rounds:
        number += 1
        before, values = values, np.where(missing, foretold(values), values)
        if np.abs(values - before).max() < 0.001:
            break
    return values, number


def holed_table(n_rows, n_columns, share, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 2)) @ rng.normal(size=(2, n_columns))
    values += 0.1 * rng.normal(size=(n_rows, n_columns))
    values -= values.mean(axis=0)
    values /= values.std(axis=0)
    values[rng.random(values.shape) < share] = np.nan
    return values


@pytest.mark.parametrize(
    "n_rows, n_columns, share, by_regression",
    [(30, 5, 0.1, True), (4, 2, 0.15, True), (12, 12, 0.1, True), (12, 13, 0.1, False),
     (88, 92, 0.002, False), (76, 80, 0.003, False), (5, 6, 0.2, False), (40, 3, 0.4, True)],
)  # fmt: skip
def test_gaps_are_filled_as_by_hand(n_rows, n_columns, share, by_regression):
    values = holed_table(n_rows, n_columns, share, seed=n_rows)
    assert np.isnan(values).any()
    foretold = foretold_by_regression if by_regression else foretold_by_directions
    known, _ = filled_by_hand(values, foretold)
    fill(values)
    np.testing.assert_allclose(values, known, atol=1e-8)


def test_thirty_rounds_at_most():
    x = np.random.default_rng(0).normal(size=60)
    values = np.column_stack([x, x, x])
    values[:50, 0] = np.nan
    values[5:58, 1] = np.nan
    known, rounds = filled_by_hand(values, foretold_by_regression)
    more, _ = filled_by_hand(values, foretold_by_regression, 31)
    assert rounds == 30 and np.abs(more - known).max() > 1e-4
    fill(values)
    np.testing.assert_allclose(values, known, atol=1e-9)


def test_too_little_to_tell_is_filled_by_the_mean():
    x = np.array([[-1.0, -1.0], [np.nan, 1.0], [1.0, 1.0]])
    fill(x)
    assert x[1].tolist() == [0.0, 1.0]
    column = np.array([[-1.0], [np.nan], [1.0], [0.5], [-0.5]])
    fill(column)
    assert column[1, 0] == 0.0
    four = np.array([[-1.0, -1.0], [np.nan, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    fill(four)
    assert four[1, 0] > 0.5
    whole = four.copy()
    fill(whole)
    np.testing.assert_array_equal(whole, four)


def test_tables_of_a_thousand_columns_are_filled_by_regression(monkeypatch):
    called = []
    for name in ("_by_regression", "_by_directions"):
        monkeypatch.setattr(
            preparation, name, lambda values, gone, name=name: called.append(name) or values[gone]
        )
    for width in (1000, 1001):
        values = np.zeros((1001, width))
        values[0, 0] = np.nan
        fill(values)
    assert called == ["_by_regression", "_by_directions"]


# -- limits that are met exactly ------------------------------------------------------------------


def test_columns_of_other_roles_and_unused_levels_are_not_pooled():
    frame = pd.DataFrame({"x": np.arange(40.0), "kind": list("ab") + ["c", "d"] * 19})
    table = as_table(frame)
    assert _pooled(table, []).column("kind").levels == ("c", "d", "other levels")
    aside = table.with_roles({"kind": "ignore"})
    assert _pooled(aside, []) is aside
    # A level that no row has is neither rare nor common.
    schema = tuple(
        replace(column, levels=("a", "b", "c", "d", "e")) if column.name == "kind" else column
        for column in table.schema
    )
    wide = replace(table, schema=schema)
    assert _pooled(wide, []).column("kind").levels == ("c", "d", "other levels")
    codes = np.where(np.arange(40) < 1, 0, 2)
    two = replace(wide, others={"kind": codes.astype(np.int32)})
    assert _pooled(two, []) is two


def test_infinite_columns_are_named():
    X = np.array([[1.0, 2.0], [3.0, np.inf], [4.0, 5.0]])
    with pytest.raises(SubscapeError, match=r"^1 infinite value in 'x1'; replace"):
        prepare(Table.from_array(X))


def test_defaults_of_a_recipe():
    values = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_allclose(Recipe("x", bend=0.5).apply(values), yeojohnson(values, 0.5))
    np.testing.assert_allclose(Recipe("x", offset=3.0).apply(values), np.log(values + 3))


def test_sparse_counts_stay():
    rng = np.random.default_rng(0)
    counts = np.where(rng.random((100, 3)) < 0.8, 0.0, rng.lognormal(size=(100, 3)))
    values, recipes, notes = straight(counts)
    assert values.tolist() == counts.tolist() and notes == []
    assert recipes == [Recipe(f"c{j}") for j in range(3)]


def test_shares_may_be_none_and_of_a_hundred():
    assert _are_shares(np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5]]))
    for spread, same in ((0.00099, True), (0.00102, False)):
        table = np.full((10, 3), 100 / 3)
        table[::2] *= 1 + 2 * spread
        assert _are_shares(table) == same


def test_the_largest_value_may_be_one_or_zero():
    assert _limits(np.r_[0.001 * even(49), 1.0], 0.05) is not None
    assert _limits(np.r_[-1e6, even(49) - 1.0], 0.05) is not None


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("more", [-1e-6, 1e-6])
def test_a_power_must_gain_more_than_its_place_among_the_shapes(monkeypatch, positive, more):
    """Beside logarithms and roots a power has three numbers to choose; it pays for them once."""
    present = np.random.default_rng(0).gamma(2.0, 3.0, size=60) + 1.0
    n, logs = 60, np.log(present)
    gain = preparation.GAIN_PER_ROW * n + np.log(n)
    least = 7.0 + gain + (5.0 + np.log(n) if positive else 0.0)
    told = [7.0]
    if positive:  # logarithms gain 5 nats over what they must, roots 3
        told += [7.0 + gain + 5.0 + logs.sum(), 7.0 + gain + 3.0 + 0.5 * logs.sum()]
    told.append(least + more + n * np.log(present.std()))
    given = iter(told)
    monkeypatch.setattr(preparation, "_likelihood", lambda column: next(given))
    monkeypatch.setattr(preparation, "_likeliest_bend", lambda away: 1.0)
    monkeypatch.setattr(preparation, "is_multimodal", lambda column: False)
    recipe = _likelier(present, Recipe("x"), positive)
    assert list(given) == []
    if more > 0:
        assert (recipe.bend, recipe.pivot) == (1.0, present.mean())
        assert recipe.unit == pytest.approx(present.std())
    elif positive:
        assert (recipe.offset, recipe.root, recipe.bend) == (0.0, False, Recipe("x").bend)
    else:
        assert recipe is None
