"""Finders: scikit-learn estimators that return a :class:`subscape.SubspaceClustering`.

Names are loaded when first used; :mod:`subscape.finders.registry` lists what each can do.
"""

from subscape.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "axis": ("CLIQUE DOC DiSH FastDOC HARP MAFIA MineClus P3C PROCLUS PreDeCon SSPC SUBCLU"),
        "weighted": "LAC",
        "oriented": "CASH COPAC ERiC FourC KFlats LMCLUS ORCLUS SubKMeans",
        "cocluster": "ChengChurch ITCC",
        "classes": "LatentClasses",
        "density": "DensityTree",
        "views": "AutoNR NrKMeans",
        "alternatives": "CIB COALA CondEns MAXIMUS MetaClustering",
    },
)
