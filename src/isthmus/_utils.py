"""Small things that several rooms need: optional packages, versions, plain values, threads, words, warnings."""

from __future__ import annotations

import ctypes
import importlib
import math
import os
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from isthmus.exceptions import IsthmusWarning, MissingExtraError

PACKAGES = ("isthmus", "numpy", "scipy", "scikit-learn", "numba", "PyStemmer", "polars")


def import_optional(name: str, purpose: str, *, extra: str = "app") -> Any:
    """A module of an optional package, or one sentence that says which ``extra`` brings it.

    ``purpose`` is what needs it, as the beginning of a sentence: ``"Reading reviews.parquet"``.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs the package {package}; install it with: pip install 'isthmus[{extra}]'.",
            code="missing-extra",
        ) from None


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    from importlib import metadata  # slow to load, and most runs need no versions

    known = {"python": platform.python_version()}
    for name in packages:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return known


def to_plain(value: Any) -> Any:
    """A value that JSON can hold: numpy scalars and arrays unpacked, NaN and infinity as None."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays, asked without loading numpy
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def as_python(value: Any) -> Any:
    """A numpy scalar as Python's own; anything else as it is."""
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


def n_threads(n_jobs: int | None) -> int:
    """Threads that ``n_jobs`` means, counted as in joblib: negative numbers from all cores down."""
    if n_jobs is None:
        return 1
    cores = os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs if n_jobs < 0 else n_jobs)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread of linear algebra inside the block or the decorated function, for the whole process.

    For many small products, and where several methods run at a time: further threads would only wait for one another.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def return_memory() -> None:
    """Hand freed memory back to the system where its C library keeps it (glibc); a few milliseconds.

    After a step that took much: what is freed in pieces of less than 32 MB would otherwise count until the end.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def plural(n: int, one: str, many: str | None = None) -> str:
    """``3 texts``, ``1 text``, with a thousands separator."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def spell_time(seconds: float) -> str:
    """A span of time in words, rounded.

    >>> [spell_time(seconds) for seconds in (0.4, 7.2, 43, 60, 100, 4000, 13_600)]
    ['1 s', '7 s', '45 s', '1 minute', '2 minutes', '67 minutes', '4 hours']
    """
    if seconds >= 90 * 60:
        return plural(round(seconds / 3600), "hour")
    if seconds >= 57.5:
        return plural(round(seconds / 60), "minute")
    return f"{max(1, round(seconds))} s" if seconds < 10 else f"{5 * round(seconds / 5)} s"


def warn(message: str, *, code: str) -> None:
    """Warn at the line of the first caller outside this package."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "isthmus":
        level, frame = level + 1, frame.f_back
    warnings.warn(IsthmusWarning(message, code=code), stacklevel=level)
