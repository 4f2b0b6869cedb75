"""What is searched after the plan, by what it has found: the rest, and several views at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from .plan import MOST_CLUSTERS as LADDER
from .plan import Entry, seed_of, several_views

#: Views that are searched for together.
MOST_TOGETHER = 3
#: All clusters of such a search together, and rows for each of them at least.
MOST_CLUSTERS = 24
FEWEST_PER_CLUSTER = 10


def rest_entries(seed: int, number: int, place: int, effort: str) -> list[Entry]:
    """Searches of what a grouping leaves of a table.

    Parameters
    ----------
    seed : int
    number, place : int
        Which round it is, and which grouping of it.
    effort : str
    """
    return [
        Entry("CloudSearch", {"most": LADDER[effort]}, seed_of(seed, 5, number, place, again))
        for again in range({"quick": 1, "normal": 2, "thorough": 4}[effort])
    ]


def together_entries(
    sizes: Sequence[int],
    seed: int,
    number: int,
    shape: tuple[int, int],
    asked: Collection[tuple[int, ...]] = (),
) -> list[Entry]:
    """Searches for several views at once, with the numbers found so far and a little more.

    Parameters
    ----------
    sizes : sequence of int
        Clusters of the best views.
    seed, number : int
        ``number`` says which round it is.
    shape : tuple of int
        Rows and directions of the table.
    asked : collection of tuple of int
        Numbers of clusters of the views that have been asked for before, from several starts each:
        these are not asked for again.

    >>> [e.parameters["n_clusters"] for e in together_entries([4], 0, 0, (300, 9))]
    [[4, 2, 1], [4, 3, 1], [2, 2, 1]]
    >>> [e.parameters["n_clusters"] for e in together_entries([4], 0, 1, (300, 9), [(4, 3)])]
    [[4, 2, 1], [2, 2, 1]]
    """
    n_rows, n_directions = shape
    requests: dict[tuple[int, ...], None] = {}
    for most in range(1, len(sizes) + 1):
        first = sizes[:most]
        for more in ([], [2], [3]):
            requests.setdefault((*first, *more))
        for j in range(most):
            requests.setdefault((*first[:j], first[j] + 1, *first[j + 1 :]))
            for a, b in factors(first[j]):
                requests.setdefault((*first[:j], a, b, *first[j + 1 :]))
    return [
        replace(several_views(k), seed=seed_of(seed, 9, number, *k))
        for k in requests
        if k not in asked
        and 1 < len(k) < min(n_directions, MOST_TOGETHER + 2)
        and sum(k) <= min(n_rows // FEWEST_PER_CLUSTER, MOST_CLUSTERS)
    ]


def factors(number: int) -> list[tuple[int, int]]:
    """The ways to write a number as a product of two, both at least 2.

    >>> factors(12)
    [(6, 2), (4, 3)]
    """
    return [(number // k, k) for k in range(2, number) if number % k == 0 and k * k <= number]
