"""Build sdist and wheel, install each into an empty environment and run the demo there: ``make wheel``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("isthmus/py.typed", "isthmus/corpus/sample/cars.csv", "isthmus/report/templates/pages.html.j2")


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist, and the wheel from the sdist; return the paths of the wheel and of the sdist."""
    for old in folder.glob("isthmus-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (sdist,) = folder.glob("isthmus-*.whl"), folder.glob("isthmus-*.tar.gz")
    return wheel, sdist


def inspect(wheel: Path) -> None:
    """Refuse a wheel that lacks a file or brings one along that does not belong in it."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in names]
    stray = [name for name in names if not name.startswith(("isthmus/", "isthmus-"))]
    if missing or stray:
        sys.exit(f"{wheel.name}: missing {missing}, does not belong in it {stray}.")


def try_out(distribution: Path, python: str) -> None:
    """Install a distribution with ``[app]`` into an empty environment and run the demo in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "venv", folder / "env")
        programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        pip = (programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
        run(*pip, "install", f"{distribution.resolve()}[app]", cwd=folder)
        run(programs / "isthmus", "--version", cwd=folder)
        run(programs / "isthmus", "demo", cwd=folder)
        report = folder / "demo-output" / "report.html"
        if not report.is_file():
            sys.exit(f"isthmus demo wrote no {report.relative_to(folder)}.")
        print(f"{distribution.name} ({distribution.stat().st_size:,} bytes) works with {python}.")


def run(*command: object, cwd: Path = ROOT) -> None:
    """Run a command without this environment's own packages in sight; stop with it where it fails."""
    # PYTHONPATH would let a checkout stand in for the installed wheel.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=clean)
    if done.returncode:
        sys.exit(f"{' '.join(str(part) for part in command)}: exit code {done.returncode}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="where sdist and wheel go (default: dist)")
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="interpreters (default: this one)")
    given = parser.parse_args()
    wheel, sdist = build(given.out)
    inspect(wheel)
    for python in given.python:
        for distribution in (wheel, sdist):
            try_out(distribution, python)
