"""What the tests need of their surroundings: the packages that each workflow installs, and time without a deadline."""

import ast
import functools
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PROJECTS = {
    ".": ROOT / "pyproject.toml",
    "./benchmarks": ROOT / "benchmarks/pyproject.toml",
}  # what `pip install` may name, and where its requirements stand


def commands(workflow: str) -> dict[str, list[str]]:
    """The commands of each job; those behind ``make TARGET`` are what make would run in an empty checkout."""
    jobs: dict[str, list[str]] = {}
    for line in workflow.partition("\njobs:\n")[2].splitlines():
        if job := re.fullmatch(r"  ([\w-]+):", line):
            jobs[job[1]] = lines = []
        elif run := re.fullmatch(r"\s+(?:- )?run: (.+)", line):
            lines += run_by_make(run[1].split()[1:]) if run[1].startswith("make ") else [run[1]]
    return jobs


def run_by_make(targets: list[str]) -> list[str]:
    if shutil.which("make") is None:
        pytest.skip("no make on this machine: what its targets install cannot be seen")
    done = subprocess.run(["make", "-Bn", *targets], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.replace("\\\n", " ").splitlines()


def installed(lines: list[str]) -> set[str]:
    """Distributions that the commands install, with everything that these require."""
    found: set[str] = set()
    for line in lines:
        if "pip install" in line:
            for folder, extras in re.findall(r"-e \"?(\.[\w/]*)(?:\[([\w,]+)\])?", line):
                found |= requirements(folder, [extra for extra in extras.split(",") if extra])
            found |= {normal(name) for name in re.findall(r" ([a-z][\w-]+)(?= |$)", line.partition("pip install")[2])}
    waiting = list(found)
    while waiting:
        fresh = required_by(waiting.pop()) - found
        found |= fresh
        waiting += fresh
    return found


def requirements(folder: str, extras: list[str]) -> set[str]:
    project = tomllib.loads(PROJECTS[folder].read_text("utf-8"))["project"]
    listed = [*project["dependencies"]]
    for extra in extras:
        listed += project["optional-dependencies"][extra]
    found = {normal(project["name"])}
    for requirement in listed:
        inner = re.match(r"isthmus\[([\w,]+)\]", requirement)
        found |= requirements(".", inner[1].split(",")) if inner else {normal(requirement)}
    return found


def required_by(distribution: str) -> set[str]:
    try:
        listed = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return set()
    return {normal(requirement) for requirement in listed if "extra ==" not in requirement}


def normal(requirement: str) -> str:
    """The name in a requirement, spelled in the one way in which names are compared."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def imported_by_tests(folders: list[str], *, optional: bool = False) -> dict[str, str]:
    """Third-party modules that the tests in some folders import (or skip without), each with a file that does so."""
    shared = ["tests/helpers"] if folders else []  # on the path of every job with tests, whichever it runs
    paths = [path for folder in [*folders, *shared] for path in sorted((ROOT / folder).rglob("*.py"))]
    local = {path.stem for path in paths} | {"isthmus"} | set(sys.stdlib_module_names)
    found = {}
    for path in paths:
        for name in skipped_without(path) if optional else imports(path):
            if name.partition(".")[0] not in local:
                found[name.partition(".")[0]] = path.relative_to(ROOT).as_posix()
    return found


@functools.cache
def imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names.append(node.module)
    skipped = set(skipped_without(path))
    return [name for name in names if name.partition(".")[0] not in skipped]


def skipped_without(path: Path) -> list[str]:
    return re.findall(r"importorskip\(\"(\w+)", path.read_text("utf-8"))


owners = functools.cache(importlib.metadata.packages_distributions)


def missing(modules: dict[str, str], distributions: set[str]) -> list[str]:
    return sorted(
        f"{module} ({path})"
        for module, path in modules.items()
        if not distributions & {normal(name) for name in owners().get(module, [module])}
    )


def folders_tested(lines: list[str]) -> list[str]:
    """Where pytest looks in a job: the folders it is given, else those of pyproject; nowhere without pytest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]["ini_options"]
    tested = []
    for line in lines:
        if "-m pytest" in line:
            tested += re.findall(r" ((?:benchmarks/)?tests\S*)", line) or settings["testpaths"]
    return tested


@pytest.mark.parametrize("workflow", [pytest.param(path, id=path.stem) for path in WORKFLOWS])
def test_each_job_installs_what_its_tests_import(workflow):
    for job, lines in commands(workflow.read_text("utf-8")).items():
        needed = imported_by_tests(folders_tested(lines))
        assert missing(needed, installed(lines)) == [], f"{workflow.name}, job {job}"


def test_no_test_is_skipped_in_every_job():
    """What a test can do without is installed in at least one job that runs all tests."""
    everywhere = set()
    for workflow in WORKFLOWS:
        for lines in commands(workflow.read_text("utf-8")).values():
            everywhere |= installed(lines) if folders_tested(lines) else set()
    assert missing(imported_by_tests(["tests", "benchmarks/tests"], optional=True), everywhere) == []


def test_a_job_without_an_extra_is_seen():
    """The extra 'workbench' was missing once: tests/workbench/conftest.py imports uvicorn and fastapi."""
    lines = ['python -m pip install -e ".[app,scale,zh,dev]"', "python -m pytest -n auto"]
    lacking = missing(imported_by_tests(folders_tested(lines)), installed(lines))
    assert {"fastapi", "uvicorn"} & {name.split()[0] for name in lacking}
    assert not any(name.startswith(("polars", "numpy", "pytest")) for name in lacking)


def test_no_property_test_has_a_deadline():
    assert hypothesis.settings().deadline is None
    files = [path for folder in ("tests", "benchmarks/tests") for path in (ROOT / folder).rglob("test_*.py")]
    with_one = [path for path in files if "deadline=" in path.read_text("utf-8")]
    assert with_one == [Path(__file__)]
