"""Tables in memory: data frames of any kind, and AnnData objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from subscape.core.errors import SubscapeError, listing
from subscape.core.missing import is_missing
from subscape.tables.columns import Column, check_known, check_unique
from subscape.tables.parts import Parts, Wishes, parts_of_array
from subscape.tables.roles import Habits, parts_from_arrow, type_column

from .boundary import OtherContentError
from .layout import distinct_names

# --- data frames ---


def read_frame(source: Any, wanted: Wishes) -> Parts:
    import narwhals as nw

    said: list[str] = []
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas allows repeated names
        given = [_joined(name) for name in source.columns]
        if len(set(given)) < len(given):
            given, said = distinct_names(given)
            source = source.set_axis(given, axis=1)
    try:
        frame = nw.from_native(source)
    except TypeError:
        raise TypeError(
            f"a table is read from a path, a data frame, AnnData or a 2-D array, not from "
            f"{type(source).__module__}.{type(source).__name__}"
        ) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    columns = list(frame.iter_columns())
    names = [_joined(name) for name in frame.columns]
    index = nw.maybe_get_index(frame)
    # A running number says nothing; only an index that somebody chose names the rows.
    chosen = index is not None and type(index).__name__ != "RangeIndex"
    parts = index_parts(index) if chosen else {}
    parts["notes"] = (*said, *parts.get("notes", ()))
    arrays = [_arrow(name, column) for name, column in zip(names, columns, strict=True)]
    module = type(source).__module__.split(".")[0]
    return parts_from_arrow(names, arrays, wanted, source={"format": module}, **parts)


def index_parts(index: Any) -> dict[str, Any]:
    """The index of a frame as row names, unless it repeats itself."""
    names = tuple(_joined(name) for name in index)
    if len(set(names)) == len(names):
        return {"index": names}
    return {"notes": ("the index of the frame repeats values, so the rows have no names",)}


def _joined(name: Any) -> str:
    return "/".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _arrow(name: str, column: Any) -> Any:
    """A narwhals series as an arrow array; mixed objects become text."""
    import pyarrow as pa

    try:
        array = column.to_arrow()
    except (pa.ArrowException, TypeError):
        values = column.to_list()
        if any(isinstance(value, complex | np.complexfloating) for value in values):
            raise SubscapeError(
                f"column {name!r} holds complex numbers; split it into real columns"
            ) from None
        texts = [None if is_missing(value) else str(value) for value in values]
        array = pa.array(texts, type=pa.string())
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


# --- AnnData ---


def is_anndata(source: Any) -> bool:
    # By name, so that anndata need not be imported to find out that it is not needed.
    return type(source).__module__.split(".")[0] == "anndata" and hasattr(source, "obs_names")


def read_anndata(adata: Any, wanted: Wishes, layer: str | None, use_rep: str | None) -> Parts:
    if layer is not None and use_rep is not None:
        raise SubscapeError("give layer or use_rep, not both")
    if getattr(adata, "isbacked", False):
        adata = adata.to_memory()
    names = [str(name) for name in adata.var_names]
    if use_rep is not None:
        _check_entry(use_rep, adata.obsm, "obsm")
        X = adata.obsm[use_rep]
        given = getattr(X, "columns", None)
        names = [f"{use_rep}_{j}" for j in range(X.shape[1])] if given is None else list(given)
        X = X.to_numpy() if given is not None else X
    elif layer is not None:
        _check_entry(layer, adata.layers, "layers")
        X = adata.layers[layer]
    else:
        X = adata.X
        if X is None:
            have = [*adata.layers, *adata.obsm]
            raise SubscapeError(f"the AnnData has no X; give layer or use_rep: {listing(have)}")
    try:
        check_unique(names)
    except SubscapeError as error:
        raise SubscapeError(f"{error} (adata.var_names_make_unique() does)") from None
    parts = index_parts(adata.obs_names)
    try:
        found = parts_of_array(X, [str(name) for name in names], **parts)
    except TypeError as error:
        raise OtherContentError(str(error)) from None
    return _with_observations(found, adata.obs, wanted, _used(layer, use_rep))


def _used(layer: str | None, use_rep: str | None) -> str:
    return f"layers/{layer}" if layer else f"obsm/{use_rep}" if use_rep else "X"


def _check_entry(name: str, mapping: Any, where: str) -> None:
    if name not in mapping:
        named = [each for each in mapping if each is not None]  # None is X, from AnnData 0.13 on
        raise SubscapeError(f"{where} has no {name!r}; it has {listing(named) or 'nothing'}")


def _with_observations(parts: Parts, obs: Any, wanted: Wishes, used: str) -> Parts:
    """The annotations of the rows as further columns: groups as labels, all else kept aside."""
    import narwhals as nw

    schema, notes = list(parts.schema), list(parts.notes)
    others: dict[str, NDArray[Any]] = {}
    taken = {column.name for column in schema}
    for series in nw.from_native(obs).iter_columns() if len(obs.columns) else []:
        name = str(series.name)
        if name in taken:
            name = f"obs/{name}"
        found = type_column(name, _arrow(name, series), Habits(guess_labels=False))
        if found is None:
            notes.append(f"left out of obs, because neither number, text nor date: {name!r}")
            continue
        column, values = found
        if column.role == "numeric":
            values = np.asarray(values, dtype=np.float64)
        role = {"nominal": "label", "date": "date"}.get(column.role, "ignore")
        schema.append(Column(name, role, column.kind, column.levels))
        others[name] = values
    source = {"format": "anndata", "used": used, "rows": int(parts.X.shape[0])}
    check_known(wanted.named, [c.name for c in schema])
    return Parts(tuple(schema), parts.X, others, parts.index, source, tuple(notes))
