"""A matrix in memory is one chunk: labels of the sample are equal in memory and in chunks."""

import csv

import pytest

import isthmus
from isthmus.corpus import load_sample
from isthmus.scale import label_files

FIT_ALIKE = [
    ("nbc", "auto"),
    ("logistic", "auto"),
    ("logistic", "bigrams"),
    ("svm", "auto"),
    ("self-training", "auto"),
    ("projection", "auto"),
]


@pytest.fixture(scope="module")
def sample_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    source, target, _ = load_sample()
    for name, rows in (
        ("source", [("text", "label"), *zip(source.texts, source.labels, strict=True)]),
        ("target", [("text", "number"), *((text, str(i)) for i, text in enumerate(target.texts))]),
    ):
        with open(folder / f"{name}.csv", "w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows(rows)
    return folder, source, target


@pytest.mark.parametrize(("method", "analyzer"), FIT_ALIKE)
def test_labels_in_memory_and_in_chunks_are_equal(sample_files, tmp_path, method, analyzer):
    folder, source, target = sample_files
    in_memory = isthmus.label(source.texts, source.labels, target.texts, method=method, analyzer=analyzer)
    files = folder / "source.csv", folder / "target.csv", tmp_path / "labelled.csv"
    options = {"text": "text", "label": "label", "engine": "memory", "block_rows": 150}
    label_files(*files, method=method, analyzer=analyzer, **options)
    with open(tmp_path / "labelled.csv", newline="", encoding="utf-8") as lines:
        in_chunks = list(csv.DictReader(lines))
    assert [row["label"] for row in in_chunks] == [str(label) for label in in_memory.labels]
    confidences = [float(row["confidence"]) for row in in_chunks]
    assert confidences == pytest.approx(in_memory.confidence.tolist(), abs=0.01)
