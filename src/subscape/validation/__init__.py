"""Whether clusterings are real, stable, and of the right size.

Names are loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cluster_scores": "ClusterScores score_clusters",
        "merit": "FigureOfMerit figure_of_merit",
        "features": "FeatureTests feature_tests",
        "gap": "GapCurve gap_statistic",
        "classes": "ClassTest class_test",
        "valleys": "CurveNull ValleyTest valley_test",
        "nulls": "NullModel null_table",
        "null_test": "Significance significance",
        "valley_lines": "SplitTest split_test",
        "unimodality": "dip_statistic valley_statistic",
        "max_statistic": "max_statistic_test robust_scale",
        "selection": "Choice choose",
        "stability.replication": "Replication replicate",
        "stability.clusters": "ClusterStability cluster_stability",
        "stability.subsampling": "ResamplingStability resampling_stability",
        "stability.curves": "StabilityCurve",
        "stability.resampling": "subsamples",
        "stability.lange": "lange_stability prediction_strength",
        "stability.clest": "clest",
        "stability.model_explorer": "model_explorer levine_domany",
    },
)
