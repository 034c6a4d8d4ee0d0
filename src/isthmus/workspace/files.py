"""Uploaded files, stored once under the hash of their content; no part of the client's file name becomes a path."""

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

# Largest upload in bytes (512 MiB).
MAX_UPLOAD = 512 * 2**20
# Bytes read at a time.
_CHUNK = 1 << 20
# Seconds; younger files may belong to an upload that is still in progress.
_DAY = 24 * 3600
_SHA = re.compile(r"[0-9a-f]{64}")
_ENDING = re.compile(r"(\.[a-z0-9]{1,8})(\.gz)?", re.ASCII)


@dataclass(frozen=True)
class Arrival:
    """A received file that is not part of the store yet."""

    path: Path
    sha256: str
    size: int
    place: Path

    def keep(self) -> None:
        """Move the file into the store atomically."""
        self.place.parent.mkdir(exist_ok=True)
        # Replacing is atomic: another process sees the whole file or none.
        os.replace(self.path, self.place)


class FileStore:
    """A folder of files that are named by their hash."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """Return the path of a stored file. The hash is checked, so that no other path can be reached.

        Parameters
        ----------
        sha256 : str
            SHA-256 hash of the content, in hexadecimal digits.

        Returns
        -------
        Path
            Path of the file; it need not exist.

        Raises
        ------
        DataError
            If the hash is malformed.
        """
        if not _SHA.fullmatch(sha256):
            raise DataError("The hash of the file is damaged; run isthmus workspace check.", code="bad-workspace")
        return self.folder / sha256[:2] / sha256

    @contextmanager
    def receive(self, stream: IO[bytes], *, limit: int = MAX_UPLOAD) -> Iterator[Arrival]:
        """Copy a stream to a temporary file, which is deleted afterwards unless :meth:`Arrival.keep` stores it.

        Parameters
        ----------
        stream : IO[bytes]
            Content of the file.
        limit : int, default=MAX_UPLOAD
            Largest accepted size in bytes.

        Yields
        ------
        Arrival
            The received file.

        Raises
        ------
        DataError
            If the file is larger than the limit.
        """
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
                # A stored file must survive a power cut, because its row in the database does.
                os.fsync(out.fileno())
            yield Arrival(Path(name), digest.hexdigest(), size, self.path(digest.hexdigest()))
        finally:
            Path(name).unlink(missing_ok=True)

    def read(self, file: str | Path) -> bytes:
        """Return the content of a file.

        Parameters
        ----------
        file : str | Path
            Hash of a stored file, or path of a file that is not stored yet.

        Returns
        -------
        bytes
            The content.

        Raises
        ------
        DataError
            If the file is missing.
        """
        try:
            return (file if isinstance(file, Path) else self.path(file)).read_bytes()
        except FileNotFoundError:
            raise DataError(
                "The file of this collection is missing from the workspace; restore it from a backup.",
                code="bad-workspace",
            ) from None

    def hash_of(self, path: Path) -> str:
        """Compute the hash of a file.

        Parameters
        ----------
        path : Path
            Path of the file.

        Returns
        -------
        str
            SHA-256 hash in hexadecimal digits.
        """
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def orphans(self, known: set[str]) -> list[Path]:
        """Find stored files that nothing refers to, unless they are less than a day old.

        A younger file may be about to become part of a collection.

        Parameters
        ----------
        known : set[str]
            Hashes of the files that collections refer to.

        Returns
        -------
        list[Path]
            Paths of the files.
        """
        old = time.time() - _DAY
        found = (path for path in self.folder.glob("[0-9a-f][0-9a-f]/*") if _SHA.fullmatch(path.name))
        return sorted(path for path in found if path.name not in known and path.stat().st_mtime < old)

    def sweep(self, known: set[str]) -> None:
        """Delete unused files and the remains of interrupted uploads, unless they are less than a day old.

        Parameters
        ----------
        known : set[str]
            Hashes of the files that collections refer to.
        """
        old = time.time() - _DAY
        for path in self.orphans(known):
            path.unlink(missing_ok=True)
        for path in self.folder.glob("incoming-*"):
            if path.stat().st_mtime < old:
                path.unlink(missing_ok=True)


def read_ending(filename: Any) -> str:
    """Return the ending of a client's file name if it consists of letters and digits.

    Parameters
    ----------
    filename : Any
        Name that the client gives the file.

    Returns
    -------
    str
        The ending in lower case, or "".

    Examples
    --------
    >>> read_ending("Survey 2026.CSV.gz"), read_ending("../../etc/passwd"), read_ending("a.b/c")
    ('.csv.gz', '', '')
    """
    found = re.search(rf"{_ENDING.pattern}$", str(filename).lower().strip(), re.ASCII)
    return found.group() if found else ""


# -- A lock on a file: the operating system releases it when its process ends for any reason


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
    import msvcrt

# Seconds between two attempts to take the lock.
_PAUSE = 0.25


class FolderLock:
    """Context manager that waits for a lock until it has it, or until ``stopping()`` returns True.

    Attributes
    ----------
    held : bool
        Whether the lock was obtained.
    """

    def __init__(self, path: Path, *, stopping: Callable[[], bool] = lambda: False):
        self.path, self.stopping, self.held = path, stopping, False
        self._file: Any = None

    def __enter__(self) -> FolderLock:
        """Wait for the lock and write the process id into its file."""
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
        """Release the lock."""
        self._file.close()  # releases the lock
        self.held = False


def is_locked(path: Path) -> bool:
    """Return whether a running process holds a lock.

    Parameters
    ----------
    path : Path
        Path of the lock file.

    Returns
    -------
    bool
        True if a process holds it.
    """
    if not path.exists():
        return False
    with path.open("a+") as file:
        return not _try_lock(file)


def _try_lock(file: Any) -> bool:
    """Take a lock if it is free, and return whether that succeeded."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True
