"""Suite "trust": does what is promised about labels come true where something is wrong with the pair?

Every base pair is run plain and spoilt in four ways: a class of the target is missing from the source; class shares are
turned over; a quarter of the source's labels is wrong; the source has about forty documents. The constants of
:mod:`isthmus.choose.trust` were set on other pairs (:mod:`isthmus_bench.suites.trust_tune`), among them pairs of the
newsgroups, Reuters, Chinese texts and reviews that stand here too. Web pages, the German newspaper and the university
pages took no part: ``HELD_BACK`` names their pairs, and the table of promises has their means apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

import isthmus
from isthmus_bench.calibration import expected_calibration_error
from isthmus_bench.engine.suite import Method, Study, Suite, TaskData, pack_correct
from isthmus_bench.suites import (
    trust_answers,
    trust_forecast,
    trust_groups,
    trust_guarantee,
    trust_later,
    trust_order,
    trust_shares,
    trust_short,
    trust_tune,
    trust_words,
)
from isthmus_bench.suites.trust_tasks import ALL_FILES, BASES, HELD_BACK, KINDS, TASKS
from isthmus_bench.tasks import CHINESE_FILES

BUDGET = 0.1


# ---------------------------------------------------------------------------------------------------------- methods


def promised(method: str) -> Callable[[TaskData, int], list[dict]]:
    """A method's labels and what was promised about them."""

    def run(data: TaskData, seed: int) -> list[dict]:
        result = isthmus.label(
            data.source_texts, data.source_labels, data.target_texts, method=method, random_state=seed
        )
        truth = np.array(data.target_labels, dtype=object)
        right = result.labels.astype(object) == truth
        unknown = ~np.isin(truth.astype(str), np.unique(data.source_labels))
        marked, accepted = result.novel_group != "", ~result.needs_review
        facts: dict[str, float | None] = {
            "calibration_error": expected_calibration_error(truth, result.labels, result.confidence),
            "reviewed": float(np.mean(~accepted)),
            "accepted_wrong": float(np.mean(~right[accepted])) if accepted.any() else 0.0,
            "wrong_in_file": float(np.mean(accepted & ~right)),
            "budget_kept": float(np.mean(accepted & ~right) <= BUDGET),
            "announced": float(marked.any()),
            "known_marked": float(np.mean(marked[~unknown])),
        }
        if unknown.any():
            facts["novel_recall"] = float(np.mean(marked[unknown]))
        expected = result.expected_accuracy
        if expected is not None and expected.estimate is not None:
            facts["expected_accuracy"] = expected.estimate
            facts["expected_error"] = abs(expected.estimate - float(right.mean()))
            facts["covered"] = float(expected.low <= right.mean() <= expected.high)
            facts["width"] = expected.high - expected.low
        rows: list[dict] = [{"metric": "accuracy", "value": float(right.mean())}]
        rows[0]["correct"] = pack_correct(truth, result.labels)
        return rows + [{"metric": name, "value": value} for name, value in facts.items()]

    return run


def promises(rows: Iterable[dict]) -> list[dict]:
    """Means of what was promised and what came of it, per kind of task; then over the corpora held back alone."""
    table = []
    kept = list(rows)
    for method in dict.fromkeys(row["method"] for row in kept):
        for kind, bases in [(kind, bases) for bases in (tuple(BASES), HELD_BACK) for kind in KINDS]:
            names = {f"{base}-{kind}" for base in bases}
            chosen = [row for row in kept if row["method"] == method and row["task"] in names]
            if not chosen:
                continue
            values = {name: [row["value"] for row in chosen if row["metric"] == name] for name in MEASURED}
            means = {name: float(np.mean(found)) if found else None for name, found in values.items()}
            tasks = len({row["task"] for row in chosen})
            corpora = "all" if bases != HELD_BACK else "held back"
            table.append({"method": method, "kind": kind, "corpora": corpora, "tasks": tasks, **means})
    return table


MEASURED = (
    "accuracy",
    "expected_error",
    "covered",
    "width",
    "accepted_wrong",
    "wrong_in_file",
    "budget_kept",
    "reviewed",
    "calibration_error",
    "announced",
    "novel_recall",
    "known_marked",
)
SUITE = Suite(
    name="trust",
    summary="What is promised about labels, on plain pairs and on pairs with something wrong, and what came of it.",
    tasks=TASKS,
    methods={name: Method(name=name, run=promised(name)) for name in ("auto", "logistic", "nbc", "strings", "cocc")},
    default_methods=("auto", "logistic"),
    means={kind: tuple(f"{base}-{kind}" for base in BASES if f"{base}-{kind}" in TASKS) for kind in KINDS},
    hidden=tuple(name for name in (*MEASURED, "expected_accuracy") if name not in ("accuracy", "expected_error")),
    derived={"promises": promises},
    studies={
        "guarantee": Study(
            "guarantee",
            "How often a guarantee was broken in 2,000 checks of each pair, and documents read until half passes",
            trust_guarantee.simulate,
            files=trust_tune.FILES,
        ),
        "forecasts": Study(
            "forecasts",
            "What answers were forecast to bring, and what they brought",
            trust_forecast.compare_all,
            files=trust_tune.FILES,
        ),
        "answers": Study(
            "answers",
            "What a hundred answers leave to review, and whether the finished file keeps to its budget",
            trust_answers.measure_all,
            files=ALL_FILES,
        ),
        "later": Study(
            "later",
            "Expected accuracy of later files, and files unlike the first one that are reported",
            trust_later.measure_all,
            files=tuple(dict.fromkeys((*ALL_FILES, CHINESE_FILES["thucnews_full_small"]))),
        ),
        "words": Study(
            "words",
            "Whether budgets hold on pairs of review domains, without words and with a lexicon in the vote",
            trust_words.compare_all,
            files=trust_words.FILES,
        ),
        "shares": Study(
            "shares",
            "How often intervals of class shares hold: label-free, within parts, after 100 answers, after a check",
            trust_shares.measure_shares,
            files=trust_tune.FILES,
        ),
        "constants": Study(
            "constants",
            "Constants of the accuracy estimate, and its error on corpora left out of the fit",
            trust_tune.choose_constants,
            files=trust_tune.FILES,
            tune=True,
        ),
        "short": Study(
            "short",
            "Errors of the accuracy expected of one method, on long and on short texts, fitted without and with short",
            trust_short.compare_all,
            files=trust_tune.FILES,
            tune=True,
        ),
        "order": Study(
            "order",
            "How sure labels are by their margin, and what passes a budget by how cautiously it is kept",
            trust_order.choose_order,
            files=trust_tune.FILES,
            tune=True,
        ),
        "groups": Study(
            "groups",
            "New groups announced by each limit for mixed neighbours, where a class is missing and where none is",
            trust_groups.choose_limits,
            files=trust_tune.FILES,
            tune=True,
        ),
    },
)
