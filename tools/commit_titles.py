"""Check the titles of commits: imperative, at most 72 characters, no semicolon, no period at the end.

python tools/commit_titles.py FILE             the message that git hands to the commit-msg hook
python tools/commit_titles.py --range A..B     the commits of a range, without merges
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

LONGEST = 72  # characters
# The mood of a verb cannot be recognised in general: these endings show that it is not the imperative.
NOT_IMPERATIVE = re.compile(
    r"\w+(ed|ing)|Adds|Changes|Fixes|Introduces|Makes|Moves|Removes|Renames|Replaces|Updates|Uses|An?|The"
)
IMPERATIVE = {
    "Bring",
    "Embed",
    "Exceed",
    "Feed",
    "Need",
    "Ping",
    "Proceed",
    "Seed",
    "Shed",
    "Speed",
    "Spring",
    "String",
}
MADE_BY_GIT = ("Merge ", 'Revert "', "fixup! ", "squash! ", "amend! ")


def faults(title: str) -> list[str]:
    """Return what is wrong with a title.

    >>> faults("Check the titles of commits")
    []
    >>> faults("mutate: added tests; they pass.")
    ['has a semicolon: describe one change', 'ends with a period', "starts with 'added': use the imperative"]
    """
    if title.startswith(MADE_BY_GIT):
        return []
    found = []
    if not title.strip():
        found.append("is empty")
    if len(title) > LONGEST:
        found.append(f"has {len(title)} characters: at most {LONGEST} are allowed")
    if ";" in title:
        found.append("has a semicolon: describe one change")
    if title.endswith("."):
        found.append("ends with a period")
    # a part of the project may come first: "mutate: run newer tests"
    first = re.sub(r"^[\w/.-]+: ", "", title).partition(" ")[0]
    if NOT_IMPERATIVE.fullmatch(first.capitalize()) and first.capitalize() not in IMPERATIVE:
        found.append(f"starts with {first!r}: use the imperative")
    return found


def titles_of(commits: str) -> list[str]:
    """Return the titles of a range; of the last commit if the start of the range is unknown, as in a new branch."""
    known = subprocess.run(["git", "rev-list", "--max-count=1", commits], capture_output=True, check=False)
    asked = [commits] if known.returncode == 0 else ["--max-count=1", "HEAD"]
    log = subprocess.run(["git", "log", "--no-merges", "--format=%s", *asked], capture_output=True, check=True)
    return log.stdout.decode().splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description="Check the titles of commits.")
    parser.add_argument("file", nargs="?", type=Path, help="a commit message")
    parser.add_argument("--range", help="a range of commits, such as main..HEAD")
    given = parser.parse_args()
    if (given.file is None) == (given.range is None):
        parser.error("give a file or --range, one of the two")
    titles = titles_of(given.range) if given.range else given.file.read_text(encoding="utf-8").splitlines()[:1] or [""]
    wrong = [f"{title!r} {fault}" for title in titles for fault in faults(title)]
    if wrong:
        print("\n".join(f"commit title {line}" for line in wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
