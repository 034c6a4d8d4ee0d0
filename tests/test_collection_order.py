"""Every worker must collect the same tests: their names depend neither on the clock nor on the hash seed."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace


def name_of(item):
    """The id of a test as it is without workers, which add the name of its group."""
    group = item.get_closest_marker("xdist_group")
    return item.nodeid.removesuffix(f"@{group.args[0]}") if group else item.nodeid


def collect_again(config, files):
    """Ids of the tests of some files, collected now by a process with another hash seed."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    other = "1" if os.environ.get("PYTHONHASHSEED") == "2" else "2"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTEST_ADDOPTS": ""}
    run = subprocess.run(command, cwd=config.rootpath, env=environment, capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout[-2000:] + run.stderr[-2000:]
    return [line for line in run.stdout.splitlines() if "::" in line]


def test_a_second_collection_names_the_same_tests(request):
    """The tests of this run, seconds after they were collected: a name that holds the time differs now."""
    here = [name_of(item) for item in request.session.items]
    files = {str(item.path) for item in request.session.items}
    order = request.config.pluginmanager.get_plugin(str(request.config.rootpath / "conftest.py"))
    if request.config.getoption("--random-order") is not None:  # pytest wants the files of a folder together
        here, files = sorted(here), sorted(files)
    else:
        files = [file for file in request.config.stash[order.COLLECTED] if file in files]
    chosen = set(here)
    again = [name for name in collect_again(request.config, files) if name in chosen]
    if request.config.getoption("--random-order") is not None:
        again = sorted(again)
    assert again == here


def test_the_longest_file_comes_first_and_a_seed_gives_one_order(request):
    order = request.config.pluginmanager.get_plugin(str(request.config.rootpath / "conftest.py"))
    files = [Path(folder, f"test_{name}.py") for folder in ("corpus", "workbench") for name in "abc"]
    named = [SimpleNamespace(path=path, number=number) for path in files for number in range(9)]

    def ordered(seed):
        items = named.copy()
        order.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda name: seed, stash={}), items)
        return [(item.path, item.number) for item in items]

    assert all((request.config.rootpath / name).is_file() for name in order.LONGEST)
    longest = SimpleNamespace(path=request.config.rootpath / order.LONGEST[0], number=0)
    last = [*named, longest]
    order.pytest_collection_modifyitems(SimpleNamespace(getoption=lambda name: None, stash={}), last)
    assert last == [longest, *named]
    plain = [(item.path, item.number) for item in named]
    assert ordered(None) == plain
    assert ordered("3") == ordered("3") != ordered("4")
    assert sorted(ordered("3")) == sorted(plain)
    for path in files:
        numbers = [number for other, number in ordered("3") if other == path]
        assert (numbers == sorted(numbers)) is (path.parent.name == "workbench"), path
