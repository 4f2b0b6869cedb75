"""NPY files: what they state is checked before anything is allocated."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from subscape.core.errors import FileFormatError


def check_npy(path: Path) -> None:
    """Refuse an NPY file of objects, or with a shape that it has no room for."""
    size = path.stat().st_size
    with path.open("rb") as file:
        version = np.lib.format.read_magic(file)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(file)
        begin = file.tell()
    if dtype.hasobject:
        raise FileFormatError(
            f"{path.name} holds pickled objects, which are never opened; save a numeric array"
        )
    stated = int(np.prod(shape, dtype=object)) * dtype.itemsize
    if stated != size - begin:
        raise FileFormatError(
            f"{path.name} is not a readable NPY file: its shape {shape} takes {stated:,} bytes, "
            f"there are {size - begin:,}; is it whole? Copy or export it again"
        )
