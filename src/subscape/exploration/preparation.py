"""From a table to the numbers that finders see: encoded, imputed, scaled; and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.stats import skew

from subscape.core.errors import SubscapeError, count, listing
from subscape.core.types import BoolArray, FloatArray, IndexArray
from subscape.tables.table import Table

#: A level of a nominal column with fewer rows than this share is pooled with other rare ones.
RARE = 0.01
#: What pooled levels are called.
POOLED = "other levels"
#: Numeric columns that begin at one value, and whose ranges differ by less than this factor, are
#: taken as measured in one unit (pixels) and share one scale; so do sparse counts (words).
ONE_UNIT = 1.5
#: With fewer numeric columns than this, each is standardised.
FEWEST_IN_ONE_UNIT = 8
#: Counts are sparse if more than this share of the cells hold the smallest value.
MOSTLY = 0.7
#: A column of positive numbers whose skewness is larger is searched as logarithms, if that at
#: least halves it.
SKEWED = 2.0
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
    offset : float or None
        For logarithms, what is added before.
    centre, scale : float
    """

    feature: str
    levels: tuple[str, ...] | None = None
    height: float = 1.0
    offset: float | None = None
    centre: float = 0.0
    scale: float = 1.0

    def apply(self, values: NDArray[Any]) -> FloatArray:
        """The column for these values: numbers, or texts with None where missing."""
        if self.levels is not None:
            absent = np.array([value is None for value in values])
            numbers = np.isin(values.astype(str), self.levels) * self.height
            numbers[absent] = np.nan
        else:
            numbers = values.astype(np.float64)
            if self.offset is not None:
                smallest = np.finfo(float).tiny
                numbers = np.log(np.maximum(numbers + self.offset, smallest))
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


def prepare(table: Table) -> Prepared:
    """Encode, impute and scale the features of a table.

    Nominal columns become indicators of their levels, scaled so that each column weighs like one
    numeric column; rare levels are pooled. Very skewed positive numbers become logarithms. Numeric
    columns are standardised, unless they look like measurements in one unit, which then keep
    their relative spreads. Missing cells are filled from the columns that go with theirs.

    Parameters
    ----------
    table : Table

    Returns
    -------
    Prepared

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
    recipes = _logged(values, recipes, numeric, notes)
    # Large offsets cost digits: subtract a value of the column first, exactly.
    start = np.nanmin(values, axis=0)
    values -= start
    centre = np.nanmean(values, axis=0)
    values -= centre
    scale = _scales(values, numeric, start, notes)
    values /= scale
    is_number = np.isin(np.arange(len(recipes)), numeric)
    # Pixels and counts of words mean something together, however few values each of them has.
    one_unit = len(numeric) >= FEWEST_IN_ONE_UNIT and np.ptp(scale[numeric]) == 0
    n_values = np.full(len(recipes), np.inf) if one_unit else _numbers_of_values(values)
    recipes = [
        replace(recipe, centre=float(start[j] + centre[j]), scale=float(scale[j]))
        for j, recipe in enumerate(recipes)
    ]
    if np.isnan(values).any():
        fill(values)
        gone = absent[:, searched]
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


def _logged(
    values: FloatArray, recipes: list[Recipe], numeric: IndexArray, notes: list[str]
) -> list[Recipe]:
    """Very skewed positive columns become logarithms, in place."""
    if len(numeric) and _are_sparse_counts(values[:, numeric]):
        return recipes
    logged = list(recipes)
    names = []
    for j in numeric:
        column = values[:, j]
        present = column[~np.isnan(column)]
        smallest = present.min()
        if smallest < 0 or (present == smallest).mean() > MOSTLY:
            continue
        crooked = float(skew(present - smallest))
        if not crooked > SKEWED:
            continue
        offset = 0.0 if smallest > 0 else float(present[present > 0].min())
        straight = np.log(present + offset)
        if abs(float(skew(straight))) > crooked / 2:
            continue
        values[:, j] = np.log(column + offset)
        logged[j] = replace(recipes[j], offset=offset)
        names.append(recipes[j].feature)
    if names:
        notes.append(f"searched as logarithms, because very skewed: {listing(names)}")
    return logged


def _scales(
    values: FloatArray, numeric: IndexArray, start: FloatArray, notes: list[str]
) -> FloatArray:
    scale = np.ones(values.shape[1])
    if not len(numeric):
        notes.append("all columns are nominal; each weighs alike")
        return scale
    numbers = values[:, numeric]
    spread = np.sqrt(np.nanmean(np.square(numbers), axis=0))
    reach = np.nanmax(numbers, axis=0) - np.nanmin(numbers, axis=0)
    first = start[numeric]
    same_start = np.ptp(first) <= 1e-9 * max(float(np.abs(first).max()), 1.0)
    same_reach = np.quantile(reach, 0.9) <= ONE_UNIT * np.quantile(reach, 0.1)
    counts = _are_sparse_counts(numbers)
    if len(numeric) >= FEWEST_IN_ONE_UNIT and same_start and (same_reach or counts):
        scale[numeric] = np.sqrt(np.square(spread).mean())
        alike = "are mostly that value" if counts else "have about one range"
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
