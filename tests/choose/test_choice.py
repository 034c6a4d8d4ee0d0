"""Evidence, vote and expected accuracy, on collections whose truth is known."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit, logit

import isthmus
from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.rows import sharpen
from isthmus.choose import Evidence, LabelModel, LabelScorer, VotingRule, choose, estimate_accuracy, review_mask
from isthmus.choose.candidates import (
    Candidates,
    FittedCandidate,
    candidates_for,
    fit_candidate,
    make_scorer,
    try_methods,
)
from isthmus.choose.choice import (
    _why,
    decide,
    decision_rows,
    vote_weights,
)
from isthmus.choose.decision import Decision
from isthmus.choose.evidence import DRAWS, WordView, beyond_chance, class_accuracy, information
from isthmus.choose.stages import names as names_stage
from isthmus.choose.stages.apply import Batch, LabelShift, Lexicon, Temperature, find_power, pool, reweight_classes
from isthmus.choose.stages.label_shift import LABEL_SHIFT, class_factors
from isthmus.choose.stages.lexicon import shared_errors, weigh_lexicon
from isthmus.choose.texts import TransferTexts
from isthmus.choose.views import DenseView, View, even_lengths
from isthmus.choose.voting import excess, shared_labels
from isthmus.classify.names import NameAgreement
from isthmus.exceptions import DataError, IsthmusWarning
from isthmus.methods import make_method
from isthmus.shift.shares import compare_shares

STAFF = ("staff", "friendly", "polite", "rude", "helped", "manager", "smile", "advice")
PRICE = ("price", "bill", "cheap", "expensive", "discount", "paid", "fee", "deal")
NORTH = ("snow", "ski", "cold", "mountain", "ice", "frost", "sled", "wool")
SOUTH = ("beach", "sun", "hot", "sand", "palm", "surf", "shade", "linen")


def collection(n, rng, places, noise):
    """Texts about a class (two words of it among two of the other) set in a place (six words): the place is easier."""
    texts, classes, where = [], [], []
    for i in range(n):
        kind, other = (STAFF, PRICE) if i % 2 else (PRICE, STAFF)
        place = places[(i // 2) % len(places)]
        words = [*rng.choice(kind, 4), *rng.choice(other, noise), *rng.choice(place, 6)]
        texts.append(" ".join(rng.permutation(words)))
        classes.append("staff" if i % 2 else "price")
        where.append("north" if place is NORTH else "south")
    return texts, np.array(classes, dtype=object), np.array(where)


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    return *collection(200, rng, (NORTH, SOUTH), noise=2)[:2], *collection(200, rng, (NORTH, SOUTH), noise=2)


def test_right_labels_are_about_as_learnable_as_the_source(pair):
    source, labels, target, truth, place = pair
    scorer, rule = LabelScorer(source, labels, target), VotingRule()
    right = scorer.score(truth)
    assert abs(excess(right)) < 1.0  # four wrong answers in 200 against two
    wrong = np.where(place == "north", "staff", "price")
    easy = scorer.score(wrong)
    assert excess(easy) >= excess(right)
    assert easy.reverse_accuracy < right.reverse_accuracy
    noisy = scorer.score(np.random.default_rng(1).permutation(truth))
    assert noisy.learnability < right.learnability - 0.2
    assert noisy.cv_accuracy < right.cv_accuracy
    assert rule.score(right) > max(rule.score(easy), rule.score(noisy))


def test_nearly_all_in_one_class_is_worth_nothing(pair):
    source, labels, target, truth, _ = pair
    scorer, rule = LabelScorer(source, labels, target), VotingRule()
    for few in (0, 2, 6):
        skewed = ["price"] * few + ["staff"] * (len(target) - few)
        evidence = scorer.score(skewed)
        assert evidence.cv_accuracy > 0.9  # easy to repeat, and yet
        assert not evidence.learned
        assert estimate_accuracy(scorer, skewed, 0.99).estimate is None
        assert rule.score(evidence) < rule.score(scorer.score(truth)) - rule.near


def test_information_and_class_accuracy_of_counts():
    assert information(np.array([[40, 10], [10, 40]])) == pytest.approx(1 + 0.8 * np.log2(0.8) + 0.2 * np.log2(0.2))
    assert information(np.array([[7]])) == 0.0
    assert class_accuracy(np.array([[80, 20, 0], [0, 10, 0], [0, 0, 0]])) == pytest.approx(0.9)


def test_spread_shrinks_with_the_number_of_documents():
    rule = VotingRule()
    few, many = (Evidence.from_tables(*[n * np.array([[4, 1], [1, 4]])] * 3) for n in (5, 500))
    assert rule.score(few) == pytest.approx(rule.score(many))
    assert rule.spread(many) < rule.spread(few) / 3
    rng = np.random.default_rng(0)
    drawn = few.redraw(rng, DRAWS)
    for shared in (0.0, 0.8):
        scores = [rule.score(Evidence.from_tables(*(t[i] for t in drawn.tables)), shared) for i in range(DRAWS)]
        assert rule.spread(few, shared) == pytest.approx(np.std(scores))
    assert rule.spread(few, random_state=1) != rule.spread(few)


def test_judge_refuses_a_handful():
    with pytest.raises(DataError):
        LabelScorer(["a b"] * 5, ["x", "y"] * 2 + ["x"], ["c"] * 40)


def test_weights_fall_with_the_score_and_end_at_the_margin():
    near, far, other = (Evidence(l, 0.5, 0.8, 0.8) for l in (0.45, 0.15, 0.5))
    weights = VotingRule().weights({"near": near, "far": far, "best": other})
    assert set(weights) == {"best", "near"}
    assert weights["best"] > weights["near"] > 0.3
    assert sum(weights.values()) == pytest.approx(1.0)


def test_pool_needs_everyones_support():
    votes = {"a": np.array([[0.5, 0.4, 0.1]]), "b": np.array([[0.0, 0.5, 0.5]])}
    pooled = pool(votes, {"a": 0.5, "b": 0.5})
    assert pooled.argmax() == 1
    assert pooled.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(pool({"a": votes["a"]}, {"a": 0.3}), votes["a"], rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("accuracy", [0.55, 0.8, 0.97])
def test_confidence_is_brought_to_the_expected_accuracy(accuracy):
    votes = np.random.default_rng(0).dirichlet([2, 1, 1], size=200)
    calibrated = sharpen(votes, find_power(votes, accuracy))
    assert np.isclose(calibrated.max(axis=1).mean(), accuracy, atol=1e-3)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), votes.argmax(axis=1))


@pytest.mark.slow
def test_choice_is_explained_and_better_than_chance(pair):
    source, labels, target, truth, _ = pair
    choice = choose(source, labels, target, random_state=0)
    assert np.mean(choice.labels == truth) > 0.8
    np.testing.assert_array_equal(choice.model.predict(target), choice.labels)
    np.testing.assert_allclose(choice.model.predict_proba(target), choice.probabilities, rtol=1e-5, atol=1e-8)
    tried = {row["method"] for row in choice.table}
    assert {"logistic", "self-training", "cocc", "projection", "strings"} <= tried
    assert all(row["why"] for row in choice.table)
    assert np.isclose(sum(row.get("weight", 0) for row in choice.table), 1.0, atol=0.01)
    assert choice.accuracy.low <= choice.accuracy.estimate <= choice.accuracy.high
    assert np.isclose(choice.probabilities.max(axis=1).mean(), choice.accuracy.estimate, atol=0.02)
    measured = [row for row in choice.table if "score" in row]
    assert all(row["spread"] > 0 and 0 <= row["agreement"] <= 1 for row in measured)
    weights = [row["weight"] for row in measured]
    assert weights == sorted(weights, reverse=True)


def test_only_source_only_is_left_when_nothing_else_is_supported(pair):
    source, labels, target, *_ = pair
    candidates = try_methods(TransferTexts.of(source, labels, target[:60]), random_state=0)
    strong, weak = Evidence(0.5, 0.5, 0.9, 0.9), Evidence(0.1, 0.5, 0.55, 0.6)
    for candidate in candidates.fitted:
        candidate.evidence = strong if candidate.name == "logistic" else weak
    choice = decide(candidates)
    assert choice.name == "logistic"
    assert choice.table[0]["why"].startswith("source-only, because no method that adapts is better supported")


@pytest.mark.slow
def test_labelling_by_auto_reports_reasons_and_repeats(pair):
    source, labels, target, *_ = pair
    first, second = (isthmus.label(source, labels, target[:60]) for _ in range(2))
    np.testing.assert_array_equal(first.labels, second.labels)
    np.testing.assert_array_equal(first.confidence, second.confidence)
    assert isinstance(first.model, LabelModel)
    assert first.method == "+".join(row["method"] for row in first.decision if row["chosen"])
    assert first.reasons(0)
    assert first.expected_accuracy.estimate is not None


def test_labels_that_cannot_be_learned_leave_source_only_and_no_expectation(pair):
    source, labels, target, *_ = pair
    shuffled = np.random.default_rng(3).permutation(labels)
    result = isthmus.label(source, shuffled, target)
    assert result.method == "logistic"
    assert result.decision[0]["why"].startswith(
        "source-only, because a classifier cannot learn even the source's own labels"
    )
    others = {row["method"]: row["why"] for row in result.decision[1:]}
    assert others.pop("names").startswith("not counted: the names alone agree too little with the source's labels")
    assert all(why.startswith("not judged") for why in others.values())
    assert result.expected_accuracy.estimate is None


def test_copies_of_a_text_do_not_make_labels_learnable(pair):
    source, labels, target, *_ = pair
    random = np.random.default_rng(0).choice(["staff", "price"], 60)
    once = LabelScorer(source, labels, target[:60]).score(random)
    often = LabelScorer(source, labels, target[:60] * 4).score(np.tile(random, 4))
    assert often.learnability == once.learnability
    with pytest.raises(DataError):
        LabelScorer(source, labels, ["one text"] * 100)


def test_beyond_chance():
    rng = np.random.default_rng(0)
    chance = [rng.multinomial(300, [0.25] * 4).reshape(2, 2) for _ in range(200)]
    assert sum(map(beyond_chance, chance)) <= 2
    assert beyond_chance(np.array([[70, 50], [50, 70]])) is False
    assert beyond_chance(np.array([[100, 50], [50, 100]])) is True
    assert beyond_chance(np.array([[300]])) is False


def test_a_few_documents_of_many_classes_can_be_beyond_chance():
    """Two thirds of 27 labels of nine classes repeated: no single cell says much, their sum does."""
    classes = np.arange(9)
    counts = 2 * np.eye(9, dtype=int) + (classes == (classes[:, None] + 1) % 9)
    assert beyond_chance(counts) is True
    rng = np.random.default_rng(1)
    chance = [rng.multinomial(40, [1 / 36] * 36).reshape(6, 6) for _ in range(300)]
    assert sum(map(beyond_chance, chance)) <= 2


def test_agreement_counts_as_far_as_it_reaches_the_sources_own_accuracy():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 2, 400)
    labels = {"a": first, "b": np.where(rng.random(400) < 0.25, 1 - first, first)}
    alone = shared_labels(labels, 2)["a"]
    assert 0.4 < alone < 0.6
    agreed = (1 + alone) / 2
    assert shared_labels(labels, 2, agreed - 0.1)["a"] == pytest.approx(alone)
    assert shared_labels(labels, 2, agreed)["a"] == pytest.approx(alone / 2)
    assert shared_labels(labels, 2, agreed + 0.1)["a"] == pytest.approx(0, abs=1e-12)
    assert shared_labels({"a": first}, 2, 0.5) == {"a": 0.0}


@pytest.mark.parametrize("lost", [0, 1, 2], ids=["learned", "source_learned", "leads_back"])
def test_labels_vote_only_where_all_three_questions_are_answered_beyond_chance(lost):
    follows, chance = np.array([[40, 5], [5, 40]]), np.full((2, 2), 20)
    tables = [chance if place == lost else follows for place in range(3)]
    evidence = {"nbc": Evidence.from_tables(follows, follows, follows), "cocc": Evidence.from_tables(*tables)}
    candidates = SimpleNamespace(evidence=evidence, shared=dict.fromkeys(evidence, 0.0), behind={})
    assert list(vote_weights(candidates, VotingRule(near=99.0))) == ["nbc"]
    candidates.evidence = {"cocc": evidence["cocc"]}
    assert vote_weights(candidates, VotingRule()) == {"logistic": 1.0}, "with no support for any, source-only alone"


def test_labels_that_do_not_lead_back_have_no_vote(pair):
    """Labels easy to learn in the target, from which nothing can be told about the source's classes."""
    source, labels, target, truth, place = pair
    scorer = LabelScorer(source, labels, target)
    elsewhere = scorer.score(np.where(place == "north", "staff", "price"))
    assert elsewhere.learned
    assert not elsewhere.leads_back
    assert scorer.score(truth).leads_back
    fitted = [
        FittedCandidate(name, SimpleNamespace(classes_=np.unique(labels)), given, np.full((200, 2), 0.5), 0.0)
        for name, given in (("logistic", truth), ("cocc", np.where(place == "north", "staff", "price")))
    ]
    for candidate in fitted:
        candidate.evidence = scorer.score(candidate.labels)
    assert list(vote_weights(Candidates(fitted, scorer), VotingRule(near=99.0))) == ["logistic"]


@pytest.fixture(scope="module")
def worded(pair):
    """Candidates next to labelled words, one of them of a class that the source lacks."""
    source, labels, target, *_ = pair
    words = {"rude": "staff", "fee": "price", "snow": "weather"}
    with pytest.warns(IsthmusWarning, match="weather"):
        candidates = try_methods(TransferTexts.of(source, labels, target[:60]), word_labels=words, random_state=0)
    for candidate in candidates.fitted:
        candidate.evidence = Evidence(0.5, 0.5, 0.8, 0.8)  # all vote
    return candidates


@pytest.mark.slow
def test_words_may_name_a_class_the_source_lacks(pair, worded):
    target = pair[2][:60]
    choice = decide(worded)
    assert choice.model.classes_.tolist() == ["price", "staff", "weather"]
    assert choice.probabilities.shape == (60, 3)
    np.testing.assert_array_equal(choice.model.predict(target), choice.labels)


def test_the_words_add_their_weight_times_their_log_odds():
    classes = np.array(["a", "b", "c"])
    vote, words = np.array([[0.5, 0.3, 0.2]]), np.array([[0.7, 0.2, 0.1]])
    together, _ = Lexicon(0.5).apply(Batch({"words alone": words}, {"words alone": classes}), vote, classes)
    odds = np.log(together[0, 0] / together[0, 1]) - np.log(0.5 / 0.3)
    assert odds == pytest.approx(0.5 * np.log(3.5), abs=1e-6)


def test_too_few_documents_fall_back_to_source_only_and_say_so():
    result = isthmus.label(["kind staff", "low price"] * 3, ["staff", "price"] * 3, ["staff here", "price there"])
    assert result.method == "logistic"
    assert "too few documents" in result.decision[0]["why"]
    assert result.decision[0]["why"].startswith("source-only, because")
    assert result.expected_accuracy.estimate is None


def test_long_collections_leave_string_kernels_out_and_say_so():
    names, left_out = candidates_for(["text"] * 70_000, None)
    assert "strings" not in names
    assert "logistic" in names
    assert left_out[0]["method"] == "strings"


@pytest.mark.slow
def test_string_kernels_of_large_collections_come_last_and_alone(pair, monkeypatch):
    source, labels, target, *_ = pair
    labels = np.array(labels, dtype=object)
    together = try_methods(TransferTexts.of(source, labels, target), random_state=0, embed=False)
    monkeypatch.setattr("isthmus.choose.candidates.LARGE", 50)
    apart = try_methods(TransferTexts.of(source, labels, target), random_state=0, embed=False)
    assert [candidate.name for candidate in apart.fitted] == [candidate.name for candidate in together.fitted]
    for one, other in zip(apart.fitted, together.fitted, strict=True):
        assert one.labels.tolist() == other.labels.tolist()


@pytest.mark.slow
def test_labelled_words_are_heard_once_as_a_witness(pair):
    source, labels, target, *_ = pair
    result = isthmus.label(source, labels, target[:60], word_labels={"rude": "staff", "fee": "price"})
    methods = {row["method"] for row in result.decision}
    assert "words alone" in methods
    assert "dual-manifold" not in methods


def test_review_mask_keeps_the_budget():
    confidence = np.random.default_rng(0).uniform(0.5, 1, 500)
    mask = review_mask(confidence, 0.1)
    assert 0 < mask.sum() < 500
    assert np.sum(1 - confidence[~mask]) <= 0.1 * len(confidence)
    assert confidence[~mask].min() >= confidence[mask].max()
    assert not review_mask([0.99, 0.99], 0.1).any()
    assert review_mask([0.5, 0.5], 0.1).all()


@pytest.mark.slow
def test_a_few_later_texts_have_no_expected_accuracy(pair):
    source, labels, target, *_ = pair
    result = isthmus.label(source, labels, target[:60])
    later = result.label_new(target[60:70])
    assert later.expected_accuracy.estimate is None


def test_the_decision_on_later_texts_is_that_of_the_earlier_target(pair):
    source, labels, target, *_ = pair
    result = isthmus.label(source, labels, target[:60])
    later = result.label_new(target[60:70])
    chosen = [row for row in result.decision if row["chosen"]]
    assert [(row["method"], row["weight"]) for row in later.decision] == [
        (row["method"], row["weight"]) for row in chosen
    ]
    assert all(set(row) == {"method", "chosen", "weight", "why"} for row in later.decision)
    assert later.decision[0]["why"] == f"chosen on the earlier target: {chosen[0]['why']}"
    assert later.label_new(target[70:75]).decision == later.decision


def test_suspicion_fades_where_other_methods_give_the_same_labels():
    rule = VotingRule()
    easy, hard = Evidence(0.9, 0.5, 0.8, 0.95), Evidence(0.2, 0.5, 0.8, 0.6)
    assert rule.score(easy, 1.0) - rule.score(easy) == pytest.approx(excess(easy))
    assert rule.score(hard, 1.0) == rule.score(hard)
    alone, backed = rule.weights({"a": easy, "b": hard}), rule.weights({"a": easy, "b": hard}, {"a": 0.9, "b": 0.0})
    assert backed["a"] > alone["a"]


def made_candidates(source, labels, target, truth, *, lean, names=("logistic", "cocc", "lsa", "strings")):
    """Candidates whose probabilities lean to one class, without fitting anything."""
    scorer, rng = LabelScorer(source, labels, target), np.random.default_rng(0)
    classes, fitted = np.unique(labels), []
    for name in names:
        second = np.where(truth == classes[1], rng.uniform(0.45, 0.98, len(truth)), rng.uniform(0.02, 0.4, len(truth)))
        odds = second / (1 - second) * lean
        probabilities = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
        given = classes[probabilities.argmax(axis=1)]
        model = SimpleNamespace(classes_=classes)
        no_known_terms = np.zeros(len(target), dtype=bool)
        fitted.append(FittedCandidate(name, model, given, probabilities, 0.0, scorer.score(given), no_known_terms))
    return Candidates(fitted, scorer)


def test_labels_follow_shares_that_turned(monkeypatch):
    monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view: None)
    rng = np.random.default_rng(1)
    sides = [collection(240, rng, (NORTH, SOUTH), noise=0)[:2] for _ in range(2)]
    (source, labels), (target, truth) = sides
    first, second = (np.flatnonzero(labels == name) for name in np.unique(labels))
    kept = np.r_[first, second[:45]]
    there = np.r_[np.flatnonzero(truth == np.unique(labels)[0])[:15], np.flatnonzero(truth == np.unique(labels)[1])]
    sides = [source[i] for i in kept], labels[kept], [target[i] for i in there], truth[there]
    candidates = made_candidates(*sides, lean=0.8)
    choice = decide(candidates)
    before = candidates.fitted[0].labels
    factors = choice.model.stage(LabelShift).factors
    assert factors[1] > 1 > factors[0]
    assert np.mean(choice.labels == truth[there]) > np.mean(before == truth[there])
    assert choice.probabilities.max(axis=1).mean() == pytest.approx(choice.accuracy.estimate, abs=0.02)
    assert choice.accuracy.low <= choice.accuracy.estimate <= choice.accuracy.high
    same = made_candidates(source, labels, target, truth, lean=1.0)  # as many of either class as in the source
    assert decide(same).model.stage(LabelShift) is None


def test_labels_follow_shares_only_as_far_as_every_class_keeps_a_document():
    """A class to which the shares leave documents does not lose them all; the others follow as far as they can."""
    source = np.array(["a"] * 100 + ["b"] * 60 + ["c"] * 40, dtype=object)
    classes = np.array(["a", "b", "c"], dtype=object)
    scorer = SimpleNamespace(source_labels=source)
    both = np.array([[0.15, 0.8, 0.05]] * 130 + [[0.15, 0.05, 0.8]] * 60 + [[0.7, 0.28, 0.02]] * 10)
    labels = classes[both.argmax(axis=1)]
    factors = class_factors(scorer, both, labels, classes)
    whole = compare_shares(source, both, labels, classes)
    assert whole.supported
    assert not np.any(reweight_classes(both, whole.factors).argmax(axis=1) == 0), (
        "the whole way leaves nothing of the class"
    )
    assert np.any(reweight_classes(both, factors).argmax(axis=1) == 0)
    np.testing.assert_allclose(factors, whole.factors**0.25, err_msg="a quarter of the way is the first that holds")
    both[-10:] = [0.52, 0.46, 0.02]
    assert class_factors(scorer, both, labels, classes) is None, "no step leaves the class a document"


def test_names_stay_out_where_the_guard_takes_source_only(monkeypatch, pair):
    source, labels, target, truth, _ = pair
    candidates = made_candidates(source, labels, target, truth, lean=1.0)
    one = candidates.fitted[0]
    model = SimpleNamespace(classes_=one.model.classes_, agreement_=NameAgreement(0.6, 0.6))
    candidates.names = replace(one, name="names", model=model, probabilities=one.probabilities[:, ::-1])
    for carried, takes_part in (((1.0, 1.0), False), ((0.5, 1.0), True)):
        monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view, carried=carried: carried)
        choice = decide(candidates)
        row = next(row for row in choice.table if row["method"] == "names")
        assert row["chosen"] is takes_part, row["why"]
        assert ("names" in choice.model.members) is takes_part
    monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view: (1.0, 1.0))
    assert "taken alone" in next(row["why"] for row in decide(candidates).table if row["method"] == "names")


def test_what_was_gained_by_following_shares_is_kept_when_others_join(monkeypatch):
    flat = SimpleNamespace(estimate=lambda labels, joint: AccuracyEstimate(0.6, 0.5, 0.7), scorer=None)
    joint, classes = np.tile([0.7, 0.2, 0.1], (30, 1)), np.array(["a", "b", "c"])
    estimates = {}
    for gain in (0.0, 0.4):
        model = LabelModel({"one": SimpleNamespace(classes_=classes)}, {"one": 1.0})
        decision = Decision(flat, model, Batch({}, {}), joint, classes, AccuracyEstimate(0.5), gain=gain)
        decision.estimate_again()
        estimates[gain] = decision.accuracy.estimate
    assert estimates[0.0] == 0.6
    assert estimates[0.4] == pytest.approx(expit(logit(0.6) + 0.4))
    assert decision.proba.max(axis=1).mean() == pytest.approx(estimates[0.4], abs=1e-6)


def test_the_gain_of_followed_shares_reaches_the_estimate_with_names(monkeypatch, pair):
    source, labels, target, truth, _ = pair
    candidates = made_candidates(source, labels, target, truth, lean=1.0)
    one = candidates.fitted[0]
    model = SimpleNamespace(classes_=one.model.classes_, agreement_=NameAgreement(0.6, 0.6))
    candidates.names = replace(one, name="names", model=model)
    monkeypatch.setattr(names_stage, "why_without_names", lambda decision: "")
    estimates = {}
    for gain in (0.0, -0.5):
        decision = Decision.of_vote(candidates, {"logistic": 1.0})
        decision.gain = gain
        names_stage.fit(decision)
        estimates[gain] = decision.accuracy.estimate
    assert logit(estimates[-0.5]) == pytest.approx(logit(estimates[0.0]) - 0.5)


def test_the_guard_takes_source_only_where_it_is_as_sure_as_at_home(pair, monkeypatch):
    source, labels, target, truth, _ = pair
    candidates = made_candidates(source, labels, target, truth, lean=1.0)
    found = {}
    for case, carried in (("as sure", (1.0, 1.0)), ("less sure", (0.5, 1.0)), ("no more", (1.0, 0.5)), ("thin", None)):
        monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view, carried=carried: carried)
        found[case] = decide(candidates)
    assert list(found["as sure"].model.members) == ["logistic"]
    assert found["as sure"].table[0]["why"].startswith("source-only, because")
    assert all(len(found[case].model.members) > 1 for case in ("less sure", "no more", "thin"))


def test_the_sentence_of_labels_that_cannot_be_learned_says_so():
    clear, chance = np.diag([50, 50]), np.full((2, 2), 25)
    blank = Evidence(0.0, 0.9, 0.9, 0.5, tables=(chance, clear, clear))
    assert not blank.learned
    assert _why("cocc", blank, {"logistic": 1.0}) == "a classifier cannot learn its labels from the target's words"
    alone = _why("logistic", blank, {"logistic": 1.0})
    assert alone == "source-only, because no method gave labels that can be learned from words"
    lost = Evidence(0.9, 0.0, 0.9, 0.9, tables=(clear, chance, clear))
    assert _why("cocc", lost, {"logistic": 1.0}).startswith("not judged: a classifier cannot learn even the source's")
    assert "trust no label" in _why("logistic", lost, {"logistic": 1.0})
    away = Evidence(0.9, 0.9, 0.5, 0.9, tables=(clear, clear, chance))
    assert _why("cocc", away, {"logistic": 1.0}).endswith("cannot tell the source's classes apart")


def test_a_language_is_settled_for_all_only_where_there_is_one():
    english, german = ["the soup was cold and the bread was dry"] * 4, ["die Suppe war kalt und das Brot trocken"] * 4

    def settled(target, language):
        return TransferTexts.of(english, np.array(["a"] * 4, dtype=object), target).one_language(language)

    assert settled(english, "auto") == "en"
    assert settled(german, "auto") == "auto"
    assert settled(english, "german") == "german"


def test_the_vote_knows_no_term_of_a_document_only_where_no_voter_does(monkeypatch):
    monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view: None)
    rng = np.random.default_rng(1)
    (source, labels), (target, truth) = (collection(120, rng, (NORTH, SOUTH), noise=0)[:2] for _ in range(2))
    candidates = made_candidates(source, labels, target, truth, lean=1.0)
    for candidate, rows in zip(candidates.fitted, ([0, 1, 2], [], [2, 3], [2]), strict=True):
        candidate.no_known_terms[rows] = True
    choice = decide(candidates)
    assert set(choice.model.weights) == {"logistic", "lsa", "strings"}  # cocc, which has no vote, is not asked
    assert np.flatnonzero(choice.no_known_terms).tolist() == [2]


def test_texts_without_a_known_term_are_flagged_where_they_stand():
    source, labels = ["kind staff", "fast bike"] * 5, np.array(["staff", "product"] * 5, dtype=object)
    target = ["kind staff today", "fast bike today", "unheard", "staff today", "bike today"]
    for turn in range(len(target)):
        turned = target[turn:] + target[:turn]
        texts = TransferTexts.of(source, labels, turned)
        found = fit_candidate("nbc", make_method("nbc", min_df=2, language="en"), texts)
        assert found.no_known_terms.tolist() == [text == "unheard" for text in turned]


def test_choose_hands_all_that_it_was_given_to_the_candidates(monkeypatch):
    given = {}

    def note(texts, **options):
        given.update(
            options, texts=(texts.given_source, list(texts.given_labels), texts.given_target, texts.given_extra)
        )
        return "candidates"

    monkeypatch.setattr("isthmus.choose.choice.try_methods", note)
    monkeypatch.setattr("isthmus.choose.choice.decide", lambda found: f"decided on {found}")
    options = {"word_labels": {"rude": "x"}, "classes": "names", "embed": "model", "n_jobs": 3, "random_state": 5}
    texts = ["a b", "c d"], np.array(["x", "y"], dtype=object), ["e f"]
    assert choose(*texts, extra_texts=["g h"], **options) == "decided on candidates"
    found = given.pop("texts")
    assert given == options, "every option must reach the candidates as it was given"
    assert found == (["a b", "c d"], ["x", "y"], ["e f"], ["g h"]), f"collections that were handed on: {found}"


def lone_candidate(probabilities, classes=("a", "b", "c")):
    """One candidate about which there is no evidence, so that it is taken as it is."""
    model = SimpleNamespace(classes_=np.array(classes))
    labels = model.classes_[probabilities.argmax(axis=1)]
    return FittedCandidate("nbc", model, labels, probabilities, 0.0, None, np.zeros(len(labels), dtype=bool))


def raised(probabilities, power):
    rows = probabilities**power
    return rows / rows.sum(axis=1, keepdims=True)


def test_what_following_shares_gains_is_measured_outside_new_groups(monkeypatch):
    """Documents of a new group, of which the figure does not speak, are surer than the others here."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([3, 2, 2], 40)
    probabilities[30:] = [0.98, 0.01, 0.01]
    factors, outside, asked = np.array([1.5, 0.7, 0.9]), np.arange(30), []

    def follow(scorer, given, labels, classes):
        asked.append((len(given), len(labels)))
        return factors

    monkeypatch.setattr("isthmus.choose.stages.label_shift.class_factors", follow)
    monkeypatch.setattr("isthmus.choose.decision.outside_groups", lambda scorer, n: outside)
    expected = AccuracyEstimate(0.5, 0.4, 0.6, outside_groups=0.6)
    monkeypatch.setattr(Candidates, "estimate", lambda self, labels, own: expected)
    choice = decide(Candidates([lone_candidate(probabilities)], None))
    sharp = raised(probabilities, choice.model.stage(Temperature).power)
    assert sharp[outside].max(axis=1).mean() == pytest.approx(0.6, abs=1e-3), "brought to the accuracy outside groups"
    assert asked == [(30, 30)], "shares are compared outside new groups"
    moved = sharp * factors / (sharp * factors).sum(axis=1, keepdims=True)
    right = expit(logit(moved[outside].max(axis=1).mean()) + LABEL_SHIFT["rise"])
    assert choice.accuracy.outside_groups == pytest.approx(right), "above the mean over the documents outside"
    assert choice.accuracy.estimate == pytest.approx(0.5 / 0.6 * right)
    shown = choice.probabilities[outside].max(axis=1).mean()
    assert shown == pytest.approx(right, abs=1e-3), "what is shown is as sure as is expected, outside new groups"
    assert choice.labels.tolist() == np.array(["a", "b", "c"])[moved.argmax(axis=1)].tolist()


@pytest.mark.parametrize("estimated", [False, True])
def test_labelled_words_that_add_nothing_leave_labels_and_opinions_alone(monkeypatch, estimated):
    """Without an expectation they cannot be weighed; with a weight of nothing they are named in the table."""
    one = lone_candidate(np.array([[0.8, 0.2], [0.4, 0.6], [0.3, 0.7]]), ("a", "b"))
    turned = replace(one, name="words alone", probabilities=one.probabilities[:, ::-1], labels=one.labels[::-1])
    words = SimpleNamespace(**vars(turned), found="", accuracy=0.7, source_proba=None, power=1.0, offsets=None)
    expected = AccuracyEstimate(0.7, 0.6, 0.8) if estimated else AccuracyEstimate(None)
    monkeypatch.setattr(Candidates, "estimate", lambda self, labels, own: expected)
    monkeypatch.setattr("isthmus.choose.decision.outside_groups", lambda scorer, n: np.arange(n))
    monkeypatch.setattr("isthmus.choose.stages.label_shift.class_factors", lambda *given: None)
    monkeypatch.setattr("isthmus.choose.stages.lexicon.shared_errors", lambda scorer, own: 0.0)
    monkeypatch.setattr("isthmus.choose.stages.lexicon.weigh_lexicon", lambda *given: 0.0)
    choice = decide(Candidates([one], SimpleNamespace(), lexicon=words))
    assert choice.labels.tolist() == ["a", "b", "b"], "the labels of the vote"
    assert list(choice.opinions) == ["nbc"], "words that add nothing have no opinion in the vote"
    assert "words alone" not in choice.model.members
    rows = {row["method"]: row for row in choice.table}
    assert list(rows) == (["nbc", "words alone"] if estimated else ["nbc"])
    if estimated:
        row = rows["words alone"]
        assert (row["chosen"], row["weight"]) == (False, 0.0)
        assert row["why"] == (
            "the labelled words on their own, right about 70% of the source, say nothing beyond the vote"
        )


def test_of_a_thin_source_no_shares_are_followed():
    """Ninety-nine labelled documents are thin, a hundred are not; without a scorer nothing is known of them."""
    classes = np.array(["a", "b"], dtype=object)
    both = np.array([[0.2, 0.8]] * 160 + [[0.9, 0.1]] * 40)
    labels = classes[both.argmax(axis=1)]
    source = np.array(["a"] * 70 + ["b"] * 30, dtype=object)
    assert compare_shares(source, both, labels, classes).supported
    assert class_factors(SimpleNamespace(source_labels=source), both, labels, classes) is not None
    assert class_factors(SimpleNamespace(source_labels=source[1:]), both, labels, classes) is None, "thin"
    assert class_factors(None, both, labels, classes) is None


def test_a_class_to_which_the_shares_leave_next_to_nothing_may_lose_its_labels():
    source = np.array(["a"] * 60 + ["b"] * 60 + ["c"] * 60, dtype=object)
    classes = np.array(["a", "b", "c"], dtype=object)
    both = np.array([[0.002, 0.9, 0.098]] * 48 + [[0.002, 0.098, 0.9]] * 26 + [[0.4, 0.35, 0.25]] * 2)
    labels = classes[both.argmax(axis=1)]
    whole = compare_shares(source, both, labels, classes)
    assert whole.supported
    assert whole.cautious[0] * len(labels) < 5, "fewer than five documents are left to it"
    assert not np.any(reweight_classes(both, whole.factors).argmax(axis=1) == 0), "the whole way takes all of them"
    found = class_factors(SimpleNamespace(source_labels=source), both, labels, classes)
    np.testing.assert_allclose(found, whole.factors, err_msg="the others follow the whole way")


@pytest.mark.parametrize(
    ("name", "source"), [("logistic", "source-only"), ("labelled-words", "labelled-words"), ("nbc", "nbc")]
)
def test_what_is_taken_where_documents_are_too_few_is_named(name, source):
    one = replace(lone_candidate(np.full((2, 3), 1 / 3)), name=name)
    row = decision_rows(Candidates([one], None), {name: 1.0}, one.labels, VotingRule())[0]
    assert row["why"] == f"{source}, because there are too few documents to weigh methods against each other"
    assert (row["method"], row["weight"]) == (name, 1.0)


def test_source_only_that_does_not_lead_back_says_why_it_is_taken():
    follows, chance = np.array([[40, 5], [5, 40]]), np.full((2, 2), 20)
    lost = Evidence.from_tables(follows, follows, chance)
    said = _why("logistic", lost, {"logistic": 1.0})
    assert said == "source-only, because no method that adapts is better supported"
    assert _why("cocc", lost, {"logistic": 1.0}).startswith("trained on its labels, a classifier cannot tell")


LONG = [" ".join([*own, *(f"filler{(i * 7 + k) % 40}" for k in range(14))]) for i in range(40)
        for own in [(STAFF if i % 2 else PRICE)[:3]]]  # fmt: skip
SHORT = [" ".join((STAFF if i % 2 else PRICE)[i % 5 : i % 5 + 3]) + f" nr{i}" for i in range(40)]
KINDS = ["staff" if i % 2 else "price" for i in range(40)]


def test_texts_of_uneven_length_are_judged_at_equal_length_too():
    """Words are judged once more in texts thinned to the lengths of the other side, vectors in those made of them."""
    made = []

    def make(texts):
        made.append(list(texts))
        return np.array([[float("staff" in text or "polite" in text), float(len(text.split()))] for text in texts])

    views = {"vectors": View(make(LONG), make(SHORT), make), "given": View(make(LONG), make(SHORT), None)}
    made.clear()
    settings = {"analyzer": "words", "min_df": 1, "language": "en"}
    scorer = LabelScorer(LONG, KINDS, SHORT, views=views, **settings)
    looked_at = [[side[i] for i in rows] for side, rows in ((LONG, scorer.source), (SHORT, scorer.target))]
    even = even_lengths(*looked_at)
    assert even[0] != looked_at[0], "the longer side is thinned"
    assert made == [*even], "the vectors of the thinned texts, those of either side once"
    whole = DenseView(make(looked_at[0]), scorer.source_labels, make(looked_at[1]))
    as_given = "vectors that cannot be made anew stay those of the whole texts"
    np.testing.assert_array_equal(scorer.others["given"].source.rows, whole.source.rows, err_msg=as_given)
    assert scorer.even.vectorizer.get_params() == scorer.words.vectorizer.get_params(), "read alike"
    found = scorer.score(KINDS)
    by_hand = WordView(*even, scorer.source_labels, **settings).tables(np.array([KINDS[i] for i in scorer.target]))
    for table, own in zip(found.even.tables, by_hand, strict=True):
        np.testing.assert_array_equal(table, own, err_msg="the evidence at equal length is that of the thinned texts")
    assert found.views == [found.even, *found.others.values()], "words count at equal length, not as they are"
    drawn = found.redraw(np.random.default_rng(0), 7)
    assert {len(np.atleast_1d(view.learnability)) for view in drawn.views} == {7}, "every view is drawn anew"


@pytest.mark.parametrize(("n_small", "held_out"), [(3, True), (2, False)])
def test_a_class_too_small_to_be_held_out_leaves_no_decisions_of_the_source(n_small, held_out):
    texts = [f"kind staff nr{i}" for i in range(8)] + [f"low price nr{i}" for i in range(7)] + ["snow on ice"] * n_small
    labels = np.array(["staff"] * 8 + ["price"] * 7 + ["snow"] * n_small)
    view = WordView(texts, ["kind staff", "low price"], labels)
    assert (view.source_decisions is not None) is held_out
    assert view.source_table.sum() == 15 + n_small * held_out, "documents of a class of two cannot be held out"
    scorer = SimpleNamespace(source=np.arange(len(labels)), words=view, source_labels=labels)
    if not held_out:
        assert shared_errors(scorer, np.eye(3)[np.unique(labels, return_inverse=True)[1]]) == 0.0


@pytest.mark.parametrize("n_classes", [2, 3])
def test_errors_that_words_share_with_a_classifier_are_compared_document_by_document(n_classes):
    """The scorer's documents are some of the labelled ones, in an order of their own."""
    rng = np.random.default_rng(0)
    labels = np.arange(60) % n_classes
    decisions = rng.normal(size=60 if n_classes == 2 else (60, n_classes))
    scores = np.column_stack([-decisions, decisions]) if n_classes == 2 else decisions
    alike = np.exp(scores - scores.max(axis=1, keepdims=True))
    source = rng.permutation(90)[:60]
    own = np.full((90, n_classes), 1 / n_classes)
    own[source] = np.clip(alike / alike.sum(axis=1, keepdims=True), 1e-3, None)
    scorer = SimpleNamespace(source=source, words=SimpleNamespace(source_decisions=decisions), source_labels=labels)
    assert shared_errors(scorer, own) > 0.8, "words that say what the classifier says share its errors"
    scorer.source = rng.permutation(source)
    assert abs(shared_errors(scorer, own)) < 0.4, "said of other documents they share none"


@pytest.mark.parametrize(
    ("own", "words", "accuracy", "right", "why"),
    [
        ([[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5]] * 2, 0.8, 0.8, "no document holds a labelled word"),
        ([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], 0.5, 0.8, "the vote is right by chance"),
        ([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], 0.8, 0.5, "words are right by chance"),
        ([[0.9, 0.1], [0.9, 0.1]], [[0.7, 0.3], [0.4, 0.6]], 0.8, 0.8, "a vote that says one thing is like nothing"),
    ],
)
def test_words_that_show_nothing_do_not_count(own, words, accuracy, right, why):
    assert weigh_lexicon(np.array(own), np.array(words), accuracy, right, 0.0) == 0.0, why


@pytest.mark.parametrize(("documents", "characters", "tried"), [(3, 30, True), (4, 40, False), (3, 29, False)])
def test_string_kernels_are_tried_up_to_a_number_of_documents_and_of_characters(
    monkeypatch, documents, characters, tried
):
    monkeypatch.setattr("isthmus.choose.candidates.MOST_STRINGS", 3)
    monkeypatch.setattr("isthmus.choose.candidates.MOST_CHARACTERS", characters)
    names, left_out = candidates_for(["y" * 10] * documents, None)
    assert ("strings" in names) is tried, f"{documents} documents with {10 * documents} characters"
    assert [row["method"] for row in left_out] == ([] if tried else ["strings"])


def test_what_is_no_lack_of_documents_is_not_hidden_by_the_scorer(monkeypatch):
    def refuse(*given, **options):
        raise DataError("No.", code=options["analyzer"])

    monkeypatch.setattr("isthmus.choose.candidates.LabelScorer", refuse)
    texts = TransferTexts.of(["a b"], np.array(["x"], dtype=object), ["c d"])
    assert make_scorer(texts, {"analyzer": "no-rows"}) is None
    assert make_scorer(texts, {"analyzer": "empty-vocabulary"}) is None
    with pytest.raises(DataError, match="No"):
        make_scorer(texts, {"analyzer": "bad-parameter"})


def test_few_documents_and_labelled_words_are_tried_with_the_words_first(monkeypatch):
    asked = []
    monkeypatch.setattr("isthmus.choose.candidates._run_all", lambda fit, names, n_jobs: asked.append(names) or [])
    texts = TransferTexts.of(["kind staff", "low price"], np.array(["C1", "C2"], dtype=object), ["rude staff"])
    found = try_methods(texts, word_labels={"rude": "C1", "fee": "C2"}, embed=False, n_jobs=1)
    assert found.scorer is None
    assert asked == [["dual-manifold", "logistic"]]
    asked.clear()
    try_methods(texts, embed=False, n_jobs=1)
    assert asked == [["logistic"]], "without words source-only alone"


@pytest.mark.parametrize(
    ("voters", "unknown"), [(["nbc"], [True, True, False]), (["nbc", "cocc"], [True, False, False])]
)
def test_a_text_is_unknown_where_no_voter_knows_a_word_of_it(monkeypatch, voters, unknown):
    monkeypatch.setattr("isthmus.choose.choice.vote_weights", lambda *given: dict.fromkeys(voters, 1 / len(voters)))
    one = replace(lone_candidate(np.full((3, 3), 1 / 3)), no_known_terms=np.array([True, True, False]))
    other = replace(one, name="cocc", no_known_terms=np.array([True, False, False]))
    silent = replace(one, name="lsa", no_known_terms=None)
    choice = decide(Candidates([one, other, silent], None))
    assert choice.no_known_terms.tolist() == unknown
    assert list(choice.opinions) == voters, "only what votes has an opinion"


@pytest.mark.parametrize("reads_texts", [False, True])
def test_what_a_method_says_comes_back_in_the_order_of_the_texts(reads_texts):
    """Texts are sorted before they are fitted; a blank text, or a row without a word, is nothing the method knows."""
    given = [" ", "z known", "a known text", "  ", "m known", "q known too", "\t"]

    class Method:
        classes_ = np.array(["x", "y"])

        def __init__(self):
            self.steps = [("method", self)]

        def fit_rows(self, texts, labels, domain):
            self.transduction_ = np.array([f"label of {text}" for text in texts], dtype=object)
            if reads_texts:
                return list(texts)
            return sp.csr_matrix([[len(text.strip()), 0.0] for text in texts])

        def target_proba(self, rows):
            sizes = [len(row.strip()) for row in rows] if reads_texts else rows.toarray()[:, 0]
            return np.column_stack([np.array(sizes) / 100, 1 - np.array(sizes) / 100])

    texts = TransferTexts.of(["q one", "b two"], np.array(["x", "y"], dtype=object), given, ["k extra", "c extra"])
    found = fit_candidate("own", Method(), texts)
    blank = [not text.strip() for text in given]
    assert [not text.strip() for text in texts.texts[texts.target]] != blank, "sorted they stand otherwise"
    assert found.labels.tolist() == [f"label of {text}" for text in given]
    assert found.probabilities[:, 0] == pytest.approx([len(text.strip()) / 100 for text in given])
    assert found.no_known_terms.tolist() == blank
