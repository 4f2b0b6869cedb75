"""What bad input is answered with.

Every error raised on purpose is a :class:`ValueError` or a :class:`TypeError`, so that code written
for scikit-learn keeps working; the classes below only let a caller tell the causes apart.
"""

from __future__ import annotations


class SubscapeError(ValueError):
    """Base class of the errors that Subscape raises on purpose for bad values."""


class ShapeMismatchError(SubscapeError):
    """Two clusterings, or a clustering and a table, speak of different rows or features."""


class EmptyClusteringError(SubscapeError):
    """A clustering without clusters was given where at least one cluster is needed."""


class NotOrthonormalError(SubscapeError):
    """A basis of an oriented subspace is not orthonormal."""


class FileFormatError(SubscapeError):
    """A file is truncated, newer than this version, oversized, pickled or of another format."""


class LostWorkerError(SubscapeError):
    """Work was given up, because the processes that did it were killed again and again."""


class UnsupportedKindError(TypeError):
    """A measure or conversion is not defined for this kind of clustering."""


class DroppedClusterWarning(UserWarning):
    """Clusters vanished because none of their rows or features were kept."""


class SharedFlatWarning(UserWarning):
    """Several clusters lie on one flat, which describes their rows better than a flat for each."""


class ConstantFeatureWarning(UserWarning):
    """Columns with a single value carry no information and were set aside."""


class FewDistinctRowsWarning(UserWarning):
    """The table has fewer distinct rows than the clusters asked for."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return ``"1 row"`` or ``"3 rows"``.

    >>> count(1, "row"), count(3, "row"), count(2, "entry", "entries")
    ('1 row', '3 rows', '2 entries')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def listing(names: object, most: int = 5) -> str:
    """Return at most ``most`` names of a sequence, quoted, with how many more there are.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    items = [repr(str(name)) for name in names]  # type: ignore[attr-defined]
    text = ", ".join(items[:most])
    return text if len(items) <= most else f"{text} and {len(items) - most} more"
