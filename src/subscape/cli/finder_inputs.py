"""The table and the parameters that commands hand to a finder."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from subscape.core.errors import count
from subscape.core.types import IntArray

from .inputs import columns_option, suggestion, text_options
from .wording import as_options

if TYPE_CHECKING:
    from subscape.core.clustering import SubspaceClustering
    from subscape.files.formats import FileSource

_TABLE_OPTIONS = (
    click.option("--id", "id_column", help="Column with the names of the rows."),
    click.option("--label", "labels", multiple=True, help="Column to leave out of the search."),
    click.option(
        "--nominal",
        type=click.Choice(["drop", "codes", "onehot"]),
        help="What to do with text columns.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["median", "drop"]),
        help="Fill missing values with the median, or drop rows that have any.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["standard", "minmax", "none"]),
        default="standard",
        show_default=True,
        help="Bring the columns to one scale first (co-clusterings: only if minmax is asked for).",
    ),
)


clusters_option = click.option(
    "-k", "--clusters", metavar="N", help="Number of clusters; the same as -p n_clusters=N."
)


def with_clusters_asked(parameters: tuple[str, ...], clusters: str | None) -> tuple[str, ...]:
    """Parameters typed as NAME=VALUE, with the number of clusters if it was given by ``-k``.

    >>> with_clusters_asked(("n_init=3",), "5"), with_clusters_asked((), None)
    (('n_init=3', 'n_clusters=5'), ())
    """
    return parameters if clusters is None else (*parameters, f"n_clusters={clusters}")


def complete_finder(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of finders that begin with what was typed, whatever the case of the letters."""
    from subscape.finders.catalogue import of_role

    names = of_role("finder", "views", "alternative")
    return [name for name in names if name.lower().startswith(incomplete.lower())]


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how its table is read."""
    command = columns_option(text_options(command))
    for option in reversed(_TABLE_OPTIONS):
        command = option(command)
    return command


def typed_value(text: str) -> Any:
    """A value as Python would read it; what it can't read is text.

    >>> typed_value("3"), typed_value("0.5"), typed_value("None"), typed_value("auto")
    (3, 0.5, None, 'auto')
    """
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def finder_parameters(
    finder: Any, given: tuple[str, ...], seed: int, jobs: int | None
) -> dict[str, Any]:
    """Parameters typed as NAME=VALUE, with the seed and the jobs where the finder has them."""
    known = finder.get_params()
    chosen: dict[str, Any] = {"random_state": seed} if "random_state" in known else {}
    if jobs is not None and "n_jobs" in known:
        chosen["n_jobs"] = jobs
    for text in given:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE", param_hint="-p")
        if name not in known:
            raise ValueError(
                f"{type(finder).__name__} has no parameter {name!r}.{suggestion(name, known)} It "
                f"has {', '.join(sorted(known))}"
            )
        chosen[name] = typed_value(value)
    return chosen


class Matrix(NamedTuple):
    """The numbers of a table, and how they were made of it.

    Attributes
    ----------
    X : array of shape (n_kept, n_features)
    feature_names : tuple of str
    row_names : tuple of str or None
        Of all rows of the table.
    kept : int array
        Rows of the table that are in ``X``.
    n_rows : int
        Of the table.
    reading : dict
        The options by which the table was read, for the provenance of a result.
    """

    X: Any
    feature_names: tuple[str, ...]
    row_names: tuple[str, ...] | None
    kept: Any
    n_rows: int
    reading: dict[str, str]

    @property
    def kept_names(self) -> tuple[str, ...] | None:
        """Names of the rows in ``X``."""
        if self.row_names is None:
            return None
        return tuple(self.row_names[i] for i in self.kept)

    def like(self, clustering: SubspaceClustering, path: str) -> tuple[Matrix, SubspaceClustering]:
        """The columns and rows of a clustering, by name where both have names.

        Rows that were left out of the matrix are left out of the clustering, too.
        """
        import numpy as np

        matrix, rows = self, clustering.row_names
        columns = clustering.feature_names
        if columns is not None and columns != self.feature_names:
            if not set(columns) <= set(self.feature_names):
                absent = [name for name in columns if name not in self.feature_names]
                raise ValueError(
                    f"{path} has no column {absent[0]!r}, which the clustering speaks of; read the "
                    "table as for the clustering (--nominal, --label)"
                )
            order = [self.feature_names.index(name) for name in columns]
            matrix = matrix._replace(X=self.X[:, order], feature_names=columns)
        names = self.kept_names
        if rows is not None and names is not None and set(names) <= set(rows):
            place = {name: i for i, name in enumerate(names)}
            if len(place) < len(names):
                raise ValueError(f"{path} has rows of the same name, which can't be matched by it")
            if names != rows:
                kept = [i for i, name in enumerate(rows) if name in place]
                order = [place[rows[i]] for i in kept]
                matrix = matrix._replace(X=matrix.X[order], kept=matrix.kept[order])
                if len(kept) < len(rows):
                    clustering = clustering.restrict(rows=np.array(kept))
        elif rows is not None and names is not None:
            strange = next(name for name in names if name not in set(rows))
            raise ValueError(f"{path} has the row {strange!r}, which the clustering doesn't know")
        elif clustering.n_rows == self.n_rows > len(self.kept):
            clustering = clustering.restrict(rows=self.kept)
        if matrix.X.shape != clustering.shape:
            raise ValueError(
                f"{path} gives {matrix.X.shape[0]} rows x {matrix.X.shape[1]} features, the "
                f"clustering speaks of {clustering.n_rows} x {clustering.n_features}; read the "
                "table as for the clustering (--nominal, --missing, --id, --label)"
            )
        return matrix, clustering

    def labels(self, source: FileSource) -> IntArray:
        """Labels of a clustering in the order of the rows in ``X``: by name, else by order.

        Unlike :meth:`like`, the matrix stays as it is, and features don't matter.
        """
        labels, named = source.clustering.labels(), source.clustering.row_names
        if self.row_names is not None and named is not None:
            place = {name: i for i, name in enumerate(named)}
            names = [self.row_names[i] for i in self.kept]
            absent = [name for name in names if name not in place]
            if absent:
                raise ValueError(
                    f"{source.name} has no label for {len(absent)} of the table's {len(names)} "
                    f"rows, first {absent[0]!r}; label them -1 if they are in no cluster"
                )
            return labels[[place[name] for name in names]]
        if len(labels) != self.n_rows:
            raise ValueError(
                f"{source.name} has {len(labels)} rows, the table {self.n_rows}; without names on "
                "both sides (--id for the table) they are matched by their order and must be as "
                "many"
            )
        return labels[self.kept]

    def scaled(self, how: str, kind: str = "axis") -> tuple[Any, Matrix]:
        """The columns on one scale, as a table with names, and the matrix that remembers it.

        Co-clusterings are of the entries themselves: "standard" leaves them alone.
        """
        from subscape.tables.table import Table

        if how == "standard" and kind == "cocluster":
            how = "none"
        table = Table.from_array(scaled(self.X, how), feature_names=self.feature_names)
        return table, self._replace(reading=self.reading | {"scale": how})

    def result(
        self, clustering: SubspaceClustering, given: Sequence[str] = ()
    ) -> SubspaceClustering:
        """A clustering of ``X`` as one of the table: rows that were left out are in no cluster.

        Files with what was known before are remembered, so that it can be repeated.
        """
        if len(self.kept) < self.n_rows:
            shape = (self.n_rows, clustering.n_features)
            clustering = clustering.embed(rows=self.kept, shape=shape)
        return clustering.with_names(
            feature_names=self.feature_names,
            row_names=self.row_names,
            provenance=dict(clustering.provenance)
            | {"reading": self.reading}
            | ({"given": list(given)} if given else {}),
        )


given_option = click.option(
    "-g", "--given", multiple=True, type=click.Path(), metavar="FILE",
    help="What is known: labels or clusterings in any format; may be repeated.",
)  # fmt: skip


def read_known(given: Sequence[str], matrix: Matrix) -> tuple[list[Any], list[str]]:
    """Labels of the clusterings in some files, for the rows of a matrix, and their names."""
    from .inputs import read_files

    sources = [source for file in read_files(given, None) for source in file] if given else []
    return [matrix.labels(source) for source in sources], [source.name for source in sources]


def read_matrix(
    path: str, id_column: str | None, labels: tuple[str, ...], nominal: Any,
    missing: str | None, **text: Any,
) -> Matrix:  # fmt: skip
    """Numbers, their names and the names of the rows of a table file.

    ``text`` are the delimiter, the encoding and so on of a text file, as in ``Table.read``.
    """
    import numpy as np

    from subscape.tables.table import Table

    table = Table.read(path, id=id_column, label=list(labels) or None, **text)
    for note in table.notes:
        click.echo(f"note: {as_options(note)}", err=True)
    text_columns = [column.name for column in table.schema if column.role == "nominal"]
    if text_columns and nominal is None:
        more = " …" if len(text_columns) > 5 else ""
        raise ValueError(
            f"{path} has text columns ({', '.join(text_columns[:5])}{more}): pass "
            "--nominal drop to leave them out, or --nominal onehot to treat them as nominal"
        )
    encoded = table.encode(nominal=nominal)
    X = np.asarray(encoded.X, float)
    kept = np.arange(len(X))
    absent = np.isnan(X)
    if absent.any() and missing is None:
        columns = [encoded.feature_names[j] for j in np.flatnonzero(absent.any(axis=0))]
        raise ValueError(
            f"{path} has {int(absent.sum())} missing values (in {', '.join(columns[:5])}"
            f"{' …' if len(columns) > 5 else ''}): pass --missing median or --missing drop"
        )
    if missing == "median" and absent.any():
        X = np.where(absent, np.nanmedian(X, axis=0), X)
    elif missing == "drop" and absent.any():
        kept = np.flatnonzero(~absent.any(axis=1))
        left_out = len(X) - len(kept)
        click.echo(f"note: {count(left_out, 'row')} with missing values left out", err=True)
        X = X[kept]
    reading = {"nominal": nominal if text_columns else None, "missing": missing}
    return Matrix(
        X,
        tuple(encoded.feature_names),
        table.row_names,
        kept,
        table.n_rows,
        {name: how for name, how in reading.items() if how is not None},
    )


def scaled(X: Any, how: str) -> Any:
    """The columns on one scale."""
    if how == "none":
        return X
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    return (StandardScaler() if how == "standard" else MinMaxScaler()).fit_transform(X)
