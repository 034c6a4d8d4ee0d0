"""Data of the dual-supervision suite: the toy matrix, five newsgroups as the paper cuts them, the opinion lexicon."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from isthmus.features.vectorizer import TextVectorizer
from isthmus.features.weights import weigh_tfidf
from isthmus_bench.tasks import NEWSGROUPS_FILE, read_records, spread

FIVE_GROUPS = (
    "comp.graphics",
    "rec.motorcycles",
    "rec.sport.baseball",
    "sci.space",
    "talk.politics.mideast",
)
# Five other groups of the same kinds: parameters were set on these, never on the five above.
TUNING_GROUPS = (
    "comp.sys.mac.hardware",
    "rec.autos",
    "rec.sport.hockey",
    "sci.med",
    "talk.politics.guns",
)
POSITIVE_FILE = "lexicons/positive-words.txt"
NEGATIVE_FILE = "lexicons/negative-words.txt"


@dataclass(frozen=True)
class DualData:
    """A matrix, the classes of its rows, and the simulated classes of its columns."""

    X: sp.csr_matrix
    rows: np.ndarray
    columns: np.ndarray
    names: np.ndarray


def toy_data(seed: int, *, apart: bool = False) -> DualData:
    """The paper's section 4.1: 200 examples a class, 100 features, two overlapping classes.

    An example is ``[2u − 0.1, 2u + 0.1]`` or ``[2u + 0.1, 2u − 0.1]`` with one ``u`` of 50 uniform numbers, as printed.
    The right column partition then separates the classes without error, where the paper says almost; ``apart`` draws
    the two halves apart from each other, which makes it almost.
    """
    rng = np.random.RandomState(seed)
    shift = np.where(np.arange(400) < 200, 0.1, -0.1)[:, None]
    u = rng.rand(400, 100) if apart else np.tile(rng.rand(400, 50), 2)
    # The smallest entries would be a little below zero; a graph's weights may not be.
    X = np.maximum(2.0 * u + np.hstack([-shift * np.ones((1, 50)), shift * np.ones((1, 50))]), 0.0)
    columns = np.repeat([1, 0], 50)  # a column goes with the class whose examples have more of it
    names = np.array([f"f{j}" for j in range(100)], dtype=object)
    return DualData(sp.csr_matrix(X), np.repeat([0, 1], 200), columns, names)


def newsgroup_data(folder: Path, groups: tuple[str, ...] = FIVE_GROUPS, size: int = 2000, n_words: int = 631):
    """The paper's section 4.2: ``size`` documents of five groups, the ``n_words`` words of highest mutual information.

    The corpus version and its cleaning differ from the paper's (a preprocessed file that is no longer there): subject
    and body, words of letters only, at least 3 documents, tf-idf rows of length 1. Words are chosen and their classes
    simulated with the labels of all documents, as the paper does; no method sees those classes but for the words it
    is given.
    """
    records = read_records(Path(folder) / NEWSGROUPS_FILE)
    texts, labels = [], []
    for code, group in enumerate(groups):
        chosen = spread([r for r in records if r["label"] == group], size // len(groups))
        texts += [_subject_and_body(r["text"]) for r in chosen]
        labels += [code] * len(chosen)
    vectorizer = TextVectorizer(analyzer="words", stem=False, stop_words="english", min_df=3)
    counts = vectorizer.fit_transform(texts)
    names = vectorizer.get_feature_names_out()
    letters = np.array([name.isalpha() for name in names])
    counts, names = counts[:, letters], names[letters]
    rows = np.array(labels)
    scores = word_scores(counts, rows)
    best = np.sort(np.argsort(-scores.sum(axis=1), kind="stable")[:n_words])
    X = weigh_tfidf(counts[:, best])
    return DualData(sp.csr_matrix(X), rows, scores[best].argmax(axis=1), names[best])


def word_scores(counts: sp.csr_matrix, rows: np.ndarray) -> np.ndarray:
    """``score(w, c)`` of the paper's section 4.2; summed over classes it is the mutual information of word and class.

    Printed with minus signs before the two conditional terms; with those the sum would be no mutual information, which
    the next sentence of the paper says it is. Read as plus."""
    n = counts.shape[0]
    classes = np.unique(rows)
    present = (counts > 0).astype(float)
    with_word = np.stack([np.asarray(present[rows == c].sum(axis=0)).ravel() for c in classes], axis=1)
    prior = np.array([np.mean(rows == c) for c in classes])
    df = with_word.sum(axis=1, keepdims=True)
    inside = with_word / np.maximum(df, 1)
    outside = (prior * n - with_word) / np.maximum(n - df, 1)
    return -_xlogx(prior) + df / n * _xlogx(inside) + (n - df) / n * _xlogx(outside)


def lexicon(folder: Path) -> dict[str, str]:
    """The opinion lexicon of Hu and Liu: word to "positive" or "negative"; words in both lists are left out."""
    lists = {}
    for label, file in (("positive", POSITIVE_FILE), ("negative", NEGATIVE_FILE)):
        lines = (Path(folder) / file).read_text(encoding="utf-8").splitlines()
        lists[label] = {line.strip() for line in lines if line.strip() and not line.startswith(";")}
    both = lists["positive"] & lists["negative"]
    return {word: label for label, words in lists.items() for word in sorted(words - both)}


def _subject_and_body(message: str) -> str:
    head, _, body = message.partition("\n\n")
    subject = [line.partition(":")[2] for line in head.split("\n") if line.lower().startswith("subject:")]
    return "\n".join([*subject, body])


def _xlogx(p: np.ndarray) -> np.ndarray:
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)
