"""Tables beside the main one of suite "guided": guidance, relevance of the source, an adversary, foresight."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from isthmus.bench.engine.suite import Study
from isthmus.bench.suites import guided_tune
from isthmus.bench.suites.guided_prepare import Collections, prepare_data
from isthmus.bench.suites.guided_tasks import NEWSGROUP_PAIRS, TASKS, subject_and_body
from isthmus.bench.tasks import NEWSGROUPS_FILE, read_records
from isthmus.clustering.baselines import kmeans_with_source
from isthmus.clustering.choice import choose_n_clusters, count_counterparts
from isthmus.clustering.guidance import estimate_guidance_gain
from isthmus.clustering.run import Prepared, guided_kmeans, prepare
from isthmus.evaluate import adjusted_rand, pair_scores, paired_t_test
from isthmus.shift.clusterability import clusterability, cross_clusterability, matchability

ITERATIONS = 25
GUIDANCE = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)

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
UNRELATED = ("sci.space", "sci.med", "misc.forsale", "talk.politics.mideast", "sci.crypt", "sci.electronics")


def sweep_guidance(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Mean F1 and ARI over the seeds for every guidance and task."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        for guidance in GUIDANCE:
            scores = _scores(ready, ready.prepared(), data.target_labels, guidance, seeds)
            rows.append({"task": name, "guidance": guidance, **_means(scores)})
    return rows


def compare_pairs(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Paired t-tests over shared starts: guided against k-means on the target, and on source and target."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        truth = data.target_labels
        guided = _scores(ready, ready.prepared(), truth, 0.5, seeds)
        plain = _scores(ready, ready.prepared(), truth, 0.0, seeds)
        both = [kmeans_with_source(ready.source, ready.target, ready.start(s), max_iter=ITERATIONS) for s in seeds]
        others = {"km": plain, "km-asd": np.array([_score(truth, labels) for labels in both])}
        for other, scores in others.items():
            for column, metric in enumerate(("pair_f1", "ari")):
                found = paired_t_test(guided[:, column], scores[:, column], confidence=0.99)
                rows.append(
                    {
                        "task": name,
                        "against": other,
                        "metric": metric,
                        "gain": found.mean_difference,
                        "p_value": found.p_value,
                        "runs": len(seeds),
                    }
                )
    return rows


def vary_relevance(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Table II: relevant source groups replaced, irrelevant ones added, relevant ones removed.

    ``m/n`` says that m of n source groups are relevant. All settings share one vocabulary and the same starts, so the
    row ``km`` holds for all of them.
    """
    pool = (*RELEVANT, *UNRELATED)
    ready, truth = _newsgroups(folder, pool, tuple(RELEVANT.values()))
    rows = [{"setting": "km", "source": "-", **_means(_scores(ready, ready.prepared(), truth, 0.0, seeds))}]
    for setting, groups in relevance_settings():
        relevant = sum(group in RELEVANT for group in groups)
        scores = _scores(ready, _subset(ready, groups), truth, 0.5, seeds)
        rows.append({"setting": setting, "source": f"{relevant}/{len(groups)}", **_means(scores)})
    return rows


def relevance_settings() -> list[tuple[str, tuple[str, ...]]]:
    """Names and source groups of the settings, in the order of the table."""
    relevant = tuple(RELEVANT)
    replaced = [("replace", (*relevant[: 4 - i], *UNRELATED[:i])) for i in range(5)]
    added = [("add", (*relevant[:2], *UNRELATED[:i])) for i in (0, 2, 3, 4, 6)]
    removed = [("remove", relevant[: 4 - i]) for i in range(4)]
    return [*replaced, *added, *removed]


def mislead(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """A source made to mislead: two pairs of topics merged, the fifth topic split in three (see MERGED and SPLIT)."""
    ready, truth = _newsgroups(folder, tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values()))
    codes = misleading_codes(ready)
    prepared = prepare(ready.source, codes, np.ones(len(codes), dtype=np.int64), ready.target)
    rows = []
    for guidance in GUIDANCE:
        rows.append({"guidance": guidance, **_means(_scores(ready, prepared, truth, guidance, seeds))})
    return rows


def misleading_codes(ready: Collections) -> np.ndarray:
    """Source groups that match many to one and one to many: figure 3 (b) and (c) of the paper."""
    codes = np.empty(len(ready.codes), dtype=np.int64)
    for code, topics in enumerate(MERGED):
        codes[np.isin(ready.groups[ready.codes], topics)] = code
    members = np.flatnonzero(ready.groups[ready.codes] == SPLIT)
    codes[members] = len(MERGED) + np.arange(len(members)) % 3
    return codes


def weigh_foresight(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Clusterability with gold labels, foresight without them, and what guidance really gained."""
    rows = []
    for name, task in TASKS.items():
        data = task.load(Path(folder))
        ready = prepare_data(data)
        rows.append(_foresight_row(name, ready, ready.prepared(), data.target_labels, seeds))
    ready, truth = _newsgroups(folder, tuple(NEWSGROUP_PAIRS), tuple(NEWSGROUP_PAIRS.values()))
    codes = misleading_codes(ready)
    misleading = prepare(ready.source, codes, np.ones(len(codes), dtype=np.int64), ready.target)
    rows.append(_foresight_row("misleading source", ready, misleading, truth, seeds))
    pool = (*RELEVANT, *UNRELATED)
    ready, truth = _newsgroups(folder, pool, tuple(RELEVANT.values()))
    for setting, groups in relevance_settings():
        relevant = sum(group in RELEVANT for group in groups)
        if len(groups) > 1:
            name = f"{setting} {relevant}/{len(groups)}"
            rows.append(_foresight_row(name, ready, _subset(ready, groups), truth, seeds))
    return rows


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
    gold = np.unique(np.asarray(truth, dtype=str), return_inverse=True)[1]
    alone = clusterability(ready.target, gold)
    centers = np.vstack([np.asarray(ready.target[gold == g].mean(axis=0)) for g in range(gold.max() + 1)])
    assert prepared.aligner is not None  # there is a source
    match = matchability(prepared.aligner.similarities(centers))
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


def _subset(ready: Collections, groups: Sequence[str]) -> Prepared:
    rows = np.flatnonzero(np.isin(ready.groups[ready.codes], groups))
    codes = np.unique(ready.codes[rows], return_inverse=True)[1]
    return prepare(ready.source[rows], codes, np.ones(len(rows), dtype=np.int64), ready.target)


def _scores(ready: Collections, prepared: Prepared, truth, guidance: float, seeds: Sequence[int]) -> np.ndarray:
    """F1 and ARI, one row per seed."""
    found = []
    for seed in seeds:
        run = guided_kmeans(
            prepared, ready.start(seed), guidance=guidance, max_iter=ITERATIONS, boost=4.0, boost_iter=5
        )
        found.append(_score(truth, run.labels))
    return np.array(found)


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
STUDIES: dict[str, Study] = {
    "defaults": Study(
        "defaults",
        "Final value of equation (2) by boost, relative to no boost; no label of a target is used",
        guided_tune.choose_boost,
        files=guided_tune.FILES,
        tune=True,
    ),
    "paired": Study(
        "paired",
        "Paired t-tests of guided against the two k-means, over shared starts",
        compare_pairs,
        files=tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files)),
    ),
    "guidance": Study(
        "guidance",
        "F1 over the weight of the source, all corpora",
        sweep_guidance,
        files=tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files)),
        chart={"kind": "line", "x": "guidance", "y": "pair_f1", "color": "task", "title": "F1 over guidance"},
    ),
    "relevance": Study(
        "relevance",
        "Relevant source groups replaced, irrelevant ones added, relevant ones removed",
        vary_relevance,
        files=_NEWS,
        chart={"kind": "bar", "x": "source", "y": "pair_f1", "facet": "setting", "title": "Relevance of the source"},
    ),
    "adversary": Study(
        "adversary",
        "A source made to mislead: topics merged and split",
        mislead,
        files=_NEWS,
        chart={"kind": "line", "x": "guidance", "y": "pair_f1", "title": "A misleading source"},
    ),
    "number": Study(
        "number",
        "Clusters chosen without labels, and the true number",
        count_clusters,
        files=tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files)),
        chart={"kind": "scatter", "x": "true", "y": "chosen", "color": "task", "title": "Number of clusters"},
    ),
    "foresight": Study(
        "foresight",
        "Clusterability and the estimate without gold labels against the actual gain",
        weigh_foresight,
        files=tuple(dict.fromkeys(file for task in TASKS.values() for file in task.files)),
        chart={"kind": "scatter", "x": "expected", "y": "gain_f1", "title": "Foreseen and actual gain"},
    ),
}
