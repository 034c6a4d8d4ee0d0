"""Provide helpers that several packages share, such as optional imports, plain values, threads and warnings."""

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
    """Import an optional package, or raise an error that names the extra to install.

    Parameters
    ----------
    name : str
        Module to import.
    purpose : str
        Task that needs the package, as the beginning of a sentence: ``"Reading reviews.parquet"``.
    extra : str
        Extra of Isthmus that installs the package.

    Returns
    -------
    module

    Raises
    ------
    MissingExtraError
        The package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        # Users install a whole distribution, not one of its modules.
        package = name.partition(".")[0]
        raise MissingExtraError(
            f"{purpose} needs the package {package}; install it with: pip install 'isthmus[{extra}]'.",
            code="missing-extra",
        ) from None


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of the installed packages.

    Parameters
    ----------
    packages : iterable of str
        Names of distributions; missing distributions are left out.

    Returns
    -------
    dict of str to str
    """
    from importlib import metadata  # slow to load, and most runs need no versions

    known = {"python": platform.python_version()}
    for name in packages:
        try:
            known[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return known


def to_plain(value: Any) -> Any:
    """Convert a value to types that JSON supports.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
        NumPy scalars and arrays become Python values; NaN and infinity become None; unknown types become str.
    """
    if hasattr(value, "tolist"):  # a scalar or array of numpy; this test does not import numpy
        value = value.tolist()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def as_python(value: Any) -> Any:
    """Return a numpy scalar as a Python value, and any other value unchanged.

    Parameters
    ----------
    value : object

    Returns
    -------
    object
    """
    return value.item() if hasattr(value, "item") and not getattr(value, "shape", ()) else value


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``, counted as in joblib.

    Parameters
    ----------
    n_jobs : int or None
        None is one thread; -1 is all cores, -2 is all but one.

    Returns
    -------
    int
        At least 1.
    """
    if n_jobs is None:
        return 1
    # None where the system does not report its cores.
    cores = os.cpu_count() or 1
    return max(1, cores + 1 + n_jobs if n_jobs < 0 else n_jobs)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit linear algebra to one thread inside the block or the decorated function.

    The limit applies to the whole process. It helps with many small products and with methods that run in parallel:
    more threads would wait for each other.

    Yields
    ------
    None
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield


def return_memory() -> None:
    """Return freed memory to the operating system, if its C library supports this (glibc).

    Call it after a step with a large memory demand. glibc retains freed chunks below 32 MB, and they would count as
    used memory until the process ends. The call takes a few milliseconds.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def plural(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun, such as ``3 texts`` or ``1 text``.

    Parameters
    ----------
    n : int
        The number, written with a thousands separator.
    one : str
        Singular.
    many : str, optional
        Plural; the singular with "s" if omitted.

    Returns
    -------
    str
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def spell_time(seconds: float) -> str:
    """Return a time span in words, rounded.

    Parameters
    ----------
    seconds : float

    Returns
    -------
    str

    Examples
    --------
    >>> [spell_time(seconds) for seconds in (0.4, 7.2, 43, 60, 100, 4000, 13_600)]
    ['1 s', '7 s', '45 s', '1 minute', '2 minutes', '67 minutes', '4 hours']
    """
    if seconds >= 90 * 60:
        return plural(round(seconds / 3600), "hour")
    if seconds >= 57.5:
        return plural(round(seconds / 60), "minute")
    return f"{max(1, round(seconds))} s" if seconds < 10 else f"{5 * round(seconds / 5)} s"


def warn(message: str, *, code: str) -> None:
    """Warn at the line of the first caller outside this package.

    Parameters
    ----------
    message : str
    code : str
        A key of ``isthmus.exceptions.CODES``.
    """
    # The warning must point to a line of the user's code, however deep the call is.
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "isthmus":
        level, frame = level + 1, frame.f_back
    warnings.warn(IsthmusWarning(message, code=code), stacklevel=level)
