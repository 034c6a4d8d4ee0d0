"""Take the options of a run in chunks from its request, and start its engine."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from isthmus import __version__
from isthmus.exceptions import DataError, UsageError
from isthmus.options import JobOptions, Option
from isthmus.scale.engine import DaskEngine, LocalEngine, connect, local_cluster
from isthmus.scale.processes import ProcessEngine

PARALLEL_BYTES = 32 * 2**20  # bytes of input below which one process ends before a second one has started
Function = TypeVar("Function", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=JobOptions)
Paths = Mapping[str, list[str]]  # of "source" and "target"


# -- the options of the functions --------------------------------------------------------------------------------------


def block_options(kind: type[JobOptions]) -> list[Option]:
    """Return the options of a request that a run in chunks supports."""
    return [spec for spec in kind.options().values() if spec.blocks and not spec.command_only]


def takes_options(kind: type[JobOptions]) -> Callable[[Function], Function]:
    """Add the options of a request to the signature and the docstring of a function that takes ``**options``."""

    def show(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [part for part in signature.parameters.values() if part.kind is not part.VAR_KEYWORD]
        options = [
            inspect.Parameter(spec.key, inspect.Parameter.KEYWORD_ONLY, default=spec.fill(spec.default))
            for spec in block_options(kind)
        ]
        function.__signature__ = signature.replace(parameters=[*own, *options])  # type: ignore[attr-defined]
        described = "\n".join(map(_describe, block_options(kind)))
        first, end, rest = inspect.cleandoc(function.__doc__ or "").partition("\n\nReturns\n")
        function.__doc__ = f"{first}\n{described}{end}{rest}"
        return function

    return show


def _describe(spec: Option) -> str:
    kind = spec.kind.__name__.lower()
    if spec.many:
        kind = f"{kind} or sequence of {kind}"
    elif spec.choices:
        kind = "{" + ", ".join(map(json.dumps, spec.choices)) + "}"
    start = spec.fill(spec.default)
    usual = "optional" if start in (None, ()) else f"default={json.dumps(start) if isinstance(start, str) else start}"
    return f"{spec.key} : {kind}, {usual}\n    {spec.help}"


def block_request(kind: type[Kind], output: str | os.PathLike, spreadsheet_safe: bool, options: dict[str, Any]) -> Kind:
    """Return the request of a function with :func:`takes_options`; raise TypeError for an unknown option."""
    unknown = options.keys() - {spec.key for spec in block_options(kind)}
    if unknown:
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    return kind.build({**options, "output": os.fspath(output), "exact": not spreadsheet_safe})


def make_plan(request: JobOptions, paths: Paths) -> dict[str, Any]:
    """Return what distinguishes runs: options, version, and names, sizes and times of the inputs."""
    files: dict[str, list] = {}
    for side, names in paths.items():
        for path in names:
            try:
                # Size and time distinguish files without reading them.
                stat = os.stat(path)
            except OSError:
                raise DataError(f"There is no file {path!r}; check the name.", code="missing-file") from None
            files.setdefault(side, []).append([os.path.abspath(path), stat.st_size, stat.st_mtime_ns])
    return json.loads(json.dumps({"version": __version__, "settings": request.deciding(), **files}))


# -- where it takes place ----------------------------------------------------------------------------------------------


def start_engine(
    request: JobOptions, work: Path, paths: Paths, *, client: Any = None, tls: Mapping[str, str] | None = None
) -> LocalEngine:
    """Start the engine of a run; ``client`` and ``tls`` are those of :func:`isthmus.scale.label_files`."""
    workers = request.workers
    if client is not None:
        return DaskEngine(client)
    if request.scheduler is not None:
        return connect(request.scheduler, dict(tls or {}))
    if request.engine == "dask":
        return local_cluster(work, workers or _cores(), request.memory_limit)
    if request.engine == "memory":
        if workers not in (None, 1):
            raise UsageError(f"engine='memory' is one process; leave workers={workers} or the engine out.")
        return LocalEngine()
    large = sum(os.path.getsize(path) for path in (*paths["source"], *paths["target"])) >= PARALLEL_BYTES
    workers = workers or (_cores() if large else 1)
    return ProcessEngine(workers) if workers > 1 else LocalEngine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
