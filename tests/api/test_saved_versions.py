"""Files saved by every released version load, and answer as they did."""

import json
from pathlib import Path

import pytest

import isthmus

FOLDER = Path(__file__).parent / "saved"
SAVED = sorted(FOLDER.glob("*.isthmus"))


def test_the_first_version_is_there():
    assert {path.name for path in SAVED} >= {f"{name}-0.1.0.isthmus" for name in ("labelled", "taught", "grouped")}


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
@pytest.mark.parametrize("path", SAVED, ids=lambda path: path.stem)
def test_a_file_of_a_released_version_loads(path):
    pytest.importorskip("skops")
    name, _, version = path.stem.partition("-")
    written = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    result = isthmus.load(path)
    assert [str(label) for label in result.labels[:10]] == written[name]["labels"]
    assert [str(label) for label in result.predict(written["texts"])] == written[name]["later"]


@pytest.mark.filterwarnings("ignore::isthmus.exceptions.IsthmusWarning")
def test_a_loaded_labelling_can_be_explained_checked_and_taught():
    pytest.importorskip("skops")
    result = isthmus.load(FOLDER / "labelled-0.1.0.isthmus")
    assert result.reasons(0, top=1), "the first document has no reasons"
    sample = result.sample(10)
    sample["true_label"] = [result.labels[number - 1] for number in sample["document"]]
    assert result.check(sample).accuracy == 1
    assert result.teach({result.ids[0]: "price"}).labels[0] == "price"
