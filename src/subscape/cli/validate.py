"""``subscape validate``: is a result stable, and is it more than chance?"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from subscape.validation.criteria import FEWEST_NULL_TABLES, SIGNIFICANCE_LEVEL, STABLE

from .finder_inputs import read_matrix, table_options, typed_value
from .inputs import of_text, read_files, the_only
from .output import columns, number, write_records

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering

EXAMPLES = """\b
Examples:
  subscape fit PROCLUS data.csv -p n_clusters=5 -o result.subscape
  subscape validate result.subscape data.csv
  subscape validate labels.csv data.csv --finder LAC -p n_clusters=3

The finder of a .subscape file is run again, with its parameters, on samples of the rows and on
tables without clusters. The file also tells how the table was read (--scale, --nominal, --missing);
for labels, say it as it was.
"""


@click.command(epilog=EXAMPLES)
@click.argument("result", metavar="RESULT")
@click.argument("table", type=click.Path())
@click.option("--finder", "name", help="The finder behind the result, if its file does not tell.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the finder; may be repeated.")  # fmt: skip
@click.option("--samples", type=click.IntRange(0), default=10, show_default=True,
              help="Samples of the rows that are clustered again; 0 for none.")  # fmt: skip
@click.option("--share", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.8,
              show_default=True, help="Share of the rows in a sample.")  # fmt: skip
@click.option("--nulls", type=click.IntRange(0), default=FEWEST_NULL_TABLES, show_default=True,
              help="Tables without clusters to compare with; 0 for none.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(), help="Write the table of clusters (CSV).")
@click.option("--plot", type=click.Path(), help="Draw which clusters come back.")
@click.option("--store", type=click.Path(file_okay=False), help="Folder that keeps finished runs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True,
              help="Seed of the random numbers.")  # fmt: skip
@click.option("--jobs", type=int, default=None, help="Parallel jobs; -1 takes all cores.")
@table_options
@click.option("--json", "wants_json", is_flag=True, help="Print JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--force", is_flag=True, help="Replace existing output files.")
def validate(
    result: str,
    table: str,
    name: str | None,
    parameters: tuple[str, ...],
    samples: int,
    share: float,
    nulls: int,
    output: str | None,
    plot: str | None,
    store: str | None,
    seed: int,
    jobs: int | None,
    id_column: str | None,
    labels: tuple[str, ...],
    nominal: str | None,
    missing: str | None,
    scale: str,
    wants_json: bool,
    quiet: bool,
    force: bool,
    **text: Any,
) -> None:
    """Say whether the clusters of RESULT come back, and whether they are more than chance."""
    for path in (output, plot):
        if path is not None and Path(path).exists() and not force:
            raise FileExistsError(f"{path} exists; pass --force to replace it")
    clustering = None
    if result.partition("#")[0].endswith(".subscape"):
        # It knows its rows and features, and how the table was read.
        clustering = the_only(read_files([result], None)[0], result).clustering
    how = _reading(clustering, {"nominal": nominal, "missing": missing, "scale": scale})
    matrix = read_matrix(table, id_column, labels, how["nominal"], how["missing"], **of_text(text))
    if clustering is None:
        shape = (matrix.n_rows, len(matrix.feature_names))
        clustering = the_only(read_files([result], shape)[0], result).clustering
    entry, finder = _finder(clustering, name, parameters, samples > 0 or nulls > 0)
    matrix, clustering = matrix.like(clustering, table)
    kind = "axis" if entry is None else entry.kind
    X = matrix.scaled(str(how["scale"]), kind)[0].to_numpy()
    work = {"store": store, "n_jobs": jobs, "progress": None if quiet or wants_json else True}
    report = _validated(X, clustering, finder, samples, share, nulls, seed, work)
    if wants_json:
        from subscape.core.plain_values import without_nan

        plain = {key: value for key, value in report.items() if key != "stability"}
        click.echo(json.dumps(without_nan(plain), indent=1))
    else:
        click.echo("\n".join(_as_text(report)))
    if output is not None:
        write_records(output, report["clusters"], force=force)
    if plot is not None:
        if report["stability"] is None:
            raise ValueError("--plot draws which clusters come back; it needs --samples above 0")
        from subscape.plots.cluster_stability import ClusterStabilityDisplay

        ClusterStabilityDisplay.from_stability(report["stability"]).figure_.savefig(plot)


def _reading(
    clustering: SubspaceClustering | None, asked: dict[str, str | None]
) -> dict[str, str | None]:
    """How to read the table: as asked for, else as it was read for the result."""
    recorded = {} if clustering is None else clustering.provenance.get("reading", {})
    context = click.get_current_context()
    how: dict[str, str | None] = {}
    for option, value in asked.items():
        told = context.get_parameter_source(option) is ParameterSource.COMMANDLINE
        how[option] = value if told else recorded.get(option, value)
        if told and value != recorded.get(option, value):
            click.echo(
                f"note: the result was made with --{option} {recorded[option]}, and is tried with "
                f"--{option} {value}: it may be found again less well",
                err=True,
            )
    return how


def _finder(
    clustering: SubspaceClustering, name: str | None, given: tuple[str, ...], needed: bool
) -> tuple[Any, Any]:
    """The finder that made a clustering, as its file or the user says."""
    from subscape.finders.registry import FINDERS, find

    source = clustering.provenance
    told = source.get("algorithm") if name is None else name
    if told is None:
        if needed:
            raise ValueError(
                "the file does not say which finder made this result; name it with --finder (and "
                "its parameters with -p), or pass --samples 0 --nulls 0 for the indices alone"
            )
        return None, None
    if name is None and str(told) not in FINDERS:
        if needed:
            raise ValueError(
                f"this result was made by {told}, which no table alone can repeat; name a finder "
                "to hold it against with --finder (and its parameters with -p), or pass "
                "--samples 0 --nulls 0 for the indices alone"
            )
        return None, None
    entry = find(str(told))
    finder = entry.make()
    known = finder.get_params()
    same = entry.name == source.get("algorithm")
    chosen = {k: v for k, v in source.get("parameters", {}).items() if same and k in known}
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            raise ValueError(
                f"{text!r} is not NAME=VALUE of {entry.name}; it has " + ", ".join(sorted(known))
            )
        chosen[key] = typed_value(value)
    return entry, finder.set_params(**chosen)


def _validated(
    X: Any, clustering: SubspaceClustering, finder: Any, samples: int, share: float, nulls: int,
    seed: int, work: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    import numpy as np

    from subscape.measures.flats.description_length import description_length
    from subscape.validation.null_test import significance
    from subscape.validation.stability.clusters import cluster_stability
    from subscape.validation.stability.subsampling import resampling_stability

    samples = max(samples, 2) if samples else 0
    bits = description_length(X, clustering)
    report: dict[str, Any] = {
        "result": repr(clustering),
        "saved": bits.saved,
        "whole_stability": None,
        "failed": 0,
        "p_value": None,
        "nulls": nulls,
        "samples": samples,
        "stability": None,
        "by_rows": False,
    }
    unknown = np.full(clustering.n_clusters, np.nan)
    stability = recovered = p_values = unknown
    if samples:
        again = resampling_stability(
            finder, X, n_samples=samples, share=share, reference=False, random_state=seed,
            **work,
        )  # fmt: skip
        runs = again.runs[0]
        if any(c.kind != clustering.kind for run in runs for c in run.clusterings):
            # Labels have no subspaces that could come back.
            report["by_rows"] = True
            runs = [replace(run, clusterings=_by_rows(run.clusterings)) for run in runs]
        found = cluster_stability(clustering.rows_only() if report["by_rows"] else clustering, runs)
        stability, recovered = found.stability, found.recovered
        report |= {
            "whole_stability": found.whole, "failed": found.n_failed, "stability": found,
            "between_samples": float(again.values[0]),
        }  # fmt: skip
    if nulls:
        tested = significance(finder, X, n_null=nulls, random_state=seed, **work)
        report["p_value"] = tested.p_value
        p_values = _p_values(X, clustering, tested)
    report["clusters"] = [
        {
            "cluster": k,
            "rows": float(clustering.sizes[k]),
            "dims": float(clustering.subspaces.dims[k]),
            "stability": float(stability[k]),
            "recovered": float(recovered[k]),
            "p_value": float(p_values[k]),
        }
        for k in range(clustering.n_clusters)
    ]
    return report


def _by_rows(clusterings: tuple[SubspaceClustering, ...]) -> tuple[SubspaceClustering, ...]:
    return tuple(one.rows_only() for one in clusterings)


def _p_values(X: Any, clustering: SubspaceClustering, tested: Any) -> Any:
    """p-values of the result's own clusters, which a rerun need not find again exactly."""
    import numpy as np

    from subscape.validation.cluster_scores import score_clusters
    from subscape.validation.max_statistic import max_statistic_test

    raw, standardised = tested.cluster_statistics[0], tested.cluster_observed[0]
    own = score_clusters(X, clustering).statistic
    if len(raw) == len(own) and np.allclose(raw, own, rtol=1e-9):
        return tested.cluster_p_values[0]
    if len(raw) < 2 or np.ptp(raw) == 0:
        return np.full(clustering.n_clusters, np.nan)
    # Statistics are put on the scale of the null tables by a shift and a factor.
    slope = np.ptp(standardised) / np.ptp(raw)
    return max_statistic_test(standardised[0] + slope * (own - raw[0]), tested.cluster_null)


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
        lines.append(
            f"significance: p = {report['p_value']:.3g} against {report['nulls']} tables "
            "without clusters"
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
