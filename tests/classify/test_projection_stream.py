"""Blocks: the same model as in memory, and files labelled without being held."""

import csv
import gzip
import json

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus import TermProjectionClassifier
from isthmus.classify.projection.stream import (
    PairwiseSum,
    count_in_parts,
    fit_blocks,
    label_stream,
    sample_texts,
)
from isthmus.corpus.blocks import BlockReader
from isthmus.exceptions import DataError, UsageError
from isthmus.features.blocks import BlockVectorizer

WORDS = {
    "staff": ["friendly", "manager", "polite", "rude", "helped", "waiter"],
    "price": ["bill", "cheap", "expensive", "discount", "paid", "euro"],
    "food": ["soup", "bread", "tasty", "salad", "dessert", "fried"],
}


def make_texts(n, seed=0, extra=""):
    rng = np.random.default_rng(seed)
    labels = [sorted(WORDS)[i] for i in rng.integers(0, 3, size=n)]
    return [f"the {' '.join(rng.choice(WORDS[label], size=5))} {extra}".strip() for label in labels], labels


@pytest.fixture
def files(tmp_path):
    texts, labels = make_texts(300)
    with (tmp_path / "source.csv").open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["nr", "comment", "category"])
        table.writerows(
            [i, text, label if i % 50 else ""] for i, (text, label) in enumerate(zip(texts, labels, strict=True))
        )
    new, truth = make_texts(250, seed=1, extra="trip")
    with gzip.open(tmp_path / "target.jsonl.gz", "wt", encoding="utf-8") as out:
        for text, label in zip(new, truth, strict=True):
            out.write(json.dumps({"comment": text, "truth": label}) + "\n")
    return tmp_path, truth


def test_blocks_give_the_model_of_the_whole():
    rng = np.random.default_rng(0)
    X, y = sp.csr_matrix(rng.poisson(0.5, size=(90, 25))), np.array(["c", "a", "b"])[rng.integers(0, 3, size=90)]
    whole = TermProjectionClassifier().fit(X, y)
    for seed in range(3):
        parts = np.array_split(np.random.default_rng(seed).permutation(90), 7)
        model = fit_blocks((X[rows], y[rows].tolist()) for rows in parts)
        assert model.classes_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(model.term_weight_, whole.term_weight_)
        np.testing.assert_array_equal(model.term_class_, whole.term_class_)
        np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_block_sums_keep_few_waiting():
    from isthmus._math.chi2 import count_terms

    rng = np.random.default_rng(0)
    X, codes = rng.poisson(0.3, size=(640, 50)), rng.integers(0, 3, size=640)
    sums = PairwiseSum()
    for start in range(0, 640, 10):
        sums.add(count_terms(X[start : start + 10], codes[start : start + 10], 3))
        assert len(sums._waiting) <= 8
    np.testing.assert_array_equal(sums.total().occurrences, count_terms(X, codes, 3).occurrences)


def test_files_are_labelled_block_by_block(files):
    folder, truth = files
    out = folder / "out.csv"
    summary = label_stream(folder / "source.csv", folder / "target.jsonl.gz", out, rows=40)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["comment", "truth", "label", "confidence"]
    assert np.mean([row["label"] == label for row, label in zip(rows, truth, strict=True)]) > 0.95
    assert all(1 / 3 <= float(row["confidence"]) <= 1 for row in rows)
    assert summary["target_documents"] == 250
    assert summary["source_documents"] == 294
    assert sum(summary["labels"].values()) == 250
    assert any("'comment'" in note for note in summary["notes"])


def test_block_size_changes_nothing(files):
    folder, _ = files
    for rows in (7, 1000):
        label_stream(folder / "source.csv", folder / "target.jsonl.gz", folder / f"out{rows}.jsonl", rows=rows)
    one, two = ((folder / f"out{rows}.jsonl").read_text().splitlines() for rows in (7, 1000))
    assert [json.loads(line)["label"] for line in one] == [json.loads(line)["label"] for line in two]


def test_review_column_and_no_overwriting(files):
    folder, _ = files
    out = folder / "out.tsv"
    summary = label_stream(
        folder / "source.csv", folder / "target.jsonl.gz", out, review=lambda confidence: confidence < 0.5
    )
    assert summary["needs_review"] is not None
    assert "needs_review" in out.read_text().splitlines()[0]
    with pytest.raises(DataError) as error:
        label_stream(folder / "source.csv", folder / "target.jsonl.gz", out)
    assert error.value.code == "output-exists"


def test_refusals_leave_nothing_behind(files):
    folder, _ = files
    with pytest.raises(DataError) as error:
        label_stream(folder / "source.csv", folder / "target.jsonl.gz", folder / "out.parquet")
    assert error.value.code == "unknown-format"
    (folder / "one.csv").write_text("text,label\nkind people,staff\nrude people,staff\n")
    with pytest.raises(DataError) as error:
        label_stream(folder / "one.csv", folder / "target.jsonl.gz", folder / "out.csv", label="label")
    assert error.value.code == "one-class"
    assert not list(folder.glob("*out*"))
    with pytest.raises(UsageError):
        fit_blocks([], TermProjectionClassifier(classifier="svm"))


def test_sample_is_spread_over_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr("isthmus.classify.projection.stream._SAMPLE_ROWS", 16)
    path = tmp_path / "long.csv"
    path.write_text("text,n\n" + "".join(f"text number {i},{i}\n" for i in range(1000)))
    kept = [int(text.split()[-1]) for text in sample_texts(BlockReader(path, text="text", want_labels=False, rows=30))]
    assert 8 <= len(kept) <= 16
    assert len(set(np.diff(kept))) == 1
    assert kept[0] == 0
    assert kept[-1] > 850


def test_bigrams_keep_their_columns_as_the_vocabulary_grows():
    vectorizer = BlockVectorizer()
    first = vectorizer.count(["球队比赛", "股票市场"])
    second = vectorizer.count(["比赛股票上涨"])
    names = vectorizer.names().tolist()
    assert vectorizer.analyzer_ == "bigrams"
    assert second.shape[1] == len(names) > first.shape[1]
    assert {names[i] for i in first[0].indices} == {"球队", "队比", "比赛"}
    assert {names[i] for i in second[0].indices} == {"比赛", "赛股", "股票", "票上", "上涨"}


def test_full_vocabulary_says_so():
    from isthmus.exceptions import IsthmusWarning

    for texts, more in ((["red green blue"], ["black white"]), (["球队比赛"], ["股票市场"])):
        vectorizer = BlockVectorizer(max_terms=3)
        vectorizer.count(texts)
        with pytest.warns(IsthmusWarning, match="3 terms"):
            assert vectorizer.count(more).nnz == 0


def test_counting_in_parts_changes_nothing(monkeypatch):
    texts, _ = make_texts(50)
    whole = BlockVectorizer().count(texts)
    monkeypatch.setattr("isthmus.classify.projection.stream._COUNT_CHARACTERS", 200)
    parts = count_in_parts(BlockVectorizer(), texts)
    assert parts.shape == whole.shape
    assert (parts != whole).nnz == 0
