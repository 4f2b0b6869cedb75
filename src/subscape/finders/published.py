"""The version of a finder that its paper describes."""

from __future__ import annotations

from functools import cache
from typing import Any, Self

from subscape.core.checks import check_integers, check_n_jobs
from subscape.parallel.seeds import seed_sequence


class Published:
    """What every finder, alternative and consensus method of the catalogue can do."""

    @classmethod
    def as_published(cls, **parameters: Any) -> Self:
        """The algorithm of the paper: every switch is set as the paper has it.

        Parameters that the paper leaves to its user keep their defaults, or are given here. How
        the defaults differ is said in the docstring of the class.

        Parameters
        ----------
        **parameters
            Those that the paper has, and those of the run (``random_state``, ``n_jobs`` ...).

        Returns
        -------
        estimator

        Raises
        ------
        SubscapeError
            For a parameter that the paper's version does not have.

        Examples
        --------
        >>> from subscape.finders import PROCLUS
        >>> PROCLUS.as_published(n_clusters=3, avg_dims=4, random_state=0)
        PROCLUS(avg_dims=4, n_clusters=3, n_init=1, noise='spheres', random_state=0,
                refine=False, search_rows=None)
        >>> PROCLUS.as_published(refine=True)
        Traceback (most recent call last):
        ...
        subscape.core.errors.SubscapeError: PROCLUS as published has no parameter 'refine', \
which is not in the paper; PROCLUS(refine=True) has it
        """
        from .catalogue import entry_of

        return cls(**entry_of(cls).as_published(parameters, cls))

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # scikit-learn takes the signature apart whenever somebody asks, several times in a fit.
        names: list[str] = super()._get_param_names()  # type: ignore[misc]
        return names

    def _validate_params(self) -> None:
        """What no parameter may be, then scikit-learn's check of each."""
        parameters = self.get_params(deep=False)  # type: ignore[attr-defined]
        seed = parameters.get("random_state")
        if isinstance(seed, int):
            seed_sequence(seed)
        if isinstance(parameters.get("n_jobs"), int):
            check_n_jobs(parameters["n_jobs"])
        check_integers(parameters, type(self).__name__)
        super()._validate_params()  # type: ignore[misc]
