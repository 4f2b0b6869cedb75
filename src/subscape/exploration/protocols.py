"""What the parts of an exploration ask of each other, so that none imports the one that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from subscape.core.clustering import SubspaceClustering
from subscape.core.types import FloatArray, IndexArray, IntArray
from subscape.runs.store import Run
from subscape.tables.table import Table

from .candidates import Candidate, Compared
from .parted_tables import PartedTable
from .plan import Plan
from .preparation import Prepared
from .separation import GroupingScorer


class SearchedTable(Protocol):
    """An exploration whose search is done: what a study is assembled from."""

    time: float | None
    left_out: list[str]
    to_come: str
    seed: int
    table: Table | PartedTable
    searched: Table
    rows: IndexArray
    ready: Prepared
    X: FloatArray
    plan: Plan
    folder: Path | None
    scorer: GroupingScorer
    runs: list[Run]
    candidates: list[Candidate]
    compared_pairs: Compared
    truth: dict[str, IntArray]
    chance: Any
    ideas: Any
    journal: Any
    scorers: Any

    def compared(self, labels: Any, memberships: Any = None) -> Any: ...
    def _again(self, views: Any) -> Any: ...
    def _in_time(self, share: float = 1.0) -> bool: ...


class RankedView(Protocol):
    """A view as words and annotations need it; see :class:`subscape.exploration.View`."""

    @property
    def number(self) -> int: ...
    @property
    def n_clusters(self) -> int: ...
    @property
    def labels(self) -> IntArray: ...
    @property
    def clustering(self) -> SubspaceClustering: ...
    @property
    def row_confidence(self) -> FloatArray: ...
    @property
    def finders(self) -> tuple[str, ...]: ...
    @property
    def score(self) -> float: ...
    @property
    def p_value(self) -> float: ...
    @property
    def stability(self) -> float: ...
    @property
    def replication(self) -> float: ...
    @property
    def cluster_stability(self) -> FloatArray: ...
    @property
    def cluster_p_values(self) -> FloatArray: ...
    @property
    def descriptions(self) -> tuple[str, ...]: ...
    @property
    def facts(self) -> tuple[tuple[Any, ...], ...]: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def claimed_clusters(self) -> Any: ...
    @property
    def n_tables(self) -> int: ...
    @property
    def n_ideas(self) -> int: ...
    @property
    def p_interval(self) -> tuple[float, float] | None: ...
    @property
    def chance(self) -> str: ...


class RankedViews(Protocol):
    """A study as words and annotations need it; see :class:`subscape.Study`."""

    @property
    def LEVEL(self) -> float: ...
    @property
    def views(self) -> Sequence[RankedView]: ...
    @property
    def significant_views(self) -> Sequence[RankedView]: ...
    @property
    def between_views(self) -> FloatArray: ...
    @property
    def verdict(self) -> str: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def feature_names(self) -> tuple[str, ...]: ...
    @property
    def row_names(self) -> tuple[str, ...] | None: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def is_provisional(self) -> bool: ...
    @property
    def results(self) -> Sequence[Any]: ...
    @property
    def chance(self) -> tuple[float, ...]: ...
    @property
    def curve_chance(self) -> tuple[float, ...]: ...
    @property
    def power(self) -> Any: ...
