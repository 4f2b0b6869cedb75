"""Run ELKI (a separate Java program, Debian's package ``elki``) on the same table as ours.

Seconds are the lesser of two that both are too long: ELKI's own, by the clock, which also runs
while the processor does other work; and the processor's for the whole program, less those of a run
of the same table that puts all rows into one cluster, which leaves what the virtual machine spends
on compiling while the algorithm runs. It collects garbage in one thread. Of a run that does not end
it is said how long the processor worked on it; the limit counts these seconds, and by the clock
three times as many.
The environment variable ``ELKI_JARS`` names a folder of its two archives, if they are not where
Debian puts them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

from subscape import SubspaceClustering

FOLDER = Path(os.environ.get("ELKI_JARS", "/usr/share/java"))
JARS = tuple(str(FOLDER / name) for name in ("elki.jar", "trove-3.0.3.jar"))
MAIN = "de.lmu.ifi.dbs.elki.application.KDDCLIApplication"
PACKAGES = {
    "subspace": ("CLIQUE", "PROCLUS", "DOC", "FastDOC", "P3C", "SUBCLU", "DiSH", "PreDeCon"),
    "correlation": ("ORCLUS", "FourC", "COPAC", "ERiC", "CASH", "LMCLUS"),
}


#: What ELKI's flags are called here; those of one name mean the same.
NAMES = {
    "projectedclustering.k": "n_clusters", "projectedclustering.l": "avg_dims",
    "clique.xsi": "n_bins", "clique.tau": "density_threshold", "clique.prune": "prune",
    "subclu.epsilon": "eps", "subclu.minpts": "min_samples",
    "doc.alpha": "alpha", "doc.beta": "beta", "doc.w": "width",
    "p3c.alpha": "alpha", "p3c.threshold": "poisson_threshold",
    "dish.epsilon": "eps", "dish.mu": "min_samples",
    "dbscan.epsilon": "eps", "dbscan.minpts": "min_samples",
    "predecon.delta": "delta", "predecon.kappa": "kappa", "predecon.lambda": "max_pref_dims",
    "copac.knn": "n_neighbors", "pca.filter.delta": "delta",
    "eric.k": "n_neighbors", "ericdf.delta": "delta", "ericdf.tau": "eps",
    "cash.minpts": "min_samples", "cash.maxlevel": "max_level", "cash.jitter": "jitter",
    "lmclus.minsize": "min_cluster_size", "lmclus.threshold": "sensitivity",
    "lmclus.maxdim": "max_dim", "lmclus.sampling-level": "n_clusters_hint",
}  # fmt: skip
#: Where a flag means something else for one algorithm.
OWN_NAMES = {
    ("ORCLUS", "projectedclustering.l"): "subspace_dim",
    ("FourC", "predecon.lambda"): "max_dim",
}


def settings(algorithm: str, flags: dict[str, object]) -> dict[str, object]:
    """ELKI's flags by the names of our parameters; seeds are left out.

    >>> settings("ORCLUS", {"projectedclustering.k": 5, "projectedclustering.l": 3})
    {'n_clusters': 5, 'subspace_dim': 3}
    """
    return {
        OWN_NAMES.get((algorithm, flag), NAMES.get(flag, flag)): value
        for flag, value in flags.items()
        if not flag.endswith("seed")
    }


class ElkiRun(NamedTuple):
    """Clusters as (rows, dims or None) and ELKI's seconds; None if it did not finish."""

    clusters: list[tuple[np.ndarray, np.ndarray | None]]
    seconds: float | None
    note: str = ""
    flat_dims: tuple[int | None, ...] = ()
    """Dimensions of the flats of oriented clusters, where ELKI names them."""

    def clustering(self, shape: tuple[int, int]) -> SubspaceClustering | None:
        """As a clustering; clusters without dims get all of them."""
        pairs = [
            (rows, np.arange(shape[1]) if dims is None or not len(dims) else dims)
            for rows, dims in self.clusters
            if len(rows)
        ]
        return SubspaceClustering.from_clusters(pairs, shape) if pairs else None


def available() -> bool:
    """Whether Java and ELKI are on this machine."""
    return shutil.which("java") is not None and all(Path(jar).exists() for jar in JARS)


def run(
    algorithm: str, parameters: dict[str, object], X: np.ndarray, timeout: float = 240
) -> ElkiRun:
    """Run one algorithm; ``parameters`` are ELKI's flags without the dash, those off are False."""
    package = next(name for name, members in PACKAGES.items() if algorithm in members)
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder, "table.csv"), Path(folder, "out")
        # More than 18 digits and ELKI takes a number for a label.
        np.savetxt(table, X, fmt="%.12g")
        told = [f"clustering.{package}.{algorithm}"]
        for flag, value in parameters.items():
            if value is False:
                continue
            told += [f"-{flag}"] + ([] if value is True else [str(value)])
        log, worked = _called(told, table, out, timeout)
        if log is None:
            return ElkiRun([], None, f"not finished after {worked:.0f} s of the processor")
        if "Exception" in log:
            return ElkiRun([], None, "failed: " + log.strip().splitlines()[0][:120])
        paths = _cluster_files(out)
        clusters, flat_dims = [_cluster(path) for path in paths], tuple(map(_flat_dim, paths))
        start = _start(table, Path(folder, "all"), timeout)
        clock = re.findall(rf"{algorithm}\.runtime: (\d+) ms", log)
        seconds = min([worked - start, *(int(each) / 1000 for each in clock[-1:])])
        return ElkiRun(clusters, max(seconds, 1e-3), "", flat_dims)


#: Seconds that ELKI takes to put all rows of a table into one cluster, by the table's text.
_STARTS: dict[bytes, float] = {}


def _start(table: Path, out: Path, timeout: float) -> float:
    """The processor's seconds for start, parsing and writing."""
    key = hashlib.sha256(table.read_bytes()).digest()
    if key not in _STARTS:
        told = ["clustering.trivial.TrivialAllInOne"]
        _STARTS[key] = _called(told, table, out, timeout)[1]
    return _STARTS[key]


def _called(told: list[str], table: Path, out: Path, timeout: float) -> tuple[str | None, float]:
    """What ELKI wrote on its streams, None if it did not end, and the processor's seconds."""
    command = [
        "java", "-Xmx4g", "-XX:+UseSerialGC", "-Djava.awt.headless=true",
        "-cp", ":".join(JARS), MAIN,
        "-dbc.in", str(table), "-dbc.filter", "FixedDBIDsFilter", "-dbc.startid", "0",
        "-algorithm", *told, "-time", "-evaluator", "NoAutomaticEvaluation",
        "-resulthandler", "ResultWriter", "-out", str(out), "-out.silentoverwrite",
    ]  # fmt: skip
    seconds = max(1, round(timeout))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before, log = resource.getrusage(resource.RUSAGE_CHILDREN), None
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=3 * timeout, preexec_fn=limited
        )
        if done.returncode not in (-signal.SIGXCPU, -signal.SIGKILL):
            log = done.stdout + done.stderr
        if done.returncode > 0 and "Exception" not in done.stdout + done.stderr:
            log = f"Exception: ended with {done.returncode}\n{log}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return log, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _cluster_files(out: Path) -> list[Path]:
    return [
        path
        for path in sorted(out.glob("*.txt"))
        if path.name != "settings.txt" and "noise" not in path.name.lower() and _is_cluster(path)
    ]


def _is_cluster(path: Path) -> bool:
    head = path.read_text()[:4000]
    return "# Cluster" in head and "Cluster noise flag: true" not in head


def _cluster(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    rows, dims = [], None
    for line in path.read_text().splitlines():
        if line.startswith("ID="):
            rows.append(int(line[3:].split()[0]))
        elif line.startswith("#") and ("Dimensions:" in line or "Subspace:" in line):
            bracket = re.search(r"\[([\d, ]+)\]", line)
            if bracket:
                dims = np.array([int(d) - 1 for d in re.findall(r"\d+", bracket.group(1))])
    return np.array(rows, int), dims


def _flat_dim(path: Path) -> int | None:
    """The dimension that ELKI names in the head or in the name of a cluster's file."""
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    named = re.search(r"# Dimension: (\d+)", "\n".join(head))  # COPAC
    named = named or re.match(r"\[(\d+)_\d+\]|cluster_(\d+)d_", path.name)  # ERiC, LMCLUS
    if named is not None:
        return int(next(group for group in named.groups() if group is not None))
    equations = [line for line in head if re.match(r"#\s+[+-] \d.* = ", line)]  # CASH
    if not equations:
        return None
    features = {name for line in equations for name in re.findall(r"x_\d+", line)}
    return len(features) - len(equations)
