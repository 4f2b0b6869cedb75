"""Well-known real tables: from a folder, from scikit-learn, or from OpenML when asked for."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from csv import reader
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import listing
from subscape.core.types import FloatArray, IntArray
from subscape.tables.table import Column, Table

#: Environment variable that names the folder with the tables.
FOLDER_VARIABLE = "SUBSCAPE_DATA"

#: Tables that come with scikit-learn.
BUNDLED = ("iris", "wine", "breast_cancer", "digits")


class OpenMLEntry(NamedTuple):
    """Where OpenML keeps a table, and the shape that shows it is the same one."""

    name: str
    version: int
    shape: tuple[int, int]


OPENML = {
    "abalone": OpenMLEntry("abalone", 1, (4177, 8)),
    "car": OpenMLEntry("car", 1, (1728, 6)),
    "chess_krkp": OpenMLEntry("kr-vs-kp", 1, (3196, 36)),
    "colic": OpenMLEntry("colic", 2, (368, 22)),
    "controlchart_raw": OpenMLEntry("synthetic_control", 1, (600, 60)),
    "ecoli": OpenMLEntry("ecoli", 1, (336, 7)),
    "eucalyptus": OpenMLEntry("eucalyptus", 1, (736, 19)),
    "german_credit": OpenMLEntry("credit-g", 1, (1000, 20)),
    "glass": OpenMLEntry("glass", 1, (214, 9)),
    "golub": OpenMLEntry("leukemia", 1, (72, 7129)),
    "hepatitis": OpenMLEntry("hepatitis", 1, (155, 19)),
    "ionosphere": OpenMLEntry("ionosphere", 1, (351, 34)),
    "letter": OpenMLEntry("letter", 1, (20000, 16)),
    "mushroom": OpenMLEntry("mushroom", 1, (8124, 22)),
    "pima_diabetes": OpenMLEntry("diabetes", 1, (768, 8)),
    "postoperative": OpenMLEntry("postoperative-patient-data", 1, (90, 8)),
    "segmentation": OpenMLEntry("segment", 1, (2310, 19)),
    "sick": OpenMLEntry("sick", 1, (3772, 29)),
    "sonar": OpenMLEntry("sonar", 1, (208, 60)),
    "splice": OpenMLEntry("splice", 1, (3190, 60)),
    "tictactoe": OpenMLEntry("tic-tac-toe", 1, (958, 9)),
    "titanic": OpenMLEntry("Titanic", 2, (2201, 3)),
    "vehicle": OpenMLEntry("vehicle", 1, (846, 18)),
    "waveform5000": OpenMLEntry("waveform-5000", 1, (5000, 40)),
    "yeast": OpenMLEntry("yeast", 1, (1484, 8)),
}

Source = Literal["folder", "sklearn", "openml"]


@dataclass(frozen=True, eq=False, repr=False)
class RealData:
    """A real table and what is known about it; unpacks as ``table, labels, truth = ...``.

    Attributes
    ----------
    table : Table
        Features, row names, and the label columns with the role "label".
    labels : dict from str to int64 array
        Known groupings, by what they mean: 0, 1, ... and -1 for rows in no group.
    truth : SubspaceClustering or None
        True subspace clusters, where they are known.
    name, source : str
        What was loaded, and whether from "folder", "sklearn" or "openml".
    note : str
        What to know about this version of the data.

    See Also
    --------
    load_real : Makes one.
    """

    table: Table
    labels: dict[str, IntArray]
    truth: SubspaceClustering | None
    name: str
    source: str
    note: str = ""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.table, self.labels, self.truth))

    def __repr__(self) -> str:
        n, p = self.table.shape
        known = f", labels {listing(self.labels)}" if self.labels else ""
        truth = f", {self.truth.n_clusters} true subspace clusters" if self.truth else ""
        return f"RealData({self.name!r} from {self.source}: {n} x {p}{known}{truth})"


def load_real(name: str, *, source: Source | None = None) -> RealData:
    """Load a real table with its known groupings and, if there are any, subspace clusters.

    It is looked for in this order: the folder that the environment variable ``SUBSCAPE_DATA``
    names, scikit-learn's bundled data (iris, wine, breast_cancer, digits; no network needed), and
    OpenML [1]_, which is asked over the network by ``sklearn.datasets.fetch_openml`` and kept in
    scikit-learn's cache. scikit-learn's iris differs from the UCI file in two rows.

    The folder holds, for each table, ``name.csv.gz`` (a header; an optional first column
    ``rowname``; features; label columns; empty means missing), optionally ``name.truth.json`` (a
    list of ``{"rows": [...], "dims": [...]}``, counted from 0), and one ``meta.json`` that says
    for each name which columns are ``nominal`` (a list), how many ``labels`` there are and what
    they mean (``label_names``), and whether there is a ``rowname``.

    Parameters
    ----------
    name : str
        Name of the table; :func:`real_names` lists them.
    source : {"folder", "sklearn", "openml"}, optional
        Where to take it from, instead of the first that has it.

    Returns
    -------
    RealData
        Unpacks as ``table, labels, truth``.

    See Also
    --------
    real_names : Which tables there are.
    planted_axes : Generated tables instead.

    References
    ----------
    .. [1] J. Vanschoren, J. N. van Rijn, B. Bischl, L. Torgo, "OpenML: networked science in
       machine learning", SIGKDD Explorations 15(2), 2013, doi:10.1145/2641190.2641198.

    Examples
    --------
    >>> from subscape.datasets import load_real
    >>> table, labels, truth = load_real("wine", source="sklearn")
    >>> table.shape, sorted(set(labels["class"].tolist())), truth
    ((178, 13), [0, 1, 2], None)
    """
    if source not in (None, "folder", "sklearn", "openml"):
        raise ValueError(f"source must be 'folder', 'sklearn' or 'openml', got {source!r}")
    if source == "folder" and not os.environ.get(FOLDER_VARIABLE):
        raise ValueError(f"set {FOLDER_VARIABLE} to the folder that holds meta.json and the tables")
    records = {} if source in ("sklearn", "openml") else _records()
    if name in records:
        return _from_folder(name, records[name])
    if name in BUNDLED and source in (None, "sklearn"):
        return _from_sklearn(name)
    if name in OPENML and source in (None, "openml"):
        return _from_openml(name)
    known = real_names()
    choice = [each for each, sources in known.items() if source is None or source in sources]
    where = "" if source is None else f" from {source}"
    more = "" if _folder() else f"; more if {FOLDER_VARIABLE} names a folder that holds them"
    raise ValueError(f"there is no table {name!r}{where}: there are {', '.join(choice)}{more}")


def real_names() -> dict[str, tuple[str, ...]]:
    """List the tables that :func:`load_real` can load and where from; asks no network.

    Returns
    -------
    dict from str to tuple of str
        Sources of each table, the one that is used first in front.

    See Also
    --------
    load_real : Loads one of them.

    Examples
    --------
    >>> from subscape.datasets import real_names
    >>> "sklearn" in real_names()["digits"]
    True
    """
    sources: dict[str, tuple[str, ...]] = {}
    for source, names in (("folder", _records()), ("sklearn", BUNDLED), ("openml", OPENML)):
        for name in names:
            sources[name] = (*sources.get(name, ()), source)
    return dict(sorted(sources.items()))


def _folder() -> Path | None:
    named = os.environ.get(FOLDER_VARIABLE)
    return Path(named) if named else None


def _records() -> dict[str, Any]:
    """What the folder's meta.json says, by name; nothing where no folder is named."""
    folder = _folder()
    if folder is None:
        return {}
    path = folder / "meta.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        raise ValueError(
            f"{FOLDER_VARIABLE} names {str(folder)!r}, which has no meta.json: let it name the "
            "folder with the tables, or unset it"
        ) from None
    except ValueError as error:
        raise ValueError(f"{str(path)!r} is not what load_real reads: {error}") from None


def _from_folder(name: str, record: Mapping[str, Any]) -> RealData:
    folder = _folder()
    if folder is None or Path(name).name != name:
        raise ValueError(f"{name!r} is no name of a table")
    path = folder / f"{name}.csv.gz"
    if not path.exists():
        raise ValueError(f"{str(folder)!r} has {name!r} in its meta.json, but not {path.name!r}")
    first, n_labels = int(bool(record.get("rowname"))), int(record.get("labels", 0))
    try:
        header, read = _read_csv(path, first, n_labels, set(record.get("nominal", ())))
    except (OSError, EOFError, ValueError) as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from None
    last = len(header) - n_labels
    table = _table(read[first:], read[0][2].tolist() if first else None)
    meanings = record.get("label_names") or header[last:]
    truth = None
    clusters = folder / f"{name}.truth.json"
    if clusters.exists():
        listed = json.loads(clusters.read_text(encoding="utf-8"))
        truth = SubspaceClustering.from_clusters(
            [(np.array(each["rows"]), np.array(each["dims"])) for each in listed],
            shape=table.shape,
            feature_names=table.feature_names,
        )
    labels = {m: table.labels(c) for m, c in zip(meanings, header[last:], strict=True)}
    return RealData(table, labels, truth, name, "folder", str(record.get("note", "")))


def _read_csv(
    path: Path, first: int, n_labels: int, nominal: set[str]
) -> tuple[list[str], list[tuple[str, str, NDArray[Any]]]]:
    """Read header and (name, role, values) of each column."""
    from pyarrow import csv, float64, string

    with gzip.open(path, "rt", encoding="utf-8", newline="") as text:
        header = next(reader(text), [])
    last = len(header) - n_labels
    if last - first < 1:
        raise ValueError(f"it has {len(header)} columns, which leaves no feature")
    roles = ["nominal" if column in nominal else "numeric" for column in header]
    roles[:first] = ["id"] * first
    roles[last:] = ["label"] * n_labels
    types = [float64() if role == "numeric" else string() for role in roles]
    options = csv.ConvertOptions(
        column_types=dict(zip(header, types, strict=True)),
        null_values=[""],
        strings_can_be_null=True,
    )
    read = csv.read_csv(path, convert_options=options)
    return header, [(c, role, read[c].to_numpy()) for c, role in zip(header, roles, strict=True)]


def _from_sklearn(name: str) -> RealData:
    from sklearn import datasets

    data = getattr(datasets, f"load_{name}")()
    columns = [
        (str(feature), "numeric", values)
        for feature, values in zip(data.feature_names, data.data.T, strict=True)
    ]
    names = np.array([str(each) for each in data.target_names], dtype=object)
    table = _table([*columns, ("class", "label", names[data.target])])
    return RealData(table, {"class": table.labels("class")}, None, name, "sklearn")


def _from_openml(name: str) -> RealData:
    from sklearn import datasets

    entry = OPENML[name]
    instead = (
        f"put {name}.csv.gz into a folder and name it in the environment variable {FOLDER_VARIABLE}"
    )
    try:
        data = datasets.fetch_openml(
            entry.name, version=entry.version, as_frame=False, parser="liac-arff"
        )
    except (OSError, ValueError) as error:
        raise ValueError(
            f"{name!r} is not at hand and OpenML did not give it ({type(error).__name__}: {error})."
            f" Connect to the network once (it is then cached), or {instead}"
        ) from error
    if data.data.shape != entry.shape:
        raise ValueError(
            f"OpenML's {entry.name!r} (version {entry.version}) has {data.data.shape[0]} x "
            f"{data.data.shape[1]} values, not {entry.shape[0]} x {entry.shape[1]}: it is not the "
            f"table known as {name!r} here; {instead}"
        )
    columns = []
    for feature, values in zip(data.feature_names, data.data.T, strict=True):
        levels = (data.categories or {}).get(feature)
        if levels is None:
            columns.append((feature, "numeric", values))
            continue
        codes = np.where(np.isnan(values), -1, values).astype(np.intp)
        columns.append((feature, "nominal", np.array([*levels, None], dtype=object)[codes]))
    label = "class" if "class" not in data.feature_names else "class (label)"
    table = _table([*columns, (label, "label", np.asarray(data.target, dtype=object))])
    return RealData(table, {"class": table.labels(label)}, None, name, "openml")


def _table(
    columns: Sequence[tuple[str, str, NDArray[Any]]], row_names: Sequence[Any] | None = None
) -> Table:
    """Build a table from (name, role, values) triples; texts are objects, None where missing."""
    described, numbers, others = [], [], {}
    for name, role, values in columns:
        if role == "numeric":
            described.append(Column(name))
            numbers.append(np.asarray(values, dtype=np.float64))
            continue
        present = np.array([value is not None for value in values], dtype=bool)
        levels, inverse = np.unique(values[present].astype(str), return_inverse=True)
        codes = np.full(len(values), -1, dtype=np.int32)
        codes[present] = inverse
        as_numbers = _numbers(levels) if role == "label" else None
        if as_numbers is not None:
            described.append(Column(name, role, "number"))
            others[name] = np.append(as_numbers, np.nan)[codes]
        else:
            described.append(Column(name, role, "text", tuple(levels.tolist())))
            others[name] = codes
    n_rows = len(columns[0][2])
    X = np.column_stack(numbers) if numbers else np.empty((n_rows, 0))
    index = None if row_names is None else tuple(str(each) for each in row_names)
    return Table(tuple(described), X, others, index)


def _numbers(levels: NDArray[Any]) -> FloatArray | None:
    try:
        return levels.astype(np.float64)
    except ValueError:
        return None
