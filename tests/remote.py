"""Clusters within this process, and a table on them in every way in which it can be given."""

from __future__ import annotations

import warnings
from contextlib import contextmanager

import dask.array as da
import numpy as np
from tests.table_sources import write_folder, write_parquet


@contextmanager
def cluster(n_workers=2):
    """A client of a cluster whose workers are threads, so that they see what a test changes."""
    with warnings.catch_warnings():
        # Of the cluster itself: ports in use, sockets closed late.
        warnings.simplefilter("ignore")
        from distributed import Client, LocalCluster

        settings = {"threads_per_worker": 1, "processes": False, "dashboard_address": None}
        with LocalCluster(n_workers=n_workers, **settings) as started, Client(started) as client:
            yield client


def remote_sources(X, folder):
    """The same table on a cluster, cut in several ways."""
    yield da.from_array(X, chunks=(271, -1)).persist()
    yield da.from_array(X, chunks=(61, 2))
    yield da.from_array(X, chunks=(len(X), X.shape[1])).persist() + 0
    yield write_parquet(X, folder / "one.parquet", 133)
    yield str(write_folder(X, folder / "parts", [1, 40, 777]))


def fitted(finder) -> dict[str, bytes]:
    """What was fitted, to the last bit, wherever it is."""
    numbers = {}
    for name, value in vars(finder).items():
        if name.endswith("_") and not name.startswith("_") and name != "feature_names_in_":
            if hasattr(value, "compute"):
                value = value.compute()
            if isinstance(value, (tuple, list)):
                parts = [np.asarray(each) for each in flat(value)]
                if not any(part.dtype == object for part in parts):
                    numbers[name] = b"|".join(part.tobytes() for part in parts)
            elif isinstance(value, (np.ndarray, float, int)):
                numbers[name] = np.asarray(value).tobytes()
    return numbers


def flat(values):
    """All that lists and tuples in each other hold."""
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from flat(value)
        else:
            yield value
