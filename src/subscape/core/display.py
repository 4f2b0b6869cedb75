"""How a clustering shows itself, as one line of text and as a small table in notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import count
from .markup import MOST_LINES, card

if TYPE_CHECKING:
    from .clustering import SubspaceClustering

KIND_NAMES = {"axis": "axis-aligned", "weighted": "weighted", "oriented": "oriented"}

#: Features named in a notebook for each cluster.
MOST_FEATURES = 8


def text(clustering: SubspaceClustering) -> str:
    """One line: how many clusters of which kind, over which table."""
    return f"SubspaceClustering({', '.join(_facts(clustering))})"


def _facts(clustering: SubspaceClustering) -> list[str]:
    kind = KIND_NAMES[clustering.kind]
    facts = [
        f"{clustering.n_clusters} {kind} cluster{'s' * (clustering.n_clusters != 1)}",
        f"{count(clustering.n_rows, 'row')} x {count(clustering.n_features, 'feature')}",
    ]
    per_row = clustering.members.clusters_per_row()
    noise = int((per_row == 0).sum())
    if noise:
        facts.append(count(noise, "noise row"))
    if not clustering.is_hard:
        facts.append("soft")
    elif (per_row > 1).any():
        facts.append("co-clustering" if clustering.is_coclustering else "overlapping rows")
    elif not noise:
        facts.append("partition")
    return facts


def feature_label(clustering: SubspaceClustering, feature: int) -> str:
    """Name of a feature, or its position."""
    names = clustering.feature_names
    return names[feature] if names else f"x{feature}"


def html(clustering: SubspaceClustering) -> str:
    """A table with one line per cluster."""
    lines: list[list[Any]] = []
    for k in range(min(clustering.n_clusters, MOST_LINES)):
        cluster = clustering.cluster(k)
        order = cluster.features[np.argsort(-cluster.relevance[cluster.features], kind="stable")]
        shown = ", ".join(feature_label(clustering, int(f)) for f in order[:MOST_FEATURES])
        rest = f" and {len(order) - MOST_FEATURES} more" if len(order) > MOST_FEATURES else ""
        lines.append([k, float(clustering.sizes[k]), float(cluster.dims), shown + rest])
    head = ["cluster", "rows", "dims", "features"]
    text = ", ".join(_facts(clustering))
    more = clustering.n_clusters - len(lines)
    return card("SubspaceClustering", text, head, lines, more=more, noun="cluster")
