"""Every finding on both sides of each of its bounds: severity, the numbers in its sentence, and its advice."""

from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.shift import findings
from isthmus.shift.bridges import Carrying
from isthmus.shift.findings import duplicate_finding


def said(row):
    return row["severity"], row["finding"], row["advice"]


@pytest.mark.parametrize(
    ("labelled", "target", "severity"), [(100, 100, 0), (99, 500, 1), (500, 99, 1), (20, 99, 1), (19, 500, 2)]
)
def test_sizes(labelled, target, severity):
    row = findings.size_finding(600, labelled, target, 0)
    assert row["severity"] == severity
    assert row["finding"].startswith(f"600 source documents ({labelled} with a label) and {target} target documents.")
    assert ("rough" in row["advice"]) == (severity > 0)
    assert row["values"] == {"source": 600, "labelled": labelled, "target": target, "empty_target": 0}


def test_sizes_with_empty_documents():
    row = findings.size_finding(600, 500, 400, 1)
    assert row["finding"].endswith("400 target documents; 1 target document holds no word.")
    assert (
        row["advice"] == "There are enough documents to measure. Labels of empty documents are guesses: set them aside."
    )


@pytest.mark.parametrize(
    ("source", "target", "known", "vectors", "severity", "words"),
    [
        ({}, {"en": 1.0}, 0.9, False, 3, "Check the text column."),
        ({"en": 1.0}, {}, 0.9, False, 3, "Check the text column."),
        ({"en": 1.0}, {"en": 1.0}, 0.9, False, 0, "One language on both sides."),
        ({"latin": 1.0}, {"latin": 1.0}, 0.9, False, 0, "The words do not reveal the language."),
        ({"en": 1.0}, {"de": 1.0}, 0.49, False, 3, "Translate one side first; words do not cross languages."),
        ({"en": 1.0}, {"de": 1.0}, 0.5, False, 2, "Translate one side first; words do not cross languages."),
        ({"en": 1.0}, {"de": 1.0}, 0.49, True, 2, "their model must know both languages"),
        ({"en": 1.0}, {"latin": 1.0}, 0.09, False, 3, "Translate one side"),
        ({"en": 1.0}, {"latin": 1.0}, 0.1, False, 0, "The words do not reveal the language."),
        ({"en": 1.0}, {"en": 0.79, "de": 0.21}, 0.9, False, 2, "21% of the target is in a language the source lacks"),
        ({"en": 1.0}, {"en": 0.8, "de": 0.2}, 0.9, False, 1, "20% of the target is in a language the source lacks"),
        ({"en": 1.0}, {"en": 0.97, "de": 0.03}, 0.9, False, 1, "3.0% of the target is in a language the source lacks"),
        ({"en": 1.0}, {"en": 0.98, "de": 0.02}, 0.9, False, 0, "One language on both sides."),
        ({"en": 0.95, "de": 0.05}, {"en": 0.5, "de": 0.5}, 0.9, False, 0, "One language on both sides."),
        ({"en": 0.96, "de": 0.04}, {"en": 0.5, "de": 0.5}, 0.9, False, 2, "50% of the target"),
    ],
)
def test_languages(source, target, known, vectors, severity, words):
    row = findings.language_finding(source, target, known, vectors)
    assert row["severity"] == severity
    assert words in row["advice"]


def test_languages_are_named_with_their_shares():
    row = findings.language_finding({"en": 0.9, "de": 0.095, "fr": 0.005}, {"en": 1.0}, 0.9)
    assert row["finding"] == "Source: English 90%, German 9.5%; target: English 100%."


@pytest.mark.parametrize(
    ("known", "halves", "shared", "severity", "words"),
    [
        (0.85, 1.0, 5, 0, "The source knows the target's words."),
        (0.5, 0.5, 5, 0, "no fewer of the target's words than half of it"),
        (0.84, 1.0, 5, 1, "can connect them"),
        (0.5, 1.0, 5, 1, "can connect them"),
        (0.49, 1.0, 5, 2, "character n-grams"),
        (0.1, 1.0, 5, 2, "character n-grams"),
        (0.09, 1.0, 5, 3, "share almost no words"),
        (0.0, 1.0, 0, 3, "share almost no words"),
        (0.9, 0.0, 5, 0, "The source knows the target's words."),
    ],
)
def test_vocabulary(known, halves, shared, severity, words):
    overlap = {"tokens_known": known, "shared_types": shared, "target_types": 1}
    row = findings.vocabulary_finding(overlap, halves)
    assert row["severity"] == severity
    assert words in row["advice"]
    assert row["finding"].startswith(f"The source knows {shared} of 1 target word: {findings.percent(known)} of")
    assert row["values"] == {"tokens_known_halves": halves, **overlap}


@pytest.mark.parametrize(
    ("distance", "severity", "meaning"),
    [
        (0.39, 0, "are hard to tell apart"),
        (0.4, 1, "can partly be told apart"),
        (1.19, 1, "can partly be told apart"),
        (1.2, 2, "are easy to tell apart"),
        (2.0, 2, "are easy to tell apart"),
    ],
)
def test_distance(distance, severity, meaning):
    row = findings.distance_finding({"distance": distance, "error": 0.25, "low": 0.1, "high": 1.4, "documents": 30})
    assert row["severity"] == severity
    assert row["finding"].startswith(f"Source and target {meaning} by their words"), "what it means comes first"
    assert "confuses 25% of the documents" in row["finding"]
    assert row["values"]["distance"] == distance, "the figure for experts is among the values"


def test_distance_of_too_few():
    row = findings.distance_finding({"distance": np.nan, "error": np.nan, "low": 0, "high": 2, "documents": 7})
    assert row["severity"] == 1
    assert row["finding"] == "Too few documents (7 on the smaller side) to tell the domains apart."


@pytest.mark.parametrize(
    ("kl", "halves", "severity", "ending"),
    [
        (0.61, 0.3, 1, "the difference is 2.0 times that of two halves of the source."),
        (0.6, 0.3, 0, "the difference is 2.0 times that of two halves of the source."),
        (0.6, np.nan, 0, "in the target than in the source."),
        (np.nan, 0.3, 0, "Too few words to compare their frequencies."),
    ],
)
def test_divergence(kl, halves, severity, ending):
    row = findings.divergence_finding({"kl": kl, "kl_halves": halves})
    assert row["severity"] == severity
    assert row["finding"].endswith(ending)
    assert (row["advice"] == "Expect words that are rare or new.") == (severity == 1)


def carried(share, source=0.9):
    return Carrying(source=source, thinned=0.7, chance=0.5, share=share, spread=0.1)


@pytest.mark.parametrize(
    ("share", "n_target", "severity", "words"),
    [
        (0.85, 100, 0, "common in the target, too"),
        (0.84, 100, 1, "may make up for them"),
        (0.6, 100, 1, "may make up for them"),
        (0.59, 100, 2, "use a method that adapts, and review"),
        (0.25, 100, 2, "use a method that adapts, and review"),
        (0.24, 100, 3, "do not transfer"),
        (0.24, 30, 3, "do not transfer"),
        (0.24, 29, 1, "fewer than 30 target documents are mostly chance"),
        (0.85, 29, 0, "common in the target, too"),
    ],
)
def test_what_carries_over(share, n_target, severity, words):
    row = findings.carrying_finding(carried(share), n_target)
    assert row["severity"] == severity
    assert words in row["advice"]
    assert "gets 90% of held-out source documents right" in row["finding"]
    assert f"{findings.percent(share)} of what tells the classes apart is left." in row["finding"]
    assert row["values"]["separable"]


@pytest.mark.parametrize(("source", "separable"), [(0.69, False), (0.71, True)])
def test_classes_that_words_do_not_tell_apart(source, separable):
    row = findings.carrying_finding(carried(0.9, source), 100)
    assert row["values"]["separable"] is separable
    assert (row["severity"] == 3) is not separable


def test_too_few_labels_to_say_what_carries_over():
    row = findings.carrying_finding(None, 100)
    assert said(row)[::2] == (1, "Label more source documents.")


def test_balance():
    classes = np.array(["a", "b", "c"])
    row = findings.balance_finding(classes, np.array([60, 10, 30]), None)
    assert said(row) == (
        0,
        "3 classes; the largest, a, has 60% of the labelled documents, the smallest, b, 10 documents.",
        "Every class has enough documents.",
    )
    row = findings.balance_finding(classes, np.array([60, 9, 31]), np.array([0.45, 0.15, 0.4]))
    assert said(row)[::2] == (1, "1 of 3 classes have fewer than 10 documents: merge them or add to them.")
    assert row["finding"].endswith(" Rough guess for the target: a 45% instead of 60%.")
    assert row["values"] == {"source": {"a": 0.6, "b": 0.09, "c": 0.31}, "target": {"a": 0.45, "b": 0.15, "c": 0.4}}
    row = findings.balance_finding(classes, np.array([60, 10, 30]), np.array([0.44, 0.1, 0.46]))
    assert row["severity"] == 1
    assert row["advice"].endswith("count a labelled sample before relying on them.")


@pytest.mark.parametrize(("n", "severity"), [(0, 2), (1, 1), (29, 1), (30, 0)])
def test_pivots(n, severity):
    row = findings.pivot_finding([{"word": f"w{i}", "class": "a"} for i in range(n)])
    assert (row["severity"], row["values"]["count"]) == (severity, n)
    assert ("w7 (a)" in row["finding"]) == (n > 7)  # eight are named
    assert "w8 (a)" not in row["finding"]


def test_moved_words():
    rows = [{"word": f"w{i}", "class": "a", "source_share": 0.9, "target_share": 0.05} for i in range(9)]
    one, nine = findings.moved_finding(rows[:1]), findings.moved_finding(rows)
    assert one["finding"].startswith("1 word is used with other classes")
    assert "w0 (a 90% → 5.0%)" in one["finding"]
    assert nine["finding"].startswith("9 words are used with other classes")
    assert "w8" not in nine["finding"]
    assert [row["severity"] for row in (findings.moved_finding([]), one, nine)] == [0, 1, 1]


def test_target_only_words():
    rows = [{"word": f"w{i}", "target": 1_000 + i} for i in range(9)]
    little, much = (findings.target_only_finding(rows, share) for share in (0.2, 0.21))
    assert said(little)[::2] == (0, "Too few to matter much.")
    assert said(much)[::2] == (1, "If some of them indicate a class, give them as labelled words (word_labels=…).")
    assert "21% of the target's running words" in much["finding"]
    assert "w0 (1,000)" in much["finding"]
    assert "w7 (1,007)" in much["finding"]
    assert "w8" not in much["finding"]
    assert findings.target_only_finding([], 0.0)["severity"] == 0


@pytest.mark.parametrize(("n", "severity"), [(4, 0), (5, 1)])
def test_near_duplicates(n, severity):
    row = findings.duplicate_finding([{}] * n, 100)
    assert row["severity"] == severity
    assert ("overlap by mistake" in row["advice"]) == bool(severity)
    assert row["finding"] == f"{n} target documents repeat at least half of a source document ({n}.0%)."
    assert row["values"] == {"count": n, "share": n / 100}


@pytest.mark.parametrize(
    ("agreement", "words"),
    [(0.3, "methods that cluster (cocc, isthmus cluster) fit"), (0.29, "in part"), (0.05, "in part"),
     (0.04, "prefer strings"), (-0.001, "prefer strings")],
)  # fmt: skip
def test_groups(agreement, words):
    row = findings.group_finding({"clusterability": 0.1234, "shuffled": 0.05, "agreement": agreement})
    assert row["severity"] == 0
    assert words in row["advice"]
    assert "Clusterability of the target 0.123 (words shuffled: 0.050);" in row["finding"]
    assert "-0.00" not in row["finding"]
    assert findings.group_finding(None)["values"] == {}


def test_where_nothing_should_be_transferred_no_method_is_advised():
    def row(topic, severity, **values):
        return findings.finding(severity, topic, "", "Use this.", **values)

    rows = [
        row("vocabulary", 0, a=1),
        row("vocabulary", 1, a=1),
        row("what carries over", 2, a=1),
        row("vocabulary", 3, a=1),
        row("groups", 0, a=1),
        row("groups", 0),
        row("distance", 2, a=1),
    ]
    findings.withhold_methods(rows)
    assert [row["advice"] != "Use this." for row in rows] == [False, True, True, False, True, False, False]


def test_new_groups():
    group = SimpleNamespace(words=list("uvwxyz"), size=12, share=0.085)
    row = findings.novelty_finding(SimpleNamespace(facts={"a": 1}, groups=[group, group]))
    assert row["severity"] == 2
    assert "no class of the source: u, v, w, x, y (12 documents, 8.5%); u, v" in row["finding"]
    assert row["values"] == {"groups": 2}
    assert " may belong to " in row["finding"], "nothing shows what the test is worth"
    simulated = {"power": 0.5, "false_alarm": 0.0, "classes": 4.0}
    row = findings.novelty_finding(SimpleNamespace(facts={"a": 1}, groups=[group]), simulated)
    assert " target belong to " in row["finding"]
    row = findings.novelty_finding(SimpleNamespace(facts={}, groups=[]))
    assert said(row)[:2] == (0, "Too few documents to look for groups that fit no class.")
    row = findings.novelty_finding(SimpleNamespace(facts={"a": 1}, groups=[]))
    assert row["finding"].endswith(" could not be tried on this source."), "silence of an untried search is no evidence"
    assert row["severity"] == 0
    few, half = ({"power": power, "false_alarm": 0.0, "classes": 4.0} for power in (0.25, 0.5))
    row = findings.novelty_finding(SimpleNamespace(facts={"a": 1}, groups=[]), few)
    assert row["severity"] == 1, "a search that finds one class of four has not shown that none is missing"
    assert "one may go unnoticed" in row["advice"]
    assert findings.novelty_finding(SimpleNamespace(facts={"a": 1}, groups=[]), half)["severity"] == 0


def test_two_languages_leaves_neighbours_and_mixtures_alone():
    lines = {
        "en": "the soup was cold and the bread was dry",
        "de": "die Suppe war kalt und das Brot war trocken",
        "no": "suppen var kald og brødet var ikke godt i det hele tatt",
        "da": "suppen var kold og brødet var ikke godt",
    }
    english, german = [lines["en"]] * 6, [lines["de"]] * 6
    assert findings.two_languages(english[:3], german[:3]) == ("en", "de")
    assert findings.two_languages(english[:2], german[:3]) is None
    assert findings.two_languages(english, [*german[:3], *english[:3]]) is None
    assert findings.two_languages(english, [*german[:4], *english[:2]]) == ("en", "de")
    assert findings.two_languages([lines["no"]] * 4, [lines["da"]] * 4) is None
    assert findings.two_languages(english, ["12 34"] * 6) is None


def test_no_repeated_document_is_said_so():
    """Without the guard: "0 target documents repeat"."""
    told = duplicate_finding([], 10)
    assert "No target document repeats a source document." in told.values()
    assert "1 target document repeats" in " ".join(map(str, duplicate_finding([{}], 10).values()))


@pytest.mark.parametrize(
    ("noise", "low", "severity"), [(0.04, 0.0, 0), (0.05, 0.0, 1), (0.04, 0.01, 1), (0.2, 0.09, 1), (0.2, 0.1, 2)]
)
def test_doubtful_source_labels(noise, low, severity):
    doubt = SimpleNamespace(rows=[3, 5], noise=noise, low=low, high=0.3)
    row = findings.doubt_finding(doubt)
    assert row["severity"] == severity
    assert "2 labels are uncertain" in row["finding"]
    assert ("Give the corrected table to teach" in row["advice"]) == (severity > 0)


def test_labels_that_cannot_be_judged_are_not_doubted():
    assert findings.doubt_finding(None)["severity"] == 0


def test_of_many_languages_the_first_four_are_shown():
    shares = {"en": 0.5, "de": 0.2, "fr": 0.15, "es": 0.1, "it": 0.05}
    row = findings.language_finding(shares, {"en": 1.0}, 0.9)
    assert row["finding"] == "Source: English 50%, German 20%, French 15%, Spanish 10%; target: English 100%."


def test_labels_that_are_wrong_but_cannot_be_named_are_no_list_to_read():
    row = findings.doubt_finding(SimpleNamespace(rows=[], noise=0.2, low=0.15, high=0.3))
    assert row["severity"] == 0
    assert row["advice"].startswith("Nothing urgent.")
    assert "0 labels are uncertain" in row["finding"]


@pytest.mark.parametrize("side", [0, 1])
def test_a_side_without_letters_has_no_language(side):
    sides = [["das ist ein guter Tag und die Sonne scheint"] * 40, ["this is a good day and the sun shines"] * 40]
    assert findings.two_languages(*sides) == ("de", "en")
    sides[side] = ["12 34", "5.6"] * 20
    assert findings.two_languages(*sides) is None
