"""Fixtures shared by all rooms."""

import os
import shutil
from pathlib import Path

import pytest

# Every worker of pytest-xdist would start as many threads of linear algebra as there are cores; on a full machine these
# spend most of their time waiting for one another. Set before numpy is loaded; child processes inherit it.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)


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


@pytest.fixture(scope="module")
def chromium():
    """Playwright with the Chromium of the system, for tests that open pages."""
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pages cannot be opened")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine: pages cannot be opened")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()
