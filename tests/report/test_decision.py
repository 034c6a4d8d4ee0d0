"""Why this method: every candidate in the table."""

from isthmus.report.hero import decision_facts
from isthmus.wording import why_this_method

TRIED = [
    {
        "method": "cocc",
        "chosen": True,
        "weight": 0.8,
        "score": 0.13,
        "reverse_accuracy": 0.72,
        "seconds": 3.81,
        "why": "good",
    },
    {
        "method": "svm",
        "chosen": False,
        "weight": 0.0,
        "score": -0.04,
        "reverse_accuracy": 0.7,
        "seconds": 0.5,
        "why": "noisy",
    },
]
NOT_TRIED = {"method": "strings", "chosen": False, "why": "not tried: too many documents"}


def test_candidates_without_a_score_are_in_the_table():
    facts = decision_facts([*TRIED, NOT_TRIED])
    assert [row["method"] for row in facts["decision"]] == ["cocc", "svm", "strings"]
    assert facts["decision"][2]["evidence"] == ["–"] * 4


def test_table_names_its_columns_in_words_and_says_what_they_mean():
    facts = decision_facts(TRIED)
    assert facts["decision_columns"] == ["weight", "score", "reverse accuracy", "seconds"]
    assert facts["decision"][0]["evidence"] == ["0.800", "0.130", "0.720", "3.8"]
    assert "seconds: time to fit" in facts["decision_meanings"]
    assert facts["decision"][0]["taken"] is True


def test_evidence_that_is_no_number_is_left_to_the_table():
    facts = decision_facts([{**TRIED[0], "note": "x", "parts": [1, 2]}, {**TRIED[1], "score": float("nan")}])
    assert "note" in facts["decision_columns"]
    assert "parts" not in facts["decision_columns"]


def test_a_vote_names_the_method_that_counts_most():
    assert why_this_method([TRIED[1], TRIED[0], NOT_TRIED]) == "good"
    vote = [
        {"method": "svm", "chosen": True, "weight": 0.4, "why": "supported"},
        {"method": "cocc", "chosen": True, "weight": 0.6, "why": "supported"},
        NOT_TRIED,
    ]
    assert why_this_method(vote) == "2 methods voted; cocc counts most (60%)"


def test_what_joins_a_vote_has_no_share_in_it():
    """Words count by their log-odds, names next to the vote: a weight of 0.98 is not 98% of the vote."""
    words = {"method": "words alone", "chosen": True, "weight": 0.98, "why": "a general lexicon"}
    names = {"method": "names", "chosen": True, "weight": 0.99, "why": "names mean something"}
    svm = {"method": "svm", "chosen": True, "weight": 0.4, "why": "supported"}
    cocc = {"method": "cocc", "chosen": True, "weight": 0.6, "why": "supported"}
    voted = "2 methods voted; cocc counts most (60%)"
    assert why_this_method([words, svm, cocc]) == f"{voted}; labelled words count, too"
    assert (
        why_this_method([svm, cocc, names, words]) == f"{voted}; names of classes count, too; labelled words count, too"
    )
    assert why_this_method([{**svm, "weight": 1.0}, words]) == "svm: supported; labelled words count, too"
    assert why_this_method([names, words]) == "names: names mean something; labelled words count, too"
