"""The suite "doubt": how labels are put wrong, and what is counted."""

import numpy as np
import pytest
import scipy.sparse as sp

from isthmus_bench.engine.suite import TaskData
from isthmus_bench.suites.doubt import KINDS, TASKS, against_cleanlab, plant, run_ours

CODES = np.arange(120) % 3
COUNTS = sp.csr_matrix(np.eye(4)[CODES] * 3 + np.eye(4)[3])


@pytest.mark.parametrize("kind", KINDS)
def test_as_many_labels_are_wrong_as_were_asked_for(kind):
    given = plant(CODES, kind, 0.1, 0, COUNTS)
    wrong = np.flatnonzero(given != CODES)
    assert len(wrong) == 12
    assert not np.array_equal(given, plant(CODES, kind, 0.1, 1, COUNTS)), "another seed, other documents"
    if kind == "class":
        assert np.mean(CODES[wrong] % 2 == 0) > 2 / 3, "classes 0 and 2 carry more of it than their share"


def test_all_planted_labels_are_found_where_words_say_everything():
    data = TaskData([], [], [], [], extra={"counts": COUNTS, "codes": CODES, "kind": "random", "rate": 0.1})
    rows = {row["metric"]: row["value"] for row in run_ours(data, 0)}
    assert rows["found"] == 1.0
    assert 0 <= rows["low"] <= rows["noise"] <= rows["high"] <= 1


def test_means_stand_by_kind_corpus_and_over_all():
    rows = [{"task": task, "method": "isthmus", "metric": "found", "value": 0.5} for task in TASKS]
    table = against_cleanlab(rows)
    for part in ("picked on", "held out"):
        assert {"noise": part, "percent": "all", "isthmus": 0.5} in table
        assert {"noise": f"confusion, {part}", "percent": 30, "isthmus": 0.5} in table
