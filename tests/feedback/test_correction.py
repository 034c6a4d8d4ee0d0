"""What is learned from answers, and what it is worth: against calculations on paper."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from made_answers import made_answers

import isthmus
from isthmus.choose.stages.apply import merge_columns
from isthmus.explain import explain_document
from isthmus.feedback import Answers, ask_documents, ask_words, expect_accuracy, learn_correction, outlook
from isthmus.feedback import correction as correcting
from isthmus.feedback.accounting import BY_ANSWERS, RATE, _weighted_share, band_weights, learning_curve, right_by_size
from isthmus.feedback.answers import origin_of
from isthmus.feedback.correction import (
    CORRECTION,
    fit_sharpness,
    prior_shares,
    pseudo_answers,
    widen_vote,
)
from isthmus.feedback.self_training import train_on_everything
from isthmus.feedback.views import DocumentViews

CLASSES = np.array(["a", "b"])


def answered(n=40, seed=0):
    """Rows of two words, the first of class a, the second of class b; a vote that knows nothing."""
    codes = np.random.default_rng(seed).integers(0, 2, n)
    return sp.csr_matrix(np.eye(2)[codes]), np.full((n, 2), 0.5), codes


def test_words_that_decide_are_learned():
    rows, vote, codes = answered()
    correction = learn_correction(rows, vote, codes, CLASSES)
    new = correction.probabilities(sp.csr_matrix(np.eye(2)), np.full((2, 2), 0.5))
    assert new.argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_array_equal(correction.held_out.argmax(axis=1), codes)
    assert sum(row["weight"] for row in correction.table) == pytest.approx(1.0)
    # The average of the pairs that were tried is a pair itself.
    assert correction.trust == pytest.approx(sum(row["weight"] * row["trust"] for row in correction.table))


def test_answers_that_follow_nothing_leave_the_vote_as_it_is():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 60)
    vote = np.where(np.eye(2)[codes] == 1, 0.97, 0.03)
    rows = sp.csr_matrix(rng.normal(size=(60, 30)))
    correction = learn_correction(rows, vote, codes, CLASSES)
    np.testing.assert_array_equal(correction.probabilities(rows, vote).argmax(axis=1), codes)
    assert (correction.held_out.argmax(axis=1) == codes).mean() > 0.9


def test_one_answer_is_enough_to_go_on_and_too_few_to_compare():
    correction = learn_correction(sp.csr_matrix([[1.0, 0.0]]), np.array([[0.5, 0.5]]), np.array([1]), CLASSES)
    assert len(correction.table) == 1
    assert correction.probabilities(sp.csr_matrix([[1.0, 0.0]]), np.array([[0.5, 0.5]]))[0, 1] > 0.5


def test_a_class_that_only_answers_name():
    # 2 of 10 answers name it: share 2 / (10 + 10); the other columns shrink to 0.9.
    assert prior_shares(np.array([0] * 8 + [2] * 2), 2, 3).tolist() == [0.1]
    assert widen_vote(np.array([[0.6, 0.4]]), np.array([0.1]))[0].tolist() == pytest.approx([0.54, 0.36, 0.1])
    # Of answers that were picked it counts one more than the known classes; what stands for others counts as answers.
    one_sided = np.array([2] * 25)
    assert prior_shares(one_sided, 2, 3, pseudo_weight=14.0, picked=np.ones(25, dtype=bool)).tolist() == [1 / 49]
    both = prior_shares(np.array([0] * 8 + [2] * 12), 2, 3, picked=np.ones(20, dtype=bool))
    assert both.tolist() == [9 / 30]
    codes = np.repeat([0, 1, 2], 10)
    correction = learn_correction(
        sp.csr_matrix(np.eye(3)[codes]), np.full((30, 2), 0.5), codes, np.array(["a", "b", "new"])
    )
    assert correction.probabilities(sp.csr_matrix(np.eye(3)), np.full((3, 2), 0.5)).argmax(axis=1).tolist() == [0, 1, 2]


def test_answers_to_doubtful_documents_do_not_spread_a_new_class_over_the_sure_ones():
    # 2 of 10 doubtful answers name it (share 0.1 with the ten others); a sure document has a twentieth of their doubt.
    new = widen_vote(np.array([[0.5, 0.5], [0.99, 0.01]]), np.array([0.1]), 0.5)[:, 2]
    assert new.tolist() == pytest.approx([0.1, 0.005])
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 1, 2], 20, p=[0.2, 0.2, 0.6])
    doubtful, sure = np.full((20, 2), 0.5), np.tile([0.97, 0.03], (20, 1))
    rows = sp.csr_matrix(rng.normal(size=(20, 5)))  # which say nothing
    correction = learn_correction(rows, doubtful, codes, np.array(["a", "b", "new"]))
    said = correction.probabilities(sp.csr_matrix(rng.normal(size=(20, 5))), sure).argmax(axis=1)
    assert np.mean(said == 0) > 0.8


def test_a_class_that_nobody_named_is_not_given_to_its_neighbour():
    # Columns: a word of a, a word that b and c share, a word of c. Ten answers each name a and b, none names c.
    codes = np.repeat([0, 1], 10)
    words = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.7, 0.8]])
    said = np.array([[0.8, 0.1, 0.1], [0.1, 0.5, 0.4], [0.1, 0.3, 0.6]])
    everything = np.repeat([0, 1, 2], 20)  # the first half of a and of b is answered
    places = np.concatenate([np.arange(10), np.arange(20, 30)])
    rows, vote = sp.csr_matrix(words[everything]), said[everything]
    found, weights = pseudo_answers(vote, [str(place) for place in range(60)], places, codes)
    assert everything[found].tolist() == [2] * 10
    assert weights.sum() == pytest.approx(20 * 1.1 / 3)  # the share of c in twenty answers, as the vote says

    def learn(**more):
        correction = learn_correction(rows[places], vote[places], codes, np.array(["a", "b", "c"]), **more)
        return correction.probabilities(sp.csr_matrix(words), said).argmax(axis=1).tolist()

    assert learn() == [0, 1, 1]
    assert learn(unnamed=(rows[found], vote[found], weights)) == [0, 1, 2]


def test_a_class_that_the_vote_gives_no_document_has_no_stand_in():
    vote = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.2, 0.7, 0.1]])  # nothing is of the third class
    found, weights = pseudo_answers(vote, ["x", "y", "z"], np.array([0]), np.array([0]))
    assert sorted(found.tolist()) == [1, 2]
    assert weights.sum() == pytest.approx(vote[:, 1].mean())
    assert pseudo_answers(vote, ["x", "y", "z"], np.array([0, 1]), np.array([0, 1])) is None


def test_nothing_stands_for_classes_that_were_named():
    vote = np.array([[0.9, 0.1], [0.1, 0.9], [0.2, 0.8]])
    assert pseudo_answers(vote, ["x", "y", "z"], np.array([0, 1]), np.array([0, 1])) is None
    assert pseudo_answers(vote, ["x", "y", "z"], np.array([], dtype=int), np.array([], dtype=int)) is None
    # Whatever the order of documents, the same ones stand for a class.
    order = np.array([2, 0, 1])
    found, _ = pseudo_answers(vote, ["x", "y", "z"], np.array([0]), np.array([0]))
    again, _ = pseudo_answers(vote[order], ["z", "x", "y"], np.array([1]), np.array([0]))
    assert order[again].tolist() == found.tolist()


def test_labelled_words_are_learned_without_any_answer():
    extra = sp.csr_matrix([[1.0, 0.0]]), np.array([1])
    correction = learn_correction(sp.csr_matrix((0, 2)), np.zeros((0, 2)), np.zeros(0, dtype=int), CLASSES, extra=extra)
    assert correction.probabilities(sp.csr_matrix([[1.0, 0.0]]), np.array([[0.5, 0.5]]))[0, 1] > 0.5


def test_many_answers_choose_by_a_part_of_them(monkeypatch):
    monkeypatch.setitem(CORRECTION, "many", 50)
    rows, vote, codes = answered(120)
    correction = learn_correction(rows, vote, codes, CLASSES)
    assert len(correction.table) == 1
    np.testing.assert_array_equal(correction.held_out.argmax(axis=1), codes)


def test_scores_that_are_too_sure_are_softened():
    # Always sure by 1.5, right in two of three cases: power · 1.5 = log 2, but for what speaks for a power of one.
    scores, codes = np.tile([1.5, 0.0], (30_000, 1)), np.array([0, 0, 1] * 10_000)
    assert fit_sharpness(scores, codes) == pytest.approx(np.log(2) / 1.5, abs=0.005)
    assert fit_sharpness(scores[:0], codes[:0]) == pytest.approx(1.0, abs=0.01)


def test_expectation_from_answers_drawn_at_random():
    right = np.array([True] * 30 + [False] * 10)
    expected = expect_accuracy(right, np.ones(40, dtype=bool), np.full(40, 0.99), np.full(60, 0.99), 100)
    assert expected.basis == "random"
    assert expected.estimate == pytest.approx((40 + 0.75 * 60) / 100)
    assert expected.low < expected.estimate < expected.high


@pytest.mark.parametrize("n_others", [200, 100_000])
def test_the_interval_after_random_answers_holds_what_the_others_turn_out_to_be(n_others):
    """Answers and the others are both drawn; the answers are held out, so that the others are a little easier."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        easier = rng.normal(0, BY_ANSWERS["off"])
        right = rng.random(150) < 0.85
        others = rng.binomial(n_others, 0.85 + easier) / n_others
        found = expect_accuracy(right, np.ones(150, bool), np.full(150, 0.8), np.full(n_others, 0.8), 150 + n_others)
        held += found.low <= (150 + others * n_others) / (150 + n_others) <= found.high
    assert 0.87 <= held / 400 <= 0.95, f"held in {held} of 400 cases, {RATE:.0%} promised"


def test_doubtful_documents_that_were_asked_do_not_stand_for_the_others():
    # Unanswered: 20 doubtful documents and 80 sure ones. Answered: 40 doubtful ones, half of them right.
    right = np.array([True, False] * 20)
    held_out, confidence = np.full(40, 0.5), np.array([0.5] * 20 + [0.99] * 80)
    expected = expect_accuracy(right, np.zeros(40, dtype=bool), held_out, confidence, 140)
    assert expected.basis == "weighted"
    # Doubtful: (20 + 5 · 0.5) / 45 = 0.5; sure: no answer, so their confidence, 0.99; then the 40 answered ones.
    assert expected.estimate == pytest.approx((40 + 100 * (0.2 * 0.5 + 0.8 * 0.99)) / 140, abs=1e-6)
    assert expect_accuracy(right, np.ones(40, dtype=bool), held_out, confidence, 140).estimate == pytest.approx(
        90 / 140
    )


@pytest.mark.parametrize(("right", "sure"), [([1, 1, 0, 1], 0.5), ([1, 1, 1, 1], 1.0)])
def test_the_error_of_a_share_is_that_of_a_binomial_and_never_nothing(right, sure):
    # One band: the answers, and five more of the mean confidence.
    share, error = _weighted_share(np.array(right), np.full(4, sure), np.full(10, sure))
    assert share == pytest.approx((sum(right) + 5 * sure) / 9)
    assert error == pytest.approx((max(share * (1 - share), 0.01) / 9) ** 0.5)


def test_outlook_on_paper():
    # Right at 0: none; at 25: all. The slope is 1 / log 2, the same for each, so its error is 0.
    ahead = outlook({0: np.zeros(9), 25: np.ones(9)}, 25, 50)
    assert ahead.gain == pytest.approx(np.log(100 / 50) / np.log(2))
    assert ahead.margin == pytest.approx(0.0)
    assert str(ahead) == "50 more answers: +100 ± 0 points"


def test_learning_curve_on_paper():
    # Weights 1/4, 1/4, 1/2; right before: the last; after three answers: the first and the last.
    hits = {3: np.array([1.0, 0.0, 1.0]), 0: np.array([0.0, 0.0, 1.0])}
    first, last = learning_curve(hits, np.array([1.0, 1.0, 2.0]))
    assert (first["answers"], last["answers"]) == (0, 3)
    assert (first["right"], last["right"]) == (pytest.approx(0.5), pytest.approx(0.75))
    # Standard error: sqrt(sum of squared weights times squared distances); 90% lie within 1.645 of it.
    spread = np.sqrt((0.25**2 + 0.25**2 + 0.5**2) * 0.5**2)
    assert first["margin"] == pytest.approx(1.6449 * spread, rel=1e-3)


def test_the_outlook_weighs_doubtful_answers_by_how_many_there_are():
    # One document in ten is doubtful; two doubtful answers gained, one sure one did not.
    weights = band_weights(np.array([0.5, 0.5, 0.9]), np.array([0.5] + [0.9] * 9))
    ahead = outlook({0: np.zeros(3), 25: np.array([1.0, 1.0, 0.0])}, 25, 25, weights)
    assert ahead.gain == pytest.approx(0.1 * np.log(75 / 50) / np.log(2))
    # A falling curve promises nothing.
    assert outlook({0: np.ones(3), 25: np.zeros(3)}, 25, 25).gain == 0.0


def test_the_curve_begins_with_the_vote():
    rows, vote, codes = answered()
    right = right_by_size(rows, vote, codes, learn_correction(rows, vote, codes, CLASSES))
    assert list(right) == [0, 8, 16, 32]
    assert right[0].mean() == np.mean(codes == 0)
    assert right[32].mean() == 1.0


def test_questions_are_doubtful_disputed_and_unlike_each_other():
    probabilities = np.array([[0.9, 0.1], [0.5, 0.5], [0.5, 0.5], [0.6, 0.4], [0.55, 0.45]])
    meaning = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    said = {"one": np.array(["a"] * 5), "two": np.array(["a", "a", "a", "b", "a"])}
    asked = ask_documents(probabilities, CLASSES, said, meaning, 3)
    # Worth, doubt · (0.5 + dispute): 0.1, 0.5, 0.5, 0.8, 0.45. After 3 comes 1, then 4 before copies of what is asked.
    assert [question.row for question in asked] == [3, 1, 4]
    assert "methods disagree: two says b" in asked[0].reason
    assert asked[1].reason.startswith("a (0.50) or b (0.50)")


def test_no_document_is_asked_twice_and_blank_ones_come_last():
    asked = ask_documents(np.full((4, 2), 0.5), CLASSES, {}, np.eye(4), 9, answered=[1], passed_over=[0])
    assert [question.row for question in asked] == [2, 3, 0]


def test_a_group_that_fits_no_class_is_asked_about_first():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.5, 0.5]])
    asked = ask_documents(probabilities, CLASSES, {}, np.eye(3), 2, groups=["", "group 1", ""])
    assert [question.row for question in asked] == [1, 2]
    assert "group 1" in asked[0].reason


def test_a_group_of_which_something_was_said_is_asked_about_like_any_document():
    probabilities = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.5, 0.5]])
    groups = ["group 1", "group 1", "group 2", ""]
    # Of the first group one document was answered, the only one of the second was left blank.
    asked = ask_documents(probabilities, CLASSES, {}, np.eye(4), 2, answered=[0], passed_over=[2], groups=groups)
    assert [question.row for question in asked] == [3, 1]
    assert not any("group" in question.reason for question in asked)


def test_words_are_asked_by_what_they_would_settle():
    # The first word leans to a and stands in doubtful documents; the second in sure ones; the third leans nowhere.
    words = sp.csr_matrix(np.array([[1, 0, 1], [1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 1, 1]], dtype=float))
    probabilities = np.array([[0.7, 0.3]] * 3 + [[0.02, 0.98]] * 3)
    asked = ask_words(words, ["x", "y", "z"], probabilities, 3)
    assert (asked[0]["word"], asked[0]["code"], asked[0]["documents"]) == ("x", 0, 3)
    assert "z" not in [row["word"] for row in asked]


def test_words_follow_when_classes_are_renamed():
    words = {"cheap": "price", "rude": {"staff": 2.0, "price": -1.0}, "free": "parking"}
    said = made_answers(
        [0], ["price"], ["asked"], [""], ["one"], word_log=[(*word, "one") for word in words.items()]
    ).renamed({"price": "cost"})
    assert said.words == {"cheap": "cost", "rude": {"staff": 2.0, "cost": -1.0}, "free": "parking"}
    assert said.labels == ["cost"]


def test_self_training_is_as_sure_as_the_correction_was():
    rng = np.random.default_rng(0)
    codes, probabilities = rng.integers(0, 2, 30), rng.dirichlet([1.0, 1.0], 30)
    words = sp.csr_matrix(probabilities + 0.1 * rng.random((30, 2)))
    said = np.arange(30) < 12
    probabilities[said] = np.eye(2)[codes[:12]]
    model = train_on_everything(sp.csr_matrix(np.eye(2)[codes]), codes, words, probabilities, said)
    sure = model.probabilities(words[~said]).max(axis=1).mean()
    assert sure == pytest.approx(probabilities[~said].max(axis=1).mean(), abs=1e-3)
    assert model.power not in (1.0, 10.0)


def test_texts_are_read_alike_whether_or_not_they_are_those_of_the_fit():
    target = ["polite staff", "high price", "kind price"]
    views = DocumentViews.fit(["kind staff", "low price", "rude staff"], ["s", "p", "s"], target, min_df=1)
    np.testing.assert_allclose(views.transform(list(target)).toarray(), views.transform(target).toarray())
    assert views.transform(["staff"]).shape == (1, views.transform(target).shape[1])


def test_files_of_one_name_are_told_apart_and_found_again(tmp_path, monkeypatch):
    first, second = tmp_path / "monday" / "answers.csv", tmp_path / "tuesday" / "answers.csv"
    assert Answers().name_of(first) == "answers.csv"
    one = made_answers([0], ["a"], ["picked"], [""], ["answers.csv"], origins={"answers.csv": origin_of(first)})
    assert (one.name_of(first), one.name_of(second)) == ("answers.csv", "tuesday/answers.csv")
    both = one.plus(
        made_answers(
            [1], ["b"], ["picked"], [""], ["tuesday/answers.csv"], origins={one.name_of(second): origin_of(second)}
        )
    )
    assert (both.find_batch(first), both.find_batch(str(second))) == ("answers.csv", "tuesday/answers.csv")
    second.parent.mkdir()
    monkeypatch.chdir(second.parent)
    assert both.find_batch("answers.csv") == "tuesday/answers.csv"
    monkeypatch.chdir(tmp_path)
    assert both.find_batch("answers.csv") == "answers.csv"  # not where either lay: as it is called
    assert both.find_batch("other.csv") is None
    assert str(tmp_path) not in repr(both)  # a file that travels does not say where it was made


def test_merged_classes_add_up():
    merged, classes = merge_columns(np.array([[0.2, 0.3, 0.5]]), np.array(["a", "b", "c"]), {"b": "c", "a": "z"})
    assert classes.tolist() == ["c", "z"]
    assert merged.tolist() == [[0.8, 0.2]]


def test_teaching_bears_a_class_that_no_document_has_and_no_answer_names():
    rng = np.random.default_rng(0)
    words = {"a": ["engine", "wheel", "gear"], "b": ["court", "law", "judge"], "c": ["bread", "oven", "flour"]}
    source = [(" ".join(rng.choice(words[name], 4)), name) for name in "abc" for _ in range(30)]
    target = [" ".join(rng.choice(words[name], 4)) for name in "ab" for _ in range(40)]
    texts, labels = zip(*source, strict=True)
    result = isthmus.label(texts, labels, target, method="logistic")
    assert "c" not in result.labels
    assert result.teach({"1": "a", "2": "a"}).labels.tolist() == result.labels.tolist()


def test_copies_of_what_was_answered_are_asked_last():
    unsure = [0.5, 0.5]
    probabilities = np.array([[0.9, 0.1], unsure, unsure, [0.7, 0.3]])
    meaning = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.6, 0.8]])  # 1 and 2 are copies of each other
    asked = ask_documents(probabilities, np.array(["a", "b"]), {}, meaning, 3, answered=[1])
    assert [question.row for question in asked][-1] == 2


def test_a_document_is_a_near_copy_beyond_a_likeness_of_98_in_100():
    # After document 0, document 1 is worth 1 · 0.5 · 0.02 and 2 next to nothing; a near copy still comes after it.
    probabilities = np.array([[0.5, 0.5], [0.5, 0.5], [0.999, 0.001]])
    asked = []
    for likeness in (0.98, 0.99):
        meaning = np.array([[1.0, 0.0], [likeness, np.sqrt(1 - likeness**2)], [0.0, 1.0]])
        found = ask_documents(probabilities, np.array(["a", "b"]), {}, meaning, 2, answered=[])
        asked.append([question.row for question in found])
    assert asked == [[0, 1], [0, 2]]


def test_reasons_after_teaching_are_words_as_they_were_written():
    rng = np.random.default_rng(0)
    words = {"a": ["engines", "wheels", "gears"], "b": ["courts", "judges", "lawyers"]}
    texts, labels = zip(
        *((" ".join(rng.choice(words[name], 4)), name) for name in "ab" for _ in range(30)), strict=True
    )
    target = [" ".join(rng.choice(words[name], 4)) for name in "ab" for _ in range(20)]
    learned = isthmus.label(texts, labels, target, method="nbc").teach({"1": "a", "2": "a", "21": "b"})
    terms = {row["term"] for row in explain_document(learned.model, "engines and wheels for judges")}
    assert terms == {"engines", "wheels", "judges"}


def test_half_a_doubt_is_named_as_a_reason():
    from isthmus.feedback.asking import _reason

    given = np.array([[0.6, 0.4], [0.7, 0.3]]), np.array(["price", "staff"]), np.array([0.5, 0.49]), np.zeros(2)
    reasons = [_reason(row, *given, {}, np.array(["price", "price"]), False) for row in (0, 1)]
    assert reasons == ["price (0.60) or staff (0.40)", "for a second look: nothing more doubtful is left"]


def test_a_part_of_many_answers_is_given_all_that_the_whole_is_given(monkeypatch):
    """What speaks of other documents is handed on as it is, what speaks of the answers for the part."""
    rng = np.random.default_rng(0)
    rows = sp.csr_matrix(rng.random((30, 4)))
    vote = rng.dirichlet([1.0, 1.0], 30)
    more = {
        "extra": (rows[:2], np.array([0, 1])),
        "unnamed": (rows[:3], vote[:3], np.full(3, 0.1)),
        "picked": np.arange(30) % 2 == 0,
        "trusts": (1.0,),
        "strengths": (1.0, 4.0),
        "caution": 0.5,
    }
    handed, tables = [], []

    def note(*given, **named):
        handed.append(named)
        tables.append(learn_correction(*given, **named).table)
        return SimpleNamespace(table=tables[0])

    monkeypatch.setitem(correcting.CORRECTION, "many", 20)
    monkeypatch.setattr(correcting, "learn_correction", note)
    (taken,) = learn_correction(rows, vote, np.arange(30) % 2, CLASSES, **more).table
    first, second = sorted(tables[0], key=lambda row: row["weight"])
    assert first["weight"] < second["weight"]
    assert (taken["trust"], taken["strength"]) == (second["trust"], second["strength"])
    assert len(handed) == 1, "the pair is chosen once, by a part"
    assert len(handed[0].pop("picked")) == 20
    del more["picked"]
    assert {name: value is more[name] for name, value in handed[0].items()} == dict.fromkeys(more, True)


def answer(row, label, drawn="picked", by="", batch="one"):
    return made_answers([row], [label], [drawn], [by], [batch])


@pytest.mark.parametrize(
    ("later", "new"),
    [
        (answer(1, "a", "group"), False),
        (answer(1, "a", "picked"), True),
        (answer(1, "b", "group"), True),
        (answer(2, "a", "picked"), False),
        (answer(2, "a", "random"), True),
        (answer(2, "a", "picked", by="Ann"), True),
    ],
    ids=["the group again", "read after all", "another class", "again", "drawn at random", "somebody says it"],
)
def test_what_says_more_than_is_known_is_news(later, new):
    known = answer(1, "a", "group").plus(answer(2, "a"))
    assert known.news(later).rows == (later.rows if new else [])
