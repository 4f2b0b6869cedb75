"""Values that an estimator must refuse: what its own constraints rule out, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.base import clone
from sklearn.utils._param_validation import generate_invalid_param_val, make_constraint


def refused_values(estimator: Any) -> Iterator[tuple[str, Any]]:
    """Parameters, each with values of other types and out of range.

    >>> from subscape.finders import COALA
    >>> dict(refused_values(COALA()))["n_alternatives"]
    0
    """
    for name, listed in estimator._parameter_constraints.items():
        if listed == "no_validation" or any(each is object for each in listed):
            continue
        constraints = [make_constraint(each) for each in listed]
        values: list[Any] = [Odd()]
        for constraint in constraints:
            try:
                values.append(generate_invalid_param_val(constraint))
            except NotImplementedError:  # whole types, which the odd one is not of
                continue
        for value in values:
            if not any(constraint.is_satisfied_by(value) for constraint in constraints):
                yield name, value


class Odd:
    """Nothing that a parameter could be."""


def check_refused(estimator: Any, *data: Any) -> None:
    """See that ``fit`` names every parameter that is out of range, before any work."""
    for name, value in refused_values(estimator):
        try:
            clone(estimator).set_params(**{name: value}).fit(*data)
        except (ValueError, TypeError) as caught:
            if name not in str(caught):
                raise AssertionError(
                    f"{name}={value!r}: name the parameter, not: {caught}"
                ) from None
        else:
            raise AssertionError(f"{name}={value!r} is accepted")
