"""Tests of several rooms that need an extra: skipped where it is not installed, with a sentence that names it."""

import pytest

from isthmus.features.embeddings import has_static_vectors
from isthmus.methods import METHODS


def need_vectors(method):
    """Skip where a method reads texts by the static vectors and these are not installed."""
    if method in METHODS and METHODS[method].takes_vectors and not has_static_vectors():
        pytest.skip(f"{method} reads texts by static vectors: it needs the extra 'embed'")


def need_rooms(name):
    """Skip what loads a module of the workspace or of the workbench where their packages are not installed."""
    package = {"workspace": "sqlalchemy", "workbench": "fastapi"}.get(name.removeprefix("isthmus.").partition(".")[0])
    if package is not None:
        pytest.importorskip(package, reason=f"{name} needs the extra 'workbench'")
