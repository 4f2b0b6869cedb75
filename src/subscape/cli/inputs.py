"""How the commands read their files and options."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering
    from subscape.files.formats import FileSource

Axis = Literal["rows", "columns"]


class Shape(click.ParamType):
    """Rows and features as ``N,P``."""

    name = "N,P"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        """Read ``1500,20``."""
        if isinstance(value, tuple):
            return value
        parts = value.lower().replace("x", ",").split(",")
        if len(parts) != 2 or not all(part.strip().isdigit() and int(part) for part in parts):
            self.fail(f"{value!r} is not rows,features, such as 1500,20", param, ctx)
        return int(parts[0]), int(parts[1])


columns_option = click.option(
    "--columns",
    type=click.Path(exists=True, dir_okay=False),
    help="What the columns are: the file that 'subscape explore TABLE --check -o FOLDER' writes, "
    "edited.",
)

shape_option = click.option(
    "--shape",
    type=Shape(),
    help="Rows and features of the table, if no file tells.",
)


def read_files(
    arguments: Sequence[str], shape: tuple[int, int] | None, only: Axis | None = None
) -> list[list[FileSource]]:
    """The clusterings of each argument; ``FILE#NAME`` means one of several in the file.

    A number, from 1, does for a name.

    All are about one table; with ``only``, they need to have no more in common than its rows, or
    its columns.
    """
    from subscape.files.formats import read_together

    split = [_split(argument) for argument in arguments]
    paths = [path for path, _ in split]
    files = read_together(paths, shape=shape) if only is None else _read_apart(paths, shape, only)
    return [
        sources if wanted is None else [_chosen(sources, wanted, path)]
        for sources, (path, wanted) in zip(files, split, strict=True)
    ]


def _read_apart(
    paths: Sequence[str], shape: tuple[int, int] | None, only: Axis
) -> list[list[FileSource]]:
    """The clusterings of files that may be about different tables with the same rows, or columns.

    Of these there are as many as some file says; what is named is brought into one order.
    """
    from subscape.files.formats import read_together

    axis = 0 if only == "rows" else 1
    files = [read_together([path])[0] for path in paths]
    sizes = [file[0].clustering.shape[axis] for file in files]
    size = max(sizes) if shape is None else shape[axis]
    wanted = (size, None) if only == "rows" else (None, size)
    files = [
        file if own == size else read_together([path], shape=wanted)[0]
        for path, file, own in zip(paths, files, sizes, strict=True)
    ]
    every = [source.clustering for file in files for source in file]
    order = next((names for names in (_names(c, only) for c in every) if names is not None), None)
    return [
        [source._replace(clustering=_in_order(source.clustering, order, only)) for source in file]
        for file in files
    ]


def _names(clustering: SubspaceClustering, only: Axis) -> tuple[str, ...] | None:
    return clustering.row_names if only == "rows" else clustering.feature_names


def _in_order(
    clustering: SubspaceClustering, order: tuple[str, ...] | None, only: Axis
) -> SubspaceClustering:
    names = _names(clustering, only)
    if order is None or names is None or names == order or set(names) != set(order):
        return clustering
    return clustering.restrict(**{"rows" if only == "rows" else "features": order})


def _split(argument: str) -> tuple[str, str | None]:
    if "#" not in argument or Path(argument).exists():
        return argument, None
    path, _, wanted = argument.rpartition("#")
    return path, wanted


def _chosen(sources: list[FileSource], wanted: str, path: str) -> FileSource:
    names = [source.name.rpartition("#")[2] for source in sources]
    # A single clustering goes by the name of its file, and by that of its column as well.
    heads = [(source.clustering.provenance or {}).get("column") for source in sources]
    for known in (names, heads):
        if wanted in known:
            return sources[known.index(wanted)]
    if wanted.isdigit() and 1 <= int(wanted) <= len(sources):
        return sources[int(wanted) - 1]
    raise ValueError(f"{path} holds no clustering {wanted!r}; it has {_listed(names)}")


def the_only(sources: list[FileSource], argument: str) -> FileSource:
    """The clustering of a file that must hold one, with at least one cluster."""
    if len(sources) > 1:
        names = [source.name.rpartition("#")[2] for source in sources]
        raise ValueError(
            f"{argument} holds {len(sources)} clusterings ({_listed(names)}); say which, such as "
            f"{argument}#{names[0]}"
        )
    if sources[0].clustering.n_clusters == 0:
        rows = sources[0].clustering.n_rows
        raise ValueError(f"{argument} holds no clusters: all {rows} rows are noise")
    return sources[0]


def with_clusters(sources: list[FileSource], argument: str) -> list[FileSource]:
    """The clusterings of a file that have clusters; there must be one."""
    empty = [source for source in sources if source.clustering.n_clusters == 0]
    if len(empty) == len(sources):
        return [the_only(sources[:1], argument)]
    if empty:
        names = [source.name.rpartition("#")[2] for source in empty]
        click.echo(f"note: left out, every row is noise: {_listed(names)}", err=True)
    return [source for source in sources if source.clustering.n_clusters]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "")


#: Short names that people know measures by.
ALIASES = {
    "ce": "clustering_error",
    "vi": "variation_of_information",
    "rand": "rand_distance",
    "e4sc": "e4sc_score",
    "f1": "object_f1_score",
    "entropy": "object_entropy_score",
    "accuracy": "object_accuracy_score",
    "coverage": "object_coverage_score",
    "ari": "adjusted_rand_score",
    "nmi": "normalized_mutual_info_score",
    "ami": "adjusted_mutual_info_score",
}


#: What people write for parameters that are called otherwise here.
HABITS = {
    "k": "n_clusters", "clusters": "n_clusters", "n": "n_clusters", "seed": "random_state",
    "l": "avg_dims", "dims": "avg_dims", "jobs": "n_jobs", "iterations": "max_iter",
    "outliers": "noise",
}  # fmt: skip


def suggestion(name: str, known: Iterable[str]) -> str:
    """What somebody may have meant, as the end of a message; nothing if no name is near.

    >>> suggestion("comprae", ["compare", "matrix"])
    " Did you mean 'compare'?"
    >>> suggestion("zzz", ["compare"])
    ''
    """
    from difflib import get_close_matches

    known = list(known)
    if name in HABITS and HABITS[name] in known:
        return f" Did you mean {HABITS[name]!r}?"
    spelled = {each.lower().replace("-", "_"): each for each in known}
    close = get_close_matches(name.lower().replace("-", "_"), list(spelled), 1)
    return f" Did you mean {spelled[close[0]]!r}?" if close else ""


def measure_name(given: str) -> str:
    """The full name of a measure, from it, a short one, or one written with hyphens."""
    from subscape.measures.registry import everything

    known = everything()
    name = given.strip().lower().replace("-", "_")
    name = ALIASES.get(name, name)
    if name in known:
        return name
    hint = suggestion(name, [*known, *ALIASES])
    raise ValueError(f"unknown measure {given!r}.{hint} 'subscape compare --list' shows all")


# -- options for text files whose delimiter, encoding or header are not what would be detect -------


_NAMES = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blank": " ", "\\t": "\t"}


def _unescaped(sign: str | None) -> str | None:
    r"""A sign that nobody can type, such as ``\x01``, as messages show it."""
    if sign is None or not re.fullmatch(r"\\x[0-9a-fA-F]{2}", sign):
        return sign
    return chr(int(sign[2:], 16))


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command."""
    for option in (
        click.option("--hvg", type=click.IntRange(1), metavar="N",
                     help="Keep the N most variable columns, such as genes."),
        click.option("--normalize", type=click.Choice(["auto", "log", "none"]), default="auto",
                     show_default=True,
                     help="Logarithms of counts of one library size; auto: where h5ad holds "
                     "counts."),
        click.option("--use-rep", help="Of h5ad: an entry of obsm, such as X_pca, in place of X."),
        click.option("--layer", help="Of h5ad: a layer in place of X."),
        click.option("--trusted", is_flag=True,
                     help="Lift the limits on how much a packed or very wide file may hold."),
        click.option("--sheet", help="Sheet of a workbook, if not the first with a table."),
        click.option("--ragged", type=click.Choice(["refuse", "pad"]),
                     help="What becomes of rows of a text file that are shorter or longer than "
                     "the header."),
        click.option("--na", multiple=True, metavar="VALUE",
                     help="A cell that means no value, such as -999; may be repeated."),
        click.option("--header/--no-header", default=None,
                     help="Whether the first line of a table is names or data, if not as "
                     "detected."),
        click.option("--decimal", type=click.Choice([".", ","]),
                     help="Decimal sign of a text file, if not as detected."),
        click.option("--encoding", help="Encoding of a text file, if not as detected."),
        click.option("--delimiter", metavar="SIGN",
                     help="Delimiter of a text file, if not as detected: a sign, or comma, "
                     "semicolon, tab, pipe, blank."),
    ):  # fmt: skip
        command = option(command)
    return command


def of_text(options: Mapping[str, Any]) -> dict[str, Any]:
    """These options as :meth:`subscape.Table.read` takes them.

    >>> of_text({"delimiter": "tab", "encoding": None, "decimal": None, "header": False})
    {'delimiter': '\\t', 'encoding': None, 'decimal': None, 'header': False}
    """
    delimiter = options["delimiter"]
    asked = ("sheet", "ragged", "layer", "use_rep", "hvg", "normalize", "columns")
    extra: dict[str, Any] = {name: options[name] for name in asked if options.get(name)}
    if "columns" in extra:
        from .columns_file import read_columns

        extra["columns"] = read_columns(extra["columns"])
    if options.get("na"):
        extra["missing"] = list(options["na"])
    if options.get("trusted"):
        from subscape.tables.readers.boundary import Limits

        extra["limits"] = Limits.lifted()
    return {
        "delimiter": _NAMES.get(delimiter, _unescaped(delimiter)),
        "encoding": options["encoding"],
        "decimal": options["decimal"],
        "header": options["header"],
        **extra,
    }
