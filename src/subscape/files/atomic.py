"""Files that are complete or not there: written beside the target, synced, renamed."""

from __future__ import annotations

import errno
import os
import secrets
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
    handle, beside = _open_beside(target)
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        _rename(beside, target, force)
        sync_folder(target.parent)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
    return target


def _open_beside(target: Path) -> tuple[int, str]:
    """A new file beside the target, with the rights that the process gives to new files."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    for _ in range(100):
        beside = target.parent / f".{target.name[:200]}.{os.getpid()}-{secrets.token_hex(4)}"
        try:
            return os.open(beside, flags, 0o666), str(beside)
        except FileExistsError:
            continue
    raise FileExistsError(f"no name is free beside {target}")


def sync_folder(folder: Path) -> None:
    """Make sure that a name in a folder survives a power cut, where the system can do that."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders.
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


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
