"""The h5ad file that was explored, written again with what was found."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any


class AnnotatedCopy:
    """A copy of an h5ad file with the clusters of a study in it.

    Parameters
    ----------
    source, target : path
        The file that is explored, and the one to be written; refused at once if there is
        something in the way.
    transpose : bool
        Whether the variables were grouped instead of the observations.
    """

    def __init__(self, source: str, target: str, transpose: bool) -> None:
        self.source, self.target, self.transpose = Path(source), Path(target), transpose
        with open(source, "rb") as stream:
            if not stream.read(8).startswith(b"\x89HDF"):
                raise ValueError(f"--h5ad is for tables in h5ad; {source} is none")
        if self.target.exists():
            raise FileExistsError(f"{target} exists; choose another name for --h5ad")
        if not self.target.absolute().parent.is_dir():
            raise FileNotFoundError(f"the folder {self.target.parent} does not exist")

    def write(self, study: Any) -> Path:
        """Write it, complete or not at all."""
        import anndata

        adata = anndata.read_h5ad(self.source)
        adata = adata.T if self.transpose else adata
        study.write_anndata(adata)
        adata = adata.T if self.transpose else adata
        with tempfile.TemporaryDirectory(prefix=".", dir=self.target.absolute().parent) as beside:
            path = Path(beside, self.target.name)
            adata.write_h5ad(path)
            os.replace(path, self.target)
        return self.target
