"""Methods that merge many clusterings into one; their classes live in :mod:`subscape.ensemble`."""

from __future__ import annotations

from functools import partial

from .entry import Entry

_method = partial(
    Entry, home="subscape.ensemble", role="consensus", overlapping=False, needs=("ensemble",)
)
_projective = partial(_method, kind="weighted", overlapping=True)
_by_rows = partial(_method, kind="rows")

_STREHL = (
    "A. Strehl, J. Ghosh. Cluster ensembles: a knowledge reuse framework for combining multiple "
    "partitions. Journal of Machine Learning Research 3, 2002"
)
_GULLO = "F. Gullo, C. Domeniconi, A. Tagarelli. Projective clustering ensembles. ICDM 2009"
_DOMENICONI = (
    "C. Domeniconi, M. Al-Razgan. Weighted cluster ensembles: methods and analysis. ACM "
    "Transactions on Knowledge Discovery from Data 2(4), 2009"
)

#: The usual choice first.
CONSENSUS = (
    _projective(
        "ClusterBasedPCE",
        sentence="groups of clusters that are alike in rows and features, and their votes",
        cost="c^2 (n + p), all members together having c clusters",
        doi="10.1145/1989323.1989400",
        reference="F. Gullo, C. Domeniconi, A. Tagarelli. Advancing data clustering via projective "
        "clustering ensembles. SIGMOD 2011",
        published={"metaclustering": "kmedoids", "refine": False, "assignment": "auto",
                   "feature_rule": "paper"},
        ours={"metaclustering": ("members",), "refine": (), "feature_rule": ("mean",),
              "noise": ()},
        options={"cb": {}, "fcb": {"distance": "fast"}},
    ),
    _projective(
        "EMPCE",
        sentence="rows whose clusters have the same feature weights",
        cost="n p k per round",
        doi="10.1109/ICDM.2009.131", reference=_GULLO,
        published={"alpha": 2.0, "assignment": "soft"},
        ours={"noise": ()},
        options={"em": {}},
    ),
    _projective(
        "MOEAPCE",
        sentence="solutions between which rows and features have to be traded",
        cost="c k (n + p) per solution and generation",
        doi="10.1109/ICDM.2009.131", reference=_GULLO,
        published={"couple": False, "mutation_scale": 1.0, "assignment": "soft"},
        ours={"couple": (), "noise": ()},
        options={"moea": {}},
    ),
    _by_rows(
        "CSPA",
        sentence="parts of the graph of rows that many members join",
        cost="n c k; n^2 m with METIS",
        doi="10.1162/153244303321897735", reference=_STREHL,
        published={"partitioner": "metis"},
        ours={"partitioner": (), "noise": ()},
        options={"cspa": {}},
    ),
    _by_rows(
        "HGPA",
        sentence="parts of the hypergraph whose edges are the clusters",
        cost="n c",
        doi="10.1162/153244303321897735", reference=_STREHL,
        published={"partitioner": "metis"},
        ours={"partitioner": (), "noise": ()},
        options={"hgpa": {}},
    ),
    _by_rows(
        "MCLA",
        sentence="groups of clusters with much the same rows",
        cost="c^2 + n c",
        doi="10.1162/153244303321897735", reference=_STREHL,
        published={"partitioner": "metis"},
        ours={"partitioner": (), "noise": ()},
        options={"mcla": {}},
    ),
    _by_rows(
        "HBGF",
        sentence="parts of the graph between rows and the clusters they are in",
        cost="n m k",
        doi="10.1145/1015330.1015414",
        reference="X. Z. Fern, C. E. Brodley. Solving cluster ensemble problems by bipartite graph "
        "partitioning. ICML 2004",
        ours={"noise": ()},
        options={"hbgf": {}},
    ),
    _by_rows(
        "EvidenceAccumulation",
        sentence="a dendrogram of the rows by how often members join them",
        cost="n^2 m, memory n^2",
        doi="10.1109/TPAMI.2005.113",
        reference="A. L. N. Fred, A. K. Jain. Combining multiple clusterings using evidence "
        "accumulation. IEEE Transactions on Pattern Analysis and Machine Intelligence 27, 2005",
        random=False,
        ours={"linkage": ("complete",), "noise": ()},
        options={"eac": {}},
    ),
    _by_rows(
        "WSPA",
        sentence="parts of the graph of rows that lie near to the same clusters",
        cost="n c k; n^2 c with METIS",
        doi="10.1145/1460797.1460800", reference=_DOMENICONI,
        needs=("ensemble", "table"),
        published={"partitioner": "metis"},
        ours={"partitioner": (), "noise": ()},
        options={"wspa": {}},
    ),
    _by_rows(
        "WBPA",
        sentence="parts of the graph between rows and clusters, linked by how near they lie",
        cost="n c",
        doi="10.1145/1460797.1460800", reference=_DOMENICONI,
        needs=("ensemble", "table"),
        published={"partitioner": "metis"},
        ours={"partitioner": (), "noise": ()},
        options={"wbpa": {}},
    ),
)  # fmt: skip
