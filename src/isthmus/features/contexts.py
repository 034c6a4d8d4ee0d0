"""Pivot words, and the company that words keep in each domain.

A pivot word occurs in both domains. Whether it also means the same in both is judged by its context vectors: the words
it occurs near in the source, and in the target (section V of Bhattacharya et al., ICDM 2009).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from isthmus.base import row_blocks
from isthmus.features.weights import document_frequency, smooth_idf

_BLOCK_DOCUMENTS = 2_000  # documents whose windows are counted at a time: bounds the arrays of pairs
_CELLS = 10_000_000  # most cells (words × context words) of the table when word order is unknown


@dataclass(frozen=True)
class Contexts:
    """Counts of words near context words, in each domain."""

    # which words (columns of the document matrix) serve as context: pivots that are frequent in both domains
    columns: np.ndarray
    source: sp.csr_matrix  # how often a word and a context word occur together in that domain
    target: sp.csr_matrix


def pivot_words(source: sp.csr_matrix, target: sp.csr_matrix) -> np.ndarray:
    """Columns that occur in both domains."""
    return np.flatnonzero((document_frequency(source) > 0) & (document_frequency(target) > 0))


def context_words(source: sp.csr_matrix, target: sp.csr_matrix, limit: int = 1_000) -> np.ndarray:
    """Sorted columns of the ``limit`` pivots most frequent in both domains, by the smaller share of documents."""
    shares = [document_frequency(X) / max(X.shape[0], 1) for X in (source, target)]
    common = np.minimum(*shares)
    order = np.argsort(-common, kind="stable")[:limit]
    return np.sort(order[common[order] > 0])


def document_contexts(source: sp.csr_matrix, target: sp.csr_matrix, *, limit: int | None = None) -> Contexts:
    """Contexts where word order is not known: two words meet when a document holds both.

    ``limit`` context words; by default 1,000 or as many as keep the table below ten million cells.
    """
    columns = context_words(source, target, limit or min(1_000, max(50, _CELLS // source.shape[1])))
    return Contexts(columns, _meet_in_documents(source, columns), _meet_in_documents(target, columns))


def _meet_in_documents(X: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    present = (X != 0).astype(np.float32)
    return _without_self(sp.csr_matrix(present.T @ present[:, columns]), columns)


def window_contexts(
    source_tokens: Iterable[Sequence[str]],
    target_tokens: Iterable[Sequence[str]],
    vocabulary: Mapping[str, int],
    columns: np.ndarray,
    *,
    window: int = 5,
) -> Contexts:
    """Contexts from running text: two words meet when at most ``window`` tokens lie between their positions.

    Words outside ``vocabulary`` keep their place in the text but are not counted.
    """
    columns = np.asarray(columns, dtype=np.int64)
    place = np.full(len(vocabulary), -1, dtype=np.int64)
    place[columns] = np.arange(len(columns))
    sides = (_meet_in_windows(tokens, vocabulary, place, columns, window) for tokens in (source_tokens, target_tokens))
    return Contexts(columns, *sides)


def _meet_in_windows(documents, vocabulary, place, columns, window) -> sp.csr_matrix:
    documents = list(documents)
    total = sp.csr_matrix((len(vocabulary), len(columns)))
    for block in row_blocks(len(documents), _BLOCK_DOCUMENTS):
        rows = [[vocabulary.get(token, -1) for token in tokens] for tokens in documents[block]]
        # Padding between documents, so that no window reaches into the next one.
        words = np.array([word for row in rows for word in (*row, *([-1] * window))], dtype=np.int64)
        total = total + _count_pairs(words, place, total.shape, window)
    return _without_self(total, columns)


def _count_pairs(words: np.ndarray, place: np.ndarray, shape: tuple[int, int], window: int) -> sp.csr_matrix:
    rows, columns = [], []
    for distance in range(1, window + 1):
        left, right = words[:-distance], words[distance:]
        for word, other in ((left, right), (right, left)):
            met = (word >= 0) & (other >= 0)
            met[met] = place[other[met]] >= 0
            rows.append(word[met])
            columns.append(place[other[met]])
    row, column = np.concatenate(rows), np.concatenate(columns)
    return sp.coo_matrix((np.ones(len(row)), (row, column)), shape=shape).tocsr()


def _without_self(contexts: sp.csr_matrix, columns: np.ndarray) -> sp.csr_matrix:
    """Remove the counts of a word next to itself: a word is not its own context."""
    contexts = contexts.astype(np.float64)
    rows = np.repeat(np.arange(contexts.shape[0]), np.diff(contexts.indptr))
    contexts.data[columns[contexts.indices] == rows] = 0.0
    contexts.eliminate_zeros()
    return contexts


def weigh_contexts(contexts: sp.csr_matrix) -> sp.csr_matrix:
    """Return tf-idf rows of log(1 + count): a context word that occurs with every word distinguishes none."""
    used = int(np.count_nonzero(np.diff(contexts.indptr)))
    idf = smooth_idf(document_frequency(contexts), used)
    weighed = contexts.copy()
    weighed.data = np.log1p(weighed.data) * idf[weighed.indices]
    return weighed


def pivot_weights(contexts: Contexts, pivots: np.ndarray, *, smoothing: float = 0.1) -> np.ndarray:
    """How far each pivot keeps the same company in both domains: (cosine + λ) / (1 + λ).

    λ keeps rare pivots, whose few contexts need not overlap, from being switched off.
    """
    source, target = (weigh_contexts(side)[pivots] for side in (contexts.source, contexts.target))
    products = np.asarray(source.multiply(target).sum(axis=1)).ravel()
    lengths = [np.sqrt(np.asarray(side.multiply(side).sum(axis=1)).ravel()) for side in (source, target)]
    length = lengths[0] * lengths[1]
    cosine = np.divide(products, length, out=np.zeros(len(pivots)), where=length > 0)
    return (cosine + smoothing) / (1.0 + smoothing)


def projection_matrix(contexts: sp.csr_matrix, columns: np.ndarray, pivots: np.ndarray) -> sp.csr_matrix:
    """How the weight of every non-pivot word is spread over pivots: rows of weighted contexts that sum to one.

    Rows are words, empty for pivots and words without context; columns are positions in ``pivots``. Contexts may have
    been counted on further documents, so context words that are not pivots here are left out.
    """
    n_words = contexts.shape[0]
    columns = np.asarray(columns, dtype=np.int64)
    shared = np.isin(columns, pivots)
    if not shared.all():
        columns, contexts = columns[shared], contexts[:, shared]
    weighed = weigh_contexts(contexts)
    outside = np.ones(n_words, dtype=bool)
    outside[pivots] = False
    sums = np.asarray(weighed.sum(axis=1)).ravel()
    scale = np.where(outside & (sums > 0), 1.0 / np.where(sums > 0, sums, 1.0), 0.0)
    spread = sp.csr_matrix(sp.diags(scale) @ weighed)
    spread.eliminate_zeros()
    to_pivot = sp.csr_matrix(
        (np.ones(len(columns)), (np.arange(len(columns)), np.searchsorted(pivots, columns))),
        shape=(len(columns), len(pivots)),
    )
    return sp.csr_matrix(spread @ to_pivot)
