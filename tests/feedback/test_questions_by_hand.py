"""Listening on paper: worth and reasons of questions, words, shares of new classes, folds, self-training."""

from math import exp, log
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from made_answers import made_answers
from scipy.special import softmax

import isthmus
from isthmus.exceptions import UsageError
from isthmus.feedback import DocumentViews
from isthmus.feedback.accounting import outlook
from isthmus.feedback.asking import _drawn_first, ask, ask_documents, ask_words, doubt_of
from isthmus.feedback.correction import (
    fit_sharpness,
    learn_correction,
    prior_shares,
    pseudo_answers,
    widen_vote,
)
from isthmus.feedback.self_training import _match_confidence, train_on_everything
from isthmus.feedback.softmax_ridge import fit_softmax_ridge

CLASSES = np.array(["a", "b", "c"])


def test_what_lies_near_an_answer_is_worth_less():
    """Worth 0.5 · doubt · (1 − similarity to the nearest answer or question)."""
    probabilities = np.array([[0.5, 0.5, 0], [0.55, 0.45, 0], [0.6, 0.4, 0], [0.7, 0.3, 0]])
    meaning = np.array([[1.0, 0, 0], [0.8, 0.6, 0], [0, 1.0, 0], [0, 0, 1.0]])
    # Without the answered 0: 1 has 0.45 · 0.2 = 0.09, 2 has 0.40, 3 has 0.30. After 2, 1 is still nearer to 0.
    asked = ask_documents(probabilities, CLASSES, {}, meaning, 3, answered=[0])
    assert [question.row for question in asked] == [2, 3, 1]
    assert [question.doubt for question in asked] == pytest.approx([0.8, 0.6, 0.9])
    # With nothing answered, 0 comes first (0.5); then 2 (0.40), 3 (0.30), 1 (0.45 · 0.2).
    assert [question.row for question in ask_documents(probabilities, CLASSES, {}, meaning, 9)] == [0, 2, 3, 1]


def test_of_equally_useful_documents_the_texts_decide_and_not_the_order_of_the_rows():
    source = ["good bike", "nice ride", "rude staff", "slow service"] * 10
    target = [
        "odd noise",
        "odd noise!",
        "odd, noise",
        "odd noise?",
        "good staff",
        "good staff!",
        "nice, rude",
        "nice rude",
    ]
    asked = [
        isthmus.label(source, ["product", "product", "service", "service"] * 10, texts, method="nbc").ask(4)["text"]
        for texts in (target, target[::-1])
    ]
    assert asked[0] == asked[1]


def test_what_is_sure_though_disputed_comes_after_what_is_doubtful():
    """Worth doubt · (0.5 + dispute): 0.2 · 1.5 = 0.3 for the first, 0.9 · 0.5 = 0.45 for the second."""
    probabilities = np.array([[0.9, 0.1, 0.0], [0.55, 0.45, 0.0]])
    opinions = {"one": np.array(["b", "a"]), "two": np.array(["c", "a"])}
    assert [question.row for question in ask_documents(probabilities, CLASSES, opinions, np.eye(2), 2)] == [1, 0]


def test_the_reasons_of_a_question_in_words():
    probabilities = np.array([[0.5, 0.1, 0.4], [0.98, 0.01, 0.01], [0.9, 0.05, 0.05]])
    opinions = {
        "one": np.array(["a", "a", "b"]),
        "two": np.array(["c", "a", "b"]),
        "three": np.array(["b", "a", "c"]),
        "four": np.array(["b", "a", "b"]),
    }
    meaning = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0.1, np.sqrt(0.99)]])
    said = {question.row: question for question in ask_documents(probabilities, CLASSES, opinions, meaning, 3)}
    assert said[0].reason == "a (0.50) or c (0.40); methods disagree: two says c, three says b, four says b"
    assert said[0].dispute == 0.75
    assert said[2].reason == "methods disagree: one says b, two says b, three says c"
    assert said[1].reason == "for a second look: nothing more doubtful is left"
    blind = {q.row: q.reason for q in ask_documents(probabilities, CLASSES, opinions, meaning, 3, blind=True)}
    assert blind[0] == "two classes are about as likely; methods disagree", (
        "a reason that names a class leads the reader"
    )
    assert blind[2] == "methods disagree"
    after = ask_documents(probabilities, CLASSES, {}, meaning, 2, answered=[1])
    assert [question.reason for question in after] == [
        "a (0.50) or c (0.40); unlike the documents answered so far",
        "unlike the documents answered so far",
    ]


def test_groups_are_asked_about_from_their_middle_the_largest_first_and_one_question_in_five():
    groups = ["", "small", "large", "large", "large", "middle", "middle", "", "", "", "", ""]
    meaning = np.eye(12)
    meaning[2:5] = [[0] * 11 + [1.0], [0] * 10 + [0.6, 0.8], [0] * 10 + [1.0, 0]]  # 3 lies between 2 and 4
    probabilities = np.tile([0.9, 0.1, 0.0], (12, 1))
    asked = {n: ask_documents(probabilities, CLASSES, {}, meaning, n, groups=groups) for n in (1, 9, 10, 15)}
    heads = {n: [q.row for q in found if "fits no class" in q.reason] for n, found in asked.items()}
    assert heads == {1: [3], 9: [3], 10: [3, 5], 15: [3, 5, 1]}
    assert asked[1][0].reason == "in the middle of large, a group that fits no class"
    assert [len(found) for found in asked.values()] == [1, 9, 10, 12]


def test_words_by_hand():
    """Word x stands in documents 0 to 2, y in 2 to 4; both have weight in proportion to their tf-idf."""
    words = sp.csr_matrix(np.array([[1.0, 0], [2.0, 0], [1.0, 3.0], [0, 1.0], [0, 5.0]]))
    probabilities = np.array([[0.6, 0.4], [0.6, 0.4], [0.6, 0.4], [0.1, 0.9], [0.1, 0.9]])
    average = np.array([0.4, 0.6])
    x_shares = (3 * np.array([0.6, 0.4]) + 2 * average) / 5
    y_shares = (np.array([0.6, 0.4]) + 2 * np.array([0.1, 0.9]) + 2 * average) / 5
    doubt = [0.8, 0.8, 0.8, 0.2, 0.2]
    lean = {"x": x_shares[0] - 0.4, "y": y_shares[1] - 0.6}
    settles = {"x": (0.8 + 0.8 + 0.25 * 0.8) * lean["x"], "y": (0.75 * 0.8 + 0.2 + 0.2) * lean["y"]}
    assert doubt_of(probabilities) == pytest.approx(doubt)
    asked = ask_words(words, ["x", "y"], probabilities, 2)
    assert [(row["word"], row["column"], row["code"], row["documents"]) for row in asked] == [
        ("x", 0, 0, 3),
        ("y", 1, 1, 3),
    ]
    assert [row["lean"] for row in asked] == pytest.approx([lean["x"], lean["y"]])
    assert [row["settles"] for row in asked] == pytest.approx([settles["x"], settles["y"]])
    assert [row["word"] for row in ask_words(words, ["x", "y"], probabilities, 1)] == ["x"]
    assert ask_words(words, ["x", "y"], probabilities, 2, fewest=4) == []


def test_new_classes_that_were_picked_count_one_more_than_what_was_known():
    codes = np.array([0, 1, 2, 2, 2, 2, 2, 3])
    picked = np.array([False, True, True, True, True, True, False, True])
    # Picked: one known, four of class 2 (counted as two), one of class 3; at random: one known, one of class 2.
    assert prior_shares(codes, 2, 4, picked=picked) == pytest.approx([3 / 18, 1 / 18])
    assert prior_shares(codes, 2, 4) == pytest.approx([5 / 18, 1 / 18])
    assert prior_shares(codes, 2, 4, pseudo_weight=2.0) == pytest.approx([5 / 20, 1 / 20])
    assert prior_shares(codes, 4, 4).tolist() == []


def test_the_share_of_new_classes_follows_the_doubt_within_bounds():
    vote = np.array([[0.75, 0.25], [0.5, 0.5], [0.999, 0.001]])
    # Doubt 0.25, 0.5 and 0.001 against a mean of 0.1: factors 2.5, 5 and 0.01, held within 0.05 and 2.
    wide = widen_vote(vote, np.array([0.1, 0.2]), doubt=0.1)
    assert wide[0] == pytest.approx([0.75 * 0.4, 0.25 * 0.4, 0.2, 0.4])
    assert wide[1, 2:] == pytest.approx([0.2, 0.4])
    assert wide[2, 2:] == pytest.approx([0.005, 0.01])
    # Never more than nine tenths together.
    assert widen_vote(vote, np.array([0.6]), doubt=0.1)[0] == pytest.approx([0.075, 0.025, 0.9])
    # A class without a share beside it changes nothing.
    assert widen_vote(vote, np.array([0.6, 0.0]), doubt=0.1)[0] == pytest.approx([0.075, 0.025, 0.9, 0.0])
    assert widen_vote(vote, np.array([0.0]), doubt=0.1)[:, 2].tolist() == [0.0] * 3
    assert widen_vote(vote, np.zeros(0)) is vote


def test_documents_that_stand_for_a_class_are_taken_from_doubtful_to_sure():
    """Thirty documents of class b, of which every third from the middle of its ten parts stands for it."""
    sure = np.linspace(0.51, 0.99, 30)
    vote = np.vstack([np.column_stack([1 - sure, sure])[::-1], [[0.9, 0.1]] * 2])
    texts = [f"text {i:02d}" for i in range(32)]
    places, weights = pseudo_answers(vote, texts, np.array([30, 31]), np.zeros(2, dtype=int))
    assert places.tolist() == [29 - (3 * step + 1) for step in range(10)]
    assert weights == pytest.approx([2 * vote[:, 1].mean() / 10] * 10)
    # Thirty answers speak like twenty, those that were picked beyond that.
    many = np.zeros(30, dtype=int)
    assert pseudo_answers(vote, texts, np.array([30]), many)[1].sum() == pytest.approx(20 * vote[:, 1].mean())
    picked = np.arange(30) < 5
    assert pseudo_answers(vote, texts, np.array([30]), many, picked)[1].sum() == pytest.approx(25 * vote[:, 1].mean())
    assert pseudo_answers(vote, texts, np.array([30]), np.zeros(0, dtype=int)) is None


def test_sharpness_is_drawn_towards_one():
    """One answer, two classes, scores (1, 0): minus log of the likelihood plus ten times the log's square."""
    scores, codes = np.array([[1.0, 0.0]]), np.array([0])
    grid = np.linspace(log(0.2), log(5.0), 200_001)
    loss = np.log1p(np.exp(-np.exp(grid))) + 10 * grid**2
    assert fit_sharpness(scores, codes) == pytest.approx(exp(grid[loss.argmin()]), abs=1e-4)
    assert fit_sharpness(np.tile([[9.0, 0.0]], (500, 1)), np.ones(500, dtype=int)) == pytest.approx(0.2, abs=1e-3)


# ---- self-training


def test_the_power_brings_the_mean_confidence_back_within_its_bounds():
    scores = np.log(np.array([[0.9, 0.1], [0.3, 0.7]]))
    power = _match_confidence(scores, 0.7)
    assert softmax(power * scores, axis=1).max(axis=1).mean() == pytest.approx(0.7, abs=1e-4)
    assert _match_confidence(scores, 0.5) == 0.1
    assert _match_confidence(scores, 1.0) == 10.0


def test_self_training_weighs_source_answers_and_others():
    """The same fit, written out: a fifth for a source document, five for an answer, one for any other, sharpened."""
    rng = np.random.default_rng(3)
    source, words = (sp.csr_matrix(rng.random((n, 4)) * (rng.random((n, 4)) < 0.6)) for n in (6, 5))
    codes = np.array([0, 1, 0, 1, 1, 0])
    probabilities = np.array([[1.0, 0.0], [0.8, 0.2], [0.3, 0.7], [0.0, 1.0], [0.55, 0.45]])
    answered = np.array([True, False, False, True, False])
    targets = np.zeros((11, 2))
    targets[np.arange(6), codes] = 0.2
    targets[6], targets[9] = [5.0, 0.0], [0.0, 5.0]
    for place, (p, q) in ((7, (0.8, 0.2)), (8, (0.3, 0.7)), (10, (0.55, 0.45))):
        targets[place] = np.array([p**1.5, q**1.5]) / (p**1.5 + q**1.5)
    rows = sp.hstack([sp.vstack([source, words]), np.full((11, 1), 3.0)], format="csr")
    expected = fit_softmax_ridge(rows, targets, np.zeros((11, 2)), 1 / 3, max_iter=40)
    model = train_on_everything(source, codes, words, probabilities, answered)
    assert model.coef == pytest.approx(expected, abs=1e-9)
    assert model.share == 0.0  # two answers
    assert train_on_everything(source, codes, words, probabilities, answered, 20).share == pytest.approx(0.4)
    free = ~answered
    mean = model.probabilities(words)[free].max(axis=1).mean()
    assert mean == pytest.approx((0.8 + 0.7 + 0.55) / 3, abs=1e-3)
    assert train_on_everything(source, codes, words, probabilities, np.ones(5, dtype=bool)).power == 1.0


def test_one_word_alone_has_no_directions_of_meaning():
    views = DocumentViews.fit(["cheap", "cheap cheap"], ["a", "b"], ["cheap"], min_df=1, language="en")
    assert views.components.shape == (0, 1)
    assert len(views.plain) == 1  # the words, and nothing of meaning or vectors
    two = DocumentViews.fit(["cheap", "dear cheap"], ["a", "b"], ["cheap"], min_df=1, language="en")
    assert two.components.shape == (2, 2)


def test_texts_of_one_word_can_be_asked_about_and_taught():
    result = isthmus.label(["cheap", "cheap cheap"] * 5, ["a", "b"] * 5, ["cheap", "cheap cheap"] * 4, method="nbc")
    asked = result.ask(2)
    rows = [number - 1 for number in asked["document"]]
    assert len(set(rows)) == 2
    taught = result.teach({**asked, "true_label": ["b", "b"]})
    assert list(taught.labels[rows]) == ["b", "b"]


def test_the_outlook_of_answers_that_stand_for_a_part_of_the_documents():
    """Slopes 1, 0 and 0 by log 2; weights 0.2, 0.2 and 0.1, which add up to a half: their mean is 0.4."""
    found = outlook({0: np.array([0, 0, 1]), 25: np.array([1, 0, 1])}, 25, 25, np.array([0.2, 0.2, 0.1]))
    rise = log(75 / 50) / log(2)
    spread = np.sqrt(0.04 * 0.6**2 + 0.04 * 0.4**2 + 0.01 * 0.4**2)
    assert found.gain == pytest.approx(0.2 * rise)
    assert found.margin == pytest.approx(1.6448536 * spread * rise)


@pytest.mark.parametrize(("answer", "strength"), [(1, 5.0), (3, 3.0)])
def test_one_answer_is_held_back_most_and_half_way_where_its_class_is_new(answer, strength):
    rows, vote = sp.csr_matrix([[1.0, 0.0]]), np.array([[0.5, 0.3, 0.2]])
    classes = np.array(["a", "b", "c", "new"][: max(answer + 1, 3)])
    tried = {"trusts": (0.5, 1.0), "strengths": (1.0, 2.0, 3.0, 4.0, 5.0)}
    correction = learn_correction(rows, vote, np.array([answer]), classes, **tried)
    assert [(row["trust"], row["strength"]) for row in correction.table] == [(1.0, strength)]


def test_disputed_documents_come_first_the_doubtful_before_the_sure():
    """As many as were asked for; answered ones and near-copies of what is asked already do not come."""
    sure = np.array([0.9, 0.5, 0.7, 0.5, 0.6, 0.5])
    probabilities = np.column_stack([sure, 1 - sure])
    meaning = np.eye(6)
    meaning[3] = meaning[1]  # 3 is a copy of 1
    said = dict.fromkeys([0, 5, 2, 3, 1], "annotators disagree: x says a, y b")
    places = np.array([0, 1, 2, 3, 4, 9])

    def asked(n, **more):
        found = ask_documents(probabilities, np.array(["a", "b"]), {}, meaning, n, disputed=said, ranks=places, **more)
        return [question.row for question in found]

    assert asked(4) == [1, 5, 2, 0], "of equal doubt the first place; 3 is a copy of 1"
    assert asked(2) == [1, 5]
    assert asked(3, answered=[1]) == [5, 2, 0], "1 was answered, and 3 says the same"
    assert asked(9)[:5] == [1, 5, 2, 0, 4], "copies come last"
    meaning[5] = 0  # a text of which no word is known is like nothing, not even itself
    assert asked(9, answered=[5]) == [1, 2, 0, 4, 3], "an answered document is not asked again"
    reasons = [question.reason for question in ask_documents(
        probabilities, np.array(["a", "b"]), {}, meaning, 1, disputed=said, blind=True
    )]  # fmt: skip
    assert reasons == ["annotators disagree"], "no class is named"


def test_groups_leave_room_for_as_many_questions_as_were_asked_for():
    probabilities = np.full((4, 2), 0.5)
    groups = ["", "", "group 1", ""]
    asked = ask_documents(
        probabilities, np.array(["a", "b"]), {}, np.eye(4), 1, groups=groups, disputed={3: "annotators disagree: x"}
    )
    assert [question.row for question in asked] == [3], "one question, which the hands dispute"


def test_documents_that_stand_for_a_class_do_not_hang_on_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    sure = rng.permutation(np.linspace(0.51, 0.99, 30))
    vote, texts = np.column_stack([1 - sure, sure]), [f"text {i:02d}" for i in range(30)]
    places, _ = pseudo_answers(vote, texts, np.array([], dtype=int), np.zeros(4, dtype=int))
    ordered = np.argsort(sure)
    assert places.tolist() == [ordered[3 * step + 1] for step in range(10)], "every third from the middle of its part"


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", None])
def test_a_number_of_questions_is_a_whole_number(n):
    with pytest.raises(UsageError, match="give a number of at least 1"):
        ask(None, n)


@pytest.mark.parametrize(("random", "n", "drawn"), [(100, 5, 0), (98, 5, 2), (0, 5, 5), (120, 5, 0)])
def test_the_first_hundred_are_drawn_at_random_where_names_alone_decide(random, n, drawn):
    """Documents that were read or left blank are not drawn again."""
    rows = list(range(random))
    known = made_answers(
        rows, ["a"] * random, ["random"] * random, [""] * random, ["one"] * random, blank_in={"one": [130, 131]}
    )
    texts = [f"text {i}" for i in range(140)]
    labelling = SimpleNamespace(
        known_answers=known, by_names_alone=True, classes=np.array(["a", "b"]), seed=0, texts=texts
    )
    found = _drawn_first(labelling, n)
    assert len(found) == len(set(found)) == drawn
    assert not {*rows, 130, 131} & set(found)
    for other in ({"by_names_alone": False}, {"classes": np.array(["a"])}):
        assert _drawn_first(SimpleNamespace(**{**vars(labelling), **other}), n) == []
