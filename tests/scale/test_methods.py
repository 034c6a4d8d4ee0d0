"""Single steps of runs in blocks, on a handful of texts."""

from dataclasses import replace
from functools import reduce
from types import SimpleNamespace

import numpy as np
import pytest

from isthmus.exceptions import UsageError
from isthmus.scale import cluster, run
from isthmus.scale.methods import cocc, strings
from isthmus.scale.methods.dense import ONE, as_steps
from isthmus.scale.methods.projection import least_bins
from isthmus.scale.methods.vectors import VectorModel
from isthmus.scale.views import RowBlock

SOURCE = ["kind staff", "rude staff here", "friendly staff", "fast bike", "slow bike today", "strong bike"]
TARGET = ["kind staff again", "polite clerk", "the staff", "fast car", "slow engine", "bike and car", "no words"]


def test_strings_learn_from_the_surer_half_of_the_target(monkeypatch):
    """Half of the rows divided by their number instead of multiplied: the surest document alone."""
    texts, found = {"source": SOURCE, "target": TARGET}, []
    codes = np.repeat([1, 0], 3).astype(np.int32)
    monkeypatch.setattr(strings, "kept_steps", lambda piece, job, name, make: make(texts[piece.side]))
    monkeypatch.setattr(strings, "load_codes", lambda store, piece, classes: codes)

    def add_up(function, pieces, *arguments, phase, add=np.add):
        parts = [function(piece, SimpleNamespace(store=None), *arguments) for piece in pieces]
        if function is strings.moments:
            found.append([part[3].sum() for part in parts])
        return reduce(add, parts)

    classes = np.array(["bike", "staff"], dtype=object)
    problem = SimpleNamespace(
        view=SimpleNamespace(reading=SimpleNamespace(languages=("en",))),
        sample=(SOURCE, classes[codes].tolist()),
        target_sample=TARGET,
        source=[SimpleNamespace(side="source")],
        target=[SimpleNamespace(side="target")],
        classes=classes,
        sum=add_up,
    )
    strings.fit(problem)
    assert found == [[6, 0], [6, 4]]  # four of seven are the fewest that are at least half


def test_the_surest_of_a_class_are_counted_from_above():
    """One row of each class, however large the share."""
    counts = np.array([[0, 2, 1, 1], [0, 0, 0, 0], [5, 0, 0, 1]])
    assert least_bins(counts, 0.5).tolist() == [2, -1, 0]  # of a class without rows none is sure enough


@pytest.mark.parametrize(("scores", "weights"), [([0.2, 0.7], {"projection": 1.0}), ([], {"logistic": 1.0})])
def test_where_no_chosen_method_runs_in_blocks_the_best_that_does_is_taken(monkeypatch, scores, weights):
    table = [{"method": "sgt", "chosen": True, "weight": 1.0, "score": 0.9, "why": "best"}]
    rows = [{"method": name, "chosen": False, "why": "less"} for name in ("cocc", "projection")]
    table += [row | {"score": score} for row, score in zip(rows, scores, strict=True)] if scores else rows
    monkeypatch.setattr(run, "choose", lambda *texts, **options: SimpleNamespace(table=table))
    settings = SimpleNamespace(analyzer="word", language="en", random_state=0)
    asked = SimpleNamespace(
        settings=settings, source_sample=(["a"], ["x"]), target_sample=["b"], n_source=5, n_target=7, decision=[]
    )
    assert run.Run._choose(asked) == weights
    assert [row["chosen"] for row in asked.decision] == [False, False, "projection" in weights]
    assert asked.decision[0]["why"].endswith("does not run in blocks")
    # The weights of those that do run add up to one.
    table[:] = [{"method": name, "chosen": True, "weight": weight, "score": 0.5, "why": "good"}
                for name, weight in (("sgt", 0.5), ("cocc", 0.4), ("nbc", 0.1))]  # fmt: skip
    assert run.Run._choose(asked) == pytest.approx({"cocc": 0.8, "nbc": 0.2})


@pytest.mark.parametrize(
    ("client", "scheduler", "engine", "started"),
    [
        ("client", "tcp://there", "dask", ("client", "work")),
        (None, "tcp://there", None, ("connect", "work", "tcp://there", {"tls_ca_file": "a.pem"})),
        (None, None, "dask", ("cluster", "work", 3, "1GB")),
    ],
)
def test_who_does_the_work(monkeypatch, client, scheduler, engine, started):
    """A scheduler named and not asked."""
    monkeypatch.setattr(run, "DaskEngine", lambda *given: given)
    monkeypatch.setattr(run, "connect", lambda *given: ("connect", *given))
    monkeypatch.setattr(run, "local_cluster", lambda *given: ("cluster", *given))
    assert run._start_engine(engine, "work", client, 3, scheduler, {"tls_ca_file": "a.pem"}, "1GB") == started


def test_without_a_cluster_one_worker_works():
    assert isinstance(run._start_engine(None, "work", None, 1, None, None, None), run.LocalEngine)
    with pytest.raises(UsageError, match="add --engine dask"):
        run._start_engine(None, "work", None, 2, None, None, None)


def test_vectors_are_centred_by_domain_and_have_length_one():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(4, 3)), np.zeros((1, 3))])
    rows[:4] /= np.linalg.norm(rows[:4], axis=1, keepdims=True)
    mean = as_steps(rows)[0] / ONE  # the first row is its domain's mean: nothing is left of it
    model = VectorModel(embed="static", means={"target": mean, "source": np.zeros(3)})
    told = model.centred(as_steps(rows), "target") / ONE
    expected = rows - mean
    expected[1:4] /= np.linalg.norm(expected[1:4], axis=1, keepdims=True)
    expected[[0, 4]] = 0.0  # neither has a text without a vector
    assert told == pytest.approx(expected, abs=2 / ONE)
    assert model.centred(as_steps(rows), "source") / ONE == pytest.approx(rows, abs=2 / ONE)


def test_rows_of_a_piece_are_added_up_by_the_nearest_centre(monkeypatch):
    # Two documents of the first word, one of the second, one without a word.
    block = RowBlock(np.array([0, 1, 2, 3, 3]), np.array([0, 0, 1], np.int32), np.array([1, 3, 2], np.int32), 2)
    monkeypatch.setattr(cluster, "load", lambda piece, job, rows: block)
    idf, directions = np.ones(2), np.eye(2)
    sums, counts = cluster.assign(None, None, None, idf, directions)
    assert counts.tolist() == [2, 1]
    assert (sums / cluster._ONE).tolist() == [[2.0, 0.0], [0.0, 1.0]]
    total, documents = cluster.group_sums(None, None, None, idf, 1)  # a target: all in one
    assert (total / cluster._ONE).tolist() == [[2.0], [1.0]]
    assert documents.tolist() == [4]
    monkeypatch.setattr(cluster, "load", lambda piece, job, rows: replace(block, codes=np.array([1, -1, 0, 1])))
    by_label, labelled = cluster.group_sums(None, None, None, idf, 2)
    assert (by_label / cluster._ONE).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert labelled.tolist() == [1, 2]


def test_co_clustering_stops_where_a_step_gains_little_of_all_that_was_gained(monkeypatch):
    """The tolerance as a share of the objective, of the last step, or of what came after the first one."""
    objectives = iter([10.0, 6.0, 5.0, 4.7, 4.6, 4.5])
    state = SimpleNamespace(
        place=lambda counts: None,
        tables=lambda words: None,
        word_step=lambda words: 1,
        objective=lambda: next(objectives),
        target_table=np.ones((2, 2)),
        source_table=np.ones((2, 2)),
    )
    monkeypatch.setattr(cocc, "Search", lambda *arguments: state)
    change = SimpleNamespace(added_to=lambda counts: counts + 1)
    work = SimpleNamespace(
        settings=SimpleNamespace(trade_off=1.0, smoothing=1.0),
        target=None,
        source=None,
        n_clusters=2,
        place=lambda *arguments: (change, None),
        forget=lambda step: None,
    )
    start = cocc._Placed("start", np.zeros((2, 2)))
    found = cocc._CoClusterer.search(work, np.array([0, 1]), start, 5, 0.1, "1", "co-clustering")
    # the third step gains 0.3: less than a tenth of 5.3, but not of what was gained since the first step, 1.3
    assert found.history == [10.0, 6.0, 5.0, 4.7]


@pytest.mark.parametrize(("left", "settles"), [(5, True), (4, False)])
def test_documents_do_not_settle_where_a_class_loses_more_than_half(left, settles):
    """Ten documents of the second class at first; five that stay are enough, four are not."""
    rounds = iter([np.array([2, 10]), np.array([12 - left, left])])
    change = SimpleNamespace(added_to=lambda sums: sums)  # no word moves: the first round is the last
    work = SimpleNamespace(n_classes=2, place=lambda *arguments: (change, next(rounds)), forget=lambda step: None)
    problem = SimpleNamespace(view=SimpleNamespace(idf=np.ones(3)))
    centroids = cocc._settle(problem, work, np.ones((3, 2)))
    assert (centroids is not None) is settles
