"""``isthmus demo`` runs the main job on the bundled sample."""

import re
from pathlib import Path

from cli_tables import read_csv

from isthmus.cli.app import run_command
from isthmus.corpus import load_sample


def test_demo_labels_the_sample_and_names_its_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run_command(["demo"]) == 0
    out, talk = capsys.readouterr()
    [said] = re.findall(r"true labels: (\d+)% \((\d+)–(\d+)%\), on 600 documents", out)
    right, low, high = map(int, said)
    assert low < right < high
    assert high - low <= 7  # Wilson's interval of 600, at 86%, rounded
    truth, rows = load_sample()[2], read_csv("demo-output/cars_labelled.csv")
    kept = [row["label"] == truth[row["id"]] for row in rows if row["needs_review"] == "False"]
    assert f"of the {len(kept)} labels that need no review: {sum(kept) / len(kept):.0%} are right" in out
    *_, wrote, step = talk.splitlines()
    assert step.startswith(f"next: Open {Path('demo-output/report.html')}")
    for name in ("cars_labelled.csv", "report.html", "run.json"):
        assert str(Path("demo-output", name)) in wrote
        assert (tmp_path / "demo-output" / name).stat().st_size > 100
    assert run_command(["demo"]) == 1
    assert "[output-exists]" in capsys.readouterr().err
    assert run_command(["demo", "--force", "--method", "nbc"]) == 0
