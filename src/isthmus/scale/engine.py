"""Where passes over blocks run: in this process, or on a dask cluster. The functions that they run are the same."""

from __future__ import annotations

import operator
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from isthmus._progress import progress
from isthmus._utils import import_optional
from isthmus.exceptions import DataError, IsthmusError

_TASKS = 6  # groups of blocks a worker gets per pass: few enough tables travel, enough to share the load
_LOOK_AGAIN = 2.0  # seconds after which the state of futures is read anew: the client can lose the notice of one


class HasRows(Protocol):
    @property
    def rows(self) -> int: ...


class Meter:
    """Progress of a pass in rows, with rows per second."""

    def __init__(self, phase: str, chunks: Sequence[HasRows]):
        self.phase, self.done, self.began = phase, 0, time.monotonic()
        self.total = sum(chunk.rows for chunk in chunks)
        progress(phase, 0, self.total or None)

    def add(self, rows: int) -> None:
        self.done += rows
        spent = time.monotonic() - self.began
        progress(self.phase, self.done, self.total, rate=self.done / spent if spent > 0 else None)


class LocalEngine:
    """One block after another in this process."""

    workers = 1

    def map(self, function: Callable, chunks: Sequence[HasRows], *args: Any, phase: str) -> list:
        """``function(chunk, *args)`` of every chunk, in order."""
        return self._run(function, chunks, args, None, phase)

    def sum(
        self, function: Callable, chunks: Sequence[HasRows], *args: Any, phase: str, add: Callable = operator.add
    ) -> Any:
        """``function(chunk, *args)`` of every chunk, added up. ``add`` must not depend on the order."""
        return reduce(add, self._run(function, chunks, args, add, phase))

    def close(self) -> None:
        pass

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """Results of all chunks in their order, or sums of some of them where ``add`` is given."""
        found = run_group(function, chunks, args, add, Meter(phase, chunks))
        return found if add is None else [found]


class DaskEngine(LocalEngine):
    """The same passes on the workers of a dask cluster; ``owned`` is closed at the end.

    Workers read shards and write their blocks' files; only sums travel. Arguments of a pass are a task of their own, so
    that the scheduler makes them again if the worker that holds them dies.
    """

    def __init__(self, client: Any, owned: Sequence[Any] = ()):
        self.client = client
        self._owned = list(owned)

    @property
    def workers(self) -> int:  # type: ignore[override]  # it may change
        with _cluster_at_hand():
            found = self.client.scheduler_info(n_workers=-1)
            if "workers" not in found:
                raise ConnectionError("no scheduler")
            return max(1, len(found["workers"]))

    def close(self) -> None:
        for thing in self._owned:
            thing.close()

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """As :meth:`LocalEngine._run`; sums are added in a tree on the workers."""
        size = max(1, -(-len(chunks) // (_TASKS * self.workers)))  # neighbours together, several groups a worker
        groups = [chunks[i : i + size] for i in range(0, len(chunks), size)]
        meter = Meter(phase, chunks)
        dask = import_optional("dask", "A dask cluster", extra="scale")
        with _cluster_at_hand():
            with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}):
                held = self.client.submit(_same, args, pure=False)
            futures = [self.client.submit(_on_worker, function, group, held, add, pure=False) for group in groups]
            sums = futures
            while add is not None and len(sums) > 1:
                fours = [sums[i : i + 4] for i in range(0, len(sums), 4)]
                sums = [self.client.submit(_add_noted, add, four, pure=False) for four in fours]
            rows = [sum(chunk.rows for chunk in group) for group in groups]
            self._follow({**dict.fromkeys(sums, 0), **dict(zip(futures, rows, strict=True))}, meter)
            gathered = self.client.gather(sums)
        warn_again(chain.from_iterable(cautions for _, cautions in gathered))
        parts = [part for part, _ in gathered]
        return parts if add is not None else list(chain.from_iterable(parts))

    def _follow(self, left: dict[Any, int], meter: Meter) -> None:
        """Wait until the futures in ``left`` are done, and count the rows of each."""
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
    """What a lost cluster raises becomes one sentence."""
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


def _same(args: tuple) -> tuple:
    return args


def run_group(
    function: Callable, group: Sequence[HasRows], args: tuple, add: Callable | None, meter: Meter | None = None
) -> Any:
    def results() -> Iterator[Any]:
        for chunk in group:
            yield function(chunk, *args)
            if meter is not None:
                meter.add(chunk.rows)

    return list(results()) if add is None else reduce(add, results())


def _on_worker(function: Callable, group: Sequence[HasRows], args: tuple, add: Callable | None) -> tuple[Any, list]:
    """As :func:`run_group`, with what was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        result = run_group(function, group, args, add)
    return result, [caution.message for caution in caught]


def _add_noted(add: Callable, parts: Sequence[tuple[Any, list]]) -> tuple[Any, list]:
    results, cautions = zip(*parts, strict=True)
    return reduce(add, results), list(chain.from_iterable(cautions))


def warn_again(cautions: Iterable[Any]) -> None:
    for caution in cautions:
        warnings.warn(caution, stacklevel=2)


def local_cluster(folder: str | Path, workers: int, memory_limit: str | None = None) -> DaskEngine:
    """One thread per process; workers that die are restarted."""
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
    """A cluster that somebody else runs; ``tls`` has the fields of ``distributed.Security``."""
    distributed = import_optional("distributed", "scheduler=ADDRESS", extra="scale")
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
