"""``isthmus data list | import``."""

import json

import pytest
from typer.testing import CliRunner

from isthmus.cli.data import app
from isthmus.exceptions import DataError
from isthmus_bench.datasets import load_dataset


@pytest.fixture
def sraa(tmp_path):
    folder = tmp_path / "sraa"
    for group in ("realauto", "simauto"):
        (folder / group).mkdir(parents=True)
        (folder / group / "1").write_text(f"about {group}")
    return folder


def test_list(tmp_path, monkeypatch):
    monkeypatch.delenv("ISTHMUS_DATA", raising=False)
    (tmp_path / "amazon_reviews.jsonl.gz").write_bytes(b"")
    plain = CliRunner().invoke(app, ["list", "--data", str(tmp_path)])
    assert plain.exit_code == 0
    assert "amazon_reviews" in plain.stdout
    assert plain.stderr == ""  # one of them is there
    rows = json.loads(CliRunner().invoke(app, ["list", "--data", str(tmp_path), "--json"]).stdout)
    assert [row["name"] for row in rows if row["present"]] == ["amazon_reviews"]
    assert "ISTHMUS_DATA" in CliRunner().invoke(app, ["list"]).stderr


def test_import(tmp_path, sraa):
    output = tmp_path / "sraa.jsonl.gz"
    result = CliRunner().invoke(app, ["import", "sraa", str(sraa), "-o", str(output)])
    assert result.exit_code == 0
    assert "2 documents" in result.stderr
    assert load_dataset("sraa", tmp_path).labels == ["auto", "auto"]
    again = CliRunner().invoke(app, ["import", "sraa", str(sraa), "-o", str(output)])
    assert isinstance(again.exception, DataError)
    assert again.exception.code == "output-exists"
    assert CliRunner().invoke(app, ["import", "sraa", str(sraa), "-o", str(output), "--force"]).exit_code == 0
