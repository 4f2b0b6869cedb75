"""What a killed process left half-written, beside the files it was about to replace."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from pathlib import Path

#: Name of a file that is being written: that of its target, the process, and what made it unique.
BESIDE = re.compile(r"\..+\.(?:(?P<pid>\d+)-)?[a-z0-9_]{8}")
#: Seconds after which a file of a process that can't be asked is no longer being written.
OLD = 3600.0


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove files below a folder that a process was writing when it was killed.

    Files of processes that still run are left alone; so are links, and folders that are links.

    Returns
    -------
    list of Path
        What was removed.
    """
    removed = []
    for place, _, names in os.walk(folder):
        for name in names:
            match = BESIDE.fullmatch(name)
            path = Path(place, name)
            if match is None or path.is_symlink() or not _is_left(path, match["pid"]):
                continue
            with suppress(OSError):
                path.unlink()
                removed.append(path)
    return removed


def _is_left(path: Path, pid: str | None) -> bool:
    if pid is not None and sys.platform != "win32" and int(pid) < 2**31:
        try:
            os.kill(int(pid), 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
    try:
        return time.time() - path.stat().st_mtime > OLD
    except OSError:
        return False
