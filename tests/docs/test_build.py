"""The documentation builds without a single warning (what ``make docs`` asks for)."""

import subprocess
import sys

import docs_pages as pages
import pytest
from extras import need_rooms


def test_sphinx_builds_without_warnings(tmp_path):
    pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")
    need_rooms("isthmus.workbench")  # the reference describes it
    # The examples themselves run in test_examples.py.
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "-D", "plot_gallery=0"]
    command += ["-d", tmp_path / "trees"]
    done = subprocess.run([*command, pages.DOCS, tmp_path / "html"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "html" / "reference" / "api.html").read_text(encoding="utf-8")
    assert 'href="generated/isthmus.label.html"' in index
