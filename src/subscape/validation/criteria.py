"""The standards of belief: when a grouping counts as found, in every command and on the page.

One number per question, with the reason for it. `explore`, `validate`, `choose` and the page read
them here, so that the same words mean the same thing everywhere.
"""

from __future__ import annotations

#: A grouping is *better than chance* if tables without groups reach its score with at most this
#: probability. One in a hundred, because a search over many finders and numbers is made so easily:
#: at one in twenty, somebody who tries his tool on twenty tables of noise is fooled once.
SIGNIFICANCE_LEVEL = 0.01

#: Tables without groups that it takes to reach that level by counting: p is at least 1 / (B + 1).
FEWEST_NULL_TABLES = 99

#: A cluster (by the Jaccard index) or a view (by the adjusted Rand index) *comes back* if its mean
#: over samples of the rows is at least this, and *dissolves* below the other: the limits of Hennig
#: (2007, doi:10.1016/j.csda.2006.11.025), who found clusters between them to be patterns, but not
#: reliable ones.
STABLE = 0.75
DISSOLVED = 0.5

#: Tables without groups keep the correlations of the columns and every column's distribution, but
#: for its several humps: a group that one column alone shows is a group (decision 9).
NULL = "unimodal"

#: The smallest cluster that can be claimed: this share of the rows searched, and so many of them.
#: Of fewer than three rows no spread can be told; with less than one row in a hundred a cluster of
#: that size stands out by chance somewhere in most tables without groups.
SMALLEST_SHARE = 0.01
FEWEST_ROWS = 3


def smallest_cluster(n_rows: int) -> float:
    """Rows that a cluster needs to be claimed in a table of so many.

    >>> smallest_cluster(100), smallest_cluster(1000)
    (3, 10.0)
    """
    return max(FEWEST_ROWS, SMALLEST_SHARE * n_rows)
