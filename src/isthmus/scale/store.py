"""Where what was made of a block is kept between passes: in memory, or in a folder that all workers see."""

from __future__ import annotations

import os
import pickle
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import DataError


class MemoryStore:
    """Arrays by name, in this process."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, np.ndarray]] = {}

    def has(self, name: str) -> bool:
        return name in self._held

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self._held[name] = dict(arrays)

    def load(self, name: str) -> Mapping[str, np.ndarray]:
        return self._held[name]

    def clear(self) -> None:
        self._held.clear()


class FolderStore:
    """Arrays by name, a file each; a file appears whole or not at all, so a worker may be killed at any moment."""

    def __init__(self, folder: str | Path):
        self.folder = str(folder)

    def path(self, name: str) -> Path:
        return Path(self.folder, name + ".npz")

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        path = self.path(name)
        with whole_file(path) as part, open(part, "wb") as out:
            np.savez(out, **arrays)  # type: ignore[arg-type]

    def load(self, name: str) -> Mapping[str, np.ndarray]:
        try:
            with np.load(self.path(name)) as held:
                return {key: held[key] for key in held.files}
        except OSError as error:
            raise DataError(
                f"What the run made of a block cannot be read ({error}); run it again with --resume.",
                code="file-trouble",
            ) from None

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


Store = MemoryStore | FolderStore


class whole_file:
    """A hidden file beside ``path`` that takes its place when the block ends well; errors become one sentence."""

    def __init__(self, path: Path):
        self.path = path
        self.part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.part")

    def __enter__(self) -> Path:
        self._guard(lambda: self.path.parent.mkdir(parents=True, exist_ok=True))
        return self.part

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self._guard(lambda: os.replace(self.part, self.path))
            return
        with suppress(OSError):
            os.unlink(self.part)
        if isinstance(error, OSError):
            raise trouble(self.path, error) from None

    def _guard(self, step: Any) -> None:
        try:
            step()
        except OSError as error:
            with suppress(OSError):
                os.unlink(self.part)
            raise trouble(self.path, error) from None


def trouble(path: Path, error: OSError) -> DataError:
    """What the system said about a file that could not be written."""
    return DataError(
        f"{str(path)!r} cannot be written ({error.strerror or error}); nothing half-written is left. Make room or "
        "permission, then continue with --resume.",
        code="file-trouble",
    )


def pack_texts(texts: list[str]) -> np.ndarray:
    """Strings without line feeds as one array of bytes."""
    return np.frombuffer("\n".join(texts).encode("utf-8", "surrogatepass"), dtype=np.uint8)


def unpack_texts(packed: np.ndarray) -> list[str]:
    """Strings of :func:`pack_texts`; there is no telling no string from one empty string, and terms are never empty."""
    text = packed.tobytes().decode("utf-8", "surrogatepass")
    return text.split("\n") if text else []


def pack(value: Any) -> np.ndarray:
    """Any value as bytes, for the run's own folder; it is never read from elsewhere."""
    return np.frombuffer(pickle.dumps(value, protocol=5), dtype=np.uint8)


def unpack(packed: np.ndarray) -> Any:
    return pickle.loads(packed.tobytes())
