"""Tools for AnnData objects, in the manner of scanpy: they write into the object.

Needs anndata (``pip install subscape[anndata]``).
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["explore"]


def explore(
    adata: Any,
    *,
    layer: str | None = None,
    use_rep: str | None = None,
    key_added: str = "subscape",
    copy: bool = False,
    **options: Any,
) -> Any:
    """Find every honest grouping of the cells, and write them into the object.

    For each view ``n``, ``adata.obs`` gets the clusters (``subscape_view1``) and how sure each cell
    is (``…_confidence``), ``adata.obsm`` the memberships and ``adata.varm`` the relevance of the
    variables; ``adata.uns`` says how they came about. Views of an earlier call are replaced.

    Parameters
    ----------
    adata : AnnData
    layer : str, optional
        The layer to explore instead of ``adata.X``.
    use_rep : str, optional
        The representation in ``adata.obsm`` to explore instead, such as ``"X_pca"``.
    key_added : str, default="subscape"
        What the names of all entries begin with.
    copy : bool, default=False
        Whether to leave the object as it is and return a copy with the entries.
    **options
        Of :func:`subscape.explore`: ``effort``, ``random_state``, ``n_jobs``, …

    Returns
    -------
    AnnData or None
        The copy, if one was asked for. For the study itself call :func:`subscape.explore`.

    See Also
    --------
    subscape.pl.views : Draw what was found.
    subscape.explore : The same for any table; it returns a study.

    Examples
    --------
    >>> import anndata, numpy as np
    >>> from subscape.datasets import planted_views
    >>> X, _ = planted_views(150, 4, n_clusters=(3,), separation=9, random_state=0)
    >>> adata = anndata.AnnData(X)
    >>> import subscape as ss
    >>> ss.tl.explore(adata, effort="quick", random_state=0)
    >>> adata.obs["subscape_view1"].nunique()
    3
    """
    _check(adata, "tl.explore")
    from subscape.exploration import explore as find
    from subscape.tables import Table

    table = Table.read(adata, layer=layer, use_rep=use_rep)
    study = find(table, **options)
    written = adata.copy() if copy else adata
    study.write_anndata(written, key_added=key_added)
    return written if copy else None


def _check(adata: Any, who: str) -> None:
    """Refuse what is no AnnData object, and say what to install if there can be none."""
    if all(hasattr(adata, part) for part in ("obs", "obsm", "varm", "uns", "obs_names")):
        return
    try:
        importlib.import_module("anndata")
    except ImportError:
        raise ImportError(f"{who} needs anndata: pip install 'subscape[anndata]'") from None
    raise TypeError(
        f"{who} takes an AnnData object, not {type(adata).__name__}; subscape.explore takes tables"
    )
