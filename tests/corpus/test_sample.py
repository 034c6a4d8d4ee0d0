"""The bundled sample: reproducible, varied, and neither trivial nor hopeless."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from isthmus.corpus import load_sample, read_collection
from isthmus.corpus.sample import SAMPLE_FOLDER

MAKER = Path(__file__).parents[2] / "tools" / "sample" / "make_sample.py"


@pytest.fixture(scope="module")
def sample():
    return load_sample()


def test_the_files_are_made_again_byte_for_byte(tmp_path):
    subprocess.run([sys.executable, MAKER, tmp_path], check=True)
    for name in ("motorcycles.csv", "cars.csv", "cars_truth.csv"):
        assert (tmp_path / name).read_bytes() == (SAMPLE_FOLDER / name).read_bytes()


def test_form(sample):
    source, target, truth = sample
    assert len(source) == len(target) == len(truth) == 600
    assert list(source.table()) == ["id", "comment", "category"]
    assert list(target.table()) == ["id", "comment"]
    assert not target.has_labels
    assert set(truth) == set(target.ids)
    assert set(source.labels) == set(truth.values()) == {"staff", "product", "service", "price"}
    assert min(Counter(source.labels).values()) > 90


def test_columns_are_found_without_help():
    docs = read_collection(SAMPLE_FOLDER / "motorcycles.csv", want_labels=True)
    assert docs.labels[0] == "price"
    assert read_collection(SAMPLE_FOLDER / "cars.csv", want_labels=False).texts[0].startswith("Trade-in")


def test_nothing_odd_and_no_template_left_open(sample):
    for docs in sample[:2]:
        assert docs.checks() == []
        assert not any(set(text) & set("{}|<>") for text in docs.texts)
        lengths = [len(text.split()) for text in docs.texts]
        assert min(lengths) == 3
        assert max(lengths) > 30


def test_how_hard_it_is(sample):
    source, target, truth = sample
    true = [truth[name] for name in target.ids]
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=500))
    across = model.fit(source.texts, source.labels).score(target.texts, true)
    inside = cross_val_score(model, target.texts, true, cv=3).mean()
    assert 0.65 <= across <= 0.80
    assert inside > across + 0.05
