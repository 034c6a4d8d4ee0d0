"""Run passes over chunks in this process or on a dask cluster, with the same functions."""

from __future__ import annotations

import operator
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from isthmus._progress import progress
from isthmus._utils import import_optional
from isthmus.exceptions import DataError, IsthmusError

_TASKS = 6  # groups of chunks per worker and pass: few sums are sent, and the load is balanced
_LOOK_AGAIN = 2.0  # seconds after which the state of futures is read again: the client can miss a notice


class HasRows(Protocol):
    """Describe the unit of a pass: something with a number of rows."""

    @property
    def rows(self) -> int:
        """Number of rows, for the progress."""


class Meter:
    """Report the progress of a pass in rows, with rows per second."""

    def __init__(self, phase: str, chunks: Sequence[HasRows]):
        self.phase, self.done, self.began = phase, 0, time.monotonic()
        self.total = sum(chunk.rows for chunk in chunks)
        progress(phase, 0, self.total or None)

    def add(self, rows: int) -> None:
        """Report that more rows are done."""
        self.done += rows
        spent = time.monotonic() - self.began
        progress(self.phase, self.done, self.total, rate=self.done / spent if spent > 0 else None)


class LocalEngine:
    """Run one chunk after another in this process."""

    workers = 1

    def map(self, function: Callable, chunks: Sequence[HasRows], *args: Any, phase: str) -> list:
        """Return ``function(chunk, *args)`` of all chunks, in order."""
        return self._run(function, chunks, args, None, phase)

    def sum(
        self, function: Callable, chunks: Sequence[HasRows], *args: Any, phase: str, add: Callable = operator.add
    ) -> Any:
        """Return the sum of ``function(chunk, *args)`` of all chunks. ``add`` must not depend on the order."""
        return reduce(add, self._run(function, chunks, args, add, phase))

    def close(self) -> None:
        """Release the workers; this engine has none."""
        pass

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """Return the results of all chunks in their order, or sums of some of them where ``add`` is given."""
        meter = Meter(phase, chunks)

        def results() -> Iterator[Any]:
            for chunk in chunks:
                yield function(chunk, *args)
                meter.add(chunk.rows)

        return list(results()) if add is None else [reduce(add, results())]


class DaskEngine(LocalEngine):
    """Run passes on the workers of a dask cluster; ``owned`` is closed at the end.

    Workers read the input and write the files of their chunks; only sums are sent. The arguments of a pass are a task
    of their own, so that the scheduler computes them again if the worker that holds them dies.
    """

    def __init__(self, client: Any, owned: Sequence[Any] = ()):
        self.client = client
        self._owned = list(owned)

    @property
    def workers(self) -> int:  # type: ignore[override]  # it may change
        """Number of workers of the cluster."""
        with _cluster_at_hand():
            found = self.client.scheduler_info(n_workers=-1)
            if "workers" not in found:
                raise ConnectionError("no scheduler")
            return max(1, len(found["workers"]))

    def close(self) -> None:
        """Close what this engine started."""
        for thing in self._owned:
            thing.close()

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """Run a pass as :meth:`LocalEngine._run`; sums are added in a tree on the workers."""
        groups = cut_groups(chunks, _TASKS * self.workers)
        meter = Meter(phase, chunks)
        dask = import_optional("dask", "A dask cluster", extra="scale")
        with _cluster_at_hand():
            # A pass sends its arguments once; their size is no reason for a warning.
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                held = self.client.submit(tuple, args, pure=False)
            futures = [self.client.submit(run_noted, function, group, held, add, pure=False) for group in groups]
            sums = futures
            # Adding four at a time keeps the depth of the tree and the size of a task small.
            while add is not None and len(sums) > 1:
                fours = [sums[i : i + 4] for i in range(0, len(sums), 4)]
                sums = [self.client.submit(_add_noted, add, four, pure=False) for four in fours]
            rows = [sum(chunk.rows for chunk in group) for group in groups]
            self._follow({**dict.fromkeys(sums, 0), **dict(zip(futures, rows, strict=True))}, meter)
            gathered = self.client.gather(sums)
        return join_groups(gathered, add)

    def _follow(self, left: dict[Any, int], meter: Meter) -> None:
        """Wait until all futures are done, and report the rows of each."""
        distributed = import_optional("distributed", "A dask cluster", extra="scale")
        while left:
            done = [future for future in left if future.done()]
            for future in done:
                if future.status in ("error", "cancelled"):
                    future.result()  # raises
                if rows := left.pop(future):
                    meter.add(rows)
            if left and not done:
                with suppress(TimeoutError):
                    distributed.wait([*left], timeout=_LOOK_AGAIN, return_when="FIRST_COMPLETED")


@contextmanager
def _cluster_at_hand() -> Iterator[None]:
    """Raise a DataError with one sentence if the cluster is lost."""
    distributed = import_optional("distributed", "A dask cluster", extra="scale")
    from concurrent.futures import CancelledError

    try:
        yield
    except IsthmusError:
        raise
    except distributed.KilledWorker as error:
        raise DataError(
            f"Workers died repeatedly at the same task ({str(error).split('(')[0].strip()}), most likely because "
            "memory ran out; give them more and continue with resume=True, or start again with force=True and fewer "
            "rows per block.",
            code="lost-cluster",
        ) from None
    except (distributed.comm.CommClosedError, CancelledError, TimeoutError, ConnectionError) as error:
        raise DataError(
            f"The dask scheduler no longer responds ({type(error).__name__}); restart it and continue "
            "with resume=True.",
            code="lost-cluster",
        ) from None


def cut_groups(chunks: Sequence[HasRows], most: int) -> list[Sequence[HasRows]]:
    """Return at most so many groups of neighbouring chunks."""
    # Round up, so that there are at most ``most`` groups.
    size = max(1, -(-len(chunks) // most))
    return [chunks[start : start + size] for start in range(0, len(chunks), size)]


def run_noted(
    function: Callable, group: Sequence[HasRows], args: tuple, add: Callable | None
) -> tuple[Any, list[Warning | str]]:
    """Return the results of a group of chunks, or their sum where ``add`` is given, and the warnings."""
    results = (function(chunk, *args) for chunk in group)
    # Warnings of a worker would go to its own standard error.
    with warnings.catch_warnings(record=True) as caught:
        found = list(results) if add is None else reduce(add, results)
    return found, [caution.message for caution in caught]


def join_groups(found: Sequence[tuple[Any, list[Warning | str]]], add: Callable | None) -> list:
    """Warn as the groups did; return all results, or the sums of the groups where ``add`` is given."""
    for caution in chain.from_iterable(cautions for _, cautions in found):
        warnings.warn(caution, stacklevel=2)
    parts = [part for part, _ in found]
    return parts if add is not None else list(chain.from_iterable(parts))


def _add_noted(add: Callable, parts: Sequence[tuple[Any, list]]) -> tuple[Any, list]:
    results, cautions = zip(*parts, strict=True)
    return reduce(add, results), list(chain.from_iterable(cautions))


def local_cluster(folder: str | Path, workers: int, memory_limit: str | None = None) -> DaskEngine:
    """Start a cluster on this machine with one thread per process; workers that die are restarted."""
    dask = import_optional("dask", "engine='dask'", extra="scale")
    distributed = import_optional("distributed", "engine='dask'", extra="scale")
    # A worker that is killed is no reason to give up a task: only a task that kills every worker is.
    dask.config.set({"distributed.scheduler.allowed-failures": 10, "distributed.worker.daemon": False})
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        memory_limit=memory_limit or "auto",
        dashboard_address=None,
        silence_logs=50,
        local_directory=str(Path(folder) / "dask"),
    )
    client = distributed.Client(cluster)
    return DaskEngine(client, [client, cluster])


def connect(address: str, tls: dict[str, str] | None = None, timeout: float = 20.0) -> DaskEngine:
    """Connect to a running scheduler; ``tls`` has the fields of ``distributed.Security``."""
    distributed = import_optional("distributed", "scheduler=ADDRESS", extra="scale")
    # Without encryption anybody on the network could send tasks to the workers.
    security = distributed.Security(require_encryption=True, **tls) if tls else None
    try:
        client = distributed.Client(address, security=security, timeout=timeout)
    except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:  # two of them where TLS is missing
        raise DataError(
            f"No dask scheduler answers at {address!r} ({str(error).splitlines()[0]}); check the address, that it runs "
            "and, for tls://, the files named by tls=….",
            code="lost-cluster",
        ) from None
    return DaskEngine(client, [client])
