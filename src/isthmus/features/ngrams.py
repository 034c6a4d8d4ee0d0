"""Character n-grams as integers.

Up to three code points fit into one 63-bit integer (21 bits each), so a collection of texts becomes one array of keys;
sorting does the rest. This is many times faster than slicing strings, and exact.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from isthmus.features.spelling import fold_width

BITS = 21
MAX_LENGTH = 3


def code_points(texts: Sequence[str], *, lowercase: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """All characters but white space as one array of code points, and the document each belongs to."""
    cleaned = ["".join((text.lower() if lowercase else text).split()) for text in texts]
    joined = "".join(cleaned)
    # "surrogatepass": a lone surrogate in broken input is a character like any other here
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)
    document = np.repeat(np.arange(len(cleaned), dtype=np.int64), [len(text) for text in cleaned])
    return points, document


def ngram_keys(
    texts: Sequence[str], lengths: Sequence[int], *, lowercase: bool = True, words_only: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Keys of all n-grams of the given lengths (each at most 3), and the document of each.

    White space is dropped, so that segmented and unsegmented Chinese give the same n-grams. With ``words_only``
    n-grams that hold anything but letters and digits are dropped, so punctuation separates.
    """
    if words_only:
        texts = [fold_width(text) for text in texts]
    points, document = code_points(texts, lowercase=lowercase)
    usable = np.ones(len(points), dtype=bool)
    if words_only and len(points):
        distinct, where = np.unique(points, return_inverse=True)
        usable = np.array([_is_letter(chr(point)) for point in distinct], dtype=bool)[where]
    keys, documents = [], []
    for length in lengths:
        end = len(points) - length + 1
        if end <= 0:
            continue
        key = np.zeros(end, dtype=np.int64)
        good = document[:end] == document[length - 1 :]
        for offset in range(length):
            # one is added so that a 1-gram and a 2-gram that starts with NUL cannot share a key
            key = (key << BITS) | (points[offset : offset + end] + 1)
            good &= usable[offset : offset + end]
        keys.append(key[good])
        documents.append(document[:end][good])
    if not keys:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    return np.concatenate(keys), np.concatenate(documents)


def _is_letter(character: str) -> bool:
    # Thai, Lao, Khmer and Burmese vowels are marks, not letters.
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def key_names(keys: np.ndarray) -> np.ndarray:
    """The n-grams themselves, as strings."""
    mask = (1 << BITS) - 1
    parts = [(keys >> (BITS * place)) & mask for place in reversed(range(MAX_LENGTH))]
    return np.array(
        ["".join(chr(point - 1) for point in triple if point) for triple in zip(*parts, strict=True)], dtype=object
    )
