"""Studies of the suite "projection": selection curves, number of terms, and how the weighting was chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from isthmus._progress import progress
from isthmus.bench.engine.suite import TaskData
from isthmus.bench.tasks import (
    CHINESE_FILES,
    chinese_task,
    homogeneous_task,
    joint_counts,
    message_text,
    read_records,
)
from isthmus.classify.projection.classifier import TermProjectionClassifier
from isthmus.features import TextVectorizer, chi2, tf_chi2
from isthmus.features.projection import WEIGHTINGS
from isthmus.features.weights import document_frequency, smooth_idf, weigh_tfidf

NEWSGROUPS = "newsgroups20.jsonl.gz"
SELECTION_FILES = (NEWSGROUPS, CHINESE_FILES["fudan"], CHINESE_FILES["csl"])
TERMS_FILES = (CHINESE_FILES["csl"], CHINESE_FILES["nlpcc2017"], CHINESE_FILES["fudan"], CHINESE_FILES["sogou"])
WEIGHTING_FILES = tuple(dict.fromkeys(CHINESE_FILES[name] for name in ("fudan", "sogou", "csl", "toutiao")))
SELECTION_SIZES = (100, 200, 500, 1_000, 2_000, 5_000)
TERM_SIZES = (1_000, 5_000, 20_000, 60_000, 200_000)  # and all terms there are


def stack(X_source, X_target):
    """Source rows above target rows."""
    return sp.vstack([X_source, X_target], format="csr")


def selection_data(folder: Path, corpus: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, labels and a mask of test documents: the by-date split of the newsgroups, else every fifth of a class."""
    if corpus == "newsgroups":
        records = read_records(folder / NEWSGROUPS)
        texts = [message_text(record["text"]) for record in records]
        return texts, np.array([r["label"] for r in records]), np.array([r["split"] == "test" for r in records])
    records = read_records(folder / CHINESE_FILES[corpus])
    labels = np.array([record["label"] for record in records])
    test = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        test[np.flatnonzero(labels == label)[::5]] = True
    return [record["text"] for record in records], labels, test


def selection_curve(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The paper's Figs. 1 and 2: micro-F1 of a linear SVM on the best terms by either χ²."""
    table = []
    for corpus in ("newsgroups", "fudan", "csl"):
        texts, labels, test = selection_data(Path(folder), corpus)
        X = TextVectorizer(min_df=1).fit_transform(texts)
        for name, score in (("chi2", chi2), ("tf-chi2", tf_chi2)):
            order = np.argsort(-score(X[~test], labels[~test]), kind="stable")
            for place, size in enumerate(SELECTION_SIZES):
                chosen = np.sort(order[:size])
                train = X[~test][:, chosen]
                idf = smooth_idf(document_frequency(train), train.shape[0])
                model = LinearSVC().fit(weigh_tfidf(train, idf), labels[~test])
                predicted = model.predict(weigh_tfidf(X[test][:, chosen], idf))
                right = float(np.mean(predicted == labels[test]))
                table.append({"corpus": corpus, "score": name, "terms": size, "micro_f1": right})
                progress(f"selection on {corpus}, {name}", place + 1, len(SELECTION_SIZES))
    return table


def _sizes_below(n_terms: int) -> list[int]:
    """Sizes of the curve for a collection of ``n_terms`` terms; the last one is all of them."""
    return [*(size for size in TERM_SIZES if size < n_terms), n_terms]


def terms_curve(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """The paper's Figs. 3 and 4: rule and SVM by number of terms, homogeneous and heterogeneous, without adaptation."""
    table = []
    for task in (homogeneous_task("csl"), homogeneous_task("nlpcc2017"), chinese_task("fudan", "sogou")):
        data = task.load(Path(folder))
        X_source, X_target = joint_counts(data)
        for size in _sizes_below(X_source.shape[1]):
            for classifier in ("rule", "svm"):
                model = TermProjectionClassifier(classifier=classifier, max_iter=0, n_terms=size)
                model.fit(X_source, np.array(data.source_labels))
                right = float(np.mean(model.predict(X_target) == np.array(data.target_labels)))
                table.append({"task": task.name, "method": classifier, "terms": size, "micro_f1": right})
        progress("terms", len(table))
    return table


def simulated_shift(X, codes: np.ndarray) -> np.ndarray:
    """Two halves of each class by 2-means on reduced tf-idf rows: documents of a class that differ from each other.

    A held-out sample of the same documents shows no shift, so it cannot rank weightings for use across domains; halves
    like these are labelled source data that do.
    """
    rows = weigh_tfidf(X[:, document_frequency(X) >= 5], sublinear=True)
    reduced = normalize(TruncatedSVD(50, random_state=0).fit_transform(rows))
    half = np.zeros(len(codes), dtype=int)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        if len(members) < 4:
            half[members] = np.arange(len(members)) % 2
            continue
        found = KMeans(2, n_init=3, random_state=0).fit_predict(reduced[members])
        # Larger and smaller halves alternate, so that class sizes differ between the halves as between domains.
        large = int(found.mean() > 0.5)
        half[members] = np.where(found == large, code % 2, 1 - code % 2)
    return half


def weighting_table(folder: Path, seeds: tuple[int, ...]) -> list[dict]:
    """Mean micro-F1 of every weighting, with and without adaptation, on shifts made inside labelled collections."""
    table: list[dict[str, Any]] = []
    sources = (("sogou", "fudan"), ("fudan", "sogou"), ("csl", "fudan"), ("thucnews_title", "toutiao"))
    for name, partner in (*sources, ("toutiao", "thucnews_title")):
        data: TaskData = chinese_task(name, partner).load(Path(folder))
        codes = np.unique(data.source_labels, return_inverse=True)[1]
        X = TextVectorizer(min_df=1).fit_transform(data.source_texts)
        half = simulated_shift(X, codes)
        for weighting in WEIGHTINGS:
            for rounds in (0, 8):
                scores = []
                for train in (0, 1):
                    model = TermProjectionClassifier(weighting=weighting, max_iter=rounds)
                    model.fit(X, codes, sample_domain=np.where(half == train, 1, -1))
                    scores.append(float(np.mean(model.transduction_[half != train] == codes[half != train])))
                table.append(
                    {"source": name, "weighting": weighting, "max_iter": rounds, "micro_f1": float(np.mean(scores))}
                )
        progress("weightings", len(table))
    return [*table, *weighting_means(table), *weightings_left_out(table)]


def weighting_means(table: list[dict], without: tuple[str, ...] = ()) -> list[dict]:
    """Mean of every weighting over the collections, or over those not in ``without``."""
    values: dict[tuple[str, int], list[float]] = {}
    for row in table:
        if row["source"] not in without:
            values.setdefault((row["weighting"], row["max_iter"]), []).append(row["micro_f1"])
    name = f"mean without {', '.join(without)}" if without else "mean"
    return [
        {"source": name, "weighting": weighting, "max_iter": rounds, "micro_f1": float(np.mean(found))}
        for (weighting, rounds), found in values.items()
    ]


def weightings_left_out(table: list[dict]) -> list[dict]:
    """For each pair of the benchmark, the weighting that the collections outside the pair choose, by rounds."""
    rows = []
    for pair in (("fudan", "sogou"), ("fudan", "csl"), ("thucnews_title", "toutiao")):
        means = weighting_means(table, pair)
        for rounds in (0, 8):
            rows.append(max((row for row in means if row["max_iter"] == rounds), key=lambda row: row["micro_f1"]))
    return rows
