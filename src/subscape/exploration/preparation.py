"""From a table to the numbers that finders see: encoded, imputed, scaled; and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize_scalar
from scipy.special import ndtri
from scipy.stats import skew

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.tables.table import Table
from subscape.validation.unimodality import is_multimodal

#: A level of a nominal column with fewer rows than this share is pooled with other rare ones.
RARE = 0.01
#: What pooled levels are called.
POOLED = "other levels"
#: Numeric columns that begin at one value, and whose ranges differ by less than this factor, are
#: taken as measured in one unit (pixels) and share one scale; so do sparse counts (words).
ONE_UNIT = 1.5
#: With fewer numeric columns than this, each is standardised, …
FEWEST_IN_ONE_UNIT = 8
#: … and also if one of them would have more than this share of all variance.
DOMINATES = 0.5
#: Counts are sparse if more than this share of the cells hold the smallest value.
MOSTLY = 0.7
#: Columns of positive numbers with less skewness are left as they are.
SKEWED = 0.5
#: Rows add up to the same if their totals differ by at most this share.
SAME_TOTAL = 1e-3
#: What a root, a logarithm or a power has to gain: so many units of log-likelihood for each row.
GAIN_PER_ROW = 0.05
#: Powers of Yeo and Johnson that are tried; rows by which one is chosen.
BENDS = (-3.0, 5.0)
MOST_BENDING_ROWS = 5000
#: Cells are gross errors if they lie further from the median than so many robust spreads.
FAR = 10.0
#: At most so many cells of a column, and of its rows this share, are gross errors.
MOST_GROSS = 5
MOST_GROSS_SHARE = 0.02
#: Shorter columns tell nothing of what is far.
FEWEST_TO_TELL = 20
#: Chance that a table without gross errors, whatever its tails, is said to have one.
GROSS_LEVEL = 0.01
#: Columns with values beyond two to this power, or all below its inverse, are brought near to one.
LARGE_POWER = 100
#: Columns with a larger share of missing cells are not searched.
MOST_MISSING = 0.8
#: A number with at most so many different values is scored like the levels of a nominal column.
FEW_VALUES = 5


@dataclass(frozen=True)
class Recipe:
    """How one column of numbers is made from one column of a table.

    Attributes
    ----------
    feature : str
        The table's column.
    levels : tuple of str or None
        For an indicator, the texts it stands for.
    height : float
        What an indicator is where it holds.
    power : int
        Values are divided by two to this power first.
    low, high : float or None
        Values beyond are gross errors, and count as missing.
    offset : float or None
        For logarithms and roots, what is added before.
    root : bool
        Square roots in the place of logarithms.
    bend : float or None
        Yeo and Johnson's power of values that are ``unit`` long from ``pivot`` on.
    pivot, unit : float
    centre, scale : float
    """

    feature: str
    levels: tuple[str, ...] | None = None
    height: float = 1.0
    offset: float | None = None
    centre: float = 0.0
    scale: float = 1.0
    power: int = 0
    low: float | None = None
    high: float | None = None
    root: bool = False
    bend: float | None = None
    pivot: float = 0.0
    unit: float = 1.0

    def apply(self, values: NDArray[Any]) -> FloatArray:
        """The column for these values: numbers, or texts with None where missing."""
        if self.levels is not None:
            absent = np.array([value is None for value in values])
            found = np.isin(values.astype(str), self.levels)
            numbers = np.where(found, self.height, 0.0).astype(np.float64)
            numbers[absent] = np.nan
        else:
            numbers = values.astype(np.float64)
            if self.low is not None and self.high is not None:
                numbers[(numbers < self.low) | (numbers > self.high)] = np.nan
            if self.power:
                numbers = np.asarray(np.ldexp(numbers, -self.power), dtype=np.float64)
            if self.offset is not None:
                numbers = _straightened(numbers, self.offset, self.root)
            if self.bend is not None:
                numbers = _bent((numbers - self.pivot) / self.unit, self.bend)
        return np.asarray((numbers - self.centre) / self.scale, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Prepared:
    """The numbers that finders see, and how they came about.

    Attributes
    ----------
    X : float64 array of shape (n_rows, n_columns)
        Centred and scaled, without missing values.
    recipes : tuple of Recipe
        How each column is made.
    origin : int array of shape (n_columns,)
        For each column, the feature of the table that it comes from.
    numeric : int array
        Those of the columns that are numbers: no indicators of levels, more than two values.
    few_valued : int array
        Those of the columns that take few values: indicators of levels, and numbers with few.
    names : tuple of str
        Names of these columns.
    absent : bool array of shape (n_rows, n_features)
        Cells that were missing and are imputed in ``X``.
    searched : bool array of shape (n_features,)
        Features that take part: not constant, not almost empty, not the copy of another.
    notes : tuple of str
        What was done, in sentences.
    """

    X: FloatArray
    recipes: tuple[Recipe, ...]
    origin: IndexArray
    numeric: IndexArray
    few_valued: IndexArray
    names: tuple[str, ...]
    absent: BoolArray
    searched: BoolArray
    notes: tuple[str, ...]

    @property
    def n_features(self) -> int:
        """Number of features of the table."""
        return len(self.searched)

    def fold(self, per_column: FloatArray) -> FloatArray:
        """Values per column, added up to values per feature of the table (last axis)."""
        folded = np.zeros((self.n_features, *per_column.shape[:-1]))
        np.add.at(folded, self.origin, np.moveaxis(per_column, -1, 0))
        return np.moveaxis(folded, 0, -1)

    def in_normal_scores(self) -> FloatArray:
        """``X`` with its numbers replaced by normal scores.

        A column's values, in their order, become those of a normal distribution as wide: what one
        column shows by itself (tails, skewness) is gone, what columns tell together stays. Equal
        values are put in an order at random: they are no group because they are equal. Numbers with
        few values stay as they are.
        """
        X = self.X.copy()
        order_of_equals = np.random.default_rng(0)
        for j in np.setdiff1d(self.numeric, self.few_valued):
            column = self.X[:, j]
            order = np.lexsort((order_of_equals.random(len(column)), column))
            scores = ndtri((np.arange(len(column)) + 0.5) / len(column))
            X[order, j] = scores * (column.std() / scores.std())
        return X


def prepare(table: Table) -> Prepared:
    """Encode, impute and scale the features of a table.

    Nominal columns become indicators of their levels, scaled so that each column weighs like one
    numeric column; rare levels are pooled. Single numbers far beyond all others of their column
    count as missing. Skewed numbers become roots, logarithms or powers, whichever are likeliest
    under one normal distribution, or two. Numeric columns are standardised, unless they look like
    measurements in one unit, which then keep their relative spreads. Missing cells are filled from
    the columns that go with theirs.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Prepared

    See Also
    --------
    explore : Prepares tables by itself.
    subscape.Table : Reads a table.

    Examples
    --------
    >>> from subscape.tables import Table
    >>> ready = prepare(Table.from_array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    >>> ready.X.ravel().round(2)
    array([-1.22,  0.  ,  1.22])
    >>> ready.searched
    array([ True, False])
    """
    notes: list[str] = []
    if not table.feature_names:
        said = [f"{c.name} ({c.role})" for c in table.schema]
        raise SubscapeError(
            "the table has no numeric or nominal column to look for groups in; its columns are "
            f"{listing(said, 8)}. Give some of them another role (roles=…, --columns)"
        )
    pooled = _pooled(table, notes)
    encoded = pooled.encode("onehot")
    values = encoded.X.toarray() if sparse.issparse(encoded.X) else np.array(encoded.X)
    _refuse_infinite(values, encoded.feature_names)
    absent = table.missing.toarray() if sparse.issparse(table.missing) else np.array(table.missing)
    searched = _searched(table, absent, notes)
    keep = np.flatnonzero(searched[encoded.origin])
    values = values[:, keep]
    origin = encoded.origin[keep]
    recipes = _recipes(pooled, table, values, origin)
    numeric = np.array([j for j, r in enumerate(recipes) if r.levels is None], dtype=np.intp)
    given = absent
    recipes = _without_gross(values, recipes, numeric, notes)
    for j in numeric:
        if recipes[j].low is not None:
            absent = absent.copy() if absent is given else absent
            absent[:, origin[j]] |= np.isnan(values[:, j])
    recipes = _near_one(values, recipes, numeric)
    power = np.array([recipe.power for recipe in recipes])
    one_unit = _one_unit(values, numeric, power)
    if not one_unit:
        recipes = _straight(values, recipes, numeric, notes)
    # Large offsets cost digits: subtract a value of the column first, exactly.
    start = np.nanmin(values, axis=0)
    values -= start
    centre = np.nanmean(values, axis=0)
    values -= centre
    scale = _scales(values, numeric, power, one_unit, notes)
    values /= scale
    is_number = np.isin(np.arange(len(recipes)), numeric)
    # Pixels and counts of words mean something together, however few values each of them has.
    n_values = np.full(len(recipes), np.inf) if one_unit else _numbers_of_values(values)
    recipes = [
        replace(recipe, centre=float(start[j] + centre[j]), scale=float(scale[j]))
        for j, recipe in enumerate(recipes)
    ]
    if np.isnan(values).any():
        fill(values)
        gone = given[:, searched]
        if gone.any():
            notes.append(
                f"{count(int(gone.sum()), 'missing cell')} ({gone.mean():.1%} of what is searched) "
                "filled from the columns that go with theirs, for finders that can't take gaps"
            )
    return Prepared(
        X=values,
        recipes=tuple(recipes),
        origin=origin,
        numeric=np.flatnonzero(is_number & (n_values > 2)),
        few_valued=np.flatnonzero(~is_number | (n_values <= FEW_VALUES)),
        names=tuple(encoded.feature_names[j] for j in keep),
        absent=absent,
        searched=searched,
        notes=tuple(notes),
    )


# -- which columns --------------------------------------------------------------------------------


def _refuse_infinite(values: FloatArray, names: Sequence[str]) -> None:
    infinite = np.isinf(values)
    if infinite.any():
        where = [names[int(j)] for j in np.flatnonzero(infinite.any(axis=0))]
        raise SubscapeError(
            f"{count(int(infinite.sum()), 'infinite value')} in {listing(where)}; replace them by "
            "a number, or leave the cells empty"
        )


def _pooled(table: Table, notes: list[str]) -> Table:
    """The table with rare levels of its nominal columns pooled into one."""
    others, schema, pooled = dict(table.others), list(table.schema), []
    for j, column in enumerate(schema):
        if column.role != "nominal" or column.levels is None:
            continue
        codes = others[column.name]
        counts = np.bincount(codes[codes >= 0], minlength=len(column.levels))
        rare = (counts > 0) & (counts < max(2, RARE * table.n_rows))
        common = np.flatnonzero((counts > 0) & ~rare)
        if rare.sum() < 2 or not len(common):
            continue
        place = np.full(len(counts) + 1, -1, dtype=np.int32)
        place[common] = np.arange(len(common))
        place[:-1][rare] = len(common)
        name = POOLED
        while name in column.levels:
            name += "…"
        schema[j] = replace(column, levels=(*(column.levels[c] for c in common), name))
        others[column.name] = place[codes]
        pooled.append(column.name)
    if not pooled:
        return table
    notes.append(f"levels with less than {RARE:.0%} of the rows are pooled in {listing(pooled)}")
    return replace(table, schema=tuple(schema), others=others)


def _searched(table: Table, absent: BoolArray, notes: list[str]) -> BoolArray:
    """Features worth searching; what is left out is said."""
    names = np.array(table.feature_names, dtype=object)
    place = {column.name: j for j, column in enumerate(table.schema)}
    profile = table.profile
    empty = absent.mean(axis=0) > MOST_MISSING
    constant = np.array([profile.is_constant[place[name]] for name in names]) & ~empty
    searched = ~empty & ~constant
    kept = set(names[searched])
    copies = [profile.duplicate_of[place[name]] in kept and name in kept for name in names]
    searched &= ~np.array(copies)
    for which, why in (
        (empty, f"more than {MOST_MISSING:.0%} of their cells are missing"),
        (constant, "constant"),
        (np.array(copies), "copies of other columns"),
    ):
        if which.any():
            notes.append(f"left out, because {why}: {listing(names[which])}")
    if not searched.any():
        raise SubscapeError(
            "no column varies: the rows are equal in every numeric and nominal column that has "
            "values, so there is nothing to group"
        )
    return searched


# -- how they become numbers ----------------------------------------------------------------------


def _recipes(pooled: Table, table: Table, values: FloatArray, origin: IndexArray) -> list[Recipe]:
    recipes = []
    names = pooled.feature_names
    codes = pooled.nominal
    seen: dict[int, int] = {}
    for j, feature in enumerate(origin):
        name = names[feature]
        if name not in codes:
            recipes.append(Recipe(name))
            continue
        used = np.unique(codes[name][codes[name] >= 0])
        place = seen.get(int(feature), 0)
        seen[int(feature)] = place + 1
        levels = pooled.column(name).levels or ()
        level = levels[used[place]]
        before = table.column(name).levels or ()
        texts = (level,) if level in before else tuple(x for x in before if x not in levels)
        recipes.append(Recipe(name, levels=texts, height=float(np.nanmax(values[:, j]))))
    return recipes


#: What is done to skewed columns, in words.
HOW = {
    "logarithms": "as logarithms",
    "roots": "as square roots",
    "bent": "with a power of Yeo and Johnson",
}


def _straight(
    values: FloatArray, recipes: list[Recipe], numeric: IndexArray, notes: list[str]
) -> list[Recipe]:
    """Skewed columns become roots, logarithms or powers, in place."""
    if len(numeric) and _are_sparse_counts(values[:, numeric]):
        return recipes
    if _are_shares(values[:, numeric]):
        notes.append("the numbers of each row add up to the same, and are searched as they are")
        return recipes
    straight = list(recipes)
    names: dict[str, list[str]] = {how: [] for how in HOW}
    for j in numeric:
        column = values[:, j]
        present = column[~np.isnan(column)]
        smallest = present.min()
        if (present == smallest).mean() > MOSTLY or len(np.unique(present)) <= 2 * FEW_VALUES:
            continue
        positive = bool(smallest >= 0 and skew(present - smallest) > SKEWED)
        recipe = _likelier(present, recipes[j], positive)
        if recipe is None:
            continue
        # Gross errors are gone, and the power of two is taken out, already.
        values[:, j] = replace(recipe, low=None, high=None, power=0).apply(column)
        straight[j] = recipe
        how = "bent" if recipe.bend is not None else "roots" if recipe.root else "logarithms"
        names[how].append(recipe.feature)
    for how, what in HOW.items():
        if names[how]:
            notes.append(f"searched {what}, because skewed: {listing(names[how])}")
    return straight


def _are_shares(values: FloatArray) -> bool:
    """Whether columns are shares of one whole: straightening some would bend what they add up to.

    >>> _are_shares(np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])), _are_shares(np.eye(3)[:, :2])
    (True, False)
    """
    if values.shape[1] < 3 or not (values[~np.isnan(values)] >= 0).all():
        return False
    totals = values[~np.isnan(values).any(axis=1)].sum(axis=1)
    return len(totals) > 1 and float(totals.std()) <= SAME_TOTAL * float(totals.mean())


def _straightened(numbers: FloatArray, offset: float, root: bool) -> FloatArray:
    smallest = np.finfo(float).tiny
    above = np.maximum(numbers + offset, smallest)
    return np.asarray(np.sqrt(above) if root else np.log(above))


def _likelier(present: FloatArray, recipe: Recipe, positive: bool) -> Recipe | None:
    """A recipe that makes a likelier column; None if neither roots, logarithms nor powers do.

    Each is a column of one normal distribution, or of two with one spread if that is likelier: so
    a second group is no reason to bend a column. Columns with several humps stay as they are.
    Powers are for columns that lean to the left or go below zero, and for other tails than those
    of logarithms and roots.
    """
    n = len(present)
    best, found = _likelihood(present) + GAIN_PER_ROW * n + np.log(n), None
    if positive:
        # Where there are zeros, the smallest step that is known stands for what is below it.
        offset = 0.0 if present.min() > 0 else float(present[present > 0].min())
        logs = np.log(present + offset)
        # Densities of the column itself, so with the slope of what it becomes (Box and Cox, 1964).
        as_logs = _likelihood(logs) - logs.sum()
        as_roots = _likelihood(2.0 * np.sqrt(present + offset)) - 0.5 * logs.sum()
        if max(as_logs, as_roots) > best:
            best = max(as_logs, as_roots)
            found = replace(recipe, offset=offset, root=bool(as_roots >= as_logs))
    pivot, unit = float(present.mean()), float(present.std())
    away = (present - pivot) / unit
    bend = _likeliest_bend(away)
    slope = float(((bend - 1.0) * np.sign(away) * np.log1p(np.abs(away))).sum())
    bent = _likelihood(_bent(away, bend)) + slope - n * np.log(unit)
    if bent > best + (0.0 if found is None else np.log(n)):
        found = replace(recipe, bend=bend, pivot=pivot, unit=unit)
    return None if found is None or is_multimodal(present) else found


def _likelihood(column: FloatArray) -> float:
    """Log-likelihood, up to a constant, of one normal distribution or of two with one spread.

    The two are those on either side of the best split, each row in its own.

    >>> import numpy as np
    >>> one = np.random.default_rng(0).normal(size=1000)
    >>> two = np.r_[one, one + 9]
    >>> bool(_likelihood(two) - 2 * _likelihood(one) > -2000 * np.log(2) - 20)
    True
    """
    ordered = np.sort(column)
    n = len(ordered)
    middle = ordered.mean()
    ordered = ordered - middle
    whole = float(np.square(ordered).sum())
    if whole == 0:
        return float("-inf")
    below = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    share = below / n
    within = whole - np.square(sums) * (1.0 / below + 1.0 / (n - below))
    within = np.maximum(within, 1e-12 * whole)
    entropy = share * np.log(share) + (1.0 - share) * np.log1p(-share)
    two = float((entropy - 0.5 * np.log(within / n)).max()) * n - np.log(n)
    return max(-0.5 * n * float(np.log(whole / n)), two)


def _likeliest_bend(away: FloatArray) -> float:
    """The power of Yeo and Johnson [1]_ that makes a column likeliest as a normal one.

    References
    ----------
    .. [1] I.-K. Yeo, R. A. Johnson, "A new family of power transformations to improve normality or
       symmetry", Biometrika 87 (2000), doi:10.1093/biomet/87.4.954.

    >>> skewed = np.exp(np.random.default_rng(0).normal(size=500))
    >>> bend = _likeliest_bend(skewed - np.median(skewed))
    >>> bool(-1 < bend < 0.5), bool(abs(skew(_bent(skewed - np.median(skewed), bend))) < 0.2)
    (True, True)
    """
    if len(away) > MOST_BENDING_ROWS:
        away = np.random.default_rng(0).choice(away, MOST_BENDING_ROWS, replace=False)
    slope = float((np.sign(away) * np.log1p(np.abs(away))).mean())

    def loss(bend: float) -> float:
        return float(np.log(max(_bent(away, bend).std(), 1e-300)) - (bend - 1.0) * slope)

    return float(minimize_scalar(loss, bounds=BENDS, method="bounded", options={"xatol": 0.01}).x)


def _bent(away: FloatArray, bend: float) -> FloatArray:
    """Values with a power on either side of zero: ``bend`` above, ``2 - bend`` below it.

    >>> _bent(np.array([-3.0, 0.0, 3.0]), 1.0).tolist(), _bent(np.array([3.0]), 0.5).tolist()
    ([-3.0, 0.0, 3.0], [2.0])
    """
    logs = np.log1p(np.abs(away))
    above = logs if abs(bend) < 1e-9 else np.expm1(bend * logs) / bend
    rest = 2.0 - bend
    below = logs if abs(rest) < 1e-9 else np.expm1(rest * logs) / rest
    return np.where(away < 0, -below, above)


# -- gross errors and extreme scales ---------------------------------------------------------------


def _without_gross(
    values: FloatArray, recipes: list[Recipe], numeric: IndexArray, notes: list[str]
) -> list[Recipe]:
    """Single cells far beyond all others of their columns become missing, in place."""
    cleaned = list(recipes)
    found = []
    for j in numeric:
        column = values[:, j]
        limits = _limits(column, GROSS_LEVEL / (MOST_GROSS * len(numeric)))
        if limits is None:
            continue
        low, high = limits
        gross = (column < low) | (column > high)
        cells = sorted({float(value) for value in column[gross]}, key=abs, reverse=True)
        told = listing([f"{cell:.6g}" for cell in cells], 3).replace("'", "")
        found.append((int(gross.sum()), f"{recipes[j].feature!r} ({told})"))
        column[gross] = np.nan
        cleaned[j] = replace(recipes[j], low=low, high=high)
    if found:
        number = sum(times for times, _ in found)
        columns = listing([text for _, text in found]).replace('"', "")
        notes.append(
            f"{count(number, 'cell')} far beyond all others of the column set aside as gross "
            f"{'errors' if number > 1 else 'error'}, as if missing: {columns}"
        )
    return cleaned


def _limits(column: FloatArray, level: float) -> tuple[float, float] | None:
    """Between which values a column lies once its gross errors are set aside; None if none are.

    A few cells are gross errors if the gap to all others is wider than the range of these, if they
    are far from the median in robust spreads, and if no long tail explains them: under one that
    falls off like any power, logarithms of ratios of neighbours in order are exponential, so that
    the gap's over the mean of those below it has an F distribution. Positive columns must have the
    gap in their logarithms too.
    """
    present = column[~np.isnan(column)]
    n = len(present)
    if n < FEWEST_TO_TELL:
        return None
    high, low = float(present.max()), float(present.min())
    largest = max(abs(low), abs(high))
    if largest == 0:
        return None
    # Near to one, so that no difference overflows.
    power = int(np.frexp(largest)[1])
    ordered = np.sort(np.ldexp(present, -power))
    most = max(1, min(MOST_GROSS, int(MOST_GROSS_SHARE * n)))
    middle = ordered[n // 2]
    away = np.abs(ordered - middle)
    order = np.argsort(-away, kind="stable")
    for m in range(most, 0, -1):
        near, far = away[order[m]], away[order[m - 1]]
        if not far > 2 * near:
            continue
        rest = np.sort(ordered[order[m:]])
        reach = rest[-1] - rest[0]
        gross = ordered[order[:m]]
        gap = np.maximum(rest[0] - gross, gross - rest[-1]).min()
        spread = 1.4826 * float(np.median(np.abs(rest - middle)))
        if gap <= reach or far <= FAR * spread or spread == 0:
            continue
        unlikely = _tail_chance(away[order], m) < level
        if unlikely and ordered[0] > 0 and gross.min() > rest[-1]:
            logs = np.log(ordered)
            unlikely = _tail_chance((logs - logs[n // 2])[::-1][: n // 2], m) < level
        if unlikely:
            limits = np.ldexp([rest[0] - reach, rest[-1] + reach], power)
            return float(limits[0]), float(limits[1])
    return None


def _tail_chance(falling: FloatArray, m: int) -> float:
    """Chance of the gap after the first m of falling distances, if their tail is a power's."""
    k = int(np.clip(len(falling) // 10, 5, 30))
    below = falling[m : m + k + 1]
    below = below[below > 0]
    k = len(below) - 1
    if k < 1:
        return 1.0
    usual = float(np.log(below[:-1] / below[-1]).mean())
    here = m * float(np.log(falling[m - 1] / below[0]))
    return 0.0 if usual == 0 else float((1.0 + here / (usual * k)) ** -k)


def _near_one(values: FloatArray, recipes: list[Recipe], numeric: IndexArray) -> list[Recipe]:
    """Columns whose squares would leave the range of numbers are divided by powers of two."""
    near = list(recipes)
    for j in numeric:
        power = int(np.frexp(np.nanmax(np.abs(values[:, j])))[1])
        if abs(power) > LARGE_POWER:
            values[:, j] = np.ldexp(values[:, j], -power)
            near[j] = replace(recipes[j], power=power)
    return near


def shown_numbers(table: Table, ready: Prepared) -> tuple[FloatArray, IndexArray]:
    """The numeric columns of a table as they are told of, without what is set aside.

    Returns
    -------
    numbers : array of shape (n_rows, n_numeric)
        NaN where missing or a gross error; each column divided by two to its power.
    power : int array of shape (n_numeric,)
        Zero, but for columns of very large or very small numbers.
    """
    numbers = table.X.toarray() if sparse.issparse(table.X) else np.array(table.X)
    place = {name: j for j, name in enumerate(table.feature_names)}
    features = [place[name] for name in table.numeric_names]
    numbers = np.where(ready.absent[:, features], np.nan, numbers)
    largest = np.fmax.reduce(np.abs(numbers), axis=0, initial=0.0)
    power = np.frexp(largest)[1].astype(np.intp)
    power[np.abs(power) <= LARGE_POWER] = 0
    return np.ldexp(numbers, -power), power


# -- how much each column weighs -------------------------------------------------------------------


def _one_unit(values: FloatArray, numeric: IndexArray, power: IndexArray) -> bool:
    """Whether the numbers look like measurements in one unit, such as pixels, or counts."""
    if len(numeric) < FEWEST_IN_ONE_UNIT:
        return False
    numbers = values[:, numeric]
    first = np.nanmin(numbers, axis=0)
    reach = np.nanmax(numbers, axis=0) - first
    unit = power[numeric] - power[numeric].max()
    first, reach, spread = (
        np.ldexp(each, unit) for each in (first, reach, np.nanstd(numbers, axis=0))
    )
    same_start = np.ptp(first) <= 1e-9 * max(float(np.abs(first).max()), float(reach.max()))
    same_reach = np.quantile(reach, 0.9) <= ONE_UNIT * np.quantile(reach, 0.1)
    if not same_start or not (same_reach or _are_sparse_counts(numbers)):
        return False
    return float(spread.max()) ** 2 <= DOMINATES * float(np.square(spread).sum())


def _scales(
    values: FloatArray, numeric: IndexArray, power: IndexArray, one_unit: bool, notes: list[str]
) -> FloatArray:
    scale = np.ones(values.shape[1])
    if not len(numeric):
        notes.append("all columns are nominal; each weighs alike")
        return scale
    numbers = values[:, numeric]
    spread = np.sqrt(np.nanmean(np.square(numbers), axis=0))
    if one_unit:
        unit = power[numeric] - power[numeric].max()
        shared = np.sqrt(np.square(np.ldexp(spread, unit)).mean())
        scale[numeric] = np.ldexp(shared, -unit)
        alike = "are mostly that value" if _are_sparse_counts(numbers) else "have about one range"
        notes.append(
            f"numeric columns begin at one value and {alike}: taken as one unit, they keep their "
            "relative spreads"
        )
    else:
        scale[numeric] = spread
        notes.append("numeric columns are standardised (mean 0, standard deviation 1)")
    return scale


def _numbers_of_values(values: FloatArray) -> FloatArray:
    """How many different values each column has; a few thousand rows tell if they are many."""
    numbers = np.zeros(values.shape[1])
    for j, column in enumerate(values.T):
        for part in (column[:1000], column):
            numbers[j] = len(np.unique(part[~np.isnan(part)]))
            if numbers[j] > FEW_VALUES:
                break
    return numbers


def _are_sparse_counts(values: FloatArray) -> bool:
    """Whether most cells hold the smallest value of their column, as counts of words do."""
    return bool((values == np.nanmin(values, axis=0)).mean() > MOSTLY)


# -- missing cells filled from the columns that go with theirs -------------------------------------


#: Rounds at most; filled values that change less, in standard deviations, have settled.
ROUNDS = 30
SETTLED = 1e-3
#: Columns are told from each other with this share of their variance added as noise.
RIDGE = 0.02
#: Wider tables are filled from their principal directions.
MOST_COLUMNS = 1000
MOST_DIRECTIONS = 20


def fill(values: FloatArray) -> None:
    """Fill the missing cells of centred, scaled columns in place.

    Each missing cell takes what a linear regression on all other columns says, these with their
    own gaps filled; repeated until the values settle. Columns that go with no other are filled
    with their mean.

    >>> import numpy as np
    >>> x = np.linspace(-1.5, 1.5, 21)
    >>> table = np.column_stack([x, x, -x, x])
    >>> table[2, 1] = np.nan
    >>> fill(table)
    >>> bool(abs(table[2, 1] - x[2]) < 0.05)
    True
    """
    missing = np.isnan(values)
    values[missing] = 0.0
    n_rows, n_columns = values.shape
    if not missing.any() or n_columns < 2 or n_rows < 4:
        return
    gone = np.asarray(missing.any(axis=1))
    where = missing[gone]
    foretold = _by_regression if n_columns <= min(MOST_COLUMNS, n_rows) else _by_directions
    for _ in range(ROUNDS):
        before = values[missing]
        values[missing] = foretold(values, gone)[where]
        if np.abs(values[missing] - before).max() < SETTLED:
            break


def _by_regression(values: FloatArray, gone: BoolArray) -> FloatArray:
    """What the regression of every column on the others says about the rows with gaps."""
    covariance = values.T @ values / len(values)
    # The inverse holds all regressions at once: coefficients are its rows over its diagonal.
    ridge = RIDGE * max(float(np.trace(covariance)) / len(covariance), 1e-12)
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
    rows = values[gone]
    return rows - (rows @ inverse) / np.diag(inverse)


def _by_directions(values: FloatArray, gone: BoolArray) -> FloatArray:
    """What the principal directions, less the noise of the others, say about those rows."""
    squares, left = np.linalg.eigh(values @ values.T)
    rank = max(1, min(MOST_DIRECTIONS, len(values) // 4))
    noise = max(float(squares[:-rank].mean()), 0.0)
    top, left = squares[-rank:], left[:, -rank:]
    kept = np.clip(1.0 - noise / np.maximum(top, 1e-300), 0.0, 1.0)
    return (left[gone] * kept) @ (left.T @ values)
