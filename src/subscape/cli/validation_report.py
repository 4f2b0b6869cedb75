"""What ``subscape validate`` says about each clustering."""

from __future__ import annotations

import json
from typing import Any

import click

from subscape.validation.criteria import SIGNIFICANCE_LEVEL, STABLE

from .output import columns, number


def tell(reports: list[dict[str, Any]], names: list[str], wants_json: bool) -> None:
    """Print what was found out, about one clustering or about each of several."""
    if wants_json:
        from subscape.core.plain_values import without_nan

        plain = [{key: report[key] for key in report if key != "stability"} for report in reports]
        told: Any = plain[0]
        if len(plain) > 1:
            named = zip(names, plain, strict=True)
            told = {"clusterings": [{"name": name, **one} for name, one in named]}
        click.echo(json.dumps(without_nan(told), indent=1))
        return
    for place, (name, report) in enumerate(zip(names, reports, strict=True)):
        lines = _as_text(report)
        if len(reports) > 1:
            lines = [*([""] if place else []), f"{name}:", *lines]
        click.echo("\n".join(lines))


def records(reports: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """One line per cluster; where there are several clusterings, it says of which."""
    if len(reports) == 1:
        return reports[0]["clusters"]
    return [
        {"clustering": name, **record}
        for name, report in zip(names, reports, strict=True)
        for record in report["clusters"]
    ]


def _as_text(report: dict[str, Any]) -> list[str]:
    lines = [report["result"], f"description length: saves {report['saved']:.1%} of the bits"]
    if report["whole_stability"] is not None:
        failed = f", {report['failed']} failed" if report["failed"] else ""
        lines.append(
            f"stability: {number(report['whole_stability'], 3)} (1 is perfect) over "
            f"{report['samples']} samples{failed}; between samples "
            f"{number(1 - report['between_samples'], 3)}"
            + ("; by rows alone, for lack of subspaces" if report["by_rows"] else "")
        )
    if report["p_value"] is not None:
        all_of_them = report.get("p_value_of_all")
        lines.append(
            f"significance: p = {report['p_value']:.3g} against {report['nulls']} tables "
            "without clusters"
            + ("" if all_of_them is None else f"; of all clusterings together {all_of_them:.3g}")
        )
    head = ("cluster", "rows", "dims", "stability", "comes back in", "p")
    rows = [
        (
            str(record["cluster"]), number(record["rows"]), number(record["dims"], 3),
            number(record["stability"], 3),
            "" if record["recovered"] != record["recovered"] else f"{record['recovered']:.0%}",
            number(record["p_value"], 3),
        )
        for record in report["clusters"]
    ]  # fmt: skip
    return [*lines, "", *columns([head, *rows], "rrrrrr"), "", _verdict(report)]


def _verdict(report: dict[str, Any]) -> str:
    """What it comes to, in a sentence."""
    clusters = report["clusters"]
    if report["whole_stability"] is None and report["p_value"] is None:
        return "Neither stability nor significance was looked at."
    good = [
        record["cluster"]
        for record in clusters
        if not record["stability"] < STABLE and not record["p_value"] > SIGNIFICANCE_LEVEL
    ]
    if report["p_value"] is not None and report["p_value"] > SIGNIFICANCE_LEVEL:
        return "Tables without clusters give as much: no cluster should be trusted."
    rule = " and ".join(
        part
        for part, known in (
            (f"stability of at least {STABLE}", report["whole_stability"]),
            (f"p of at most {SIGNIFICANCE_LEVEL}", report["p_value"]),
        )
        if known is not None
    )
    if len(good) == len(clusters):
        return f"All clusters can be trusted ({rule})."
    if not good:
        return f"No cluster can be trusted (that takes a {rule})."
    named = ", ".join(map(str, good))
    return f"{len(good)} of {len(clusters)} clusters can be trusted ({rule}): {named}."
