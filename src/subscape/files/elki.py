"""ELKI's result text: what its ``ResultWriter`` puts into a folder or prints in one piece.

Every cluster is a block of ``# key: value`` lines followed by one ``ID=…`` line a row. Rows count
from ``-dbc.startid`` (in ``settings.txt``), else from 1 unless an ``ID=0`` is seen. Subspaces are
read from the models that have one: sets of dimensions (PROCLUS, CLIQUE, DOC, SUBCLU, DiSH, …), weak
eigenvectors (ERiC) and linear equations (CASH). Clusters marked as noise, and those whose subspace
is empty (the roots of DiSH and ERiC), are noise.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from subscape.core.clustering import SubspaceClustering
from subscape.core.errors import FileFormatError, count, listing
from subscape.core.memberships import Memberships
from subscape.core.oriented import OrientedSubspaces
from subscape.core.subspaces import AxisSubspaces, Subspaces
from subscape.core.types import FloatArray, IndexArray
from subscape.tables.readers.boundary import DEFAULT, Limits

from .drafts import Draft

_BLOCK = re.compile(r"# Cluster: ", re.MULTILINE)
_KEY = re.compile(r"# ([A-Z][A-Za-z ]*):\s*(.*)")
_ROW = re.compile(r"ID=(-?\d+)(?=\s|$)")
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_TERM = re.compile(r"([-+])\s*(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)\s*\*\s*x_(\d+)")
_TABLE = re.compile(r"^# Table: (\d+) rows, (\d+) features$", re.MULTILINE)
_PACKAGE = "de.lmu.ifi.dbs.elki.data.model"


@dataclass
class _Block:
    """One cluster of the text."""

    source: str
    name: str
    facts: dict[str, str] = field(default_factory=dict)
    matrices: dict[str, list[list[float]]] = field(default_factory=dict)
    equations: list[dict[int, float]] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    width: int = 0

    @property
    def dims(self) -> IndexArray | None:
        """Relevant features counted from 0, or None if the model names none."""
        # Version 0.8.0 prints the empty set without its opening bracket.
        found = re.search(r"Dimensions:\s*\[?([\d,\s]*)\]", self.facts.get("Subspace", ""))
        if found is None:
            return None
        dims = np.array(re.findall(r"\d+", found[1]), np.intp) - 1
        if len(dims) and dims.min() < 0:
            raise FileFormatError(f"{self.source}: {self.name} has dimension 0; ELKI counts from 1")
        return dims

    @property
    def speaks_in(self) -> str:
        """In what the model tells its subspace: "dims", "vectors", "equations" or "" if not."""
        if self.dims is not None:
            return "dims"
        return "vectors" if self.matrices else "equations" if self.equations else ""

    @property
    def is_noise(self) -> bool:
        dims, weak = self.dims, self.matrices.get("Weak Eigenvectors")
        return (
            self.facts.get("Cluster noise flag") == "true"
            or (dims is not None and not len(dims))
            or (weak is not None and not any(weak))
        )


def is_elki(text: str) -> bool:
    """Whether a text is a result of ELKI.

    >>> is_elki("# Cluster: Noise\\nID=1\\n"), is_elki("label\\n0\\n1\\n")
    (True, False)
    """
    return bool(_BLOCK.search(text))


def parse_elki(
    texts: Sequence[tuple[str, str]], source: str, limits: Limits = DEFAULT
) -> list[Draft]:
    """The clustering in the (file name, text) pairs of a result."""
    whole = "\n".join(text for _, text in texts)
    blocks = [block for name, text in texts for block in _blocks(text, name)]
    if not blocks:
        raise FileFormatError(f"{source} holds no clusters of ELKI (no '# Cluster:' line)")
    table = _TABLE.search(whole)
    first, seen = _first_id(whole, blocks, source), sum(len(block.ids) for block in blocks)
    clusters = [block for block in blocks if not block.is_noise]
    distinct = {i for block in blocks for i in block.ids}
    n_rows = int(table[1]) if table else max(distinct, default=first) + 1 - first
    width = max(block.width for block in blocks)
    n_features = int(table[2]) if table else width
    limits.check_shape(n_rows, n_features, len(clusters), source)
    subspaces = _subspaces(clusters, n_features, source, limits)
    settings = {
        key: found[1]
        for key in ("algorithm", "dbc.in")
        if (found := re.search(rf"^# -{re.escape(key)} (\S+)", whole, re.MULTILINE))
    }
    # All rows are spoken for where there is noise, or where the clusters share none and miss none.
    complete = len(clusters) < len(blocks) or (seen == len(distinct) == n_rows)
    return [
        Draft(
            source,
            "",
            Memberships.from_rows([np.array(b.ids, np.int64) - first for b in clusters], n_rows),
            subspaces,
            rows_known=table is not None or complete,
            features_known=table is not None or width > 0,
            cluster_names=tuple(block.name for block in clusters),
            provenance={"file": source, "format": "elki", "first_id": first} | settings,
        )
    ]


def _first_id(text: str, blocks: list[_Block], source: str) -> int:
    stated = re.search(r"^# -dbc\.startid (-?\d+)", text, re.MULTILINE)
    lowest = min((i for block in blocks for i in block.ids), default=1)
    first = int(stated[1]) if stated else min(1, lowest)
    if lowest < first or (stated is None and lowest < 0):
        raise FileFormatError(f"{source} has ID={lowest}, before the first row ({first})")
    return first


def _blocks(text: str, source: str) -> Iterator[_Block]:
    block: _Block | None = None
    matrix: list[list[float]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("# Cluster: "):
            if block is not None:
                yield _checked(block)
            block, matrix = _Block(source, line[11:].strip()), None
        elif block is None or not line.strip():
            continue
        elif line.startswith("ID="):
            found = _ROW.match(line)
            if found is None:
                raise FileFormatError(f"{source}, line {number}: {line[:20]!r} is no row number")
            block.ids.append(int(found[1]))
            if not block.width:
                block.width = _leading_numbers(line)
        elif not line.startswith("#"):
            raise FileFormatError(f"{source}, line {number}: expected ID=…, found {line[:30]!r}")
        elif key := _KEY.match(line):
            block.facts[key[1]] = key[2]
            if key[1] in ("Cluster Mean", "Centroid"):
                block.width = len(_NUMBER.findall(key[2]))
            matrix = block.matrices.setdefault(key[1], []) if key[1].endswith("vectors") else None
        elif matrix is not None and re.fullmatch(r"#\s+\[.*\]", line):
            matrix.append([float(x) for x in _NUMBER.findall(line)])
        elif "* x_" in line:
            terms = _TERM.findall(line.split("=")[0])
            block.equations.append({int(j): float(sign + value) for sign, value, j in terms})
    if block is not None:
        yield _checked(block)


def _leading_numbers(line: str) -> int:
    """How many values the row has before its labels begin."""
    width = 0
    for word in line.split()[1:]:
        if not _NUMBER.fullmatch(word):
            break
        width += 1
    return width


def _checked(block: _Block) -> _Block:
    size = block.facts.get("Cluster size", "")
    if size.isdigit() and int(size) != len(block.ids):
        raise FileFormatError(
            f"{block.source}: {block.name} should have {count(int(size), 'row')}, but "
            f"{len(block.ids)} are there; is the file cut short?"
        )
    for name, matrix in block.matrices.items():
        if len({len(row) for row in matrix}) > 1:
            raise FileFormatError(f"{block.source}: the {name} of {block.name} are damaged")
        block.width = block.width or len(matrix)
    return block


def _subspaces(
    blocks: list[_Block], n_features: int, source: str, limits: Limits
) -> Subspaces | None:
    ways = sorted({block.speaks_in for block in blocks} - {""})
    if len(ways) > 1:
        raise FileFormatError(
            f"{source} mixes clusters with {' and '.join(ways)}; give one clustering at a time"
        )
    if not ways:
        if blocks:
            warnings.warn(
                f"{source} names no subspaces ({_models(blocks)}), so every cluster has all "
                "features; compare it by rows only",
                UserWarning,
                stacklevel=6,
            )
        return AxisSubspaces(np.ones((len(blocks), n_features), bool)) if n_features else None
    silent = [block.name for block in blocks if not block.speaks_in]
    if silent and ways != ["dims"]:
        raise FileFormatError(f"{source}: no subspace is given for {listing(silent)}")
    if ways == ["dims"]:
        return _axis(blocks, n_features, limits)
    if ways == ["equations"]:
        used = max(max(equation) + 1 for b in blocks for equation in b.equations)
        bases = [_normals(block, max(n_features, used), limits) for block in blocks]
        return OrientedSubspaces(bases, orthonormalize=True)
    weak = all("Weak Eigenvectors" in block.matrices for block in blocks)
    key = "Weak Eigenvectors" if weak else "Strong Eigenvectors"
    vectors = [block.matrices.get(key, []) for block in blocks]
    if not all(vectors):
        raise FileFormatError(f"{source}: {key} are missing for some clusters")
    arrays = [np.array(rows, float).reshape(len(rows), -1) for rows in vectors]
    return OrientedSubspaces(arrays, complement=not weak, orthonormalize=_rounded(arrays))


def _rounded(bases: list[FloatArray]) -> bool:
    """Whether bases lost digits in the text; what we wrote keeps them all."""
    return any(
        np.abs(basis.T @ basis - np.eye(basis.shape[1])).max(initial=0.0) > 1e-12 for basis in bases
    )


def _axis(blocks: list[_Block], n_features: int, limits: Limits) -> AxisSubspaces:
    dims = [block.dims for block in blocks]
    least = max(int(d.max()) + 1 for d in dims if d is not None)
    limits.check_shape(1, least, len(blocks), blocks[0].source)
    masks = np.zeros((len(blocks), max(n_features, least)), bool)
    for k, relevant in enumerate(dims):
        masks[k, slice(None) if relevant is None else relevant] = True
    return AxisSubspaces(masks)


def _normals(block: _Block, n_features: int, limits: Limits) -> FloatArray:
    limits.check_shape(1, n_features, 8 * len(block.equations), block.source)
    normals = np.zeros((n_features, len(block.equations)))
    for j, equation in enumerate(block.equations):
        for feature, value in equation.items():
            normals[feature, j] = value
    return normals


def _models(blocks: list[_Block]) -> str:
    models = {block.facts.get("Model class", "").rpartition(".")[2] for block in blocks}
    return ", ".join(sorted(models - {""})) or "clusters without a model"


def write_elki(clustering: SubspaceClustering) -> Sequence[str]:
    """The lines of a result text, with rows and dimensions counted from 1 as ELKI does."""
    lines = [f"# Table: {clustering.n_rows} rows, {clustering.n_features} features"]
    for k in range(clustering.n_clusters):
        lines += _heading(f"cluster_{k}", "false", clustering.members.rows(k))
        lines += _model(clustering.subspaces, k)
        lines += [f"ID={row + 1}" for row in clustering.members.rows(k).tolist()]
    noise = np.flatnonzero(clustering.members.clusters_per_row() == 0)
    if len(noise):
        lines += _heading("noise", "true", noise)
        lines += [f"ID={row + 1}" for row in noise.tolist()]
    return lines


def _heading(name: str, noise: str, rows: NDArray[np.integer]) -> list[str]:
    return [
        f"# Cluster: {name}",
        f"# Cluster name: {name}",
        f"# Cluster noise flag: {noise}",
        f"# Cluster size: {len(rows)}",
    ]


def _model(subspaces: Subspaces, k: int) -> list[str]:
    if isinstance(subspaces, AxisSubspaces):
        dims = ", ".join(str(j + 1) for j in np.flatnonzero(subspaces.masks[k]))
        return [f"# Model class: {_PACKAGE}.SubspaceModel", f"# Subspace: Dimensions: [{dims}]"]
    if not isinstance(subspaces, OrientedSubspaces):
        raise TypeError(f"{type(subspaces).__name__} have no model in ELKI")
    strength = "Strong" if subspaces.is_complement else "Weak"
    rows = [f"#  [ {', '.join(map(repr, row))} ]" for row in subspaces.bases[k].tolist()]
    head = [f"# Model class: {_PACKAGE}.CorrelationModel", f"# {strength} Eigenvectors:", "# ["]
    return [*head, *rows, "# ]"]
