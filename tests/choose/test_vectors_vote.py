"""Vectors of an encoder in auto: their methods, their advantage over words, and the guard in any view."""

import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import isthmus
from isthmus.choose.candidates import SOURCE_ONLY, Candidates, FittedCandidate, candidates_for, try_methods
from isthmus.choose.choice import decide
from isthmus.choose.evidence import Evidence, LabelScorer, WordView
from isthmus.choose.texts import TransferTexts
from isthmus.choose.trust import carried_over, trust_features
from isthmus.choose.voting import VotingRule
from isthmus.features.embeddings import FunctionEmbedder, StaticEmbedder

CLASSES = ("price", "staff")
WORDS = {"price": ("cheap", "discount", "fee"), "staff": ("friendly", "polite", "smile")}


def collection(n, seed, *, told=1.0):
    """Return texts, of which a share has a word of their class, among words that tell nothing; labels and vectors."""
    rng = np.random.default_rng(seed)
    labels = np.array([CLASSES[i % 2] for i in range(n)])
    words = [[f"w{rng.integers(40)}" for _ in range(6)] for _ in labels]
    for text, label in zip(words, labels, strict=True):
        text += [rng.choice(WORDS[label])] * int(rng.random() < told)
    vectors = rng.normal(scale=0.4, size=(n, 6))
    vectors[:, 0] += np.where(labels == "price", 1.0, -1.0)
    return [" ".join(text) + f" nr{seed}x{i}" for i, text in enumerate(words)], labels, vectors


def table(right):
    return np.array([[right, 100 - right], [100 - right, right]])


def evidence(words, vectors=None, lsa=None):
    views = {"vectors": vectors, "lsa": lsa}
    others = {name: Evidence.from_tables(*[table(right)] * 3) for name, right in views.items() if right is not None}
    found = Evidence.from_tables(*[table(words)] * 3)
    return Evidence(
        found.learnability, found.source_learnability, found.reverse_accuracy, 0.9, found.tables, None, others
    )


@pytest.mark.parametrize(
    ("embedder", "added"),
    [
        (None, []),
        (object.__new__(StaticEmbedder), ["vectors"]),
        (FunctionEmbedder(len), ["vectors", "neighbours", "vectors-logistic"]),
    ],
    ids=["none", "packaged", "encoder"],
)
def test_an_encoder_adds_its_methods(embedder, added):
    names, left_out = candidates_for(["a text"] * 40, None, embedder)
    assert [name for name in names if name not in candidates_for(["a text"] * 40, None)[0]] == added
    assert left_out == []


def test_only_methods_that_read_words_are_behind_vectors():
    names = ("logistic", "lsa", "vectors", "neighbours", "labeller")
    fitted = [
        FittedCandidate(name, SimpleNamespace(classes_=np.array(CLASSES)), np.array(CLASSES), np.eye(2), 0.0, found)
        for name in names
        for found in [evidence(80, vectors=95, lsa=70)]
    ]
    behind = Candidates(fitted, None).behind
    assert set(behind) == {"logistic", "lsa"}
    assert behind["logistic"] == pytest.approx(np.log(0.95 / 0.05) - np.log(0.8 / 0.2))
    assert behind["lsa"] > behind["logistic"]
    for candidate in fitted:
        candidate.evidence = evidence(80)
    assert Candidates(fitted, None).behind == {}


def test_a_far_worse_representation_loses_its_vote():
    rule, found = VotingRule(), {"logistic": evidence(85), "vectors": evidence(80)}
    assert max(rule.weights(found), key=rule.weights(found).get) == "logistic"
    assert rule.weights(found, behind={"logistic": rule.far}) == rule.weights(found)
    assert list(rule.weights(found, behind={"logistic": rule.far + 1.0})) == ["vectors"]
    lost = rule.score(found["logistic"]) - rule.score(found["logistic"], behind=rule.far + 0.5)
    assert lost == pytest.approx(rule.representation / 2)


def test_the_expected_accuracy_reads_the_representation_that_separates_the_classes():
    near, far = evidence(80, vectors=85), evidence(80, vectors=95)
    assert near.strongest(VotingRule().far) is near
    assert far.strongest(VotingRule().far) is far.others["vectors"]
    source, labels, vectors = collection(150, 0, told=0.4)
    target, truth, there = collection(150, 1, told=0.4)
    views = {"vectors": isthmus.choose.views.View(vectors, there)}
    with_vectors, words = (LabelScorer(source, labels, target, views=given) for given in (views, None))
    found = {scorer: trust_features(scorer, truth, 0.9, scorer.score(truth)) for scorer in (with_vectors, words)}
    assert found[with_vectors]["source"] > 0.95 > found[words]["source"] + 0.1
    assert found[with_vectors]["repeated"] > 0.95 > found[words]["repeated"] + 0.1


@pytest.fixture(scope="module")
def candidates():
    source, labels, _ = collection(120, 0)
    target, truth, _ = collection(120, 1)
    scorer = LabelScorer(source, labels, target)
    fitted = []
    for name, wrong in (("logistic", 6), ("vectors-logistic", 4), ("cocc", 40)):
        given = truth.copy()
        given[:wrong] = np.where(truth[:wrong] == "price", "staff", "price")
        proba = np.where(np.array(CLASSES) == given[:, None], 0.8, 0.2)
        model = SimpleNamespace(classes_=np.array(CLASSES))
        fitted.append(FittedCandidate(name, model, given, proba, 0.0, scorer.score(given), np.zeros(120, dtype=bool)))
    return Candidates(fitted, scorer)


@pytest.mark.parametrize(
    ("promises", "weights", "chosen"),
    [
        ({"words": (1.0, 0.95), "vectors": (1.0, 1.0)}, {"cocc": 1.0}, "vectors-logistic"),
        ({"words": (1.0, 1.0), "vectors": (1.0, 0.95)}, {"cocc": 1.0}, "logistic"),
        ({"words": (0.5, 1.0), "vectors": (0.5, 1.0)}, {"cocc": 1.0}, "cocc"),
        ({"words": None, "vectors": None}, {"cocc": 1.0}, "cocc"),
    ],
    ids=["vectors", "words", "less confident", "thin"],
)
def test_the_guard_takes_the_best_source_only_method_of_any_view(candidates, monkeypatch, promises, weights, chosen):
    monkeypatch.setattr("isthmus.choose.choice.carried_over", lambda scorer, view: promises[view])
    monkeypatch.setattr("isthmus.choose.choice.vote_weights", lambda candidates, rule: weights)
    assert set(SOURCE_ONLY.values()) == set(promises)
    assert list(decide(candidates).model.weights) == [chosen]


def test_a_method_on_vectors_needs_the_support_of_the_target(candidates, monkeypatch):
    monkeypatch.setattr(
        "isthmus.choose.choice.carried_over", lambda scorer, view: (1.0, 1.0) if view != "words" else None
    )
    monkeypatch.setattr("isthmus.choose.choice.vote_weights", lambda candidates, rule: {"logistic": 1.0})
    logistic, own, cocc = candidates.fitted
    assert list(decide(candidates).model.weights) == ["vectors-logistic"]
    as_poor_as_cocc = replace(own, labels=cocc.labels, probabilities=cocc.probabilities, evidence=cocc.evidence)
    worse = replace(candidates, fitted=[logistic, as_poor_as_cocc, cocc])
    assert list(decide(worse).model.weights) == ["logistic"]


def test_rare_classes_do_not_hide_that_a_classifier_is_as_confident_in_the_target():
    source, labels, _ = collection(120, 0)
    target, _, _ = collection(120, 1)
    relative, promised = carried_over(LabelScorer(source, labels, target))
    rare = LabelScorer([*source, "hail and frost", "rain or snow"], [*labels, "weather", "weather"], target)
    assert carried_over(rare)[0] == pytest.approx(relative, abs=0.05)
    assert carried_over(rare)[1] == pytest.approx(promised * 120 / 122, abs=0.02)


def test_the_confidence_of_vectors_is_compared_as_well_as_that_of_words():
    source, labels, vectors = collection(150, 0)
    target, _, there = collection(150, 1)
    noise = np.random.default_rng(2).normal(size=there.shape)
    views = {
        "vectors": isthmus.choose.views.View(vectors, there),
        "noise": isthmus.choose.views.View(vectors, 0.1 * noise),
    }
    scorer = LabelScorer(source, labels, target, views=views)
    relative, promised = carried_over(scorer, "vectors")
    assert relative == pytest.approx(1.0, abs=0.1)
    assert promised > 0.9
    assert carried_over(scorer, "noise")[0] < 0.9 * relative


def test_labels_that_are_nearly_all_different_are_judged_without_a_warning_of_the_library():
    source, labels, _ = collection(60, 0)
    target, _, _ = collection(24, 1)
    view = WordView(source, target, labels)
    given = np.arange(24) // 2 + 12 * (np.arange(24) % 2) * (np.arange(24) > 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = view.answer(given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = LinearSVC(C=0.5, random_state=0, tol=1e-8).fit(view.target_rows, given)
    scores = np.sort(peer.decision_function(view.source_rows), axis=1)
    clear = scores[:, -1] > scores[:, -2] + 0.02
    assert clear.any()
    np.testing.assert_array_equal(found[clear], peer.predict(view.source_rows)[clear])


def test_auto_with_strong_vectors_leaves_the_words_out():
    source, labels, vectors = collection(150, 0, told=0.4)
    target, truth, there = collection(150, 1, told=0.4)
    result = isthmus.label(source, labels, target, vectors=(vectors, there + 3.0))
    chosen = {row["method"] for row in result.decision if row["chosen"]}
    assert chosen <= {"vectors", "neighbours", "vectors-logistic"}
    assert np.mean(result.labels == truth) > 0.95


@pytest.mark.parametrize(("hopeless", "tried"), [(-99.0, False), (99.0, True)])
def test_costly_self_training_needs_a_starting_point_that_is_not_far_behind(monkeypatch, hopeless, tried):
    monkeypatch.setattr("isthmus.choose.candidates.CANDIDATES", ("logistic", "self-training", "projection"))
    monkeypatch.setattr("isthmus.choose.candidates.COSTLY", 100)
    monkeypatch.setattr("isthmus.choose.candidates.HOPELESS", hopeless)
    source, labels, _ = collection(60, 0)
    target, _, _ = collection(60, 1)
    texts = TransferTexts.of(source, labels.astype(object), target)
    found = try_methods(texts, embed=False, random_state=0, n_jobs=1)
    assert ("self-training" in [candidate.name for candidate in found.fitted]) is tried
    assert ("self-training" in [row["method"] for row in found.left_out]) is not tried
