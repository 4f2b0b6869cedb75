"""What each finder of alternatives can do: for the command line and the tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import subscape.finders as finders

__all__ = ["METHODS", "Method"]


@dataclass(frozen=True)
class Method:
    """What is known about a finder of alternatives to given clusterings.

    Attributes
    ----------
    name : str
    sentence : str
        What it looks for.
    cost : str
        How its time grows: rows n, features p, clusters k.
    doi : str
    random : bool
        Whether its result depends on ``random_state``, beyond a reference that it has to make.
    names_matter : bool
        Whether the numbers of the known clusters decide between equally good alternatives.
    exclusions : dict
        Checks of scikit-learn that its model does not fit, with the reason.
    """

    name: str
    sentence: str
    cost: str
    doi: str
    random: bool = True
    names_matter: bool = True
    exclusions: dict[str, str] = field(default_factory=dict)

    def make(self, **parameters: Any) -> Any:
        """A new estimator with these parameters.

        >>> METHODS["COALA"].make(omega=0.6)
        COALA(omega=0.6)
        """
        return getattr(finders, self.name)(**parameters)


#: Without a given clustering the reference is k-means, which finds the blobs of the checks.
_NOT_THE_BLOBS = dict.fromkeys(
    ("check_clustering", "check_clustering(readonly_memmap=True)"),
    "an alternative must not find the blobs again",
)

#: Name -> method, the usual choice first.
METHODS: dict[str, Method] = {
    entry.name: entry
    for entry in (
        Method(
            "MAXIMUS", "compact clusters whose density profiles differ from the known ones",
            cost="n p k + n k^4 per round where the limit binds",
            doi="10.1007/s10618-009-0164-z", exclusions=_NOT_THE_BLOBS,
        ),
        Method(
            "COALA", "average link that prefers to join what the known clusters keep apart",
            cost="n^2 p, memory n^2", doi="10.1109/ICDM.2006.37", random=False, names_matter=False,
        ),
        Method(
            "CIB", "clusters that tell about the features what the known ones don't",
            cost="n p k per sweep", doi="10.1007/s10115-006-0009-7",
        ),
        Method(
            "CondEns", "what clusterings within each known cluster have in common",
            cost="n p k per known cluster", doi="10.1145/1081870.1081882",
            exclusions=_NOT_THE_BLOBS,
        ),
        Method(
            "MetaClustering", "the farthest of many k-means clusterings with random weights",
            cost="n p k per base clustering", doi="10.1109/ICDM.2006.103", names_matter=False,
        ),
    )
}  # fmt: skip
