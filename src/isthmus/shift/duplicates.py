"""Documents of the target that nearly repeat a document of the source: by shared runs of words, never pair by pair."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isthmus._math.content import mixed_bits

RUN = 8  # words; two people hardly write the same eight words in a row by chance
SHARE = 0.5  # of a document's runs that must occur in the other one
BOILERPLATE = 50  # a run in more source documents than this is a form or a signature, not a copy
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def run_hashes(tokens: Sequence[np.ndarray], *, run: int = RUN) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of all runs of ``run`` words, and the document of each, every pair once; a shorter document is one run."""
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
        # Horner: the hash is a polynomial in the words of the run; places past the document's end add nothing.
        inside = left > offset
        hashes *= _MULTIPLIER
        hashes[inside] += words[np.flatnonzero(inside) + offset]
    whole = (left >= run) | (place == 0)
    hashes, document = hashes[whole], document[whole]
    order = np.argsort(hashes, kind="stable")  # documents stay in order within a hash, so repeats lie side by side
    hashes, document = hashes[order], document[order]
    fresh = np.concatenate([[True], (hashes[1:] != hashes[:-1]) | (document[1:] != document[:-1])])
    return hashes[fresh], document[fresh]


def near_duplicates(
    source_tokens: Sequence[np.ndarray], target_tokens: Sequence[np.ndarray], *, run: int = RUN, share: float = SHARE
) -> list[dict]:
    """Target documents of whose runs of words at least ``share`` occur in one source document.

    Sorting and merging, so the cost grows with the number of words, not of pairs.

    Returns
    -------
    list of dict
        ``target`` and ``source`` (row numbers) and ``share``, one per target document, best match first.

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
    # Whole short documents ("ok", "no comment") are copies all the same, however many there are: one match suffices.
    many = high - low > BOILERPLATE
    high = np.where(many & (n_runs[target_document] > 1), low, np.where(many, low + 1, high))
    width = high - low
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
