"""Bytes of files that may be packed: gzip, ZIP with one file in it, bzip2, xz, zstd."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from subscape.core.errors import FileFormatError, listing

from .boundary import DEFAULT, Limits, guarded, printable

GZIP, BZIP2, XZ, ZSTD, ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_PACKINGS = {GZIP: "gzip", BZIP2: "bzip2", XZ: "xz", ZSTD: "zstd", ZIP: "zip"}
#: Whoever reads asks for as much as they like; the limits are looked at after so many bytes.
PIECE = 1 << 20
#: What stands between cells.
SEPARATORS = tuple(b",;\t| ")


class _Limited(io.RawIOBase):
    """A stream that stops when it gives far more than it took."""

    def __init__(self, stream: Any, packed: int, name: str, how: str, limits: Limits) -> None:
        self._stream, self._packed, self._name, self._limits = stream, packed, name, limits
        self._how = how
        self._given = 0
        self._cells = np.zeros(len(SEPARATORS), np.int64)  # if this one separates them

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content = self._stream.read(min(len(buffer), PIECE))
        except Exception as error:
            reason = " ".join(printable(str(error)).split())[:200]
            raise FileFormatError(
                f"{self._name} is damaged or truncated and cannot be unpacked ({self._how}: "
                f"{reason}); copy or export it again"
            ) from error
        self._given += len(content)
        self._limits.check_ratio(self._given, self._packed, self._name)
        self._limits.check_memory(self._given, "more text than fits", self._name)
        letters = np.frombuffer(content, np.uint8)
        lines = np.count_nonzero(letters == ord("\n"))
        self._cells += [lines + np.count_nonzero(letters == sign) for sign in SEPARATORS]
        self._limits.check_cells(int(self._cells.max()), self._packed, self._name)
        buffer[: len(content)] = content
        return len(content)

    def close(self) -> None:
        self._stream.close()
        super().close()


def packing_of(path: Path) -> str:
    """How a file is packed, by its first bytes: "" if it is not."""
    with path.open("rb") as file:
        magic = file.read(6)
    return next((how for start, how in _PACKINGS.items() if magic.startswith(start)), "")


def open_bytes(path: Path, limits: Limits = DEFAULT) -> IO[bytes]:
    """The bytes of a file, unpacked if it is packed, and no more of them than is honest."""
    how = packing_of(path)
    if not how:
        size = path.stat().st_size
        limits.check_memory(size, f"{size:,} bytes of text", path.name)
        return path.open("rb")
    with guarded(path.name, f"{how} file"):
        stream = _OPENERS[how](path)
    limited = _Limited(stream, path.stat().st_size, path.name, how, limits)
    return cast(IO[bytes], io.BufferedReader(limited, 1 << 20))


def _open_zstd(path: Path) -> Any:
    import pyarrow as pa

    if not pa.Codec.is_available("zstd"):
        raise FileFormatError(
            f"{path.name} is packed by zstd, which this pyarrow was built without; unpack it, or "
            "pack it by gzip"
        )
    return pa.CompressedInputStream(pa.OSFile(str(path), "rb"), "zstd")


def members_of(path: Path) -> list[str]:
    """The files in a ZIP archive."""
    with guarded(path.name, "ZIP archive"), zipfile.ZipFile(path) as archive:
        return archive.namelist()


def _open_zip(path: Path) -> Any:
    archive = zipfile.ZipFile(path)
    files = [
        info
        for info in archive.infolist()
        if not info.is_dir() and not info.filename.startswith(("__MACOSX/", "."))
    ]
    if len(files) != 1:
        names = listing([info.filename for info in files]) or "none"
        raise FileFormatError(
            f"{path.name} is a ZIP archive of {len(files)} files ({names}); unpack it and give the "
            "one that is the table"
        )
    if files[0].flag_bits & 1:
        raise FileFormatError(
            f"{path.name} is encrypted; unpack it with its password and give the file in it"
        )
    return archive.open(files[0])


_OPENERS: dict[str, Callable[[Path], Any]] = {
    "gzip": gzip.GzipFile,
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": _open_zstd,
    "zip": _open_zip,
}
