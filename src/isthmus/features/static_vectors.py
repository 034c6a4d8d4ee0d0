"""Static word vectors, read as data from an installed package. Needs numpy and scipy.sparse, and what cuts words."""

from __future__ import annotations

import functools
import importlib.util
import json
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from isthmus._math.rows import row_blocks
from isthmus._progress import progress
from isthmus._utils import import_optional
from isthmus.exceptions import DataError, MissingExtraError
from isthmus.features.counting import numbering, take_runs

STATIC = "static"
_BLOCK = 5_000  # texts in one go; memory for words grows with a block, not with the collection
_BLANK = "\u2581"  # what the tokenizer writes for a blank
_LINE, _MANY = 200, 2_000  # words that are cut as one line, where there are so many of them


class StaticEmbedder:
    """Mean of token vectors, read from the files of the installed package ``wordllama`` (which is not imported)."""

    name = STATIC

    def __init__(self, weights: Path, tokenizer: Path):
        self._weights, self._tokenizer_file = weights, tokenizer
        self.fingerprint = f"{weights.stem}-{weights.stat().st_size}"

    @functools.cached_property
    def _table(self) -> np.ndarray:
        return read_safetensors(self._weights)

    @functools.cached_property
    def _tokenizer(self) -> Any:
        tokenizer = import_optional("tokenizers", "The view 'static'", extra="embed").Tokenizer
        reader = tokenizer.from_file(str(self._tokenizer_file))
        reader.no_padding()
        reader.no_truncation()
        return reader

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Return the mean token vector of each text."""
        vectors = np.empty((len(texts), self._table.shape[1]), dtype=np.float32)
        words = _WordTokens(self._tokenizer)
        for block in row_blocks(len(texts), _BLOCK):
            vectors[block] = self._embed(texts[block], words)
            progress("reading word vectors", block.stop, len(texts))
        return vectors

    def _embed(self, texts: list[str], words: _WordTokens) -> np.ndarray:
        """Compute the mean over a text's tokens as a sum over its distinct words, each of which is looked up once."""
        numbers, ends = words.read(texts)
        used = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=bool)
        used[numbers] = True
        distinct, columns = np.flatnonzero(used), (np.cumsum(used) - 1)[numbers]
        counts = sp.csr_matrix((np.ones(len(columns), np.float32), columns, ends), shape=(len(texts), len(distinct)))
        tokens, word_ends = words.take(distinct)
        shape = len(distinct), len(self._table)
        sums = sp.csr_matrix((np.ones(len(tokens), np.float32), tokens, word_ends), shape=shape) @ self._table
        totals = counts @ np.diff(word_ends).astype(np.float32)
        return np.asarray(counts @ sums) / np.maximum(totals, 1.0)[:, None]


def need_static() -> StaticEmbedder:
    """Return the packaged vectors, or refuse with one sentence that explains how to install them."""
    found = find_static()
    if found is None:
        raise MissingExtraError(
            "Static vectors need the package wordllama; install it with: pip install 'isthmus[embed]'.",
            code="missing-extra",
        )
    return found


class _WordTokens:
    """Tokens of every distinct word met so far, as numbers: a word that comes again is not cut again."""

    def __init__(self, tokenizer: Any):
        self._tokenizer = tokenizer
        self._index = numbering()
        self._tokens, self._ends = np.zeros(0, np.int32), np.zeros(1, np.int64)

    def read(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the words, one text after another, and where each text ends, 0 first."""
        rows = [np.fromiter(map(self._index.__getitem__, text.split()), np.int32) for text in texts]
        fresh = list(islice(self._index, len(self._ends) - 1, None))
        if fresh:
            tokens, lengths = self._cut(fresh)
            self._tokens = np.concatenate([self._tokens, tokens])
            self._ends = np.concatenate([self._ends, self._ends[-1] + np.cumsum(lengths)])
        return np.concatenate([np.zeros(0, np.int32), *rows]), np.cumsum([0, *map(len, rows)])

    def _cut(self, words: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of some words, one word after another, and how many each has.

        Many words are cut as one line, in a third of the time: a word begins with the sign of a blank, which no token
        has behind a letter. Not so where a word has that sign, or what may be a token by its name.
        """
        size = _LINE if len(words) > _MANY else 1
        parts: list[str] = []
        for start in range(0, len(words), size):
            line = " ".join(words[start : start + size])
            parts += words[start : start + size] if _BLANK in line or "<" in line else [line]
        whole = [part.encode("utf-8", "replace").decode() for part in parts]  # halves of surrogates are no text
        # Places within the text are not needed.
        encode = getattr(self._tokenizer, "encode_batch_fast", self._tokenizer.encode_batch)
        found = [np.array(encoding.ids, np.int32) for encoding in encode(whole, add_special_tokens=False)]
        lengths = [
            np.diff(np.flatnonzero(self._begins[tokens]), append=len(tokens)) if " " in part else [len(tokens)]
            for part, tokens in zip(parts, found, strict=True)
        ]
        return np.concatenate(found), np.concatenate(lengths)

    @functools.cached_property
    def _begins(self) -> np.ndarray:
        begins = np.zeros(self._tokenizer.get_vocab_size(), dtype=bool)
        begins[[number for token, number in self._tokenizer.get_vocab().items() if token.startswith(_BLANK)]] = True
        return begins

    def take(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of some words, one word after another, and where each word ends, 0 first."""
        places, ends = take_runs(self._ends, words)
        return self._tokens[places], ends


def read_safetensors(path: Path) -> np.ndarray:
    """Read the one matrix of a safetensors file as float32: a length, a JSON header, raw numbers."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        body = file.read()
    tensors = [entry for name, entry in header.items() if name != "__metadata__"]
    if len(tensors) != 1 or tensors[0]["dtype"] not in ("F16", "F32"):
        raise DataError(f"{path.name!r} holds no single matrix of numbers; reinstall its package.", code="bad-model")
    kind = np.float16 if tensors[0]["dtype"] == "F16" else np.float32
    start, end = tensors[0]["data_offsets"]
    return np.frombuffer(body[start:end], dtype=kind).reshape(tensors[0]["shape"]).astype(np.float32)


@functools.lru_cache(maxsize=1)
def find_static() -> StaticEmbedder | None:
    """Return the packaged vectors, or None if a package is missing."""
    files = package_file(
        "wordllama", "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
    )
    ready = files is not None and importlib.util.find_spec("tokenizers") is not None
    return StaticEmbedder(*files) if files is not None and ready else None


def package_file(package: str, *names: str) -> list[Path] | None:
    """Files of an installed package, found without importing it; None where one is missing."""
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        paths = [Path(folder) / name for name in names]
        if all(path.exists() for path in paths):
            return paths
    return None
