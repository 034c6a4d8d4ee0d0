"""Every released version has a saved file here; each one loads and predicts the recorded labels."""

import json
from pathlib import Path

import pytest

import isthmus

FOLDER = Path(__file__).parent / "saved"
SAVED = sorted(FOLDER.glob("*.isthmus"))


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_file_of_a_released_version_loads(path):
    pytest.importorskip("skops")
    name, _, version = path.stem.partition("-")
    written = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    result = isthmus.load(path)
    assert [str(label) for label in result.labels[:10]] == written[name]["labels"]
    assert [str(label) for label in result.predict(written["texts"])] == written[name]["later"]
