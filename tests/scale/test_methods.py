"""Single steps of runs in blocks."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus._math.content import content_keys
from isthmus.choose.budgets import review_warnings
from isthmus.choose.model import LabelModel
from isthmus.exceptions import DataError, UsageError
from isthmus.features import TextVectorizer
from isthmus.methods import get_method
from isthmus.options import LabelOptions
from isthmus.scale import label, settings, views
from isthmus.scale import trust as trust_module
from isthmus.scale.chunks import Job, save_tokens
from isthmus.scale.engine import LocalEngine
from isthmus.scale.methods import Columns, FittedMethod
from isthmus.scale.reading import Reading, read_tokens
from isthmus.scale.store import MemoryStore
from isthmus.scale.trust import STEPS, Trust

AS_WRITTEN = Reading("words", ("en",), sentiment=True)


def nbc_of(scores, unknown=False):
    """A model of one member that gives every block these scores."""
    estimator = SimpleNamespace(block_scores=lambda block: (scores, np.broadcast_to(unknown, len(scores))))
    return LabelModel(
        {"nbc": FittedMethod(estimator, Columns("words", 3, np.array(["x", "y"], dtype=object)))}, {"nbc": 1}
    )


@pytest.mark.parametrize(("scores", "weights"), [([0.2, 0.7], {"projection": 1.0}), ([], {"logistic": 1.0})])
def test_where_no_chosen_method_runs_in_blocks_the_best_that_does_is_taken(monkeypatch, scores, weights):
    table = [{"method": "lsa", "chosen": True, "weight": 1.0, "score": 0.9, "why": "best"}]
    rows = [{"method": name, "chosen": False, "why": "less"} for name in ("cocc", "projection")]
    table += [row | {"score": score} for row, score in zip(rows, scores, strict=True)] if scores else rows
    monkeypatch.setattr(label, "try_methods", lambda texts, **options: (texts.given_source, texts.given_target))
    monkeypatch.setattr(label, "decide", lambda candidates: SimpleNamespace(table=table))
    request = LabelOptions(analyzer="words", language="en")
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
    request = LabelOptions(engine=engine, workers=3, scheduler=scheduler, memory_limit="1GB")
    where = {"client": client, "tls": {"tls_ca_file": "a.pem"}}
    assert settings.start_engine(request, "work", {"source": [], "target": []}, **where) == started


def test_a_vote_is_as_cautious_as_all_labelled_documents_allow_not_those_of_the_sample(monkeypatch):
    monkeypatch.setattr(label, "fit_stages", lambda *given: given[-1])
    asked = SimpleNamespace(
        source_sample=(["a"], ["x"]), target_sample=["b"], classes=["x", "y"], views={}, notes=[], candidates="tried",
        labels=Counter(x=4, y=3), request=LabelOptions(),
    )  # fmt: skip
    assert label.LabelRun._fit_stages(asked, nbc_of(np.zeros((1, 2)))) == 7


def test_a_label_passes_by_the_budget_of_the_whole_target():
    """A hundred doubts of 0.01 and 900 of 0.9 in 1,000 documents: only the first keep to a budget of 0.1%."""
    counts = np.zeros((2, STEPS + 1), dtype=np.int64)
    counts[0, [9_900, 1_000]] = 100, 900
    trust = Trust(AccuracyEstimate(0.9, 0.8, 0.95), 0.0, 1.0, None, [])
    census = counts, counts, np.array([1_000]), None
    for budget, limit in ((0.001, 9_900), (0.0009, STEPS + 1), (0.9, 9_900), (1.0, 1_000)):
        asked = SimpleNamespace(request=LabelOptions(error_budget=budget), n_target=1_000)
        assert label.LabelRun._review_limits(asked, trust, census, alone=False)[0] == limit


def test_the_census_counts_what_may_pass_beyond_new_groups_and_unknown_texts():
    """Five sure documents: one in each of two new groups, one without a known term, one without a text."""
    store = MemoryStore()
    store.save("facts/1", {"empty": np.array([4])})
    scores, unknown = np.tile([0.0, 9.0], (5, 1)), np.array([False, False, False, True, False])
    found = np.array([-1, 0, 1, -1, -1]), np.zeros(5, dtype=bool)
    classifiers = SimpleNamespace(examine=lambda chunk, job, labels: found)
    given = SimpleNamespace(number=1, side="target"), SimpleNamespace(store=store), nbc_of(scores, unknown)
    counts, passable, per_class, _ = label.take_census(*given, classifiers, 0.0)
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
    asked = SimpleNamespace(request=LabelOptions(error_budget=budget), n_target=50)
    trust = Trust(AccuracyEstimate(None, reason="too few documents"), 0.0, 1.0, None, [])
    label.LabelRun._review_limits(asked, trust, (counts, counts, np.array([50]), None), alone=False)
    expected = review_warnings(trust.expected, budget, all_reviewed=warned, alone=False)
    assert trust.warnings == expected, f"a budget of {budget}"
    assert expected != review_warnings(trust.expected, budget, all_reviewed=not warned, alone=False)


@pytest.mark.parametrize("segment", [False, True])
def test_words_of_the_sample_are_cut_as_the_run_cuts_them(segment):
    words = SimpleNamespace(
        analyzer_="words", languages_=["zh"], feature_names_=np.array(["b", "a"]), idf_=np.array([1.0, 2.0])
    )
    novelty = SimpleNamespace(groups=["one"])
    trust = Trust(
        AccuracyEstimate(0.8, 0.7, 0.9), 0.0, 1.0,
        SimpleNamespace(words=SimpleNamespace(vectorizer=words), novelty=novelty), [],
    )  # fmt: skip
    numbered = {}
    run = SimpleNamespace(
        views=numbered, target=[], target_sample=["a"],
        request=LabelOptions(analyzer="words") if segment else LabelOptions(),
        number=lambda chunks, view: numbered.update({view.name: view}),
    )  # fmt: skip
    found = label.LabelRun._classifiers(run, trust, compare=False)
    (view,) = numbered.values()
    assert view.reading.segment is segment
    assert view.names() == ["b", "a"], "numbered as in the sample"
    assert (found.view, found.plain) == (view.name, [])


def test_labels_are_compared_with_plain_methods_of_the_sample():
    """The sample is in another order than the hashes of its texts, and one text occurs twice."""
    texts = ["staff", "bike", "staff bike", "price", "bike"]
    names = {"staff": "x", "bike": "y", "staff bike": "y", "price": "x"}
    words = TextVectorizer(language="en", min_df=1, weighting="tfidf", sublinear=True).fit(["price", "staff", "bike"])
    order = [3, 1, 0, 4, 2]
    scorer = SimpleNamespace(
        words=SimpleNamespace(vectorizer=words, source_rows=words.transform(["staff", "bike"] * 3)),
        source_labels=np.array(["x", "y"] * 3), target=order,
        plain_labels=[np.array([names[texts[row]] for row in order])] * 4,
        novelty=SimpleNamespace(assign=lambda rows: np.diff(rows.indptr) - 1),
    )  # fmt: skip
    # The run lacks one word of the sample, and has one that the sample lacks.
    view = views.View(Reading("words", ("en",)), ["bike", "other", "staff"], np.array([3, 2, 1]), 5)
    job, (chunk,) = kept([texts], view.reading)
    views.make_rows(chunk, job, view, None)
    classifiers = trust_module.SampleClassifiers.of(scorer, view, texts, compare=True)
    labels = np.array([names[text] for text in texts], dtype=object)
    labels[[0, 3]] = "y"
    # A document of the sample is compared with the labels of all four methods, another one with those of two.
    for drawn, known in (([0, 3], [0, 1, 3, 4]), ([], [0, 1, 4])):
        facts = {"drawn": np.array(drawn, dtype=np.int64), "keys": content_keys([texts[row] for row in drawn])}
        job.store.save("facts/0", facts)
        groups, disputed = classifiers.examine(chunk, job, labels)
        assert groups.tolist() == [0, 0, 1, -1, 0]
        assert disputed[known].tolist() == [row in (0, 3) for row in known]
