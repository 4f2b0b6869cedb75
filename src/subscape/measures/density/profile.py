"""Where the points of each cluster lie, attribute by attribute: density profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.arrays.bin_counts import count_in_bins
from subscape.arrays.blocks import Blocks, device_twin
from subscape.arrays.device.array_api import from_numpy
from subscape.arrays.device.blocks import DeviceBlocks, same_device
from subscape.arrays.device.counts import MOST_LIMITS, count_in_bins_on_device
from subscape.arrays.device.sums import one_hot
from subscape.arrays.remote.blocks import RemoteBlocks, labels_beside
from subscape.arrays.remote.rows import RemoteRows
from subscape.core.checks import frozen
from subscape.core.clustering import SubspaceClustering, as_clustering
from subscape.core.errors import FileFormatError, ShapeMismatchError, SubscapeError, count
from subscape.core.markup import card
from subscape.core.memberships import DistantMemberships, Memberships
from subscape.core.types import IntArray
from subscape.files.atomic import write_atomically

from .attributes import attributes_of
from .binning import BINNINGS, MISSING, check_choice, refuse_bad_values
from .bins import Bins, bins_of

FORMAT = "subscape-profile/1"

#: A file larger than this is no profile of a sane number of clusters and bins.
MAX_BYTES = 2**30

#: Up to here float64 tells neighbouring whole numbers apart.
MOST_POINTS = 2**53


@dataclass(frozen=True, eq=False, repr=False)
class DensityProfile:
    """How many points each cluster has in each bin of each attribute [1]_; a frozen value.

    A profile is small and needs no points: it can be kept (:meth:`to_dict`, :meth:`save`) and
    compared later with :func:`adco_similarity`, also with a profile of other data that were
    counted in the same bins, such as another window of a stream. Use :meth:`of` to make one.

    Parameters
    ----------
    counts : array of shape (n_clusters, total number of bins)
        Points of each cluster in each bin (dens_C), the bins of one attribute after the other.
    bins : Bins
    sizes : array of shape (n_clusters,)
        Points of each cluster.
    n_rows : int
        Rows of the table, with those in no cluster.

    See Also
    --------
    adco_similarity : Compares two.
    match_profiles : Which clusters belong together.

    References
    ----------
    .. [1] E. Bae, J. Bailey, G. Dong, "A clustering comparison measure using density profiles and
       its application to the discovery of alternate clusterings", Data Mining and Knowledge
       Discovery 21(3), 2010, doi:10.1007/s10618-009-0164-z.

    Examples
    --------
    >>> import numpy as np
    >>> from subscape.measures import DensityProfile
    >>> X = np.array([[0.0, 5.0], [1.0, 6.0], [4.0, 5.0], [4.0, 9.0]])
    >>> profile = DensityProfile.of(X, [0, 0, 1, 1], bins=2)
    >>> profile
    DensityProfile(2 clusters, 4 rows, 2 attributes, 4 bins)
    >>> profile.counts
    array([[2, 0, 2, 0],
           [0, 2, 1, 1]])
    """

    counts: NDArray[Any]
    bins: Bins
    sizes: NDArray[Any]
    n_rows: int

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.bins, Bins):
            raise TypeError(f"bins must be Bins, got a {type(self.bins).__name__}")
        counts, sizes = _numbers(self.counts, "counts"), _numbers(self.sizes, "sizes")
        if counts.ndim != 2 or counts.shape[1] != self.bins.total:
            raise ShapeMismatchError(
                f"counts has shape {counts.shape}; there are {count(self.bins.total, 'bin')}, so "
                "it needs one row per cluster and that many columns"
            )
        if sizes.shape != counts.shape[:1]:
            raise ShapeMismatchError(
                f"{count(counts.shape[0], 'cluster')}, but sizes of shape {sizes.shape}"
            )
        put(self, "counts", frozen(counts))
        put(self, "sizes", frozen(sizes))
        put(self, "n_rows", int(self.n_rows))

    @classmethod
    def of(
        cls,
        X: Any,
        clustering: Any,
        bins: Any = 10,
        *,
        binning: str = "uniform",
        nominal: Iterable[Any] | None = None,
        missing: str = "error",
    ) -> DensityProfile:
        """Count the points of a clustering.

        Parameters
        ----------
        X : array-like, data frame or Table of shape (n_rows, n_attributes)
            The table that was clustered. Columns of text are nominal: one bin per level. Also a
            memmap, the path of a Parquet file or folder, or a Dask array, of numbers: these are
            read in blocks, twice; "quantile" and "mdl" hold one column at a time and take a pass
            for each. ``X`` may be a torch or cupy tensor: points are counted on its device.
        clustering : SubspaceClustering, fitted finder or label vector
            Its subspaces don't matter. Rows in several clusters count in each, and soft ones by
            their memberships (to within 1e-9); rows in none don't count.
        bins : int, Bins, DensityProfile or sequence of arrays, default=10
            Number of bins of each numeric attribute (Q); or the bins themselves, or the profile
            that has them: profiles can be compared if they have the same; or the limits of the
            bins of each attribute. A nominal attribute may have new levels: they are added.
        binning : {"uniform", "quantile", "mdl"}, default="uniform"
            Bins of equal width, of about equally many points, or such that separate these
            clusters (Fayyad and Irani); see :meth:`Bins.of`. With "mdl" the number is found for
            each attribute, and comparing in the bins of one or of the other clustering differs.
        nominal : iterable, optional
            Names or positions of numeric columns that are nominal, or a mask.
        missing : {"error", "bin", "ignore"}, default="error"
            What becomes of missing values: refused, in a bin of their own, or left out.

        Returns
        -------
        DensityProfile

        Examples
        --------
        >>> from subscape.measures import DensityProfile, adco_similarity
        >>> names = [["Bob"], ["Bob"], ["Alice"], ["Alice"]]
        >>> a = DensityProfile.of(names, [0, 1, 0, 1])
        >>> b = DensityProfile.of(names, [1, 0, 0, 1])
        >>> a.bins.labels, adco_similarity(a, b)
        (('x0 = Alice', 'x0 = Bob'), 1.0)
        """
        values, made, given = placed(X, clustering, bins, binning, nominal, missing)
        counts = counts_of(values, made, given.members)
        return cls(counts, made, given.members.sizes(), given.n_rows)

    # -- reading it -----------------------------------------------------------------------------

    @property
    def n_clusters(self) -> int:
        """Number of clusters (K)."""
        return len(self.counts)

    @property
    def is_hard(self) -> bool:
        """Whether whole points were counted."""
        return bool(self.counts.dtype.kind == "i")

    @property
    def vector(self) -> NDArray[Any]:
        """All counts in a row (V_C): cluster after cluster, attribute after attribute."""
        return self.counts.reshape(-1)

    @property
    def density(self) -> NDArray[Any]:
        """Points of all clusters in each bin (dens)."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def square(self) -> float:
        """The similarity of the profile with itself: the sum of all squared counts."""
        return float(np.square(self.counts.astype(np.float64)).sum())

    def attribute(self, name: int | str) -> NDArray[Any]:
        """Counts of one attribute, of shape (n_clusters, its bins).

        Returns
        -------
        array of shape (n_clusters, bins of the attribute)
        """
        return np.asarray(self.counts[:, self.bins.block(name)])

    # -- changing it ----------------------------------------------------------------------------

    def select(self, clusters: Any) -> DensityProfile:
        """Profile of these clusters, in this order.

        Returns
        -------
        DensityProfile
            With the same bins.
        """
        return DensityProfile(self.counts[clusters], self.bins, self.sizes[clusters], self.n_rows)

    def sampled(self, n_points: int, random_state: Any = None) -> DensityProfile:
        """Profile of a stratified sample: each cluster keeps its share of the points.

        The points themselves are not needed: how many of a cluster's points fall into the bins of
        an attribute, when some are drawn without replacement, follows from the counts.

        Parameters
        ----------
        n_points : int
            Points to keep, counted once for each cluster they are in.
        random_state : int, Generator or None

        Returns
        -------
        DensityProfile

        Examples
        --------
        >>> X = [[float(i)] for i in range(100)]
        >>> profile = DensityProfile.of(X, [0] * 60 + [1] * 40, bins=4)
        >>> profile.sampled(10, random_state=0).sizes
        array([6, 4])
        """
        if not self.is_hard:
            raise TypeError("points of a soft clustering can't be drawn; use sizes='scaled'")
        total = int(self.sizes.sum())
        if not 0 <= n_points <= total:
            raise SubscapeError(f"{n_points} points can't be drawn from {total}")
        rng = np.random.default_rng(random_state)
        kept = _shares(self.sizes, n_points)
        counts = np.zeros_like(self.counts)
        for k, size in enumerate(self.sizes.tolist()):
            for j in range(self.bins.n_attributes):
                block = self.bins.block(j)
                inside = self.counts[k, block]
                # Where missing values were left out, they are drawn too, and count nowhere.
                pool = np.append(inside, size - inside.sum())
                drawn = rng.multivariate_hypergeometric(pool, kept[k], method="marginals")
                counts[k, block] = drawn[:-1]
        return DensityProfile(counts, self.bins, kept, n_points)

    # -- keeping it -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can hold, without any point; see :meth:`from_dict`.

        Returns
        -------
        dict
        """
        return {
            "format": FORMAT,
            "bins": self.bins.to_dict(),
            "counts": self.counts.tolist(),
            "sizes": self.sizes.tolist(),
            "n_rows": self.n_rows,
        }

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> DensityProfile:
        """The profile that :meth:`to_dict` wrote down.

        Returns
        -------
        DensityProfile

        Examples
        --------
        >>> profile = DensityProfile.of([[1.0], [2.0], [3.0]], [0, 0, 1], bins=2)
        >>> DensityProfile.from_dict(profile.to_dict()) == profile
        True
        """
        stated = kept.get("format") if isinstance(kept, Mapping) else None
        if stated != FORMAT:
            raise FileFormatError(
                f"this is no density profile that can be read: its format is {stated!r}, "
                f"{FORMAT!r} is expected"
            )
        try:
            bins = Bins.from_dict(kept["bins"])
            counts = np.array(kept["counts"]).reshape(-1, bins.total)
            sizes = np.array(kept["sizes"]).reshape(-1)
            return cls(counts, bins, sizes, int(kept["n_rows"]))
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the density profile is damaged: {error}") from None

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the profile to a JSON file, whole or not at all; see :meth:`load`.

        Returns
        -------
        Path
            Where it was written.
        """
        text = json.dumps(self.to_dict(), allow_nan=False).encode()
        return write_atomically(path, lambda stream: _write(stream, text), force=force)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> DensityProfile:
        """Read a profile that :meth:`save` wrote.

        Returns
        -------
        DensityProfile

        Examples
        --------
        >>> import pathlib, tempfile
        >>> profile = DensityProfile.of([[1.0], [2.0], [3.0]], [0, 0, 1], bins=2)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "monday.json"
        >>> DensityProfile.load(profile.save(path)) == profile
        True
        """
        source = Path(path)
        size = source.stat().st_size
        if size > max_bytes:
            raise FileFormatError(
                f"{source.name} has {size:,} bytes, more than max_bytes={max_bytes:,}"
            )
        try:
            kept = json.loads(source.read_bytes())
        except (UnicodeDecodeError, json.JSONDecodeError) as error:
            raise FileFormatError(f"{source.name} is truncated or no JSON file: {error}") from None
        return cls.from_dict(kept)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.counts, self.bins, self.sizes, self.n_rows)

    def __eq__(self, other: object) -> bool:
        """Same bins and same counts, in the same order of clusters."""
        if not isinstance(other, DensityProfile):
            return NotImplemented
        return (
            self.n_rows == other.n_rows
            and self.bins == other.bins
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.sizes, other.sizes)
        )

    def __hash__(self) -> int:
        return hash((self.n_rows, self.counts.shape, self.square))

    def _repr_html_(self) -> str:
        text = repr(self).removeprefix("DensityProfile(").removesuffix(")")
        lines = list(zip(self.bins.names, self.bins.sizes.tolist(), strict=True))
        return card("DensityProfile", text, ["attribute", "bins"], lines, noun="attribute")

    def __repr__(self) -> str:
        parts = (
            count(self.n_clusters, "cluster"),
            count(self.n_rows, "row"),
            count(self.bins.n_attributes, "attribute"),
            count(self.bins.total, "bin"),
        )
        return f"DensityProfile({', '.join(parts)})"


def _shares(sizes: IntArray, n_points: int) -> IntArray:
    """Split a number in proportion to sizes; what is left over goes to the largest remainders."""
    exact = sizes * (n_points / max(int(sizes.sum()), 1))
    shares = np.minimum(np.floor(exact).astype(np.int64), sizes)
    most_left = np.argsort(-(exact - shares), kind="stable")
    shares[most_left[: n_points - int(shares.sum())]] += 1
    return shares


def _write(stream: Any, content: bytes) -> None:
    stream.write(content)


def _numbers(given: Any, what: str) -> NDArray[Any]:
    """Counts as int64 or float64 of their own, none of them negative."""
    array = np.asarray(given)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{what} must be numbers, got dtype {array.dtype}")
    array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
    if array.size and not (array.min() >= 0 and array.max() <= MOST_POINTS):
        raise SubscapeError(f"{what} must be finite, not negative and at most 2**53")
    return array


class BinnedRows(NamedTuple):
    """A table's values with the bins they fall into, and its clustering."""

    values: NDArray[Any] | Blocks
    bins: Bins
    clustering: SubspaceClustering


def placed(
    X: Any, clustering: Any, bins: Any, binning: str, nominal: Iterable[Any] | None, missing: str
) -> BinnedRows:
    """Read a table and its clustering and find the bins; see :meth:`DensityProfile.of`."""
    check_choice("binning", binning, BINNINGS)
    check_choice("missing", missing, MISSING)
    found = attributes_of(X, nominal, "DensityProfile")
    same_device(found.values, labels=clustering)
    clustering = labels_beside(found.values, clustering)
    if isinstance(clustering, RemoteRows):
        clustering = SubspaceClustering.from_labels(clustering, n_features=len(found.names))
    given = as_clustering(clustering)
    if given.n_rows != len(found.values):
        raise ShapeMismatchError(
            f"the table has {len(found.values)} rows, the clustering {given.n_rows}; profile it on "
            "the rows that were clustered, or restrict or embed it to them"
        )
    if isinstance(bins, DensityProfile):
        bins = bins.bins
    made = bins_of(found, bins, binning, given.labels() if binning == "mdl" else None, missing)
    if made is bins and not _is_finite(found.values):
        # Bins that were made from the table have looked at its values already.
        refuse_bad_values(found, "bin" if made.missing_bin else missing)
    made, values = made.place(found)
    return BinnedRows(values, made, given)


def _is_finite(values: NDArray[Any] | Blocks) -> bool:
    """False where some value may not be finite."""
    if isinstance(values, Blocks):
        return False
    return bool(np.isfinite(values.sum(dtype=np.float64)))


# -- how many points of each cluster fall into each bin --------------------------------------------


#: Memberships are counted in units of 2**-30, so that sums are exact in any order of the rows.
UNIT = 2.0**-30


def _counts_on_device(values: DeviceBlocks, bins: Bins, members: Memberships) -> Any:
    """:func:`counts_of` where the table lies, unless its columns have many bins."""
    limits, starts = bins.limits
    if np.diff(starts).max(initial=0) > MOST_LIMITS:
        return NotImplemented
    settings = _shares_on_device(values, members), members.n_clusters, bins.missing_bin
    counts = count_in_bins_on_device(values, limits, starts, *settings)
    return counts if members.is_hard else counts * UNIT


@device_twin(_counts_on_device)
def counts_of(values: NDArray[Any] | Blocks, bins: Bins, members: Memberships) -> NDArray[Any]:
    """Points of each cluster in each bin: whole numbers where memberships are hard."""
    limits, starts = bins.limits
    number, missing_bin = members.n_clusters, bins.missing_bin
    counts = np.zeros((number, bins.total), np.int64)
    if isinstance(values, RemoteBlocks):
        beside = _beside_rows(members)
        counts = counts + values.fold(
            lambda block, rows, own: count_in_bins(
                block, limits, starts, *_clusters_of_rows(own), number, missing_bin
            ),
            reads=(beside,),
        )
        return counts if members.is_hard else counts * UNIT
    row_starts, clusters, units = _by_row(members)
    whole = slice(0, members.n_rows)
    for rows, block in values if isinstance(values, Blocks) else [(whole, values)]:
        inside = row_starts[rows.start : rows.stop + 1]
        entries = slice(int(inside[0]), int(inside[-1]))
        counts += count_in_bins(
            block,
            limits,
            starts,
            inside - inside[0],
            clusters[entries],
            units[entries],
            number,
            missing_bin,
        )
    return counts if members.is_hard else counts * UNIT


def _beside_rows(members: Memberships) -> Any:
    """What tells the clusters of each row on a cluster: their number, or (n, k) units."""
    if isinstance(members, DistantMemberships):
        return members.distant
    if members.is_hard and members.clusters_per_row().max(initial=0) <= 1:
        return members.codes()
    units = np.zeros((members.n_rows, members.n_clusters), np.int64)
    ones = np.ones(len(members.indices)) if members.values is None else members.values
    per = 1 if members.is_hard else UNIT
    units[members.indices, members.clusters()] = np.rint(ones.astype(np.float64) / per)
    return units


def _clusters_of_rows(
    own: NDArray[Any],
) -> tuple[IntArray, NDArray[np.int32], IntArray]:
    """:func:`_by_row` of what lies beside a block."""
    if own.ndim == 1:
        inside = own >= 0
        starts = np.concatenate([[0], np.cumsum(inside)]).astype(np.int64)
        return starts, own[inside].astype(np.int32), np.empty(0, np.int64)
    rows, clusters = np.nonzero(own)
    starts = np.searchsorted(rows, np.arange(len(own) + 1)).astype(np.int64)
    units = own[rows, clusters]
    hard = bool((units == 1).all())
    return starts, clusters.astype(np.int32), np.empty(0, np.int64) if hard else units


def _shares_on_device(values: DeviceBlocks, members: Memberships) -> Callable[[slice], Any]:
    """How much a block of rows counts in each cluster, (rows, n_clusters), beside the table."""
    k, like = members.n_clusters, values.values
    each = members.clusters_per_row()
    if members.is_hard and each.max(initial=0) <= 1:
        codes = members.codes()
        return lambda rows: one_hot(from_numpy(codes[rows], like), k)
    row_starts, clusters, units = _by_row(members)

    def dense(rows: slice) -> Any:
        entries = slice(int(row_starts[rows.start]), int(row_starts[rows.stop]))
        block = np.zeros((rows.stop - rows.start, k), bool if members.is_hard else np.float64)
        place = np.repeat(np.arange(len(block)), each[rows])
        block[place, clusters[entries]] = True if members.is_hard else units[entries]
        return from_numpy(block, like)

    return dense


def _by_row(
    members: Memberships,
) -> tuple[IntArray, NDArray[np.int32], IntArray]:
    """Clusters of each row, one row after the other, and how much they count in units."""
    each = members.clusters_per_row()
    starts = np.concatenate([[0], np.cumsum(each)]).astype(np.int64)
    if members.values is None and (len(each) == 0 or each.max() <= 1):
        codes = members.codes()
        return starts, codes[codes >= 0], np.empty(0, np.int64)
    order = np.argsort(members.indices, kind="stable")
    clusters = members.clusters()[order]
    if members.values is None:
        return starts, clusters, np.empty(0, np.int64)
    units = np.rint(members.values[order].astype(np.float64) / UNIT).astype(np.int64)
    return starts, clusters, units
