"""Passes over chunks on several processes of this machine.

A worker is a new interpreter that is addressed through its pipes. Forking would copy the threads of numeric libraries
in an unknown state, and the other ways of ``multiprocessing`` run the caller's script once more in every worker, which
a script without ``if __name__ == "__main__"`` does not survive.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from queue import SimpleQueue
from typing import Any

from isthmus.exceptions import DataError
from isthmus.scale.engine import HasRows, LocalEngine, Meter, cut_groups, join_groups, run_noted

_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from isthmus.scale.processes import serve; serve()"
)
# Each worker has a core of its own.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
_TASKS = 16  # groups of chunks per worker and pass: the steps in which progress is reported


class ProcessEngine(LocalEngine):
    """Groups of chunks go to whichever worker is free. A pass of a single chunk runs in this process."""

    def __init__(self, workers: int):
        self.workers = workers
        # A session of its own: Ctrl-C reaches only this process, which then ends its workers.
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "start_new_session": True}
        command, env = [sys.executable, "-c", _START], {**os.environ, **_ONE_THREAD}
        self._processes = [subprocess.Popen(command, env=env, **pipes) for _ in range(workers)]
        self._threads = ThreadPoolExecutor(workers)  # one waits for each worker's answer
        self._free = SimpleQueue[Any]()
        for process in self._processes:
            _send(process, sys.path)
            self._free.put(process)

    def close(self) -> None:
        """End the worker processes."""
        for process in self._processes:
            process.kill()
            process.wait()
        self._threads.shutdown(cancel_futures=True)
        for process in self._processes:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # an unsent request may be in the buffer
                    pipe.close()  # type: ignore[union-attr]  # it is a pipe

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """Run a pass as :meth:`LocalEngine._run`; of several errors, the one of the first chunk is raised."""
        # Sending one chunk away takes longer than reading it here.
        if len(chunks) < 2:
            return super()._run(function, chunks, args, add, phase)
        # Pickled once for all groups; a worker loads it once for a pass.
        opening = pickle.dumps((function, args, add), protocol=pickle.HIGHEST_PROTOCOL)

        def ask(group: Sequence[HasRows]) -> tuple[Any, list]:
            process = self._free.get()
            try:
                _send(process, (opening, group))
                error, answer = pickle.load(process.stdout)
            except (EOFError, pickle.UnpicklingError, OSError, ValueError):
                raise _lost(process) from None
            finally:
                self._free.put(process)
            if error is not None:
                raise error
            return answer

        groups = cut_groups(chunks, _TASKS * self.workers)
        meter, answers = Meter(phase, chunks), []
        try:
            for group, answer in zip(groups, self._threads.map(ask, groups), strict=True):
                meter.add(sum(chunk.rows for chunk in group))
                answers.append(answer)
        except BaseException:
            self.close()  # a worker may be in the middle of a group
            raise
        return join_groups(answers, add)


def _send(process: subprocess.Popen, message: Any) -> None:
    pickle.dump(message, process.stdin, protocol=pickle.HIGHEST_PROTOCOL)  # type: ignore[arg-type]  # it is a pipe
    process.stdin.flush()  # type: ignore[union-attr]


def _lost(process: subprocess.Popen) -> DataError:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    return DataError(
        f"A worker process ended by itself (status {process.poll()}), most likely because memory ran out; "
        "continue with workers=1 and resume=True, or start again with force=True and fewer rows per block.",
        code="lost-cluster",
    )


def serve() -> None:
    """Answer requests about groups of chunks until the run closes the pipe; a worker process runs this."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of a library must not come between the answers
    gc.freeze()  # the collector need not examine the loaded modules with every chunk
    load = lru_cache(maxsize=1)(pickle.loads)  # the function and the arguments of a pass are the same for all groups
    with suppress(EOFError):
        while True:
            opening, group = pickle.load(requests)
            answer: tuple[Exception | None, Any]
            try:
                function, args, add = load(opening)
                answer = None, run_noted(function, group, args, add)
            except Exception as failure:
                answer = failure, None
            try:
                pickle.dump(answer, answers, protocol=pickle.HIGHEST_PROTOCOL)
                answers.flush()
            except BrokenPipeError:
                os._exit(1)  # the run was killed
