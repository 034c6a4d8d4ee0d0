"""Several sources: a useless one is left out, of contradicting ones the nearest to the target counts."""

import warnings

import numpy as np
import pytest

import isthmus
from isthmus.choose.sources import CANNOT_BE_LEARNED, CONTRADICTS, weigh_sources
from isthmus.exceptions import IsthmusWarning

GOOD, BAD = ["great", "lovely", "superb", "fine"], ["awful", "broken", "poor", "nasty"]
BOATS, TREES = ["sail", "deck", "harbour", "mast"], ["leaf", "root", "branch", "bark"]


def write(words, topic, n, rng):
    return [" ".join([*rng.choice(words, 3), *rng.choice(topic, 4)]) for _ in range(n)]


def source(topic, seed, n=60, words=(GOOD, BAD)):
    rng = np.random.default_rng(seed)
    return write(words[0], topic, n, rng) + write(words[1], topic, n, rng), ["up"] * n + ["down"] * n


def weigh(sources, target_topic):
    texts = [text for part, _ in sources.values() for text in part]
    labels = [label for _, part in sources.values() for label in part]
    domain = [name for name, (part, _) in sources.items() for _ in part]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = weigh_sources(texts, labels, domain, source(target_topic, 99)[0])
    assert all(issubclass(warning.category, IsthmusWarning) for warning in told)
    assert len(told) == sum(not row["used"] for row in found)
    return {row["source"]: row for row in found}


CARS, PHONES, ROOMS = ["engine", "wheel", "seat", "brake"], ["screen", "battery", "call", "key"], ["bed", "desk"]


def random_labels(seed=5):
    texts, labels = source(CARS, seed)
    return texts, np.random.default_rng(0).permutation(labels).tolist()


def turned(topic, seed):
    texts, labels = source(topic, seed)
    return texts, labels[::-1]


def test_sources_that_agree_are_all_used():
    found = weigh({"cars": source(CARS, 0), "phones": source(PHONES, 1)}, CARS + ROOMS)
    assert all(row["used"] and row["why"] == "" and row["agreement"] > 0.9 for row in found.values())
    assert found["cars"]["likeness"] > found["phones"]["likeness"]


def test_random_labels_are_left_out_of_two_sources_even_when_they_are_nearer():
    found = weigh({"random": random_labels(), "phones": source(PHONES, 1)}, CARS)
    assert found["random"]["why"] == CANNOT_BE_LEARNED
    assert found["phones"]["used"]


def test_labels_of_another_subject_are_left_out():
    found = weigh({"other": source(ROOMS, 2, words=(BOATS, TREES)), "phones": source(PHONES, 1)}, CARS)
    assert found["other"]["why"] == CONTRADICTS
    assert found["other"]["learned"] > 0.9  # they can be learned, and say nothing here
    assert found["phones"]["used"]


def test_turned_labels_lose_against_two_that_agree():
    found = weigh({"a": source(CARS, 0), "b": source(PHONES, 1), "turned": turned(ROOMS, 3)}, CARS)
    assert [row["used"] for row in found.values()] == [True, True, False]
    assert found["a"]["agreement"] > 0.9  # asked of the sources that are used


def test_few_documents_are_no_proof():
    few, labels = random_labels()
    found = weigh({"few": (few[50:70], labels[50:70]), "phones": source(PHONES, 1)}, CARS)
    assert found["few"]["used"]
    assert found["few"]["learned"] is None


def test_nothing_is_left_out_where_no_source_can_be_learned():
    found = weigh({"one": random_labels(5), "two": random_labels(6)}, CARS)
    assert any(row["used"] for row in found.values())


def test_a_useless_source_changes_no_label():
    texts, labels = source(PHONES, 1)
    target = source(CARS, 9)[0]
    alone = isthmus.label(texts, labels, target, method="logistic", min_df=1)
    more, at_random = random_labels()
    with pytest.warns(IsthmusWarning, match="left out"):
        both = isthmus.label(
            texts + more,
            labels + at_random,
            target,
            method="logistic",
            min_df=1,
            source_domain=["phones"] * len(texts) + ["random"] * len(more),
        )
    assert [row["used"] for row in both.sources] == [True, False]
    assert np.mean(alone.labels == both.labels) > 0.97


def test_the_order_of_rows_changes_nothing():
    parts = {"a": source(CARS, 0), "b": source(PHONES, 1), "c": turned(ROOMS, 3)}
    rng = np.random.default_rng(1)
    mixed = {}
    for name, (texts, labels) in parts.items():
        order = rng.permutation(len(texts))
        mixed[name] = [texts[i] for i in order], [labels[i] for i in order]
    first, second = weigh(parts, CARS), weigh(mixed, CARS)
    assert {name: row["used"] for name, row in first.items()} == {name: row["used"] for name, row in second.items()}
    assert all(first[name]["agreement"] == second[name]["agreement"] for name in first)


def test_sources_that_are_all_used_give_what_one_file_gives():
    parts = [source(CARS, 0), source(PHONES, 1)]
    texts, labels = ([item for part in parts for item in part[side]] for side in (0, 1))
    target = source(ROOMS, 9)[0]
    several, one = (
        isthmus.label(texts, labels, target, method="logistic", min_df=1, source_domain=domain)
        for domain in (["cars"] * 120 + ["phones"] * 120, None)
    )
    assert all(row["used"] for row in several.sources)
    np.testing.assert_array_equal(several.probabilities, one.probabilities)


def test_likeness_goes_by_words_whatever_number_of_times_they_stand_in_a_text():
    """The third time a word stands in a text says less than the first: 1 + ln 3 instead of 3; both words are in all."""
    found = weigh_sources(
        ["oar oar oar keel", "oar keel keel keel"], ["a", "b"], ["x", "y"], ["oar oar keel"], min_df=1
    )
    rows = np.array([[1 + np.log(3), 1], [1, 1 + np.log(3)], [1 + np.log(2), 1]])
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert [row["likeness"] for row in found] == [round(float(row @ rows[2]), 4) for row in rows[:2]]
