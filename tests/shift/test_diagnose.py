"""The diagnosis: three pairs of collections, three verdicts; findings in order; broken input."""

import functools
import json

import numpy as np
import pytest
import scipy.sparse as sp

import isthmus
from isthmus.api.diagnose import Diagnosis
from isthmus.corpus import load_sample
from isthmus.exceptions import DataError
from isthmus.shift import diagnose as diagnose_module
from isthmus.shift import findings
from isthmus.shift.diagnose import _verdict, measure_shift
from isthmus_bench.datasets import load_dataset
from isthmus_bench.shifted import make_shifted_texts

TOPICS = {
    "sizes", "languages", "vocabulary", "distance", "divergence", "target-only words", "near-duplicates",
    "what carries over", "class balance", "pivots", "moved words", "groups", "new groups", "source labels",
}  # fmt: skip
STAFF = ["kind", "polite", "rude", "friendly", "helpful", "patient"]
PRICE = ["cheap", "expensive", "fair", "high", "discount", "cost"]


def comments(n, things, seed=0):
    """English sentences about staff and price of given things, and their classes."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        label = ["staff", "price"][rng.integers(2)]
        words = rng.choice(STAFF if label == "staff" else PRICE, 2)
        thing = rng.choice(things, 2)
        texts.append(f"The {thing[0]} was {words[0]} and it is {words[1]} for the {thing[1]} that we had in {label}")
        labels.append(label)
    return texts, labels


BIKES, KITCHEN = ["bike", "helmet", "engine", "wheel"], ["kettle", "toaster", "spoon", "oven"]


@pytest.fixture(scope="module")
def same():
    source, labels = comments(300, BIKES)
    return isthmus.diagnose(source, labels, comments(300, BIKES, seed=1)[0])


@pytest.fixture(scope="module")
def shifted():
    source, labels = comments(300, BIKES)
    return isthmus.diagnose(source, labels, comments(300, KITCHEN, seed=1)[0])


@pytest.fixture(scope="module")
def foreign():
    source, labels = comments(300, BIKES)
    return isthmus.diagnose(source, labels, ["发动机很响，价格太高", "服务员非常友好", "NBA 球员来了"] * 60)


def test_three_verdicts(same, shifted, foreign):
    assert (same.level, shifted.level, foreign.level) == ("same", "shift", "no-transfer")
    assert same.verdict == "Same domain: an ordinary classifier will do."
    assert shifted.verdict.startswith("Real shift, transferable")
    assert foreign.verdict == "Do not transfer: different languages (English, Chinese), no shared words."


def test_every_topic_once_and_gravest_first(same, shifted, foreign):
    for result in (same, shifted, foreign):
        assert {row["topic"] for row in result} == TOPICS
        assert len(result) == len(TOPICS)
        severities = [row["severity"] for row in result.findings]
        assert severities == sorted(severities, reverse=True)
        assert set(severities) <= {0, 1, 2, 3}
        for row in result:
            assert row["finding"].endswith(".")
            assert row["advice"]


def test_one_language_and_shared_class_words_are_recognised(shifted):
    assert shifted["languages"]["severity"] == 0
    assert shifted["what carries over"]["severity"] == 0
    assert {row["word"] for row in shifted.tables["target_only_words"]} == {"kettle", "toaster", "spoon", "oven"}
    assert {"staff", "price"} <= {row["word"] for row in shifted.tables["pivots"][:2]}
    with pytest.raises(KeyError):
        shifted["weather"]


def test_forms_of_the_result(shifted, tmp_path):
    assert isinstance(shifted, Diagnosis)
    text = str(shifted)
    assert text.startswith(shifted.verdict)
    assert all(topic in text for topic in TOPICS)
    frame = shifted.to_frame()
    assert frame.columns == ["severity", "topic", "finding", "advice"]
    assert frame.height == len(TOPICS)
    again = json.loads(json.dumps(shifted.to_dict(), allow_nan=False))
    assert again["level"] == "shift"
    assert again["findings"][0]["values"]["distance"] > 1.2


def test_same_seed_same_answer_and_order_of_documents_changes_no_verdict(shifted):
    source, labels = comments(300, BIKES)
    target = comments(300, KITCHEN, seed=1)[0]
    assert isthmus.diagnose(source, labels, target).to_dict() == shifted.to_dict()
    order = np.random.default_rng(3).permutation(300)
    turned = isthmus.diagnose([source[i] for i in order], [labels[i] for i in order], target[::-1])
    assert turned.level == shifted.level
    assert turned["vocabulary"]["values"]["tokens_known"] == shifted["vocabulary"]["values"]["tokens_known"]


def test_labels_without_signal_are_found_out():
    source, labels = comments(300, BIKES)
    shuffled = np.random.default_rng(0).permutation(labels).tolist()
    result = isthmus.diagnose(source, shuffled, comments(300, BIKES, seed=1)[0])
    assert result.level == "no-transfer"
    assert "do not tell the source's own classes apart" in result["what carries over"]["finding"]
    assert result.verdict == "Do not transfer: the source's own labels cannot be told apart by their words."


@pytest.mark.parametrize("n", [1, 3, 5, 20])
def test_a_handful_of_documents_of_the_same_corpus_is_no_reason_to_refuse(n):
    source, _, _ = load_sample()
    order = np.random.default_rng(0).permutation(len(source.texts))
    few, rest = order[:n], order[40:]
    result = isthmus.diagnose(
        [source.texts[i] for i in rest], [source.labels[i] for i in rest], [source.texts[i] for i in few]
    )
    assert result.level == "small-shift", str(result)
    assert "fewer than 30 target documents" in result["what carries over"]["advice"]
    assert "With so few documents this is a rough guess." in result.verdict


def test_a_verdict_on_few_documents_is_rough_at_every_level():
    source, labels = comments(300, BIKES)
    foreign = isthmus.diagnose(source, labels, ["发动机很响，价格太高", "服务员非常友好"] * 20)
    assert foreign.level == "no-transfer"
    assert foreign.verdict.endswith("With so few documents this is a rough guess.")
    counted = isthmus.diagnose(source[:50], ["one"] * 50, source[50:])
    assert counted.verdict == "Do not transfer: the labels name fewer than two classes."


@pytest.mark.parametrize(
    ("grave", "said"),
    [
        ("languages", "different languages (English, German), what tells the classes apart is not in the target."),
        ("vocabulary", "no shared words."),
    ],
)
def test_missing_words_are_one_reason_not_two(grave, said):
    rows = [{"topic": name, "severity": 3 * (name == grave)} for name in ("sizes", "languages", "vocabulary")]
    rows[2]["values"] = {"shared_types": 0}
    rows.append({"topic": "what carries over", "severity": 3, "values": {"separable": True}})
    assert _verdict(3, rows, [{"en": 1.0}, {"de": 1.0}]).endswith(": " + said)


def test_small_shares_get_a_digit_more_and_nothing_is_plainly_nothing():
    assert [findings.percent(share) for share in (0, 0.042, 0.0994, 0.0996, 0.5)] == [
        "0%", "4.2%", "9.9%", "10%", "50%"
    ]  # fmt: skip


def test_no_method_is_advised_where_the_verdict_is_not_to_transfer(foreign):
    source, labels = comments(300, BIKES)
    shuffled = np.random.default_rng(0).permutation(labels).tolist()
    half_known = comments(300, KITCHEN, seed=1)[0]
    for result in (foreign, isthmus.diagnose(source, shuffled, half_known)):
        assert result.level == "no-transfer"
        advice = " ".join(row["advice"] for row in result)
        assert not any(word in advice for word in ("prefer strings", "--method", "a method that", "methods that"))


def test_source_is_said_to_know_words_only_where_it_does():
    overlap = {"shared_types": 5, "target_types": 20, "source_types": 20}
    poor = findings.vocabulary_finding({"tokens_known": 0.25, **overlap}, halves=0.25)
    rich = findings.vocabulary_finding({"tokens_known": 0.95, **overlap}, halves=0.95)
    assert poor["severity"] == rich["severity"] == 0
    assert rich["advice"] == "The source knows the target's words."
    assert "no fewer of the target's words than half of it" in poor["advice"]


def test_classes_are_judged_by_the_labelled_documents_wherever_they_stand():
    source, labels = comments(160, BIKES)
    half = [label if row % 2 else None for row, label in enumerate(labels)]
    found = isthmus.diagnose(source, half, comments(80, BIKES, seed=1)[0])["what carries over"]
    assert found["severity"] == 0, found["finding"]


def test_copied_documents_are_counted():
    source, labels = comments(200, BIKES)
    target = comments(150, KITCHEN, seed=1)[0] + source[:50]
    result = isthmus.diagnose(source, labels, target)
    assert result["near-duplicates"]["values"]["count"] == 50
    assert result["near-duplicates"]["severity"] == 1
    copies = result.tables["near_duplicates"]
    assert {row["target"] for row in copies} == set(range(150, 200))
    assert [source[row["source"]] for row in copies] == [target[row["target"]] for row in copies]


@pytest.mark.parametrize(
    ("source", "labels", "target", "level"),
    [
        (["kind staff"], ["a"], ["kind staff"], "no-transfer"),  # one class
        (["kind staff", "fast bike"], [None, None], ["kind staff"], "no-transfer"),  # no labels
        (["kind staff", "fast bike"], ["a", "b"], ["", "  "], "no-transfer"),  # nothing in the target
        (["", "12"], ["a", "b"], ["fast bike"], "no-transfer"),  # nothing in the source
        (["kind staff", "fast bike"], ["a", "b"], ["kind staff", "fast bike"], "small-shift"),  # too few to measure
        (["kind staff", "fast bike"] * 3, [1, 2] * 3, ["kind"], "small-shift"),
    ],
    ids=["one class", "no labels", "empty target", "empty source", "two documents", "one target document"],
)
def test_poor_data_gets_an_answer(source, labels, target, level):
    result = isthmus.diagnose(source, labels, target)
    assert result.level == level, str(result)
    json.dumps(result.to_dict(), allow_nan=False)


def test_broken_input_is_refused():
    with pytest.raises(DataError) as caught:
        isthmus.diagnose(["kind staff"], ["a", "b"], ["fast bike"])
    assert caught.value.code == "length-mismatch"
    with pytest.raises(DataError):
        isthmus.diagnose("kind staff", ["a"], ["fast bike"])
    with pytest.raises(DataError):
        isthmus.diagnose(["kind staff"], ["a"], [])


@pytest.mark.slow
def test_the_sample_is_a_shift_that_can_be_crossed():
    source, target, _ = load_sample()
    assert isthmus.diagnose(source.texts, source.labels, target.texts).level in ("small-shift", "shift")


# -- real collections --------------------------------------------------------------------------------------------------


kept = functools.cache(load_dataset)


def part(name, folder, domain=None, n=600, seed=0, start=0):
    docs = kept(name, folder)
    rows = [i for i, value in enumerate(docs.domain) if domain is None or value == domain]
    chosen = np.random.default_rng(seed).permutation(rows)[start : start + n]
    return docs.select(chosen)


@pytest.mark.data
def test_three_pairs_of_real_collections_get_three_verdicts(data_dir):
    books = part("amazon_reviews", data_dir, "books")
    cases = {
        "halves": (books, part("amazon_reviews", data_dir, "books", start=600)),
        "kitchen": (books, part("amazon_reviews", data_dir, "kitchen")),
        "headlines": (part("newsgroups20", data_dir, n=200), part("headlines", data_dir, n=200)),
    }
    results = {
        name: isthmus.diagnose(source.texts, source.labels, target.texts) for name, (source, target) in cases.items()
    }
    assert {name: result.level for name, result in results.items()} == {
        "halves": "same",
        "kitchen": "shift",
        "headlines": "no-transfer",
    }
    assert "English, Chinese" in results["headlines"].verdict
    assert results["kitchen"]["what carries over"]["severity"] <= 2  # 1 or 2, by the draw of the thinned words


def test_where_nothing_carries_over_the_shares_of_the_target_are_not_guessed():
    """Below a quarter of what is known within the source, a guess would be noise; above it, there is one."""
    for shared, common, guessed in ((0.0, 0.05, False), (1.0, 0.5, True)):
        made = make_shifted_texts(60, 60, shared=shared, common=common, length=14, random_state=8)
        found = isthmus.diagnose(list(made.source_texts), list(made.source_labels), list(made.target_texts))
        rows = {row["topic"]: row for row in found.findings}
        assert ("target" in rows["class balance"]["values"]) is guessed, rows["what carries over"]
        assert ("Rough guess for the target" in str(found)) is guessed


def test_empty_documents_of_the_target_are_counted():
    result = isthmus.diagnose(
        ["kind staff", "fast bike"] * 6, ["a", "b"] * 6, ["kind staff", "", "fast bike", "  "] * 3
    )
    assert result["sizes"]["values"]["empty_target"] == 6


def test_words_alone_keep_no_labels_from_travelling_by_vectors():
    english = ["the soup was cold and the bread was dry", "the waiter was kind and quick to help"] * 15
    german = ["die Suppe war kalt und das Brot war trocken", "der Kellner war nett und half uns sofort"] * 15
    levels = {}
    for vectors in (False, True):
        found = measure_shift(english, ["food", "staff"] * 15, german, vectors=vectors)
        row = next(row for row in found["findings"] if row["topic"] == "languages")
        levels[vectors] = row["severity"]
        assert ("through the vectors alone" in row["advice"]) == vectors, row["advice"]
        words = [row["severity"] for row in found["findings"] if row["topic"] in ("vocabulary", "what carries over")]
        assert (max(words) == 3) == (not vectors), "with vectors, words decide nothing"
    assert levels == {False: 3, True: 2}


def test_groups_that_fit_no_class_are_looked_for_with_the_seed_that_was_named(monkeypatch):
    """By rows of the same words on both sides, and with the labels of the source's rows."""
    given = {}
    counts = sp.csr_matrix(np.random.default_rng(0).integers(0, 3, (130, 6)))
    labels = np.array(["a", "b"] * 35)

    def compare(source, own, target, *, random_state=0):
        given["pair"] = source.shape, own.tolist(), target.shape, random_state
        return "pair"

    def find(pair, rows, names, *, random_state=0):
        given["groups"] = pair, rows.shape, names, random_state
        return "groups"

    def simulate(rows, own, names, *, random_state=0):
        given["played"] = rows.shape, own.tolist(), names, random_state
        return "played"

    monkeypatch.setattr(diagnose_module, "compare_pair", compare)
    monkeypatch.setattr(diagnose_module, "find_novel_groups", find)
    monkeypatch.setattr(diagnose_module, "simulate_on_source", simulate)
    assert diagnose_module._novelty(counts[:70], labels, counts[70:], "words", 7) == ("groups", "played")
    assert given == {
        "pair": ((70, 6), labels.tolist(), (60, 6), 7),
        "groups": ("pair", (60, 6), "words", 7),
        "played": ((70, 6), labels.tolist(), "words", 7),
    }


def test_a_language_that_was_named_is_taken_for_that_of_both_sides():
    source, target = ["the bikes and the bike"] * 30, ["kettle and kettles", "a kettle of kettles"] * 15
    texts = source, ["a", "b"] * 15, target
    german = isthmus.diagnose(*texts, language="de")
    assert german["languages"]["finding"] == "Source: German 100%; target: German 100%."
    words = {
        language: {row["word"] for row in isthmus.diagnose(*texts, language=language).tables["target_only_words"]}
        for language in ("en", "other")
    }
    assert len(words["en"] & {"kettle", "kettles"}) == 1, "forms of one word in English"
    assert {"kettle", "kettles"} <= words["other"], "two words where the language has no rules"
