"""Run ELKI (a separate Java program, Debian's package ``elki``) on the same table as ours.

Times are ELKI's own: start of the virtual machine and parsing excluded. Of a run that does not
end it is also said how long the processor worked on it, which counts where other work was running.
The environment variable ``ELKI_JARS`` names a folder of its two archives, if they are not where
Debian puts them.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
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
    "lmclus.maxdim": "max_dim", "lmclus.sampling-level": "sampling level",
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
    """Clusters as (rows, dims or None) and ELKI's own seconds; None if it did not finish."""

    clusters: list[tuple[np.ndarray, np.ndarray | None]]
    seconds: float | None
    note: str = ""

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
    """Run one algorithm; ``parameters`` are ELKI's flags without the dash."""
    package = next(name for name, members in PACKAGES.items() if algorithm in members)
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder, "table.csv"), Path(folder, "out")
        # More than 18 digits and ELKI takes a number for a label.
        np.savetxt(table, X, fmt="%.12g")
        command = [
            "java", "-Xmx4g", "-Djava.awt.headless=true", "-cp", ":".join(JARS), MAIN,
            "-dbc.in", str(table), "-dbc.filter", "FixedDBIDsFilter", "-dbc.startid", "0",
            "-algorithm", f"clustering.{package}.{algorithm}", "-time",
            "-evaluator", "NoAutomaticEvaluation",
            "-resulthandler", "ResultWriter", "-out", str(out), "-out.silentoverwrite",
        ]  # fmt: skip
        for flag, value in parameters.items():
            command += [f"-{flag}"] + ([] if value is True else [str(value)])
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return ElkiRun(
                [], None, f"not finished after {timeout:g} s, {worked:.0f} s of the processor"
            )
        log = done.stdout + done.stderr
        if done.returncode or "Exception" in log:
            return ElkiRun([], None, "failed: " + log.strip().splitlines()[0][:120])
        times = re.findall(rf"{algorithm}\.runtime: (\d+) ms", log)
        seconds = int(times[-1]) / 1000 if times else time.perf_counter() - start
        return ElkiRun([_cluster(path) for path in _cluster_files(out)], seconds)


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
