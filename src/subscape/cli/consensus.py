"""``subscape consensus``: one clustering out of many."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from subscape.core.errors import count
from subscape.finders.catalogue import of_role

from .inputs import columns_option, of_text, read_files, shape_option, text_options
from .output import json_option, print_json

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering

#: What ``--method`` calls each method, and the parameters that make it so.
METHODS = {
    option: (entry, parameters)
    for entry in of_role("consensus").values()
    for option, parameters in entry.options.items()
}

EXAMPLES = """\b
Examples:
  subscape consensus runs/*.subscape -k 5 -o out.subscape
  subscape consensus a.csv b.csv c.csv --agreement rows.csv
  subscape consensus runs/*.subscape -k 5 --table data.csv --label class
  subscape consensus runs/*.subscape -k 5 --method em --as-published
"""


@click.command(epilog=EXAMPLES)
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "-k",
    "--clusters",
    "n_clusters",
    type=click.IntRange(min=1),
    help="Number of clusters; the median number of the clusterings by default.",
)
@click.option(
    "--method",
    type=click.Choice(list(METHODS)),
    default="cb",
    show_default=True,
    help="cb and fcb: CB-PCE and FCB-PCE; em, moea: EM-PCE and MOEA-PCE; the others look at rows "
    "only (wspa, wbpa at the table too).",
)
@click.option(
    "--noise",
    type=click.Choice(["majority", "abstain"]),
    default="majority",
    show_default=True,
    help="A row is noise if more than half of the clusterings say so, or only if all do.",
)
@click.option("--as-published", is_flag=True,
              help="The method as its paper describes it.")  # fmt: skip
@click.option("--table", metavar="FILE", help="The table, where oriented clusterings take part.")
@click.option("--id", "id_column", help="Column of the table with the names of the rows.")
@click.option("--label", "labels", multiple=True, help="Column of the table to leave out.")
@columns_option
@text_options
@click.option("--seed", default=0, show_default=True, help="Makes the result repeatable.")
@click.option("-o", "--output", metavar="FILE", help="Write the consensus (.subscape, .csv …).")
@click.option("--agreement", metavar="FILE", help="Write how sure each row is, as CSV.")
@shape_option
@click.option("--force", is_flag=True, help="Replace files that exist.")
@json_option
def consensus(
    files: tuple[str, ...],
    n_clusters: int | None,
    method: str,
    noise: str,
    as_published: bool,
    table: str | None,
    id_column: str | None,
    labels: tuple[str, ...],
    seed: int,
    output: str | None,
    agreement: str | None,
    shape: tuple[int, int] | None,
    force: bool,
    wants_json: bool,
    **text: Any,
) -> None:
    """Merge the clusterings in FILES, which are about one table, into one.

    A file with several clusterings contributes each of them, FILE#NAME one. Clusterings without any
    cluster are left out.
    """
    for target in (output, agreement):
        if target is not None and Path(target).exists() and not force:
            raise FileExistsError(f"{target} exists; --force replaces it")
    if output is not None and agreement is not None and Path(output) == Path(agreement):
        raise ValueError(f"--output and --agreement are the same file, {output}")
    sources = [source for file in read_files(files, shape) for source in file]
    members = [source.clustering for source in sources if source.clustering.n_clusters]
    silent = [source.name for source in sources if not source.clustering.n_clusters]
    if silent:
        click.echo(f"note: left out, every row is noise: {', '.join(silent)}", err=True)
    X = (
        None
        if table is None or not members
        else (_numbers(table, id_column, labels, members[0], of_text(text)))
    )
    given: dict[str, Any] = {"n_clusters": n_clusters}
    if noise != "majority" or not as_published:
        # The papers know no noise.
        given["noise"] = noise
    found, agreed = _merged(members, method, given, as_published, seed, X)
    if output is not None:
        from subscape.files.formats import write_clusterings

        write_clusterings(output, found, force=force)
    if agreement is not None:
        agreed.save(agreement, force=force)
    if wants_json:
        result = {
            "method": method,
            "members": len(members),
            "labels": found.labels().tolist(),
            "row_agreement": agreed.rows.tolist(),
            "clusters": agreed.cluster_records(),
        }
        print_json(result)
        return
    click.echo(f"{METHODS[method][0].name} of {count(len(members), 'clustering')}: {found!r}")
    click.echo(repr(agreed))
    for target in (output, agreement):
        if target is not None:
            click.echo(f"Written: {target}")


def _merged(
    members: list[Any], method: str, given: dict[str, Any], as_published: bool, seed: int, X: Any
) -> tuple[Any, Any]:
    """The consensus, and how far the members agree with it."""
    from subscape.ensemble.agreements import agreement
    from subscape.ensemble.members import Ensemble

    ensemble = Ensemble.of(members)
    entry, parameters = METHODS[method]
    chosen = {**parameters, **given}
    estimator = entry.load().as_published(**chosen) if as_published else entry.make(**chosen)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    try:
        found = estimator.fit(ensemble, X).clustering_
    except ImportError as error:  # an extra that is not installed
        raise ValueError(str(error)) from None
    return found, agreement(found, ensemble)


def _numbers(
    table: str, id_column: str | None, labels: tuple[str, ...], member: SubspaceClustering,
    text: dict[str, Any],
) -> Any:  # fmt: skip
    """The table, with rows and columns in the order of the clusterings."""
    from .finder_inputs import read_matrix

    matrix = read_matrix(table, id_column, labels, None, None, **text)
    if member.n_features == 1 and member.feature_names is None:  # plain labels
        return matrix.X
    return matrix.like(member, table)[0].X
