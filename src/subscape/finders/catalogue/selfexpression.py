"""Finders that write every row as a combination of others."""

from __future__ import annotations

from functools import partial
from typing import Any

from .entry import Entry

_ours: dict[str, tuple[Any, ...]] = {
    "regularization": (), "search_rows": (), "refine": (), "noise": (), "flat_dim": (),
}  # fmt: skip
_expression = partial(
    Entry,
    home="subscape.finders.selfexpression",
    role="finder",
    kind="oriented",
    needs=("k",),
    partitions=True,
    predict=True,
)
_published = {"regularization": 0.0, "search_rows": None, "refine": False}

SELF_EXPRESSION = (
    _expression(
        "EnSC",
        sentence="rows of a flat write each other: by the elastic net",
        cost="m^2 p of m searched rows, n p k q for the others, flats of dimension q",
        doi="10.1109/CVPR.2016.426",
        reference="C. You, C.-G. Li, D. P. Robinson, R. Vidal. Oracle based active set algorithm "
        "for scalable elastic net subspace clustering. CVPR 2016",
        published=_published,
        ours={**_ours, "affine": (), "n_nonzero": ()},
    ),
    _expression(
        "LSR",
        sentence="rows of a flat write each other: by ridge regression",
        cost="m^2 p of m searched rows, n p k q for the others, flats of dimension q",
        doi="10.1007/978-3-642-33786-4_26",
        reference="C.-Y. Lu, H. Min, Z.-Q. Zhao, L. Zhu, D.-S. Huang, S. Yan. Robust and efficient "
        "subspace segmentation via least squares regression. ECCV 2012",
        published={**_published, "n_nonzero": None},
        ours={**_ours, "affine": (), "n_nonzero": ()},
    ),
    _expression(
        "SSC",
        sentence="rows of a flat write each other: by matching pursuit",
        cost="m^2 p s of m searched rows with s coefficients each, n p k q for the others",
        doi="10.1109/CVPR.2016.425",
        reference="C. You, D. P. Robinson, R. Vidal. Scalable sparse subspace clustering by "
        "orthogonal matching pursuit. CVPR 2016",
        exclusions={"check_clustering": "its blobs are round, and two features span them all"},
        published={**_published, "tol": 1e-6},
        ours={**_ours, "wrong_cells": ()},
    ),
    _expression(
        "TSC",
        sentence="rows of a flat are near in direction: linked to their likest",
        cost="m^2 p of m searched rows, n p k q for the others, flats of dimension q",
        doi="10.1109/TIT.2015.2472520",
        reference="R. Heckel, H. Bölcskei. Robust subspace clustering via thresholding. IEEE "
        "Transactions on Information Theory 61, 2015",
        published=_published,
        ours={**_ours, "affine": ()},
    ),
)
