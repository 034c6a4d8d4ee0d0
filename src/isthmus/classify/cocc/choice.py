"""Number of word clusters and λ without target labels: the most compact classes win."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from isthmus._math.cocc import CoClustering
from isthmus._progress import progress
from isthmus.classify.cocc.problem import Problem
from isthmus.classify.cocc.refine import block_idf, compactness

WORD_CLUSTERS = (16, 64, 256)
TRADE_OFFS = (0.0625, 0.25, 1.0, 4.0)
_ITERATIONS = 20  # enough to tell settings apart; the search itself goes on to the end


def choose_setting(
    problem: Problem,
    search: Callable[..., CoClustering],
    first_words: Callable[[int, np.random.Generator], np.ndarray],
    n_word_clusters,
    trade_off,
    rng: np.random.Generator,
) -> tuple[int, float, list[dict] | None]:
    """Values for what was left to "auto", and the table they were chosen from.

    Objectives of different k and λ cannot be compared. What can be is how well each setting's document clusters hold
    together in a space that knows neither: the mean cosine of the documents with their clusters' tf-idf centroids. No
    label of either domain enters.
    """
    if n_word_clusters != "auto" and trade_off != "auto":
        return int(n_word_clusters), float(trade_off), None
    limit = min(max(2, problem.n_words // 2), problem.n_words)
    ks = sorted({min(k, limit) for k in WORD_CLUSTERS}) if n_word_clusters == "auto" else [int(n_word_clusters)]
    trade_offs = TRADE_OFFS if trade_off == "auto" else (float(trade_off),)
    seed = int(rng.integers(2**31))  # the same start for all settings: they differ by their values only
    weights = block_idf(problem.read_all, problem.n_words)
    table: list[dict] = []
    for k in ks:
        words = first_words(k, np.random.default_rng(seed))
        for value in trade_offs:
            result = search(k, value, words, max_iter=_ITERATIONS)
            fit = compactness(problem.target, result.documents, problem.class_counts.shape[1], weights)
            table.append({"n_word_clusters": k, "trade_off": value, "compactness": fit, "objective": result.objective})
            progress("choosing", len(table), len(ks) * len(trade_offs))
    chosen = max(table, key=lambda row: row["compactness"])
    for row in table:
        row["chosen"] = row is chosen
    return chosen["n_word_clusters"], chosen["trade_off"], table
