"""Mixtures of normal distributions with a subspace each."""

from __future__ import annotations

from functools import partial

from .entry import Entry

_mixture = partial(
    Entry,
    home="subscape.finders.mixtures",
    role="finder",
    kind="oriented",
    needs=("k",),
    partitions=True,
    missing=True,
    predict=True,
)

MIXTURES = (
    _mixture(
        "HDDC",
        sentence="normal clusters, each along its own flat, soft if asked for",
        cost="n p k d per step, flats of dimension d",
        doi="10.1016/j.csda.2007.02.009",
        reference="C. Bouveyron, S. Girard, C. Schmid. High-dimensional data clustering. "
        "Computational Statistics and Data Analysis 52, 2007",
        published={"flat_dim": "scree", "search_rows": None, "n_init": 1},
        ours={"search_rows": (), "batch_rows": (), "assignment": ()},
    ),
    _mixture(
        "MFA",
        sentence="normal clusters of a few factors and noise of every feature",
        cost="n p k q per step, q factors",
        doi="10.1016/S0167-9473(02)00183-4",
        reference="G. J. McLachlan, D. Peel, R. W. Bean. Modelling high-dimensional data by "
        "mixtures of factor analyzers. Computational Statistics and Data Analysis 41, 2003",
        published={"search_rows": None, "n_init": 1},
        ours={"search_rows": (), "batch_rows": (), "assignment": ()},
    ),
    _mixture(
        "MPPCA",
        sentence="normal clusters along flats of one dimension",
        cost="n p k q per step, flats of dimension q",
        doi="10.1162/089976699300016728",
        reference="M. E. Tipping, C. M. Bishop. Mixtures of probabilistic principal component "
        "analyzers. Neural Computation 11, 1999",
        published={"search_rows": None, "n_init": 1},
        ours={"search_rows": (), "batch_rows": (), "assignment": ()},
    ),
)
