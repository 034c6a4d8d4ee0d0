"""Which code computed a row: the modules of ours that its process had loaded, each by what its file holds.

A module that was not loaded had no say: a change of the report does not make a row of a method stale.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import isthmus
import isthmus_bench

_ROOTS = {package.__name__: Path(str(package.__file__)).parent for package in (isthmus, isthmus_bench)}
_LENGTH = 12  # hexadecimal digits of a hash


def hash_file(path: Path) -> str:
    """SHA-256 of a file, kept for the process as long as its size and time do not change."""
    facts = path.stat()
    return _hash_file(path, facts.st_size, facts.st_mtime_ns)


@functools.lru_cache(maxsize=2048)
def _hash_file(path: Path, size: int, mtime: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def loaded_code() -> dict[str, str]:
    """Every loaded module of ours, with the hash of its file."""
    names = sorted(name for name in tuple(sys.modules) if name.split(".")[0] in _ROOTS)
    found = {name: current_hash(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def current_hash(module: str) -> str | None:
    """Hash of a module's file as it is now; None where there is none."""
    root, *parts = module.split(".")
    place = _ROOTS[root].joinpath(*parts)
    files = (place.with_suffix(".py"), place / "__init__.py") if parts else (place / "__init__.py",)
    path = next((file for file in files if file.is_file()), None)
    return None if path is None else hash_file(path)[:_LENGTH]


def digest(code: Mapping[str, str]) -> str:
    """One hash for all of it."""
    return hashlib.sha256(json.dumps(sorted(code.items())).encode()).hexdigest()[:_LENGTH]


def changed_modules(code: Mapping[str, str]) -> list[str]:
    """Modules whose file holds something else now, or is gone."""
    return [name for name, value in code.items() if current_hash(name) != value]
