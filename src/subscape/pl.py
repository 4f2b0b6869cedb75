"""Pictures of AnnData objects, in the manner of scanpy.

Needs anndata and matplotlib (``pip install subscape[anndata,report]``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from subscape.core.errors import SubscapeError
from subscape.plots import ViewsDisplay
from subscape.plots.canvas import pyplot
from subscape.tl import _check

__all__ = ["views"]


def views(
    adata: Any,
    *,
    key: str = "subscape",
    basis: str | None = None,
    layer: str | None = None,
    show: bool | None = None,
) -> Any:
    """Draw the views that :func:`subscape.tl.explore` has found, each beside every other.

    A column shows the cells in the two directions in which the clusters of one view differ most;
    down the column they are coloured by each view in turn.

    Parameters
    ----------
    adata : AnnData
        With the entries of :func:`subscape.tl.explore`.
    key : str, default="subscape"
        Its ``key_added``.
    basis : str, optional
        The representation in ``adata.obsm`` to look at, such as ``"X_pca"`` or ``"umap"``, instead
        of ``adata.X``.
    layer : str, optional
        The layer to look at instead of ``adata.X``.
    show : bool, optional
        Whether to show the figure at once; by default where matplotlib draws into windows.

    Returns
    -------
    ViewsDisplay or None
        None if the figure was shown.

    See Also
    --------
    subscape.tl.explore : Find the views.
    subscape.plots.ViewsDisplay : The same picture for any table.

    Examples
    --------
    >>> import anndata
    >>> from subscape.datasets import planted_views
    >>> X, _ = planted_views(150, 4, n_clusters=(3,), separation=9, random_state=0)
    >>> adata = anndata.AnnData(X)
    >>> import subscape as ss
    >>> ss.tl.explore(adata, effort="quick", random_state=0)
    >>> ss.pl.views(adata, show=False).names
    ['subscape_view1']
    """
    _check(adata, "pl.views")
    numbers = list(adata.uns.get(key, {}).get("views", {}))
    names = [f"{key}_view{number}" for number in numbers if f"{key}_view{number}" in adata.obs]
    if not names:
        raise SubscapeError(
            f"the object holds no views under {key!r}: subscape.tl.explore(adata) writes them, if "
            "it finds any"
        )
    table = _looked_at(adata, basis, layer)
    labels = [np.where(codes < 0, -1, codes) for codes in (_codes(adata.obs[n]) for n in names)]
    display = ViewsDisplay.from_clusterings(table, labels, names=names)
    plt = pyplot()
    if show is None:
        show = plt.get_backend().lower() not in ("agg", "pdf", "svg", "ps", "template")
    if not show:
        return display
    plt.show()
    return None


def _looked_at(adata: Any, basis: str | None, layer: str | None) -> Any:
    if basis is not None:
        for name in (basis, f"X_{basis}"):
            if name in adata.obsm:
                return np.asarray(adata.obsm[name], dtype=np.float64)
        raise SubscapeError(f"obsm has no {basis!r}; it has {', '.join(map(repr, adata.obsm))}")
    from subscape.tables import Table

    return Table.read(adata, layer=layer).to_numpy()


def _codes(column: Any) -> Any:
    """Cluster numbers from 0; -1 for cells in none."""
    return np.asarray(column.cat.codes if hasattr(column, "cat") else column, dtype=np.int64)
