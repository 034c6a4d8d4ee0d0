import numpy as np
import pytest

from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.guided import (
    MERGED,
    RELEVANT,
    SPLIT,
    SUITE,
    gold_measures,
    misleading_codes,
    paired_tests,
    relevance_settings,
)
from isthmus_bench.suites.guided_tasks import (
    PAPER_SIMILARITY,
    TASKS,
    Collections,
    prepare_data,
    score_rows,
    subject_and_body,
)


@pytest.fixture(scope="module")
def small():
    topics = {"staff": "staff kind polite helped", "bikes": "bike engine gears brakes"}
    cars = {"crew": "staff polite rude helped", "cars": "car engine gears seats"}
    sides = []
    for side in (topics, cars):
        rng = np.random.default_rng(len(sides))
        texts = [" ".join(rng.choice(words.split(), 4)) for words in side.values() for _ in range(15)]
        sides += [texts, [name for name in side for _ in range(15)]]
    return TaskData(*sides, extra={"task": "reuters"})


@pytest.mark.parametrize("name", SUITE.methods)
def test_every_method_gives_both_scores(small, name):
    if name.endswith("vectors"):
        pytest.importorskip("wordllama", reason="it groups by static vectors, the extra 'embed'")
    rows = list(SUITE.methods[name].run(small, 0))
    assert [row["metric"] for row in rows] == ["pair_f1", "ari"]
    f1, ari = (row["value"] for row in rows)
    assert 0 <= f1 <= 1
    assert -0.5 <= ari <= 1
    assert f1 >= ari  # chance is taken off the second one


def test_a_seed_is_the_same_start_for_every_method(small):
    ready = prepare_data(small)
    assert ready is prepare_data(small)
    np.testing.assert_array_equal(ready.start(3), ready.start(3))
    assert not np.array_equal(ready.start(3), ready.start(4))


def test_guided_beats_chance_on_an_easy_task(small):
    rows = {row["metric"]: row["value"] for row in SUITE.methods["guided"].run(small, 1)}
    assert rows["pair_f1"] > 0.8


def test_scores_of_a_perfect_grouping():
    assert [row["value"] for row in score_rows(["a", "a", "b"], np.array([1, 1, 0]))] == [1.0, 1.0]


def test_subject_and_body_only():
    message = "From: someone@example.org\nSubject: Re: gears\nOrganization: none\n\nThey jam."
    assert subject_and_body(message) == "Re: gears\nThey jam."


def test_gold_measures_by_hand(small):
    ready = prepare_data(small)
    prepared = ready.prepared()
    alone, match = gold_measures(ready, prepared, small.target_labels)
    truth = np.array(small.target_labels)
    rows = ready.target.toarray()
    centers = np.array([rows[truth == name].mean(axis=0) for name in sorted(set(truth))])
    unit = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    sims = rows @ unit.T
    own = np.searchsorted(sorted(set(truth)), truth)
    assert alone == pytest.approx(np.mean(sims[np.arange(30), own] - sims[np.arange(30), 1 - own]))
    across = prepared.aligner.similarity.between(centers, prepared.groups.centers)
    gaps = [np.mean(np.abs(np.diff(table, axis=1))) for table in (across, across.T)]
    assert match.both == pytest.approx(np.mean(gaps))


def test_the_paper_s_similarity_counts_contexts_of_the_rows_in_use(small):
    ready = prepare_data(small)
    some = ready.resolve(PAPER_SIMILARITY, np.arange(20))
    whole = ready.resolve(PAPER_SIMILARITY)
    assert some["contexts"].source.sum() < whole["contexts"].source.sum()
    assert ready.resolve({"projection": False}) == {"projection": False}
    assert {"guidance-paper", "relevance-paper", "adversary-paper", "pivots", "collections"} <= set(SUITE.studies)


def test_paired_tests_use_the_starts_that_both_have():
    def row(method, seed, value):
        return {"task": "dmoz", "method": method, "seed": seed, "metric": "pair_f1", "value": value}

    rows = [row("guided", s, v) for s, v in enumerate((0.5, 0.7, 0.9))]
    rows += [row("km", s, v) for s, v in enumerate((0.4, 0.5))]
    (test,) = paired_tests(rows)
    assert (test["method"], test["against"], test["runs"]) == ("guided", "km", 2)
    assert test["gain"] == pytest.approx(0.15)
    # t = mean / (sd / √n) = 0.15 / (0.0707 / √2) = 3 with one degree of freedom
    assert test["p_value"] == pytest.approx(2 * (0.5 - np.arctan(3.0) / np.pi))


def test_settings_of_the_relevance_study():
    counts = [(name, sum(g in RELEVANT for g in groups), len(groups)) for name, groups in relevance_settings()]
    assert counts[:5] == [("replace", 4 - i, 4) for i in range(5)]
    assert [c[1:] for c in counts if c[0] == "add"] == [(2, 2), (2, 4), (2, 5), (2, 6), (2, 8)]
    assert [c[1:] for c in counts if c[0] == "remove"] == [(4, 4), (3, 3), (2, 2), (1, 1)]


def test_the_misleading_source_merges_and_splits():
    labels = [*MERGED[0], *MERGED[1], SPLIT, SPLIT, SPLIT]
    ready = Collections.__new__(Collections)
    ready.groups, ready.codes = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    assert misleading_codes(ready).tolist() == [0, 0, 1, 1, 2, 3, 4]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "source", "target"),
    [("newsgroups", 5, 5), ("dmoz", 14, 14), ("reuters", 7, 7), ("rcv1", 6, 6), ("webkb", 4, 4)],
)
def test_tasks_have_the_groups_they_promise(data_dir, name, source, target):
    data = TASKS[name].load(data_dir)
    assert len(set(data.source_labels)) == source
    assert len(set(data.target_labels)) == target
    assert len(data.source_texts) == len(data.source_labels)
