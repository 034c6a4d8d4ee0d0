"""Fixtures shared by all rooms."""

import gc
import os
import random
import re
import shutil
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent / "tests" / "helpers"))  # what several rooms share


def hide_extras(extras):
    """Make this process and its children find none of the packages that these extras bring."""
    known = tomllib.loads((Path(__file__).parent / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    lines = {line for extra in extras for line in known[extra] if not line.startswith("isthmus[")}
    packages = {plain_name(re.split(r"[^\w.-]", line)[0]) for line in lines}
    modules = [name for name, owners in packages_distributions().items() if packages & {*map(plain_name, owners)}]
    absent = Path(__file__).parent / "tests" / "helpers" / "absent"
    os.environ["ISTHMUS_ABSENT"] = ",".join(modules)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(absent), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(absent))
    sys.modules.pop("sitecustomize", None)
    import sitecustomize  # noqa: F401


def plain_name(package):
    return re.sub(r"[-_.]+", "-", package).lower()


# ISTHMUS_WITHOUT=team,scale: the tests as they run where these extras are not installed.
if without := os.environ.get("ISTHMUS_WITHOUT"):
    hide_extras(without.split(","))

# Every worker of pytest-xdist would start as many threads of linear algebra as there are cores; on a full machine these
# spend most of their time waiting for one another. Set before numpy is loaded; child processes inherit it.
if workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "0")):
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // workers)))

# A database waits for the disk with every answer that it keeps: tests have their folders in memory, where it is large.
MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2 * 2**30:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# Commands in processes of their own load the package as users have it, compiled once and kept, on every machine.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# How long an example takes says how busy the machine is, and nothing about the code: no property test
# has a deadline, and none fails because its examples are slow to make.
settings.register_profile("isthmus", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("isthmus")

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


# Folders of tests and the library without which none of them can be imported; both come with the extra 'workbench'.
NEEDED = {"workspace": "sqlalchemy", "workbench": "uvicorn"}


class LeftOut(pytest.Module):
    """A file of tests that says why it cannot run."""

    def collect(self):
        library = NEEDED[self.path.parent.name]
        pytest.skip(f"{library} is not installed: these tests need the extra 'workbench'")


def pytest_pycollect_makemodule(module_path, parent):
    """Files of a folder whose library is missing are skipped before they are imported."""
    library = NEEDED.get(module_path.parent.name)
    if library is None or find_spec(library) is not None:
        return None  # pytest's own way
    return LeftOut.from_parent(parent, path=module_path)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """The collected tests stay to the end, so the collector of garbage need not go through them again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


COLLECTED = pytest.StashKey[list[str]]()  # files in the order of folders, which pytest wants to keep together

# Files that take half a minute or hold whole programs begin, so that no worker is left with one of them at the end.
LONGEST = (
    "tests/docs/test_build.py",
    "tests/workbench/test_browser.py",
    "tests/report/test_browser.py",
    "tests/scale/test_dask.py",
    "tests/docs/test_examples.py",
    "tests/scale/test_label_files.py",
    "tests/contract/test_row_order.py",
    "tests/contract/test_estimators.py",
    "tests/test_feature_pairs.py",
    "tests/workspace/test_crashes.py",
    "tests/workbench/test_strangers.py",
    "tests/workbench/test_fuzz.py",
    "tests/docs/test_commands.py",
    "tests/workbench/test_server.py",
    "benchmarks/tests/test_choose_suite.py",
)


def pytest_itemcollected(item):
    """A file's tests run on one worker, where what they share is made once."""
    if item.get_closest_marker("xdist_group") is None:
        item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))


def length_rank(item):
    path = item.path.as_posix()
    return next((rank for rank, name in enumerate(LONGEST) if path.endswith(name)), len(LONGEST))


def pytest_addoption(parser):
    parser.addoption("--random-order", metavar="SEED", help="files, and the tests of each file, in a random order")


@pytest.hookimpl(trylast=True)  # workers of pytest-xdist have marked their groups by then
def pytest_collection_modifyitems(config, items):
    """The longest files first; or files in a random order, and the tests of each file, but those of the workbench."""
    seed = config.getoption("--random-order")
    if seed is None:
        config.stash[COLLECTED] = list(dict.fromkeys(str(item.path) for item in items))
        items.sort(key=length_rank)
        return
    rng = random.Random(seed)
    by_file = {}
    for item in items:
        by_file.setdefault(item.path, []).append(item)
    files = list(by_file)
    rng.shuffle(files)
    for path in files:
        if path.parent.name != "workbench":
            rng.shuffle(by_file[path])
    items[:] = [item for path in files for item in by_file[path]]
