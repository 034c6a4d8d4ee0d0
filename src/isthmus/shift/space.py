"""Represent both collections in one space: word counts, a map of the documents, and words whose frequency differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from isthmus.exceptions import DataError
from isthmus.features import TextVectorizer
from isthmus.features.weights import document_frequency, smooth_idf, weigh_tfidf

_DIRECTIONS = 40  # dimensions of the latent space
_FITTED = 4_000  # documents of each side from which the latent directions are computed
_WORDS = 12  # words per side in the table of shifted words
_SHARPNESS = 4.0  # factor on the scores; higher values draw documents closer to the corner of their nearest class


@dataclass(frozen=True)
class JointSpace:
    """Documents of both sides over one vocabulary of unstemmed words."""

    vectorizer: TextVectorizer  # fitted; removes stop words and does not stem
    counts: sp.csr_matrix  # source rows, then target rows
    n_source: int
    names: np.ndarray  # words of the columns
    idf: np.ndarray
    components: np.ndarray  # latent directions of tf-idf
    vectors: np.ndarray  # unit vectors of the documents in these directions; zero for a document without a known word

    def project(self, texts: Sequence[str]) -> np.ndarray:
        """Project more texts to the same directions.

        Parameters
        ----------
        texts : sequence of str

        Returns
        -------
        ndarray of shape (n_texts, n_directions)
        """
        return _place(_weigh(self.vectorizer.transform(texts), self.idf), self.components)


def joint_space(
    source_texts: Sequence[str], target_texts: Sequence[str], *, language: str = "auto"
) -> JointSpace | None:
    """Count the words of both sides and compute their main directions.

    Parameters
    ----------
    source_texts, target_texts : sequence of str
    language : str
        Language of the texts; "auto" detects it.

    Returns
    -------
    JointSpace or None
        None if no word is left.
    """
    vectorizer = TextVectorizer(stem=False, language=language)
    try:
        counts = sp.csr_matrix(vectorizer.fit_transform([*source_texts, *target_texts]))
    except DataError:
        return None
    idf = smooth_idf(document_frequency(counts), counts.shape[0])
    rows = _weigh(counts, idf)
    n_source = len(source_texts)
    chosen = np.concatenate([spread(n_source, _FITTED), n_source + spread(len(target_texts), _FITTED)])
    components = _directions(rows[chosen])
    if not len(components):
        return None
    names = vectorizer.get_feature_names_out()
    return JointSpace(vectorizer, counts, n_source, names, idf, components, _place(rows, components))


def latent_rows(rows: sp.csr_matrix) -> np.ndarray | None:
    """Project weighted documents to their own main directions.

    Parameters
    ----------
    rows : CSR matrix of shape (n_documents, n_words)

    Returns
    -------
    ndarray of shape (n_documents, n_directions) or None
        Unit rows; None if there are too few documents or words.
    """
    components = _directions(rows)
    return _place(rows, components) if len(components) > 1 else None


def _directions(rows: sp.csr_matrix) -> np.ndarray:
    """Return the main directions of weighted documents; none if there are too few documents or words."""
    from sklearn.utils.extmath import randomized_svd

    size = min(_DIRECTIONS, min(rows.shape) - 1)
    return randomized_svd(rows, size, n_iter=2, random_state=0)[2] if size > 0 else np.zeros((0, rows.shape[1]))


def _weigh(counts: sp.csr_matrix, idf: np.ndarray) -> sp.csr_matrix:
    return weigh_tfidf(counts, idf, sublinear=True)


def _place(rows: sp.csr_matrix, components: np.ndarray) -> np.ndarray:
    return normalize(np.asarray(rows @ components.T))


def spread(n: int, size: int, seed: int = 0) -> np.ndarray:
    """Draw at most ``size`` of ``n`` row numbers at random.

    Parameters
    ----------
    n, size, seed : int

    Returns
    -------
    ndarray of int
        In ascending order.
    """
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))


def map_places(vectors: np.ndarray, source_labels: Sequence, classes: Sequence) -> np.ndarray:
    """Compute a position in the plane for every document, such that the source's classes are far apart.

    The axes are linear discriminants (with shrinkage) of the source's true classes. The target's labels are not used:
    if target documents overlap on the map, their words overlap. With two classes, the horizontal axis is the
    discriminant, and the vertical axis is the main direction of the remainder. With more classes, every class has a
    corner. A document lies between the corners by its similarity to the classes, so a document that fits no class lies
    in the middle.

    Parameters
    ----------
    vectors : ndarray of shape (n_documents, n_directions)
        Source documents first.
    source_labels : sequence
    classes : sequence

    Returns
    -------
    ndarray of shape (n_documents, 2)
        Between −1 and 1.
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    code = {name: place for place, name in enumerate(classes)}
    sizes = Counter(source_labels)
    # A class of one document has no variance, so it cannot be used to fit the discriminants. Its document is only
    # placed.
    known = [i for i, name in enumerate(source_labels) if name in code and sizes[name] > 1]
    codes = np.array([code[source_labels[i]] for i in known])
    present = np.unique(codes)
    if len(present) < 2 or len(known) <= len(present):
        return _squeeze(_main_directions(vectors, 2))
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(vectors[known], codes)
    weights = np.atleast_2d(model.coef_)
    rest = _main_directions(vectors - _onto(vectors, weights), 2)
    if len(present) == 2:
        return _squeeze(np.column_stack([vectors @ weights[0] + model.intercept_[0], rest[:, 0]]))
    return _between_corners(vectors, weights, model.intercept_, present, rest)


def _between_corners(vectors, weights, intercept, present, rest) -> np.ndarray:
    scores = vectors @ weights.T + intercept
    scores = (scores - scores.mean(axis=1, keepdims=True)) / max(float(scores.std()), 1e-12)
    pull = np.exp(_SHARPNESS / 2 * (scores - scores.max(axis=1, keepdims=True)))
    pull /= pull.sum(axis=1, keepdims=True)
    order = _ring(weights)
    angle = np.empty(len(present))
    angle[order] = np.pi / 2 + 2 * np.pi * np.arange(len(present)) / len(present)
    corners = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.clip(0.8 * pull @ corners + 0.2 * _squeeze(rest), -1, 1)


def _ring(weights: np.ndarray) -> list[int]:
    """Return an order of classes around the circle, in which the most similar free class follows each class."""
    unit = normalize(weights)
    likeness = unit @ unit.T
    order = [0]
    while len(order) < len(unit):
        left = [i for i in range(len(unit)) if i not in order]
        order.append(max(left, key=lambda i: (likeness[order[-1], i], -i)))
    return order


def _main_directions(vectors: np.ndarray, size: int) -> np.ndarray:
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    places = np.zeros((len(vectors), size))
    found = (centred @ directions[:, ::-1])[:, :size]
    # The sign of an eigenvector is arbitrary; fix it by the skewness.
    signs = np.where(np.sum(found**3, axis=0) < 0, -1.0, 1.0)
    places[:, : found.shape[1]] = found * signs
    return places


def _onto(vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    basis, _ = np.linalg.qr(weights.T)
    return vectors @ basis @ basis.T


def _squeeze(places: np.ndarray) -> np.ndarray:
    """Map positions to −1 to 1: most documents spread over the whole range, and outliers stay near its ends."""
    scale = np.percentile(np.abs(places - np.median(places, axis=0)), 90, axis=0)
    return np.tanh((places - np.median(places, axis=0)) / np.where(scale > 0, 1.2 * scale, 1.0))


def shifted_words(
    counts: sp.csr_matrix, names: Sequence[str] | np.ndarray, n_source: int, *, top: int = _WORDS
) -> list[dict]:
    """List the words whose frequency differs most between the sides.

    The score is the signed root of a word's part of the Jensen–Shannon divergence of the document frequencies. It
    selects words that are both frequent and concentrated on one side.

    Parameters
    ----------
    counts : CSR matrix of shape (n_documents, n_words)
        Source rows, then target rows.
    names : sequence of str
        Words of the columns.
    n_source : int
    top : int
        Words per side.

    Returns
    -------
    list of dict
        ``word``, ``source`` and ``target`` (shares of documents).
    """
    n_target = counts.shape[0] - n_source
    source = document_frequency(counts[:n_source]) / max(1, n_source)
    target = document_frequency(counts[n_source:]) / max(1, n_target)
    middle = (source + target) / 2

    def part(share):
        return np.where(share > 0, share * np.log(np.where(share > 0, share, 1) / np.where(middle > 0, middle, 1)), 0)

    score = np.sign(target - source) * np.sqrt(np.maximum(part(source) + part(target), 0) / 2)
    order = np.argsort(score, kind="stable")
    chosen = [*order[:top], *order[::-1][:top][::-1]]
    kept = [i for i in dict.fromkeys(int(i) for i in chosen) if abs(score[i]) > 1e-9]
    return [
        {"word": str(names[i]), "source": round(float(source[i]), 4), "target": round(float(target[i]), 4)}
        for i in kept
    ]
