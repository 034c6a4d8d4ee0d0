"""Suite "cocc": the tables and figures of Dai, Xue, Yang and Yu (KDD 2007), and what was built on top.

Six newsgroup tasks, three Reuters tasks, a four-class task, SRAA where its file is present. Methods come from the
recipes; the texts of a task are vectorised once per kind of features.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from isthmus.bench.engine.suite import Method, Study, Suite, TaskData, pack_correct
from isthmus.bench.speed import cocc as speed_cocc
from isthmus.bench.suites import cocc_studies as studies
from isthmus.bench.suites import cocc_tune
from isthmus.bench.suites.choose import choice
from isthmus.bench.tasks import (
    NEWSGROUP_TASKS,
    NEWSGROUPS_FILE,
    REUTERS_FILE,
    REUTERS_TASKS,
    REUTERS_WIDE,
    SRAA_TASKS,
)
from isthmus.evaluate.labels import error_rate
from isthmus.recipes import make_recipe

SIX = ("rec-talk", "rec-sci", "comp-talk", "comp-sci", "comp-rec", "sci-talk")
THREE = ("orgs-people", "orgs-places", "people-places")
BASELINES = ("nbc", "svm", "tsvm", "sgt")
# Variants of CoCC beside the recipe: what each addition to the paper's method is worth.
VARIANTS: dict[str, dict[str, Any]] = {
    "cocc": {},
    "cocc-no-finish": {"refine": None},
    "cocc-counts": {"refine": None, "weighting": "counts"},
    "cocc-one-start": {"n_init": 1},
    "cocc-auto": {"n_word_clusters": "auto", "trade_off": "auto"},
}
# The paper's own setting as far as its text goes: counts, hardly any smoothing, one start, ten iterations, no finish,
# and the nearest class for each cluster. What is left of ours is the word start and the order of the first two steps.
PAPER: dict[str, Any] = {
    "weighting": "counts",
    "smoothing": 0.001,
    "n_init": 1,
    "max_iter": 10,
    "tol": 0.0,
    "refine": None,
}


def features(data: TaskData, vectorizer) -> tuple[Any, float]:
    """The task's rows, source first, and the seconds it took to make them; made once per vectoriser."""
    store = data.extra.setdefault("features", {})
    key = repr(vectorizer)
    if key not in store:
        began = time.perf_counter()
        store[key] = clone(vectorizer).fit_transform(data.joined()[0]), time.perf_counter() - began
    return store[key]


def fit_recipe(data: TaskData, name: str, seed: int, **settings: Any) -> tuple[Any, np.ndarray, float]:
    """A recipe's fitted last step, its labels of the target, and the seconds of features and fit."""
    pipeline = make_recipe(name, random_state=seed)
    X, seconds = features(data, pipeline.steps[0][1])
    _, labels, domain = data.joined()
    model = pipeline.steps[-1][1].set_params(**settings)
    began = time.perf_counter()
    model.fit(X, labels, sample_domain=domain)
    return model, model.transduction_[domain < 0], seconds + time.perf_counter() - began


def _error_row(data: TaskData, predicted: np.ndarray, seconds: float) -> dict:
    truth = np.array(data.target_labels, dtype=object)
    return {
        "metric": "error",
        "value": error_rate(data.target_labels, predicted.tolist()),
        "seconds": seconds,
        "correct": pack_correct(truth, predicted),
    }


def _baseline(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        _, predicted, seconds = fit_recipe(data, name, seed)
        return [_error_row(data, predicted, seconds)]

    return Method(name=name, run=run, seeded=False)


def _variant(name: str) -> Method:
    def run(data: TaskData, seed: int) -> list[dict]:
        model, predicted, seconds = _fitted(data, seed, VARIANTS[name])
        rises = studies.count_rises(model.restart_histories_)
        return [_error_row(data, predicted, seconds), {"metric": "objective_rises", "value": rises, "seconds": seconds}]

    return Method(name=name, run=run)


def _fitted(data: TaskData, seed: int, settings: dict[str, Any]) -> tuple[Any, np.ndarray, float]:
    """A variant of CoCC; the one without a finish is read off the fit with a finish, which comes before it."""
    kept = data.extra.setdefault("fitted", {})
    if settings == {"refine": None} and seed in kept:
        model, _, seconds = kept[seed]
        clusters = model.document_clusters_[data.joined()[2] < 0]
        return model, model.classes_[clusters], seconds
    found = fit_recipe(data, "cocc", seed, **settings)
    if not settings:
        kept[seed] = found
    return found


def _paper(matched: bool) -> Callable[[TaskData, int], list[dict]]:
    """The paper's setting: with its map of clusters to classes, or with the same clusters matched one to one."""

    def run(data: TaskData, seed: int) -> list[dict]:
        kept = data.extra.setdefault("paper", {})
        if seed not in kept:
            kept[seed] = fit_recipe(data, "cocc", seed, **PAPER)
        model, predicted, seconds = kept[seed]
        if not matched:
            clusters = model.document_clusters_[data.joined()[2] < 0]
            predicted = model.classes_[nearest_classes(model.match_divergence_)[clusters]]
        rises = studies.count_rises(model.restart_histories_)
        return [_error_row(data, predicted, seconds), {"metric": "objective_rises", "value": rises, "seconds": seconds}]

    return run


def nearest_classes(divergence: np.ndarray) -> np.ndarray:
    """Class of each cluster by itself, the paper's map: the row of the smallest divergence in each column.

    Two clusters may get one class; the estimator's own map is one to one.
    """
    return divergence.argmin(axis=0)


def _auto(data: TaskData, seed: int) -> list[dict]:
    began = time.perf_counter()
    labels = choice(data, seed).labels
    return [_error_row(data, labels, time.perf_counter() - began)]


def _study(name: str, summary: str, run, chart: dict | None, *, reuters: bool = False) -> Study:
    files = (NEWSGROUPS_FILE, REUTERS_FILE) if reuters else (NEWSGROUPS_FILE,)
    return Study(name=name, summary=summary, run=run, files=files, chart=chart)


TASKS = {**NEWSGROUP_TASKS, **REUTERS_TASKS, **REUTERS_WIDE, **SRAA_TASKS}
_ERROR = {"y": "error", "y_title": "error on the target"}
STUDIES = {
    study.name: study
    for study in (
        _study(
            "sizes",
            "Sizes, divergence of the domains, SVM across and within",
            lambda folder, seeds: studies.sizes(folder, [TASKS[t] for t in (*SIX, *THREE)]),
            {"kind": "bar", "x": "task", "y": "divergence", "y_title": "D(source ‖ target)", "title": "Distance"},
            reuters=True,
        ),
        _study(
            "source-share",
            "Error by share of the source that is used (the paper's second figure), sci-talk",
            lambda folder, seeds: studies.source_share(TASKS["sci-talk"].load(folder), seeds),
            {
                "kind": "line",
                "x": "share",
                "color": "method",
                "title": "Less source data",
                "x_title": "share",
                **_ERROR,
            },
        ),
        _study(
            "iterations",
            "Error and objective after each iteration",
            lambda folder, seeds: studies.iterations(
                [TASKS[t] for t in ("rec-sci", "comp-sci", "orgs-places")], folder
            ),
            {"kind": "line", "x": "iteration", "color": "task", "title": "Convergence", **_ERROR},
            reuters=True,
        ),
        _study(
            "trade-off",
            "Error by λ for three numbers of word clusters, sci-talk",
            lambda folder, seeds: studies.trade_off(TASKS["sci-talk"].load(folder)),
            {"kind": "line", "x": "trade_off", "color": "word_clusters", "log_x": True, "x_title": "λ", **_ERROR},
        ),
        _study(
            "word-clusters",
            "Error by number of word clusters for three λ, sci-talk",
            lambda folder, seeds: studies.word_clusters(TASKS["sci-talk"].load(folder)),
            {"kind": "line", "x": "word_clusters", "color": "trade_off", "log_x": True, "x_title": "k", **_ERROR},
        ),
        _study(
            "gain",
            "Share of the baseline's errors that CoCC removes, against the divergence of the domains",
            lambda folder, seeds: studies.gain(folder, [TASKS[t] for t in (*SIX, *THREE)]),
            {
                "kind": "scatter",
                "x": "divergence",
                "y": "gain",
                "color": "against",
                "label": "task",
                "x_title": "D(source ‖ target)",
                "y_title": "errors removed",
                "title": "Gain against divergence",
            },
            reuters=True,
        ),
        _study(
            "picture",
            "Documents by words: how far the classes' words agree in source and target, sci-talk",
            lambda folder, seeds: studies.picture(TASKS["sci-talk"].load(folder)),
            {
                "kind": "heatmap",
                "x": "words",
                "y": "documents",
                "value": "density",
                "title": "Documents and words",
                "x_title": "words, by leaning to the first class",
                "y_title": "documents",
            },
        ),
        Study(
            "defaults",
            "Settings of CoCC on pseudo-tasks made of source groups, one parameter at a time",
            cocc_tune.choose_settings,
            files=cocc_tune.FILES,
            tune=True,
        ),
        Study(
            name="growth",
            summary="Seconds and memory of a fit by number of non-zeros, up to 50 million",
            run=speed_cocc.growth,
            chart={"kind": "line", "x": "nonzeros", "y": "seconds", "title": "Cost of a fit (five iterations)"},
        ),
    )
}

SUITE = Suite(
    name="cocc",
    summary="Co-clustering based classification on newsgroup and Reuters tasks.",
    tasks=TASKS,
    methods={
        **{name: _baseline(name) for name in BASELINES},
        **{name: _variant(name) for name in VARIANTS},
        "cocc-paper": Method("cocc-paper", _paper(matched=False)),
        "cocc-paper-matched": Method("cocc-paper-matched", _paper(matched=True)),
        "logistic": _baseline("logistic"),
        "self-training": _baseline("self-training"),
        "auto": Method("auto", _auto),
    },
    seeds=(0, 1, 2, 3, 4),
    default_tasks=(*SIX, *THREE, *REUTERS_WIDE, "four-class", *SRAA_TASKS),
    default_methods=(*BASELINES, "cocc-paper", "cocc-paper-matched", "cocc-no-finish", "cocc"),
    studies=STUDIES,
    contrasts={"cocc": BASELINES, "cocc-paper-matched": BASELINES},
    means={
        "six newsgroup tasks": SIX,
        "three Reuters tasks": THREE,
        "all nine": (*SIX, *THREE),
        "three Reuters tasks, the other reading": tuple(REUTERS_WIDE),
    },
)
