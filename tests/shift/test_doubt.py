"""Source labels that are probably wrong: which are found, what they should be, how many there are, and back again."""

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus.exceptions import DataError, UsageError
from isthmus.shift import doubt_labels
from isthmus.shift.doubt import estimate_noise
from isthmus_bench.shifted import make_shifted_texts

N_WORDS = 30


def two_topics(n=400, seed=0, sure=0.8):
    """Word counts of two topics, ten words each and ten of both, and the topics."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=n)
    shares = np.full((2, N_WORDS), (1 - sure) / N_WORDS)
    shares[0, :10] += sure / 10
    shares[1, 10:20] += sure / 10
    return sp.csr_matrix([rng.multinomial(12, shares[code]) for code in codes]), codes


def flipped(codes, share, seed=1):
    wrong = np.random.default_rng(seed).permutation(len(codes))[: int(share * len(codes))]
    given = codes.copy()
    given[wrong] = 1 - given[wrong]
    return given, set(wrong.tolist())


@pytest.mark.parametrize("share", [0.05, 0.15, 0.3])
def test_planted_labels_are_found_and_put_right(share):
    counts, codes = two_topics()
    given, wrong = flipped(codes, share)
    found = doubt_labels(counts, given, 2)
    named = set(found.rows.tolist())
    assert len(named & wrong) >= 0.8 * len(wrong), f"{len(named & wrong)} of {len(wrong)} planted labels were found"
    assert len(named & wrong) >= 0.9 * len(named), f"{len(named - wrong)} right labels are doubted"
    np.testing.assert_array_equal(found.suggested, 1 - given[found.rows], err_msg="of two classes the other one")
    assert found.low <= share <= found.high, f"{share} is not in {found.low:.3f} to {found.high:.3f}"


def test_clean_labels_are_not_doubted():
    counts, codes = two_topics()
    found = doubt_labels(counts, codes, 2)
    assert len(found.rows) == 0
    assert (found.noise, found.low) == (0.0, 0.0)


def test_noise_is_counted_by_hand():
    # Class 0 is given to 20 documents, its surest two hold one contradiction; class 1 to 20, its surest two hold none.
    sure = np.linspace(0.95, 0.6, 20)
    probabilities = np.vstack([np.column_stack([sure, 1 - sure]), np.column_stack([1 - sure, sure])])
    codes = np.repeat([0, 1], 20)
    codes[0] = 1
    noise, low, high = estimate_noise(probabilities, codes)
    assert noise == pytest.approx(20 / 40 * 1 / 2)
    assert 0 <= low < noise < high <= 1


def test_small_classes_are_not_judged():
    counts, codes = two_topics(60)
    codes = codes.copy()
    codes[:3] = 2
    found = doubt_labels(counts, codes, 3)
    assert not set(found.rows.tolist()) & {0, 1, 2}
    assert doubt_labels(counts[:6], np.array([0, 0, 0, 0, 0, 1]), 2) is None


def test_a_suggested_class_has_its_own_number_where_a_class_is_too_small():
    counts, codes = two_topics()
    given, _ = flipped(codes, 0.1)
    alike = doubt_labels(counts, given, 2)
    with_small = sp.vstack([counts, counts[:1]], format="csr")
    found = doubt_labels(with_small, np.append(given + 1, 0), 3)  # one document of class 0 comes in front of them
    assert found.rows.tolist() == alike.rows.tolist()
    assert found.suggested.tolist() == (alike.suggested + 1).tolist()


def test_words_say_what_speaks_for_which():
    counts, codes = two_topics()
    given, _ = flipped(codes, 0.1)
    found = doubt_labels(counts, given, 2)
    for row, suggested, evidence in zip(found.rows, found.suggested, found.evidence, strict=True):
        own = range(10 * suggested, 10 * suggested + 10)
        assert set(evidence["for_suggested"].tolist()) <= {*own, *range(20, 30)}, f"document {row}"
        assert len(evidence["for_suggested"]), f"nothing is said for document {row}"


@pytest.fixture(scope="module")
def noisy():
    """Texts of two domains with eight source labels put wrong, and these."""
    data = make_shifted_texts(n_source=160, n_target=80, random_state=0)
    labels = list(data.source_labels)
    wrong = {row: labels[row] for row in range(0, 160, 20)}
    for row, right in wrong.items():
        labels[row] = next(name for name in sorted(set(labels)) if name != right)
    return data, labels, wrong


def test_a_diagnosis_lists_them_and_teach_takes_them_back(noisy, tmp_path, monkeypatch):
    """All of them, however short other tables are cut: they are a list to work through."""
    monkeypatch.setattr("isthmus.shift.diagnose._TABLE_ROWS", 2)
    data, labels, wrong = noisy
    found = isthmus.diagnose(data.source_texts, labels, data.target_texts)
    table = found.review_source(data.source_texts)
    listed = {number - 1 for number in table["document"]}
    assert len(listed & set(wrong)) >= 4, f"{sorted(listed & set(wrong))} of {sorted(wrong)} were listed"
    assert table["true_label"] == [""] * len(listed)
    assert [data.source_texts[number - 1] for number in table["document"]] == table["text"]
    table["true_label"] = [wrong.get(number - 1, "") for number in table["document"]]
    before = isthmus.label(data.source_texts, labels, data.target_texts, method="nbc")
    answered = before.teach({"document": [1], "true_label": [data.target_labels[0]]})
    after = answered.teach(source_labels=table)
    clean = [wrong.get(row, label) if row in listed else label for row, label in enumerate(labels)]
    assert after.source_labels.tolist() == clean
    fresh = isthmus.label(data.source_texts, clean, data.target_texts, method="nbc")
    np.testing.assert_array_equal(after.untaught().probabilities, fresh.probabilities)
    assert after.answers.labels == [data.target_labels[0]], "answers are kept"
    assert after.settings["source_labels_corrected"] == len(listed & set(wrong))
    path = tmp_path / "page.html"
    found.report(path)
    assert "Source labels that are probably wrong" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("table", "code", "said"),
    [
        ({"document": [1], "true_label": [""]}, "bad-answers", "No source label is corrected"),
        ({"document": [999], "true_label": ["a"]}, "bad-answers", "Document 999"),
        ({"id": [1], "true_label": ["a"]}, "bad-answers", "document (numbered from 1)"),
        ({"document": [1, 1], "true_label": ["a", "b"]}, "bad-answers", "corrected twice"),
    ],
)
def test_corrections_that_cannot_be_read(noisy, table, code, said):
    data, labels, _ = noisy
    result = isthmus.label(data.source_texts, labels, data.target_texts, method="nbc")
    with pytest.raises(DataError) as caught:
        result.teach(source_labels=table)
    assert caught.value.code == code
    assert said in str(caught.value)


def test_corrected_source_labels_are_learned_as_the_run_was_asked_for(noisy):
    data, labels, wrong = noisy
    row, truth = next(iter(wrong.items()))
    asked = {
        "parameters": {"n_word_clusters": 3}, "random_state": 3, "error_budget": 0.3, "analyzer": "words", "min_df": 1,
        "language": "en",
    }  # fmt: skip
    result = isthmus.label(data.source_texts, labels, data.target_texts, "cocc", **asked)
    after = result.teach(source_labels={"document": [row + 1], "true_label": [truth]})
    rule = after.model.members["cocc"].rule
    assert rule.tables.n_word_clusters_ == 3, "the method is fitted with its parameters"
    assert {name: after.settings[name] for name in asked} == asked


def test_what_a_labelling_does_not_keep_is_named(noisy):
    data, labels, wrong = noisy
    result = isthmus.label(
        data.source_texts, labels, data.target_texts, method="nbc", extra_texts=data.target_texts[:5]
    )
    row = min(wrong)
    with pytest.raises(UsageError, match="made with extra texts"):
        result.teach(source_labels={"document": [row + 1], "true_label": [wrong[row]]})


def test_without_a_seed_labels_are_doubted_as_with_the_first():
    counts, codes = two_topics(60)
    given, _ = flipped(codes, 0.1)
    none, first, other = (doubt_labels(counts, given, 2, random_state=seed) for seed in (None, 0, 3))
    assert none.rows.tolist() == first.rows.tolist()
    np.testing.assert_array_equal(none.support, first.support, err_msg="the folds are those of seed 0")
    assert not np.array_equal(first.support, other.support), "another seed, other folds"
