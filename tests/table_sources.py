"""One table in every way in which a big table can be given."""

from __future__ import annotations

from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_parquet(X, path: Path, rows: int, names=None) -> Path:
    names = names or [f"c{j}" for j in range(X.shape[1])]
    table = pa.table({name: X[:, j] for j, name in enumerate(names)})
    pq.write_table(table, path, row_group_size=rows)
    return path


def write_folder(X, folder: Path, cuts) -> Path:
    folder.mkdir()
    (folder / "_SUCCESS").touch()
    for i, part in enumerate(np.split(X, cuts)):
        write_parquet(part, folder / f"part-{i:02}.parquet", 70)
    return folder


def sources(X, folder: Path):
    """The same table in every way it can be given."""
    np.save(folder / "X.npy", X)
    yield X
    yield np.asfortranarray(X)
    yield np.load(folder / "X.npy", mmap_mode="r")
    yield np.load(folder / "X.npy", mmap_mode="r+")
    for rows in (33, 500, 10_000):
        yield write_parquet(X, folder / f"{rows}.parquet", rows)
    yield str(folder / "33.parquet")
    yield write_folder(X, folder / "parts", [1, 40, 777])
    for chunks in ((61, X.shape[1]), (37, 2), (len(X), 1), "auto"):
        yield da.from_array(X, chunks=chunks)
