"""Scorers look at a sample of large collections; what they say of the documents beyond it."""

import numpy as np
import pytest

import isthmus
from isthmus.choose import candidates, evidence, sources, texts
from isthmus.choose.evidence import LabelScorer
from isthmus.choose.trust import disputed
from isthmus.choose.views import View
from isthmus_bench.shifted import make_shifted_texts


@pytest.fixture(scope="module")
def made():
    return make_shifted_texts(120, 160, noise=0.4, random_state=1)


@pytest.mark.parametrize("sample", [2_000, 60])
def test_a_label_that_either_plain_method_contradicts_is_disputed(made, monkeypatch, sample):
    """Where two methods differ, whatever label is given is disputed; with the last method alone none would be."""
    monkeypatch.setattr(evidence, "SAMPLE", sample)
    texts = made.target_texts
    scorer = LabelScorer(made.source_texts, made.source_labels, texts)
    assert len(scorer.target) == min(sample, len(set(texts)))
    found = [disputed(scorer, [name] * len(texts), texts) for name in ("class 0", "class 1")]
    beyond = np.setdiff1d(np.arange(len(texts)), scorer.target)
    assert (found[0] | found[1]).all()
    for rows in (scorer.target, beyond):
        assert not len(rows) or (found[0] & found[1])[rows].any()


@pytest.mark.parametrize("sample", [2_000, 60])
def test_the_evidence_of_a_sample_is_that_of_its_own_labels(monkeypatch, sample):
    """Labels are drawn with their texts: else nothing could be learned within the source."""
    monkeypatch.setattr(evidence, "SAMPLE", sample)
    made = make_shifted_texts(120, 120, random_state=1)
    order = np.argsort(made.source_labels, kind="stable")
    texts, labels = [made.source_texts[i] for i in order], [made.source_labels[i] for i in order]
    found = LabelScorer(texts, labels, made.target_texts).score(made.target_labels)
    assert found.source_learned
    assert np.trace(found.tables[1]) / found.tables[1].sum() > 0.8
    assert found.tables[1].sum() == min(sample, len(set(texts)))


@pytest.mark.parametrize("sample", [2_000, 60])
def test_vectors_and_labels_of_a_sample_are_those_of_its_documents(monkeypatch, sample):
    """Vectors that tell the classes apart, labels given by the target's numbers."""
    monkeypatch.setattr(evidence, "SAMPLE", sample)
    made = make_shifted_texts(120, 120, random_state=1)
    numbers = np.random.default_rng(0).permutation(120)
    given = np.array(made.target_labels)[np.argsort(numbers)]  # in the caller's order
    both = made.source_labels, made.target_labels
    sides = [np.eye(2)[[int(label == "class 1") for label in labels]] for labels in both]
    scorer = LabelScorer(
        made.source_texts, made.source_labels, made.target_texts, views={"own": View(*sides)}, target_numbers=numbers
    )
    assert scorer.score(given).others["own"].reverse_accuracy == 1.0
    assert scorer.score(given).reverse_accuracy > 0.8


@pytest.mark.parametrize("sample", [1_000, 40])
def test_sources_are_counted_whole_and_judged_by_a_sample(monkeypatch, sample):
    """A source whose labels say nothing is left out, on both sides of the number of documents looked at."""
    monkeypatch.setattr(sources, "SAMPLE", sample)
    made = make_shifted_texts(90, 80, n_sources=2, shared=0.6, random_state=2)
    rng = np.random.default_rng(0)
    labels = [*made.source_labels[:90], *rng.permutation(made.source_labels[90:]).tolist()]
    with pytest.warns(isthmus.exceptions.IsthmusWarning, match="labels of source 2"):
        result = isthmus.label(
            made.source_texts, labels, made.target_texts, method="nbc", source_domain=made.source_domain
        )
    rows = [(row["source"], row["documents"], row["used"]) for row in result.sources]
    assert rows == [("source 1", 90, True), ("source 2", 90, False)]


@pytest.mark.parametrize("sample", [2_000, 30])
def test_further_texts_join_the_side_they_read_like(monkeypatch, sample):
    """The sides are of unequal size, and larger than what is looked at of each."""
    monkeypatch.setattr(texts, "SIDE_SAMPLE", sample)
    made = make_shifted_texts(90, 60, shared=0.1, random_state=2)
    more = make_shifted_texts(100, 80, shared=0.1, random_state=2)
    extra = [*more.source_texts[90:], *more.target_texts[60:]]
    labels = np.array(made.source_labels, dtype=object)
    found = texts.TransferTexts.of(made.source_texts, labels, made.target_texts, extra)
    wanted = [-1 if text in extra[10:] else 1 for text in found.texts[150:]]
    assert np.mean(found.domain[150:] == wanted) > 0.8


@pytest.mark.parametrize("large", [12_000, 50])
def test_string_kernels_that_come_first_are_weighed_like_the_others(made, monkeypatch, large):
    monkeypatch.setattr(candidates, "LARGE", large)
    monkeypatch.setattr(candidates, "CANDIDATES", ("logistic", "strings"))
    labels = np.array(made.source_labels, dtype=object)
    collections = texts.TransferTexts.of(made.source_texts, labels, made.target_texts)
    found = candidates.try_methods(collections, embed=False, word_labels=False, n_jobs=1)
    assert {"logistic", "strings"} <= set(found.evidence)
