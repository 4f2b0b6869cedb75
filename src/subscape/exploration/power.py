"""How strong a grouping would have had to be to be seen in a table of this size.

Groups of equal size are planted into normal tables with as many rows and directions, scored as the
groupings of the table are, and held against the same tables without groups. The answer says what
"nothing found" is worth: in few rows and many columns even groups that are far apart are missed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from subscape.core.types import FloatArray, IntArray
from subscape.validation.criteria import SIGNIFICANCE_LEVEL
from subscape.validation.max_statistic import NullMaxima

from .scorers import BoxScorer
from .separation import GroupingScorer

#: Distances between the middles of two groups that are tried, in standard deviations of a group.
SEPARATIONS = (2.0, 3.0, 4.0, 5.0, 6.0)
#: Tables per distance; a grouping is seen if it is in more than half of them.
DRAWS = 5
#: Planted tables have at most so many rows, as those without groups, and cells; with fewer, less is
#: seen. Boxes take longer.
MOST_ROWS = 2000
MOST_CELLS = {False: 200_000, True: 20_000}


@dataclass(frozen=True)
class Power:
    """The smallest distance between groups, in standard deviations, that would have been seen.

    Attributes
    ----------
    two, three : float or None
        With two and with three groups of equal size, each a round cloud; None if not even the
        largest that was tried would have been.
    n_rows, n_directions : int
        Size of the planted tables.
    """

    two: float | None
    three: float | None
    n_rows: int
    n_directions: int

    def words(self) -> str:
        """The same as a sentence.

        >>> Power(4.0, None, 200, 6).words()
        'Two equal groups would have been seen here from 4 standard deviations between their \
middles on, three not even at 6.'
        """
        most = f"{SEPARATIONS[-1]:g}"
        if self.two is None and self.three is None:
            return (
                f"Even two or three equal groups {most} standard deviations apart would not have "
                "been seen here."
            )
        if self.two == self.three:
            return (
                f"Two or three equal groups would have been seen here from {self.two:g} standard "
                "deviations between their middles on."
            )

        def since(distance: float | None) -> str:
            return f"not even at {most}" if distance is None else f"from {distance:g}"

        two = "would not have been seen here" if self.two is None else "would have been seen here"
        return (
            f"Two equal groups {two} {since(self.two).removeprefix('not ')} standard deviations "
            f"between their middles{' on' * (self.two is not None)}, three {since(self.three)}"
            f"{' on' * (self.three is not None)}."
        )


def detectable(
    n_rows: int,
    n_directions: int,
    chance: NullMaxima,
    *,
    n_ideas: int = 1,
    boxes: bool = False,
    seed: int = 0,
) -> Power | None:
    """The weakest groupings that would be told from chance in a table of this size.

    Parameters
    ----------
    n_rows, n_directions : int
        Rows searched, and directions in which groupings are scored.
    chance : NullMaxima
        Of tables without groups like the table.
    n_ideas : int, default=1
        By which p-values are multiplied.
    boxes : bool, default=False
        Whether groupings are scored as boxes.
    seed : int, default=0

    Returns
    -------
    Power or None
        None where there is nothing to hold them against.

    Examples
    --------
    >>> detectable(300, 5, NullMaxima(tuple(np.linspace(-0.2, 0.1, 20)), (0.0,) * 20))
    Power(two=5.0, three=4.0, n_rows=300, n_directions=5)
    """
    if not np.isfinite(chance.maxima).any() or n_directions < 1:
        return None
    rows = max(min(n_rows, MOST_ROWS, MOST_CELLS[boxes] // n_directions), min(n_rows, 100))

    def smallest(n_groups: int) -> float | None:
        for separation in SEPARATIONS:
            seen = 0
            for draw in range(DRAWS):
                rng = np.random.default_rng([seed, 41, n_groups, int(10 * separation), draw])
                Z, labels = planted(rows, n_directions, n_groups, separation, rng)
                scorer = GroupingScorer(Z)
                if boxes:
                    scorer = BoxScorer(scorer)
                seen += n_ideas * chance.p_value(scorer(labels).score) <= SIGNIFICANCE_LEVEL
                if 2 * seen > DRAWS or 2 * (draw + 1 - seen) > DRAWS:
                    break
            if 2 * seen > DRAWS:
                return separation
        return None

    return Power(smallest(2), smallest(3), rows, n_directions)


def planted(
    n_rows: int,
    n_columns: int,
    n_groups: int,
    separation: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, IntArray]:
    """Round clouds of equal size whose middles are ``separation`` apart, two or three of them.

    >>> Z, labels = planted(9, 2, 3, 4.0, np.random.default_rng(0))
    >>> Z.shape, np.bincount(labels).tolist()
    ((9, 2), [3, 3, 3])
    """
    labels = np.arange(n_rows, dtype=np.int64) % n_groups
    middles = np.zeros((n_groups, n_columns))
    middles[:, 0] = np.arange(n_groups) * separation
    if n_groups == 3 and n_columns > 1:
        middles[2, :2] = separation / 2, separation * np.sqrt(3) / 2
    Z = rng.normal(size=(n_rows, n_columns)) + middles[labels]
    Z = Z - Z.mean(axis=0)
    return Z / Z.std(axis=0), labels
