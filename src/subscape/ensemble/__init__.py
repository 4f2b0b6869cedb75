"""One projective clustering out of many.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "accumulation": "EvidenceAccumulation",
        "agreements": "Agreement agreement",
        "classic": "CSPA HBGF HGPA MCLA",
        "cluster_based": "ClusterBasedPCE",
        "em": "EMPCE",
        "generation": "generate",
        "members": "Ensemble",
        "moea": "MOEAPCE",
        "rows": "RowConsensus consensus_rows",
        "weighted_graphs": "WBPA WSPA",
        "weighted_vote": "RowVote",
    },
)
