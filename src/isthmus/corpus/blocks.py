"""Which files can be read block by block, and their bytes, unpacked."""

from __future__ import annotations

import gzip
from pathlib import Path

_ENDINGS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HEAD_BYTES = 1 << 20  # what encoding, separator and columns are guessed from


def can_stream(path: str | Path) -> bool:
    """Whether the file's ending names a format that can be read block by block."""
    return _kind(Path(path)) is not None


def _kind(path: Path) -> str | None:
    endings = [ending.lower() for ending in path.suffixes]
    if endings and endings[-1] == ".gz":
        endings.pop()
    return _ENDINGS.get(endings[-1]) if endings else None


def _open_bytes(path: Path):
    return gzip.open(path, "rb") if path.suffix.lower() == ".gz" else path.open("rb")
