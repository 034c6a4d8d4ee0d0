"""Suite "guided": cross-guided clustering against k-means, from shared starts, and the paper's side studies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from isthmus._math.rows import group_means
from isthmus._progress import progress
from isthmus.clustering.alignment import Prepared, guided_kmeans, prepare
from isthmus.clustering.guidance import choose_guidance, choose_n_clusters, count_counterparts, estimate_guidance_gain
from isthmus.clustering.kmeans import KMeansRun, initial_centers
from isthmus.evaluate import adjusted_rand, pair_scores
from isthmus.features.embeddings import embed_texts
from isthmus.papers import guided as paper
from isthmus.shift.groups import Matchability, clusterability, cross_clusterability, matchability
from isthmus_bench.baselines.groups import cocluster, kmeans_with_source, plain_kmeans
from isthmus_bench.engine.suite import Method, Study, Suite, TaskData
from isthmus_bench.significance import paired_t_test
from isthmus_bench.suites.guided_tasks import (
    BOOST_FILES,
    LEFT_OUT,
    NEWSGROUP_PAIRS,
    PAPER_SIMILARITY,
    TASKS,
    Collections,
    choose_boost,
    prepare_data,
    score_rows,
    subject_and_body,
)
from isthmus_bench.tasks import NEWSGROUPS_FILE, read_records

# -- Tables beside the main one of suite "guided": guidance, relevance of the source, an adversary, foresight


ITERATIONS = 25  # the paper's limit, for every k-means here
GUIDANCE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)

# Section VII, table II: the target's groups and their counterparts; the others take part one after another.
RELEVANT = {
    "alt.atheism": "talk.religion.misc",
    "comp.windows.x": "comp.graphics",
    "rec.motorcycles": "rec.autos",
    "rec.sport.baseball": "rec.sport.hockey",
}
# The misleading source: graphics and autos find one group, politics and religion find one, cryptography finds three.
MERGED = (("comp.windows.x", "rec.motorcycles"), ("talk.politics.mideast", "alt.atheism"))
SPLIT = "sci.electronics"
# Further groups near some of the target's, and two near none.
SECOND_SOURCE = (
    "comp.os.ms-windows.misc",
    "talk.politics.guns",
    "soc.religion.christian",
    "misc.forsale",
    "sci.space",
)
UNRELATED = ("sci.space", "sci.med", "misc.forsale", "talk.politics.mideast", "sci.crypt", "sci.electronics")


@dataclass(frozen=True)
class Setting:
    """Our implementation or the paper's, and how source and target are compared."""

    prepare: Callable[..., Prepared]
    run: Callable[..., KMeansRun]
    similarity: Mapping[str, Any]


OURS = Setting(prepare, guided_kmeans, {})
PAPER = Setting(paper.prepare, paper.cross_guided_clustering, PAPER_SIMILARITY)


def sweep_guidance(folder: Path, seeds: tuple[int, ...], setting: Setting = OURS) -> list[dict]:
    """Figure 4: mean F1 and ARI over the seeds, and clusterability with gold groups, for every guidance and task."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        prepared = ready.prepared(setting.prepare, **setting.similarity)
        alone, match = gold_measures(ready, prepared, data.target_labels)
        for guidance in GUIDANCE:
            scores = _scores(ready, prepared, data.target_labels, guidance, seeds, setting.run)
            cab = cross_clusterability(alone, match, guidance)
            rows.append({"task": name, "guidance": guidance, "cab": cab, **_means(scores)})
        progress("guidance", len(rows) // len(GUIDANCE), len(TASKS))
    return rows


def gold_measures(ready: Collections, prepared: Prepared, truth: Sequence[str]) -> tuple[float, Matchability]:
    """Clusterability of the target alone, and matchability with the source, both with the target's gold groups."""
    gold = np.unique(np.asarray(truth, dtype=str), return_inverse=True)[1]
    assert prepared.aligner is not None  # there is a source
    centers = group_means(ready.target, gold, int(gold.max()) + 1)
    return clusterability(ready.target, gold), matchability(
        prepared.aligner.similarities(prepared.aligner.spread(centers))
    )


def weigh_pivots(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Table III: clusterability with gold groups, with and without pivot weights and projection, in both settings."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        for label, setting in (("ours", OURS), ("paper", PAPER)):
            for weights, projection in ((False, False), (True, False), (True, True)):
                chosen = {**setting.similarity, "pivot_weights": weights, "projection": projection}
                prepared = ready.prepared(setting.prepare, **chosen)
                alone, match = gold_measures(ready, prepared, data.target_labels)
                row = {"task": name, "setting": label, "pivot_weights": weights, "projection": projection}
                rows.append({**row, "cab_alone": alone, "mab": match.both, "cab": cross_clusterability(alone, match)})
        progress("pivot weights", len(rows) // 6, len(TASKS))
    return rows


def paired_tests(rows: list[dict]) -> list[dict]:
    """Table I's tests from the recorded rows: guided, ours and the paper's, against both k-means over shared starts."""
    values = {(r["task"], r["method"], r["metric"], r["seed"]): r["value"] for r in rows}
    table = []
    for task, method, other in product(TASKS, ("guided", "guided-paper"), ("km", "km-asd")):
        for metric in ("pair_f1", "ari"):
            shared = sorted(
                key[3] for key in values if key[:3] == (task, method, metric) and (task, other, *key[2:]) in values
            )
            if len(shared) < 2:
                continue
            sides = [np.array([values[task, name, metric, seed] for seed in shared]) for name in (method, other)]
            found = paired_t_test(*sides, confidence=0.99)
            row = {"task": task, "method": method, "against": other, "metric": metric, "runs": len(shared)}
            table.append({**row, "gain": found.mean_difference, "p_value": found.p_value})
    return table


def vary_relevance(folder: Path, seeds: tuple[int, ...], setting: Setting = OURS) -> list[dict]:
    """Table II: relevant source groups replaced, irrelevant ones added, relevant ones removed.

    ``m/n`` says that m of n source groups are relevant. All settings share one vocabulary and the same starts, so the
    row ``km`` holds for all of them.
    """
    pool = (*RELEVANT, *UNRELATED)
    ready, truth = _newsgroups(folder, pool, tuple(RELEVANT.values()))
    rows = [{"setting": "km", "source": "-", **_means(_scores(ready, ready.prepared(), truth, 0.0, seeds))}]
    for name, groups in relevance_settings():
        relevant = sum(group in RELEVANT for group in groups)
        prepared = _subset(ready, groups, setting)
        scores = _scores(ready, prepared, truth, 0.5, seeds, setting.run)
        alone, match = gold_measures(ready, prepared, truth)
        cab = cross_clusterability(alone, match)
        rows.append({"setting": name, "source": f"{relevant}/{len(groups)}", "cab": cab, **_means(scores)})
        progress("relevance", len(rows), 15)
    return rows


def relevance_settings() -> list[tuple[str, tuple[str, ...]]]:
    """Names and source groups of the settings, in the order of the table."""
    relevant = tuple(RELEVANT)
    replaced = [("replace", (*relevant[: 4 - i], *UNRELATED[:i])) for i in range(5)]
    added = [("add", (*relevant[:2], *UNRELATED[:i])) for i in (0, 2, 3, 4, 6)]
    removed = [("remove", relevant[: 4 - i]) for i in range(4)]
    return [*replaced, *added, *removed]


def mislead(folder: Path, seeds: tuple[int, ...], setting: Setting = OURS) -> list[dict]:
    """Figure 5, a misleading source: two pairs of topics merged, the fifth topic split in three (MERGED, SPLIT)."""
    ready, truth = _newsgroups(folder, tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values()))
    codes = misleading_codes(ready)
    similarity = ready.resolve(setting.similarity)
    ones = np.ones(len(codes), dtype=np.int64)
    prepared = setting.prepare(ready.source, codes, ones, ready.target, **similarity)
    rows = []
    for guidance in GUIDANCE:
        scores = _scores(ready, prepared, truth, guidance, seeds, setting.run)
        rows.append({"guidance": guidance, **_means(scores)})
    return rows


def combine_collections(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Two source collections for one target: each alone, both side by side, and both thrown together as one."""
    pool = (*NEWSGROUP_PAIRS, *SECOND_SOURCE)
    ready, truth = _newsgroups(folder, pool, tuple(NEWSGROUP_PAIRS.values()))
    second = np.isin(ready.groups[ready.codes], SECOND_SOURCE)
    everything = np.arange(len(second))
    cases = {
        "first": (np.flatnonzero(~second), np.zeros(len(second), dtype=int)),
        "second": (np.flatnonzero(second), np.zeros(len(second), dtype=int)),
        "both, side by side": (everything, second.astype(int)),
        "both, as one": (everything, np.zeros(len(second), dtype=int)),
    }
    rows = [{"source": "none", "groups": 0, **_means(_scores(ready, ready.prepared(), truth, 0.0, seeds))}]
    for name, (chosen, collection) in cases.items():
        codes = np.unique(ready.codes[chosen], return_inverse=True)[1]
        prepared = prepare(ready.source[chosen], codes, 1 + collection[chosen], ready.target)
        scores = _scores(ready, prepared, truth, 0.5, seeds)
        rows.append({"source": name, "groups": int(codes.max()) + 1, **_means(scores)})
    return rows


def misleading_codes(ready: Collections) -> np.ndarray:
    """Source groups that match many to one and one to many: figure 3 (b) and (c) of the paper."""
    codes = np.empty(len(ready.codes), dtype=np.int64)
    for code, topics in enumerate(MERGED):
        codes[np.isin(ready.groups[ready.codes], topics)] = code
    members = np.flatnonzero(ready.groups[ready.codes] == SPLIT)
    codes[members] = len(MERGED) + np.arange(len(members)) % 3
    return codes


@dataclass(frozen=True)
class Case:
    """A target, and source documents in groups that may help it or not."""

    name: str
    ready: Collections
    rows: np.ndarray  # source documents that take part
    codes: np.ndarray
    truth: Sequence[str]

    def source(self) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """Rows, groups and collections of the source."""
        return self.ready.source[self.rows], self.codes, np.ones(len(self.codes), dtype=np.int64)

    def f1(self, guidance: float, seeds: Sequence[int]) -> np.ndarray:
        """F1 and ARI, one row per seed."""
        return _scores(self.ready, prepare(*self.source(), self.ready.target), self.truth, guidance, seeds)


def cases(folder: Path) -> Iterator[Case]:
    """Every corpus, the misleading source, and the sources of Table II that have two groups or more."""
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        yield Case(name, ready, np.arange(len(ready.codes)), ready.codes, data.target_labels)
    ready, truth = _newsgroups(folder, tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values()))
    yield Case("misleading source", ready, np.arange(len(ready.codes)), misleading_codes(ready), truth)
    ready, truth = _newsgroups(folder, (*RELEVANT, *UNRELATED), tuple(RELEVANT.values()))
    for setting, groups in relevance_settings():
        if len(groups) > 1:
            rows = np.flatnonzero(np.isin(ready.groups[ready.codes], groups))
            codes = np.unique(ready.codes[rows], return_inverse=True)[1]
            relevant = sum(group in RELEVANT for group in groups)
            yield Case(f"{setting} {relevant}/{len(groups)}", ready, rows, codes, truth)


def weigh_choice(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The weight that ``guidance="auto"`` takes, and F1 with it, with 0.5 and without guidance."""
    rows = []
    for case in cases(folder):
        target = case.ready.target[np.diff(case.ready.target.indptr) > 0]
        chosen, table = choose_guidance(*case.source(), target, n_clusters=case.ready.n_clusters)
        found = {weight: float(case.f1(weight, seeds)[:, 0].mean()) for weight in {0.0, 0.5, chosen}}
        best = max(table, key=lambda row: row["likeness"])
        row = {"case": case.name, "chosen": chosen, "best": best["guidance"], "ahead": best["ahead"]}
        row |= {"error": best["error"], "f1_chosen": found[chosen], "f1_usual": found[0.5], "f1_alone": found[0.0]}
        rows.append(row)
        progress("cases", len(rows))
    return rows


def weigh_foresight(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Clusterability with gold labels, foresight without them, and what guidance really gained."""
    return [
        _foresight_row(case.name, case.ready, prepare(*case.source(), case.ready.target), case.truth, seeds)
        for case in cases(folder)
    ]


def count_clusters(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The number of clusters that ``n_clusters="auto"`` chooses, per seed, beside the true one."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        for seed in seeds:
            grain, _ = choose_n_clusters(ready.target, ready.source, len(ready.groups), random_state=seed)
            found = count_counterparts(ready.prepared(), random_state=seed)
            rows.append(
                {
                    "task": name,
                    "seed": seed,
                    "groups": len(ready.groups),
                    "true": ready.n_clusters,
                    "by_grain": grain,
                    "counterparts": found,
                    "chosen": max(grain, found),
                }
            )
    return rows


def _foresight_row(name: str, ready: Collections, prepared: Prepared, truth, seeds) -> dict:
    plain = _scores(ready, prepared, truth, 0.0, seeds)
    guided = _scores(ready, prepared, truth, 0.5, seeds)
    alone, match = gold_measures(ready, prepared, truth)
    seen = estimate_guidance_gain(prepared, n_clusters=ready.n_clusters, random_state=0)
    return {
        "case": name,
        "gain_f1": float(guided[:, 0].mean() - plain[:, 0].mean()),
        "gain_ari": float(guided[:, 1].mean() - plain[:, 1].mean()),
        "cab_gold": alone,
        "mab_gold": match.both,
        "cab_with_source_gold": cross_clusterability(alone, match),
        **seen.as_row(),
    }


def _newsgroups(folder: Path, source: Sequence[str], target: Sequence[str]) -> tuple[Collections, list[str]]:
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    sides = [[r for r in records if r["label"] in groups] for groups in (source, target)]
    texts = [[subject_and_body(r["text"]) for r in side] for side in sides]
    labels = [[r["label"] for r in side] for side in sides]
    return Collections(texts[0], labels[0], texts[1], len(target)), labels[1]


def _subset(ready: Collections, groups: Sequence[str], setting: Setting) -> Prepared:
    rows = np.flatnonzero(np.isin(ready.groups[ready.codes], groups))
    codes = np.unique(ready.codes[rows], return_inverse=True)[1]
    similarity = ready.resolve(setting.similarity, rows)
    ones = np.ones(len(rows), dtype=np.int64)
    return setting.prepare(ready.source[rows], codes, ones, ready.target, **similarity)


def _scores(
    ready: Collections, prepared: Prepared, truth, guidance: float, seeds: Sequence[int], run=guided_kmeans
) -> np.ndarray:
    """F1 and ARI, one row per seed."""
    found = [run(prepared, ready.start(seed), guidance=guidance, max_iter=ITERATIONS) for seed in seeds]
    return np.array([_score(truth, one.labels) for one in found])


def _score(truth, labels: np.ndarray) -> tuple[float, float]:
    return pair_scores(truth, labels).f1, adjusted_rand(truth, labels)


def _means(scores: np.ndarray) -> dict:
    return {
        "pair_f1": float(scores[:, 0].mean()),
        "ari": float(scores[:, 1].mean()),
        "f1_sd": float(scores[:, 0].std(ddof=1)) if len(scores) > 1 else 0.0,
        "runs": len(scores),
    }


_NEWS = (NEWSGROUPS_FILE,)
_ALL = tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files))
_SWEEP = {"kind": "line", "x": "guidance", "y": "pair_f1"}
_BARS = {"kind": "bar", "x": "source", "y": "pair_f1", "facet": "setting"}
_PAPERS = "; the paper's setting"


def _in_the_papers_setting(run: Callable[..., list[dict]]) -> Callable[[Path, tuple[int, ...]], list[dict]]:
    return lambda folder, seeds: run(folder, seeds, PAPER)


_TABLES: tuple[tuple[str, str, Callable, tuple[str, ...], dict | None], ...] = (
    (
        "guidance",
        "F1, ARI and clusterability over the weight of the source, all corpora (Figure 4)",
        sweep_guidance,
        _ALL,
        {**_SWEEP, "color": "task", "title": "F1 over guidance"},
    ),
    (
        "relevance",
        "Relevant source groups replaced, irrelevant ones added, relevant ones removed (Table II)",
        vary_relevance,
        _NEWS,
        {**_BARS, "title": "Relevance of the source"},
    ),
    (
        "adversary",
        "A source made to mislead: topics merged and split (Figure 5)",
        mislead,
        _NEWS,
        {**_SWEEP, "title": "A misleading source"},
    ),
    ("pivots", "Clusterability with and without pivot weights and projection (Table III)", weigh_pivots, _ALL, None),
    ("collections", "Two source collections for one target", combine_collections, _NEWS, None),
    (
        "number",
        "Clusters chosen without labels, and the true number",
        count_clusters,
        _ALL,
        {"kind": "scatter", "x": "true", "y": "chosen", "color": "task", "title": "Number of clusters"},
    ),
    (
        "foresight",
        "Clusterability and the estimate without gold labels against the actual gain",
        weigh_foresight,
        _ALL,
        {"kind": "scatter", "x": "expected", "y": "gain_f1", "title": "Foreseen and actual gain"},
    ),
    (
        "chosen",
        "The weight of the source that is chosen without labels, and F1 with it, with 0.5 and without",
        weigh_choice,
        _ALL,
        None,
    ),
)
STUDIES: dict[str, Study] = {row[0]: Study(*row) for row in _TABLES}
STUDIES |= {
    f"{name}-paper": Study(
        f"{name}-paper", study.summary + _PAPERS, _in_the_papers_setting(study.run), study.files, study.chart
    )
    for name, study in STUDIES.items()
    if name in ("guidance", "relevance", "adversary")
}
STUDIES["defaults"] = Study(
    "defaults",
    "Final value of equation (2) by boost, relative to no boost; no label of a target is used",
    choose_boost,
    files=BOOST_FILES,
    tune=True,
)


SEEDS = tuple(range(30))


def _km(data: Collections, seed: int) -> np.ndarray:
    return plain_kmeans(data.target, data.start(seed), max_iter=ITERATIONS)


def _km_euclidean(data: Collections, seed: int) -> np.ndarray:
    return plain_kmeans(data.target, data.start(seed), max_iter=ITERATIONS, cosine=False)


def _km_asd(data: Collections, seed: int) -> np.ndarray:
    return kmeans_with_source(data.source, data.target, data.start(seed), max_iter=ITERATIONS)


def _coclustering(data: Collections, seed: int) -> np.ndarray:
    return cocluster(data.target, data.n_clusters, random_state=seed)


def _guided(setting: Setting = OURS, settings: Mapping[str, Any] | None = None, **similarity: Any):
    def run(data: Collections, seed: int) -> np.ndarray:
        prepared = data.prepared(setting.prepare, **setting.similarity, **similarity)
        return setting.run(prepared, data.start(seed), guidance=0.5, max_iter=ITERATIONS, **(settings or {})).labels

    return run


_RUNS: dict[str, Callable[[Collections, int], np.ndarray]] = {
    "km": _km,
    "km-asd": _km_asd,
    "guided": _guided(),
    "guided-paper": _guided(PAPER),
    "guided-paper-plain": _guided(PAPER, pivot_weights=False, projection=False),
    "guided-plain": _guided(pivot_weights=False, projection=False),
    "guided-weights": _guided(projection=False),
    "guided-projection": _guided(pivot_weights=False),
    "guided-window": _guided(contexts="window"),
    "km-euclidean": _km_euclidean,
    "coclustering": _coclustering,
}


_UNSEEDED = {"coclustering"}  # a spectral start: the seed changes little


def _left_out(data: TaskData, seed: int) -> list[dict]:
    """Guided with the boost that the other corpora choose (``isthmus bench tune guided``)."""
    boost = LEFT_OUT[data.extra["task"]]
    return score_rows(data.target_labels, _guided(settings={"boost": boost})(prepare_data(data), seed))


def _by_meaning(beside_words: float | None) -> Callable[[TaskData, int], list[dict]]:
    """Guided on static vectors of the documents, each side less its mean: alone, or with this weight beside the words.

    Vectors have no pivots: every direction means the same on both sides.
    """

    def run(data: TaskData, seed: int) -> list[dict]:
        ready = prepare_data(data)
        kept = data.extra.setdefault("by meaning", {})
        if beside_words not in kept:
            vectors = embed_texts(ready.texts)
            sides: list[sp.csr_matrix] = []
            for words, part in ((ready.source, vectors[: ready.n_source]), (ready.target, vectors[ready.n_source :])):
                meaning = sp.csr_matrix(normalize(part - part.mean(axis=0)))
                sides.append(
                    meaning if beside_words is None else sp.hstack([words, beside_words * meaning], format="csr")
                )
            ones = np.ones(len(ready.codes), dtype=np.int64)
            kept[beside_words] = prepare(sides[0], ready.codes, ones, sides[1], pivot_weights=False, projection=False)
        prepared = kept[beside_words]
        start = initial_centers(prepared.target, ready.n_clusters, "random", seed)
        found = guided_kmeans(prepared, start, guidance=0.5, max_iter=ITERATIONS)
        return score_rows(data.target_labels, found.labels)

    return run


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
        "guided-vectors": Method("guided-vectors", _by_meaning(None)),
        "guided-words-and-vectors": Method("guided-words-and-vectors", _by_meaning(0.5)),
    },
    seeds=SEEDS,
    default_methods=("km", "km-asd", "guided", "guided-paper", "km-euclidean", "coclustering"),
    derived={"paired": paired_tests},
    studies=STUDIES,
)
