"""Finders of several clusterings at once, and of alternatives to known ones."""

from __future__ import annotations

from functools import partial

from .entry import Entry
from .trial import UNHURRIED, Trial

_views = partial(
    Entry, home="subscape.finders.views", role="views", kind="oriented", takes=("given",)
)
_alternative = partial(
    Entry, home="subscape.finders.alternatives", role="alternative", kind="rows",
    takes=("given",), partitions=True,
)  # fmt: skip

#: Without a given clustering the reference is k-means, which finds the blobs of the checks.
_NOT_THE_BLOBS = dict.fromkeys(
    ("check_clustering", "check_clustering(readonly_memmap=True)"),
    "an alternative must not find the blobs again",
)

VIEWS = (
    _views(
        "AutoNR",
        sentence="how many ways there are to group the rows, and into how many clusters each",
        cost="n p k per round and number of clusters tried",
        doi="10.1137/1.9781611977172.26",
        reference="C. Leiber, D. Mautz, C. Plant, C. Böhm. Automatic parameter selection for "
        "non-redundant clustering. SDM 2022",
        partitions=True, predict=True,
        published={"n_escapes": 0},
        ours={"n_escapes": ()},
        trials=(Trial("views", 0, UNHURRIED, columns="directions", width=(2, None)),),
    ),
    _views(
        "NrKMeans",
        sentence="several k-means clusterings at once, each in a rotated subspace of its own",
        cost="n p k per round, over all views",
        doi="10.1145/3219819.3219945",
        reference="D. Mautz, W. Ye, C. Plant, C. Böhm. Discovering non-redundant k-means "
        "clusterings in optimal subspaces. KDD 2018",
        needs=("k",), partitions=True, predict=True,
        published={"n_escapes": 0, "search_rows": None, "noise_space": "rank"},
        ours={"n_escapes": (), "search_rows": (), "noise_space": (), "noise": ()},
        trials=(
            Trial("views", 1, parameters={"n_init": 8, "n_escapes": 0}, numbers="n_clusters",
                  columns="directions", width=(2, None)),
        ),
    ),
)  # fmt: skip

#: The usual choice first.
ALTERNATIVES = (
    _alternative(
        "MAXIMUS",
        sentence="compact clusters whose density profiles differ from the known ones",
        cost="n p k per round, n k^4 where the limit binds",
        doi="10.1007/s10618-009-0164-z",
        reference="E. Bae, J. Bailey, G. Dong. A clustering comparison measure using density "
        "profiles and its application to the discovery of alternate clusterings. Data Mining and "
        "Knowledge Discovery 21, 2010",
        exclusions=_NOT_THE_BLOBS,
        published={"realise": "regions", "init": "random", "integer": "milp"},
        ours={"realise": (), "init": ("global",), "integer": ("round",), "slack": (), "cycles": ()},
    ),
    _alternative(
        "ResidualKMeans", spoken="k-means on the residuals",
        sentence="k-means clusters of what the known ones leave unexplained",
        cost="n p k per round",
        doi="10.1109/ICDM.2007.94",
        reference="Y. Cui, X. Z. Fern, J. G. Dy. Non-redundant multi-view clustering via "
        "orthogonalization. ICDM 2007",
        exclusions=_NOT_THE_BLOBS,
        published=None,
    ),
    _alternative(
        "COALA",
        sentence="average link that prefers to join what the known clusters keep apart",
        cost="n^2 p, memory n^2",
        doi="10.1109/ICDM.2006.37",
        reference="E. Bae, J. Bailey. COALA: a novel approach for the extraction of an alternate "
        "clustering of high quality and high dissimilarity. ICDM 2006",
        random=False, names_matter=False,
        published={"omega": 0.6},
        ours={"n_alternatives": ()},
    ),
    _alternative(
        "CIB",
        sentence="clusters that tell about the features what the known ones don't",
        cost="n p k per sweep",
        doi="10.1007/s10115-006-0009-7",
        reference="D. Gondek, T. Hofmann. Non-redundant data clustering. Knowledge and Information "
        "Systems 12, 2007",
        published={"features": "bins"},
        ours={"features": ("graded",), "n_alternatives": ()},
    ),
    _alternative(
        "CondEns",
        sentence="what clusterings within each known cluster have in common",
        cost="n p k per known cluster",
        doi="10.1145/1081870.1081882",
        reference="D. Gondek, T. Hofmann. Non-redundant clustering with conditional ensembles. "
        "KDD 2005",
        exclusions=_NOT_THE_BLOBS,
        published={"n_repeats": 1, "extension": "plain"},
        ours={"n_repeats": (), "extension": (), "n_alternatives": ()},
    ),
    _alternative(
        "MetaClustering",
        sentence="the farthest of many k-means clusterings with random weights",
        cost="n p k per base clustering",
        doi="10.1109/ICDM.2006.103",
        reference="R. Caruana, M. Elhawary, N. Nguyen, C. Smith. Meta clustering. ICDM 2006",
        names_matter=False,
        published={"distance": "rand"},
        ours={"distance": ("ari",)},
    ),
)  # fmt: skip
