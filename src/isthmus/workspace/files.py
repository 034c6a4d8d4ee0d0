"""Uploaded files, kept by the hash of their content: one copy of each, named by nothing a client said."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from isthmus.exceptions import DataError

MAX_UPLOAD = 512 * 2**20
_CHUNK = 1 << 20
_DAY = 24 * 3600
_SHA = re.compile(r"[0-9a-f]{64}")
_ENDING = re.compile(r"(\.[a-z0-9]{1,8})(\.gz)?", re.ASCII)


@dataclass(frozen=True)
class Arrival:
    """A file that was sent and is not part of the store yet."""

    path: Path
    sha256: str
    size: int
    place: Path

    def keep(self) -> None:
        """Put it into the store: there whole, on the disk, or not at all."""
        self.place.parent.mkdir(exist_ok=True)
        os.replace(self.path, self.place)


class FileStore:
    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """Where a file lies; the hash is checked, so that nothing else can be reached."""
        if not _SHA.fullmatch(sha256):
            raise DataError("The hash of the file is damaged; run isthmus workspace check.", code="bad-workspace")
        return self.folder / sha256[:2] / sha256

    @contextmanager
    def receive(self, stream: IO[bytes], *, limit: int = MAX_UPLOAD) -> Iterator[Arrival]:
        """Copy a stream to the disk, to be looked at; without :meth:`Arrival.keep` the copy is gone again."""
        digest = hashlib.sha256()
        size = 0
        handle, name = tempfile.mkstemp(prefix="incoming-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as out:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise DataError(
                            f"The file is larger than {limit / 2**20:,.0f} MiB, the largest size accepted; "
                            "split it, or leave out columns that are not needed.",
                            code="too-large",
                        )
                    digest.update(chunk)
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            yield Arrival(Path(name), digest.hexdigest(), size, self.path(digest.hexdigest()))
        finally:
            Path(name).unlink(missing_ok=True)

    def read(self, file: str | Path) -> bytes:
        """The content of a file, by its hash, or by its path before it is part of the store."""
        try:
            return (file if isinstance(file, Path) else self.path(file)).read_bytes()
        except FileNotFoundError:
            raise DataError(
                "The file of this collection is missing from the workspace; restore it from a backup.",
                code="bad-workspace",
            ) from None

    def hash_of(self, path: Path) -> str:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def orphans(self, known: set[str]) -> list[Path]:
        """Files that nothing refers to; not those of the last day, which may be on their way into a collection."""
        old = time.time() - _DAY
        found = (path for path in self.folder.glob("[0-9a-f][0-9a-f]/*") if _SHA.fullmatch(path.name))
        return sorted(path for path in found if path.name not in known and path.stat().st_mtime < old)

    def sweep(self, known: set[str]) -> None:
        """Take away what interrupted uploads left, and files that nothing refers to; nothing of the last day."""
        old = time.time() - _DAY
        for path in self.orphans(known):
            path.unlink(missing_ok=True)
        for path in self.folder.glob("incoming-*"):
            if path.stat().st_mtime < old:
                path.unlink(missing_ok=True)


def read_ending(filename: Any) -> str:
    """The ending of a client's file name, harmless: letters and digits only.

    >>> read_ending("Survey 2026.CSV.gz"), read_ending("../../etc/passwd"), read_ending("a.b/c")
    ('.csv.gz', '', '')
    """
    found = re.search(rf"{_ENDING.pattern}$", str(filename).lower().strip(), re.ASCII)
    return found.group() if found else ""


# -- A lock on a file: the system lets go of it when its holder dies, however it dies


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

_PAUSE = 0.25


class FolderLock:
    """Waits until it holds the lock, or until ``stopping()`` says so; ``held`` tells which."""

    def __init__(self, path: Path, *, stopping: Callable[[], bool] = lambda: False):
        self.path, self.stopping, self.held = path, stopping, False
        self._file: Any = None

    def __enter__(self) -> FolderLock:
        self._file = self.path.open("a+")
        while not self.held and not self.stopping():
            self.held = _try_lock(self._file)
            if not self.held:
                time.sleep(_PAUSE)
        if self.held:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(str(os.getpid()))
            self._file.flush()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()  # lets go of the lock
        self.held = False


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock."""
    if not path.exists():
        return False
    with path.open("a+") as file:
        return not _try_lock(file)


def _try_lock(file: Any) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
