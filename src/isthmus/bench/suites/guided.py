"""Suite "guided": cross-guided clustering against k-means, from shared starts, and the paper's side studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from isthmus.bench.engine.suite import Method, Suite, TaskData
from isthmus.bench.suites.guided_prepare import PAPER_SIMILARITY, Collections, prepare_data, score_rows
from isthmus.bench.suites.guided_studies import STUDIES, paired_tests
from isthmus.bench.suites.guided_tasks import TASKS
from isthmus.bench.suites.guided_tune import LEFT_OUT
from isthmus.clustering.baselines import cocluster, kmeans_with_source, plain_kmeans
from isthmus.clustering.run import guided_kmeans

ITERATIONS = 25  # the paper's limit, for every k-means here
SEEDS = tuple(range(30))


def _km(data: Collections, seed: int) -> np.ndarray:
    return plain_kmeans(data.target, data.start(seed), max_iter=ITERATIONS)


def _km_euclidean(data: Collections, seed: int) -> np.ndarray:
    return plain_kmeans(data.target, data.start(seed), max_iter=ITERATIONS, cosine=False)


def _km_asd(data: Collections, seed: int) -> np.ndarray:
    return kmeans_with_source(data.source, data.target, data.start(seed), max_iter=ITERATIONS)


def _coclustering(data: Collections, seed: int) -> np.ndarray:
    return cocluster(data.target, data.n_clusters, random_state=seed)


def _guided(**settings) -> Callable[[Collections, int], np.ndarray]:
    def run(data: Collections, seed: int) -> np.ndarray:
        similarity = {name: settings[name] for name in _SIMILARITY if name in settings}
        rest = {name: value for name, value in settings.items() if name not in _SIMILARITY}
        return guided_kmeans(data.prepared(**similarity), data.start(seed), max_iter=ITERATIONS, **rest).labels

    return run


_SIMILARITY = ("pivot_weights", "projection", "contexts", "min_contrast", "own_words")
_DEFAULTS = {"guidance": 0.5, "boost": 4.0, "boost_iter": 5}

_RUNS: dict[str, Callable[[Collections, int], np.ndarray]] = {
    "km": _km,
    "km-asd": _km_asd,
    "guided": _guided(**_DEFAULTS),
    "guided-paper": _guided(guidance=0.5, boost=1.0, **PAPER_SIMILARITY),
    "guided-paper-plain": _guided(guidance=0.5, boost=1.0, **PAPER_SIMILARITY, pivot_weights=False, projection=False),
    "guided-plain": _guided(**_DEFAULTS, pivot_weights=False, projection=False),
    "guided-weights": _guided(**_DEFAULTS, projection=False),
    "guided-projection": _guided(**_DEFAULTS, pivot_weights=False),
    "guided-window": _guided(**_DEFAULTS, contexts="window"),
    "km-euclidean": _km_euclidean,
    "coclustering": _coclustering,
}


_UNSEEDED = {"coclustering"}  # a spectral start: the seed changes little


def _left_out(data: TaskData, seed: int) -> list[dict]:
    """Guided with the boost that the other corpora choose (``isthmus bench tune guided``)."""
    boost = LEFT_OUT[data.extra["task"]]
    return score_rows(data.target_labels, _guided(**{**_DEFAULTS, "boost": boost})(prepare_data(data), seed))


def _method(name: str, run: Callable[[Collections, int], np.ndarray]) -> Method:
    def rows(data: TaskData, seed: int) -> Iterable[dict]:
        ready = prepare_data(data)
        return score_rows(data.target_labels, run(ready, seed or 0))

    return Method(name=name, run=rows, seeded=name not in _UNSEEDED)


SUITE = Suite(
    name="guided",
    summary="Cross-guided clustering against k-means on the target and on source and target, 30 shared starts.",
    tasks=TASKS,
    methods={
        **{name: _method(name, run) for name, run in _RUNS.items()},
        "guided-left-out": Method("guided-left-out", _left_out),
    },
    seeds=SEEDS,
    default_methods=("km", "km-asd", "guided", "guided-paper", "km-euclidean", "coclustering"),
    derived={"paired": paired_tests},
    studies=STUDIES,
)
