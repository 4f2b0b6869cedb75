"""The boundary between files and us: limits on what they hold, and one sentence for each fault.

Parsers raise what they like. Whatever comes out of :func:`guarded` is a ``FileFormatError`` (or
another error raised here on purpose) that names the file and a way out, and keeps the cause.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from subscape.core.errors import FileFormatError, SubscapeError, UnsupportedKindError

#: Errors that say something about the machine or the user, not about the file.
_PASSED: tuple[type[Exception], ...] = (
    SubscapeError, UnsupportedKindError, FileNotFoundError, FileExistsError, PermissionError,
    ImportError,
)  # fmt: skip

#: Seconds that a child process may compute on a file, plus some for each megabyte.
CHILD_SECONDS, CHILD_SECONDS_PER_MB = 2.5, 0.5
#: How much longer it may take where others use the machine.
CHILD_PATIENCE = 15.0
#: Memory a child process may take, beyond ten times the file.
CHILD_BYTES = 2**30
#: Memory that a cell takes while it is read: as a number of its column, then of the table.
CELL_BYTES = 16


class OtherContentError(TypeError):
    """A file is sound, but holds values that no table is made of, such as an array of texts."""


_PASSED = (*_PASSED, OtherContentError)


class Limits(NamedTuple):
    """What a file may hold before it is refused; raise a limit for a file you trust.

    Attributes
    ----------
    ratio : float
        How many times its size a packed file may unpack to, ...
    unpacked : int
        ... beyond this many bytes, which are always allowed.
    table : int
        Bytes of memory that the cells of a packed file may always take; beyond them, ``ratio``
        times its size. Digits unpack to tables that are several times as large as their text.
    line : int
        Bytes of one line of text.
    columns : int
    nesting : int
        Levels of brackets in JSON.
    memory : float
        Share of the machine's memory that a table may take.

    See Also
    --------
    subscape.Table : Reads files within them.

    Examples
    --------
    >>> Limits(ratio=1e6).ratio, Limits.lifted().ratio
    (1000000.0, inf)
    """

    ratio: float = 200.0
    unpacked: int = 64 * 2**20
    table: int = 512 * 2**20
    line: int = 128 * 2**20
    columns: int = 200_000
    nesting: int = 64
    memory: float = 0.8

    @classmethod
    def lifted(cls) -> Limits:
        """No limits but those of the machine.

        Returns
        -------
        Limits
        """
        huge = sys.maxsize
        return cls(float("inf"), huge, huge, huge, huge, 900, 1.0)

    def check_ratio(self, unpacked: int, packed: int, name: str) -> None:
        """Refuse what unpacks to far more than an honest table does."""
        if unpacked > self.unpacked and unpacked > self.ratio * max(packed, 1):
            raise FileFormatError(
                f"{name} unpacks to more than {unpacked // max(packed, 1):,} times its size "
                f"({packed:,} bytes), which tables rarely do; unpack it yourself, or lift the "
                "limits (limits=Limits.lifted()) if you trust it"
            )

    def check_cells(self, cells: int, packed: int, name: str) -> None:
        """Refuse a packed file whose cells take far more memory than an honest table of its size.

        >>> Limits().check_cells(10**9, 10**9, "t.csv.gz")
        >>> try:
        ...     Limits().check_cells(10**9, 10**6, "t.csv.gz")
        ... except FileFormatError as error:
        ...     print(str(error)[:60])
        t.csv.gz (1,000,000 bytes) unpacks to 1,000,000,000 cells or
        """
        wanted = CELL_BYTES * cells
        if wanted > self.table and wanted > self.ratio * max(packed, 1):
            raise FileFormatError(
                f"{name} ({packed:,} bytes) unpacks to {cells:,} cells or more, which take "
                f"{wanted / 2**30:,.1f} GiB of memory; tables rarely do: unpack it yourself and "
                "look, or lift the limits (limits=Limits.lifted()) if you trust it"
            )

    def check_memory(self, wanted: int, what: str, name: str) -> None:
        """Refuse what would not fit into memory, before it is allocated."""
        have = memory_size() * self.memory
        if wanted > have:
            raise FileFormatError(
                f"{name} states {what}, which takes {wanted / 2**30:,.1f} GiB, and there are "
                f"{have / 2**30:,.1f} GiB to use; if that is right, read a part of it"
            )

    def check_shape(self, n_rows: int, n_features: int, n_clusters: int, name: str) -> None:
        """Refuse a stated size for which a clustering would not fit into memory."""
        wanted = 8 * n_rows + n_features * max(n_clusters, 1)
        what = f"{n_rows:,} rows and {n_features:,} features"
        if n_features * max(n_clusters, 1) > self.table:
            raise FileFormatError(
                f"{name} states {n_features:,} features, which take "
                f"{n_features * max(n_clusters, 1) / 2**30:,.1f} GiB for its clusters; lift the "
                "limits (limits=Limits.lifted()) if that is right"
            )
        if n_rows < 0 or n_features < 0 or n_rows >= 2**31:
            raise FileFormatError(f"{name} states {what}, which no table has; it is damaged")
        self.check_memory(wanted, what, name)

    def check_columns(self, n: int, name: str) -> None:
        """Refuse more columns than anything sensible has."""
        if n > self.columns:
            raise FileFormatError(
                f"{name} has {n:,} columns, more than {self.columns:,}. Is its delimiter right? "
                "Are its rows and columns exchanged? Else lift the limit by "
                "limits=Limits(columns=…)"
            )


DEFAULT = Limits()


@cache
def memory_size() -> int:
    """Bytes of memory of this machine, or what this process is allowed of it."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 63
    try:
        stated = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        return min(total, int(stated)) if stated.isdigit() else total
    except OSError:
        return total


@contextmanager
def guarded(name: str, what: str = "", way_out: str = "") -> Iterator[None]:
    """Turn whatever a parser raises into one sentence about the file.

    Parameters
    ----------
    name : str
        The file, for the message.
    what : str, optional
        What it was taken for.
    way_out : str, optional
        What to do; by default to get the file anew.

    Examples
    --------
    >>> try:
    ...     with guarded("t.npy", "NPY file"):
    ...         raise KeyError("shape")
    ... except FileFormatError as error:
    ...     print(error)
    t.npy is not a readable NPY file (KeyError: 'shape'); is it whole? Copy or export it again
    """
    try:
        yield
    except _PASSED:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a library in Rust panics by an error that is no Exception
        raise FileFormatError(described(error, name, what, way_out)) from error


def described(error: BaseException, name: str, what: str = "", way_out: str = "") -> str:
    """The sentence for an error of a parser."""
    reason = " ".join(printable(str(error)).split())[:200]
    kind = type(error).__name__
    if isinstance(error, MemoryError):
        reason, kind = "it states more than fits into memory", ""
    elif isinstance(error, RecursionError):
        reason, kind = "it is nested too deeply", ""
    elif isinstance(error, NotImplementedError):
        way_out = way_out or "write it with a more common packing"
    elif "encrypted" in reason or "password" in reason.lower():
        way_out = way_out or "save it without a password"
    told = f"{kind}: {reason}" if kind and reason else kind or reason
    taken = f"is not a readable {what}" if what else "cannot be read"
    return f"{name} {taken} ({told}); {way_out or 'is it whole? Copy or export it again'}"


def printable(text: str) -> str:
    """A text without the characters that steer a terminal.

    >>> printable("a\\x1b[31mb\\u202e")
    'a�[31mb�'
    """
    return "".join(letter if letter.isprintable() or letter in "\n\t " else "�" for letter in text)


def check_nesting(text: str | bytes, name: str, limits: Limits = DEFAULT) -> None:
    """Refuse JSON whose brackets are nested more deeply than anything sensible."""
    openers, closers, quote, escape = ("[{", "]}", '"', "\\")
    letters = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    depth, quoted, skip = 0, False, False
    if letters.count("[") + letters.count("{") <= limits.nesting:
        return
    for letter in letters:
        if skip:
            skip = False
        elif quoted:
            skip, quoted = letter == escape, letter != quote
        elif letter == quote:
            quoted = True
        elif letter in openers:
            depth += 1
            if depth > limits.nesting:
                raise FileFormatError(f"{name} is nested more than {limits.nesting} levels deep")
        elif letter in closers:
            depth -= 1


def parsed_json(text: str | bytes, name: str, limits: Limits = DEFAULT) -> Any:
    """JSON of a file, or a ``FileFormatError`` that names it."""
    check_nesting(text, name, limits)
    with guarded(name, "JSON text"):
        return json.loads(text)


def probed(script: str, path: Path, what: str, arguments: Sequence[str] = ()) -> None:
    """Let a child process look through a file whose library may hang or crash on it.

    Parameters
    ----------
    script : str
        Python code; ``sys.argv[1]`` is the path. What it prints last is the reason if it fails.
    path : Path
    what : str
        What the file is taken for.
    arguments : sequence of str
        Further arguments.
    """
    size = path.stat().st_size
    seconds = CHILD_SECONDS + CHILD_SECONDS_PER_MB * size / 2**20
    most = CHILD_BYTES + 10 * size
    code = _CHILD.format(most=most, seconds=math.ceil(seconds)) + script
    command = [sys.executable, "-I", "-W", "ignore", "-c", code, str(path), *arguments]
    endless = FileFormatError(
        f"{path.name} is not a readable {what} (looking through it did not end within "
        f"{seconds:.0f} s); it seems damaged: copy or export it again"
    )
    # More threads of BLAS would take more addresses than the limit has.
    alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=CHILD_PATIENCE * seconds, check=False,
            stdin=subprocess.DEVNULL, env=alone,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise endless from None
    if -done.returncode == getattr(signal, "SIGXCPU", None):
        raise endless
    if done.returncode:
        lines = printable(done.stderr.decode("utf-8", "replace")).strip().splitlines()
        reason = lines[-1][:200] if lines else f"the reader crashed with {done.returncode}"
        raise FileFormatError(
            f"{path.name} is not a readable {what} ({reason}); is it whole? Copy or export it again"
        )


_CHILD = """
import sys
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, ({most}, {most}))
    resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds} + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
except (ImportError, ValueError, OSError):
    pass
"""
