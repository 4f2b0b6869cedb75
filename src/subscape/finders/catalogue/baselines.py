"""Finders of scikit-learn: what do subspaces add to these?"""

from __future__ import annotations

from functools import partial

from .entry import Entry
from .trial import MOST_ROWS_SQUARED, UNHURRIED, Trial

_baseline = partial(Entry, home="sklearn.cluster", role="baseline", kind="rows")

_DIAGONAL = {"covariance_type": "diag", "reg_covar": 1e-3}


def _a_fiftieth(n_rows: int) -> int:
    return max(5, n_rows // 50)


BASELINES = (
    _baseline(
        "KMeans", spoken="k-means",
        sentence="k centres, each row with the closest one",
        cost="n p k per round",
        doi="10.1109/TIT.1982.1056489",
        reference="S. P. Lloyd. Least squares quantization in PCM. IEEE Transactions on "
        "Information Theory 28(2), 1982",
        needs=("k",), partitions=True, predict=True, sparse=True,
        trials=(
            Trial("asked", 0, parameters={"n_init": 5}, numbers="n_clusters"),
            Trial("chance boxes", 0, parameters={"n_init": 3}, numbers="n_clusters"),
        ),
    ),
    _baseline(
        "GaussianMixture", spoken="a Gaussian mixture", home="sklearn.mixture",
        sentence="k normal distributions, each row with the likeliest one",
        cost="n p k per round",
        doi="10.1111/j.2517-6161.1977.tb01600.x",
        reference="A. P. Dempster, N. M. Laird, D. B. Rubin. Maximum likelihood from incomplete "
        "data via the EM algorithm. Journal of the Royal Statistical Society B 39(1), 1977",
        needs=("k",), partitions=True, predict=True,
        trials=(
            Trial("clouds", 0, UNHURRIED, _DIAGONAL, "n_components", most=4, columns="directions"),
            Trial("asked", 3, parameters=_DIAGONAL, numbers="n_components"),
        ),
    ),
    _baseline(
        "HDBSCAN",
        sentence="clusters of any density that stay together over many of them",
        cost="n^2 p",
        doi="10.1007/978-3-642-37456-2_14",
        reference="R. J. G. B. Campello, D. Moulavi, J. Sander. Density-based clustering based on "
        "hierarchical density estimates. PAKDD 2013",
        missing=True, random=False,
        trials=(
            Trial("clouds", 1, UNHURRIED, {"min_cluster_size": _a_fiftieth, "copy": True},
                  columns="directions", most_rows=MOST_ROWS_SQUARED),
        ),
    ),
)  # fmt: skip
