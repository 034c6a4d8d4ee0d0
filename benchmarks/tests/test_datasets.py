"""Benchmark corpora by name: on small files of the same form, and on the real ones where they are."""

import gzip
import json
from collections import Counter

import pytest

from isthmus.exceptions import DataError
from isthmus_bench.datasets import DATASETS, data_folder, list_datasets, load_dataset, load_lexicon


def put(folder, file, records):
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()))


def test_loading_by_name(tmp_path):
    records = [
        {"id": "1", "text": "one\u2028line\x85", "label": "", "domain": "reuters", "topics": []},
        {"id": "2", "text": "", "label": "earn", "domain": "reuters", "topics": ["earn"], "late": 1},
    ]
    put(tmp_path, "reuters21578.jsonl.gz", records)
    docs = load_dataset("reuters21578", tmp_path)
    assert docs.texts == ["one\u2028line\x85", ""]
    assert docs.labels == [None, "earn"]
    assert docs.domain == ["reuters", "reuters"]
    assert docs.columns == {"topics": [[], ["earn"]], "late": [None, 1]}


def test_unlabelled_reviews_have_no_labels(tmp_path):
    record = {"id": "1", "text": "x", "label": "unlabeled", "domain": "books", "true_label": "negative"}
    put(tmp_path, "amazon_unlabeled.jsonl.gz", [record])
    docs = load_dataset("amazon_unlabeled", tmp_path)
    assert docs.labels == [None]
    assert docs.columns == {"true_label": ["negative"]}


def test_folder_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ISTHMUS_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    assert data_folder(tmp_path.parent) == tmp_path.parent
    monkeypatch.delenv("ISTHMUS_DATA")
    with pytest.raises(DataError, match="ISTHMUS_DATA") as error:
        data_folder()
    assert error.value.code == "missing-data"
    assert not any(row["present"] for row in list_datasets())


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda folder: load_dataset("newsgroups", folder), "unknown-name"),
        (lambda folder: load_dataset("webkb", folder), "missing-data"),
        (lambda folder: load_dataset("webkb", folder / "no"), "missing-data"),
        (lambda folder: load_lexicon("bing", folder), "unknown-name"),
        (lambda folder: load_lexicon("afinn", folder), "missing-data"),
        (lambda folder: list_datasets(folder / "no"), "missing-data"),
    ],
)
def test_what_is_missing_is_told(tmp_path, call, code):
    with pytest.raises(DataError) as error:
        call(tmp_path)
    assert error.value.code == code


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "sraa.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1"}\n' * 100)[:-6])
    with pytest.raises(DataError) as error:
        load_dataset("sraa", tmp_path)
    assert error.value.code == "unreadable-file"


def test_lexicons(tmp_path):
    folder = tmp_path / "lexicons"
    folder.mkdir()
    (folder / "positive-words.txt").write_text("; comment\n\na+\nenvious\nfine\n")
    (folder / "negative-words.txt").write_text(";\nenvious\nnaïve\n", encoding="utf-8")
    (folder / "AFINN-en-165.txt").write_text("abandon\t-2\ncan't stand\t-3\n")
    assert load_lexicon("hu_liu", tmp_path) == {"a+": 1, "fine": 1, "naïve": -1}
    assert load_lexicon("afinn", tmp_path) == {"abandon": -2, "can't stand": -3}


@pytest.mark.data
@pytest.mark.parametrize(
    "name", ["amazon_reviews", "newsgroups20", "csl", "thucnews_full_small", "dmoz_pages", "rcv1_topics_subset"]
)
def test_real_files(data_dir, name):
    docs = load_dataset(name, data_dir)
    assert len(docs) == DATASETS[name].documents
    assert len(set(docs.ids)) == len(docs)
    assert docs.domain is not None


@pytest.mark.data
def test_real_reuters(data_dir):
    docs = load_dataset("reuters21578", data_dir)
    modapte = Counter(zip(docs.columns["lewissplit"], docs.columns["topics_attr"], strict=True))
    assert modapte["TRAIN", "YES"] == 9_603
    assert modapte["TEST", "YES"] == 3_299
    assert sum(not text for text in docs.texts) == 1_799


@pytest.mark.data
def test_real_lexicons(data_dir):
    assert len(load_lexicon("hu_liu", data_dir)) == 2_006 + 4_783 - 2 * 3
    assert len(load_lexicon("afinn", data_dir)) == 3_382
