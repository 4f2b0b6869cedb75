"""One table on a cluster: what travels, what it takes, and whether the bits are the same.

    python benchmarks/one_table.py            3,000,000 x 50 of float32 (0.6 GB)
    python benchmarks/one_table.py --full     30,000,000 x 50 (6 GB)
    python benchmarks/one_table.py --quick    120,000 x 20, with ten kills
    python benchmarks/one_table.py --deaths   explore: client, worker and scheduler killed, resumed

A scheduler and two workers (2 GB each, one thread) are processes of their own, started and ended by
this script, and reachable from this machine only. After --minutes it gives up and ends them. The
table is a folder of Parquet parts that the workers read. Every job runs in a fresh process: without
a cluster, with one worker, with two, and with one of the two killed in the middle. Bytes through
the client are all that its connections carry.

Seconds say little on a machine that others use as well. So processor time is read before and after
every pass (on Linux): that of the thread which does a worker's calls, and that of its whole
process, with what Dask does beside the calls. The critical path is the sum over the passes of the
worker that took longer, and all that the client did: how long two workers would take that had a
core each.

Writes benchmarks/results/one_table.md (not with --quick).

The script is not called distributed.py: that name would hide the package from its neighbours.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np

JOBS = ("LAC", "NrKMeans", "KFlats", "sre", "MineClus", "CLIQUE", "explore")
#: Seconds that a process may take to start.
START = 90
#: Rows that ``explore`` searches.
SEARCHED = 2000
PART = 500_000


def write_table(folder: Path, n_rows: int, n_features: int) -> None:
    """Five clusters, each tight in some of the features, as Parquet parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    centres = np.random.default_rng(0).normal(scale=4.0, size=(5, n_features))
    widths = np.random.default_rng(1).choice([0.3, 3.0], size=(5, n_features))
    folder.mkdir(parents=True)
    for part, start in enumerate(range(0, n_rows, PART)):
        rng = np.random.default_rng([2, part])
        size = min(PART, n_rows - start)
        labels = rng.integers(5, size=size)
        X = rng.standard_normal((size, n_features), dtype=np.float32)
        X = (X * widths[labels] + centres[labels]).astype(np.float32)
        columns = {f"x{j}": X[:, j] for j in range(n_features)}
        # Numbers without any order can't be packed.
        pq.write_table(
            pa.table(columns), folder / f"part-{part:04}.parquet", row_group_size=100_000,
            compression="none", use_dictionary=False,
        )  # fmt: skip


# -- one job, in a process of its own --------------------------------------------------------------


class Peak(threading.Thread):
    """The largest anonymous memory of this process, looked at every 20 ms; what that takes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kilobytes, self.ended, self.used = 0, threading.Event(), 0.0

    def run(self) -> None:
        while not self.ended.wait(0.02):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            line = next(line for line in status.splitlines() if line.startswith("RssAnon"))
            self.kilobytes = max(self.kilobytes, int(line.split()[1]))
            self.used = time.thread_time()


class Processors:
    """Processor seconds of the scheduler and the workers, as Linux tells them; nobody is asked."""

    def __init__(self, client) -> None:
        self.pids = client.run(os.getpid)
        client.gather(client.map(time.sleep, [0.2] * 4 * len(self.pids), pure=False))
        self.threads = client.run(call_threads)

    def told(self) -> dict[str, tuple[float, float]]:
        """Of each worker: the threads that do its calls, and the whole process."""
        return {
            place: (sum(spent(pid, each) for each in self.threads[place]), spent(pid))
            for place, pid in self.pids.items()
        }


def call_threads(dask_worker=None) -> list[int]:
    return [thread.native_id for thread in tuple(dask_worker.executors["default"]._threads)]


def spent(pid: int, thread: int | None = None) -> float:
    """Processor seconds of a thread, or of all threads of a process."""
    folder = Path(f"/proc/{pid}/task")
    found = 0.0
    for each in os.listdir(folder) if thread is None else [str(thread)]:
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            found += int((folder / each / "schedstat").read_text(encoding="utf-8").split()[0]) / 1e9
    return found


class Traffic:
    """Bytes that the connections of this process carry, and passes over the table."""

    def __init__(self) -> None:
        self.sent = self.got = self.passes = 0
        #: Of each pass, and each worker in it: seconds of its calls, and of its process.
        self.busy: list[dict[str, tuple[float, float]]] = []

    def watch(self, client) -> None:
        from distributed.comm import tcp

        from subscape.arrays.remote import blocks, rows

        write, from_frames, visit_all = tcp.TCP.write, tcp.from_frames, blocks.visit_all

        async def counted_write(comm, *args, **kwargs):
            size = await write(comm, *args, **kwargs)
            self.sent += size
            return size

        async def counted_frames(frames, *args, **kwargs):
            self.got += sum(memoryview(each).nbytes for each in frames)
            return await from_frames(frames, *args, **kwargs)

        processors = Processors(client)

        def timed_pass(*args, **kwargs):
            before = processors.told()
            found = visit_all(*args, **kwargs)
            after = processors.told()
            self.busy.append(
                {place: tuple(np.subtract(after[place], before[place])) for place in after}
            )
            return found

        def counted_pass(*args, **kwargs):
            self.passes += 1
            return timed_pass(*args, **kwargs)

        tcp.TCP.write, tcp.from_frames = counted_write, counted_frames
        blocks.visit_all, rows.visit_all = counted_pass, timed_pass

    def critical(self, which: int) -> float:
        """The slower worker's seconds of all passes."""
        return sum(max((each[which] for each in told.values()), default=0.0) for told in self.busy)

    def each_worker(self, which: int) -> list[float]:
        """The seconds of each worker over all passes."""
        places = sorted({place for told in self.busy for place in told})
        return [sum(told[place][which] for told in self.busy if place in told) for place in places]


def digest(*arrays) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def done(job: str, table: str) -> str:
    """Do a job; returns a digest of all numbers that it found."""
    from subscape.finders import CLIQUE, LAC, KFlats, MineClus, NrKMeans
    from subscape.measures import sre

    if job == "LAC":
        found = LAC(5, random_state=0, n_jobs=1).fit(table)
        return digest(found.weights_, found.cluster_centers_, found.clustering_.sizes)
    if job == "NrKMeans":
        found = NrKMeans((5, 1), random_state=0, n_jobs=1).fit(table)
        return digest(*found.components_, *found.cluster_centers_, found.clustering_.sizes)
    if job == "KFlats":
        # These clusters are no flats: without a limit there would be hundreds of passes.
        found = KFlats(5, flat_dim=2, random_state=0, n_init=3, max_iter=10, n_jobs=1).fit(table)
        return digest(found.centres_, found.inertia_, found.clustering_.sizes)
    if job == "MineClus":
        found = MineClus(5, random_state=0, n_jobs=1).fit(table)
        return digest(found.low_, found.high_, found.clustering_.sizes)
    if job == "CLIQUE":
        found = CLIQUE(density_threshold=0.15, max_dims=3).fit(table)
        return digest(found.interest_, *found.unit_counts_, found.clustering_.sizes)
    if job == "explore":
        return explored(table)
    labels = _stripes(table)
    found = sre(table, labels)
    return digest(found.cluster_losses, found.total)


def explored(table: str) -> str:
    """A digest of the study of a table, with the clusters of all rows."""
    import subscape

    with tempfile.TemporaryDirectory() as made:
        home = Path(made) / "study"
        subscape.explore(
            table, effort="quick", search_rows=SEARCHED, folder=home, n_jobs=1, progress=False
        )
        files = [home / "study.json", *sorted((home / "labels").iterdir())]
        return digest(*(np.frombuffer(file.read_bytes(), np.uint8) for file in files))


def _stripes(table: str):
    """A label per row, made where the rows are: which of two features is larger, and its sign."""
    from subscape.arrays.blocks import as_blocks
    from subscape.arrays.row_values import handed_out

    found = as_blocks(table).mapped(
        lambda block, rows: (block[:, 0] > block[:, 1]) * 2 + (block[:, 0] > 0), np.int32
    )
    return handed_out(found, np.int32)


def run_job(job: str, table: str, address: str | None, kill_after: float | None) -> None:
    traffic, peak, killed = Traffic(), Peak(), []
    _import_all()
    with ExitStack() as stack:
        if address is not None:
            from distributed import Client

            client = stack.enter_context(Client(address, timeout=START))
            pids = client.run(os.getpid)
            client.run(_import_all)
            scheduler = client.run_on_scheduler(os.getpid)
            if kill_after is None:
                traffic.watch(client)
            if kill_after is not None:
                victim = next(iter(pids.values()))

                def kill() -> None:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

                timer = threading.Timer(kill_after, kill)
                timer.daemon = True
                timer.start()
                stack.callback(timer.cancel)
        before = traffic.sent + traffic.got
        scheduled = spent(scheduler) if address is not None else 0.0
        peak.start()
        start, used = time.perf_counter(), time.process_time()
        found = done(job, table)
        seconds, used = time.perf_counter() - start, time.process_time() - used
        peak.ended.set()
        used -= peak.used
        scheduled = spent(scheduler) - scheduled if address is not None else 0.0
    answer = {
        "digest": found,
        "seconds": seconds,
        "cpu": used,
        "scheduler": scheduled,
        "bytes": traffic.sent + traffic.got - before,
        "passes": traffic.passes,
        "peak_mb": peak.kilobytes / 1024,
        "calls": traffic.each_worker(0),
        "processes": traffic.each_worker(1),
        "path": [traffic.critical(which) + used for which in (0, 1)],
        "killed": len(killed),
    }
    print("ANSWER " + json.dumps(answer), flush=True)


def _import_all() -> None:
    """What every job needs; it would be measured with the first one."""
    import pyarrow.parquet
    import scipy.optimize
    import sklearn.cluster

    from subscape.finders import CLIQUE, LAC, KFlats, MineClus, NrKMeans
    from subscape.measures import sre

    del pyarrow, scipy, sklearn, CLIQUE, LAC, KFlats, MineClus, NrKMeans, sre


def run_bare(table: str, part: int) -> None:
    """Read every second file three times, without any cluster."""
    from subscape.arrays.blocks import as_blocks

    _import_all()
    files = sorted(Path(table).iterdir())[part::2]
    used = time.process_time()
    for _ in range(3):
        for file in files:
            _ = as_blocks(file).ranges
    print(f"ANSWER {time.process_time() - used}", flush=True)


def hindrance(table: Path) -> float:
    """How many times the processor time that two processes take, each of what it takes alone."""

    def seconds(parts: list[int]) -> list[float]:
        command = [sys.executable, __file__, "--table", str(table), "--bare"]
        started = [
            subprocess.Popen(
                [*command, str(part)], stdout=subprocess.PIPE, text=True, start_new_session=True
            )
            for part in parts
        ]
        told = [each.communicate(timeout=Deadline.left())[0] for each in started]
        return [float(each.split()[-1]) for each in told]

    found = [sum(seconds([0, 1])) / sum(seconds([0]) + seconds([1])) for _ in range(3)]
    return sorted(found)[1]


# -- scheduler, workers and jobs as processes ------------------------------------------------------


@contextmanager
def process(*arguments, **options):
    # In sessions of their own: Linux shares a processor out to sessions, and not to processes.
    started = subprocess.Popen(arguments, **options, start_new_session=True)
    try:
        yield started
    finally:
        started.terminate()
        try:
            started.wait(20)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


@contextmanager
def cluster(n_workers: int, folder: Path, memory: str):
    """The address of a scheduler with so many workers."""
    told = folder / f"scheduler-{n_workers}-{time.monotonic_ns()}.json"
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # Dask looks every 10 ms at what its workers do, also while others keep them waiting.
    silent["env"] = os.environ | {"DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}
    dask = [sys.executable, "-m", "dask"]
    with ExitStack() as stack:
        stack.enter_context(
            process(
                *dask, "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                "--scheduler-file", str(told), **silent,
            )
        )  # fmt: skip
        for _ in range(n_workers):
            stack.enter_context(
                process(
                    *dask, "worker", "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard",
                    "--memory-limit", memory, "--local-directory", str(folder),
                    "--scheduler-file", str(told), **silent,
                )
            )  # fmt: skip
        deadline = time.monotonic() + START
        while not told.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        from distributed import Client

        address = json.loads(told.read_text(encoding="utf-8"))["address"]
        with Client(address, timeout=START, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=START)
        yield address


# -- explore, whose client, worker or scheduler dies -----------------------------------------------

#: Files that tell how long things took.
NOT_COMPARED = ("timings.json", "report.html")


def exploring(table: Path, home: Path, address: str | None = None, resume: bool = False):
    """The command that explores a table."""
    given = ["--cluster", address] if address else []
    given += ["--resume"] if resume else []
    return [
        sys.executable, "-m", "subscape", "explore", str(table), "-o", str(home), "--quiet",
        "--effort", "quick", "--search-rows", str(SEARCHED), "--jobs", "1", *given,
    ]  # fmt: skip


def kept(home: Path) -> dict[str, bytes]:
    """The files of a study."""
    return {
        str(file.relative_to(home)): file.read_bytes()
        for file in sorted(home.rglob("*"))
        if file.is_file() and file.name not in NOT_COMPARED and "runs" not in file.parts
    }


def runs_of(home: Path) -> int:
    return sum(1 for _ in (home / "runs").rglob("*.subscape"))


def death(victim: str, table: Path, whole: Path, home: Path, memory: str) -> str:
    """Kill somebody when half of the runs are done, resume, and compare with the whole study."""
    from distributed import Client

    with cluster(2, home.parent, memory) as address:
        with Client(address, timeout=START, set_as_default=False) as client:
            pids = {
                "worker": next(iter(client.run(os.getpid).values())),
                "scheduler": client.run_on_scheduler(os.getpid),
            }
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        with process(*exploring(table, home, address), **silent) as job:
            while runs_of(home) < runs_of(whole) // 2 and job.poll() is None:
                Deadline.left()
                time.sleep(0.05)
            before = runs_of(home)
            os.kill(pids.get(victim, job.pid), signal.SIGKILL)
            code = job.wait(Deadline.left())
    again = code != 0
    if again:
        with cluster(2, home.parent, memory) as address:
            command = exploring(table, home, address, resume=True)
            code = subprocess.run(
                command, **silent, timeout=Deadline.left(), check=False
            ).returncode
    one, two = kept(whole), kept(home)
    unlike = sorted(name for name in {*one, *two} if one.get(name) != two.get(name))
    how = "resumed" if again else "went on by itself"
    same = "the same bytes" if not unlike and code == 0 else f"OTHER: {unlike}, exit {code}"
    return f"| {victim} | {before} of {runs_of(whole)} runs | {how} | {same} |"


def deaths(folder: Path, table: Path, memory: str) -> list[str]:
    """A line for each who is killed under explore."""
    whole = folder / "whole"
    subprocess.run(
        exploring(table, whole), check=True, timeout=Deadline.left(), stdout=subprocess.DEVNULL
    )
    lines = []
    for victim in ("client", "worker", "scheduler"):
        lines.append(death(victim, table, whole, folder / f"study-{victim}", memory))
        print(lines[-1], flush=True)
    return lines


class Deadline:
    """When the script gives up; asked for the seconds that are left."""

    at = float("inf")

    @classmethod
    def left(cls) -> float:
        seconds = cls.at - time.monotonic()
        if seconds <= 0:
            raise SystemExit("the time is up (--minutes)")
        return min(seconds, 24 * 3600.0)


def answer_of(job: str, table: Path, address: str | None = None, kill_after: float | None = None):
    arguments = [sys.executable, __file__, "--job", job, "--table", str(table)]
    if address is not None:
        arguments += ["--address", address]
    if kill_after is not None:
        arguments += ["--kill-after", str(kill_after)]
    try:
        told = subprocess.run(
            arguments, capture_output=True, text=True, timeout=Deadline.left(), check=False
        )
    except subprocess.TimeoutExpired:
        raise SystemExit(f"{job}: the time is up (--minutes)") from None
    for line in told.stdout.splitlines():
        if line.startswith("ANSWER "):
            print(f"{job}: {line}", file=sys.stderr, flush=True)  # what is done, if the time ends
            return json.loads(line.removeprefix("ANSWER "))
    raise SystemExit(f"{job}: {told.stderr[-2000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a small table, ten kills")
    parser.add_argument("--full", action="store_true", help="6 GB")
    parser.add_argument("--rows", type=int, help="another number of rows")
    parser.add_argument("--columns", type=int, help="another number of columns")
    parser.add_argument("--deaths", action="store_true", help="only explore and who dies under it")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--kills", type=int, help="how often a worker is killed under LAC")
    parser.add_argument("--memory", default="2GB", help="limit of a worker")
    parser.add_argument("--minutes", type=float, default=120, help="then it gives up")
    parser.add_argument("--folder", help="where the table is written, and removed from")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    parser.add_argument("--table", help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    parser.add_argument("--kill-after", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--bare", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare is not None:
        run_bare(options.table, options.bare)
        return
    if options.job:
        run_job(options.job, options.table, options.address, options.kill_after)
        return
    Deadline.at = time.monotonic() + 60 * options.minutes
    n_rows, n_features = (120_000, 20) if options.quick else (3_000_000, 50)
    n_rows = 30_000_000 if options.full else options.rows or n_rows
    kills = options.kills if options.kills is not None else (10 if options.quick else 1)
    n_features = options.columns or n_features
    with tempfile.TemporaryDirectory(dir=options.folder) as made:
        if options.deaths:
            write_table(Path(made) / "table", n_rows, n_features)
            deaths(Path(made), Path(made) / "table", options.memory)
            return
        measure(Path(made), n_rows, n_features, options, kills)


def measure(folder: Path, n_rows: int, n_features: int, options, kills: int) -> None:
    from ratios import RESULTS, circumstances, record

    about, table = circumstances(), folder / "table"
    write_table(table, n_rows, n_features)
    size = sum(file.stat().st_size for file in table.iterdir())
    work = {"rows": n_rows, "columns": n_features}
    loads = [os.getloadavg()[0]]
    slowed = hindrance(table)
    here = {job: answer_of(job, table) for job in options.jobs}
    loads.append(os.getloadavg()[0])
    with cluster(1, folder, options.memory) as address:
        alone = {job: answer_of(job, table, address) for job in options.jobs}
    survived = tried = 0
    with cluster(2, folder, options.memory) as address:
        both = {job: answer_of(job, table, address) for job in options.jobs}
        for attempt in range(kills):
            after = both["LAC"]["seconds"] * (attempt + 0.5) / kills if "LAC" in both else 1.0
            found = answer_of("LAC", table, address, kill_after=after)
            tried += found["killed"]
            survived += found["killed"] and found["digest"] == here["LAC"]["digest"]
            time.sleep(3)  # until there is another worker in its place
    loads.append(os.getloadavg()[0])
    kept = f"LAC with a worker killed in the middle: {survived} of {tried} the same bits."
    lines = [
        "# One table on a cluster",
        "",
        f"{n_rows} x {n_features} of float32 in Parquet parts, {size / 1e9:.2f} GB; two workers of "
        f"{options.memory}, one thread each; {about['machine']}; {about['versions']}.",
        "",
        *compared(size, here, alone, both),
        "",
        *hindered(slowed, loads),
        "",
        kept,
    ]
    print("\n".join(lines))
    for job in options.jobs:
        one, two = alone[job], both[job]
        same = one["digest"] == two["digest"] == here[job]["digest"]
        told = {
            "share": 100 * per_pass(two) / size,
            "two workers": one["path"][0] / two["path"][0],
            "bits": int(same),
        }
        for name, value in told.items():
            record("one_table", f"{job} {name}", value, quick=options.quick, work=work)
    record("one_table", "kills", survived, quick=options.quick, work=work)
    if not options.quick:
        (RESULTS / "one_table.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    shutil.rmtree(table)


def per_pass(answer) -> float:
    """Bytes through the client in a pass."""
    return answer["bytes"] / max(answer["passes"], 1)


def compared(size: int, here, alone, both) -> list[str]:
    """Two tables: what travels, with seconds, and processor time; the answers of each job."""
    lines = [
        "| job | here, s | 1 worker, s | 2 workers, s | passes | kB per pass | % of the table "
        "| client's peak, MB | the same bits |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    seconds = [
        "",
        "Processor time, seconds. *Path*: the slower worker of every pass and all of the client. "
        "*Processes* are the workers' with what Dask does there beside the calls, which grows with "
        "the time that others keep them waiting.",
        "",
        "| job | here | client | scheduler | calls of 1 worker | of 2 | path, 1 worker | path, 2 "
        "| ratio | processes of 1 worker | of 2 | path, 1 worker | path, 2 | ratio "
        "| path, 1, to here |",
        "|---|" + "---:|" * 14,
    ]
    for job, local in here.items():
        one, two = alone[job], both[job]
        same = one["digest"] == two["digest"] == local["digest"]
        lines.append(
            f"| {job} | {local['seconds']:.1f} | {one['seconds']:.1f} | {two['seconds']:.1f} "
            f"| {two['passes']} | {per_pass(two) / 1000:.0f} | {100 * per_pass(two) / size:.3f} "
            f"| {two['peak_mb']:.0f} | {'yes' if same else 'NO'} |"
        )
        cells = [f"{each:.2f}" for each in (local["cpu"], two["cpu"], two["scheduler"])]
        for which, kind in enumerate(("calls", "processes")):
            paths = one["path"][which], two["path"][which]
            cells += [f"{one[kind][0]:.2f}", " + ".join(f"{each:.2f}" for each in two[kind])]
            cells += [f"{each:.2f}" for each in (*paths, paths[0] / paths[1])]
        cells.append(f"{one['path'][1] / local['cpu']:.2f}")
        seconds.append(f"| {job} | {' | '.join(cells)} |")
    return lines + seconds


def hindered(slowed: float, loads: list[float]) -> list[str]:
    return [
        f"Two processes that read half of the files each, without any cluster, take {slowed:.2f} "
        f"times as much processor time at the same time as one after the other: more than "
        f"{2 / slowed:.2f} times no two workers can be here. Load of the machine (processes that "
        f"wanted one of {os.cpu_count()} cores): {min(loads):.1f} to {max(loads):.1f}."
    ]


if __name__ == "__main__":
    main()
