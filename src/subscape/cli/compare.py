"""``subscape compare``: how different two clusterings are, and which clusters correspond."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from .inputs import Axis, measure_name, read_files, shape_option, the_only
from .output import columns, json_option, print_json, short

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering
    from subscape.files.formats import FileSource
    from subscape.measures.chance import PValue
    from subscape.measures.registry import Measure

EXAMPLES = """\b
Examples:
  subscape compare found.subscape truth.true
  subscape compare found.elki classes.csv --measure ce --measure ari
  subscape compare a.csv b.csv --measure all --p-value
  subscape compare results.csv#run1 results.csv#run2
"""


def _list_measures(ctx: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from subscape.measures.registry import everything

    rows = [(m.name, range_of(m), direction_of(m), m.sentence) for m in everything().values()]
    click.echo("\n".join(columns([("measure", "range", "direction", "what it says"), *rows])))
    ctx.exit()


@click.command(epilog=EXAMPLES)
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--measure",
    "names",
    multiple=True,
    metavar="NAME",
    help="A measure, or 'all'; may be given several times.",
)
@click.option("--rows-only", is_flag=True, help="Forget the subspaces, compare groups of rows.")
@click.option("--columns-only", is_flag=True, help="Forget the rows, compare the subspaces.")
@click.option("--p-value", "wants_p", is_flag=True, help="How often chance agrees as well.")
@click.option(
    "--null",
    type=click.Choice(["labels", "subspaces", "both"]),
    help="What chance shuffles in B for --p-value: its rows (default), its subspaces, or both.",
)
@click.option(
    "--samples",
    type=click.IntRange(1),
    default=999,
    show_default=True,
    help="Shuffles for --p-value.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For --p-value.")
@click.option(
    "--mass",
    type=click.Choice(["cells", "unit"]),
    help="Whether a cluster weighs by its dimensions or every subspace counts 1.",
)
@click.option(
    "--overlap",
    type=click.Choice(["cos2", "trace"]),
    help="How oriented subspaces share: by squared cosines, or by the trace norm.",
)
@shape_option
@json_option
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_list_measures,
    help="List the measures and exit.",
)
def compare(
    a: str,
    b: str,
    names: tuple[str, ...],
    rows_only: bool,
    columns_only: bool,
    wants_p: bool,
    null: str | None,
    samples: int,
    seed: int,
    mass: str | None,
    overlap: str | None,
    shape: tuple[int, int] | None,
    wants_json: bool,
) -> None:
    """Say how different the clusterings in the files A and B are.

    A file may be .subscape, labels (CSV, TSV, NPY), an ELKI result (text or folder) or an
    OpenSubspace .true or .clu file; FILE#NAME is one of several clusterings in it. Measures that
    tell found clusters from true ones take A as found and B as true.
    """
    if rows_only and columns_only:
        raise ValueError("--rows-only and --columns-only leave nothing; give one of them")
    if rows_only and null not in (None, "labels"):
        raise ValueError(f"--rows-only leaves no subspaces for --null {null} to shuffle")
    only: Axis | None = "rows" if rows_only else "columns" if columns_only else None
    files = read_files([a, b], shape, only)
    # What was typed tells people more than the short names that tell files apart.
    sources = [
        the_only(file, typed)._replace(name=typed)
        for file, typed in zip(files, (a, b), strict=True)
    ]
    pair = [source.clustering for source in sources]
    if rows_only:
        pair = of_rows([clustering.rows_only() for clustering in pair])
    if columns_only:
        pair = [clustering.columns_only() for clustering in pair]
    options = {k: v for k, v in (("mass", mass), ("overlap", overlap)) if v is not None}
    chance = None
    if wants_p:
        shuffled = null or ("subspaces" if columns_only else "labels")
        chance = {
            "null": "both" if shuffled == "both" else f"random {shuffled}",
            "n_samples": samples,
            "random_state": seed,
        }
    scores, left_out = score(pair, names, options, chance)
    matches = match(pair, options)
    if wants_json:
        print_json(as_json(sources, pair, scores, left_out, matches))
    else:
        click.echo("\n".join(as_text(sources, pair, scores, left_out, matches)))


# -- two clusterings compared: scores by many measures, and which clusters correspond --------------


class Score(NamedTuple):
    """A measure and what it says about the pair."""

    measure: Measure
    value: float
    p: PValue | None


class Match(NamedTuple):
    """Two clusters that correspond, and the share of each that the other has too."""

    a: int
    b: int
    of_a: float
    of_b: float


def score(
    pair: list[SubspaceClustering],
    names: tuple[str, ...],
    options: dict[str, Any],
    chance: dict[str, Any] | None,
) -> tuple[list[Score], dict[str, str]]:
    """Scores by the measures asked for; of all measures those that can, and why others can't."""
    from subscape.measures import registry
    from subscape.measures.chance import p_value

    known = registry.everything()
    everything = "all" in names
    chosen = list(known) if everything else [measure_name(n) for n in names or _usual(pair)]
    a, b = pair
    scores: list[Score] = []
    left_out: dict[str, str] = {}
    for name in dict.fromkeys(chosen):
        measure = known[name]
        try:
            usable = _usable(measure, options, strict=bool(names) and not everything)
            value = float(measure.function(a, b, **usable))
            p = None if chance is None else p_value(name, a, b, **chance, **usable)
        except (TypeError, ValueError) as error:
            if not everything:
                raise
            left_out[name] = str(error)
        else:
            scores.append(Score(measure, value, p))
    if not scores:
        name, reason = next(iter(left_out.items()))
        raise ValueError(f"no measure can compare these; {name}: {reason}")
    return scores, left_out


def of_rows(pair: list[SubspaceClustering]) -> list[SubspaceClustering]:
    """Clusterings without subspaces; if they are of different features, as if of a single one."""
    from subscape.core.clustering import SubspaceClustering
    from subscape.core.subspaces import AxisSubspaces

    a, b = pair
    named = a.feature_names is not None and b.feature_names is not None
    if a.n_features == b.n_features and not (named and a.feature_names != b.feature_names):
        return pair
    return [
        SubspaceClustering(
            c.memberships, AxisSubspaces([[True]] * c.n_clusters), row_names=c.row_names
        )
        for c in pair
    ]


def _usual(pair: list[SubspaceClustering]) -> tuple[str, ...]:
    """Measures for those who don't say which: what most people know first, then those of cells."""
    rows = all(c.is_row_disjoint and c.n_rows > 1 for c in pair)
    labels = rows and all(map(is_full, pair))
    return ("ari", "ce", "nmi") if labels else ("ari", "ce", "rnia") if rows else ("ce", "rnia")


def is_full(clustering: SubspaceClustering) -> bool:
    """Whether every cluster has all features, so that only the rows tell clusters apart."""
    return clustering.kind == "axis" and bool((clustering.subspaces.relevance == 1).all())


def _usable(measure: Measure, options: dict[str, Any], *, strict: bool) -> dict[str, Any]:
    from inspect import signature

    known = signature(measure.function).parameters
    unknown = [name for name in options if name not in known]
    if unknown and strict:
        raise ValueError(f"{measure.name} knows no --{unknown[0]}")
    return {name: value for name, value in options.items() if name in known}


def match(pair: list[SubspaceClustering], options: dict[str, Any]) -> list[Match] | None:
    """Clusters that correspond, the largest share first; None if the pair shares no measure."""
    from subscape.measures.cells.distances import best_matching
    from subscape.measures.cells.overlap import overlap_of

    try:
        table = overlap_of(*pair, **options)
    except TypeError:
        return None
    found = best_matching(table.table)
    matches = [
        Match(int(i), int(j), shared / table.sizes_a[i], shared / table.sizes_b[j])
        for i, j, shared in zip(found.a, found.b, found.shared.tolist(), strict=True)
    ]
    return sorted(matches, key=lambda m: (-min(m.of_a, m.of_b), m.a))


# -- how ``subscape compare`` shows its result: as text, or as JSON --------------------------------


#: Matched clusters shown; --json has all.
MOST_MATCHES = 20


def range_of(measure: Measure) -> str:
    """Between which values a measure lies."""
    return f"{measure.low:g} to {measure.high:g}" if measure.high < 1e300 else "0 and up"


def direction_of(measure: Measure) -> str:
    """Which value means agreement."""
    if not measure.is_distance:
        return f"{measure.high:g} = best"
    return "0 = identical" if "positive" in measure.properties else "0 = no difference"


def as_text(
    sources: list[FileSource],
    pair: list[SubspaceClustering],
    scores: list[Score],
    left_out: dict[str, str],
    matches: list[Match] | None,
) -> list[str]:
    """The lines for people."""
    facts = [repr(s.clustering).partition("(")[2].removesuffix(")") for s in sources]
    if pair[0].n_features == 1:
        facts = [fact.replace(" x 1 feature", "") for fact in facts]
    lines = columns(
        [(side, short(s.name), fact) for side, s, fact in zip("AB", sources, facts, strict=True)]
    )
    lines += ["", *_scored(scores), *_left_out(left_out)]
    if is_full(pair[0]) != is_full(pair[1]):
        side = "A" if is_full(pair[0]) else "B"
        lines.append(f"{side} has all features in every cluster; --rows-only compares rows alone.")
    return lines if matches is None else lines + _matched(sources, pair, matches)


def _scored(scores: list[Score]) -> list[str]:
    """The table of measures, with what each says if the terminal is wide enough."""
    head = ["measure", "value", "p-value", "range", "direction", "what it says"]
    rows = [
        [
            s.measure.name,
            f"{s.value:.4f}" if abs(s.value) < 1000 else f"{s.value:.6g}",
            f"{s.p.value:.3g}" if s.p else "",
            range_of(s.measure),
            direction_of(s.measure),
            s.measure.sentence,
        ]
        for s in scores
    ]
    table, aligned = [head, *rows], "lrr"
    if all(s.p is None for s in scores):
        table, aligned = [[*row[:2], *row[3:]] for row in table], "lr"
    lines = columns(table, aligned)
    if max(map(len, lines)) > shutil.get_terminal_size((140, 24)).columns:
        lines = columns([row[:-1] for row in table], aligned)
    return lines


def _left_out(left_out: dict[str, str]) -> list[str]:
    """A line for each reason that keeps measures from scoring the pair."""
    reasons: dict[str, list[str]] = {}
    for name, text in left_out.items():
        reason = text.removeprefix(f"{name} ").split(";")[0].split(": ")[0]
        reasons.setdefault(reason, []).append(name)
    return [f"Left out: {', '.join(names)} ({reason})" for reason, names in reasons.items()]


def _matched(
    sources: list[FileSource], pair: list[SubspaceClustering], matches: list[Match]
) -> list[str]:
    names = [_cluster_names(s, c, 1) for s, c in zip(sources, pair, strict=True)]
    dims = [[f"{d:.3g}" for d in c.subspaces.dims] for c in pair]
    whole = [
        s.clustering if s.clustering.n_clusters == len(n) else c
        for s, c, n in zip(sources, pair, names, strict=True)
    ]
    sizes = [[f"{size:.6g}" for size in c.sizes] for c in whole]
    shown: list[tuple[str, ...]] = [("A", "rows", "dims", "B", "rows", "dims", "of A", "of B")]
    for m in matches[:MOST_MATCHES]:
        left = (short(names[0][m.a], 24), sizes[0][m.a], dims[0][m.a])
        right = (short(names[1][m.b], 24), sizes[1][m.b], dims[1][m.b])
        shown.append((*left, *right, f"{m.of_a:.0%}", f"{m.of_b:.0%}"))
    aligned = "lrrlrrrr"
    if all(map(is_full, pair)):
        shown, aligned = [(*row[:2], *row[3:5], *row[6:]) for row in shown], "lrlrrr"
    lines = ["", "Clusters that correspond, and the share of each that the other has too:"]
    lines += columns(shown, aligned)
    if len(matches) > MOST_MATCHES:
        lines.append(f"… and {len(matches) - MOST_MATCHES} more pairs (--json has all)")
    for side, known in ((0, {m.a for m in matches}), (1, {m.b for m in matches})):
        alone = [names[side][i] for i in range(pair[side].n_clusters) if i not in known]
        if alone:
            more = f" and {len(alone) - 12} more" if len(alone) > 12 else ""
            lines.append(f"Only in {'AB'[side]}: {', '.join(alone[:12])}{more}")
    return lines


def _cluster_names(
    source: FileSource, clustering: SubspaceClustering, first: int = 0
) -> tuple[str, ...]:
    """Names of the clusters; where the file has none, their numbers: people count from 1."""
    # --rows-only and --columns-only melt the blocks of a co-clustering into fewer clusters.
    if source.names_given and len(source.cluster_names) == clustering.n_clusters:
        return source.cluster_names
    return tuple(str(first + k) for k in range(clustering.n_clusters))


def as_json(
    sources: list[FileSource],
    pair: list[SubspaceClustering],
    scores: list[Score],
    left_out: dict[str, str],
    matches: list[Match] | None,
) -> dict[str, Any]:
    """The result for machines."""
    names = [_cluster_names(s, c) for s, c in zip(sources, pair, strict=True)]
    return {
        **{
            side: {
                "name": source.name,
                "kind": clustering.kind,
                "n_rows": clustering.n_rows,
                "n_features": clustering.n_features,
                "clusters": list(named),
            }
            for side, source, clustering, named in zip("ab", sources, pair, names, strict=True)
        },
        "measures": [
            {
                "name": s.measure.name,
                "value": s.value,
                "low": s.measure.low,
                "high": s.measure.high if s.measure.high < 1e300 else None,
                "is_distance": s.measure.is_distance,
            }
            | ({"p_value": s.p.value, "p_standard_error": s.p.standard_error} if s.p else {})
            for s in scores
        ],
        "left_out": left_out,
        "matches": None
        if matches is None
        else [
            {"a": names[0][m.a], "b": names[1][m.b], "of_a": m.of_a, "of_b": m.of_b}
            for m in matches
        ],
    }
