"""Where what was made of a block is kept between passes: in memory, or in a folder that all workers see."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

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

    def stretch(self, name: str, key: str, start: int, stop: int) -> np.ndarray:
        return self._held[name][key][start:stop]

    def drop(self, folder: str) -> None:
        """Forget everything whose name begins with this folder."""
        for name in [name for name in self._held if name.startswith(folder + "/")]:
            del self._held[name]

    def clear(self) -> None:
        self._held.clear()


class FolderStore:
    """Arrays by name, a file each; a file appears whole or not at all, so a worker may be killed at any moment.

    A file is one line of JSON (kind, shape and place of every array) and the bytes of the arrays: reading it is one
    read, and a stretch of one array can be read by itself.
    """

    def __init__(self, folder: str | Path):
        self.folder = str(folder)

    def path(self, name: str) -> Path:
        return Path(self.folder, name + ".arrays")

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        with whole_file(self.path(name)) as part, open(part, "wb") as out:
            write_arrays(out, arrays)

    def load(self, name: str) -> Mapping[str, np.ndarray]:
        with self._open(name) as (file, places):
            size = max(stop for *_, stop in places.values())
            content = bytearray(size)
            if file.readinto(content) < size:
                raise self._trouble("its file is cut short")
        return {
            key: np.ndarray(tuple(shape), dtype, buffer=content, offset=start)
            for key, (dtype, shape, start, _) in places.items()
        }

    def stretch(self, name: str, key: str, start: int, stop: int) -> np.ndarray:
        """Elements ``start`` to ``stop`` of one array that has one dimension."""
        with self._open(name) as (file, places):
            dtype, _, first, _ = places[key]
            size = np.dtype(dtype).itemsize
            file.seek(first + start * size, os.SEEK_CUR)
            return np.ndarray((stop - start,), dtype, buffer=bytearray(file.read((stop - start) * size)))

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[Any, dict[str, tuple]]]:
        try:
            with open(self.path(name), "rb") as file:
                yield file, json.loads(file.readline())
        except (OSError, ValueError) as error:
            raise self._trouble(error) from None

    def _trouble(self, why: Any) -> DataError:
        return DataError(
            f"What the run made of a block cannot be read ({why}); run it again with --resume.", code="file-trouble"
        )

    def drop(self, folder: str) -> None:
        shutil.rmtree(Path(self.folder, folder), ignore_errors=True)

    def clear(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def write_arrays(out: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Arrays as :class:`FolderStore` keeps them; each begins at a multiple of eight bytes."""
    places, at = {}, 0
    for key, array in arrays.items():
        places[key] = (array.dtype.str, array.shape, at, at + array.nbytes)
        at += -(-array.nbytes // 8) * 8
    out.write(json.dumps(places).encode() + b"\n")
    for array in arrays.values():
        out.write(np.ascontiguousarray(array).data)
        out.write(bytes(-array.nbytes % 8))


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


def pack(value: Any) -> np.ndarray:
    """Any value as bytes, for the run's own folder; it is never read from elsewhere."""
    return np.frombuffer(pickle.dumps(value, protocol=5), dtype=np.uint8)


def unpack(packed: np.ndarray) -> Any:
    return pickle.loads(packed.tobytes())
