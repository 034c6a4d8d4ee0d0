"""Single steps of runs in blocks."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.content import content_keys
from isthmus.choose.budgets import review_warnings
from isthmus.exceptions import DataError, UsageError
from isthmus.methods import get_method
from isthmus.request import LabelRequest
from isthmus.scale import label, settings, views
from isthmus.scale import trust as trust_module
from isthmus.scale.chunks import Job, save_tokens
from isthmus.scale.engine import LocalEngine
from isthmus.scale.reading import Reading, read_tokens
from isthmus.scale.store import MemoryStore
from isthmus.scale.trust import STEPS, Trust

AS_WRITTEN = Reading("words", ("en",), sentiment=True)


@pytest.mark.parametrize(("scores", "weights"), [([0.2, 0.7], {"projection": 1.0}), ([], {"logistic": 1.0})])
def test_where_no_chosen_method_runs_in_blocks_the_best_that_does_is_taken(monkeypatch, scores, weights):
    table = [{"method": "lsa", "chosen": True, "weight": 1.0, "score": 0.9, "why": "best"}]
    rows = [{"method": name, "chosen": False, "why": "less"} for name in ("cocc", "projection")]
    table += [row | {"score": score} for row, score in zip(rows, scores, strict=True)] if scores else rows
    monkeypatch.setattr(label, "try_methods", lambda texts, **options: (texts.given_source, texts.given_target))
    monkeypatch.setattr(label, "decide", lambda candidates: SimpleNamespace(table=table))
    request = LabelRequest(analyzer="words", language="en")
    asked = SimpleNamespace(
        request=request, source_sample=(["a"], ["x"]), target_sample=["b"], n_source=5, n_target=7, decision=[]
    )
    assert label.LabelRun._choose(asked) == weights
    assert [list(texts) for texts in asked.candidates] == [["a"], ["b"]], "the sample is what methods are tried on"
    assert [row["chosen"] for row in asked.decision] == [False, False, "projection" in weights]
    assert asked.decision[0]["why"].endswith("does not run in blocks")
    # The weights of those that do run add up to one.
    table[:] = [{"method": name, "chosen": True, "weight": weight, "score": 0.5, "why": "good"}
                for name, weight in (("lsa", 0.5), ("cocc", 0.4), ("nbc", 0.1))]  # fmt: skip
    assert label.LabelRun._choose(asked) == pytest.approx({"cocc": 0.8, "nbc": 0.2})


@pytest.mark.parametrize(
    ("client", "scheduler", "engine", "started"),
    [
        ("client", "tcp://there", "dask", ("client",)),
        (None, "tcp://there", None, ("connect", "tcp://there", {"tls_ca_file": "a.pem"})),
        (None, None, "dask", ("cluster", "work", 3, "1GB")),
    ],
)
def test_who_does_the_work(monkeypatch, client, scheduler, engine, started):
    """A scheduler named and not asked."""
    monkeypatch.setattr(settings, "DaskEngine", lambda *given: given)
    monkeypatch.setattr(settings, "connect", lambda *given: ("connect", *given))
    monkeypatch.setattr(settings, "local_cluster", lambda *given: ("cluster", *given))
    request = LabelRequest(engine=engine, workers=3, scheduler=scheduler, memory_limit="1GB")
    where = {"client": client, "tls": {"tls_ca_file": "a.pem"}}
    assert settings.start_engine(request, "work", {"source": [], "target": []}, **where) == started


def test_a_vote_is_as_cautious_as_all_labelled_documents_allow_not_those_of_the_sample(monkeypatch):
    monkeypatch.setattr(label, "weigh_vote", lambda sample, scores, *given, **named: (*given, named))
    asked = SimpleNamespace(
        source_sample=(["a"], ["x"]), target_sample=["b"], classes=["x", "y"], views={}, notes=[], candidates="tried",
        facts=SimpleNamespace(labels=Counter(x=4, y=3)),
    )  # fmt: skip
    model = SimpleNamespace(text_scores=lambda texts, views: texts)
    assert label.LabelRun._weigh(asked, model) == ("tried", {"n_source": 7})


@pytest.mark.parametrize(("sure", "too_few"), [(39, True), (40, False)])
def test_a_handful_that_would_pass_is_reviewed_by_the_size_of_the_target_not_of_its_sample(sure, too_few):
    """Of a target of 1,000 documents fewer than 40 are a handful; of a sample of 50 only fewer than four."""
    counts = np.zeros((2, STEPS + 1), dtype=np.int64)
    counts[0, [9_900, 1_000]] = sure, 1_000 - sure
    asked = SimpleNamespace(request=LabelRequest(error_budget=0.1), n_target=1_000, target_sample=["a text"] * 50)
    trust = Trust(AccuracyEstimate(0.9, 0.8, 0.95))
    census = counts, counts, np.array([1_000]), None
    limits, found = label.LabelRun._review_limits(asked, trust, census, alone=False)
    assert (limits[0], found) == (9_900, too_few)


def test_the_census_counts_what_may_pass_beyond_new_groups_and_unknown_texts():
    """Five sure documents: one in each of two new groups, one without a known term, one without a text."""
    store = MemoryStore()
    store.save("facts/1", {"empty": np.array([4])})
    scores, unknown = np.tile([0.0, 9.0], (5, 1)), np.array([False, False, False, True, False])
    model = SimpleNamespace(chunk_scores=lambda chunk, job: (scores, unknown))
    groups = SimpleNamespace(best=lambda chunk, job: np.array([-1, 0, 1, -1, -1]))
    given = SimpleNamespace(number=1), SimpleNamespace(store=store), model, Trust(AccuracyEstimate(0.9, 0.8, 0.95))
    counts, passable, per_class, _ = label.take_census(*given, groups, None, 2)
    assert (counts.sum(), passable.sum()) == (5, 2)
    assert per_class.tolist() == [0, 4]


def test_words_and_pairs_beyond_the_limit_are_counted_together(monkeypatch):
    """Room for one of five pairs, after seven words were left out already."""

    def count(function, *given, **more):
        return 5 if function is views._pair_total else (np.arange(5), np.array([3, 9, 4, 5, 6]))

    monkeypatch.setattr(views, "MAX_TERMS", 3)
    view = views.View(Reading("words", ("en",), pairs=True), ["a", "b"], np.array([9, 8]), 20, left_out=7)
    found = views._with_pairs(SimpleNamespace(sum=count), None, [], view, 3)
    assert found.pairs.tolist() == [1]
    assert found.frequency.tolist() == [9, 8, 9]
    assert found.left_out == 7 + 4


def kept(texts, reading=AS_WRITTEN):
    """A run's terms of some blocks of texts."""
    job = Job(MemoryStore(), {})
    blocks = [SimpleNamespace(number=number, rows=len(own), side="target") for number, own in enumerate(texts)]
    for block, own in zip(blocks, texts, strict=True):
        save_tokens(job.store, f"tokens/{reading.name}/{block.number}", read_tokens(own, reading))
    return job, blocks


BLOCKS = [
    ["lone rare only beta alpha", "once alpha gamma beta"],
    ["delta beta", "zeta alpha", "eta"],
    ["gamma epsilon zeta"],
]


@pytest.mark.parametrize("merged", [4_000_000, 1])
def test_terms_are_sorted_by_name(monkeypatch, merged):
    """However they fall into parts, which go by a hash; the order is that of a vectoriser in memory."""
    monkeypatch.setattr(views, "_MERGED", merged)
    job, blocks = kept(BLOCKS)
    view = views.build_view(LocalEngine(), job, blocks, AS_WRITTEN, 6)
    documents = Counter(word for own in BLOCKS for text in own for word in set(text.split()))
    expected = sorted(documents)
    assert view.names() == expected
    assert view.frequency.tolist() == [documents[word] for word in expected]
    assert view.left_out == 0


@pytest.mark.parametrize(("n", "least"), [(199, 1), (200, 2), (999, 2), (1_000, 3)])
def test_large_runs_leave_out_what_few_documents_hold(n, least):
    job, blocks = kept(BLOCKS)
    documents = Counter(word for own in BLOCKS for text in own for word in set(text.split()))
    view = views.build_view(LocalEngine(), job, blocks, AS_WRITTEN, n)
    expected = {word: count for word, count in documents.items() if count >= least}
    assert dict(zip(view.names(), view.frequency.tolist(), strict=True)) == expected, f"{n} documents"


def test_words_of_an_unlisted_language_that_are_everywhere_are_left_out():
    reading = Reading("words", ("sq",))
    job, blocks = kept([["aaa bbb", "aaa ccc", "aaa ddd", "bbb eee"], ["fff", "ggg"]], reading)
    view = views.build_view(LocalEngine(), job, blocks, reading, 6)
    assert "aaa" not in view.names(), "three of six documents are more than 30 percent"
    assert set(view.names()) >= {"ccc", "ddd", "eee"}


def test_where_no_word_is_common_enough_that_is_said():
    job, blocks = kept([["one two", "three four"]])
    with pytest.raises(DataError, match="No word occurs in 3 or more of 1,000 documents") as caught:
        views.build_view(LocalEngine(), job, blocks, AS_WRITTEN, 1_000)
    assert caught.value.code == "empty-vocabulary"


@pytest.mark.parametrize("times", [255, 256, 700])
def test_a_word_may_stand_in_a_document_any_number_of_times(times):
    """Counts are kept in a byte where they fit."""
    job, blocks = kept([["word " * times + "other", "word"]])
    view = views.build_view(LocalEngine(), job, blocks, AS_WRITTEN, 2)
    views.make_rows(blocks[0], job, view, None)
    rows = views.load_rows(blocks[0], job, view.name, view.n_columns)
    assert view.names() == ["other", "word"]
    assert rows.matrix().toarray().tolist() == [[1, times], [0, 1]]


@pytest.mark.parametrize(("room", "pairs", "left_out"), [(5, 2, 0), (4, 1, 1), (3, 0, 2)])
def test_pairs_take_the_room_that_words_leave(monkeypatch, room, pairs, left_out):
    monkeypatch.setattr(views, "MAX_TERMS", room)
    reading = Reading("words", ("en",), sentiment=True, pairs=True)
    job, blocks = kept([["alpha beta", "alpha beta gamma"]], reading)
    view = views.build_view(LocalEngine(), job, blocks, reading, 2)
    assert view.names() == sorted(["alpha", "beta", "gamma", "alpha beta", "beta gamma"][: 3 + pairs])
    assert view.count_texts(["beta gamma alpha"]).matrix().toarray().sum() == 3 + (pairs == 2)
    assert view.left_out == left_out
    assert view.frequency.tolist() == [2, 2, 1, 2, 1][: 3 + pairs]


def test_a_method_that_is_nearly_spelled_right_is_suggested():
    with pytest.raises(UsageError, match="Did you mean 'projection'") as caught:
        get_method("projektion", chunks=True)
    assert caught.value.code == "unknown-method"
    with pytest.raises(UsageError) as caught:
        get_method("qqq", chunks=True)
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize(("budget", "warned"), [(0.99, True), (1, False)])
def test_where_nothing_is_expected_labels_pass_only_if_any_may_be_wrong(budget, warned):
    counts = np.zeros((2, STEPS + 1), dtype=np.int64)
    counts[0, 9_000] = 50
    asked = SimpleNamespace(request=LabelRequest(error_budget=budget), n_target=50)
    trust = Trust(AccuracyEstimate(None, reason="too few documents"))
    label.LabelRun._review_limits(asked, trust, (counts, counts, np.array([50]), None), alone=False)
    expected = review_warnings(trust.expected, budget, all_reviewed=warned, alone=False)
    assert trust.warnings == expected, f"a budget of {budget}"
    assert expected != review_warnings(trust.expected, budget, all_reviewed=not warned, alone=False)


def test_words_of_the_sample_are_cut_as_the_run_cuts_them():
    words = SimpleNamespace(analyzer_="words", languages_=["zh"], feature_names_=np.array(["b", "a"]))
    judge = SimpleNamespace(words=SimpleNamespace(vectorizer=words))
    for segment in (False, True):
        view = trust_module.sample_view(Trust(AccuracyEstimate(0.8, 0.7, 0.9), judge=judge), segment=segment)
        assert view.reading.segment is segment
        assert view.names() == ["b", "a"], "numbered as in the sample"


def test_labels_of_the_sample_are_found_by_the_hash_of_their_texts(monkeypatch):
    """The sample's documents stand in another order than their hashes, and one text stands twice."""
    monkeypatch.setattr(trust_module, "plain_learners", list)
    texts, said = ["a", "b", "c", "d", "b"], {"a": "x", "b": "y", "c": "y", "d": "x"}
    order = [3, 1, 0, 4, 2]
    own = [said[texts[row]] for row in order]
    other = ["y" if name == "x" else "x" for name in own]
    judge = SimpleNamespace(target=order, plain_labels=[own, other])
    found = trust_module.plain_labels(
        Trust(AccuracyEstimate(0.8, 0.7, 0.9), judge=judge), None, texts, np.array(["x", "y"], dtype=object)
    )
    by_hash = dict(zip(found.keys.tolist(), found.codes.tolist(), strict=True))
    hashes = content_keys(list(said)).tolist()
    expected = {key: [code, 1 - code] for key, code in zip(hashes, [0, 1, 1, 0], strict=True)}
    assert by_hash == expected
    assert found.keys.tolist() == sorted(expected)


def test_a_learner_of_the_sample_knows_the_words_that_the_run_has_kept():
    words = SimpleNamespace(feature_names_=np.array(["new", "kind", "rare", "dear"]), idf_=np.arange(4.0))
    judge = SimpleNamespace(words=SimpleNamespace(vectorizer=words))
    view = views.View(AS_WRITTEN, ["dear", "old", "kind"], np.array([3, 2, 1]), 5)
    learner = SimpleNamespace(coef_=np.array([[1.0, 2.0, 3.0, 4.0]]), intercept_=np.array([0.5]))
    found = trust_module._sample_learner(
        Trust(AccuracyEstimate(0.8, 0.7, 0.9), judge=judge), view, learner, np.array([1, 0])
    )
    assert found.column.tolist() == [3, -1, 1], "the number that the sample gives to each column"
    assert found.bias.tolist() == [-0.5, 0.5]
    assert found.places.tolist() == [1, 0]


@pytest.mark.parametrize("estimate", [None, 0.8])
def test_a_vote_is_made_as_sure_as_is_expected_by_documents_outside_new_groups(monkeypatch, estimate):
    given = []
    monkeypatch.setattr(trust_module, "outside_groups", lambda judge, n: np.array([True, False, True]))
    monkeypatch.setattr(
        trust_module, "class_factors", lambda judge, p, labels, classes: given.append(("shares", p, labels.tolist()))
    )
    monkeypatch.setattr(trust_module, "find_power", lambda p, accuracy: given.append(("power", p)) or 1.0)
    monkeypatch.setattr(trust_module, "find_shift", lambda p, accuracy: given.append(("shift", p)) or None)
    monkeypatch.setattr(trust_module, "assess", lambda *given, **named: [])
    expected = AccuracyEstimate(estimate, 0.7, 0.9) if estimate else AccuracyEstimate(None, reason="too few")
    judge = SimpleNamespace(novelty=SimpleNamespace(groups=[]))
    candidates = SimpleNamespace(scorer=judge, estimate=lambda labels, probabilities: expected)
    scores = np.array([[0.0, 2.0], [0.0, 5.0], [1.0, 0.0]])
    sample = trust_module.Sample(["kind"], ["staff"], ["a", "b", "c"], np.array(["price", "staff"]))
    found = trust_module.weigh_vote(sample, scores, candidates, 500)
    assert found.power == 1.0
    if estimate is None:
        assert given == [], "nothing is expected, so nothing is changed"
        return
    rows = [[1 / (1 + np.exp(2)), 1 / (1 + np.exp(-2))], [1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]]
    assert [name for name, *_ in given] == ["power", "shares", "shift"]
    for name, probabilities, *_ in given:
        np.testing.assert_allclose(probabilities, rows, err_msg=f"{name}: the first and the last document")
    assert given[1][2] == ["staff", "price"]


def test_labels_of_a_vote_follow_the_shares_and_the_estimate_goes_by_documents_outside_new_groups(monkeypatch):
    """By hand: price counts three times as much, so the second document moves from staff to price."""
    given = {}
    monkeypatch.setattr(trust_module, "outside_groups", lambda judge, n: np.array([True, False, True]))
    monkeypatch.setattr(trust_module, "class_factors", lambda *given: np.array([3.0, 1.0]))
    monkeypatch.setattr(trust_module, "find_power", lambda *given: 1.0)
    monkeypatch.setattr(trust_module, "find_shift", lambda *given: None)
    monkeypatch.setattr(
        trust_module, "moved_to", lambda expected, sure, n: given.update(sure=sure, classes=n) or expected
    )
    monkeypatch.setattr(trust_module, "_assessed", lambda trust, sample, labels, p: (trust, labels.tolist(), p))
    candidates = SimpleNamespace(
        scorer=SimpleNamespace(novelty=None), estimate=lambda *given: AccuracyEstimate(0.8, 0.7, 0.9)
    )
    before = np.array([[0.2, 0.8], [0.4, 0.6], [0.5, 0.5]])
    sample = trust_module.Sample(["kind"], ["staff"], ["a", "b", "c"], np.array(["price", "staff"]))
    trust, labels, after = trust_module.weigh_vote(sample, np.log(before), candidates, 500)
    assert labels == ["staff", "price", "price"]
    np.testing.assert_allclose(after, [[3 / 7, 4 / 7], [2 / 3, 1 / 3], [3 / 4, 1 / 4]])
    assert given == {"sure": pytest.approx((4 / 7 + 3 / 4) / 2), "classes": 2}, "of the first and the last document"
    np.testing.assert_allclose(trust.offsets, np.log([3.0, 1.0]))
