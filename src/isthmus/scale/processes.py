"""Passes over blocks on several processes of this machine.

A worker is a new interpreter that is spoken to through its pipes. Forking would copy the threads of numeric libraries
in an unknown state, and the other ways of ``multiprocessing`` run the caller's script once more in every worker, which
a script without ``if __name__ == "__main__"`` does not survive.
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

from isthmus.exceptions import DataError
from isthmus.scale.engine import HasRows, LocalEngine, Meter, warn_again

_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from isthmus.scale.processes import serve; serve()"
)
# Each worker has a core of its own.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
_ENDED = object()


class ProcessEngine(LocalEngine):
    """Blocks go to whichever worker is free. A pass of a single block is done here."""

    def __init__(self, workers: int):
        self.workers = workers
        self._processes = [_Worker() for _ in range(workers)]

    def close(self) -> None:
        for worker in self._processes:
            worker.kill()

    def _run(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> list:
        """As :meth:`LocalEngine._run`; a worker adds up what it has done and sends the sum."""
        if len(chunks) < 2:
            return super()._run(function, chunks, args, add, phase)
        found = list(self._answers(function, chunks, args, add, phase))
        if add is None:
            return [result for _, result in sorted(found, key=itemgetter(0))]
        return [total for _, total in found if total is not None]  # a worker may have come too late for any

    def _answers(
        self, function: Callable, chunks: Sequence[HasRows], args: tuple, add: Callable | None, phase: str
    ) -> Iterator[tuple[int, Any]]:
        """Results by the chunk's place, or each worker's sum, as they come.

        After an error no further chunk is begun; of several, the one of the first chunk is raised, whichever worker was
        quicker.
        """
        meter = Meter(phase, chunks)
        opening = pickle.dumps((function, args, add), protocol=pickle.HIGHEST_PROTOCOL)
        todo, lock, said = iter(enumerate(chunks)), Lock(), SimpleQueue[Any]()
        errors: dict[int, BaseException] = {}

        def take() -> tuple[int, HasRows] | None:
            with lock:
                return None if errors else next(todo, None)

        def drive(worker: _Worker) -> None:
            place = len(chunks)
            try:
                worker.send(opening)
                while (taken := take()) is not None:
                    place, chunk = taken
                    said.put((chunk.rows, place, *worker.ask(chunk)))
                said.put((0, -1, *worker.ask(None)))
            except BaseException as error:
                errors[place] = error
            said.put(_ENDED)

        driven = self._processes[: len(chunks)]
        for worker in driven:
            Thread(target=drive, args=(worker,), daemon=True).start()
        left = len(driven)
        while left:
            message = said.get()
            if message is _ENDED:
                left -= 1
                continue
            rows, place, result, cautions = message
            meter.add(rows)
            warn_again(cautions)
            if (place < 0) == (add is not None):
                yield place, result
        if errors:
            self.close()  # a worker may be in the middle of a pass
            raise errors[min(errors)]


class _Worker:
    def __init__(self) -> None:
        # A session of its own: Ctrl-C reaches this process alone, which then ends its workers.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **_ONE_THREAD},
            start_new_session=True,
        )
        self.send(pickle.dumps(sys.path))

    def send(self, packed: bytes) -> None:
        try:
            self._process.stdin.write(packed)  # type: ignore[union-attr]  # it is a pipe
            self._process.stdin.flush()  # type: ignore[union-attr]
        except (BrokenPipeError, ValueError):
            raise self._lost() from None

    def ask(self, chunk: Any) -> tuple[Any, list[Warning]]:
        """The answer about a chunk, or the sum where there is none, and its warnings."""
        self.send(pickle.dumps(chunk, protocol=pickle.HIGHEST_PROTOCOL))
        try:
            well, answer, cautions = pickle.load(self._process.stdout)  # type: ignore[arg-type]
        except (EOFError, pickle.UnpicklingError, OSError, ValueError):
            raise self._lost() from None
        if not well:
            raise answer
        return answer, cautions

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):  # something may still have been on its way
                pipe.close()  # type: ignore[union-attr]

    def _lost(self) -> DataError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        return DataError(
            f"A worker process ended by itself (status {self._process.poll()}), most likely because memory ran out; "
            "continue with workers=1 and resume=True, or start again with force=True and fewer rows per block.",
            code="lost-cluster",
        )


def serve() -> None:
    """The worker's loop: for every pass, answer about chunks until there are none, then send the sum."""
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not come between the answers
    gc.freeze()  # what is loaded stays; the collector need not look at it again with every block
    with warnings.catch_warnings(record=True) as caught:  # the run says them, in its own way
        try:
            while True:
                _serve_pass(requests, answers, caught)
        except EOFError:
            return
        except BrokenPipeError:
            os._exit(1)  # the run was killed; nobody is left to be told


def _serve_pass(requests: Any, answers: Any, caught: list) -> None:
    function, args, add = pickle.load(requests)
    total = None
    while (chunk := pickle.load(requests)) is not None:
        result = error = None
        try:
            result = function(chunk, *args)
            if add is not None:
                total, result = result if total is None else add(total, result), None
        except Exception as failure:
            error = failure
        _answer(answers, result, error, caught)
    _answer(answers, total, None, caught)


def _answer(answers: Any, result: Any, error: Exception | None, caught: list) -> None:
    told = (error is None, result if error is None else error, [caution.message for caution in caught])
    caught.clear()
    pickle.dump(told, answers, protocol=pickle.HIGHEST_PROTOCOL)
    answers.flush()
