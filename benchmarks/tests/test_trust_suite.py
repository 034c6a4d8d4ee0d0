"""Suite trust: pairs are spoilt as they say, and promises are averaged by hand-checked arithmetic."""

from collections import Counter

import pytest

from isthmus_bench.suites.trust import SUITE, promises
from isthmus_bench.suites.trust_tasks import KINDS, TASKS, draw_shares, spoil

SOURCE = [(f"source {name} {i}", name) for name in ("a", "b", "c", "d") for i in range(200)]
TARGET = [(f"target {name} {i}", name) for name in ("a", "b", "c", "d") for i in range(200)]


def labels(rows):
    return Counter(label for _, label in rows)


@pytest.mark.parametrize("kind", KINDS)
def test_spoiling_is_repeatable(kind):
    assert spoil(SOURCE, TARGET, kind, 3) == spoil(SOURCE, TARGET, kind, 3)


def test_missing_takes_one_class_from_the_source_alone():
    source, target = spoil(SOURCE, TARGET, "missing", 3)
    assert len(set(labels(target)) - set(labels(source))) == 1
    assert labels(target)[(set(labels(target)) - set(labels(source))).pop()] >= 0.1 * len(target)


def test_turned_shares_are_opposite():
    source, target = (labels(side) for side in spoil(SOURCE, TARGET, "turned", 3))
    assert [name for name, _ in source.most_common()] == [name for name, _ in target.most_common()][::-1]


def test_noise_spoils_a_quarter_of_the_source_labels():
    source, target = spoil(SOURCE, TARGET, "noisy", 3)
    wrong = sum(text.split()[1] != label for text, label in source) / len(source)
    assert wrong == pytest.approx(0.25, abs=0.06)
    assert all(text.split()[1] == label for text, label in target)


def test_thin_sources_have_forty_documents():
    source, target = spoil(SOURCE, TARGET, "thin", 3)
    assert labels(source) == dict.fromkeys("abcd", 10)
    assert len(target) == 500


def test_shares_are_kept_where_a_class_is_small():
    import numpy as np

    rows = draw_shares(SOURCE, {"a": 0.8, "b": 0.2}, np.random.default_rng(0))
    assert labels(rows) == {"a": 200, "b": 50}


def test_promises_are_means_by_kind():
    rows = [
        {"task": "newsgroups-plain", "method": "auto", "metric": "expected_error", "value": 0.02},
        {"task": "dmoz-halves-plain", "method": "auto", "metric": "expected_error", "value": 0.06},
    ]
    table = {(row["kind"], row["corpora"]): row for row in promises(rows)}
    assert table["plain", "all"]["tasks"] == 2
    assert table["plain", "all"]["expected_error"] == pytest.approx(0.04)
    assert table["plain", "all"]["novel_recall"] is None
    assert table["plain", "held back"]["tasks"] == 1
    assert table["plain", "held back"]["expected_error"] == pytest.approx(0.06)
    assert len(table) == 2


def test_every_task_is_in_a_mean():
    assert {task for tasks in SUITE.means.values() for task in tasks} == set(TASKS)
