"""``subscape validate``: is a result stable, and is it more than chance?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from subscape.core.errors import count
from subscape.validation.criteria import FEWEST_NULL_TABLES, SIGNIFICANCE_LEVEL, STABLE

from .finder_inputs import (
    clusters_option,
    given_option,
    read_known,
    read_matrix,
    table_options,
    typed_value,
    with_clusters_asked,
)
from .inputs import of_text, read_files, suggestion, with_clusters
from .output import (
    check_picture,
    columns,
    json_option,
    number,
    print_json,
    progress_for,
    write_records,
)

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering
    from subscape.files.formats import FileSource

    from .finder_inputs import Matrix

EXAMPLES = """\b
Examples:
  subscape fit PROCLUS data.csv -p n_clusters=5 -o result.subscape
  subscape validate result.subscape data.csv
  subscape validate labels.csv data.csv --finder LAC -k 3
  subscape validate views.subscape#view_2 data.csv

The finder of a .subscape file is run again, with its parameters, on samples of the rows and on
tables without clusters. The file also tells how the table was read (--scale, --nominal, --missing);
for labels, say it as it was. Of a file with several clusterings each is tested.
"""

#: Who can be run again on samples and null tables.
REPEATED = ("finder", "views", "alternative")
#: What the clusterings of one result have in common.
ORIGIN = ("algorithm", "parameters", "reading", "given")


@click.command(epilog=EXAMPLES)
@click.argument("result", metavar="RESULT")
@click.argument("table", type=click.Path())
@click.option("--finder", "name", help="The finder behind the result, if its file does not tell.")
@click.option("-p", "--parameter", "parameters", multiple=True, metavar="NAME=VALUE",
              help="A parameter of the finder; may be repeated.")  # fmt: skip
@clusters_option
@given_option
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
@json_option
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--force", is_flag=True, help="Replace existing output files.")
def validate(
    result: str,
    table: str,
    name: str | None,
    parameters: tuple[str, ...],
    clusters: str | None,
    given: tuple[str, ...],
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
    check_picture(plot)
    if plot is not None and not samples:
        raise ValueError("--plot draws which clusters come back; it needs --samples above 0")
    sources = None
    if result.partition("#")[0].endswith(".subscape"):
        # It knows its rows and features, and how the table was read.
        sources = with_clusters(read_files([result], None)[0], result)
        _one_origin(sources, result, name)
    first = None if sources is None else sources[0].clustering
    how = _reading(first, {"nominal": nominal, "missing": missing, "scale": scale})
    matrix = read_matrix(table, id_column, labels, how["nominal"], how["missing"], **of_text(text))
    if sources is None:
        shape = (matrix.n_rows, len(matrix.feature_names))
        sources = with_clusters(read_files([result], shape)[0], result)
    if plot is not None and len(sources) > 1:
        raise ValueError(
            f"--plot draws one clustering, and {result} has {len(sources)}; say which, such as "
            f"{_title(sources[0], result)}"
        )
    asked = with_clusters_asked(parameters, clusters)
    entry, finder = _finder(sources[0].clustering, name, asked, samples > 0 or nulls > 0)
    aligned = [matrix.like(source.clustering, table) for source in sources]
    matrix, clusterings = aligned[0][0], [clustering for _, clustering in aligned]
    if finder is not None:
        finder = _knowing(entry, finder, matrix, given, sources[0].clustering)
    kind = "axis" if entry is None else entry.kind
    X = matrix.scaled(str(how["scale"]), kind)[0].to_numpy()
    work = {"store": store, "n_jobs": jobs, "progress": progress_for(quiet or wants_json)}
    reports = _validated(X, clusterings, finder, samples, share, nulls, seed, work)
    names = [_title(source, result).rpartition("#")[2] for source in sources]
    tell(reports, names, wants_json)
    if output is not None:
        write_records(output, records(reports, names), force=force)
    if plot is not None:
        from subscape.plots.cluster_stability import ClusterStabilityDisplay

        ClusterStabilityDisplay.from_stability(reports[0]["stability"]).figure_.savefig(plot)


def _title(source: FileSource, result: str) -> str:
    """What one of several clusterings in a file is called."""
    return f"{result}#{source.name.rpartition('#')[2]}"


def _one_origin(sources: list[FileSource], result: str, name: str | None) -> None:
    """Refuse clusterings that different finders made, unless the finder is named."""
    told = [{key: source.clustering.provenance.get(key) for key in ORIGIN} for source in sources]
    if name is None and any(one != told[0] for one in told):
        makers = sorted({str(one["algorithm"]) for one in told})
        raise ValueError(
            f"{result} holds clusterings that were found in different ways (by "
            f"{', '.join(makers)}); say which, such as {_title(sources[0], result)}"
        )


def _knowing(
    entry: Any, finder: Any, matrix: Matrix, given: tuple[str, ...], clustering: SubspaceClustering
) -> Any:
    """The finder together with what was known when the result was found."""
    recorded = clustering.provenance.get("given", ())
    paths = given or (tuple(recorded) if "given" in entry.takes else ())
    if not paths:
        return finder
    if "given" not in entry.takes:
        raise ValueError(f"{entry.name} can't make use of --given")
    for path in paths:
        if not given and not Path(path.partition("#")[0]).exists():
            raise ValueError(
                f"this result was found beside {path}, which is not there; say where it is with "
                "--given"
            )
    from subscape.runs.samples import KnowingFinder

    return KnowingFinder(finder, read_known(paths, matrix)[0])


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
    from subscape.finders.catalogue import find, of_role

    source = clustering.provenance
    told = source.get("algorithm") if name is None else name
    if told is None:
        if needed:
            raise ValueError(
                "the file does not say which finder made this result; name it with --finder (and "
                "its parameters with -p), or pass --samples 0 --nulls 0 for the indices alone"
            )
        return None, None
    if name is None and str(told) not in of_role(*REPEATED):
        if needed:
            raise ValueError(
                f"this result was made by {told}, which no table alone can repeat; name a finder "
                "to hold it against with --finder (and its parameters with -p), or pass "
                "--samples 0 --nulls 0 for the indices alone"
            )
        return None, None
    entry = find(str(told), *REPEATED)
    finder = entry.make()
    known = finder.get_params()
    same = entry.name == source.get("algorithm")
    recorded = source.get("parameters", {}) if same else {}
    # What is no number was written down as text: (3, 2, 1) as well as auto.
    chosen = {
        key: typed_value(value) if isinstance(value, str) else value
        for key, value in recorded.items()
        if key in known
    }
    for text in given:
        key, equals, value = text.partition("=")
        if not equals or key not in known:
            raise ValueError(
                f"{text!r} is not NAME=VALUE of {entry.name}.{suggestion(key, known)} It has "
                + ", ".join(sorted(known))
            )
        chosen[key] = typed_value(value)
    return entry, finder.set_params(**chosen)


def _validated(
    X: Any, clusterings: list[SubspaceClustering], finder: Any, samples: int, share: float,
    nulls: int, seed: int, work: dict[str, Any],
) -> list[dict[str, Any]]:  # fmt: skip
    """A report on each clustering; the samples and the null tables are searched once."""
    from subscape.validation.null_test import significance
    from subscape.validation.stability.subsampling import resampling_stability

    samples = max(samples, 2) if samples else 0
    again = tested = None
    if samples:
        again = resampling_stability(
            finder, X, n_samples=samples, share=share, reference=False, random_state=seed,
            **work,
        )  # fmt: skip
    if nulls:
        tested = significance(finder, X, n_null=nulls, random_state=seed, **work)
    return [_report(X, one, again, tested, samples, nulls) for one in clusterings]


def _report(
    X: Any, clustering: SubspaceClustering, again: Any, tested: Any, samples: int, nulls: int
) -> dict[str, Any]:
    import numpy as np

    from subscape.measures.flats.description_length import description_length
    from subscape.validation.stability.clusters import (
        cluster_stability,
        distance_between_runs,
        nearest_clusterings,
    )

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
    if again is not None:
        runs = again.runs[0]
        if any(c.kind != clustering.kind for run in runs for c in run.clusterings):
            # Labels have no subspaces that could come back.
            report["by_rows"] = True
            runs = [replace(run, clusterings=_by_rows(run.clusterings)) for run in runs]
        own = clustering.rows_only() if report["by_rows"] else clustering
        several = any(len(run.clusterings) > 1 for run in runs)
        runs = nearest_clusterings(own, runs) if several else runs
        between = distance_between_runs(runs) if several else float(again.values[0])
        found = cluster_stability(own, runs)
        stability, recovered = found.stability, found.recovered
        report |= {
            "whole_stability": found.whole, "failed": found.n_failed, "stability": found,
            "between_samples": between,
        }  # fmt: skip
    if tested is not None:
        p_values = _p_values(X, clustering, tested)
        # The test is of all that the finder found; of one clustering among several, the best of
        # its clusters speaks, whose p-value is corrected for those of all.
        report["p_value"] = tested.p_value
        if len(tested.clusterings[0]) > 1 and not np.isnan(p_values).any():
            report |= {"p_value": float(np.min(p_values)), "p_value_of_all": tested.p_value}
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


# -- what it says of each clustering ---------------------------------------------------------------


def tell(reports: list[dict[str, Any]], names: list[str], wants_json: bool) -> None:
    """Print what was found out, about one clustering or about each of several."""
    if wants_json:
        plain = [{key: report[key] for key in report if key != "stability"} for report in reports]
        told: Any = plain[0]
        if len(plain) > 1:
            named = zip(names, plain, strict=True)
            told = {"clusterings": [{"name": name, **one} for name, one in named]}
        print_json(told)
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
            str(record["cluster"] + 1), number(record["rows"]), number(record["dims"], 3),
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
        smallest = 1 / (report["nulls"] + 1)
        if smallest > SIGNIFICANCE_LEVEL and report["p_value"] < 1.5 * smallest:  # none reached it
            return (
                f"Whether it is chance stays open: {count(report['nulls'], 'table')} without "
                f"clusters give no p below {smallest:.2g}; --nulls "
                f"{round(1 / SIGNIFICANCE_LEVEL) - 1} give {SIGNIFICANCE_LEVEL:g}."
            )
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
    named = ", ".join(str(k + 1) for k in good)
    return f"{len(good)} of {len(clusters)} clusters can be trusted ({rule}): {named}."
