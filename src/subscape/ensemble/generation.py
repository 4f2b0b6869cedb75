"""Make an ensemble: one finder, many starts and settings."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from subscape.core.checks import check_table
from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import DroppedClusterWarning, SubscapeError, count
from subscape.finders.weighted.lac import LAC
from subscape.parallel.local import Shared, in_order
from subscape.parallel.progress import Watch
from subscape.parallel.seeds import seed_sequence
from subscape.parallel.threads import one_blas_thread
from subscape.tables.table import Table

from .members import Ensemble
from .representations import REPRESENTATIONS, represent

#: The range of LAC's h, drawn evenly on a logarithmic scale: its authors try 1/h from 1 to 11.
H_RANGE = (1 / 11, 1.0)


class MemberDraft(NamedTuple):
    """What one member is to be."""

    finder: Any
    representation: str | None
    seed: np.random.SeedSequence


def generate(
    X: ArrayLike,
    finder: Any = None,
    size: int = 200,
    *,
    vary: Mapping[str, Any] | None = None,
    representations: Sequence[str] | str | None = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: Any = None,
) -> Ensemble:
    """Cluster a table many times, with other starts and settings every time.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
    finder : finder or sequence of finders, optional
        Members take several finders in turn. None is what the paper uses: LAC with a single start
        from random centres, 5 clusters; for another number pass
        ``LAC(n_clusters=3, n_init=1, init="random")``.
    size : int, default=200
        Number of members.
    vary : mapping, optional
        Parameters to draw for every member: a tuple ``(low, high)`` is a range (whole numbers
        evenly, others evenly on a logarithmic scale), a list or a ``range`` the values to choose
        from, a function is called with a NumPy generator. None varies LAC's ``h`` from 1/11 to 1
        and nothing of other finders; their starts differ by ``random_state``.
    representations : sequence of str or None, default="auto"
        What the members become in turn, of "hard-weighted", "hard-equal", "soft-weighted"
        and "soft-equal"; see :func:`representations.represent`. "auto": all four for
        LAC, as in the paper, and None for other finders: what they find as it is.
    random_state : int, Generator, RandomState or None
    n_jobs : int or None
        Members at the same time; the result does not depend on it.
    progress : callable, True or None
        Called with a ``Step``; True shows a bar.

    Returns
    -------
    Ensemble
        Members in which every row is noise are left out, with a warning.

    See Also
    --------
    ClusterBasedPCE : A consensus of the members.
    consensus_rows : A consensus about rows alone.
    subscape.plots.ClusterMapDisplay : All clusters of all members as a picture.

    References
    ----------
    F. Gullo, C. Domeniconi, A. Tagarelli, SIGMOD 2011, doi:10.1145/1989323.1989400, section 4.1.1.

    Examples
    --------
    >>> from subscape.finders import LAC
    >>> from subscape.datasets import planted_axes
    >>> from subscape.ensemble import generate
    >>> X, truth = planted_axes(200, 6, n_clusters=3, dims=3, random_state=0)
    >>> generate(X, LAC(n_clusters=3, n_init=1, init="random"), size=8, random_state=0)
    Ensemble(8 members, 24 clusters, 200 rows x 6 features)
    """
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise SubscapeError(f"size must be a whole number of at least 1, got {size!r}")
    given = X.to_numpy() if isinstance(X, Table) else X
    table = np.asarray(check_table(given, "generate", missing=True), np.float64)
    finders = _finders(finder)
    tastes = _checked_representations(representations, finders)
    ranges = _ranges(vary, finders)
    drafts = [
        MemberDraft(finders[i % len(finders)], tastes[i % len(tastes)], seed)
        for i, seed in enumerate(seed_sequence(random_state).spawn(int(size)))
    ]
    watch = Watch("generate", progress)
    data = Shared(X)
    values = data if table is X else Shared(table)
    calls = [(data, values, draft, ranges) for draft in drafts]
    found: list[SubspaceClustering] = []
    with one_blas_thread():
        for member in in_order(_member, calls, n_jobs, threads=True, what="member"):
            found.append(member)
            watch.step("members", len(found), len(drafts))
    watch.close()
    kept = [member for member in found if member.n_clusters]
    if len(kept) < len(found):
        warnings.warn(
            f"{count(len(found) - len(kept), 'member')} of {len(found)} left out: every row is "
            "noise there",
            DroppedClusterWarning,
            stacklevel=2,
        )
    if not kept:
        raise SubscapeError(
            "no member has a cluster, every row is noise; choose other parameters or finders"
        )
    how = {"finders": [type(f).__name__ for f in finders], "size": int(size)}
    return Ensemble(kept, metadata=how | {"representations": [t for t in tastes if t]})


def _member(
    X: Any, table: np.ndarray, draft: MemberDraft, ranges: Mapping[str, Any]
) -> SubspaceClustering:
    rng = np.random.default_rng(draft.seed)
    finder = clone(draft.finder)
    known = finder.get_params()
    chosen = {name: _drawn(how, rng) for name, how in sorted(ranges.items()) if name in known}
    if "random_state" in known:
        chosen["random_state"] = int(rng.integers(2**31 - 1))
    if draft.representation and "assignment" in known:
        chosen["assignment"] = draft.representation.split("-")[0]
    found: SubspaceClustering = finder.set_params(**chosen).fit(X).clustering_
    if draft.representation and found.n_clusters:
        found = represent(table, found, draft.representation)
    return found


def _finders(given: Any) -> list[Any]:
    if given is None:
        return [LAC(n_init=1, init="random")]
    finders = list(given) if isinstance(given, (list, tuple)) else [given]
    for finder in finders:
        if (
            not hasattr(finder, "fit")
            or not hasattr(finder, "get_params")
            or isinstance(finder, type)
        ):
            raise TypeError(f"a finder such as LAC(n_clusters=3) is needed, got {finder!r}")
    if not finders:
        raise SubscapeError("no finders given")
    return finders


def _checked_representations(
    given: Sequence[str] | str | None, finders: list[Any]
) -> list[str | None]:
    if isinstance(given, str):
        if given != "auto":
            return _checked_representations([given], finders)
        given = REPRESENTATIONS if all(isinstance(f, LAC) for f in finders) else None
    if given is None:
        return [None]
    if not isinstance(given, Collection):
        raise TypeError(f"representations must be names of representations or None, got {given!r}")
    for representation in given:
        if representation not in REPRESENTATIONS:
            raise SubscapeError(
                f"unknown representation {representation!r}; known are {', '.join(REPRESENTATIONS)}"
            )
    if not given:
        raise SubscapeError(
            "no representations given; None keeps the clusterings as they are found"
        )
    return list(given)


def _ranges(given: Mapping[str, Any] | None, finders: list[Any]) -> dict[str, Any]:
    if given is None:
        return {"h": H_RANGE} if any(isinstance(f, LAC) for f in finders) else {}
    if not isinstance(given, Mapping):
        raise TypeError(f'vary must be a mapping such as {{"h": (0.1, 1.0)}}, got {given!r}')
    known = set().union(*(finder.get_params() for finder in finders))
    for name, how in given.items():
        if name not in known:
            raise SubscapeError(
                f"{' and '.join(sorted({type(f).__name__ for f in finders}))} has no parameter "
                f"{name!r} to vary; known are {', '.join(sorted(known))}"
            )
        if isinstance(how, tuple):
            numbers = len(how) == 2 and all(isinstance(v, (int, float, np.number)) for v in how)
            if not numbers or how[0] > how[1]:
                raise SubscapeError(
                    f"vary[{name!r}] must be a range (low, high), a list of values or a function, "
                    f"got {how!r}"
                )
            if how[0] <= 0 and not all(isinstance(v, (int, np.integer)) for v in how):
                raise SubscapeError(
                    f"vary[{name!r}] = {how!r} is drawn on a logarithmic scale and must be "
                    "positive; for other distributions pass a function of a generator"
                )
        elif not callable(how) and (not isinstance(how, Collection) or isinstance(how, str)):
            raise SubscapeError(
                f"vary[{name!r}] must be a range (low, high), a list of values or a function, got "
                f"{how!r}"
            )
        elif not callable(how) and not len(how):
            raise SubscapeError(f"vary[{name!r}] has no values to choose from")
    return dict(given)


def _drawn(how: Any, rng: np.random.Generator) -> Any:
    if callable(how):
        return how(rng)
    if not isinstance(how, tuple):
        return list(how)[int(rng.integers(len(how)))]
    low, high = how
    if isinstance(low, (int, np.integer)) and isinstance(high, (int, np.integer)):
        return int(rng.integers(low, high, endpoint=True))
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))
