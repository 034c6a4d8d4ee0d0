"""Where what was made of a block is kept between passes: in memory, or in a folder that all workers see."""

from __future__ import annotations

import json
import math
import os
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

    resumed = False

    def __init__(self) -> None:
        self._held: dict[str, dict[str, np.ndarray]] = {}

    def has(self, name: str) -> bool:
        return name in self._held

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        self._held[name] = dict(arrays)

    def load(self, name: str) -> Mapping[str, np.ndarray]:
        return self._held[name]

    def read_slice(self, name: str, key: str, start: int, stop: int) -> np.ndarray:
        return self._held[name][key][start:stop]

    def drop(self, folder: str) -> None:
        """Forget everything whose name begins with this folder."""
        for name in [name for name in self._held if name.startswith(folder + "/")]:
            del self._held[name]


class FolderStore:
    """Arrays by name, a file each, whole or not at all: a worker may be killed at any moment.

    A file holds the names of its arrays, then each in numpy's format, so that a slice of one can be read. Nothing is
    ever unpickled; a damaged or foreign file is refused. ``resumed``: files of a stopped run may lie there, so what is
    read is looked at before loops run over it.
    """

    def __init__(self, folder: str | Path, resumed: bool = False):
        self.folder = str(folder)
        self.resumed = resumed

    def path(self, name: str) -> Path:
        return Path(self.folder, name + ".npy")

    def has(self, name: str) -> bool:
        return self.path(name).is_file()

    def save(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        with whole_file(self.path(name)) as part, open(part, "wb") as out:
            write_arrays(out, arrays)

    def load(self, name: str) -> Mapping[str, np.ndarray]:
        with self._open(name) as (file, size):
            names = _read_array(file, *_read_header(file, size)).tolist()
            return {str(key): _read_array(file, *_read_header(file, size)) for key in names}

    def read_slice(self, name: str, key: str, start: int, stop: int) -> np.ndarray:
        """Elements ``start`` to ``stop`` of one array that has one dimension."""
        with self._open(name) as (file, size):
            names = _read_array(file, *_read_header(file, size)).tolist()
            for _ in range(names.index(key)):
                dtype, shape = _read_header(file, size)
                file.seek(math.prod(shape) * dtype.itemsize, os.SEEK_CUR)
            dtype, (length,) = _read_header(file, size)
            if not 0 <= start <= stop <= length:
                raise ValueError(f"{key} has {length} elements, {start} to {stop} were asked for")
            file.seek(start * dtype.itemsize, os.SEEK_CUR)
            return _read_array(file, dtype, (stop - start,))

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[Any, int]]:
        try:
            with open(self.path(name), "rb") as file:
                yield file, os.fstat(file.fileno()).st_size
        except (OSError, ValueError, TypeError) as error:
            raise damaged(f"{name}.npy", error) from None

    def drop(self, folder: str) -> None:
        shutil.rmtree(Path(self.folder, folder), ignore_errors=True)


def write_arrays(out: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """Names of arrays and the arrays themselves, one behind the other."""
    for array in (np.array(list(arrays)), *arrays.values()):
        np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def _read_header(file: Any, size: int) -> tuple[np.dtype, tuple[int, ...]]:
    """Type and shape of the array that begins here, checked against the file's size."""
    if np.lib.format.read_magic(file) != (1, 0):
        raise ValueError("written by another program")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.hasobject or fortran:
        raise ValueError("written by another program")
    if any(length < 0 for length in shape) or file.tell() + math.prod(shape) * dtype.itemsize > size:
        raise ValueError("cut short")
    return dtype, shape


def _read_array(file: Any, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(shape, dtype)
    file.readinto(array.reshape(-1).view(np.uint8))
    return array


def damaged(name: str, why: Any) -> DataError:
    """A file in the run's folder that this run cannot have written."""
    return DataError(
        f"{name!r} in the folder of the stopped run cannot be used ({why}); start again with force=True.",
        code="file-trouble",
    )


Store = MemoryStore | FolderStore


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden file beside ``path`` that takes its place when the block ends well."""
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
    return DataError(
        f"{str(path)!r} cannot be written ({error.strerror or error}); nothing half-written is left. Make room or "
        "permission, then continue with resume=True.",
        code="file-trouble",
    )


def pack(value: Any) -> np.ndarray:
    """A value that JSON can hold, as bytes."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def unpack(packed: np.ndarray) -> Any:
    """What :func:`pack` was given, tuples as lists."""
    try:
        return json.loads(packed.tobytes())
    except ValueError as error:
        raise damaged("facts", error) from None
