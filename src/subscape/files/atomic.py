"""Files that are complete or not there: written beside the target, synced, renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


def write_atomically(
    path: str | os.PathLike[str], write: Callable[[BinaryIO], None], *, force: bool = False
) -> Path:
    """Let ``write`` fill a file that appears under its name only once it is complete."""
    target = Path(path)
    if target.exists() and not force:
        raise FileExistsError(f"{target} exists; pass force=True (--force) to replace it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} does not exist")
    handle, beside = tempfile.mkstemp(prefix=f".{target.name}.{os.getpid()}-", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, 0o666 & ~umask)
        _rename(beside, target, force)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return target


def write_text_atomically(path: str | os.PathLike[str], text: str, *, force: bool = False) -> Path:
    """The same for a text, as UTF-8."""

    def write(stream: BinaryIO) -> None:
        stream.write(text.encode())

    return write_atomically(path, write, force=force)


def _rename(beside: str, target: Path, force: bool) -> None:
    if not force:
        try:
            # Unlike a rename, a link fails if somebody made the file in the meantime.
            os.link(beside, target)
        except FileExistsError:
            raise
        except OSError:
            pass  # a file system without hard links
        else:
            os.unlink(beside)
            return
    os.replace(beside, target)
