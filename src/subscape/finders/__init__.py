"""Finders: scikit-learn estimators that return a :class:`subscape.SubspaceClustering`.

Names are loaded when first used; :mod:`subscape.finders.catalogue` says what each can do.
"""

from subscape.lazy import lazy_names

from .catalogue import CATALOGUE

_homes: dict[str, str] = {}
for _entry in CATALOGUE.values():
    if _entry.home.startswith(f"{__name__}."):
        _place = _entry.home.removeprefix(f"{__name__}.")
        _homes[_place] = f"{_homes.get(_place, '')} {_entry.name}"

__getattr__, __dir__, __all__ = lazy_names(__name__, _homes)
