"""Fixtures shared by all rooms."""

import os
from pathlib import Path

import pytest


def pytest_make_parametrize_id(config, val, argname):
    """Bytes must not become a test's name: two workers that pack them in different seconds see different tests."""
    if isinstance(val, bytes):
        raise pytest.UsageError(f"a case of {argname!r} is made of bytes: name it with pytest.param(…, id=…) or ids=")
    return None  # pytest's own way


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the benchmark corpora; the test says why when it skips."""
    folder = os.environ.get("ISTHMUS_DATA")
    if not folder:
        pytest.skip("ISTHMUS_DATA is not set: this test reads the benchmark corpora")
    path = Path(folder)
    if not path.is_dir():
        pytest.fail(f"ISTHMUS_DATA names {path}, which is not a folder")
    return path
