"""A lock on a file: the system lets go of it when its holder dies, however it dies."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    >>> from isthmus.workspace.locks import FolderLock
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
