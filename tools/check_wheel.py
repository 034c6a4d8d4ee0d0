"""Build sdist and wheel, install the wheel into an empty environment and run the demo there: ``make wheel``."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LARGEST = 1_000_000  # bytes
NEEDED = ("isthmus/py.typed", "isthmus/corpus/sample/cars.csv", "isthmus/report/templates/pages.html.j2")


def build(folder: Path) -> Path:
    """Build the sdist, and the wheel from the sdist; the path of the wheel."""
    for old in folder.glob("isthmus-*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,) = folder.glob("isthmus-*.whl")
    return wheel


def inspect(wheel: Path) -> None:
    """Refuse a wheel that lacks a file or brings one along that does not belong in it."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in NEEDED if name not in names]
    stray = [name for name in names if not name.startswith(("isthmus/", "isthmus-"))]
    if missing or stray:
        sys.exit(f"{wheel.name}: missing {missing}, does not belong in it {stray}.")


def weigh(wheel: Path) -> None:
    """Refuse a wheel that is too large; last, so that everything else is known by then."""
    size = wheel.stat().st_size
    if size >= LARGEST:
        sys.exit(f"{wheel.name} has {size:,} bytes; less than {LARGEST:,} are allowed.")
    print(f"{wheel.name}: {size:,} bytes")


def try_out(wheel: Path) -> None:
    """Install the wheel with ``[app]`` into an empty environment and run the demo in an empty folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        programs = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        pip = (programs / "python", "-m", "pip", "--quiet", "--disable-pip-version-check")
        run(*pip, "install", f"{wheel.resolve()}[app]", cwd=folder)
        run(programs / "isthmus", "--version", cwd=folder)
        run(programs / "isthmus", "demo", cwd=folder)
        report = folder / "demo-output" / "report.html"
        if not report.is_file():
            sys.exit(f"isthmus demo wrote no {report.relative_to(folder)}.")
        print(f"{report.relative_to(folder)}: {report.stat().st_size:,} bytes")


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
    wheel = build(parser.parse_args().out)
    inspect(wheel)
    try_out(wheel)
    weigh(wheel)
