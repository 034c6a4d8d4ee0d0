"""Words of two collections over one vocabulary: counts, overlap, divergence of the word distributions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from isthmus._math.information import domain_divergence
from isthmus._progress import progress
from isthmus.features.tokens import stem_words, tokenize_words
from isthmus.features.weights import document_frequency

# Scripts without blanks between words: a run of them is cut into pairs of characters.
_UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]+")


@dataclass(frozen=True)
class JointCounts:
    """Counts of both collections over one vocabulary.

    Attributes
    ----------
    source, target : CSR matrices
        Documents × terms; English stop words are left out where both collections are English, and stems merged.
    names : ndarray of str
        The commonest written form of each term.
    source_tokens, target_tokens : list of ndarray of int
        Numbers of the written words of each document in their order, stop words included.
    """

    source: sp.csr_matrix
    target: sp.csr_matrix
    names: np.ndarray
    source_tokens: list[np.ndarray]
    target_tokens: list[np.ndarray]

    @property
    def source_df(self) -> np.ndarray:
        """Number of source documents with each term."""
        return document_frequency(self.source)

    @property
    def target_df(self) -> np.ndarray:
        """Number of target documents with each term."""
        return document_frequency(self.target)


def split_terms(text: str) -> list[str]:
    """Words in lower case; runs of Chinese or Japanese characters as pairs of characters.

    Examples
    --------
    >>> from isthmus.shift.vocabulary import split_terms
    >>> split_terms("The NBA 球员 plays")
    ['the', 'nba', '球员', 'plays']
    >>> split_terms("发动机")
    ['发动', '动机']
    """
    words = tokenize_words(text)
    if text.isascii() or not _UNSPACED_RUN.search(text):
        return words
    terms: list[str] = []
    for word in words:
        at = 0
        for run in _UNSPACED_RUN.finditer(word):
            if run.start() - at > 1:
                terms.append(word[at : run.start()])
            characters = run.group()
            terms += [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
            at = run.end()
        if len(word) - at > 1:
            terms.append(word[at:])
    return terms


def count_joint(source_texts: Sequence[str], target_texts: Sequence[str], *, english: bool = True) -> JointCounts:
    """Count the words of two collections over their joint vocabulary.

    Parameters
    ----------
    source_texts, target_texts : sequences of str
    english : bool
        Leave out English stop words and merge words with one Porter stem.

    Examples
    --------
    >>> from isthmus.shift.vocabulary import count_joint
    >>> counts = count_joint(["The bikes are fast", "a fast bike, a bike"], ["fast cars"])
    >>> counts.names.tolist(), counts.source.toarray().tolist()
    (['bike', 'cars', 'fast'], [[1.0, 0.0, 1.0], [2.0, 0.0, 1.0]])
    """
    index: dict[str, int] = {}
    total = len(source_texts) + len(target_texts)
    tokens: list[np.ndarray] = []
    for texts in (source_texts, target_texts):
        for text in texts:
            terms = split_terms(text)
            tokens.append(np.array([index.setdefault(term, len(index)) for term in terms], dtype=np.int64))
            if len(tokens) % 5_000 == 0:
                progress("reading words", len(tokens), total)
    written = list(index)
    column_of, names = _merge(written, tokens, english)
    rows = np.repeat(np.arange(total), [len(row) for row in tokens])
    columns = column_of[np.concatenate(tokens)] if total else np.zeros(0, dtype=np.int64)
    kept = columns >= 0
    counts = sp.csr_matrix((np.ones(int(kept.sum())), (rows[kept], columns[kept])), shape=(total, len(names)))
    counts.sum_duplicates()
    n = len(source_texts)
    return JointCounts(counts[:n], counts[n:], names, tokens[:n], tokens[n:])


def _merge(written: list[str], tokens: list[np.ndarray], english: bool) -> tuple[np.ndarray, np.ndarray]:
    """Column of each written word (-1: left out), and the commonest written form of each column, sorted."""
    if not written:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=object)
    kept = [i for i, word in enumerate(written) if not (english and word in ENGLISH_STOP_WORDS)]
    terms = stem_words(written[i] for i in kept) if english else [written[i] for i in kept]
    uses = np.bincount(np.concatenate(tokens), minlength=len(written))
    best: dict[str, tuple[int, str]] = {}
    for i, term in zip(kept, terms, strict=True):
        form = (-int(uses[i]), written[i])  # the commonest; of two equally common ones the first in the alphabet
        if term not in best or form < best[term]:
            best[term] = form
    order = {term: column for column, term in enumerate(sorted(best, key=lambda term: best[term][1]))}
    column_of = np.full(len(written), -1, dtype=np.int64)
    column_of[kept] = [order[term] for term in terms]
    return column_of, np.array([best[term][1] for term in order], dtype=object)


def vocabulary_overlap(source: sp.csr_matrix, target: sp.csr_matrix) -> dict[str, float]:
    """How much of each vocabulary and of each running text the other side knows.

    Parameters
    ----------
    source, target : CSR matrices of counts over one vocabulary

    Returns
    -------
    dict
        ``shared_types``, ``source_types``, ``target_types``; ``types_known`` (share of target terms that the source
        has), ``tokens_known`` (share of the target's running terms), ``jaccard`` of the two vocabularies.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from isthmus.shift.vocabulary import vocabulary_overlap
    >>> vocabulary_overlap(sp.csr_matrix([[1, 1, 0]]), sp.csr_matrix([[0, 3, 1]]))["tokens_known"]
    0.75
    """
    in_source, in_target = (np.asarray(side.sum(axis=0)).ravel() for side in (source, target))
    shared = (in_source > 0) & (in_target > 0)
    types = int(np.sum(in_target > 0))
    either = int(np.sum((in_source > 0) | (in_target > 0)))
    return {
        "source_types": int(np.sum(in_source > 0)),
        "target_types": types,
        "shared_types": int(shared.sum()),
        "types_known": float(shared.sum() / types) if types else 0.0,
        "tokens_known": float(in_target[shared].sum() / in_target.sum()) if types else 0.0,
        "jaccard": float(shared.sum() / either) if either else 0.0,
    }


def word_divergence(
    source: sp.csr_matrix, target: sp.csr_matrix, *, min_df: int = 3, random_state: int | None = 0
) -> dict[str, float]:
    """D(source‖target) of the smoothed word distributions, and what chance alone gives.

    The quantity with which Dai et al. (KDD 2007) describe their data sets. It depends on the size of the collections,
    so the same figure between two random halves of the source is given beside it. Halves are smaller than the whole,
    which raises their figure a little: what is well above it is no accident.

    Parameters
    ----------
    source, target : CSR matrices of counts
    min_df : int
        Terms in fewer documents of both together are left out, as in the benchmark suites.
    random_state : int or None

    Returns
    -------
    dict
        ``kl`` and ``kl_halves``, in nats.
    """
    frequent = document_frequency(source) + document_frequency(target) >= min_df
    a, b = (np.asarray(side.sum(axis=0)).ravel()[frequent] for side in (source, target))
    if not len(a) or not a.sum() or not b.sum():
        return {"kl": float("nan"), "kl_halves": float("nan")}
    halves = np.random.default_rng(random_state).permutation(source.shape[0])
    cut = source.shape[0] // 2
    first = np.asarray(source[halves[:cut]].sum(axis=0)).ravel()
    second = np.asarray(source[halves[cut:]].sum(axis=0)).ravel()
    seen = document_frequency(source) >= min_df
    within = domain_divergence(first[seen], second[seen]) if cut and seen.any() else float("nan")
    return {"kl": domain_divergence(a, b), "kl_halves": within}
