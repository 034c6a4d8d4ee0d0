"""Uploaded files, kept by the hash of their content: one copy of each, named by nothing a client said."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from isthmus.exceptions import DataError

MAX_UPLOAD = 512 * 2**20
_CHUNK = 1 << 20
_DAY = 24 * 3600
_SHA = re.compile(r"[0-9a-f]{64}")
_ENDING = re.compile(r"(\.[a-z0-9]{1,8})(\.gz)?", re.ASCII)


class FileStore:
    """A folder of files named by their SHA-256."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def path(self, sha256: str) -> Path:
        """Where a file lies; the hash is checked, so that nothing else can be reached."""
        if not _SHA.fullmatch(sha256):
            raise DataError("The hash of the file is damaged; run isthmus workspace check.", code="bad-workspace")
        return self.folder / sha256[:2] / sha256

    def keep(self, stream: IO[bytes], *, limit: int = MAX_UPLOAD) -> tuple[str, int]:
        """Copy a stream into the store: hash and size. The file is there whole, on the disk, or not at all."""
        digest, size = hashlib.sha256(), 0
        handle, name = tempfile.mkstemp(prefix="incoming-", dir=self.folder)
        try:
            with os.fdopen(handle, "wb") as out:
                while chunk := stream.read(_CHUNK):
                    size += len(chunk)
                    if size > limit:
                        raise DataError(
                            f"The file is larger than {limit / 2**20:,.0f} MiB, which is the most that is taken; "
                            "split it, or leave out columns that are not needed.",
                            code="too-large",
                        )
                    digest.update(chunk)
                    out.write(chunk)
                out.flush()
                os.fsync(out.fileno())
            path = self.path(digest.hexdigest())
            path.parent.mkdir(exist_ok=True)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return digest.hexdigest(), size

    @contextmanager
    def named(self, sha256: str, ending: str) -> Iterator[Path]:
        """The file under a name whose ending tells its format, for readers that go by it."""
        with tempfile.TemporaryDirectory(prefix="reading-", dir=self.folder) as folder:
            path = Path(folder) / f"upload{ending}"
            target = self.path(sha256)
            if not target.exists():
                raise DataError(
                    "The file of this collection is missing from the workspace; restore it from a backup.",
                    code="bad-workspace",
                )
            try:
                os.link(target, path)
            except OSError:  # a file system without links
                path.write_bytes(target.read_bytes())
            yield path

    def hash_of(self, path: Path) -> str:
        """SHA-256 of a file that lies in the store."""
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()

    def sweep(self) -> None:
        """Take away what interrupted uploads left behind; nothing of the last day, which may be under way."""
        old = time.time() - _DAY
        for path in (*self.folder.glob("incoming-*"), *self.folder.glob("reading-*")):
            if path.stat().st_mtime < old:
                shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


def read_ending(filename: Any) -> str:
    """The ending of a client's file name, harmless: letters and digits only.

    Examples
    --------
    >>> from isthmus.workspace.files import read_ending
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
    """Waits until it holds the lock, or until ``stopping()`` says so; ``held`` tells which.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from isthmus.workspace.files import FolderLock
    >>> with tempfile.TemporaryDirectory() as folder, FolderLock(Path(folder) / "lock") as lock:
    ...     lock.held
    True
    """

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
