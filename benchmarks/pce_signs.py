"""The section on signs that differ from print, and that on the order of the methods."""

from __future__ import annotations

import itertools

import numpy as np
from pce_causes import (
    CAUSES,
    IN_PART,
    NAMES,
    SOFTER,
    UNEXPLAINED,
    Cell,
    differences,
    explained,
    others,
)
from pce_ensembles import PCE, SIDES
from pce_tables import PRINTED, Results, changed, mean, per_ensemble, printed


def signs(results: Results) -> list[str]:
    """The section of the page."""
    cells = [cell for part in PRINTED for cell in differences(results, part)]
    found = explained(results, cells)
    columns = [(part, side) for part in PRINTED for side in SIDES]
    number = len(results) * len(PCE)
    lines = [
        "## Where the sign differs from print, and why", "",
        f"{len(cells)} of {number * len(columns)} figures lie on the other side of 0 (Theta) or 1 "
        "(Upsilon) than the printed ones. Each is put down to the first of these causes whose "
        "check it passes; checks are measurements on the same ensembles with one thing changed. "
        "Standard errors (±) are over the ensembles.",
        "",
        "| cause | " + " | ".join(f"{NAMES[p]}_{s}" for p, s in columns) + " | all |",
        "|---|" + "---|" * (len(columns) + 1),
    ]  # fmt: skip
    for title, given in [*found.items(), ("all", [(cell, "") for cell in cells])]:
        counts = [sum((c.part, c.side) == column for c, _ in given) for column in columns]
        lines.append(f"| {title} | " + " | ".join(map(str, [*counts, len(given)])) + " |")
    part = sum(len(given) for title, given in found.items() if title.startswith(IN_PART))
    left = len(found.get(UNEXPLAINED, ()))
    lines += ["", f"Each column has {number} figures. Explained {len(cells) - part - left}, in "
              f"part {part}, unexplained {left}. In part are causes whose change mends this sign, "
              "but leaves more than half as many others in the same column.", "",
              *instead(results, columns)]  # fmt: skip
    texts = {cause.title: cause.text for cause in CAUSES}
    texts[UNEXPLAINED] = "None of the checks gives the printed sign."
    for title, given in found.items():
        listed = "; ".join(f"{cell}" + (f": {why}" if why else "") for cell, why in given)
        base = title.removeprefix(IN_PART)
        text = texts[base] if title == base or base not in found else "The same check."
        lines += [f"**{title[0].upper()}{title[1:]}** ({len(given)}). {text}", "", f"{listed}.", ""]
    return lines


def instead(results: Results, columns: list[tuple[str, str]]) -> list[str]:
    """How many signs would differ with one thing changed: does a cause mend more than it breaks?"""
    lines = [
        "The changes of the checks applied to all figures, not only to those that differ: other "
        "signs before and after, on the ensembles on which they were run.",
        "", "| changed | " + " | ".join(f"{NAMES[p]}_{s}" for p, s in columns) + " |",
        "|---|" + "---|" * len(columns),
    ]  # fmt: skip
    for what in dict.fromkeys(w for rs in results.values() for r in rs for w in r["checks"]):
        counts = [others(results, what, *column) for column in columns]
        lines.append(f"| {what} | " + " | ".join(f"{a} → {b}" for a, b in counts) + " |")
    every = [(records, Cell("upsilon", name, m, "f", mean(records, m, "upsilon", "f"), 0.0, 1,
                            printed("upsilon", name, m, "f")))
             for name, records in results.items() for m in PCE]  # fmt: skip
    before = sum(not cell.agrees(cell.ours) for _, cell in every)
    after = sum(not c.agrees(mean(r, c.method, "upsilon", "f literal")) for r, c in every)
    lines.append(f"| features counted in NMI_f | | | | | | {before} → {after} |")
    return [*lines, "", *sharper(results)]


def sharper(results: Results) -> list[str]:
    """Whether sharper weights of the classes would give the features another sign."""
    lines = ["Theta_f with sharper weights of the classes, mean over the tables:", "",
             "| h of the classes | NMI_f of the classes with themselves | "
             + " | ".join(PCE) + " | figures with the printed sign |",
             "|---|---|" + "---|" * (len(PCE) + 1)]  # fmt: skip
    kept = next(iter(results.values()))[0]["sharper"]
    for h in ("0.2", *kept):
        rows, right = [], 0
        for name, records in results.items():
            if h == "0.2":
                own = [np.mean([r["self f"] for r in records])]
                own += [mean(records, m, "theta", "f") for m in PCE]
            else:
                own = [np.mean([r["sharper"][h][m] for r in records]) for m in ("self", *PCE)]
            rows.append(own)
            right += sum(v * printed("theta", name, m, "f") > 0
                         for m, v in zip(PCE, own[1:], strict=True))  # fmt: skip
        values = np.mean(rows, axis=0)
        lines.append(f"| {h} | {values[0]:.3f} | " + " | ".join(f"{v:+.3f}" for v in values[1:])
                     + f" | {right} of {len(PCE) * len(results)} |")  # fmt: skip
    return [*lines, ""]


def as_printed(results: Results) -> list[str]:
    """Why the printed formulas lose to the members."""
    cells = list(differences(results, "theta", lambda m: m if m == "MOEA" else f"{m} printed"))
    cells = [cell for cell in cells if cell.method != "MOEA" and cell.side != "f"]
    right = [c for c in cells if c.agrees(mean(results[c.name], c.method, "theta", c.side))]
    meeting = [np.mean([r["meeting alpha"] for r in records]) for records in results.values()]
    higher = [np.mean([r["em objective"] for r in records]) for records in results.values()]
    return [
        f"Other sign than in print in the columns of and o of CB, FCB and EM: {len(cells)} of "
        f"{6 * len(results)}; {len(right)} of them have the printed sign in the table above. CB "
        "and FCB: eq. 12 with alpha = 2 shares a row so evenly that little NMI is left. EM: from "
        "an alpha on that depends on the ensemble all clusters become one, and memberships are "
        f"equal. That alpha is {min(meeting):.3f} to {max(meeting):.3f} on these tables ("
        + ", ".join(f"{n} {a:.2f}" for n, a in zip(results, meeting, strict=True))
        + "), the paper's is 2. That is no bad optimum of the search: the published objective "
        f"at the rows of CB's consensus is {min(higher):.3f} to {max(higher):.3f} times as high. "
        "Our default is 1.01.", "",
    ]  # fmt: skip


def ahead(results: Results, a: str, b: str, part: str, side: str) -> tuple[float, float, float]:
    """How far a method is ahead of another, the standard error, and the printed difference."""
    gaps, errors, theirs = [], [], []
    for name, records in results.items():
        gap = per_ensemble(records, a, part, side) - per_ensemble(records, b, part, side)
        gaps.append(gap.mean())
        errors.append(gap.var(ddof=1) / len(gap) if len(gap) > 1 else 0.0)
        theirs.append(printed(part, name, a, side) - printed(part, name, b.split()[0], side))
    return float(np.mean(gaps)), float(np.sqrt(np.sum(errors)) / len(gaps)), float(np.mean(theirs))


def ranking(results: Results, side: str) -> str:
    """Methods by Theta; those within two standard errors of their neighbour are level (≈)."""
    means = {m: np.mean([mean(r, m, "theta", side) for r in results.values()]) for m in PCE}
    best = sorted(PCE, key=lambda m: -means[m])
    text = best[0]
    for one, other in itertools.pairwise(best):
        gap, error, _ = ahead(results, one, other, "theta", side)
        text += (" > " if gap > 2 * error else " ≈ ") + other
    return text


def order(results: Results) -> list[str]:
    """Who is ahead of whom, by how much, and how sure."""
    pairs = (("CB", "FCB"), ("CB", "MOEA"), ("CB", "EM"), ("MOEA", "EM"), ("CB", "EM alpha 2"))
    lines = ["## The order of the methods", "",
             "Differences ensemble by ensemble, then averaged over the tables; standard errors "
             "from the spread over the ensembles of a table; in brackets the paper's difference.",
             "", "| figure | " + " | ".join(f"{a} - {b}" for a, b in pairs) + " |",
             "|---|" + "---|" * len(pairs)]  # fmt: skip
    for part in PRINTED:
        for side in SIDES:
            gaps = [ahead(results, *pair, part, side) for pair in pairs]
            cells = [f"{gap:+.3f} ± {error:.3f} ({theirs:+.3f})" for gap, error, theirs in gaps]
            lines.append(f"| {NAMES[part]}_{side} | " + " | ".join(cells) + " |")
    lines += ["", "Ours (≈: within two standard errors of the next): "
              + "; ".join(f"Theta_{side} {ranking(results, side)}" for side in ("of", "o"))
              + ". The paper's: CB > FCB > MOEA > EM in both."]  # fmt: skip
    for side in ("of", "o"):
        tables = [[changed(rs, SOFTER, m, "theta", side) for m in PCE] for rs in results.values()]
        ran = np.array([row for row in tables if None not in row])
        if len(ran):
            means = dict(zip(PCE, ran.mean(axis=0), strict=True))
            best = sorted(means, key=lambda m: -means[m])
            lines.append(f"With much softer members, Theta_{side}: "
                         + ", ".join(f"{m} {means[m]:+.3f}" for m in best) + ".")  # fmt: skip
    return [*lines, "", *lost_clusters(results), ""]


def lost_clusters(results: Results) -> list[str]:
    """Groups of clusters that win no row, in one vote and after the search."""
    told = ", ".join(
        f"{name} {mean(rs, 'CB one vote', 'clusters'):.1f} → {mean(rs, 'CB', 'clusters'):.1f} "
        f"of {rs[0]['k']}" for name, rs in results.items()
        if mean(rs, "CB one vote", "clusters") < 0.99 * rs[0]["k"]
    )  # fmt: skip
    gains = {side: ahead(results, "CB", "CB one vote", "theta", side) for side in SIDES}
    nearer = [np.mean([mean(rs, method, "psi") for rs in results.values()])
              for method in ("CB one vote", "CB")]  # fmt: skip
    lines = (
        "CB and FCB go on from their groups as long as that brings the consensus nearer to the "
        "ensemble (refine=True). Against one vote of k-medoids groups, CB gains "
        + ", ".join(f"{g:+.3f} ± {e:.3f} in Theta_{s}" for s, (g, e, _) in gains.items())
        + f"; its mean distance from the members (psi_of) falls from {nearer[0]:.3f} to "
        f"{nearer[1]:.3f}."
    )
    if told:
        lines += f" Groups that win no row are lost in one vote, or made anew: clusters {told}."
    return [lines]
