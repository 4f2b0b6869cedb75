"""When and how the main job tries a finder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: What may be asked of the main job, from the least work to the most.
EFFORTS = ("quick", "normal", "thorough")
#: All but the least.
UNHURRIED = EFFORTS[1:]
#: Columns for finders of dense boxes, which are slow in wider tables.
NARROW = (2, 100)
#: Rows for finders whose time grows with the square of them.
MOST_ROWS_SQUARED = 3000


@dataclass(frozen=True)
class Trial:
    """When and how ``explore`` tries a finder; an entry of the catalogue may have several.

    Attributes
    ----------
    rung : {"clouds", "views", "axis-aligned", "boxes", "oriented", "asked", "chance boxes"}
        When: in one of the rungs of the plan; where somebody asks for a number of groups; or on
        tables without groups, where results are scored as boxes.
    rank : int
        Its place in the rung, the cheap ones first.
    efforts : tuple of str
        With which of :data:`EFFORTS`.
    parameters : mapping
        A value that is a function is called with the number of rows.
    numbers : str
        The parameter that takes numbers of clusters, one after the other; "" if there is none. A
        finder of several views is given a number for each view.
    least, most : int
        The smallest number of clusters, and how many numbers are tried at most.
    columns : {"all", "numeric", "directions"}
        What it sees: all columns, those of numbers, or the principal directions.
    width : tuple of int
        Columns that a table has at least, and at most; None for any.
    most_rows : int or None
        Rows that a table has at most.

    See Also
    --------
    tried_in : The finders of a rung.
    """

    rung: str
    rank: int = 0
    efforts: tuple[str, ...] = EFFORTS
    parameters: Mapping[str, Any] = field(default_factory=dict)
    numbers: str = ""
    least: int = 2
    most: int | None = None
    columns: str = "all"
    width: tuple[int, int | None] = (0, None)
    most_rows: int | None = None

    def suits(self, effort: str, n_rows: int, n_columns: int) -> bool:
        """Whether it is tried at all.

        Parameters
        ----------
        effort : str
        n_rows : int
        n_columns : int
            Of those that it would see.

        Returns
        -------
        bool

        Examples
        --------
        >>> Trial("boxes", width=(2, 100)).suits("quick", 50, 101)
        False
        """
        return effort in self.efforts and not self.unsuited(n_rows, n_columns)

    def unsuited(self, n_rows: int, n_columns: int) -> str:
        """For which tables it is, where this is none of them; empty where it is one.

        Parameters
        ----------
        n_rows : int
        n_columns : int
            Of those that it would see.

        Returns
        -------
        str

        Examples
        --------
        >>> Trial("boxes", width=(2, 100)).unsuited(50, 101)
        'for 2 to 100 columns'
        >>> Trial("clouds", most_rows=3000).unsuited(5000, 2)
        'for 3,000 rows at most, because its time grows with their square'
        """
        narrowest, widest = self.width
        if n_columns < narrowest or (widest is not None and n_columns > widest):
            return f"for {narrowest} " + (f"to {widest} columns" if widest else "columns or more")
        if self.most_rows is not None and n_rows > self.most_rows:
            return f"for {self.most_rows:,} rows at most, because its time grows with their square"
        return ""

    def settings(self, numbers: Sequence[Any], n_rows: int) -> list[dict[str, Any]]:
        """The parameters of each run.

        Parameters
        ----------
        numbers : sequence
            Numbers of clusters, in increasing order; or, for several views, of lists of these.
        n_rows : int

        Returns
        -------
        list of dict

        Examples
        --------
        >>> Trial("clouds", parameters={"n_init": 3}, numbers="n_clusters").settings([2, 3], 50)
        [{'n_clusters': 2, 'n_init': 3}, {'n_clusters': 3, 'n_init': 3}]
        >>> Trial("clouds", parameters={"min_size": lambda n_rows: n_rows // 10}).settings([], 50)
        [{'min_size': 5}]
        """
        fixed = {
            name: value(n_rows) if callable(value) else value
            for name, value in self.parameters.items()
        }
        if not self.numbers:
            return [fixed]
        taken = [k for k in numbers if not isinstance(k, int) or k >= self.least]
        return [{self.numbers: k, **fixed} for k in taken[: self.most]]
