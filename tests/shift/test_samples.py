"""Large collections are looked at in samples: each path on both sides of its size, with the same expectation."""

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus.shift import diagnose as module
from isthmus.shift.groups import group_facts
from isthmus.shift.shares import LABEL_SHIFT, compare_shares
from isthmus.shift.vocabulary import proxy_a_distance
from isthmus_bench.shifted import make_shifted_texts


@pytest.fixture(scope="module")
def made():
    """Two classes and a third one in the target alone; source texts that sort by class."""
    return make_shifted_texts(300, 300, n_novel=1, shared=0.7, random_state=3)


@pytest.mark.parametrize("sample", [2_000, 180])
def test_a_sample_finds_the_group_that_fits_no_class(made, monkeypatch, sample):
    """Labels are drawn with their rows: with labels of others, nothing fits any class and nothing is confirmed."""
    monkeypatch.setattr(module, "_SAMPLE", sample)
    found = isthmus.diagnose(made.source_texts, made.source_labels, made.target_texts)
    (group,) = found.tables["new_groups"]
    assert group["words"].split(", ")[0] in made.words_of("class 2")
    assert group["documents"] > 0.9 * made.target_labels.count("class 2") * min(1, sample / 300)


@pytest.mark.parametrize("largest", [1_000, 60])
def test_groups_of_a_sample_are_compared_with_its_own_labels(largest):
    """The source's classes are its groups, whatever the number of documents that are looked at."""
    counts = np.zeros((200, 12), dtype=int)
    codes = np.sort(np.arange(200) % 2)
    rng = np.random.default_rng(0)
    counts[:100, :6], counts[100:, 6:] = rng.poisson(2, (100, 6)) + 1, rng.poisson(2, (100, 6)) + 1
    rows = sp.csr_matrix(counts)
    assert group_facts(rows, codes, rows, 2, largest=largest)["agreement"] == 1.0


def test_the_cautious_shares_are_held_back_by_the_source():
    """By hand: with certain labels the estimate is (count + 0.2 n × the source's share) / 1.2 n."""
    probabilities = np.repeat(np.eye(2), [10, 90], axis=0)
    labels = np.repeat(["a", "b"], [10, 90])
    shift = compare_shares(["a"] * 50 + ["b"] * 50, probabilities, labels, np.array(["a", "b"]))
    assert LABEL_SHIFT["caution"] == 0.2
    np.testing.assert_allclose(shift.by_likelihood, [0.1, 0.9], atol=2e-3)
    np.testing.assert_allclose(shift.cautious, [(10 + 20 * 0.5) / 120, (90 + 20 * 0.5) / 120], atol=2e-3)
    np.testing.assert_allclose(shift.factors, shift.cautious / 0.5, rtol=1e-12)


@pytest.mark.parametrize("largest", [3_000, 40])
def test_domains_are_told_apart_by_documents_that_hold_a_word(largest):
    """Sixty documents without a word stand first on both sides: drawn with the others, they would look alike."""
    words = np.repeat(np.eye(2, dtype=int), 3, axis=1)
    source, target = (sp.csr_matrix(np.repeat([np.zeros(6, dtype=int), row], 60, axis=0)) for row in words)
    found = proxy_a_distance(source, target, largest=largest)
    assert (found["documents"], found["distance"]) == (min(largest, 60), 2.0)
