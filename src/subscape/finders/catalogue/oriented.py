"""Finders of weighted and oriented subspaces, and of co-clusters."""

from __future__ import annotations

from functools import partial

from .entry import Entry
from .trial import MOST_ROWS_SQUARED, NARROW, UNHURRIED, Trial

_finder = partial(Entry, role="finder")
_weighted = partial(_finder, home="subscape.finders.weighted", kind="weighted")
_oriented = partial(_finder, home="subscape.finders.oriented", kind="oriented")
_cocluster = partial(_finder, home="subscape.finders.cocluster", kind="cocluster")

_flats = partial(Trial, "oriented", efforts=("thorough",), columns="numeric", width=(3, 200))

WEIGHTED = (
    _weighted(
        "LAC",
        sentence="k centres, each with its own feature weights",
        cost="n p k per round",
        doi="10.1007/s10618-006-0060-8",
        reference="C. Domeniconi, D. Gunopulos, S. Ma, B. Yan, M. Al-Razgan, D. Papadopoulos. "
        "Locally adaptive metrics for clustering high dimensional data. Data Mining and Knowledge "
        "Discovery 14, 2007",
        needs=("k",), partitions=True, predict=True,
        published={"objective": "lac", "scale": None, "init": "scattered", "search_rows": None,
                   "n_init": 1},
        ours={"objective": (), "scale": (), "init": ("kmeans++", "random"), "assignment": (),
              "search_rows": ()},
        trials=(
            Trial("axis-aligned", 0, UNHURRIED, numbers="n_clusters", width=(2, None)),
            Trial("boxes", 1, ("quick",), numbers="n_clusters", width=NARROW),
            Trial("asked", 2, parameters={"n_init": 3}, numbers="n_clusters"),
            Trial("chance boxes", 1, parameters={"n_init": 2}, numbers="n_clusters", most=3),
        ),
    ),
    _weighted(
        "EWKM",
        sentence="k centres with feature weights, sharper in large clusters",
        cost="n p k per round",
        doi="10.1109/TKDE.2007.1048",
        reference="L. Jing, M. K. Ng, J. Z. Huang. An entropy weighting k-means algorithm for "
        "subspace clustering of high-dimensional sparse data. IEEE Transactions on Knowledge and "
        "Data Engineering 19, 2007",
        needs=("k",), partitions=True, predict=True,
        published={"scale": None, "init": "random", "search_rows": None, "n_init": 1},
        ours={"scale": (), "init": ("kmeans++", "scattered"), "search_rows": ()},
    ),
    _weighted(
        "SparseKMeans",
        sentence="k-means clusters and the few features that part them",
        cost="n p k per round",
        doi="10.1198/jasa.2010.tm09415",
        reference="D. M. Witten, R. Tibshirani. A framework for feature selection in clustering. "
        "Journal of the American Statistical Association 105, 2010",
        needs=("k",), partitions=True, predict=True,
        published={"scale": None},
        ours={"scale": ()},
    ),
)  # fmt: skip

ORIENTED = (
    _oriented(
        "CASH",
        sentence="flats that many rows agree on, by the Hough transform",
        cost="n per cell of parameter space",
        doi="10.1137/1.9781611972788.69",
        reference="E. Achtert, C. Böhm, J. David, P. Kröger, A. Zimek. Robust clustering in "
        "arbitrarily oriented subspaces. SDM 2008",
        random=False,
        published={"search": "greedy", "adjust": False, "refine": False},
        ours={"search": (), "adjust": (), "refine": (), "search_rows": ()},
    ),
    _oriented(
        "COPAC",
        sentence="density clusters of rows with the same local flat",
        cost="n^2 p + n p^3",
        doi="10.1137/1.9781611972771.37",
        reference="E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, A. Zimek. Robust, complete, and "
        "efficient correlation clustering. SDM 2007",
        random=False,
        published={"refine": False, "explained_variance": 0.85},
        ours={"refine": (), "search_rows": (), "explained_variance": ("auto",)},
        trials=(_flats(2, width=(3, 30), most_rows=MOST_ROWS_SQUARED),),
    ),
    _oriented(
        "ERiC",
        sentence="flats that lie in flats, as lines in planes",
        cost="n^2 p + n p^3",
        doi="10.1109/SSDBM.2007.21",
        reference="E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, A. Zimek. On exploring complex "
        "relationships of correlation clusters. SSDBM 2007",
        random=False,
        published={"refine": False, "explained_variance": 0.85},
        ours={"refine": (), "search_rows": (), "explained_variance": ("auto",)},
    ),
    _oriented(
        "FourC",
        sentence="density clusters of rows that agree on a local flat",
        cost="n^2 p + n p^3",
        doi="10.1145/1007568.1007620",
        reference="C. Böhm, K. Kailing, P. Kröger, A. Zimek. Computing clusters of correlation "
        "connected objects. SIGMOD 2004",
        random=False,
        published={"refine": False},
        ours={"refine": (), "search_rows": (), "absolute": ()},
    ),
    _oriented(
        "KFlats",
        sentence="k lines, planes or flats, each row with the closest one",
        cost="n p k q per round, flats of dimension q",
        doi="10.1023/A:1008324625522",
        reference="P. S. Bradley, O. L. Mangasarian. k-plane clustering. Journal of Global "
        "Optimization 16, 2000",
        needs=("k",), partitions=True, predict=True,
        exclusions={"check_clustering": "its blobs are round, and lines through two of them fit"},
        published={"n_swaps": 0, "search_rows": None, "n_init": 1},
        ours={"n_swaps": (), "noise": (), "search_rows": ()},
        trials=(_flats(0, parameters={"n_init": 5}, numbers="n_clusters", most=4),),
    ),
    _oriented(
        "LMCLUS",
        sentence="linear manifolds, found by random samples and histograms",
        cost="samples n p",
        doi="10.1016/j.patcog.2007.01.020",
        reference="R. Haralick, R. Harpaz. Linear manifold clustering in high dimensional spaces "
        "by stochastic search. Pattern Recognition 40, 2007",
        published={"sampling": "rows", "stop_at_first": False, "refine": False, "n_init": 1},
        ours={"sampling": ("neighbours",), "stop_at_first": (), "refine": ()},
        trials=(_flats(3, width=(3, 30), most_rows=MOST_ROWS_SQUARED),),
    ),
    _oriented(
        "ORCLUS",
        sentence="k clusters, each tight in its own rotated directions",
        cost="15 k n p^2 + (15 k)^2 p^3",
        doi="10.1145/342009.335383",
        reference="C. C. Aggarwal, P. S. Yu. Finding generalized projected clusters in high "
        "dimensional spaces. SIGMOD 2000",
        needs=("k",), partitions=True,
        exclusions={"check_clustering": "its blobs are round and tight in both of their two "
                    "features"},
        published={"max_iter": 1, "search_rows": None, "n_init": 1},
        ours={"max_iter": (), "search_rows": ()},
        # It turns every pair of clusters: too dear for many columns.
        trials=(_flats(1, numbers="n_clusters", most=4, width=(3, 60)),),
    ),
    _oriented(
        "SubKMeans",
        sentence="k-means clusters and the subspace in which they differ",
        cost="n p k per round",
        doi="10.1145/3097983.3097989",
        reference="D. Mautz, W. Ye, C. Plant, C. Böhm. Towards an optimal subspace for k-means. "
        "KDD 2017",
        needs=("k",), partitions=True, predict=True,
        published={"search_rows": None, "n_init": 1},
        ours={"search_rows": ()},
        trials=(Trial("asked", 1, parameters={"n_init": 3}, numbers="n_clusters"),),
    ),
)  # fmt: skip

COCLUSTER = (
    _cocluster(
        "ChengChurch",
        sentence="biclusters whose rows and columns add up, one after another",
        cost="n p per step",
        doi="10.1109/TCBB.2004.2",
        reference="S. C. Madeira, A. L. Oliveira. Biclustering algorithms for biological data "
        "analysis: a survey. IEEE/ACM Transactions on Computational Biology and Bioinformatics "
        "1(1), 2004",
        overlapping=True, missing=True,
        exclusions={"check_clustering": "two columns show no pattern across columns"},
        published={"n_clusters": 10, "min_multi": 100, "inverted_rows": True},
        ours={"n_clusters": (None,)},
    ),
    _cocluster(
        "ITCC",
        sentence="row and column groups that keep their mutual information",
        cost="nnz + (n + p) k l per round",
        doi="10.1145/956750.956764",
        reference="I. S. Dhillon, S. Mallela, D. S. Modha. Information-theoretic co-clustering. "
        "KDD 2003",
        needs=("k",), overlapping=True, partitions=True, sparse=True,
        exclusions={"check_clustering": "uses negative values, which a distribution can't have"},
        published={"local_search": False, "n_init": 1},
        ours={"local_search": ()},
    ),
)  # fmt: skip
