"""A study in a folder: the views as clusterings, everything else as plain text and arrays."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from subscape.core.atomic import write_atomically, write_text_atomically
from subscape.core.errors import FileFormatError
from subscape.core.files import load, save
from subscape.core.format_labels import harmless

from .explanation import FeatureFact
from .preparation import Recipe
from .rule import Rule
from .study import Result, Study, View

FORMAT = "subscape-study/1"
NAME = "study.json"

#: Rows written at a time.
BLOCK = 50_000
#: Arrays of a view that are kept in one file for all views.
VIEW_ARRAYS = ("row_confidence", "cluster_stability", "cluster_p_values", "coordinates", "loadings")
RULE_ARRAYS = ("basis", "centres", "spreads", "shares", "numbers")
STUDY_ARRAYS = ("distances", "between_views", "searched_rows", "shown_rows")


def save_study(study: Study, folder: str | os.PathLike[str]) -> Path:
    """Write a study into a folder, file by file, each complete or not there.

    ``study.json`` is written last, so that a folder that has it is whole.
    """
    home = Path(folder)
    (home / "views").mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(study, name) for name in STUDY_ARRAYS}
    for view in study.views:
        save(home / "views" / f"view_{view.number}.subscape", view.clustering, force=True)
        arrays |= {f"view{view.number}_{name}": getattr(view, name) for name in VIEW_ARRAYS}
        arrays |= {f"rule{view.number}_{name}": getattr(view.rule, name) for name in RULE_ARRAYS}
    _write(home / "views" / "arrays.npz", lambda stream: np.savez_compressed(stream, **arrays))
    _write(home / "labels.csv", lambda stream: write_labels(study, stream))
    write_text_atomically(home / "clusters.csv", clusters_csv(study), force=True)
    timings = json.dumps({r.name: r.seconds for r in study.results})
    write_text_atomically(home / "timings.json", timings, force=True)
    write_text_atomically(home / NAME, _json(_as_plain(study)), force=True)
    return home


def load_study(folder: str | os.PathLike[str]) -> Study:
    """Read a study that was saved.

    Parameters
    ----------
    folder : path

    Returns
    -------
    Study
    """
    home = Path(folder)
    path = home / NAME
    if not path.exists():
        unfinished = (home / "plan.json").exists()
        hint = "; it was begun but not finished, go on with --resume" if unfinished else ""
        raise FileNotFoundError(f"{home} holds no study ({NAME} is missing){hint}")
    try:
        kept = json.loads(path.read_text())
        if kept["format"] != FORMAT:
            raise FileFormatError(
                f"{path} has format {kept['format']!r}, this version reads {FORMAT!r}"
            )
        with np.load(home / "views" / "arrays.npz", allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        seconds = json.loads((home / "timings.json").read_text())
        return _from_plain(kept, arrays, seconds, home)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise FileFormatError(f"{path} is not the file of a study: {error!r}") from None


def _as_plain(study: Study) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "verdict": study.verdict,
        "views": [
            {
                "number": view.number,
                "finders": view.finders,
                "run_ids": view.run_ids,
                "titles": view.titles,
                **{
                    name: _number(getattr(view, name))
                    for name in ("score", "p_value", "stability", "replication")
                },
                "missing_redundancy": view.missing_redundancy,
                "rule_agreement": view.rule.agreement,
                "descriptions": view.descriptions,
                "facts": [[_fact(fact) for fact in listed] for listed in view.facts],
            }
            for view in study.views
        ],
        "results": [
            {k: v for k, v in vars(result).items() if k != "seconds"} for result in study.results
        ],
        "failures": study.failures,
        "table_schema": study.table_schema,
        "shape": study.shape,
        "feature_names": study.feature_names,
        "row_names": study.row_names,
        "chance": study.chance,
        "notes": study.notes,
        "settings": study.settings,
        "recipes": [vars(recipe) for recipe in study.recipes],
        "truth": study.truth,
        "is_provisional": study.is_provisional,
    }


def _json(kept: dict[str, Any]) -> str:
    """One entry per line: indented throughout, a wide table's study would take seconds."""
    lines = [f"{json.dumps(k)}: {json.dumps(kept[k], sort_keys=True)}" for k in sorted(kept)]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _fact(fact: FeatureFact) -> dict[str, Any]:
    return {k: _number(v) if isinstance(v, float) else v for k, v in vars(fact).items()}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _from_plain(
    kept: dict[str, Any], arrays: dict[str, Any], seconds: dict[str, float], home: Path
) -> Study:
    views = []
    for entry in kept["views"]:
        number = int(entry["number"])
        rule = Rule(
            **{name: arrays[f"rule{number}_{name}"] for name in RULE_ARRAYS},
            agreement=float(entry["rule_agreement"]),
        )
        views.append(
            View(
                number=number,
                clustering=load(home / "views" / f"view_{number}.subscape"),
                finders=tuple(entry["finders"]),
                run_ids=tuple(entry["run_ids"]),
                titles=tuple(entry["titles"]),
                score=_read_number(entry["score"]),
                p_value=_read_number(entry["p_value"]),
                stability=_read_number(entry["stability"]),
                replication=_read_number(entry["replication"]),
                missing_redundancy=float(entry["missing_redundancy"]),
                descriptions=tuple(entry["descriptions"]),
                facts=tuple(
                    tuple(_read_fact(fact) for fact in listed) for listed in entry["facts"]
                ),
                rule=rule,
                **{name: arrays[f"view{number}_{name}"] for name in VIEW_ARRAYS},
            )
        )
    return Study(
        views=tuple(views),
        results=tuple(
            Result(**result, seconds=float(seconds.get(result["name"], 0.0)))
            for result in kept["results"]
        ),
        **{name: arrays[name] for name in STUDY_ARRAYS},
        failures=tuple((str(a), str(b)) for a, b in kept["failures"]),
        table_schema=tuple(kept["table_schema"]),
        shape=(int(kept["shape"][0]), int(kept["shape"][1])),
        feature_names=tuple(kept["feature_names"]),
        row_names=None if kept["row_names"] is None else tuple(kept["row_names"]),
        chance=tuple(kept["chance"]),
        notes=tuple(kept["notes"]),
        settings=kept["settings"],
        recipes=tuple(_read_recipe(recipe) for recipe in kept["recipes"]),
        truth=tuple(kept["truth"]),
        is_provisional=bool(kept["is_provisional"]),
        folder=str(home),
    )


def _read_number(kept: float | None) -> float:
    """A number that JSON can't hold is None there."""
    return float("nan") if kept is None else float(kept)


def _read_fact(kept: dict[str, Any]) -> FeatureFact:
    numbers = ("low", "high", "overall_low", "overall_high", "effect")
    if kept["level"] is None:
        kept = kept | {name: float("nan") for name in numbers if kept[name] is None}
    return FeatureFact(**kept)


def _read_recipe(kept: dict[str, Any]) -> Recipe:
    levels = kept["levels"]
    return Recipe(**(kept | {"levels": None if levels is None else tuple(levels)}))


# -- tables for people ----------------------------------------------------------------------------


def write_labels(study: Study, stream: BinaryIO) -> None:
    """One line per row: its name or number, and its cluster and confidence in every view.

    While a study is provisional, these are the rows that were searched.
    """
    head = ["row"]
    for view in study.views:
        head += [f"view_{view.number}", f"view_{view.number}_confidence"]
    stream.write(_csv(head, []).encode())
    labels = [view.labels for view in study.views]
    every = study.searched_rows if study.is_provisional else np.arange(study.shape[0])
    for start in range(0, len(every), BLOCK):
        part = every[start : start + BLOCK]
        rows = part.tolist()
        names = study.row_names
        columns = [[harmless(names[i]) for i in rows] if names is not None else rows]
        for numbers, view in zip(labels, study.views, strict=True):
            columns += [numbers[part].tolist(), np.round(view.row_confidence[part], 4).tolist()]
        stream.write(_csv(None, zip(*columns, strict=True)).encode())


def clusters_csv(study: Study) -> str:
    """One line per view, cluster and feature."""
    head = [
        "view", "cluster", "rows", "stability", "p_value", "feature", "own", "information",
        "low", "high", "effect", "level", "share", "elsewhere", "imputed",
    ]  # fmt: skip

    def lines() -> Any:
        for view in study.views:
            for k, listed in enumerate(view.facts):
                size = int(view.clustering.sizes[k])
                trust = [view.cluster_stability[k], view.cluster_p_values[k]]
                for fact in listed:
                    yield [
                        view.number, k, size, *map(_short, trust), harmless(fact.feature),
                        int(fact.is_own), _short(fact.information), _short(fact.low),
                        _short(fact.high), _short(fact.effect),
                        "" if fact.level is None else harmless(fact.level),
                        _short(fact.share), _short(fact.elsewhere), _short(fact.imputed),
                    ]  # fmt: skip

    return _csv(head, lines())


def _short(value: float | None) -> str:
    return "" if value is None or not np.isfinite(value) else f"{value:.6g}"


def _csv(head: list[str] | None, lines: Any) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    if head is not None:
        writer.writerow(head)
    writer.writerows(lines)
    return buffer.getvalue()


def _write(path: Path, write: Callable[[BinaryIO], Any]) -> None:
    write_atomically(path, write, force=True)
