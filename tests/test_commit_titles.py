"""Test the check of commit titles, which the commit-msg hook and CI run."""

import subprocess
import sys
from pathlib import Path

import pytest
from loading import load_file

TOOL = Path(__file__).parents[1] / "tools" / "commit_titles.py"


@pytest.mark.parametrize(
    ("title", "n_faults"),
    [
        ("Add a check of commit titles", 0),
        ("mutate: run tests newer than the record", 0),
        ("Embed texts with the packaged vectors", 0),
        ("Merge branch 'x'; this title is git's.", 0),
        ("x" * 72, 0),
        ("x" * 73, 1),
        ("", 1),
        ("Added a check", 1),
        ("The check of titles", 1),
        ("tests: fixing a check", 1),
        ("Fixes a check; moves another.", 3),
    ],
)
def test_faults_of_a_title(title, n_faults):
    assert len(load_file("tools/commit_titles.py").faults(title)) == n_faults


@pytest.mark.parametrize(
    ("message", "code"), [("Add a check\n\nReasons; more.\n", 0), ("Added a check.\n", 1), ("", 1)]
)
def test_hook_reads_the_first_line_of_a_message(tmp_path, message, code):
    (tmp_path / "message").write_text(message, encoding="utf-8")
    done = subprocess.run([sys.executable, TOOL, tmp_path / "message"], capture_output=True, text=True)
    assert done.returncode == code
    assert bool(done.stderr) == bool(code)
