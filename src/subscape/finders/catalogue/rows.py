"""Finders of groups over all features: classes in levels, and shapes."""

from __future__ import annotations

from .entry import Entry

CLASSES = (
    Entry(
        "LatentClasses",
        home="subscape.finders.classes",
        role="finder",
        kind="weighted",
        sentence="classes within which the columns, levels or numbers, are independent",
        cost="n l k per round, l levels of all columns",
        doi="10.1093/biomet/61.2.215",
        reference="L. A. Goodman. Exploratory latent structure analysis using both identifiable "
        "and unidentifiable models. Biometrika 61, 1974",
        partitions=True, missing=True, nominal=True, predict=True,
        published={"n_clusters": 3, "criterion": "bic", "n_init": 1},
        ours={"criterion": ("evidence", "icl"), "max_clusters": (), "categorical": ()},
    ),
)  # fmt: skip

DENSITY = (
    Entry(
        "DensityTree",
        home="subscape.finders.density",
        role="finder",
        kind="rows",
        sentence="groups of any shape that sure valleys of low density part",
        cost="n log n in few features, n^2 p in many",
        doi="10.1145/2535927",
        reference="F. Chazal, L. J. Guibas, S. Y. Oudot, P. Skraba. Persistence-based clustering "
        "in Riemannian manifolds. Journal of the ACM 60, 2013",
        partitions=True, predict=True, random=False,
        published={},
        ours={"sureness": ()},
    ),
    Entry(
        "Leiden",
        home="subscape.finders.density",
        role="finder",
        kind="rows",
        sentence="communities in the graph of nearest neighbours, as is usual for single cells",
        cost="n^2 d for neighbours in d components, then n times neighbours",
        doi="10.1038/s41598-019-41695-z",
        reference="V. A. Traag, L. Waltman, N. J. van Eck. From Louvain to Leiden: guaranteeing "
        "well-connected communities. Scientific Reports 9, 2019",
        partitions=True,
        published={},
        ours={"n_neighbors": (), "n_components": (), "max_iter": ()},
    ),
)  # fmt: skip
