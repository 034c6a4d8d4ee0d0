"""Store arrays of chunks between passes, in memory or in a folder that all workers share."""

from __future__ import annotations

import json
import os
import shutil
import uuid
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from isthmus.exceptions import DataError

# Errors of numpy and zipfile about a file that a run cannot have written; a header may name an array of any size.
_UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    EOFError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
)


class MemoryStore:
    """Arrays by name, in the memory of this process."""

    resumed = False

    def __init__(self) -> None:
        self._stored: dict[str, dict[str, np.ndarray]] = {}

    def has(self, name: str) -> bool:
        """Return whether arrays are stored under a name."""
        return name in self._stored

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store arrays under a name."""
        self._stored[name] = dict(arrays)

    def load(self, name: str, *keys: str) -> Mapping[str, np.ndarray]:
        """Return the arrays with these keys, or all of them."""
        return self._stored[name]

    def drop(self, folder: str) -> None:
        """Remove all arrays whose name begins with this folder."""
        for name in [name for name in self._stored if name.startswith(folder + "/")]:
            del self._stored[name]


class FolderStore:
    """Arrays by name, one npz file each, which appears only when it is complete: a worker may be killed at any moment.

    Nothing is unpickled; a damaged file is refused.

    Parameters
    ----------
    folder : path
    resumed : bool
        Whether the folder may hold files of a stopped run. Their numbers are checked before compiled loops read them.
    """

    def __init__(self, folder: str | Path, resumed: bool = False):
        self.folder = str(folder)
        self.resumed = resumed

    def path(self, name: str) -> Path:
        """Return the file of a name."""
        return Path(self.folder, name + ".npz")

    def has(self, name: str) -> bool:
        """Return whether arrays are stored under a name."""
        return self.path(name).is_file()

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Store arrays under a name."""
        # An open file, because numpy adds an ending to a name.
        with whole_file(self.path(name)) as part, open(part, "wb") as out:
            np.savez(out, **arrays)  # type: ignore[arg-type]  # no array is named allow_pickle

    def load(self, name: str, *keys: str) -> Mapping[str, np.ndarray]:
        """Return the arrays with these keys, or all of them."""
        try:
            with open(self.path(name), "rb") as file, np.load(file, allow_pickle=False) as stored:
                return {key: stored[key].view() for key in keys or stored.files}  # a part that is no array has no view
        except _UNREADABLE as error:
            raise damaged(f"{name}.npz", error) from None

    def drop(self, folder: str) -> None:
        """Remove all arrays whose name begins with this folder."""
        shutil.rmtree(Path(self.folder, folder), ignore_errors=True)


def damaged(name: str, why: Any) -> DataError:
    """Return the error for a file in the folder of the run that this run cannot have written."""
    return DataError(
        f"{name!r} in the folder of the stopped run cannot be used ({why}); start again with force=True.",
        code="file-trouble",
    )


Store = MemoryStore | FolderStore


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a hidden file next to ``path`` that replaces it when the block ends without an error."""
    # In the same folder, because a file can only be renamed within one file system.
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield part
        os.replace(part, path)
    except OSError as error:
        raise trouble(path, error) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def trouble(path: Path, error: OSError) -> DataError:
    """Return the error for a file that cannot be written."""
    return DataError(
        f"{str(path)!r} cannot be written ({error.strerror or error}); nothing half-written is left. Make room or "
        "permission, then continue with resume=True.",
        code="file-trouble",
    )


def pack(value: Any) -> np.ndarray:
    """Return a value that JSON supports, as an array of bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpack(packed: np.ndarray) -> Any:
    """Return the value that :func:`pack` was given, with lists for tuples."""
    try:
        return json.loads(packed.tobytes())
    except ValueError as error:
        raise damaged("facts", error) from None
