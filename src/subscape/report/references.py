"""The papers behind what a study did, as they stand in a list of references."""

from __future__ import annotations

from subscape.algorithms.registry import FINDERS

#: Papers of methods that are no finders of ours, with DOI.
METHODS = {
    "clustering error": (
        "A. Patrikainen, M. Meilă. Comparing subspace clusterings. IEEE Transactions on Knowledge "
        "and Data Engineering 18(7), 2006",
        "10.1109/TKDE.2006.106",
    ),
    "meta clustering": (
        "R. Caruana, M. Elhawary, N. Nguyen, C. Smith. Meta clustering. ICDM 2006",
        "10.1109/ICDM.2006.103",
    ),
    "adjusted Rand index": (
        "L. Hubert, P. Arabie. Comparing partitions. Journal of Classification 2, 1985",
        "10.1007/BF01908075",
    ),
    "KMeans": (
        "S. P. Lloyd. Least squares quantization in PCM. IEEE Transactions on Information Theory "
        "28(2), 1982",
        "10.1109/TIT.1982.1056489",
    ),
    "GaussianMixture": (
        "A. P. Dempster, N. M. Laird, D. B. Rubin. Maximum likelihood from incomplete data via the "
        "EM algorithm. Journal of the Royal Statistical Society B 39(1), 1977",
        "10.1111/j.2517-6161.1977.tb01600.x",
    ),
    "HDBSCAN": (
        "R. J. G. B. Campello, D. Moulavi, J. Sander. Density-based clustering based on "
        "hierarchical density estimates. PAKDD 2013",
        "10.1007/978-3-642-37456-2_14",
    ),
    "NrKMeans": (
        "D. Mautz, W. Ye, C. Plant, C. Böhm. Discovering non-redundant k-means clusterings in "
        "optimal subspaces. KDD 2018",
        "10.1145/3219819.3219945",
    ),
    "AutoNR": (
        "C. Leiber, D. Mautz, C. Plant, C. Böhm. Automatic parameter selection for non-redundant "
        "clustering. SDM 2022",
        "10.1137/1.9781611977172.26",
    ),
    "MAXIMUS": (
        "E. Bae, J. Bailey, G. Dong. A clustering comparison measure using density profiles and "
        "its application to the discovery of alternate clusterings. Data Mining and Knowledge "
        "Discovery 21, 2010",
        "10.1007/s10618-009-0164-z",
    ),
    "COALA": (
        "E. Bae, J. Bailey. COALA: a novel approach for the extraction of an alternate clustering "
        "of high quality and high dissimilarity. ICDM 2006",
        "10.1109/ICDM.2006.37",
    ),
    "CIB": (
        "D. Gondek, T. Hofmann. Non-redundant data clustering. ICDM 2004",
        "10.1109/ICDM.2004.10104",
    ),
    "CondEns": (
        "D. Gondek, T. Hofmann. Non-redundant clustering with conditional ensembles. KDD 2005",
        "10.1145/1081870.1081882",
    ),
    "MetaClustering": (
        "R. Caruana, M. Elhawary, N. Nguyen, C. Smith. Meta clustering. ICDM 2006",
        "10.1109/ICDM.2006.103",
    ),
}

#: Authors, titles and places of the finders' papers; their DOIs are in the registry.
PAPERS = {
    "CLIQUE": "R. Agrawal, J. Gehrke, D. Gunopulos, P. Raghavan. Automatic subspace clustering of "
    "high dimensional data for data mining applications. SIGMOD 1998",
    "DOC": "C. M. Procopiuc, M. Jones, P. K. Agarwal, T. M. Murali. A Monte Carlo algorithm for "
    "fast projective clustering. SIGMOD 2002",
    "DiSH": "E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, I. Müller-Gorman, A. Zimek. Detection "
    "and visualization of subspace cluster hierarchies. DASFAA 2007",
    "FastDOC": "C. M. Procopiuc, M. Jones, P. K. Agarwal, T. M. Murali. A Monte Carlo algorithm "
    "for fast projective clustering. SIGMOD 2002",
    "HARP": "K. Y. Yip, D. W. Cheung, M. K. Ng. HARP: a practical projected clustering algorithm. "
    "IEEE Transactions on Knowledge and Data Engineering 16(11), 2004",
    "MAFIA": "H. Nagesh, S. Goil, A. Choudhary. Adaptive grids for clustering massive data sets. "
    "SDM 2001",
    "MineClus": "M. L. Yiu, N. Mamoulis. Frequent-pattern based iterative projected clustering. "
    "ICDM 2003",
    "P3C": "G. Moise, J. Sander, M. Ester. P3C: a robust projected clustering algorithm. ICDM 2006",
    "PROCLUS": "C. C. Aggarwal, C. M. Procopiuc, J. L. Wolf, P. S. Yu, J. S. Park. Fast algorithms "
    "for projected clustering. SIGMOD 1999",
    "PreDeCon": "C. Böhm, K. Kailing, H.-P. Kriegel, P. Kröger. Density connected clustering with "
    "local subspace preferences. ICDM 2004",
    "SSPC": "K. Y. Yip, D. W. Cheung, M. K. Ng. On discovery of extremely low-dimensional clusters "
    "using semi-supervised projected clustering. ICDE 2005",
    "SUBCLU": "K. Kailing, H.-P. Kriegel, P. Kröger. Density-connected subspace clustering for "
    "high-dimensional data. SDM 2004",
    "LAC": "C. Domeniconi, D. Gunopulos, S. Ma, B. Yan, M. Al-Razgan, D. Papadopoulos. Locally "
    "adaptive metrics for clustering high dimensional data. Data Mining and Knowledge Discovery "
    "14, 2007",
    "CASH": "E. Achtert, C. Böhm, J. David, P. Kröger, A. Zimek. Robust clustering in arbitrarily "
    "oriented subspaces. SDM 2008",
    "COPAC": "E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, A. Zimek. Robust, complete, and "
    "efficient correlation clustering. SDM 2007",
    "ERiC": "E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger, A. Zimek. On exploring complex "
    "relationships of correlation clusters. SSDBM 2007",
    "FourC": "C. Böhm, K. Kailing, P. Kröger, A. Zimek. Computing clusters of correlation "
    "connected objects. SIGMOD 2004",
    "KFlats": "P. S. Bradley, O. L. Mangasarian. k-plane clustering. Journal of Global "
    "Optimization 16, 2000",
    "LMCLUS": "R. Haralick, R. Harpaz. Linear manifold clustering in high dimensional spaces by "
    "stochastic search. Pattern Recognition 40, 2007",
    "ORCLUS": "C. C. Aggarwal, P. S. Yu. Finding generalized projected clusters in high "
    "dimensional spaces. SIGMOD 2000",
    "SubKMeans": "D. Mautz, W. Ye, C. Plant, C. Böhm. Towards an optimal subspace for k-means. "
    "KDD 2017",
    "ChengChurch": "S. C. Madeira, A. L. Oliveira. Biclustering algorithms for biological data "
    "analysis: a survey. IEEE/ACM Transactions on Computational Biology and Bioinformatics 1(1), "
    "2004",
    "ITCC": "I. S. Dhillon, S. Mallela, D. S. Modha. Information-theoretic co-clustering. KDD 2003",
}


def citation(name: str) -> str | None:
    """Reference of a finder or method, or None if it has none.

    >>> citation("P3C")
    'G. Moise, J. Sander, M. Ester. P3C: a robust projected clustering algorithm. ICDM 2006. \
doi:10.1109/ICDM.2006.123'
    """
    if name in METHODS:
        text, doi = METHODS[name]
        return f"{text}. doi:{doi}"
    if name in FINDERS:
        doi = FINDERS[name].doi
        return f"{PAPERS[name]}. doi:{doi}" if name in PAPERS else f"doi:{doi}"
    return None
