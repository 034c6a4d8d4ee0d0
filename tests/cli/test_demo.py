"""``isthmus demo`` runs the main job on the bundled sample."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.cli.app import run_command
from isthmus.cli.demo import _share


def test_demo_labels_the_sample_and_names_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(["demo"]) == 0
    out, talk = capsys.readouterr()
    [said] = re.findall(r"true labels: ([0-9.]+)% of 600 \(95% interval ([0-9.]+)% to ([0-9.]+)%\)", out)
    right, low, high = map(float, said)
    assert low < right < high
    assert high - low < 6.5  # Wilson's interval of 600, at 86 %
    *_, wrote, step = talk.splitlines()
    assert step.startswith(f"next: Open {Path('demo-output/report.html')}")
    for name in ("cars_labelled.csv", "report.html", "run.json"):
        assert str(Path("demo-output", name)) in wrote
        assert (tmp_path / "demo-output" / name).stat().st_size > 100
    assert run_command(["demo"]) == 1
    assert "[output-exists]" in capsys.readouterr().err
    assert run_command(["demo", "--force", "--method", "nbc"]) == 0


def test_the_share_right_is_that_of_the_rows_kept():
    result = SimpleNamespace(labels=["a", "b", "a", "b"])
    assert _share(["a", "a", "b", "b"], result, np.array([True, True, False, True])) == pytest.approx(2 / 3)
