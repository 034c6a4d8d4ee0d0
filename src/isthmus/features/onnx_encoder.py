"""Run sentence encoders in ONNX format with onnxruntime and tokenizers, without PyTorch.

A folder describes an encoder: ``model.onnx``, ``tokenizer.json`` and the configuration files of sentence-transformers.
:func:`read_encoder` reads the folder; :meth:`OnnxEncoder.load` returns the function that computes vectors.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from isthmus._utils import import_optional
from isthmus.exceptions import DataError

_MODEL_FILES = ("model.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 512  # tokens per text; longer texts are cut, because attention takes quadratic time
_ENDS = 1 << 16  # bytes at both ends of a file that its fingerprint covers
# Pooling and prefix of model families whose folders often lack these settings, as their authors' model cards state.
_FAMILIES = {"e5": ("mean", "query: "), "bge": ("cls", "")}


@dataclass(frozen=True)
class OnnxEncoder:
    """A sentence encoder in ONNX format.

    Parameters
    ----------
    name : str
        Name for messages.
    model : Path
        File of the model.
    tokenizer : Path
        ``tokenizer.json``, or the ``vocab.txt`` of an uncased BERT model.
    pooling : {"mean", "cls"}
        Vector of a text: the mean of its tokens' vectors, or the vector of its first token.
    prefix : str
        Text before every document, such as "query: ".
    max_tokens : int
        Tokens of a text that the model reads.
    """

    name: str
    model: Path
    tokenizer: Path
    pooling: str = "mean"
    prefix: str = ""
    max_tokens: int = _MOST_TOKENS

    @property
    def fingerprint(self) -> str:
        """A hash that changes with the files and with each setting that affects the vectors."""
        files = ((path.name, path) for path in (self.model, self.tokenizer))
        return f"onnx-{hash_files(files, self.pooling, self.prefix, self.max_tokens)}"

    def load(self) -> Callable[[list[str]], np.ndarray]:
        """Load the model.

        Returns
        -------
        callable
            Function from a list of texts to a float32 array with one row of length 1 per text.

        Raises
        ------
        MissingExtraError
            onnxruntime or tokenizers is not installed.
        DataError
            A file is damaged, or the model needs inputs other than tokens.
        """
        purpose = f"The model {self.name!r}"
        runtime = import_optional("onnxruntime", purpose, extra="onnx")
        tokenizers = import_optional("tokenizers", purpose, extra="onnx")
        options = runtime.SessionOptions()
        # Several texts run at the same time, each in one thread, so that no result depends on the number of threads.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3  # errors only
        try:
            if self.tokenizer.suffix == ".txt":
                tokenizer = tokenizers.BertWordPieceTokenizer(str(self.tokenizer), lowercase=True)
            else:
                tokenizer = tokenizers.Tokenizer.from_file(str(self.tokenizer))
            session = runtime.InferenceSession(str(self.model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise classes of their own without a common base
            raise DataError(
                f"The encoder {self.name!r} cannot be read: {str(error)[:200]}; copy its files again.",
                code="bad-model",
            ) from None
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.max_tokens)
        needs = {entry.name: np.int32 if "int32" in entry.type else np.int64 for entry in session.get_inputs()}
        unknown = set(needs) - {"input_ids", "attention_mask", "token_type_ids", "position_ids"}
        if unknown or "input_ids" not in needs:
            raise DataError(
                f"The model of the encoder {self.name!r} has the inputs {', '.join(needs)}; give a model of a sentence "
                "encoder, with the inputs input_ids, attention_mask and perhaps token_type_ids.",
                code="bad-model",
            )
        outputs = [entry.name for entry in session.get_outputs()]
        # Some exports pool the tokens themselves and name the result sentence_embedding.
        output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]

        def encode_one(tokens: list[int]) -> np.ndarray:
            size = len(tokens)
            given = {
                "input_ids": tokens,
                "attention_mask": np.ones(size),
                "token_type_ids": np.zeros(size),
                "position_ids": np.arange(size),
            }
            (rows,) = session.run([output], {key: np.array([given[key]], kind) for key, kind in needs.items()})
            vector = rows[0] if rows.ndim == 2 else rows[0, 0] if self.pooling == "cls" else rows[0].mean(axis=0)
            return (vector / max(np.linalg.norm(vector), 1e-12)).astype(np.float32)

        def encode(texts: list[str]) -> np.ndarray:
            # Halves of surrogates are no text for the tokenizer.
            lines = [(self.prefix + text).encode("utf-8", "replace").decode() for text in texts]
            tokens = [found.ids for found in tokenizer.encode_batch(lines)]
            # Long texts first, so that all cores finish at about the same time. A batch of several texts would need
            # padding, and in quantized models a vector would then depend on the other texts of its batch.
            order = sorted(range(len(tokens)), key=lambda row: -len(tokens[row]))
            vectors: list[Any] = [None] * len(texts)
            with ThreadPoolExecutor(_cores()) as pool:
                for row, vector in zip(order, pool.map(encode_one, [tokens[row] for row in order]), strict=True):
                    vectors[row] = vector
            return np.array(vectors)

        return encode


def _cores() -> int:
    from joblib import cpu_count  # respects the limits of containers; comes with scikit-learn

    return cpu_count()


def read_encoder(name: str, folder: Path) -> OnnxEncoder | None:
    """Read the description of an encoder in a folder.

    The model is the first of ``model.onnx``, ``model_quantized.onnx``, the same names in ``onnx/``, and other files
    ``onnx/model*.onnx`` by name. Pooling is read from ``1_Pooling/config.json``, and the prefix from the default prompt
    in ``config_sentence_transformers.json``. Without these files, the names of the folder and of the model in
    ``config.json`` decide: e5 means mean pooling with the prefix "query: ", bge means the first token, and other models
    mean pooling. The number of tokens is read from ``sentence_bert_config.json`` or ``tokenizer_config.json``; it is at
    most 512.

    Parameters
    ----------
    name : str
        Name of the encoder; its last component takes part in the rule for names.
    folder : Path

    Returns
    -------
    OnnxEncoder or None
        None if the folder lacks a model in ONNX format or ``tokenizer.json``.

    Raises
    ------
    DataError
        The configuration asks for a pooling other than mean or first token.
    """
    files = [path for path in map(folder.joinpath, _MODEL_FILES) if path.is_file()]
    files += sorted((folder / "onnx").glob("model*.onnx"))
    if not files or not (folder / "tokenizer.json").is_file():
        return None
    config = _read_json(folder / "config.json")
    names = " ".join(Path(part).name for part in (name, str(config.get("_name_or_path", "")))).lower()
    families = [family for family in _FAMILIES if re.search(rf"(?<![a-z0-9]){family}(?![a-z0-9])", names)]
    pooling, prefix = _FAMILIES[families[0]] if families else ("mean", "")
    modes = [mode for mode, chosen in _read_json(folder / "1_Pooling" / "config.json").items() if chosen is True]
    modes = [mode for mode in modes if mode.startswith("pooling_mode_")]
    if modes:
        pooling = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}.get(modes[0], modes[0])
    if len(modes) > 1 or pooling not in ("mean", "cls"):
        raise DataError(
            f"The encoder {name!r} asks for the pooling {' and '.join(modes)}; only pooling_mode_mean_tokens or "
            "pooling_mode_cls_token is supported, so choose another encoder.",
            code="bad-model",
        )
    prompts = _read_json(folder / "config_sentence_transformers.json")
    if prompts.get("default_prompt_name") in (prompts.get("prompts") or {}):
        prefix = prompts["prompts"][prompts["default_prompt_name"]]
    limits = [
        _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
        or _read_json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
        _MOST_TOKENS,
    ]
    return OnnxEncoder(
        name, files[0], folder / "tokenizer.json", pooling, prefix, int(min(limit for limit in limits if limit))
    )


def _read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; a file that is missing or something else counts as empty."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def hash_files(files: Iterable[tuple[str, Path]], *settings: Any) -> str:
    """Return a hash of files and settings.

    Parameters
    ----------
    files : iterable of (str, Path)
        Names that take part in the hash, and the files.
    *settings : object
        Values that take part in the hash.

    Returns
    -------
    str
        Hash of names, sizes, the first and last 64 KB of each file, and the settings.
    """
    digest = hashlib.blake2b(digest_size=12)
    for name, path in files:
        digest.update(f"{name} {path.stat().st_size} ".encode())
        with open(path, "rb") as file:
            digest.update(file.read(_ENDS))
            file.seek(max(0, path.stat().st_size - _ENDS))
            digest.update(file.read())
    if settings:
        digest.update(repr(settings).encode())
    return digest.hexdigest()
