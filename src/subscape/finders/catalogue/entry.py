"""What is known about a finder, wherever its class lives."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from subscape.core.errors import SubscapeError

from .trial import Trial

#: Checks of scikit-learn about round blobs, with the reason why they don't fit.
Reasons = Mapping[str, str]


@dataclass(frozen=True)
class Entry:
    """What is known about a finder: an estimator that gives one or several clusterings.

    Attributes
    ----------
    name : str
        Of the class.
    home : str
        The module that offers it; it is imported when the class is first asked for.
    role : {"finder", "views", "alternative", "consensus", "baseline"}
        What it does: find one clustering; several at once; alternatives to known ones; merge many
        into one; or find clusters without subspaces, for comparison.
    kind : {"axis", "weighted", "oriented", "cocluster", "rows"}
        The subspaces it finds; "rows" are clusters over all features.
    sentence : str
        What it looks for.
    spoken : str
        How it is called in a sentence, if not by its name.
    needs : tuple of str
        What it can't do without: "k" (a number of clusters), "ensemble", "table".
    takes : tuple of str
        What it can use beside the table: "given" (clusterings that are known).
    cost : str
        How its time grows: rows n, features p, clusters k, dims of a cluster d, members m.
    doi, reference : str
        The paper: authors, title, place and year.
    overlapping : bool
        Whether its clusters may share rows (by default or by a parameter).
    partitions : bool
        Whether every row ends up in a cluster.
    missing, nominal, sparse : bool
        What input it takes beyond dense numbers.
    predict : bool
        Whether it puts new rows into its clusters.
    random : bool
        Whether its result depends on ``random_state`` (beyond a reference that it has to make).
    names_matter : bool
        Whether the numbers of known clusters decide between equally good alternatives.
    exclusions : mapping
        Checks of scikit-learn that its model does not fit, with the reason.
    published : mapping or None
        Parameters that make it the algorithm of the paper; None if there is no paper about it.
    ours : mapping
        What the paper does not have: parameters, each with those of its values that are ours, or
        an empty tuple if the whole parameter is.
    options : mapping
        Names on the command line of a consensus method, with the parameters that each stands for.
    trials : tuple of Trial
        When and how ``explore`` tries it; empty if it doesn't.

    See Also
    --------
    find : The entry of a name.
    select : Entries by their tags.
    Trial : When explore tries a finder.
    """

    name: str
    home: str
    role: str
    kind: str
    sentence: str
    cost: str
    doi: str
    reference: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    overlapping: bool = False
    partitions: bool = False
    missing: bool = False
    nominal: bool = False
    sparse: bool = False
    predict: bool = False
    random: bool = True
    names_matter: bool = True
    exclusions: Reasons = field(default_factory=dict)
    published: Mapping[str, Any] | None = field(default_factory=dict)
    ours: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spoken: str = ""
    trials: tuple[Trial, ...] = ()

    @property
    def needs_k(self) -> bool:
        """Whether the number of clusters must be given."""
        return "k" in self.needs

    @property
    def citation(self) -> str:
        """The paper, as it stands in a list of references."""
        return f"{self.reference}. doi:{self.doi}"

    def load(self) -> Any:
        """The class.

        Returns
        -------
        type
            Imported now, if it was not before.
        """
        return getattr(importlib.import_module(self.home), self.name)

    def make(self, **parameters: Any) -> Any:
        """A new estimator with these parameters.

        Returns
        -------
        estimator
            Not fitted.

        Examples
        --------
        >>> from subscape.finders.catalogue import find
        >>> find("coala").make(omega=0.6)
        COALA(omega=0.6)
        """
        return self.load()(**parameters)

    def as_published(self, parameters: Mapping[str, Any], cls: Any = None) -> dict[str, Any]:
        """All parameters of the paper's version that has these; others are refused.

        Parameters
        ----------
        parameters : mapping
        cls : class, optional
            A subclass, if it is not of the entry's own class.

        Returns
        -------
        dict
            Values by name, for ``set_params``.
        """
        cls = self.load() if cls is None else cls
        if self.published is None:
            raise SubscapeError(
                f"no paper describes {self.name}, so it has no published version; use {self.name}()"
            )
        known = cls._get_param_names()
        for name, value in parameters.items():
            if name not in known:
                raise SubscapeError(
                    f"{cls.__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            if name not in self.ours:
                continue
            values = self.ours[name]
            if not values:
                raise SubscapeError(
                    f"{self.name} as published has no parameter {name!r}, which is not in the "
                    f"paper; {cls.__name__}({name}={value!r}) has it"
                )
            if any(type(value) is type(one) and value == one for one in values):
                raise SubscapeError(
                    f"{self.name} as published has no {name}={value!r}, which is not in the "
                    f"paper; {cls.__name__}({name}={value!r}) has it"
                )
        return {**self.published, **parameters}
