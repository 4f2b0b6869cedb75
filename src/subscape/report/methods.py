"""A paragraph on what was done, to paste into a paper, with its references."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from subscape.core.errors import count
from subscape.exploration.plan import BASELINES
from subscape.finders.registry import FINDERS
from subscape.version import __version__

from .wording import compared, number

if TYPE_CHECKING:
    from subscape.exploration.study import Study


class Methods(NamedTuple):
    """Paragraph and numbered references."""

    paragraph: str
    references: list[str]


def methods(study: Study) -> Methods:
    """What was done with this table."""
    cited: list[str] = []

    def cite(name: str) -> str:
        reference = citation(name)
        if reference is None:
            return ""
        if reference not in cited:
            cited.append(reference)
        return f" [{cited.index(reference) + 1}]"

    sentences = [
        _what(study),
        *_table(study),
        *_search(study, cite),
        "The clusterings were compared as groupings of the rows by the clustering error"
        f"{cite('clustering error')} and grouped by average linkage, as in meta clustering"
        f"{cite('meta clustering')}; the members of each group voted, cluster by cluster, about "
        "every row, which gave one view per group.",
        "Views are ranked by the information (nats per row) that telling their clusters apart "
        "gains, in the directions in which they differ and less the cost of the parameters, per "
        "nat that the cluster numbers themselves tell, and by how little they repeat views ranked "
        "before them.",
        *_chance(study),
        "Stability is the mean adjusted Rand index"
        f"{cite('adjusted Rand index')} between a view and what the same search finds on samples "
        "of the rows; replication is the agreement of two halves of the rows about the second.",
        "A feature belongs to a cluster by the Kullback-Leibler divergence of the cluster's rows "
        "from all rows in it; intervals hold the middle 90 % of a cluster's rows, and effect sizes "
        "are Cohen's d between a cluster and the other rows.",
        *_outcome(study),
    ]
    return Methods(" ".join(sentences), cited)


def _what(study: Study) -> str:
    settings = study.settings
    version = settings.get("version", __version__)
    told = [
        f"{word} {settings[key]}"
        for key, word in (("effort", "effort"), ("seed", "seed"))
        if settings.get(key) is not None
    ]
    with_what = f" ({', '.join(told)})" if told else ""
    text = (
        f"A table of {count(study.shape[0], 'row')} and {count(study.shape[1], 'feature')} was "
        f"explored with Subscape {version}{with_what}"
    )
    if 0 < len(study.searched_rows) < study.shape[0]:
        text += (
            f"; the search saw {count(len(study.searched_rows), 'row')} drawn at random, and the "
            "others were assigned to the clusters found"
        )
    return f"{text}."


def _table(study: Study) -> list[str]:
    return [f"{note[:1].upper()}{note[1:].rstrip('.')}." for note in study.notes]


def _search(study: Study, cite: Callable[[str], str]) -> list[str]:
    names = list(dict.fromkeys(r.finder for r in study.results))
    if not names:
        return []
    plain = [n for n in names if n in BASELINES]
    own = [n for n in names if n not in BASELINES]
    parts = [_cited(own, cite)] if own else []
    if plain:
        parts.append(f"{'as baselines ' if own else ''}{_cited(plain, cite)}")
    text = f"{count(len(study.results), 'clustering')} came from {', and '.join(parts)}"
    if study.failures:
        text += f"; {count(len(study.failures), 'run')} failed"
    return [f"{text}."]


def _cited(names: Iterable[str], cite: Callable[[str], str]) -> str:
    words = [f"{name}{cite(name)}" for name in names]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _chance(study: Study) -> list[str]:
    if not study.chance:
        return []
    return [
        "Scores were compared with the best ones that a reduced search reached on each of "
        f"{count(len(study.chance), 'table')} drawn from a Gaussian copula, which keep the "
        "columns' distributions (those with several humps by the dip test are given one) and "
        "correlations but have no groups; a view counts as better than "
        f"chance from p ≤ {study.LEVEL:g}."
    ]


def _outcome(study: Study) -> list[str]:
    honest = study.significant_views
    if not honest:
        return ["No grouping was better than chance."]
    told = [
        f"view {view.number} ({count(view.n_clusters, 'cluster')}, p {compared(view.p_value)}, "
        f"stability {number(view.stability)})"
        for view in honest
    ]
    words = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return [f"Better than chance: {words}."]


# -- the papers behind what a study did, as they stand in a list of references ---------------------


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
