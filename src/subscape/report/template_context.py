"""Everything that the page says, ready for its templates."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from subscape.core.errors import count
from subscape.exploration.known_groupings import LEIDEN
from subscape.exploration.study import all_views
from subscape.exploration.verdict import fitted_tail, joined, paragraphs
from subscape.finders.catalogue import of_role
from subscape.validation.criteria import smallest_cluster

from .cards import Card, asked_card, cards, unclaimed
from .drawings import chance_strip, results_map, shown_rows, tree
from .methods import methods
from .wording import compared, grouped, number, share

if TYPE_CHECKING:
    from subscape.exploration.study import Result, Study

__all__ = ["Card", "Tile", "template_context"]

#: Columns of the table, results and failures that are listed.
MOST_COLUMNS, MOST_RESULTS, MOST_FAILURES = 150, 400, 60
#: Settings that stand in words elsewhere.
TOLD = ("source", "not_run")


class Tile(NamedTuple):
    """One figure of the first screen."""

    figure: str
    label: str
    remark: str


def template_context(study: Study) -> dict[str, Any]:
    """The names that the templates know."""
    described = cards(study)
    roles = Counter(str(column.get("role", "")) for column in study.table_schema)
    n_shown, n_searched = len(shown_rows(study)), len(study.searched_rows)
    fewest = math.ceil(smallest_cluster(n_searched))
    ranked = sorted(range(len(study.results)), key=lambda i: (-study.results[i].score, i))
    return {
        "study": study,
        "title": _title(study),
        "verdict": paragraphs(study)[0],
        "more_verdict": " ".join(paragraphs(study)[1:]),
        "tiles": _tiles(study),
        "cards": described,
        "honest": [card for card in described if card.is_honest],
        "doubtful": [card for card in described if not card.is_honest],
        "asked": asked_card(study),
        "first_number": min((v.number for v in all_views(study)), default=0),
        "unclaimed": unclaimed(study),
        "power": "" if study.power is None else study.power.words(),
        "n_tables": len(study.chance) + len(study.curve_chance),
        "shared": np.nan_to_num(np.asarray(study.between_views, dtype=np.float64)).tolist(),
        "first_pair": _first_pair(study),
        "origins": origins(study),
        "added": answer(study),
        "map": results_map(study),
        "tree": tree(study),
        "strip": chance_strip(study),
        "results": [study.results[i] for i in ranked[:MOST_RESULTS]],
        "n_more_results": max(0, len(ranked) - MOST_RESULTS),
        "failures": study.failures[:MOST_FAILURES],
        "n_more_failures": max(0, len(study.failures) - MOST_FAILURES),
        "truths": _truths(study),
        "beside_leiden": any(str(known["name"]).startswith(LEIDEN) for known in study.truth),
        "columns": study.table_schema[:MOST_COLUMNS],
        "n_more_columns": max(0, len(study.table_schema) - MOST_COLUMNS),
        "roles": [count(n, f"{role} column") for role, n in roles.items() if role],
        "settings": [(k, v) for k, v in study.settings.items() if k not in TOLD],
        "not_run": study.settings.get("not_run", ""),
        "methods": methods(study),
        "n_shown": n_shown,
        "fewest": fewest,
        "smallest": math.ceil(fewest * study.shape[0] / n_searched) if n_searched else 0,
        "all_shown": n_shown == study.shape[0],
        "about_missing": [card for card in described if card.view.is_explained_by_missing],
    }


def _title(study: Study) -> str:
    # The folder is nobody's business.
    return Path(str(study.settings.get("source") or "")).name or "a table"


def _tiles(study: Study) -> list[Tile]:
    honest = study.significant_views
    if not honest:
        return [
            Tile("0", "groupings better than chance", _the_others(study)),
            Tile(grouped(len(study.results)), "clusterings looked at", ""),
            Tile(grouped(len(study.chance)), "tables without groups", "to compare with"),
        ]
    tiles = [Tile(str(len(honest)), "grouping" + "s" * (len(honest) > 1), _the_others(study))]
    if len(honest) > 1:
        places = [view.number - 1 for view in honest]
        part = np.asarray(study.between_views)[np.ix_(places, places)]
        most = float(part[np.triu_indices(len(places), 1)].max())
        different = "independent" if most < 0.1 else "related" if most < 0.5 else "variants"
        tiles.append(Tile(share(most), "shared at most", f"{different}, two by two"))
    largest = max(view.p_value for view in honest)
    tables = f"{count(len(study.chance), 'table')} without groups"
    worst = max(honest, key=lambda view: view.p_value)
    how = fitted_tail(worst.p_value, worst.n_tables, worst.n_ideas, worst.p_interval)
    tables = how or tables
    tiles.append(Tile(f"p {compared(largest)}", "against chance", tables))
    # NaN where samples were not tried yet, and then it is the least.
    least = float(np.min([view.stability for view in honest]))
    label = "stability" if len(honest) == 1 else "stability at least"
    tiles.append(Tile(number(least), label, "1 = samples give the same groups"))
    features = f"{grouped(study.shape[1])} feature{'s' * (study.shape[1] != 1)}"
    tiles.append(Tile(grouped(study.shape[0]), "rows", features))
    return tiles


def _the_others(study: Study) -> str:
    """What became of the views that are not better than chance."""
    unknown = sum(math.isnan(view.p_value) for view in study.views)
    doubtful = len(study.views) - len(study.significant_views) - unknown
    parts = [f"{doubtful} more no better than chance"] if doubtful else []
    return ", ".join([*parts, *([f"{unknown} not yet judged"] if unknown else [])])


def _first_pair(study: Study) -> tuple[int, int] | None:
    """The two views that share most: the ones worth looking at first."""
    number_of = len(study.views)
    if number_of < 2:
        return None
    shared = np.triu(np.nan_to_num(np.asarray(study.between_views, dtype=np.float64)) + 1, 1)
    i, j = np.unravel_index(int(shared.argmax()), shared.shape)
    return int(i) + 1, int(j) + 1


def _truths(study: Study) -> list[dict[str, Any]]:
    """Known groupings with their agreement with each view, the best view named."""
    rows = []
    for known in study.truth:
        agreements = known["views"]
        ari = [agreement["ari"] for agreement in agreements]
        best = int(np.argmax(ari)) if ari else None
        rows.append({"name": str(known["name"]), "agreements": agreements, "best": best})
    return rows


# -- what did subspaces add? Which views plain clusterings of all features found, and which --------


#: Finders without subspaces.
BASELINES = of_role("baseline")
#: Ideas of a group that no plain clustering looks for.
OTHER_IDEAS = ("classes", "shapes", "nested")


class Origin(NamedTuple):
    """Who found a view.

    Attributes
    ----------
    number : int
    plain, subspace : tuple of str
        Baselines and subspace finders with results of this view.
    closest : Result or None
        The baseline's result that is most like it, and how far it is.
    distance : float or None
    """

    number: int
    plain: tuple[str, ...]
    subspace: tuple[str, ...]
    closest: Result | None
    distance: float | None


def origins(study: Study) -> list[Origin]:
    """Who found each view."""
    plain = [i for i, r in enumerate(study.results) if r.finder in BASELINES]
    found = []
    for view in study.views:
        own = [i for i, r in enumerate(study.results) if r.view == view.number]
        names = list(dict.fromkeys(study.results[i].finder for i in own)) or list(view.finders)
        closest = distance = None
        if own and plain:
            best = max(own, key=lambda i: (study.results[i].score, -i))
            distances = np.asarray(study.distances)[best, plain]
            closest = study.results[plain[int(distances.argmin())]]
            distance = float(distances.min())
        found.append(
            Origin(
                view.number,
                tuple(name for name in names if name in BASELINES),
                tuple(name for name in names if name not in BASELINES),
                closest,
                distance,
            )
        )
    return found


def answer(study: Study) -> str:
    """What subspaces added, in a sentence or two."""
    tried = [name for name in BASELINES if any(r.finder == name for r in study.results)]
    if not tried:
        return "No baseline has a result to compare with."
    honest = {view.number for view in study.significant_views}
    if not honest:
        return (
            f"Neither plain clustering ({_spoken(tried)}) nor any other finder found more here "
            "than chance would give."
        )
    own = [origin for origin in origins(study) if origin.number in honest]
    hidden = [origin.number for origin in own if not origin.plain]
    found = [name for name in tried if any(name in origin.plain for origin in own)]
    missed = [name for name in tried if name not in found]
    less = f" ({_spoken(missed)} did not)" if missed else ""
    if not hidden:
        each = "this grouping" if len(honest) == 1 else "each of the groupings"
        everyone = all(set(origin.plain) >= set(found) for origin in own)
        one_of = "" if everyone else "one or another of "
        return (
            f"Nothing that plain clustering had not seen: {one_of}{_spoken(found)}, in all "
            f"features at once, found {each} too{less}. What the other finders add here is which "
            "features make the clusters."
        )
    if not found:
        seen = f"In all features at once, {_spoken(tried)} found none of them"
    else:
        known = len(honest) - len(hidden)
        seen = (
            f"In all features at once, {_spoken(found)} found {known} of the "
            f"{count(len(honest), 'grouping')}{less}"
        )
    other = [v.number for v in study.views if v.number in hidden and v.idea in OTHER_IDEAS]
    plain = [n for n in hidden if n not in other]
    parts = [seen]
    if plain:
        parts.append(f"{_views_were(plain)} found only by finders that look for subspaces")
    if other:
        parts.append(f"{_views_were(other)} found by following another idea of a group")
    return f"{'; '.join(parts)}."


def _views_were(numbers: list[int]) -> str:
    several = len(numbers) > 1
    named = joined([str(n) for n in numbers])
    return f"view{'s' * several} {named} {'were' if several else 'was'}"


def _spoken(names: list[str]) -> str:
    return joined([BASELINES[name].spoken or name for name in names])
