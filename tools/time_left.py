"""How right the time left is that the command shows: what it said at a quarter, half and three quarters of a run.

Usage: python tools/time_left.py [--record FILE] NAME=ARGUMENTS ...

Each run is one command line in a process of its own, such as "sample=label motorcycles.csv cars.csv -o out.csv".
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHARES = (0.25, 0.5, 0.75)


def watch(arguments: list[str]) -> list[tuple[float, float]]:
    """Run the command here; when the line was looked at, and the seconds that it said were left."""
    from isthmus.cli import common
    from isthmus.cli.app import run_command
    from isthmus.cli.progress import ProgressLine

    began, said = time.monotonic(), []

    class Watched(ProgressLine):
        def show(self, now, *, begins=False):
            left = None if self.forecast is None else self.forecast.left(now)
            if left is not None:
                said.append((now - began, left))

    class Terminal:  # so that the line ticks
        def __init__(self, stream):
            self.stream = stream

        def isatty(self):
            return True

        def __getattr__(self, name):
            return getattr(self.stream, name)

    common.ProgressLine = Watched
    sys.stderr = Terminal(sys.stderr)
    if run_command(arguments):
        sys.exit("The command failed.")
    return [*said, (time.monotonic() - began, 0.0)]


def compare(said: list[tuple[float, float]]) -> list[dict[str, float]]:
    """What was said last before each share of the run, and what came."""
    end = said[-1][0]
    rows = []
    for share in SHARES:
        now, left = max((row for row in said if row[0] <= share * end), default=said[0])
        rows.append({"share": share, "said": round(left, 1), "came": round(end - now, 1)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--record", type=Path, help="write the outcome here, as .json and as .md; runs of other names stay"
    )
    parser.add_argument("--watch", metavar="ARGUMENTS", help=argparse.SUPPRESS)
    parser.add_argument("runs", nargs="*", metavar="NAME=ARGUMENTS")
    given = parser.parse_args()
    if given.watch:
        print(json.dumps(watch(shlex.split(given.watch))), file=sys.__stdout__)
        return
    record: list[dict] = []
    if given.record and given.record.with_suffix(".json").is_file():
        again = {run.partition("=")[0] for run in given.runs}
        earlier = json.loads(given.record.with_suffix(".json").read_text(encoding="utf-8"))
        record = [row for row in earlier if row["run"] not in again]
    for run in given.runs:
        name, _, arguments = run.partition("=")
        with tempfile.TemporaryFile("w+") as out:
            subprocess.run(
                [sys.executable, __file__, "--watch", arguments], stdout=out, stderr=subprocess.DEVNULL, check=True
            )
            out.seek(0)
            said = json.loads(out.read().splitlines()[-1])
        for row in compare(said):
            record.append({"run": name, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1), **row})
            print(f"{name}: at {row['share']:.0%} said {row['said']:.0f} s, came {row['came']:.0f} s")
    print(summary(record))
    if given.record:
        given.record.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        given.record.with_suffix(".md").write_text(page(record), encoding="utf-8")


def summary(record: list[dict]) -> str:
    """How often the time left was right within a factor of two."""
    within = sum(0.5 <= row["said"] / row["came"] <= 2 for row in record)
    return f"Right within a factor of two: {within} of {len(record)}."


def page(record: list[dict]) -> str:
    """The record as a page: seconds said and seconds that came, at each share of a run."""
    lines = [
        "# Time left",
        "",
        "What the line of progress said, and what came, in seconds, by `tools/time_left.py`:",
        "",
    ]
    lines += ["| run | " + " | ".join(f"at {share:.0%}" for share in SHARES) + " | load |", "|---|" + "---:|" * 4]
    for name in dict.fromkeys(row["run"] for row in record):
        rows = [row for row in record if row["run"] == name]
        cells = [f"{row['said']:.0f} said, {row['came']:.0f} came" for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} | {rows[-1]['load']} |")
    return "\n".join(
        [*lines, "", f"{summary(record)} Processes that wanted one of {record[0]['cores']} cores: `load`.", ""]
    )


if __name__ == "__main__":
    main()
