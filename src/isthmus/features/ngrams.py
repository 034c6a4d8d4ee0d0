"""Characters of texts as integers: n-grams as keys, and whole texts as one array of code points."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np

from isthmus._utils import warn
from isthmus.features.spelling import fold_width

# -- Character n-grams as integers
# Up to three code points fit into one 63-bit integer (21 bits each): many times faster than slicing strings, and exact.


BITS = 21  # bits of a code point plus one; the largest code point is 0x10FFFF
MAX_LENGTH = 3  # characters that fit into one key of 63 bits


_LETTER, _SPACE, _OTHER = 1, 2, 3
_KINDS = np.zeros(0x110000, dtype=np.uint8)  # of code points, as far as they were met; 0: not yet


def _kinds(points: np.ndarray) -> np.ndarray:
    kinds = _KINDS[points]
    if not kinds.all():
        for point in np.unique(points[kinds == 0]).tolist():
            sign = chr(point)
            _KINDS[point] = _SPACE if sign.isspace() else _LETTER if _is_letter(sign) else _OTHER
        kinds = _KINDS[points]
    return kinds


def _narrow(text: str) -> str:
    """Full-width ASCII as ASCII: what :func:`fold_width` finds most of, in a fraction of its time."""
    if text.isascii():
        return text
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    wide = (points >= 0xFF01) & (points <= 0xFF5E)
    return (points - wide * np.uint32(0xFEE0)).tobytes().decode("utf-32-le", "surrogatepass")


def code_points(
    texts: Sequence[str], *, lowercase: bool = True, fold: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All characters but white space as one array of code points, the document each belongs to, and if it is a letter.

    The texts are worked on as one, many times as fast as one by one; no rule of Unicode looks past the line feeds
    between them. ``fold``: with :func:`isthmus.features.spelling.fold_width`.
    """
    joined = "\n".join(texts)
    if joined.count("\n") >= len(texts):
        joined = "\n".join([text.replace("\n", " ") for text in texts])
    joined = fold_width(_narrow(joined)) if fold else joined
    joined = joined.lower() if lowercase else joined
    # "surrogatepass": a lone surrogate in broken input is a character like any other here
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    # One line feed between two texts, so their number is that of the text.
    document = np.cumsum(points == ord("\n"))
    kinds = _kinds(points)
    kept = kinds != _SPACE
    return points[kept].astype(np.int64), document[kept], kinds[kept] == _LETTER


def ngram_keys(
    texts: Sequence[str], lengths: Sequence[int], *, lowercase: bool = True, words_only: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Keys of all n-grams of the given lengths (each at most 3), and the document of each.

    White space is dropped, so that segmented and unsegmented Chinese give the same n-grams. With ``words_only``
    punctuation separates.
    """
    points, document, usable = code_points(texts, lowercase=lowercase, fold=words_only)
    if not words_only:
        usable = np.ones(len(points), dtype=bool)
    keys, documents = [], []
    for length in lengths:
        end = len(points) - length + 1
        if end <= 0:
            continue
        key = np.zeros(end, dtype=np.int64)
        # An n-gram must not reach into the next text.
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
    """Return the characters of each key as a string."""
    mask = (1 << BITS) - 1
    parts = [(keys >> (BITS * place)) & mask for place in reversed(range(MAX_LENGTH))]
    return np.array(
        ["".join(chr(point - 1) for point in triple if point) for triple in zip(*parts, strict=True)], dtype=object
    )


# -- Whole texts, as string kernels compare them


def prepare_text(text: str, *, lowercase: bool = True, squeeze: bool = True) -> str:
    """Return a text in lower case, with single blanks, as the options ask."""
    text = text.lower() if lowercase else text
    return " ".join(text.split()) if squeeze else text


def encode_texts(
    texts: Sequence[str], shortest: int, *, lowercase: bool = True, squeeze: bool = True, known: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Code points of all texts and where each begins.

    Warns of texts without any n-gram of ``shortest`` characters, but for the first ``known``.
    """
    texts = [prepare_text(text, lowercase=lowercase, squeeze=squeeze) for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(text) for text in texts], out=offsets[1:])
    short = int(np.sum(np.diff(offsets)[known:] < shortest))
    if short:
        warn(
            f"{short} of {len(texts) - known} texts are shorter than the shortest n-gram ({shortest} characters); "
            "they are kept, but resemble no other text. Methods that count words can use them.",
            code="empty-documents",
        )
    # A lone surrogate is no valid text but occurs in scraped data; it is a symbol like any other here.
    return np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype="<u4"), offsets
