"""Finders that misbehave in ways that a test can rely on; importable by worker processes."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator

from subscape.core import SubspaceClustering


class Halves(BaseEstimator):
    """Rows below and above the median of the first column, in the features of ``mask``."""

    def __init__(self, n_clusters=2, fault=None, where=0, random_state=None, n_jobs=None):
        self.n_clusters = n_clusters
        self.fault = fault
        self.where = where
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        struck = self.random_state is not None and self.random_state == self.where
        if self.fault == "raise" and struck:
            raise RuntimeError("no luck")
        if self.fault == "kill" and struck:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fault == "warn" and struck:
            warnings.warn("hm", UserWarning, stacklevel=1)
        if self.fault == "interrupt" and struck:
            raise KeyboardInterrupt
        if str(self.fault).startswith("interrupt after ") and struck:
            # … once a run is kept there.
            folder = Path(self.fault.removeprefix("interrupt after "))
            while not any(folder.glob("runs/*.subscape")):
                time.sleep(0.01)
            raise KeyboardInterrupt
        if self.fault == "nothing" and struck:
            labels = np.full(len(X), -1)
        else:
            ranks = np.argsort(np.argsort(X[:, 0], kind="stable"))
            labels = ranks * self.n_clusters // len(X)
        self.clustering_ = SubspaceClustering.from_labels(labels, n_features=X.shape[1])
        return self


class KilledOnce(Halves):
    """Dies the first time; ``fault`` names the file that remembers it."""

    def fit(self, X, y=None):
        path, self.fault = self.fault, None
        if self.random_state == self.where and not os.path.exists(path):
            with open(path, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        super().fit(X)
        self.fault = path
        return self


def clusters_to_the(X, clustering, power=1):
    return {"value": float(clustering.n_clusters**power)}


def rows_and_seed(X, clustering):
    return {"rows": len(X), "nan": float("nan"), "inf": float("inf")}
