"""``subscape matrix``: the distances among many clusterings."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from subscape.core.types import FloatArray

from .inputs import measure_name, read_files, shape_option
from .output import check_picture, columns, json_option, print_json, short

if TYPE_CHECKING:
    pass

EXAMPLES = """\b
Examples:
  subscape matrix runs/*.subscape
  subscape matrix labels.csv truth.true --measure rnia --plot distances.png
  subscape matrix runs/*.subscape -o distances.csv
"""


@click.command(epilog=EXAMPLES)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "--measure",
    default="clustering_error",
    show_default=True,
    metavar="NAME",
    help="A distance; 'subscape compare --list' shows them.",
)
@click.option("--rows-only", is_flag=True, help="Forget the subspaces, compare groups of rows.")
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
@click.option("--plot", metavar="FILE", help="Draw the matrix with its dendrogram (PNG, PDF, SVG).")
@click.option("-o", "--output", metavar="FILE", help="Write the distances as CSV.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def matrix(
    files: tuple[str, ...],
    measure: str,
    rows_only: bool,
    mass: str | None,
    overlap: str | None,
    shape: tuple[int, int] | None,
    plot: str | None,
    output: str | None,
    force: bool,
    wants_json: bool,
) -> None:
    """Compare every pair of the clusterings in FILES, which are about one table.

    A file with several clusterings contributes each of them, FILE#NAME one. The median is the
    clustering that is closest to all others.
    """
    for target in (plot, output):
        if target is not None:
            _check_target(Path(target), force)
    check_picture(plot)
    metric = measure_name(measure)
    sources = [source for file in read_files(files, shape) for source in file]
    if len(sources) < 2:
        raise ValueError("one clustering has no distance to others; give at least two")
    empty = [source.name for source in sources if source.clustering.n_clusters == 0]
    if empty:
        raise ValueError(f"{', '.join(empty)}: no clusters, all rows are noise; leave it out")
    clusterings = [source.clustering for source in sources]
    if rows_only:
        clusterings = [clustering.rows_only() for clustering in clusterings]

    from subscape.measures.pairwise import pairwise_distances

    distances = pairwise_distances(clusterings, metric, mass=mass, overlap=overlap)
    names = [source.name for source in sources]
    middle = int(distances.sum(axis=1).argmin())
    picture = _picture(distances, names, Path(plot)) if plot is not None else None
    if output is not None:
        _write(Path(output), _csv(distances, names).encode(), force)
    if plot is not None and picture is not None:
        _write(Path(plot), picture, force)
    if wants_json:
        result = {
            "measure": metric,
            "names": names,
            "distances": distances.tolist(),
            "median": names[middle],
        }
        print_json(result)
        return
    click.echo("\n".join(_as_text(distances, names, metric, middle)))
    for target in (output, plot):
        if target is not None:
            click.echo(f"Written: {target}")


def _check_target(target: Path, force: bool) -> None:
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; --force replaces it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist")


def _write(target: Path, content: bytes, force: bool) -> None:
    from subscape.files.atomic import write_atomically

    def write(stream: BinaryIO) -> None:
        stream.write(content)

    write_atomically(target, write, force=force)


def _picture(distances: FloatArray, names: list[str], target: Path) -> bytes:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from subscape.plots.distance_matrix import DistanceMatrixDisplay

    shown = DistanceMatrixDisplay.from_distances(distances, names=names)
    buffer = io.BytesIO()
    shown.figure_.savefig(buffer, format=target.suffix[1:].lower())
    pyplot.close(shown.figure_)
    return buffer.getvalue()


def _csv(distances: FloatArray, names: list[str]) -> str:
    import csv

    from subscape.files.labels import harmless

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    safe = [harmless(name) for name in names]
    writer.writerow(["", *safe])
    for name, row in zip(safe, distances.tolist(), strict=True):
        writer.writerow([name, *row])
    return buffer.getvalue()


def _as_text(distances: FloatArray, names: list[str], metric: str, middle: int) -> list[str]:
    """The whole matrix if it fits the terminal, else what is nearest to each clustering."""
    number = len(names)
    shown = [f"{i} {short(name, 30)}" for i, name in enumerate(names, 1)]
    lines = [f"{metric} (0 = identical) among {number} clusterings", ""]
    width = max(map(len, shown)) + 7 * number
    if width <= max(80, shutil.get_terminal_size().columns):
        head = ["", *map(str, range(1, number + 1))]
        rows = [
            [name, *(f"{d:.3f}" for d in row)] for name, row in zip(shown, distances, strict=True)
        ]
        lines += columns([head, *rows], "l" + "r" * number)
    else:
        lines += columns([("", "mean", "nearest", ""), *_nearest(distances, shown)], "lrlr")
        lines.append("The whole matrix: -o distances.csv, --json or --plot distances.png")
    mean = distances[middle].sum() / (number - 1)
    return [*lines, "", f"Median: {names[middle]} (mean distance {mean:.3f} to the others)"]


def _nearest(distances: FloatArray, names: list[str]) -> list[tuple[str, ...]]:
    rows: list[Any] = []
    for i, row in enumerate(distances):
        others = row.copy()
        others[i] = float("inf")
        j = int(others.argmin())
        rows.append((names[i], f"{row.sum() / (len(row) - 1):.3f}", names[j], f"{row[j]:.3f}"))
    return rows
