"""How a clustering shows itself, as one line of text and as a small table in notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from .errors import count

if TYPE_CHECKING:
    from .clustering import SubspaceClustering

KIND_NAMES = {"axis": "axis-aligned", "weighted": "weighted", "oriented": "oriented"}

#: Clusters listed in a notebook before the rest is only counted.
MOST_CLUSTERS = 20


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
    lines = []
    for k in range(min(clustering.n_clusters, MOST_CLUSTERS)):
        cluster = clustering.cluster(k)
        order = cluster.features[np.argsort(-cluster.relevance[cluster.features], kind="stable")]
        shown = ", ".join(escape(feature_label(clustering, int(f))) for f in order[:8])
        more = f" and {len(order) - 8} more" if len(order) > 8 else ""
        lines.append(
            f"<tr><td>{k}</td><td>{clustering.sizes[k]:g}</td><td>{cluster.dims:.3g}</td>"
            f"<td style='text-align:left'>{shown}{more}</td></tr>"
        )
    hidden = clustering.n_clusters - len(lines)
    tail = f"<p>… and {count(hidden, 'more cluster')}</p>" if hidden else ""
    return (
        f"<div><b>SubspaceClustering</b>: {escape(', '.join(_facts(clustering)))}"
        "<table><thead><tr><th>cluster</th><th>rows</th><th>dims</th>"
        "<th style='text-align:left'>features</th></tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>{tail}</div>"
    )
