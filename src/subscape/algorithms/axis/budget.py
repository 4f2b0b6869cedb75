"""Limits of searches that can explode: how much of the time each phase gets, and what to say."""

from __future__ import annotations

from subscape.algorithms.base import Watch

__all__ = ["SEARCH", "TURN_INTO_CLUSTERS", "seconds_for", "too_many", "used_up"]

#: Shares of ``max_time`` after which the search, and the making of clusters, must end; the rest is
#: for choosing among the clusters, so that a search cut short still has a result.
SEARCH, TURN_INTO_CLUSTERS = 0.5, 0.75


def used_up(watch: Watch, share: float) -> bool:
    """Whether a share of the time is over; notes that the search was cut short if so."""
    left = seconds_for(watch, share)
    if left > 0:
        return False
    watch.cut(f"stopped after max_time={watch.max_time:g} s; give it more time for a full search")
    return True


def seconds_for(watch: Watch, share: float) -> float:
    """Seconds left until a share of the time is over; infinite where there is no limit."""
    return float("inf") if watch.max_time is None else share * watch.max_time - watch.seconds


def too_many(watch: Watch, limit: int, what: str, remedy: str) -> None:
    """Note that the search stopped at its largest number of candidates."""
    watch.cut(
        f"stopped after max_candidates={limit} {what}; {remedy}, use fewer columns, or raise "
        "max_candidates"
    )
