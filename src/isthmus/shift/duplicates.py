"""Find target documents that nearly repeat a source document, by the runs of words that they share.

Runs are sorted and merged, so no pair of documents is compared directly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._math.content import mixed_bits
from isthmus._math.fitted import fitted

# Fitted constants; ``choose/trust.json`` states their units and origin.
COPIES = fitted("duplicates")

# Odd multiplier of the polynomial hash (2^64 divided by the golden ratio).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def run_hashes(tokens: Sequence[np.ndarray], *, run: int = COPIES["run"]) -> tuple[np.ndarray, np.ndarray]:
    """Return the hashes of all runs of ``run`` words, each with the document in which it occurs.

    Parameters
    ----------
    tokens : sequence of ndarray of int
        Word numbers of each document, in order.
    run : int
        Words of a run. A shorter document counts as one run.

    Returns
    -------
    hashes : ndarray of uint64, shape (n_runs,)
        Sorted; a run that a document repeats is returned once.
    documents : ndarray of int, shape (n_runs,)
        Row number of the document of each run.
    """
    lengths = np.array([len(row) for row in tokens], dtype=np.int64)
    if not lengths.sum():
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.int64)
    words = mixed_bits(np.concatenate(tokens).astype(np.uint64) + np.uint64(1))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    document = np.repeat(np.arange(len(tokens)), lengths)
    place = np.arange(len(words)) - starts[document]
    left = lengths[document] - place
    hashes = np.zeros(len(words), dtype=np.uint64)
    for offset in range(run):
        # Horner's rule: the hash is a polynomial in the words of the run. Positions after the document's end add
        # nothing.
        inside = left > offset
        hashes *= _MULTIPLIER
        hashes[inside] += words[np.flatnonzero(inside) + offset]
    whole = (left >= run) | (place == 0)
    hashes, document = hashes[whole], document[whole]
    order = np.argsort(hashes, kind="stable")  # stable: documents stay in order within a hash, so repeats are adjacent
    hashes, document = hashes[order], document[order]
    fresh = np.concatenate([[True], (hashes[1:] != hashes[:-1]) | (document[1:] != document[:-1])])
    return hashes[fresh], document[fresh]


def near_duplicates(
    source_tokens: Sequence[np.ndarray],
    target_tokens: Sequence[np.ndarray],
    *,
    run: int = COPIES["run"],
    share: float = COPIES["share"],
) -> list[dict]:
    """List the target documents of which at least a ``share`` of the runs of words occurs in one source document.

    The cost grows with the number of words, not with the number of pairs of documents.

    Parameters
    ----------
    source_tokens, target_tokens : sequence of ndarray of int
        Word numbers of each document, in order, over one vocabulary.
    run : int
        Words of a run.
    share : float
        Proportion of the target document's runs that must occur in the source document.

    Returns
    -------
    list of dict
        ``target`` and ``source`` (row numbers) and ``share``, one row per target document, best match first.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.shift.duplicates import near_duplicates
    >>> near_duplicates([np.arange(20)], [np.arange(20, 40), np.arange(2, 20)])
    [{'target': 1, 'source': 0, 'share': 1.0}]
    """
    source_hash, source_document = run_hashes(source_tokens, run=run)
    target_hash, target_document = run_hashes(target_tokens, run=run)
    if not len(source_hash) or not len(target_hash):
        return []
    low = np.searchsorted(source_hash, target_hash, side="left")  # run_hashes sorts by hash
    high = np.searchsorted(source_hash, target_hash, side="right")
    n_runs = np.bincount(target_document, minlength=len(target_tokens))
    # Short documents ("ok", "no comment") that occur in many source documents are copies, too. One match is enough.
    many = high - low > COPIES["boilerplate"]
    high = np.where(many & (n_runs[target_document] > 1), low, np.where(many, low + 1, high))
    width = high - low
    # Enumerate all pairs of a target run and an equal source run without a Python loop.
    at = np.repeat(low - np.concatenate([[0], np.cumsum(width)[:-1]]), width) + np.arange(width.sum())
    n_source = len(source_tokens)
    pair, shared = np.unique(np.repeat(target_document, width) * n_source + source_document[at], return_counts=True)
    target, source = np.divmod(pair, n_source)
    part = shared / n_runs[target]
    order = np.lexsort((source, -part, target))
    _, first = np.unique(target[order], return_index=True)
    best = order[first]
    best = best[part[best] >= share]
    best = best[np.argsort(-part[best], kind="stable")]
    return [{"target": int(target[i]), "source": int(source[i]), "share": round(float(part[i]), 4)} for i in best]
