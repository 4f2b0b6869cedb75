"""Ways to compare two clusterings, and to score one.

Measures are *distances* unless their name says ``similarity`` or ``score`` or they are known
similarities. :mod:`subscape.measures.registry` lists each with its range and properties. Names are
loaded when first used.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "cells.distances": (
            "CellScores Matching cell_scores clustering_error intersection_table "
            "match_clusters rnia variation_of_information vi_with_area"
        ),
        "cells.objects": (
            "e4sc_score object_accuracy_score object_coverage_score object_entropy_score "
            "object_f1_score"
        ),
        "cells.overlap": "Overlap overlap_of",
        "cells.pairs": ("CellPairCounts cell_pair_counts four_class_rand_distance rand_distance"),
        "chance": "Corrected Expectation PValue corrected expected p_value",
        "compactness.dq": "DQScore dq_measure",
        "compactness.dunn": "dunn_index generalized_dunn",
        "compactness.indices": (
            "c_index calinski_harabasz_score compactness_report davies_bouldin_index "
            "goodman_kruskal_gamma modified_hubert_gamma silhouette_samples "
            "silhouette_score"
        ),
        "dendrograms": "cophenetic_similarity dendrogram_distance dendrogram_layers hop_similarity",
        "density.adco": ("ProfileMatch adco_distance adco_matrix adco_similarity match_profiles"),
        "density.bins": "Bins",
        "density.pair_profile": "pair_profile",
        "density.profile": "DensityProfile",
        "flats.description_length": "DescriptionLength description_length",
        "flats.encoding": "EncodedCluster EncodedTable decode encode",
        "flats.reconstruction": "ReconstructionScore feature_losses loss_by_dim sre",
        "labels.partitions": (
            "ConfusionTable HomogeneityCompleteness PairCounts WallaceScores "
            "adjusted_mutual_info_score adjusted_rand_score completeness_score "
            "confusion_table fowlkes_mallows_score homogeneity_completeness_v_measure "
            "homogeneity_score hubert_gamma_score label_error label_jaccard_score "
            "label_rand_distance label_rand_score label_vi mirkin_distance "
            "mutual_info_score normalized_mutual_info_score pair_counts partition_report "
            "v_measure_score wallace_scores"
        ),
        "pairwise": "medoid_index pairwise_distances",
        "projective": (
            "ensemble_ratio lac_weights nmi_projective psi_features psi_objects psi_projective "
            "reference_gain"
        ),
    },
)
