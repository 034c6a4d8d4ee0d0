"""Suite "projection": the tables and figures of Zheng, Liu, Teng and Sun (AIRS 2009) on corpora that can be had.

Homogeneous tasks train and test on one collection, a fifth of each class held out; heterogeneous tasks train on one and
test on another, both ways. Every method starts from the same counts; ``train_s`` and ``predict_s`` of a row begin
there. They are CPU seconds, so that what else the machine does falls out of the comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time as clock
from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from isthmus._math.chi2 import TermStatistics, chi2_per_class, count_terms, discriminability, summarise
from isthmus.bench.engine.suite import Method, Study, Suite, TaskData, pack_correct
from isthmus.bench.suites import projection_studies as studies
from isthmus.bench.suites.choose import choice
from isthmus.bench.tasks import chinese_task, homogeneous_task, joint_counts
from isthmus.classify.projection.classifier import TermProjectionClassifier
from isthmus.features import chi2
from isthmus.features.projection import Projection
from isthmus.features.weights import document_frequency, smooth_idf, weigh_tfidf

LSA_SIZES = (100, 200)
CUTS = (2_000, 4_000, 10_000, 60_000)  # of the traditional SVM; all terms come on top
HOMOGENEOUS = ("csl", "nlpcc2017")
PAIRS = (("fudan", "sogou"), ("fudan", "csl"), ("thucnews_title", "toutiao"))
HETEROGENEOUS = tuple(f"{a}-{b}" for pair in PAIRS for a, b in (pair, pair[::-1]))


def rows(data: TaskData, predicted, **facts: Any) -> list[dict]:
    """Micro- and macro-F1 of the labels, with the same facts beside both."""
    truth, predicted = np.array(data.target_labels, dtype=object), np.asarray(predicted, dtype=object)
    facts = {"seconds": facts.get("train_s", 0.0) + facts.get("predict_s", 0.0), **facts}
    micro = {"metric": "micro_f1", "value": float(np.mean(truth == predicted)), **facts}
    macro = {"metric": "macro_f1", "value": float(f1_score(truth, predicted, average="macro")), **facts}
    return [{**micro, "correct": pack_correct(truth, predicted)}, macro]


# What the weighting table chooses for a pair without the collections of the pair, with adaptation, as the default is.
WEIGHTING_LEFT_OUT = {"fudan-sogou": "tf-logpr2", "fudan-csl": "tf-logpr2", "thucnews_title-toutiao": "tf-pr"}


def _projection(classifier: str, adapt: bool, **more: Any) -> Callable[[TaskData, int], list[dict]]:
    def run(data: TaskData, seed: int) -> list[dict]:
        X_source, X_target = joint_counts(data)
        settings: dict[str, Any] = {"classifier": classifier, **more}
        if not adapt:
            settings["max_iter"] = 0
        _warm_up(settings)
        model = TermProjectionClassifier(**settings)
        if adapt and not data.extra.get("homogeneous"):
            _, labels, domain = data.joined()
            X = studies.stack(X_source, X_target)
            began = clock()
            model.fit(X, labels, sample_domain=domain)
            trained = clock() - began
        else:
            began = clock()
            model.fit(X_source, np.array(data.source_labels))
            trained = clock() - began
        began = clock()
        predicted = model.predict(X_target)
        facts = {"train_s": trained, "predict_s": clock() - began, "features": len(model.classes_)}
        kept = int(np.sum(model.term_class_ >= 0))
        return rows(data, predicted, **facts, terms=kept, model_bytes=kept * 12 + 8 * len(model.classes_) ** 2)

    return run


def _paper(data: TaskData, seed: int) -> list[dict]:
    """The paper's own steps, rule and SVM: see :func:`paper_projection`. Nothing is adapted."""
    X_source, X_target = joint_counts(data)
    labels = np.array(data.source_labels)
    began = clock()
    classes, codes = np.unique(labels, return_inverse=True)
    projection = paper_projection(count_terms(X_source, codes, len(classes)))
    facts = {"features": len(classes), "terms": int(np.sum(projection.term_class >= 0))}
    built = clock() - began
    began = clock()
    shown = projection.features(X_target)
    ruled = classes[shown.argmax(axis=1)]
    looked = clock() - began
    found = rows(data, ruled, train_s=built, predict_s=looked, cut="rule", **facts)
    began = clock()
    model = LinearSVC(loss="hinge", max_iter=20_000).fit(normalize(projection.features(X_source), norm="l1"), codes)
    trained = built + clock() - began
    began = clock()
    predicted = classes[model.predict(normalize(shown, norm="l1"))]
    return found + rows(data, predicted, train_s=trained, predict_s=looked + clock() - began, cut="svm", **facts)


def paper_projection(stats: TermStatistics, *, purity: float = 0.5, smoothing: float = 0.5) -> Projection:
    """Terms to the class of χ²max whatever the sign of the association, weighted by PRmax, the largest of their ratios.

    The estimator asks for a positive association and weighs by the ratio of the class itself. How the ratio enters a
    feature is lost in the paper's text; ``tf · PRmax`` is a reading.
    """
    table = chi2_per_class(stats)
    largest, total = table.max(axis=1), table.sum(axis=1)
    klass = table.argmax(axis=1).astype(np.int32)
    kept = np.where((total > 0) & (largest >= (purity - 1e-9) * total), klass, -1).astype(np.int32)
    ratios = [
        discriminability(stats, np.full(stats.n_terms, code, dtype=np.int32), smoothing=smoothing)
        for code in range(stats.n_classes)
    ]
    best = np.max(ratios, axis=0)
    return Projection(kept, np.ascontiguousarray(best), best, summarise(stats), stats.n_classes)


def _warm_up(settings: dict) -> None:
    X = np.random.default_rng(0).poisson(0.5, size=(40, 12))
    TermProjectionClassifier(**settings).fit(X, np.arange(40) % 2).predict(X)


def _select(X_source, labels, k: int | None) -> np.ndarray:
    if k is None or k >= X_source.shape[1]:
        return np.arange(X_source.shape[1])
    return np.sort(np.argsort(-chi2(X_source, labels), kind="stable")[:k])


def traditional(data: TaskData, k: int | None, make: Callable[[], Any] = LinearSVC, **facts: Any) -> list[dict]:
    """χ² on documents, ``k`` terms, tf-idf rows of length one, SVM: what the paper calls the traditional method."""
    X_source, X_target = joint_counts(data)
    labels = np.array(data.source_labels)
    began = clock()
    chosen = _select(X_source, labels, k)
    train = X_source[:, chosen]
    idf = smooth_idf(document_frequency(train), train.shape[0])
    model = make().fit(weigh_tfidf(train, idf), labels)
    trained = clock() - began
    began = clock()
    predicted = model.predict(weigh_tfidf(X_target[:, chosen], idf))
    took = clock() - began
    size = model.coef_.nbytes if isinstance(model, LinearSVC) else model.support_vectors_.data.nbytes
    facts = {"terms": len(chosen), "features": len(chosen), "model_bytes": int(size), **facts}
    return rows(data, predicted, train_s=trained, predict_s=took, **facts)


def _svm(data: TaskData, seed: int) -> list[dict]:
    return traditional(data, None)


def _svm_selected(data: TaskData, seed: int) -> list[dict]:
    return [row for k in CUTS for row in traditional(data, k, cut=k)]


def _libsvm(data: TaskData, seed: int) -> list[dict]:
    """LIBSVM, which the paper used; its cost grows with the square of the documents, so only where it is asked for."""
    return [row for k in CUTS[:2] for row in traditional(data, k, lambda: SVC(kernel="linear"), cut=k)]


def _lsa(data: TaskData, seed: int) -> list[dict]:
    X_source, X_target = joint_counts(data)
    labels = np.array(data.source_labels)
    found: list[dict] = []
    for size in (len(np.unique(labels)), *LSA_SIZES):  # as many as classes, and the paper's further dimensions
        began = clock()
        idf = smooth_idf(document_frequency(X_source), X_source.shape[0])
        reduce = TruncatedSVD(size, random_state=seed)
        model = LinearSVC().fit(reduce.fit_transform(weigh_tfidf(X_source, idf)), labels)
        trained = clock() - began
        began = clock()
        predicted = model.predict(reduce.transform(weigh_tfidf(X_target, idf)))
        facts = {"train_s": trained, "predict_s": clock() - began, "features": size, "cut": size}
        found += rows(data, predicted, **facts, terms=X_source.shape[1], model_bytes=int(reduce.components_.nbytes))
    return found


def _auto(data: TaskData, seed: int) -> list[dict]:
    began = clock()
    return rows(data, choice(data, seed).labels, train_s=clock() - began)


def time_table(found: list[dict]) -> list[dict]:
    """The paper's tables of time: seconds of training and labelling, and their share of the traditional SVM's.

    The traditional SVM is taken at the cut with its best micro-F1 on that task, as the paper takes it.
    """
    scored = [row for row in found if row["metric"] == "micro_f1" and "train_s" in row and "predict_s" in row]
    table = []
    for task in dict.fromkeys(row["task"] for row in scored):
        own = [row for row in scored if row["task"] == task]
        peers = [row for row in own if row["method"] in ("svm", "svm-selected")]
        if not peers:
            continue
        best = max(peers, key=lambda row: row["value"])
        for row in own:
            if row["method"] in ("svm", "svm-selected") and row is not best:
                continue
            table.append(
                {
                    "task": task,
                    "method": f"{row['method']} {row['cut']}" if "cut" in row else row["method"],
                    "features": row.get("features", row.get("terms")),
                    "micro_f1": row["value"],
                    "train_s": row["train_s"],
                    "predict_s": row["predict_s"],
                    "of_svm_training": row["train_s"] / max(best["train_s"], 1e-9),
                    "of_svm_labelling": row["predict_s"] / max(best["predict_s"], 1e-9),
                }
            )
    return table


def _left_out(data: TaskData, seed: int) -> list[dict]:
    """The rule with the weighting that other collections choose (``isthmus bench tune projection``)."""
    domains = data.extra["domains"]
    weighting = WEIGHTING_LEFT_OUT.get("-".join(domains)) or WEIGHTING_LEFT_OUT["-".join(domains[::-1])]
    return _projection("rule", True, weighting=weighting)(data, seed)


METHODS = {
    "projection-rule": _projection("rule", True),
    "projection-svm": _projection("svm", True),
    "projection-rule-source": _projection("rule", False),
    "projection-svm-source": _projection("svm", False),
    "projection-paper": _paper,
    "projection-left-out": _left_out,
    "svm": _svm,
    "svm-selected": _svm_selected,
    "svm-libsvm": _libsvm,
    "lsa": _lsa,
    "auto": _auto,
}
_ONLY_HOMOGENEOUS = ("svm-libsvm", "lsa")
# Where nothing is adapted these are the same as without, or mean nothing.
_ONLY_HETEROGENEOUS = ("projection-rule-source", "projection-svm-source", "projection-left-out", "auto")

TASKS = {name: homogeneous_task(name) for name in HOMOGENEOUS} | {
    f"{a}-{b}": chinese_task(a, b) for pair in PAIRS for a, b in (pair, pair[::-1])
}

SUITE = Suite(
    name="projection",
    summary="Term projection: χ² on occurrences, one feature per class, within and across Chinese collections.",
    tasks=TASKS,
    methods={name: Method(name=name, run=run, seeded=name == "lsa") for name, run in METHODS.items()},
    default_methods=tuple(name for name in METHODS if name != "auto"),  # the suite "choose" has it
    pairs=frozenset(
        (task, method)
        for task in TASKS
        for method in METHODS
        if method not in (_ONLY_HETEROGENEOUS if task in HOMOGENEOUS else _ONLY_HOMOGENEOUS)
    ),
    derived={"times": time_table},
    contrasts={"projection-rule": ("svm",), "projection-svm": ("svm",)},
    studies={
        "selection": Study(
            name="selection",
            summary="χ² on documents against χ² on occurrences, linear SVM, by number of terms",
            run=studies.selection_curve,
            files=studies.SELECTION_FILES,
            chart={"kind": "line", "x": "terms", "y": "micro_f1", "color": "score", "facet": "corpus", "log_x": True},
        ),
        "terms": Study(
            name="terms",
            summary="Rule and SVM by number of terms kept",
            run=studies.terms_curve,
            files=studies.TERMS_FILES,
            chart={"kind": "line", "x": "terms", "y": "micro_f1", "color": "method", "facet": "task", "log_x": True},
        ),
        "weighting": Study(
            name="weighting",
            summary="Readings of the lost weighting formula on shifts simulated inside the sources",
            run=studies.weighting_table,
            files=studies.WEIGHTING_FILES,
            tune=True,
        ),
    },
)
