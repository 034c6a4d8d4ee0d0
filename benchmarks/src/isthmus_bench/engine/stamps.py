"""Which code computed a row: the modules of ours that its process had loaded, each by what its file computes.

A module that was not loaded had no say: a change of the report does not make a row of a method stale. Nor does a
comment, a docstring or a line break, or a change of this engine, which runs methods and keeps what they return.

A process that computed other methods before has their modules loaded, so a row may name more modules than it needs.
They are not narrowed to those of which a function ran: compiled loops, constants and rows kept for the task matter
without being called again.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import isthmus
import isthmus_bench

_ROOTS = {package.__name__: Path(str(package.__file__)).parent for package in (isthmus, isthmus_bench)}
_ENGINE = __name__.rpartition(".")[0]
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
    """Every loaded module of ours that may compute, with the hash that its code had when it was first seen here."""
    names = sorted(name for name in tuple(sys.modules) if name.split(".")[0] in _ROOTS and not name.startswith(_ENGINE))
    found = {name: _hash_when_seen(name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


@functools.cache
def _hash_when_seen(module: str) -> str | None:
    """A file that is edited while its rows are computed is not what computes them."""
    return current_hash(module)


def current_hash(module: str) -> str | None:
    """Hash of a module's code as its file is now; None where there is none."""
    root, *parts = module.split(".")
    place = _ROOTS[root].joinpath(*parts)
    files = (place.with_suffix(".py"), place / "__init__.py") if parts else (place / "__init__.py",)
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        return None
    facts = path.stat()
    return _hash_module(path, facts.st_size, facts.st_mtime_ns)


@functools.lru_cache(maxsize=2048)
def _hash_module(path: Path, size: int, mtime: int) -> str:
    return hash_code(path.read_bytes())


def hash_code(source: str | bytes) -> str:
    """Hash of what Python code computes: its syntax without positions, comments and docstrings.

    >>> hash_code("x = 1  # one") == hash_code("'A number.'; x = (1)") != hash_code("x = 2")
    True
    """
    return hashlib.sha256(repr(_outline(ast.parse(source))).encode()).hexdigest()[:_LENGTH]


def _outline(part: Any) -> Any:
    """A syntax tree as nested tuples; empty fields are left out, since Python versions differ in them."""
    if isinstance(part, list):
        return [_outline(item) for item in part if not _is_docstring(item)]
    if not isinstance(part, ast.AST):
        return part
    fields = [(name, _outline(value)) for name, value in ast.iter_fields(part)]
    return type(part).__name__, *(field for field in fields if field[1] not in (None, []))


def _is_docstring(item: Any) -> bool:
    """A string that stands by itself, wherever it is: nothing is computed from it."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant) and isinstance(item.value.value, str)


def digest(code: Mapping[str, str]) -> str:
    """One hash for all of it."""
    return hashlib.sha256(json.dumps(sorted(code.items())).encode()).hexdigest()[:_LENGTH]


def changed_modules(code: Mapping[str, str]) -> list[str]:
    """Modules whose code is another now, or is gone."""
    return [name for name, value in code.items() if current_hash(name) != value]
