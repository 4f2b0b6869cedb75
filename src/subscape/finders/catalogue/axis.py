"""Finders of axis-aligned subspaces."""

from __future__ import annotations

from functools import partial

from .entry import Entry
from .trial import NARROW, UNHURRIED, Trial

#: MineClus in ``explore``: planted boxes need fewer than 500 sets of features around a row; where
#: most values of many columns are equal there is no end of them.
BRIEF = {"max_candidates": 2000}

_finder = partial(Entry, home="subscape.finders.axis", role="finder", kind="axis")

_DOC = (
    "C. M. Procopiuc, M. Jones, P. K. Agarwal, T. M. Murali. A Monte Carlo algorithm for fast "
    "projective clustering. SIGMOD 2002"
)

AXIS = (
    _finder(
        "CLIQUE",
        sentence="connected dense cells of a grid, in whichever features they are dense",
        cost="n per candidate; candidates may explode with d",
        doi="10.1145/276304.276314",
        reference="R. Agrawal, J. Gehrke, D. Gunopulos, P. Raghavan. Automatic subspace clustering "
        "of high dimensional data for data mining applications. SIGMOD 1998",
        overlapping=True, random=False,
        published={"report": "all", "prune": True, "min_rows": 1, "n_bins": 10},
        ours={"report": ("nonredundant", "maximal"), "min_rows": (), "max_clusters": (),
              "max_dims": (), "n_bins": (None,)},
    ),
    _finder(
        "DOC",
        sentence="dense boxes, one after another, by random sampling",
        cost="n p per box; searches on a sample of fixed size",
        doi="10.1145/564691.564739", reference=_DOC,
        overlapping=True, missing=True, predict=True,
        published={"refine": False, "search_rows": None, "max_samples": None},
        ours={"refine": (), "search_rows": (), "max_samples": (), "avg_dims": ()},
        trials=(Trial("boxes", 3, UNHURRIED, width=NARROW),),
    ),
    _finder(
        "DiSH",
        sentence="subspace clusters inside subspace clusters",
        cost="n^2 p / word size",
        doi="10.1007/978-3-540-71703-4_15",
        reference="E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, I. Müller-Gorman, A. Zimek. "
        "Detection and visualization of subspace cluster hierarchies. DASFAA 2007",
        overlapping=True, random=False,
        published={"search": "greedy", "scale": False},
        ours={"search": ("exact",), "scale": ()},
    ),
    _finder(
        "FastDOC",
        sentence="dense boxes, as DOC, but only the most promising ones are looked at",
        cost="n p per box; searches on a sample of fixed size",
        doi="10.1145/564691.564739", reference=_DOC,
        overlapping=True, missing=True, predict=True,
        published={"refine": False, "search_rows": None, "strict": True},
        ours={"refine": (), "search_rows": (), "strict": (), "avg_dims": ()},
    ),
    _finder(
        "HARP",
        sentence="a dendrogram of clusters that each have their own features",
        cost="n^2 p on a sample of fixed size, then n p k",
        doi="10.1109/TKDE.2004.74",
        reference="K. Y. Yip, D. W. Cheung, M. K. Ng. HARP: a practical projected clustering "
        "algorithm. IEEE Transactions on Knowledge and Data Engineering 16(11), 2004",
        predict=True,
        published={"n_clusters": 5, "cut": "level", "refine": False, "noise": False,
                   "n_steps": None, "min_relevance": "stop", "search_rows": None},
        ours={"cut": (), "refine": (), "noise": (), "n_steps": (), "min_relevance": (),
              "search_rows": (), "n_clusters": (None,)},
        trials=(Trial("boxes", 4, UNHURRIED, width=NARROW),),
    ),
    _finder(
        "MAFIA",
        sentence="boxes around dense cells of a grid that follows the data",
        cost="n p k; searches on a sample of fixed size",
        doi="10.1137/1.9781611972719.7",
        reference="H. Nagesh, S. Goil, A. Choudhary. Adaptive grids for clustering massive data "
        "sets. SDM 2001",
        overlapping=True, random=False,
        published={"report": "maximal", "refine": False, "alpha": 1.5, "min_rows": 1},
        ours={"report": ("nonredundant", "all"), "refine": (), "min_rows": (), "max_clusters": (),
              "max_dims": (), "alpha": (None,)},
    ),
    _finder(
        "MineClus",
        sentence="dense boxes, one after another, by exact search",
        cost="n p per box; searches on a sample of fixed size",
        doi="10.1109/ICDM.2003.1251009",
        reference="M. L. Yiu, N. Mamoulis. Frequent-pattern based iterative projected clustering. "
        "ICDM 2003",
        overlapping=True, missing=True, predict=True,
        published={"refine": False, "merge": True, "search_rows": None},
        ours={"refine": (), "merge": (), "search_rows": (), "avg_dims": (), "overlap": ()},
        trials=(
            Trial("axis-aligned", 1, parameters=BRIEF, width=NARROW),
            Trial("boxes", 0, parameters={"overlap": True, **BRIEF}, width=NARROW),
            Trial("chance boxes", 2, parameters=BRIEF, width=NARROW),
        ),
    ),
    _finder(
        "P3C",
        sentence="intervals that hold more rows than chance, combined into clusters",
        cost="n p + candidates n",
        doi="10.1109/ICDM.2006.123",
        reference="G. Moise, J. Sander, M. Ester. P3C: a robust projected clustering algorithm. "
        "ICDM 2006",
        overlapping=True, random=False,
        exclusions={"check_clustering": "its 50 rows in two features show no significant interval"},
        published={"search": "exact", "background": "uniform", "min_effect": 0.0, "max_rounds": 1,
                   "poisson_threshold": 1e-20, "min_cluster_size": 1},
        ours={"search": ("greedy",), "background": (), "min_effect": (), "max_rounds": (),
              "poisson_threshold": (None,), "min_cluster_size": (), "overlap": ()},
        trials=(
            Trial("axis-aligned", 2, width=NARROW),
            Trial("chance boxes", 3, width=NARROW),
        ),
    ),
    _finder(
        "PROCLUS",
        sentence="k medoids, each with the features in which its rows are close",
        cost="n (k d + p); searches on a sample of fixed size",
        doi="10.1145/304182.304188",
        reference="C. C. Aggarwal, C. M. Procopiuc, J. L. Wolf, P. S. Yu, J. S. Park. Fast "
        "algorithms for projected clustering. SIGMOD 1999",
        needs=("k",), predict=True,
        published={"refine": False, "noise": "spheres", "search_rows": None, "n_init": 1},
        ours={"refine": (), "noise": ("far",), "search_rows": (), "reach": ()},
        trials=(Trial("boxes", 2, UNHURRIED, numbers="n_clusters", least=3, width=NARROW),),
    ),
    _finder(
        "PreDeCon",
        sentence="density clusters in which every row has its own preferred features",
        cost="n p k; searches on a sample of fixed size",
        doi="10.1109/ICDM.2004.10087",
        reference="C. Böhm, K. Kailing, H.-P. Kriegel, P. Kröger. Density connected clustering "
        "with local subspace preferences. ICDM 2004",
        random=False,
        published={"neighbourhoods": "all", "scale": False},
        ours={"neighbourhoods": (), "scale": ()},
    ),
    _finder(
        "SSPC",
        sentence="k clusters that are narrow in their own features, with or without help",
        cost="n p k per round",
        doi="10.1109/ICDE.2005.96",
        reference="K. Y. Yip, D. W. Cheung, M. K. Ng. On discovery of extremely low-dimensional "
        "clusters using semi-supervised projected clustering. ICDE 2005",
        needs=("k",), predict=True,
        published={"chance": None, "n_init": 1},
        ours={"chance": ("auto",), "pin_labels": ()},
        trials=(Trial("boxes", 5, UNHURRIED, numbers="n_clusters", least=3, width=NARROW),),
    ),
    _finder(
        "SUBCLU",
        sentence="density clusters in every subspace that has any",
        cost="n log n per subspace; subspaces may explode with d",
        doi="10.1137/1.9781611972740.23",
        reference="K. Kailing, H.-P. Kriegel, P. Kröger. Density-connected subspace clustering for "
        "high-dimensional data. SDM 2004",
        overlapping=True, random=False,
        published={"report": "all"},
        ours={"report": (), "max_clusters": (), "min_dims": (), "max_dims": ()},
    ),
)  # fmt: skip
