"""Number of word clusters and λ without target labels: reverse validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from isthmus._math.cocc import CoClustering, match_clusters, naive_bayes_scores
from isthmus.base import progress

if TYPE_CHECKING:
    from isthmus.classify.cocc import Problem

WORD_CLUSTERS = (16, 64, 256)
TRADE_OFFS = (0.0625, 0.25, 1.0, 4.0)
_ITERATIONS = 20  # enough to tell settings apart; the search itself goes on to the end


def choose_setting(
    problem: Problem,
    search: Callable[..., CoClustering],
    first_words: Callable[[int, np.random.Generator], np.ndarray],
    n_word_clusters,
    trade_off,
    default_k: int,
    rng: np.random.Generator,
) -> tuple[int, float, list[dict] | None]:
    """Values for what was left to "auto", and the table they were chosen from.

    Each setting labels the target; naive Bayes learns those labels from the target's words and labels the source, whose
    true labels are known. A setting that puts the target in wrong classes teaches the way back wrongly too. Settings
    within one standard error of the best error are equal for this purpose; among them the one nearest to the defaults
    is taken, so that noise does not choose.
    """
    if n_word_clusters != "auto" and trade_off != "auto":
        return int(n_word_clusters), float(trade_off), None
    limit = min(max(2, problem.n_words // 2), problem.n_words)
    ks = sorted({min(k, limit) for k in WORD_CLUSTERS}) if n_word_clusters == "auto" else [int(n_word_clusters)]
    trade_offs = TRADE_OFFS if trade_off == "auto" else (float(trade_off),)
    seed = int(rng.integers(2**31))  # the same start for all settings: they differ by their values only
    table = []
    for k in ks:
        for value in trade_offs:
            result = search(k, value, first_words(k, np.random.default_rng(seed)), max_iter=_ITERATIONS)
            error = reverse_error(problem, result)
            table.append(
                {"n_word_clusters": k, "trade_off": value, "reverse_error": error, "objective": result.objective}
            )
            progress("choosing", len(table), len(ks) * len(trade_offs))
    best = min(row["reverse_error"] for row in table)
    slack = np.sqrt(best * (1 - best) / max(1.0, problem.priors.sum()))
    close = [row for row in table if row["reverse_error"] <= best + slack]
    chosen = min(close, key=lambda row: (_distance(row, default_k), row["reverse_error"]))
    for row in table:
        row["chosen"] = row is chosen
    return chosen["n_word_clusters"], chosen["trade_off"], table


def reverse_error(problem: Problem, result: CoClustering) -> float:
    """Error on the source of naive Bayes trained on the target with the labels of ``result``."""
    mapping, _ = match_clusters(result.target_table, result.source_table)
    by_class = np.argsort(mapping)
    counts = result.word_table[:, by_class] * problem.target.total
    scores, _ = naive_bayes_scores(counts, np.ones(len(mapping)))
    wrong = sum(int(np.sum((block @ scores).argmax(axis=1) != codes)) for block, codes in problem.read_source())
    return wrong / problem.priors.sum()


def _distance(row: dict, default_k: int) -> float:
    return abs(np.log2(row["n_word_clusters"] / default_k)) + abs(np.log2(row["trade_off"] / 0.25)) / 2
