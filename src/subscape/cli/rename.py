"""``subscape rename``: names for the clusters of a study."""

from __future__ import annotations

from pathlib import Path

import click

from .output import json_option, print_json

EXAMPLES = """\b
Examples:
  subscape rename study 1.1="young commuters" 1.2=pensioners
  subscape rename study 1.2=
"""


@click.command(epilog=EXAMPLES)
@click.argument("study", type=click.Path(exists=True, file_okay=False))
@click.argument("names", nargs=-1, required=True, metavar="VIEW.CLUSTER=NAME...")
@click.option("--embed-ids", is_flag=True, help="Put the names of the rows into the page.")
@json_option
def rename(study: str, names: tuple[str, ...], embed_ids: bool, wants_json: bool) -> None:
    """Give clusters of STUDY names, which labels.csv, clusters.csv and the page then show.

    Views and clusters are counted from 1, as on the page. An empty name takes one away.
    """
    from subscape.exploration.study import all_views, load_study
    from subscape.report.page import write_report

    given = dict(map(parsed_name, names))
    if len(given) < len(names):
        raise ValueError("a cluster is named twice; give each one name")
    folder = Path(study)
    found = load_study(folder).renamed(given)
    labels = folder / "labels.csv"
    with_levels = labels.exists() and b"_at_" in labels.read_bytes().partition(b"\n")[0]
    found.save(folder)
    if with_levels:
        found.write_labels(labels, levels=True)
    page = write_report(found, folder / "report.html", embed_ids=embed_ids)
    called = [
        {"view": view.number, "cluster": k + 1, "name": name}
        for view in all_views(found)
        for k, name in enumerate(view.names)
        if name
    ]
    if wants_json:
        print_json({"names": called, "page": str(page)})
        return
    for one in called:
        click.echo(f"view {one['view']}, cluster {one['cluster']}: {one['name']}")
    click.echo(f"The page: {page}")


def parsed_name(text: str) -> tuple[tuple[int, int], str]:
    """What a cluster shall be called, from ``1.2=NAME``.

    >>> parsed_name("1.2=old people")
    ((1, 2), 'old people')
    """
    place, equals, name = text.partition("=")
    view, point, cluster = place.partition(".")
    if not (equals and point and view.strip().isdecimal() and cluster.strip().isdecimal()):
        raise ValueError(f"{text!r} is not VIEW.CLUSTER=NAME, such as 1.2=pensioners")
    return (int(view), int(cluster)), name.strip()
