"""ERiC: flats that lie in flats."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval

from subscape.algorithms.base import Found, Watch
from subscape.core import SubspaceClustering
from subscape.kernels.pairs import connect_pairs

from .attempts import Attempt
from .copac import COPAC, SLACK, FloatArray, Labels, LocalFlats, Setting

#: Numbers held at a time when rows are compared.
BLOCK = 4_000_000


class ERiC(COPAC):
    """ERiC: exploring relationships among correlation clusters.

    As :class:`COPAC`, rows are parted by the dimension of the flat around them; here neighbours
    must also agree on its directions. Then clusters are put into a hierarchy: one is below another
    if its flat lies in the other's, as a line in a plane.

    The *subspace* of a cluster is what its flat leaves out, the directions in which its points are
    alike; the flat itself is ``clustering_.complement()``.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Rows, itself included, that tell a row's flat (k). "auto" tries a few, and keeps what
        describes the rows most briefly.
    eps : float or "auto", default="auto"
        Largest distance from each other's flats (tau); "auto" as above.
    min_samples : int or "auto", default="auto"
        Rows, itself included, that make a row a core; "auto" is half of ``n_neighbors``.
    explained_variance : float or "auto", default="auto"
        Share of the local variance that the flat must explain (alpha); "auto" as above.
    delta : float, default=0.3
        How much directions may differ: the sine of the angle between a direction of one flat and
        the other flat.
    refine : bool, default=True
        Join the pieces of a flat and put every row where it fits best, noise included, as long as
        that shortens the description of the rows. False gives the clusters of the paper.
    search_rows : int, default=2000
        Settings are chosen on a sample of so many rows. With ``refine``, all rows then join its
        clusters where they fit; without, all rows are searched with the settings found.
    max_time : float, optional
        Seconds after which no further setting is tried.
    progress : callable or True, optional

    Attributes
    ----------
    clustering_ : SubspaceClustering
    labels_ : array of shape (n_rows,)
    parents_ : list of arrays
        For each cluster the clusters directly above it: those of more dimensions whose flat holds
        its own, with none in between.
    flat_dims_ : array of shape (n_clusters,)
        Dimension of each cluster's flat.
    local_dims_ : array of shape (n_rows,)
        Dimension of the flat around each row; -1 for rows outside the sample.
    n_neighbors_, eps_, min_samples_, explained_variance_ : int, float, int, float
        The settings used.
    n_iter_ : int
        Number of settings tried.

    Notes
    -----
    E. Achtert, C. Böhm, H.-P. Kriegel, P. Kröger and A. Zimek, *On Exploring Complex Relationships
    of Correlation Clusters*, SSDBM 2007, doi:10.1109/SSDBM.2007.21. Distances from flats are
    compared with ``eps`` itself. The choice of the settings and ``refine`` are additions.

    Examples
    --------
    A line within a plane:

    >>> import numpy as np
    >>> from subscape.algorithms import ERiC
    >>> rng = np.random.default_rng(0)
    >>> plane = np.c_[rng.uniform(size=(400, 2)), np.zeros(400)]
    >>> line = np.c_[np.linspace(-1, 2, 400), np.full(400, 0.5), np.zeros(400)]
    >>> X = np.concatenate([plane, line]) + rng.normal(0, 0.003, (800, 3))
    >>> finder = ERiC().fit(X)
    >>> finder.flat_dims_.tolist(), [parents.tolist() for parents in finder.parents_]
    ([2, 1], [[], [0]])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **COPAC._parameter_constraints,
        "delta": [Interval(Real, 0, 1, closed="both")],
    }

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        eps: float | str = "auto",
        min_samples: int | str = "auto",
        *,
        explained_variance: float | str = "auto",
        delta: float = 0.3,
        refine: bool = True,
        search_rows: int = 2000,
        max_time: float | None = None,
        progress: Any = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            eps,
            min_samples,
            explained_variance=explained_variance,
            refine=refine,
            search_rows=search_rows,
            max_time=max_time,
            progress=progress,
        )
        self.delta = delta

    def _find(self, X: FloatArray, seed: np.random.SeedSequence, watch: Watch) -> Found:
        found = super()._find(X, seed, watch)
        above = parents_of(X, found.clustering, self.delta, float(found.attributes["eps_"]))
        return found._replace(attributes=found.attributes | {"parents_": above})

    def _one_cluster(self, table: Any) -> Found:
        found = super()._one_cluster(table)
        found.attributes["parents_"] = [np.empty(0, np.intp)]
        return found

    def _attempt(self, X: FloatArray, local: LocalFlats, setting: Setting, watch: Watch) -> Attempt:
        """The clusters of the paper among the rows of each local dimension below p."""
        n, p = X.shape
        labels, dims = np.full(n, -1, np.intp), []
        local_dims = local.dims(setting.explained)
        for dim in np.unique(local_dims[local_dims < p]):
            rows = np.flatnonzero(local_dims == dim)
            if len(rows) < setting.min_samples or watch.out_of_time():
                continue
            axes = local.axes[rows]
            pairs = np.concatenate(
                [
                    np.zeros((0, 2), np.int32),
                    *alike_pairs(X[rows], axes, int(dim), setting.eps, self.delta),
                ]
            )
            sizes = 1 + np.bincount(pairs.ravel(), minlength=len(rows))
            found = connect_pairs(pairs, sizes >= setting.min_samples)
            labels[rows] = np.where(found >= 0, found + len(dims), -1)
            dims += [dim] * (int(found.max(initial=-1)) + 1)
        return Attempt(setting, labels, np.array(dims, np.intp), setting.min_samples, local_dims)


def alike_pairs(
    X: FloatArray, axes: FloatArray, dim: int, eps: float, delta: float
) -> Iterator[NDArray[np.int32]]:
    """Pairs of rows on each other's flats, which have the same directions up to ``delta``.

    Parameters
    ----------
    X : (n, p) array
    axes : (n, p, p) array
        Orthonormal directions of each row, one per line, the ``dim`` of the flat last.
    dim : int
    eps, delta : float
    """
    n, p = X.shape
    across = axes[:, : p - dim].reshape(-1, p)
    along = axes[:, p - dim :].reshape(-1, p)
    height = np.einsum("ncp,np->nc", axes[:, : p - dim], X)
    size = max(1, BLOCK // (n * max(p - dim, dim * dim)))
    for start in range(0, n, size):
        some = np.arange(start, min(start + size, n))
        rows = slice(start * (p - dim), (start + len(some)) * (p - dim))
        there = (X @ across[rows].T).reshape(n, len(some), p - dim) - height[some]
        back = (across @ X[some].T).reshape(n, p - dim, len(some)) - height[:, :, None]
        far = np.maximum(np.square(there).sum(axis=2), np.square(back).sum(axis=1))
        alike = far <= (eps * (1 + SLACK)) ** 2
        if dim:
            rows = slice(start * dim, (start + len(some)) * dim)
            cosines = np.square(along @ along[rows].T).reshape(n, dim, len(some), dim)
            # What of a direction lies in the other flat; the one that fits worst decides.
            inside = np.minimum(
                cosines.sum(axis=1).min(axis=2, initial=1.0),
                cosines.sum(axis=3).min(axis=1, initial=1.0),
            )
            alike &= 1 - inside <= delta * delta * (1 + SLACK) + SLACK
        j, i = np.nonzero(alike)
        i = some[i]
        yield np.stack([i[i < j], j[i < j]], axis=1).astype(np.int32)


def parents_of(
    X: FloatArray, clustering: SubspaceClustering, delta: float, eps: float
) -> list[Labels]:
    """For each cluster the clusters directly above it: its flat lies in theirs, none between."""
    k = clustering.n_clusters
    flats = clustering.complement().subspaces.bases
    means = [X[clustering.cluster(i).rows].mean(axis=0) for i in range(k)]
    above = np.zeros((k, k), bool)
    for i in range(k):
        for j in range(k):
            if flats[i].shape[1] >= flats[j].shape[1]:
                continue
            sideways = flats[i] - flats[j] @ (flats[j].T @ flats[i])
            step = means[i] - means[j]
            off = step - flats[j] @ (flats[j].T @ step)
            turned = np.square(sideways).sum(axis=0).max(initial=0.0)
            above[i, j] = turned <= delta * delta and off @ off <= eps * eps
    # What an intermediate flat implies is left out.
    steps = above.astype(np.intp)
    return [np.flatnonzero(line) for line in above & ~(steps @ steps > 0)]
