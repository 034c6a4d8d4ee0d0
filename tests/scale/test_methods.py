"""Single steps of runs in blocks."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus._math.confidence import AccuracyEstimate
from isthmus.request import LabelRequest
from isthmus.scale import label, settings, views
from isthmus.scale.reading import Reading
from isthmus.scale.store import MemoryStore
from isthmus.scale.trust import STEPS, Trust


@pytest.mark.parametrize(("scores", "weights"), [([0.2, 0.7], {"projection": 1.0}), ([], {"logistic": 1.0})])
def test_where_no_chosen_method_runs_in_blocks_the_best_that_does_is_taken(monkeypatch, scores, weights):
    table = [{"method": "sgt", "chosen": True, "weight": 1.0, "score": 0.9, "why": "best"}]
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
                for name, weight in (("sgt", 0.5), ("cocc", 0.4), ("nbc", 0.1))]  # fmt: skip
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


@pytest.mark.parametrize(("sure", "limit"), [(39, STEPS + 1), (40, 9_900)])
def test_a_handful_that_would_pass_is_reviewed_by_the_size_of_the_target_not_of_its_sample(sure, limit):
    """Of a target of 1,000 documents fewer than 40 are a handful; of a sample of 50 only fewer than four."""
    counts = np.zeros((2, STEPS + 1), dtype=np.int64)
    counts[0, [9_900, 1_000]] = sure, 1_000 - sure
    asked = SimpleNamespace(request=LabelRequest(error_budget=0.1), n_target=1_000, target_sample=["a text"] * 50)
    trust = Trust(AccuracyEstimate(0.9, 0.8, 0.95))
    census = counts, counts, np.array([1_000]), None
    assert label.LabelRun._review_limits(asked, trust, census, alone=False)[0] == limit


def test_the_census_counts_what_may_pass_beyond_new_groups_and_unknown_texts():
    """Five sure documents: one in each of two new groups, one without a known term, one without a text."""
    store = MemoryStore()
    store.save("facts/1", {"empty": np.array([4])})
    scores, unknown = np.tile([0.0, 9.0], (5, 1)), np.array([False, False, False, True, False])
    model = SimpleNamespace(piece_scores=lambda piece, job: (scores, unknown))
    groups = SimpleNamespace(best=lambda piece, job: np.array([-1, 0, 1, -1, -1]))
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
